// SPDX-License-Identifier: Apache-2.0
// joint_position_limit, joint_velocity_limit, joint_torque_limit, joint_acceleration_limit.
#include <algorithm>
#include <cmath>

#include "validation.hpp"

namespace lastgate::detail {
namespace {

/// How far beyond a limit a measured joint may read: encoder noise and the sag of a servo against its
/// stop stay below 5 mrad or 5 mm. Recovery: half of what the model's motion bounds cover (0.2).
constexpr double resting_limit_slack = 0.005;
constexpr double recovery_limit_slack = 0.1;

/// A quotient of two numbers that differ in the last bit must not reject a step that is exactly at
/// its limit: (q1 - q0) / step_s carries three roundings of relative size 2^-53 of the operands.
double rounding_slack(double position_a, double position_b, double step_s) noexcept {
    return 4.0 * 2.220446049250313e-16 * (std::abs(position_a) + std::abs(position_b)) / step_s;
}

}  // namespace

bool Validation::check_joint_position_rows() noexcept {
    const auto dofs = model().row_dofs();
    for (std::size_t row = 0; row < request_.chunk.row_count; ++row) {
        for (std::size_t column = 0; column < dofs.size(); ++column) {
            const DofSpec& dof = model().dof(dofs[column]);
            const Interval allowed{dof.position_min, dof.position_max};
            if (inside(value_at(row, column), allowed)) continue;
            return reject_dof(ViolationCode::joint_position_limit, row, dofs[column], value_at(row, column), allowed);
        }
    }
    return true;
}

bool Validation::check_joint_rows(ViolationCode code, const std::vector<double>& limits) noexcept {
    const auto dofs = model().row_dofs();
    for (std::size_t row = 0; row < request_.chunk.row_count; ++row) {
        for (std::size_t column = 0; column < dofs.size(); ++column) {
            const Interval allowed{-limits[dofs[column]], limits[dofs[column]]};
            if (!inside(value_at(row, column), allowed)) return reject_dof(code, row, dofs[column], value_at(row, column), allowed);
        }
    }
    return true;
}

/// Positions are inside their limits along the whole path. Between two steps a joint lies between their
/// values, so the rows suffice. What was measured was not commanded: a joint resting at its stop reads
/// a little beyond it, and a recovery may bring one back from farther out.
bool Validation::check_joint_position_path() noexcept {
    const double measured_slack = request_.recovery ? recovery_limit_slack : resting_limit_slack;
    for (std::size_t row = 0; row <= workspace_.motion_rows; ++row) {
        const double slack = row == 0 ? measured_slack : 0.0;
        for (std::size_t index = 0; index < model().dof_count(); ++index) {
            const DofSpec& dof = model().dof(index);
            // A joint that no row moves stays where it was measured.
            const bool resting = path_row(row)[index] == path_row(0)[index];
            const double beyond = resting ? measured_slack : slack;
            const Interval allowed{dof.position_min - beyond, dof.position_max + beyond};
            if (inside(path_row(row)[index], allowed)) continue;
            return reject_dof(ViolationCode::joint_position_limit, step_towards(row), index, path_row(row)[index], allowed);
        }
    }
    return true;
}

bool Validation::check_joint_velocity_path() noexcept {
    if (!is_timed_joint_path()) return true;
    const double factor = request_.recovery ? recovery_speed_factor : 1.0;
    const auto code = request_.recovery ? ViolationCode::recovery_speed : ViolationCode::joint_velocity_limit;
    const double nearly_step_s = config().step_s * (1.0 - 1e-12);
    for (std::size_t row = workspace_.lead_rows + 1; row <= workspace_.motion_rows; ++row) {
        for (std::size_t index = 0; index < model().dof_count(); ++index) {
            const double from = path_row(row - 1)[index];
            const double to = path_row(row)[index];
            // A quotient is only needed near the limit: this is below it by more than all roundings.
            if (std::abs(to - from) <= config().velocity_max[index] * factor * nearly_step_s) continue;
            const double velocity = (to - from) / config().step_s;
            const double limit = config().velocity_max[index] * factor + rounding_slack(from, to, config().step_s);
            if (!inside(velocity, {-limit, limit})) return reject_dof(code, step_towards(row), index, velocity, {-limit, limit});
        }
    }
    return true;
}

bool Validation::check_joint_acceleration_limit() noexcept {
    if (!config().acceleration_max || !is_timed_joint_path()) return true;
    const bool has_velocity = !request_.state.velocities.empty();
    if (!has_velocity && workspace_.lead_rows == 0) verdict_.unchecked |= static_cast<std::uint32_t>(Unchecked::initial_acceleration);
    const double step_s = config().step_s;
    const auto dofs = model().row_dofs();
    // How the chunk takes over from a running motion was checked as `seam_jump`.
    const std::size_t lead = workspace_.lead_rows;
    for (std::size_t row = lead > 0 ? lead + 2 : has_velocity ? 1 : 2; row <= workspace_.motion_rows; ++row) {
        for (std::size_t column = 0; column < dofs.size(); ++column) {
            const std::size_t index = dofs[column];
            const double velocity = (path_row(row)[index] - path_row(row - 1)[index]) / step_s;
            const double before = row == 1 ? request_.state.velocities[column]
                                           : (path_row(row - 1)[index] - path_row(row - 2)[index]) / step_s;
            const double slack = 2.0 * rounding_slack(path_row(row)[index], path_row(row - 1)[index], step_s) / step_s;
            const double limit = (*config().acceleration_max)[index] + slack;
            const double acceleration = (velocity - before) / step_s;
            if (inside(acceleration, {-limit, limit})) continue;
            return reject_dof(ViolationCode::joint_acceleration_limit, step_towards(row), index, acceleration, {-limit, limit});
        }
    }
    return true;
}

/// Torque says nothing about where the joints go, so everything the velocity limits allow counts. A
/// gripper rests at its mechanical stops; other joints must not be able to leave their limits.
bool Validation::check_reachable_set_limits() noexcept {
    const double horizon_s = config().step_s * static_cast<double>(request_.chunk.row_count);
    std::size_t gripper = 0;
    for (std::size_t index = 0; index < model().dof_count(); ++index) {
        const DofSpec& dof = model().dof(index);
        const double position = path_row(0)[index];
        if (!dof.in_rows) {
            if (request_.state.gripper_positions.empty()) continue;
            const double measured = request_.state.gripper_positions[gripper++];
            const Interval allowed{dof.position_min - resting_limit_slack, dof.position_max + resting_limit_slack};
            if (!inside(measured, allowed)) return reject_dof(ViolationCode::joint_position_limit, 0, index, measured, allowed);
            continue;
        }
        const double reach = config().velocity_max[index] * horizon_s;
        const Interval allowed{dof.position_min, dof.position_max};
        for (const double farthest : {position - reach, position + reach}) {
            if (!inside(farthest, allowed)) return reject_dof(ViolationCode::joint_position_limit, 0, index, farthest, allowed);
        }
    }
    if (!config().workspace_box) return true;
    Finding finding;
    return settle(PairKind::box, run_sweep(PairKind::box, finding), finding);
}

}  // namespace lastgate::detail
