// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "lastgate/math.hpp"

/// The distance of two convex shapes given by their vertices or the discs around them, with a certificate.
namespace lastgate::detail {

/// Vertices of a polytope, by coordinate. One vertex is a point, two are a segment; repeated and inner
/// points do no harm.
struct ConvexView {
    const double* x = nullptr;
    const double* y = nullptr;
    const double* z = nullptr;
    std::uint32_t count = 0;
    /// Every vertex stands for a disc of this radius around it, square to local z: two of them are the ends of a cylinder.
    double disc_m = 0.0;
};

/// A point of the shape that lies most along `direction`; it need not be a unit vector.
Vec3 support_point(const ConvexView& view, Vec3 direction) noexcept;

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

/// Where to stop early: as soon as the distance exceeds `enough_m`, or cannot exceed `hopeless_m`. Where to start: with the vertices that face
/// each other along `towards`, a guess of the direction from the first to the second, in the frame of the first.
struct ConvexGoal {
    double enough_m = 1e300;
    double hopeless_m = 0.0;
    Vec3 towards{};
};

/// GJK's descent: at most `convex_iterations_max` queries at all vertices.
ConvexDistance convex_distance(const ConvexView& first, const ConvexView& second, const Transform& second_in_first,
                               const ConvexGoal& goal) noexcept;

/// Descents end after about ten queries; the slowest of a million random pairs of hulls took 31. What needs more
/// than this is nearly touching, and is not cleared.
inline constexpr std::uint32_t convex_iterations_max = 48;

}  // namespace lastgate::detail
