// SPDX-License-Identifier: Apache-2.0
#include "contact_depth.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lastgate::detail {
namespace {

/// Halvings of the turn by which the best direction is improved, and where it starts: a third of a radian.
constexpr int turns_max = 12;
constexpr double first_turn = 0.3;

struct Slab {
    double gap_m = -std::numeric_limits<double>::infinity();
    Vec3 direction;
    Vec3 across;  ///< From the support point of the second to that of the first: along it the gap closes fastest.
};

class Slabs {
  public:
    Slabs(const PlacedShape& first, const PlacedShape& second) noexcept : first_(first), second_(second) {}

    const Slab& widest() const noexcept { return widest_; }

    /// Whether a direction is better than all before.
    bool consider(Vec3 direction) noexcept {
        const double length = norm(direction);
        const Vec3 unit = (1.0 / length) * direction;
        if (!(length > 0.0) || !finite(unit)) return false;
        const Vec3 on_first = first_.in_base * support_point(first_.vertices, transposed_times(first_.in_base.rotation, unit));
        const Vec3 on_second = second_.in_base * support_point(second_.vertices, transposed_times(second_.in_base.rotation, -unit));
        const Vec3 across = on_first - on_second;
        const double gap_m = -dot(unit, across) - first_.radius_m - second_.radius_m;
        if (!(gap_m > widest_.gap_m)) return false;
        widest_ = {gap_m, unit, across};
        return true;
    }

  private:
    const PlacedShape& first_;
    const PlacedShape& second_;
    Slab widest_;
};

}  // namespace

SignedDistance signed_distance(const PlacedShape& first, const PlacedShape& second, Vec3 hint) noexcept {
    Slabs slabs(first, second);
    // Behind the face of a half-space everything is solid: only the way out of the face parts.
    if (second.is_half_space) {
        (void)slabs.consider(-second.in_base.rotation.z);
        return {slabs.widest().gap_m, slabs.widest().direction};
    }
    (void)slabs.consider(hint);
    (void)slabs.consider(second.centre - first.centre);
    for (const Mat3* const axes : {&first.in_base.rotation, &second.in_base.rotation}) {
        for (const Vec3 axis : {axes->x, axes->y, axes->z}) {
            (void)slabs.consider(axis);
            (void)slabs.consider(-axis);
        }
    }
    // Beside a cylinder the way out leads straight away from its axis.
    const Vec3 axis = second.in_base.rotation.z;
    const Vec3 aside = second.centre - first.centre;
    (void)slabs.consider(aside - dot(axis, aside) * axis);
    double turn = first_turn;
    for (int tried = 0; tried < turns_max; ++tried) {
        const Slab& best = slabs.widest();
        const Vec3 slope = best.across - dot(best.across, best.direction) * best.direction;
        const double steep = norm(slope);
        if (!(steep > 0.0)) break;
        if (!slabs.consider(best.direction - (turn / steep) * slope)) turn *= 0.5;
    }
    return {slabs.widest().gap_m, slabs.widest().direction};
}

double depth_in_region(const PlacedShape& shape, const PrimitiveSpec& region) noexcept {
    const Mat3& axes = region.in_base.rotation;
    const Vec3 half = region.half_extents_m;
    const Vec3 outward[3] = {axes.x, axes.y, axes.z};
    const double size[3] = {half.x, half.y, half.z};
    double depth_m = std::numeric_limits<double>::infinity();
    for (int axis = 0; axis < 3; ++axis) {
        for (const double side : {1.0, -1.0}) {
            const Vec3 out = side * outward[axis];
            const Vec3 farthest = shape.in_base * support_point(shape.vertices, transposed_times(shape.in_base.rotation, out));
            const double inside_m = size[axis] - dot(out, farthest - region.in_base.translation) - shape.radius_m;
            if (!(inside_m >= depth_m)) depth_m = inside_m;
        }
    }
    return depth_m;
}

}  // namespace lastgate::detail
