// SPDX-License-Identifier: Apache-2.0
// ee_speed, ee_angular_speed, ee_acceleration, by forward kinematics along any joint path.
#include <algorithm>

#include "../validation.hpp"

namespace lastgate {

/// One step of one tool. Bounds on its motion come first; where they suffice, nothing is computed. `open`: the lanes
/// did not show the step inside both speeds.
bool Validation::check_ee_step(std::size_t row, std::size_t index, bool open) noexcept {
    const double step_s = config().step_s;
    const Effector& effector = model().effectors()[index];
    const auto tool_at = [&](std::size_t at) noexcept { return sweep_.frames_of_row(at)[effector.body] * effector.in_body; };
    const auto blame_effector = [&](ViolationCode code) noexcept {
        Violation blame;
        blame.code = code;
        blame.subject_kind = SubjectKind::effector;
        blame.subject = static_cast<std::uint32_t>(index);
        blame.row = static_cast<std::uint32_t>(row - 1);
        return blame;
    };
    if (open && config().max_ee_speed_m_s && !(sweep_.tool_motion(index, row) <= *config().max_ee_speed_m_s * step_s)) {
        const double speed = norm(tool_at(row).translation - tool_at(row - 1).translation) / step_s;
        if (!require_inside(speed, 0.0, *config().max_ee_speed_m_s, blame_effector(ViolationCode::ee_speed))) return false;
    }
    if (open && config().max_ee_angular_speed_rad_s && !(sweep_.tool_turn(index, row) <= *config().max_ee_angular_speed_rad_s * step_s)) {
        const double turn = angle_between(tool_at(row - 1).rotation, tool_at(row).rotation) / step_s;
        if (!require_inside(turn, 0.0, *config().max_ee_angular_speed_rad_s, blame_effector(ViolationCode::ee_angular_speed))) return false;
    }
    const bool has_velocity = !request_.state.velocities.empty();
    if (config().max_ee_accel_m_s2 && (row >= 2 || has_velocity)) {
        const Vec3 here = tool_at(row).translation;
        const Vec3 before = tool_at(row - 1).translation;
        const Vec3 earlier = row >= 2 ? tool_at(row - 2).translation : (gate_.sample_frames_[effector.body] * effector.in_body).translation;
        const double acceleration = norm((here - before) - (before - earlier)) / (step_s * step_s);
        if (!require_inside(acceleration, 0.0, *config().max_ee_accel_m_s2, blame_effector(ViolationCode::ee_acceleration))) return false;
    }
    return true;
}

bool Validation::check_ee_motion() noexcept {
    const bool timed = is_timed_joint_path();
    const bool has_velocity = !request_.state.velocities.empty();
    if (config().max_ee_accel_m_s2 && timed && !has_velocity) {
        verdict_.unchecked |= static_cast<std::uint32_t>(Unchecked::initial_acceleration);
    }
    if (config().max_ee_accel_m_s2 && has_velocity) {
        // Where the robot was one step ago, had it moved as it was measured to.
        std::copy_n(path_row(0), model().variable_count(), gate_.sample_.data());
        const auto dofs = model().row_dofs();
        for (std::size_t column = 0; column < dofs.size(); ++column) {
            gate_.sample_[dofs[column]] -= request_.state.velocities[column] * config().step_s;
        }
        forward_kinematics(model(), gate_.sample_.data(), gate_.sample_frames_);
    }
    return !timed || check_ee_steps();
}

bool Validation::limits_tool_speeds() const noexcept {
    return is_timed_joint_path() && (config().max_ee_speed_m_s || config().max_ee_angular_speed_rad_s) && !model().effectors().empty();
}

bool Validation::check_ee_steps() noexcept {
    // Farther than any robot reaches, and more than half a turn: no limit.
    const double move_m = config().max_ee_speed_m_s ? *config().max_ee_speed_m_s * config().step_s : 1e6;
    const double turn_rad = config().max_ee_angular_speed_rad_s ? *config().max_ee_angular_speed_rad_s * config().step_s : 1e6;
    std::uint8_t open[capacity::effectors_max][capacity::rows_max / lane_count];
    const bool limited = limits_tool_speeds();
    for (std::size_t index = 0; limited && index < model().effectors().size(); ++index) {
        sweep_.test_tool_steps(index, move_m, turn_rad, open[index]);
    }
    for (std::size_t row = 1; row <= gate_.path_rows_; ++row) {
        const std::size_t lane = row - 1;
        for (std::size_t index = 0; index < model().effectors().size(); ++index) {
            const bool is_open = limited && (open[index][lane / lane_count] >> (lane % lane_count) & 1) != 0;
            if (!check_ee_step(row, index, is_open)) return false;
        }
    }
    return true;
}

/// The tool of every end effector stays inside the box at every instant of the path.
bool Validation::check_workspace_box() noexcept {
    if (!config().workspace_box || mode() == ControlMode::body_twist) return true;
    Finding finding;
    if (settle(PairKind::box, sweep_.run(PairKind::box, gate_.path_rows_, finding), finding)) return true;
    confirm_prefix(PairKind::box);
    return false;
}

}  // namespace lastgate
