// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "lastgate/math.hpp"

namespace lastgate::kernel {

/// The frames that a world may be given in: the robot's base frame, in which everything is computed, and the root of
/// its description. Where the root stands elsewhere, no name at all could mean either, so there one is required.
struct WorldFrames {
    std::string base;
    std::string root;                           ///< Empty where the description knows only one.
    std::array<double, 6> root_in_base_xyzrpy{};  ///< As URDF writes an origin.

    bool must_be_named() const {
        return !root.empty() && std::any_of(root_in_base_xyzrpy.begin(), root_in_base_xyzrpy.end(), [](double number) { return number != 0.0; });
    }
    bool is_turned() const {
        return std::any_of(root_in_base_xyzrpy.begin() + 3, root_in_base_xyzrpy.end(), [](double angle) { return angle != 0.0; });
    }
    bool is_base(std::string_view frame_id) const { return frame_id == base || (frame_id.empty() && !must_be_named()); }
    bool is_root(std::string_view frame_id) const { return !root.empty() && frame_id == root && root != base; }
    Transform root_in_base() const {
        const auto& p = root_in_base_xyzrpy;
        return {rotation_from_rpy({p[3], p[4], p[5]}), {p[0], p[1], p[2]}};
    }
};

}  // namespace lastgate::kernel
