// SPDX-License-Identifier: Apache-2.0
// ee_speed, ee_angular_speed, ee_acceleration, by forward kinematics along any joint path.
#include <algorithm>

#include "../validation.hpp"

namespace lastgate {

bool Validation::check_ee_motion() noexcept {
    const bool timed = is_timed_joint_path();
    const bool has_velocity = !request_.state.velocities.empty();
    if (config().max_ee_accel_m_s2 && timed && !has_velocity) {
        verdict_.unchecked |= static_cast<std::uint32_t>(Unchecked::initial_acceleration);
    }
    if (has_velocity) {
        // Where the robot was one step ago, had it moved as it was measured to.
        std::copy_n(path_row(0), model().variable_count(), gate_.sample_.data());
        const auto dofs = model().row_dofs();
        for (std::size_t column = 0; column < dofs.size(); ++column) {
            gate_.sample_[dofs[column]] -= request_.state.velocities[column] * config().step_s;
        }
        forward_kinematics(model(), gate_.sample_.data(), gate_.sample_frames_);
    }
    const double step_s = config().step_s;
    for (std::size_t row = 1; timed && row <= gate_.path_rows_; ++row) {
        for (std::size_t index = 0; index < model().effectors().size(); ++index) {
            const Effector& effector = model().effectors()[index];
            const auto tool_at = [&](std::size_t at) noexcept { return sweep_.frames_of_row(at)[effector.body] * effector.in_body; };
            const auto tool_before_state = [&]() noexcept { return gate_.sample_frames_[effector.body] * effector.in_body; };
            const Transform before = tool_at(row - 1);
            const Transform here = tool_at(row);
            Violation blame;
            blame.subject_kind = SubjectKind::effector;
            blame.subject = static_cast<std::uint32_t>(index);
            blame.row = static_cast<std::uint32_t>(row - 1);
            const Vec3 velocity = (1.0 / step_s) * (here.translation - before.translation);
            if (config().max_ee_speed_m_s) {
                blame.code = ViolationCode::ee_speed;
                if (!require_inside(norm(velocity), 0.0, *config().max_ee_speed_m_s, blame)) return false;
            }
            if (config().max_ee_angular_speed_rad_s) {
                blame.code = ViolationCode::ee_angular_speed;
                const double turn = angle_between(before.rotation, here.rotation) / step_s;
                if (!require_inside(turn, 0.0, *config().max_ee_angular_speed_rad_s, blame)) return false;
            }
            if (config().max_ee_accel_m_s2 && (row >= 2 || has_velocity)) {
                blame.code = ViolationCode::ee_acceleration;
                const Transform earliest = row >= 2 ? tool_at(row - 2) : tool_before_state();
                const Vec3 earlier = (1.0 / step_s) * (before.translation - earliest.translation);
                const double acceleration = norm(velocity - earlier) / step_s;
                if (!require_inside(acceleration, 0.0, *config().max_ee_accel_m_s2, blame)) return false;
            }
        }
    }
    return true;
}

/// The tool of every end effector stays inside the box at every instant of the path.
bool Validation::check_workspace_box() noexcept {
    if (!config().workspace_box || mode() == ControlMode::body_twist) return true;
    Finding finding;
    if (settle(PairKind::box, sweep_.run(PairKind::box, gate_.path_rows_, finding), finding)) return true;
    // The rows before the box is left have not been compared with anything yet.
    verdict_.certified_rows = 0;
    return false;
}

}  // namespace lastgate
