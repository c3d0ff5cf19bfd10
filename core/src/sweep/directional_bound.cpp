// SPDX-License-Identifier: Apache-2.0
#include "directional_bound.hpp"

#include <algorithm>
#include <cmath>

#include "geometry/tolerance.hpp"

namespace lastgate::detail {
namespace {

/// Support of the vertices of a shape along a direction of its own frame.
double support(const ConvexView& vertices, Vec3 direction) noexcept {
    // What has no vertices is nowhere known to end.
    if (vertices.count == 0) return std::numeric_limits<double>::infinity();
    // Four at a time: one after the other, every comparison would wait for the one before.
    constexpr std::uint32_t at_once = 4;
    double most_m[at_once];
    std::fill_n(most_m, at_once, -std::numeric_limits<double>::infinity());
    const auto along_m = [&](std::uint32_t index) noexcept {
        return direction.x * vertices.x[index] + direction.y * vertices.y[index] + direction.z * vertices.z[index];
    };
    std::uint32_t index = 0;
    for (; index + at_once <= vertices.count; index += at_once) {
        for (std::uint32_t lane = 0; lane < at_once; ++lane) {
            const double here_m = along_m(index + lane);
            most_m[lane] = here_m > most_m[lane] ? here_m : most_m[lane];
        }
    }
    for (; index < vertices.count; ++index) most_m[0] = std::max(most_m[0], along_m(index));
    const double disc_m = vertices.disc_m > 0.0 ? vertices.disc_m * std::sqrt(direction.x * direction.x + direction.y * direction.y) : 0.0;
    return std::max({most_m[0], most_m[1], most_m[2], most_m[3]}) + disc_m;
}

/// How far a shape reaches along `direction`, once moved to first order. A point p reaches
/// n·(p + move + turn x p) = (n + n x turn)·p + n·move: the support of the shape in a direction that is turned a little.
double support_after(const PlacedShape& shape, Vec3 direction, const ShapeMotion& motion) noexcept {
    const Vec3 turned = direction + cross(direction, motion.turn);
    const Vec3 local = transposed_times(shape.in_base.rotation, turned);
    return support(shape.vertices, local) + dot(turned, shape.in_base.translation) + dot(direction, motion.move) +
           shape.radius_m;
}

/// How far a shape reaches at the instant and, with what its curvature can add, at either end.
GapAlong reach_along(const PlacedShape& shape, Vec3 direction, const ShapeMotion& before,
                     const ShapeMotion& after) noexcept {
    const double now_m = support_after(shape, direction, {});
    if (shape.reach == nullptr) return {now_m, now_m, now_m};
    return {now_m, support_after(shape, direction, before) + 0.5 * before.curvature_m,
            support_after(shape, direction, after) + 0.5 * after.curvature_m};
}

}  // namespace

ShapeMotion motion_to(const RobotModel& model, const PlacedShape& shape, std::size_t from_depth,
                      const Transform* frames, std::span<const double> displacement, double share) noexcept {
    ShapeMotion motion;
    if (shape.reach == nullptr) return motion;
    const auto chain = model.chain(shape.body);
    double turned_above = 0.0;
    double way = 0.0;
    for (std::size_t depth = from_depth; depth < chain.size(); ++depth) {
        const Body& joint = model.bodies()[chain[depth]];
        const Transform& frame = frames[chain[depth]];
        const double moved = share * displacement[joint.dof];
        const double rate = joint.multiplier * moved;
        const bool turns = joint.kind == JointKind::revolute;
        if (turns) {
            motion.turn = motion.turn + rate * frame.rotation.z;
            motion.move = motion.move + rate * cross(frame.translation, frame.rotation.z);
        } else {
            motion.move = motion.move + rate * frame.rotation.z;
        }
        // The reach has the multiplier in it.
        const double turned = turns ? std::abs(rate) : 0.0;
        motion.curvature_m += std::abs(moved) * shape.reach[depth] * (turned + 2.0 * turned_above);
        turned_above += turned;
        way += std::abs(rate);
    }
    if (!(way <= tolerance::directional_way_max)) motion.curvature_m = std::numeric_limits<double>::infinity();
    return motion;
}

PairMotion::PairMotion(const RobotModel& model, const PlacedShape& a, const PlacedShape& b,
                       const PathInterval& interval) noexcept
    : first(a), second(b) {
    const std::size_t common = model.common_depth(a.body, b.body);
    first_before = motion_to(model, a, common, interval.frames, interval.before, interval.share);
    first_after = motion_to(model, a, common, interval.frames, interval.after, interval.share);
    second_before = motion_to(model, b, common, interval.frames, interval.before, interval.share);
    second_after = motion_to(model, b, common, interval.frames, interval.after, interval.share);
}

double PairMotion::bend_m() const noexcept {
    return 0.5 * std::max(first_before.curvature_m + second_before.curvature_m,
                          first_after.curvature_m + second_after.curvature_m);
}

GapAlong gap_along(const PairMotion& motion, Vec3 unit) noexcept {
    const GapAlong first = reach_along(motion.first, unit, motion.first_before, motion.first_after);
    const GapAlong second = reach_along(motion.second, -unit, motion.second_before, motion.second_after);
    return {-second.now_m - first.now_m, -second.before_m - first.before_m, -second.after_m - first.after_m};
}

/// Along each half of the interval the bound is the least of linear functions less a parabola: concave, so it is least at an end.
double least_gap(const GapAlong& gap) noexcept {
    const double least_m = std::min({gap.now_m, gap.before_m, gap.after_m});
    const bool is_known = gap.now_m >= least_m && gap.before_m >= least_m && gap.after_m >= least_m;
    return is_known ? least_m - tolerance::directional_rounding_m : -std::numeric_limits<double>::infinity();
}

double directional_distance(const PairMotion& motion, Vec3 direction) noexcept {
    const double length = norm(direction);
    // Nothing is beyond the face of a half-space only along its normal.
    const Vec3 unit = motion.second.is_half_space ? -motion.second.in_base.rotation.z : (1.0 / length) * direction;
    if (!(length > 0.0) || !finite(unit)) return -std::numeric_limits<double>::infinity();
    return least_gap(gap_along(motion, unit));
}

}  // namespace lastgate::detail
