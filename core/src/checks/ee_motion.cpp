// SPDX-License-Identifier: Apache-2.0
// ee_speed, ee_angular_speed, ee_acceleration, by forward kinematics along any joint path.
#include "../validation.hpp"

namespace lastgate {

/// One step of one tool. Bounds on its motion come first; where they suffice, nothing is computed.
bool Validation::check_ee_step(std::size_t row, std::size_t index) noexcept {
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
    if (config().max_ee_speed_m_s && !(sweep_.tool_motion(index, row) <= *config().max_ee_speed_m_s * step_s)) {
        const double speed = norm(tool_at(row).translation - tool_at(row - 1).translation) / step_s;
        if (!require_inside(speed, 0.0, *config().max_ee_speed_m_s, blame_effector(ViolationCode::ee_speed))) return false;
    }
    if (config().max_ee_angular_speed_rad_s && !(sweep_.tool_turn(index, row) <= *config().max_ee_angular_speed_rad_s * step_s)) {
        const double turn = angle_between(tool_at(row - 1).rotation, tool_at(row).rotation) / step_s;
        if (!require_inside(turn, 0.0, *config().max_ee_angular_speed_rad_s, blame_effector(ViolationCode::ee_angular_speed))) return false;
    }
    if (config().max_ee_accel_m_s2 && row >= 2) {
        const Vec3 change = (tool_at(row).translation - tool_at(row - 1).translation) - (tool_at(row - 1).translation - tool_at(row - 2).translation);
        if (!require_inside(norm(change) / (step_s * step_s), 0.0, *config().max_ee_accel_m_s2, blame_effector(ViolationCode::ee_acceleration))) return false;
    }
    return true;
}

bool Validation::check_ee_motion() noexcept {
    const bool timed = is_timed_joint_path();
    for (std::size_t row = 1; timed && row <= gate_.path_rows_; ++row) {
        for (std::size_t index = 0; index < model().effectors().size(); ++index) {
            if (!check_ee_step(row, index)) return false;
        }
    }
    return true;
}

/// The tool of every end effector stays inside the box at every instant of the path.
bool Validation::check_workspace_box() noexcept {
    if (!config().workspace_box || mode() == ControlMode::body_twist) return true;
    Finding finding;
    return settle(PairKind::box, sweep_.run(PairKind::box, gate_.path_rows_, finding), finding);
}

}  // namespace lastgate
