// SPDX-License-Identifier: Apache-2.0
// How joint, gripper and base rows become a path of configurations.
#include <algorithm>
#include <cmath>
#include <utility>

#include "validation.hpp"
#include "geometry/tolerance.hpp"

namespace lastgate::detail {

/// Row 0 of every path: the measured state. A gripper that was not measured may stand anywhere in its range,
/// so its middle is taken and half its range counts as motion that may already have happened.
void Validation::begin_path() noexcept {
    const StateView& state = request_.state;
    double* start = path_row(0);
    std::fill(workspace_.uncertainty.begin(), workspace_.uncertainty.end(), 0.0);
    std::fill_n(start, model().variable_count(), 0.0);
    const auto dofs = model().row_dofs();
    for (std::size_t column = 0; column < dofs.size(); ++column) start[dofs[column]] = state.positions[column];
    std::size_t gripper = 0;
    for (std::size_t index = 0; index < model().dof_count(); ++index) {
        const DofSpec& dof = model().dof(index);
        if (dof.in_rows) continue;
        if (state.gripper_positions.empty()) {
            start[index] = 0.5 * (dof.position_min + dof.position_max);
            workspace_.uncertainty[index] = 0.5 * (dof.position_max - dof.position_min);
            verdict_.unchecked |= static_cast<std::uint32_t>(Unchecked::gripper_state);
        } else {
            start[index] = state.gripper_positions[gripper++];
        }
    }
    set_motion_rows(request_.chunk.row_count);
}

void Validation::set_motion_rows(std::size_t rows) noexcept { workspace_.path_rows = workspace_.motion_rows = rows; }

/// When the rows are reached: those of the running motion by its own clock, the chunk's one step apart.
void Validation::time_rows() noexcept {
    const std::size_t lead = workspace_.lead_rows;
    if (lead == 0) workspace_.row_time_s[0] = 0.0;
    const double start_s = workspace_.row_time_s[lead];
    for (std::size_t row = lead + 1; row <= workspace_.motion_rows; ++row) {
        workspace_.row_time_s[row] = start_s + config().step_s * static_cast<double>(row - lead);
    }
}

bool Validation::build_joint_path() noexcept {
    const auto dofs = model().row_dofs();
    const std::size_t lead = workspace_.lead_rows;
    for (std::size_t row = 0; row < request_.chunk.row_count; ++row) {
        std::copy_n(path_row(lead + row), model().variable_count(), path_row(lead + row + 1));
        for (std::size_t column = 0; column < dofs.size(); ++column) path_row(lead + row + 1)[dofs[column]] = value_at(row, column);
    }
    return true;
}

bool Validation::build_velocity_path() noexcept {
    const auto dofs = model().row_dofs();
    for (std::size_t row = 0; row < request_.chunk.row_count; ++row) {
        std::copy_n(path_row(row), model().variable_count(), path_row(row + 1));
        for (std::size_t column = 0; column < dofs.size(); ++column) {
            path_row(row + 1)[dofs[column]] += value_at(row, column) * config().step_s;
        }
    }
    return true;
}

/// A torque leads anywhere the velocity limits allow, as long as no joint is faster when it begins: what was measured to be faster
/// is not in the reachable set. The gripper, at its stops, may be anywhere in its range.
bool Validation::build_torque_reachable_set() noexcept {
    const auto velocities = request_.state.velocities;
    const auto dofs = model().row_dofs();
    if (velocities.empty()) verdict_.unchecked |= static_cast<std::uint32_t>(Unchecked::joint_velocities);
    for (std::size_t column = 0; column < velocities.size(); ++column) {
        const double limit = config().velocity_max[dofs[column]];
        if (inside(velocities[column], {-limit, limit})) continue;
        return reject_dof(ViolationCode::joint_velocity_limit, 0, dofs[column], velocities[column], {-limit, limit});
    }
    const double horizon_s = config().step_s * static_cast<double>(request_.chunk.row_count);
    std::fill(workspace_.half_width.begin(), workspace_.half_width.end(), 0.0);
    for (std::size_t index = 0; index < model().dof_count(); ++index) {
        const DofSpec& dof = model().dof(index);
        if (dof.in_rows) {
            workspace_.half_width[index] = config().velocity_max[index] * horizon_s;
        } else {
            // Measured a little beyond its range, it comes from there.
            const double low = std::min(dof.position_min, path_row(0)[index]);
            const double high = std::max(dof.position_max, path_row(0)[index]);
            path_row(0)[index] = 0.5 * (low + high);
            workspace_.half_width[index] = 0.5 * (high - low);
            workspace_.uncertainty[index] = 0.0;
        }
    }
    begin_reachable_set();
    return true;
}

void Validation::begin_reachable_set() noexcept {
    set_motion_rows(0);
    sweeps_reachable_set_ = true;
    rows_are_segments_ = false;
}

/// Fingers go from where they are to where the channel sends them. A binary command may mean either end: then they are swept from
/// where they are to closed, to open, and back, which is every way between the three. Fingers that were not measured may be anywhere in
/// their ranges, each for itself, and so may be whatever leads from there.
bool Validation::build_gripper_path() noexcept {
    const bool known_effector = request_.chunk.effector < model().effectors().size();
    if (!known_effector && !config().gripper_joints.empty()) {
        Violation violation;
        violation.code = ViolationCode::cartesian_frame;
        return reject(violation);
    }
    const bool binary = mode() == ControlMode::gripper_binary;
    const auto commanded = [&](std::size_t row, const GripperJointConfig& joint) noexcept {
        const double share = (value_at(row, 0) - joint.channel_closed) / (joint.channel_open - joint.channel_closed);
        return joint.position_closed + share * (joint.position_open - joint.position_closed);
    };
    if (request_.state.gripper_positions.empty()) {
        // Wherever the fingers are, they must not be sent beyond the range that is swept.
        for (std::size_t row = 0; !binary && row < request_.chunk.row_count; ++row) {
            for (const GripperJointConfig& joint : config().gripper_joints) {
                const DofSpec& dof = model().dof(joint.dof);
                const Interval allowed{dof.position_min - tolerance::rounding_m, dof.position_max + tolerance::rounding_m};
                if (joint.effector != request_.chunk.effector || inside(commanded(row, joint), allowed)) continue;
                return reject_dof(ViolationCode::joint_position_limit, row, joint.dof, commanded(row, joint), allowed);
            }
        }
        std::fill(workspace_.half_width.begin(), workspace_.half_width.end(), 0.0);
        for (const GripperJointConfig& joint : config().gripper_joints) {
            if (joint.effector == request_.chunk.effector) std::swap(workspace_.half_width[joint.dof], workspace_.uncertainty[joint.dof]);
        }
        begin_reachable_set();
        return true;
    }
    constexpr std::size_t strokes = 3;
    if (binary) {
        set_motion_rows(strokes);
        rows_are_segments_ = false;
    }
    for (std::size_t row = 1; row <= workspace_.path_rows; ++row) {
        std::copy_n(path_row(row - 1), model().variable_count(), path_row(row));
        for (const GripperJointConfig& joint : config().gripper_joints) {
            if (joint.effector != request_.chunk.effector) continue;
            if (binary) {
                path_row(row)[joint.dof] = row == 1 ? joint.position_closed : row == 2 ? joint.position_open : path_row(0)[joint.dof];
                continue;
            }
            path_row(row)[joint.dof] = commanded(row - 1, joint);
        }
    }
    return true;
}

/// The base as x, y and yaw from where it stands. Between two steps the true motion is an arc; the
/// straight line in (x, y, yaw) strays from it by at most the sagitta, which widens the margins.
bool Validation::build_base_path() noexcept {
    if (!model().mobile_base()) return false;
    for (std::size_t row = 0; row < request_.chunk.row_count; ++row) drive_base(row + 1, row, config().step_s);
    return true;
}

/// Places the base at a row of the path, `duration_s` after the one before, driving as a step of the chunk says.
void Validation::drive_base(std::size_t path_row_index, std::size_t step, double duration_s) noexcept {
    const std::size_t x = model().dof_count();
    double* to = path_row(path_row_index);
    std::copy_n(path_row(path_row_index - 1), model().variable_count(), to);
    const double heading = to[x + 2];
    const double turn = value_at(step, 5) * duration_s;
    const Vec3 v{value_at(step, 0) * duration_s, value_at(step, 1) * duration_s, 0.0};
    // Exact integration of a constant body twist: the chord points along the middle heading.
    const double half_turn = 0.5 * turn;
    const double shrink = std::abs(half_turn) > 1e-9 ? sincos(half_turn).sin / half_turn : 1.0;
    const auto [s, c] = sincos(heading + half_turn);
    to[x] += shrink * (c * v.x - s * v.y);
    to[x + 1] += shrink * (s * v.x + c * v.y);
    to[x + 2] += turn;
    // Chord of length L turned by a: sagitta below L * a / 8, and along the chord below L * a^2 / 24.
    const double length_m = norm(v);
    sweep_.extra_m = std::max(sweep_.extra_m, length_m * (std::abs(turn) / 8.0 + turn * turn / 24.0));
}

bool Validation::build_path() noexcept {
    begin_path();
    if (!begin_running_motion()) return false;
    bool built = false;
    switch (mode()) {
        case ControlMode::joint_position:
        case ControlMode::joint_trajectory:
        case ControlMode::dex_hand_joint: built = build_joint_path(); break;
        case ControlMode::joint_velocity: built = build_velocity_path(); break;
        case ControlMode::joint_torque: built = build_torque_reachable_set(); break;
        case ControlMode::cartesian_pose:
        case ControlMode::cartesian_delta:
        case ControlMode::cartesian_twist: built = build_cartesian_path(); break;
        case ControlMode::body_twist: built = build_base_path(); break;
        case ControlMode::gripper_binary:
        case ControlMode::gripper_position:
        case ControlMode::composite_mode: built = build_gripper_path(); break;
        case ControlMode::foot_placement: break;
    }
    if (!built) return false;
    // A path outside the range in which the arithmetic is bounded cannot be swept.
    for (std::size_t row = 0; row <= workspace_.path_rows; ++row) {
        for (std::size_t variable = 0; variable < model().variable_count(); ++variable) {
            const double bound = variable < model().dof_count() ? capacity::joint_position_max : capacity::base_travel_m_max;
            const double value = path_row(row)[variable];
            if (std::abs(value) <= bound) continue;
            return require_inside(value, -bound, bound, violation_of_dof(ViolationCode::joint_position_limit, step_towards(row), variable));
        }
    }
    time_rows();
    if (!check_seam_jump()) return false;
    plan_stop();
    if (limits_tool_speeds()) sweep_.place_start_tools();
    sweep_.place_rows();
    return true;
}

}  // namespace lastgate::detail
