// SPDX-License-Identifier: Apache-2.0
// How far two shapes stay apart along a fixed direction while the joints move straight on. The bound is written here and nowhere else; the
// checker of certificates has its own, on purpose. docs/concepts/continuous-collision-checking.md has the proof.
#pragma once

#include <limits>
#include <span>

#include "lastgate/robot_model.hpp"
#include "placed_shape.hpp"

namespace lastgate::detail {

/// An instant of a path, and where each variable goes from there until the two ends of the interval that the instant certifies: `share` of
/// `before` and `after`, with their signs. Both are empty where there is no straight path.
struct PathInterval {
    const Transform* frames = nullptr;  ///< Of the bodies, at the instant.
    std::span<const double> before;
    std::span<const double> after;
    double share = 0.0;

    bool is_straight() const noexcept { return !after.empty(); }
};

/// How the points of a body move, to first order: a point p by `move + turn x p`. `curvature_m` bounds the second derivative of any point of
/// the shape all along the way. The way is the unit of time.
struct ShapeMotion {
    Vec3 turn;
    Vec3 move;
    double curvature_m = 0.0;
};

/// A shape relative to the frame above the joint of `from_depth`, which it shares with what it is compared with: only the joints between count.
/// What does not move has a motion of zero. Beyond `tolerance::directional_way_max` the curvature is infinite: nothing is bounded.
ShapeMotion motion_to(const RobotModel& model, const PlacedShape& shape, std::size_t from_depth,
                      const Transform* frames, std::span<const double> displacement, double share) noexcept;

/// Two shapes on an interval, and how each moves until its two ends.
struct PairMotion {
    const PlacedShape& first;
    const PlacedShape& second;
    ShapeMotion first_before, first_after, second_before, second_after;

    PairMotion(const RobotModel& model, const PlacedShape& a, const PlacedShape& b,
               const PathInterval& interval) noexcept;
    /// What the curvature takes of the gap towards the worse of the two ends.
    double bend_m() const noexcept;
};

/// The gap of two shapes along a unit vector at the instant, and never more than it is at either end of the interval, radii subtracted.
struct GapAlong {
    double now_m = 0.0;
    double before_m = 0.0;
    double after_m = 0.0;
};
GapAlong gap_along(const PairMotion& motion, Vec3 unit) noexcept;

/// Never above the distance of the two shapes at any instant of the interval, radii subtracted. `direction` leads from the first towards the
/// second, in the base frame at the instant; any direction is sound, and that of two nearest points is a good one. Minus infinity for a zero.
double directional_distance(const PairMotion& motion, Vec3 direction) noexcept;

/// The same once the gap is known: minus infinity for a NaN.
double least_gap(const GapAlong& gap) noexcept;

}  // namespace lastgate::detail
