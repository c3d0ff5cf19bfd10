// SPDX-License-Identifier: Apache-2.0
// Cartesian rows, resolved step by step to the joint path that is checked.
#include <algorithm>
#include <array>
#include <cmath>

#include "validation.hpp"

namespace lastgate::detail {
namespace {

/// Metres that one radian of orientation error weighs. At arm scale 0.1 keeps position first where a
/// robot with fewer than six joints cannot have both.
constexpr double metres_per_radian = 0.1;

/// Damping of the least squares step (squared, in the weighted unit): 1 cm, the usual choice near
/// singular poses; it slows convergence there and costs nothing elsewhere.
constexpr double damping2 = 1e-4;

/// Steps per row. A row moves the tool a few centimetres, which takes four; 24 covers singular poses.
constexpr int iterations_max = 24;

/// Weighted error at which a row counts as reached: ten micrometres.
constexpr double reached_m = 1e-5;

/// What cannot be followed to this is not a motion we can predict. Turning is held to as much only where
/// the arm has the joints for it.
constexpr double residual_m_max = 0.01;
constexpr double residual_rad_max = 0.1;
constexpr std::size_t joints_for_any_pose = 6;

/// A half turn has two ways around and a row does not say which; of more than that a pose keeps only what is left. This near
/// to it rounding would choose the way.
constexpr double turn_rad_max = 3.141592653589793 - 1e-6;

using Vec6 = std::array<double, 6>;

/// Solves the symmetric positive definite 6x6 system in place (Cholesky).
bool solve6(std::array<Vec6, 6>& a, Vec6& b) noexcept {
    for (std::size_t i = 0; i < 6; ++i) {
        for (std::size_t j = 0; j <= i; ++j) {
            double sum = a[i][j];
            for (std::size_t k = 0; k < j; ++k) sum -= a[i][k] * a[j][k];
            if (i == j) {
                if (!(sum > 0.0)) return false;
                a[i][i] = std::sqrt(sum);
            } else {
                a[i][j] = sum / a[j][j];
            }
        }
    }
    for (std::size_t i = 0; i < 6; ++i) {
        for (std::size_t k = 0; k < i; ++k) b[i] -= a[i][k] * b[k];
        b[i] /= a[i][i];
    }
    for (std::size_t i = 6; i-- > 0;) {
        for (std::size_t k = i + 1; k < 6; ++k) b[i] -= a[k][i] * b[k];
        b[i] /= a[i][i];
    }
    return true;
}

/// Rotation error as a vector, usable up to half a turn.
Vec3 turn_towards(const Mat3& from, const Mat3& to) noexcept {
    const Vec3 axis = rotation_difference(from, to);
    const double sine = norm(axis);
    if (!(sine > 1e-12)) return axis;
    return (angle_between(from, to) / sine) * axis;
}

}  // namespace

/// Moves `configuration` so that the tool reaches `target`, by damped least squares over the joints
/// that rows command. What remains is left in `residual`.
bool Validation::resolve_row(const Effector& effector, const Transform& target, double* configuration, Residual& residual) noexcept {
    std::array<Vec6, capacity::chain_max> columns;
    for (int iteration = 0; iteration <= iterations_max; ++iteration) {
        forward_kinematics(model(), configuration, workspace_.sample_frames);
        const Transform tool = workspace_.sample_frames[effector.body] * effector.in_body;
        const Vec3 move = target.translation - tool.translation;
        const Vec3 turn = metres_per_radian * turn_towards(tool.rotation, target.rotation);
        // Half a turn away `turn` has no direction left, and no length.
        residual = {norm(move), angle_between(tool.rotation, target.rotation)};
        const double error_m = std::sqrt(dot(move, move) + dot(turn, turn));
        if (!std::isfinite(error_m)) return false;
        if (error_m <= reached_m || iteration == iterations_max) return true;

        const auto chain = model().chain(effector.body);
        std::array<Vec6, 6> normal{};
        for (std::size_t i = 0; i < 6; ++i) normal[i][i] = damping2 * std::min(1.0, error_m / 0.01);
        for (std::size_t depth = 0; depth < chain.size(); ++depth) {
            const Body& body = model().bodies()[chain[depth]];
            columns[depth] = Vec6{};
            const bool moves = body.dof < model().dof_count() && model().dof(body.dof).in_rows;
            if (!moves) continue;
            const Transform& frame = workspace_.sample_frames[chain[depth]];
            const Vec3 axis = body.multiplier * frame.rotation.z;
            const bool revolute = body.kind == JointKind::revolute;
            const Vec3 linear = revolute ? cross(axis, tool.translation - frame.translation) : axis;
            const Vec3 angular = revolute ? metres_per_radian * axis : Vec3{};
            columns[depth] = {linear.x, linear.y, linear.z, angular.x, angular.y, angular.z};
            for (std::size_t i = 0; i < 6; ++i) {
                for (std::size_t j = 0; j <= i; ++j) normal[i][j] += columns[depth][i] * columns[depth][j];
            }
        }
        Vec6 pull{move.x, move.y, move.z, turn.x, turn.y, turn.z};
        if (!solve6(normal, pull)) return false;
        for (std::size_t depth = 0; depth < chain.size(); ++depth) {
            double step = 0.0;
            for (std::size_t i = 0; i < 6; ++i) step += columns[depth][i] * pull[i];
            configuration[model().bodies()[chain[depth]].dof] += step;
        }
    }
    return false;
}

/// A pose is a target; a delta is relative to where the tool is then; a twist is a delta per second.
bool Validation::build_cartesian_path() noexcept {
    const Effector& effector = model().effectors()[request_.chunk.effector];
    double widest_m = 0.0;
    std::size_t joints = 0;
    for (const std::uint16_t body : model().chain(effector.body)) {
        const std::size_t variable = model().bodies()[body].dof;
        // Where the tool is decides how the arm must move; with a finger under it that was not measured there is one arm for every place
        // the finger may have, and a path can follow one.
        if (workspace_.uncertainty[variable] > 0.0) {
            Violation unmeasured = violation_of_dof(ViolationCode::state_unavailable, 0, variable);
            unmeasured.row = none;
            unmeasured.element = state_cause::unmeasured_tool;
            return reject(unmeasured);
        }
        joints += variable < model().dof_count() && model().dof(variable).in_rows ? 1 : 0;
    }
    const bool can_turn = joints >= joints_for_any_pose;
    for (std::size_t row = 0; row < request_.chunk.row_count; ++row) {
        std::copy_n(path_row(row), model().variable_count(), path_row(row + 1));
        forward_kinematics(model(), path_row(row), workspace_.sample_frames);
        const Transform tool = workspace_.sample_frames[effector.body] * effector.in_body;
        Transform target;
        double turn_rad = 0.0;
        if (mode() == ControlMode::cartesian_pose) {
            const double x = value_at(row, 0);
            const double y = value_at(row, 1);
            const double z = value_at(row, 2);
            const double w = value_at(row, 3);
            const double scale = 1.0 / std::sqrt(x * x + y * y + z * z + w * w);
            target = {rotation_from_quaternion(scale * x, scale * y, scale * z, scale * w), vector_at(row, 4)};
            turn_rad = angle_between(tool.rotation, target.rotation);
        } else {
            const double scale = mode() == ControlMode::cartesian_twist ? config().step_s : 1.0;
            const bool in_tool = request_.chunk.frame == CartesianFrame::tool;
            const Vec3 move = in_tool ? tool.rotation * (scale * vector_at(row, 0)) : scale * vector_at(row, 0);
            const Vec3 turn = in_tool ? tool.rotation * (scale * vector_at(row, 3)) : scale * vector_at(row, 3);
            target = {rotation_from_vector(turn) * tool.rotation, tool.translation + move};
            turn_rad = norm(turn);
        }
        Residual residual;
        const Violation move_violation = violation_of_element(ViolationCode::cartesian_unreachable, row, 0);
        const Violation turn_violation = violation_of_element(ViolationCode::cartesian_unreachable, row, 3);
        if (!require_inside(turn_rad, 0.0, turn_rad_max, turn_violation)) return false;
        if (!resolve_row(effector, target, path_row(row + 1), residual)) return reject(move_violation);
        if (!require_inside(residual.move_m, 0.0, residual_m_max, move_violation)) return false;
        if (can_turn && !require_inside(residual.turn_rad, 0.0, residual_rad_max, turn_violation)) return false;
        // Where turning can be followed, what remains of it moves all that the tool's body carries, the more the farther it reaches.
        const double turned_m = can_turn ? residual.turn_rad * sweep_.reach_from_tool(request_.chunk.effector, workspace_.sample_frames.data()) : 0.0;
        widest_m = std::max(widest_m, residual.move_m + turned_m);
    }
    sweep_.extra_m = widest_m + config().cartesian_deviation_m;
    return true;
}

}  // namespace lastgate::detail
