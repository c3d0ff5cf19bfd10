// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lastgate/math.hpp"

/// Distances in closed form between axes of shapes. A sphere is a point and a capsule a segment, each grown by a radius,
/// so the distance of the axes minus the radii is the distance of the shapes. A point is a segment of no length.
namespace lastgate {

struct Primitive;

namespace detail {

/// Sphere or capsule from sphere or capsule.
Witness distance_segment_segment(const Segment& first, const Segment& second) noexcept;

/// Sphere or capsule from a box of half extents `half` centred in its own frame; the segment is given in that frame.
/// Zero when they touch or overlap.
Witness distance_segment_box(const Segment& segment_in_box, Vec3 half) noexcept;

/// Cylinder of a radius and a half height around z, centred in its own frame; the segment is given in that frame.
/// Never above the true distance, and at most `tolerance::cylinder_m` plus its own rounding below; zero when they touch or overlap.
Witness distance_segment_cylinder(const Segment& segment_in_cylinder, double radius_m, double half_height_m) noexcept;

/// Sphere or capsule from the half-space z <= 0; negative when the segment reaches below.
Witness distance_segment_half_space(const Segment& segment_in_half_space) noexcept;

/// Distance of a segment from an obstacle (its radius already subtracted); the first witness lies on
/// the segment. Never larger than the true distance when positive; when the segment runs through a box
/// it is zero, not the depth.
Witness distance_segment_primitive(const Segment& segment, const Primitive& primitive) noexcept;

}  // namespace detail
}  // namespace lastgate
