// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "lastgate/math.hpp"

namespace lastgate {

/// All of a hull lies where out . x <= offset_m, and some corner reaches it.
struct HullPlane {
    Vec3 out;
    double offset_m = 0.0;
};

/// The planes of all faces of the hull of some corners, by trying every three of them that may lie on one; a few more may
/// be among them. None when the corners lie on a line. Of faces that are nearly parallel one stands for the others, so that a depth
/// read off them is too large by a millionth of the hull's extent at most.
std::vector<HullPlane> hull_planes(std::span<const Vec3> corners);

}  // namespace lastgate
