// SPDX-License-Identifier: Apache-2.0
#include "containment.hpp"

#include <algorithm>
#include <cmath>

namespace lastgate::detail {
namespace {

/// Depth of a point in the box's own frame; `outward` in that frame too.
Depth depth_in_box(Vec3 point, Vec3 half) noexcept {
    const Vec3 excess{std::abs(point.x) - half.x, std::abs(point.y) - half.y, std::abs(point.z) - half.z};
    const Vec3 side{point.x < 0.0 ? -1.0 : 1.0, point.y < 0.0 ? -1.0 : 1.0, point.z < 0.0 ? -1.0 : 1.0};
    const double nearest = std::max({excess.x, excess.y, excess.z});
    if (nearest <= 0.0) {
        Vec3 outward{0.0, 0.0, side.z};
        if (excess.x == nearest) outward = {side.x, 0.0, 0.0};
        else if (excess.y == nearest) outward = {0.0, side.y, 0.0};
        return {-nearest, point, outward};
    }
    const Vec3 out{std::max(excess.x, 0.0) * side.x, std::max(excess.y, 0.0) * side.y, std::max(excess.z, 0.0) * side.z};
    const double distance_m = norm(out);
    return {-distance_m, point, (1.0 / distance_m) * out};
}

Depth depth_in_round(Vec3 point, const Primitive& shape) noexcept {
    const Witness witness = distance_segment_segment({point, point}, shape.capsule_axis);
    const Vec3 away = witness.on_first - witness.on_second;
    const double length = norm(away);
    const Vec3 outward = length > 0.0 ? (1.0 / length) * away : Vec3{1.0, 0.0, 0.0};
    return {shape.radius_m - witness.distance_m, point, outward};
}

/// The side or an end of a cylinder, whichever is nearer; outside, what the point must come back by to be inside.
Depth depth_in_cylinder(Vec3 point, double radius_m, double half_m) noexcept {
    const double from_axis = std::sqrt(point.x * point.x + point.y * point.y);
    const double beyond_side = from_axis - radius_m;
    const double beyond_end = std::abs(point.z) - half_m;
    const Vec3 aside = from_axis > 0.0 ? Vec3{point.x / from_axis, point.y / from_axis, 0.0} : Vec3{1.0, 0.0, 0.0};
    const Vec3 along{0.0, 0.0, point.z < 0.0 ? -1.0 : 1.0};
    if (beyond_side > 0.0 && beyond_end > 0.0) {
        const Vec3 out = beyond_side * aside + beyond_end * along;
        const double distance_m = norm(out);
        return {-distance_m, point, (1.0 / distance_m) * out};
    }
    return beyond_side >= beyond_end ? Depth{-beyond_side, point, aside} : Depth{-beyond_end, point, along};
}

Depth depth_of_point(Vec3 point, const Primitive& shape) noexcept {
    switch (shape.kind) {
        case PrimitiveKind::sphere:
        case PrimitiveKind::capsule: return depth_in_round(point, shape);
        case PrimitiveKind::box: {
            Depth depth = depth_in_box(inverse_times(shape.in_base, point), shape.half_extents_m);
            depth.outward = shape.in_base.rotation * depth.outward;
            depth.point = point;
            return depth;
        }
        case PrimitiveKind::cylinder: {
            Depth depth = depth_in_cylinder(inverse_times(shape.in_base, point), shape.radius_m, shape.half_extents_m.z);
            depth.outward = shape.in_base.rotation * depth.outward;
            depth.point = point;
            return depth;
        }
        case PrimitiveKind::half_space:
            return {-inverse_times(shape.in_base, point).z, point, shape.in_base.rotation.z};
    }
    return {-1e300, point, {}};
}

}  // namespace

Depth depth_inside(const Segment& segment, const Primitive& shape) noexcept {
    const Depth at_a = depth_of_point(segment.a, shape);
    const Depth at_b = depth_of_point(segment.b, shape);
    return at_b.depth_m < at_a.depth_m ? at_b : at_a;
}

double depth_inside_box(const Segment& segment, const Transform& box_in_base, Vec3 half_extents_m) noexcept {
    return std::min(depth_in_box(inverse_times(box_in_base, segment.a), half_extents_m).depth_m,
                    depth_in_box(inverse_times(box_in_base, segment.b), half_extents_m).depth_m);
}

}  // namespace lastgate::detail
