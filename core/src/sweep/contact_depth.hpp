// SPDX-License-Identifier: Apache-2.0
// How deep two shapes overlap that are meant to touch, and how deep inside a region one of them lies.
#pragma once

#include "directional_bound.hpp"

namespace lastgate::detail {

struct SignedDistance {
    double distance_m = 0.0;
    Vec3 direction;  ///< From the first to the second, of length one.
};

/// Never above the signed distance of two placed shapes, radii subtracted: the width of the widest slab between them or, where they overlap,
/// minus the shortest way that parts them. Any direction gives a lower bound, so a direction that is not found only makes them look deeper.
/// `hint` is one to try, from the first to the second, of any length.
SignedDistance signed_distance(const PlacedShape& first, const PlacedShape& second, Vec3 hint) noexcept;

/// How far inside a box a shape lies, whole; negative when it sticks out.
double depth_in_region(const PlacedShape& shape, const PrimitiveSpec& region) noexcept;

/// Directions that `signed_distance` tries at most, each a pass over all vertices.
inline constexpr std::uint32_t contact_directions_max = 40;

}  // namespace lastgate::detail
