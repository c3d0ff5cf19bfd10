// SPDX-License-Identifier: Apache-2.0
// How a tool moves within a step: bounds for the whole of it, and derivatives at an instant.
//
// Along a step q(t) = q + t d, t from 0 to 1, a tool at p has the derivatives
//     p'   = sum over j of       d_j         a_j x (p - o_j)
//     p''  = sum over j, k of    d_j d_k     a_min x (a_max x (p - o_max))
//     p''' = sum over i, j, k of d_i d_j d_k a_i x (a_j x (a_k x (p - o_k))), ordered from the root to the tip,
// for turning joints with axes a through o; the one nearest to the tip comes last. A slide m counts once, with its axis instead of the
// last product, and turns nothing behind it. |a x (p - o)| is at most the reach of that joint. With A the sum of the turning |d| above a
// joint m, and r its own |d| (0 for a slide, whose own share counts once), the terms in which m comes last add up to
//     reach |d| ,  reach |d| (r + 2 A) ,  reach |d| (r r + 3 A r + 3 A A).
// Likewise the axes that turn a tool turn each other: the turn w has |w'| at most the sum over j < k of |d_j| |d_k|, but for axes that are
// parallel, which joints between them that are parallel too keep so.
#include <algorithm>
#include <cmath>

#include "simd/simd_kernels.hpp"
#include "geometry/tolerance.hpp"
#include "sweep.hpp"

namespace lastgate::detail {

ToolBounds Sweep::bound_tool(std::size_t effector, std::span<const double> step) const noexcept {
    const Effector& tool = setup.model->effectors()[effector];
    const auto chain = setup.model->chain(tool.body);
    ToolBounds bounds;
    double above = 0.0;
    double parallel = 0.0;  // of `above`, what turns about the same direction
    for (std::size_t depth = 0; depth < chain.size(); ++depth) {
        const Body& joint = setup.model->bodies()[chain[depth]];
        const double moved_m = step[joint.dof] * tool.reach[depth];
        const double turned = joint.kind == JointKind::revolute ? std::abs(joint.multiplier) * step[joint.dof] : 0.0;
        const Vec3 axis = joint.in_parent.rotation.z;
        if (std::abs(axis.x) + std::abs(axis.y) > tolerance::parallel) parallel = 0.0;
        bounds.moving_joints += step[joint.dof] > 0.0 ? 1 : 0;
        bounds.move_m += moved_m;
        bounds.bend_m += moved_m * (turned + 2.0 * above);
        bounds.jerk_m += moved_m * (turned * turned + 3.0 * above * turned + 3.0 * above * above);
        bounds.turn_change += turned * (above - parallel);
        above += turned;
        parallel += turned;
    }
    bounds.turn = above;
    return bounds;
}

ToolMotion Sweep::tool_motion_at(std::size_t effector, const Transform* frames, std::span<const double> step) const noexcept {
    const Effector& tool = setup.model->effectors()[effector];
    ToolMotion motion;
    Vec3 spin_change;
    Vec3 at;
    const auto carry_to = [&](Vec3 point) noexcept {
        const Vec3 arm = point - at;
        motion.move = motion.move + cross(motion.turn, arm);
        motion.bend = motion.bend + cross(spin_change, arm) + cross(motion.turn, cross(motion.turn, arm));
        at = point;
    };
    for (const std::uint16_t body : setup.model->chain(tool.body)) {
        const Body& joint = setup.model->bodies()[body];
        const Vec3 axis = (joint.multiplier * step[joint.dof]) * frames[body].rotation.z;
        carry_to(frames[body].translation);
        if (joint.kind == JointKind::revolute) {
            spin_change = spin_change + cross(motion.turn, axis);
            motion.turn = motion.turn + axis;
        } else {
            motion.bend = motion.bend + 2.0 * cross(motion.turn, axis);
            motion.move = motion.move + axis;
        }
    }
    carry_to(frames[tool.body] * tool.in_body.translation);
    return motion;
}

double Sweep::reach_from_tool(std::size_t effector, const Transform* frames) const noexcept {
    const Effector& tool = setup.model->effectors()[effector];
    const Vec3 at = frames[tool.body] * tool.in_body.translation;
    const std::size_t depth = setup.model->bodies()[tool.body].depth;
    double farthest_m = 0.0;
    for (std::size_t index = 0; index < volume_count(); ++index) {
        const Volume& shape = setup.shapes.volumes()[index];
        if (setup.model->common_depth(shape.body, tool.body) != depth) continue;
        const Segment capsule_axis = axis_in_base(index, frames);
        const double axis_m = std::max(norm(capsule_axis.a - at), norm(capsule_axis.b - at));
        farthest_m = std::max(farthest_m, axis_m + shape.radius_m + motion_of_volume(index, depth, workspace.uncertainty));
    }
    return farthest_m;
}

void Sweep::test_tool_steps(std::size_t effector, double move_m, double turn_rad, std::uint8_t* open) noexcept {
    const SimdTables& tables = setup.simd.tables();
    const SimdVolume& tool = tables.volumes[tables.volume_count + effector];
    // Two positions are off by their error each. Two rotations by the angle t differ by 2 sqrt(2) sin(t / 2) in the Frobenius
    // norm; each is off by its rounding bound, and the sum of nine squares by a few roundings.
    const auto certified_m = static_cast<float>(move_m - 2.0 * static_cast<double>(tool.error));
    const double chord = 2.8284271247461903 * sincos(0.5 * std::min(turn_rad, 3.141592653589793)).sin;
    const auto certified_chord = static_cast<float>(chord - 2.0 * setup.simd.rotation_error(tool.body) - 1e-5 * chord);
    for (std::size_t index = 0; index < group_count_for(workspace.path_rows); ++index) {
        const float* const before = index == 0 ? workspace.start_tools.data() : workspace.simd_groups[index - 1].tool;
        const std::size_t at = 12 * lane_count * effector;
        open[index] = setup.simd.kernels().test_tool_steps(before + at, workspace.simd_groups[index].tool + at, certified_m, certified_chord);
    }
}

}  // namespace lastgate::detail
