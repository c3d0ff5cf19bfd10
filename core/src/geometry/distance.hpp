// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lastgate/math.hpp"

/// Distances in closed form between the cores of shapes: a point or a segment grown by a radius is a
/// sphere or a capsule, so core distance minus radii is the distance of the shapes.
namespace lastgate {

struct Segment {
    Vec3 a;
    Vec3 b;
};

/// A distance and the two points that have it.
struct Witness {
    double distance_m;
    Vec3 on_first;
    Vec3 on_second;
};

Witness distance_segment_segment(const Segment& first, const Segment& second) noexcept;

/// Box of half extents `half` centred in its own frame; the segment is given in that frame.
/// Zero when they touch or overlap.
Witness distance_segment_box(const Segment& segment_in_box, Vec3 half) noexcept;

/// The solid z <= 0; negative when the segment reaches below.
Witness distance_segment_half_space(const Segment& segment_in_half_space) noexcept;

}  // namespace lastgate
