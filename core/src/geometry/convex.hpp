// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "lastgate/math.hpp"

/// The distance of two convex polytopes given by their vertices, with a certificate.
namespace lastgate::detail {

/// Vertices of a polytope, by coordinate. One vertex is a point, two are a segment; repeated and inner
/// points do no harm.
struct ConvexView {
    const double* x = nullptr;
    const double* y = nullptr;
    const double* z = nullptr;
    std::uint32_t count = 0;
};

/// Between which two numbers the distance lies. Both hold whatever happened on the way: `lower_m` is the
/// width of an empty slab between the polytopes, found by checking every vertex, and `upper_m` belongs to
/// two points of the polytopes.
struct ConvexDistance {
    double lower_m = 0.0;  ///< 0 when nothing was certified: touching, overlapping, not finite, out of iterations.
    double upper_m = 0.0;
    Vec3 on_first;  ///< In the frame of the first, both; where they overlap they mean nothing.
    Vec3 on_second;
    std::uint32_t iterations = 0;
};

/// Where to stop early: as soon as the distance exceeds `enough_m`, or cannot exceed `hopeless_m`.
struct ConvexGoal {
    double enough_m = 1e300;
    double hopeless_m = 0.0;
};

/// GJK's descent: at most `convex_iterations_max` queries at all vertices.
ConvexDistance convex_distance(const ConvexView& first, const ConvexView& second, const Transform& second_in_first,
                               const ConvexGoal& goal) noexcept;

/// Descents end after about ten queries; the slowest of a million random pairs of hulls took 31. What needs more
/// than this is nearly touching, and is not cleared.
inline constexpr std::uint32_t convex_iterations_max = 48;

}  // namespace lastgate::detail
