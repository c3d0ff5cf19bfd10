// SPDX-License-Identifier: Apache-2.0
// cartesian_frame, quaternion_norm, workspace_box (of commanded poses), cartesian_step,
// cartesian_rotation_step, ee_speed, ee_angular_speed: what Cartesian rows may say.
#include <cmath>

#include "validation.hpp"

namespace lastgate::detail {

/// Which end effector, in which axes: undeclared means unknown, and unknown is rejected.
bool Validation::check_cartesian_frame() noexcept {
    const bool known_effector = request_.chunk.effector < model().effectors().size();
    const bool known_frame = request_.chunk.frame == CartesianFrame::base ||
                             (request_.chunk.frame == CartesianFrame::tool && mode() != ControlMode::cartesian_pose);
    if (known_effector && known_frame) return true;
    Violation violation;
    violation.code = ViolationCode::cartesian_frame;
    return reject(violation);
}

bool Validation::check_cartesian_pose_rows() noexcept {
    if (!check_cartesian_frame()) return false;
    for (std::size_t row = 0; row < request_.chunk.row_count; ++row) {
        double norm2 = 0.0;
        for (std::size_t column = 0; column < 4; ++column) norm2 += value_at(row, column) * value_at(row, column);
        // Four decimals of a float32 policy output; farther off it is not an orientation.
        if (!require_inside(std::sqrt(norm2), 0.999, 1.001, violation_of_element(ViolationCode::quaternion_norm, row, 0))) return false;
        const Vec3 p = vector_at(row, 4);
        const WorkspaceBox& box = *config().workspace_box;
        if (!require_inside(p.x, box.min.x, box.max.x, violation_of_element(ViolationCode::workspace_box, row, 4))) return false;
        if (!require_inside(p.y, box.min.y, box.max.y, violation_of_element(ViolationCode::workspace_box, row, 5))) return false;
        if (!require_inside(p.z, box.min.z, box.max.z, violation_of_element(ViolationCode::workspace_box, row, 6))) return false;
    }
    return true;
}

bool Validation::check_cartesian_delta_rows() noexcept {
    if (!check_cartesian_frame()) return false;
    for (std::size_t row = 0; row < request_.chunk.row_count; ++row) {
        const Violation step = violation_of_element(ViolationCode::cartesian_step, row, 0);
        const Violation turn = violation_of_element(ViolationCode::cartesian_rotation_step, row, 3);
        if (!require_inside(norm(vector_at(row, 0)), 0.0, *config().max_cartesian_step_m, step)) return false;
        if (!require_inside(norm(vector_at(row, 3)), 0.0, *config().max_cartesian_step_rad, turn)) return false;
    }
    return true;
}

bool Validation::check_cartesian_twist_rows() noexcept {
    if (!check_cartesian_frame()) return false;
    for (std::size_t row = 0; row < request_.chunk.row_count; ++row) {
        const Violation speed = violation_of_element(ViolationCode::ee_speed, row, 0);
        const Violation turn = violation_of_element(ViolationCode::ee_angular_speed, row, 3);
        if (!require_inside(norm(vector_at(row, 0)), 0.0, *config().max_ee_speed_m_s, speed)) return false;
        if (!require_inside(norm(vector_at(row, 3)), 0.0, *config().max_ee_angular_speed_rad_s, turn)) return false;
    }
    return true;
}

}  // namespace lastgate::detail
