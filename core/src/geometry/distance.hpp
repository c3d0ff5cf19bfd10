// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lastgate/math.hpp"

/// Distances in closed form between the cores of shapes: a point or a segment grown by a radius is a
/// sphere or a capsule, so distance of the capsule axes minus radii is the distance of the shapes.
namespace lastgate {

struct Primitive;

namespace detail {

Witness distance_segment_segment(const Segment& first, const Segment& second) noexcept;

/// Box of half extents `half` centred in its own frame; the segment is given in that frame.
/// Zero when they touch or overlap.
Witness distance_segment_box(const Segment& segment_in_box, Vec3 half) noexcept;

/// The solid z <= 0; negative when the segment reaches below.
Witness distance_segment_half_space(const Segment& segment_in_half_space) noexcept;

/// Distance of a segment from an obstacle (its radius already subtracted); the first witness lies on
/// the segment. Never larger than the true distance when positive; when the core runs through a box
/// it is zero, not the depth.
Witness distance_segment_primitive(const Segment& segment, const Primitive& primitive) noexcept;

}  // namespace detail
}  // namespace lastgate
