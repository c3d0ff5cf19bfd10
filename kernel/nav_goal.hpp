// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lastgate/gate_config.hpp"
#include "latch.hpp"
#include "requests.hpp"

namespace lastgate::kernel {

/// The whole map of a world, for goals that lie beyond what checks cover.
struct OccupancyMap {
    explicit OccupancyMap(const FloorMapMessage& message);
    // `map` has views of these.
    std::string frame_id;
    std::vector<std::uint8_t> bits;
    FloorMapMessage map;
};

struct NavAnswer {
    bool ok = false;
    ShortText<240> reason;
};

/// Whether the base may be sent to a pose on the map: what it covers of the floor, and the margin around it, touches
/// free cells only. The way there is not checked. For the kernel and, bound, for `lastgate.Gate.check_nav_goal`.
NavAnswer evaluate_nav_goal(const NavGoalRequest& goal, const FloorMapMessage* map, const GateConfig& config, std::string_view robot, double now_s, double held_s) noexcept;

}  // namespace lastgate::kernel
