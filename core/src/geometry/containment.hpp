// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "distance.hpp"
#include "lastgate/world_snapshot.hpp"

namespace lastgate::detail {

/// How far something lies inside a shape, where it comes nearest to leaving it.
struct Depth {
    double depth_m = 0.0;  ///< Distance from the surface; negative outside, then the distance from the shape.
    Vec3 point;            ///< Of the segment.
    Vec3 outward;          ///< Unit vector from there to the surface, or away from it when outside.
};

/// The smallest depth of any point of a segment. All shapes are convex, so that it is found at an end, and
/// moving both ends by at most d changes it by at most d.
Depth depth_inside(const Segment& segment, const Primitive& shape) noexcept;

/// The same for a box alone.
double depth_inside_box(const Segment& segment, const Transform& box_in_base, Vec3 half_extents_m) noexcept;

}  // namespace lastgate::detail
