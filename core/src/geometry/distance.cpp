// SPDX-License-Identifier: Apache-2.0
#include "distance.hpp"

#include "geometry/tolerance.hpp"
#include "lastgate/world_snapshot.hpp"

#include <algorithm>
#include <cmath>

namespace lastgate::detail {
namespace {

double clamp01(double value) noexcept { return value > 0.0 ? (value < 1.0 ? value : 1.0) : 0.0; }

/// Squared length below which a segment is a point: (1 nm)^2, far below any shape we accept.
constexpr double point_m2 = 1e-18;

double nearest_parameter(Vec3 point, const Segment& segment) noexcept {
    const Vec3 along = segment.b - segment.a;
    const double length2 = dot(along, along);
    return length2 > point_m2 ? clamp01(dot(point - segment.a, along) / length2) : 0.0;
}

void keep_nearer(Witness& best, Vec3 on_first, Vec3 on_second) noexcept {
    const double distance = norm(on_first - on_second);
    if (distance < best.distance_m) best = {distance, on_first, on_second};
}

/// The lines are resolved across the first one, where their small angle is all there is: what rounding moves
/// along the lines then changes the distance by nothing. Every end is tried as well, since any parameter
/// that is wrong would overestimate the distance.
Witness distance_nearly_parallel(const Segment& first, const Segment& second) noexcept {
    const Vec3 d1 = first.b - first.a;
    const Vec3 d2 = second.b - second.a;
    const Vec3 r = first.a - second.a;
    const double a = dot(d1, d1);
    const double along_d2 = dot(d1, d2) / a;
    const double along_r = dot(d1, r) / a;
    const Vec3 across_d2 = d2 - along_d2 * d1;
    const Vec3 across_r = r - along_r * d1;
    const double angle2 = dot(across_d2, across_d2);
    const double t = angle2 > 0.0 ? clamp01(dot(across_d2, across_r) / angle2) : 0.0;
    const double s = clamp01(t * along_d2 - along_r);
    const Vec3 p = first.a + s * d1;
    const Vec3 q = second.a + t * d2;
    Witness best{norm(p - q), p, q};
    keep_nearer(best, first.a, second.a + nearest_parameter(first.a, second) * d2);
    keep_nearer(best, first.b, second.a + nearest_parameter(first.b, second) * d2);
    keep_nearer(best, first.a + nearest_parameter(second.a, first) * d1, second.a);
    keep_nearer(best, first.a + nearest_parameter(second.b, first) * d1, second.b);
    return best;
}

Segment in_frame(const Transform& frame, const Segment& segment) noexcept {
    return {inverse_times(frame, segment.a), inverse_times(frame, segment.b)};
}

}  // namespace

// The inner minimum of the two lines, clamped, and the other parameter re-optimised (Ericson,
// Real-Time Collision Detection, 5.1.9).
Witness distance_segment_segment(const Segment& first, const Segment& second) noexcept {
    const Vec3 d1 = first.b - first.a;
    const Vec3 d2 = second.b - second.a;
    const Vec3 r = first.a - second.a;
    const double a = dot(d1, d1);
    const double e = dot(d2, d2);
    const double f = dot(d2, r);
    double s = 0.0;
    double t = 0.0;
    if (!(a > point_m2)) {
        t = e > point_m2 ? clamp01(f / e) : 0.0;
    } else if (!(e > point_m2)) {
        s = clamp01(-dot(d1, r) / a);
    } else {
        const double c = dot(d1, r);
        const double b = dot(d1, d2);
        const double denominator = a * e - b * b;
        // Below this the lines are parallel to 10 mrad and the quotient loses digits: with coordinates of
        // 1e4 m the points it finds would lie 1e-10 m from the nearest ones, and ever farther off below.
        const bool nearly_parallel = !(denominator > 1e-4 * a * e);
        if (nearly_parallel) return distance_nearly_parallel(first, second);
        s = clamp01((b * f - c * e) / denominator);
        t = (b * s + f) / e;
        if (t < 0.0) {
            t = 0.0;
            s = clamp01(-c / a);
        } else if (t > 1.0) {
            t = 1.0;
            s = clamp01((b - c) / a);
        }
    }
    const Vec3 p = first.a + s * d1;
    const Vec3 q = second.a + t * d2;
    return {norm(p - q), p, q};
}

namespace {

double outside(double value, double half) noexcept {
    return value > half ? value - half : (value < -half ? value + half : 0.0);
}

Vec3 clamp_to_box(Vec3 p, Vec3 half) noexcept {
    return {std::clamp(p.x, -half.x, half.x), std::clamp(p.y, -half.y, half.y), std::clamp(p.z, -half.z, half.z)};
}

}  // namespace

// The squared distance of a point of the segment from the box is convex in the parameter and
// quadratic between the (at most six) parameters at which a coordinate enters or leaves its slab.
// Its slope is found at those, and the interval in which the slope changes sign holds the minimum.
Witness distance_segment_box(const Segment& segment_in_box, Vec3 half) noexcept {
    const Vec3 p = segment_in_box.a;
    const Vec3 d = segment_in_box.b - segment_in_box.a;
    const double origin[3] = {p.x, p.y, p.z};
    const double along[3] = {d.x, d.y, d.z};
    const double size[3] = {half.x, half.y, half.z};

    const auto slope = [&](double t) noexcept {
        double sum = 0.0;
        for (int axis = 0; axis < 3; ++axis) sum += along[axis] * outside(origin[axis] + t * along[axis], size[axis]);
        return sum;
    };

    double lower = 0.0;
    double upper = 1.0;
    double slope_lower = slope(0.0);
    double slope_upper = slope(1.0);
    double t = 0.0;
    if (slope_lower >= 0.0) {
        t = 0.0;
    } else if (slope_upper <= 0.0) {
        t = 1.0;
    } else {
        for (int axis = 0; axis < 3; ++axis) {
            if (along[axis] == 0.0) continue;
            for (const double side : {-1.0, 1.0}) {
                const double knot = (side * size[axis] - origin[axis]) / along[axis];
                if (!(knot > lower && knot < upper)) continue;
                const double slope_knot = slope(knot);
                if (slope_knot < 0.0) {
                    lower = knot;
                    slope_lower = slope_knot;
                } else {
                    upper = knot;
                    slope_upper = slope_knot;
                }
            }
        }
        // Linear slope on the last interval.
        const double rise = slope_upper - slope_lower;
        t = rise > 0.0 ? lower + (upper - lower) * clamp01(-slope_lower / rise) : lower;
    }
    const Vec3 on_segment = p + t * d;
    const Vec3 on_box = clamp_to_box(on_segment, half);
    return {norm(on_segment - on_box), on_segment, on_box};
}

namespace {

/// The point of a solid cylinder that is nearest to a point.
Vec3 clamp_to_cylinder(Vec3 p, double radius_m, double half_m) noexcept {
    const double from_axis = std::sqrt(p.x * p.x + p.y * p.y);
    const double share = from_axis > radius_m ? radius_m / from_axis : 1.0;
    return {share * p.x, share * p.y, std::clamp(p.z, -half_m, half_m)};
}

}  // namespace

// The squared distance of a point of the segment from a convex solid is convex in the parameter, and half its slope is
// the way from the solid to the point times the direction of the segment. Where that changes sign lies the minimum.
Witness distance_segment_cylinder(const Segment& segment_in_cylinder, double radius_m, double half_height_m) noexcept {
    // Halves of the longest segment there can be, until they are shorter than a picometre.
    constexpr int halvings = 56;
    constexpr double short_m = 1e-12;
    const Vec3 p = segment_in_cylinder.a;
    const Vec3 d = segment_in_cylinder.b - segment_in_cylinder.a;
    const auto slope = [&](double t) noexcept {
        const Vec3 at = p + t * d;
        return dot(d, at - clamp_to_cylinder(at, radius_m, half_height_m));
    };
    double t = 0.0;
    if (slope(0.0) < 0.0) {
        double lower = 0.0;
        double upper = 1.0;
        if (slope(1.0) <= 0.0) lower = 1.0;
        const double length = norm(d);
        for (int halving = 0; halving < halvings && (upper - lower) * length > short_m; ++halving) {
            const double middle = 0.5 * (lower + upper);
            (slope(middle) < 0.0 ? lower : upper) = middle;
        }
        t = lower;
    }
    const Vec3 on_segment = p + t * d;
    const Vec3 on_cylinder = clamp_to_cylinder(on_segment, radius_m, half_height_m);
    return {std::max(norm(on_segment - on_cylinder) - tolerance::cylinder_m, 0.0), on_segment, on_cylinder};
}

Witness distance_segment_half_space(const Segment& segment_in_half_space) noexcept {
    const Vec3 lowest = segment_in_half_space.a.z <= segment_in_half_space.b.z ? segment_in_half_space.a
                                                                             : segment_in_half_space.b;
    return {lowest.z, lowest, {lowest.x, lowest.y, 0.0}};
}

Witness distance_segment_primitive(const Segment& segment, const Primitive& primitive) noexcept {
    Witness witness{};
    switch (primitive.kind) {
        case PrimitiveKind::sphere:
        case PrimitiveKind::capsule: {
            witness = distance_segment_segment(segment, primitive.capsule_axis);
            const double gap = witness.distance_m;
            if (gap > 0.0) {
                witness.on_second = witness.on_second + (primitive.radius_m / gap) * (witness.on_first - witness.on_second);
            }
            witness.distance_m = gap - primitive.radius_m;
            return witness;
        }
        case PrimitiveKind::box:
            witness = distance_segment_box(in_frame(primitive.in_base, segment), primitive.half_extents_m);
            break;
        case PrimitiveKind::half_space:
            witness = distance_segment_half_space(in_frame(primitive.in_base, segment));
            break;
        case PrimitiveKind::cylinder:
            witness = distance_segment_cylinder(in_frame(primitive.in_base, segment), primitive.radius_m, primitive.half_extents_m.z);
            break;
    }
    witness.on_first = primitive.in_base * witness.on_first;
    witness.on_second = primitive.in_base * witness.on_second;
    return witness;
}

}  // namespace lastgate::detail
