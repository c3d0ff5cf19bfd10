// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

/// The inner loops of lowering: heuristics that decide where volumes lie. Nothing here decides about a motion,
/// and containment is proved elsewhere, on the numbers as written.
namespace lastgate::fitting {

/// Capsules travel as rows of seven: start, end, radius, in metres.
inline constexpr std::size_t capsule_columns = 7;

/// Writes, per axis (rows of three, unit length), a capsule with its capsule axis parallel to the axis that contains all
/// points up to rounding.
void capsules_along(std::span<const double> points, std::span<const double> axes, std::span<double> capsules);

/// Writes per point whether some capsule contains it.
void covered(std::span<const double> points, std::span<const double> capsules, std::span<bool> inside);

/// Writes the clearance of every capsule of `a` to every capsule of `b` per pose (rows of twelve: a 3x4 matrix that
/// takes b's frame to a's); negative where they overlap.
void clearances(std::span<const double> poses, std::span<const double> a, std::span<const double> b,
                std::span<double> clearance_m);

/// Writes per pose whether some capsule of `a` and some of `b` are within a distance of each other.
void any_within(std::span<const double> poses, std::span<const double> a, std::span<const double> b, double within_m,
                std::span<bool> found);

/// What one capsule costs among others: each that it comes within `near_m` of adds d / (d + half_m), where d is how far
/// they are inside that distance. Counts like a number of contacts, yet tells a descent where to go.
struct OverlapCost {
    double value = 0.0;
    double gradient[capsule_columns] = {};
};
OverlapCost overlap_cost(std::span<const double> capsule, std::span<const double> others, double near_m,
                         double half_m);

}  // namespace lastgate::fitting
