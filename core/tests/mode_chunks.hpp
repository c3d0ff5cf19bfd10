// SPDX-License-Identifier: Apache-2.0
// For every control mode one chunk that the mobile manipulator may execute at home, and one it may not.
#pragma once

#include <cmath>
#include <vector>

#include "robots.hpp"

namespace lastgate::robots {

struct ModeChunk {
    ControlMode mode;
    std::size_t width;
    std::vector<double> accepted;  ///< Small motion around home; empty where the mode is always rejected.
    std::vector<double> rejected;  ///< Breaks a limit of stage 6, or of stage 2 where the mode is rejected.
    ViolationCode code;            ///< With which it is rejected.
};

inline std::array<double, 4> quaternion_of(const Mat3& m) {
    // Home points the tool down, half a turn away from the identity, so x is the largest part.
    const double x = 0.5 * std::sqrt(1.0 + m.x.x - m.y.y - m.z.z);
    return {x, (m.x.y + m.y.x) / (4.0 * x), (m.x.z + m.z.x) / (4.0 * x), (m.y.z - m.z.y) / (4.0 * x)};
}

inline Transform tool_at_home(const RobotModel& model) {
    std::vector<double> configuration(model.variable_count(), 0.0);
    std::copy(panda_home.begin(), panda_home.end(), configuration.begin());
    std::vector<Transform> frames(model.bodies().size());
    forward_kinematics(model, configuration.data(), frames);
    const Effector& effector = model.effectors()[0];
    return frames[effector.body] * effector.in_body;
}

inline std::vector<double> repeated(std::size_t rows, std::initializer_list<double> row) {
    std::vector<double> flat;
    for (std::size_t index = 0; index < rows; ++index) flat.insert(flat.end(), row);
    return flat;
}

inline std::vector<double> joint_rows_around_home(std::size_t rows, double step) {
    std::vector<double> flat;
    for (std::size_t row = 1; row <= rows; ++row) {
        for (const double position : panda_home) flat.push_back(position + step * static_cast<double>(row));
    }
    return flat;
}

inline std::vector<ModeChunk> mode_chunks(const RobotModel& model) {
    const Transform tool = tool_at_home(model);
    const std::array<double, 4> q = quaternion_of(tool.rotation);
    const Vec3 p = tool.translation;
    const std::vector<double> pose{q[0], q[1], q[2], q[3], p.x, p.y, p.z - 0.005, q[0], q[1], q[2], q[3], p.x + 0.01, p.y, p.z - 0.01};
    const std::vector<double> beyond = joint_rows_around_home(4, 5.0);
    const auto position = ViolationCode::joint_position_limit;
    return {
        {ControlMode::joint_position, 7, joint_rows_around_home(4, 0.005), beyond, position},
        {ControlMode::joint_velocity, 7, repeated(4, {0.1, -0.1, 0.1, 0.1, 0.0, 0.1, 0.2}), std::vector<double>(14, 2.6), ViolationCode::joint_velocity_limit},
        {ControlMode::joint_torque, 7, std::vector<double>(7, 5.0), std::vector<double>(7, 81.0), ViolationCode::joint_torque_limit},
        {ControlMode::joint_trajectory, 7, joint_rows_around_home(4, -0.005), beyond, position},
        {ControlMode::cartesian_pose, 7, pose, repeated(1, {0.0, 0.0, 0.0, 0.5, 0.4, 0.0, 0.5}), ViolationCode::quaternion_norm},
        {ControlMode::cartesian_delta, 6, repeated(3, {0.002, 0.001, -0.002, 0.0, 0.01, 0.0}), repeated(2, {0.06, 0, 0, 0, 0, 0}), ViolationCode::cartesian_step},
        {ControlMode::cartesian_twist, 6, repeated(3, {0.1, 0.0, -0.1, 0.0, 0.1, 0.0}), repeated(2, {0, 0, 3.1, 0, 0, 0}), ViolationCode::ee_speed},
        {ControlMode::body_twist, 6, repeated(4, {0.3, 0.1, 0.0, 0.0, 0.0, 0.2}), repeated(2, {1.1, 0, 0, 0, 0, 0}), ViolationCode::base_linear_speed},
        {ControlMode::foot_placement, 6, {}, repeated(1, {0, 0, 0, 0, 0, 0}), ViolationCode::control_mode},
        {ControlMode::gripper_binary, 1, {0.0, 1.0}, {1.5}, ViolationCode::gripper_range},
        {ControlMode::gripper_position, 1, {0.0, 0.04, 0.08}, {0.081}, ViolationCode::gripper_range},
        {ControlMode::dex_hand_joint, 7, joint_rows_around_home(2, 0.01), beyond, position},
        {ControlMode::composite_mode, 1, {0.02, 0.06}, {-0.001}, ViolationCode::gripper_range},
    };
}

}  // namespace lastgate::robots
