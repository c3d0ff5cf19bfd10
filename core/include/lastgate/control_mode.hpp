// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace lastgate {

/// What the numbers of a row mean. The values are those of the ROS message `openral_msgs/ActionChunk`.
enum class ControlMode : std::uint8_t {
    joint_position = 0,
    joint_velocity = 1,
    joint_torque = 2,
    joint_trajectory = 3,
    cartesian_pose = 4,
    cartesian_delta = 5,
    cartesian_twist = 6,
    body_twist = 7,
    foot_placement = 8,
    gripper_binary = 9,
    gripper_position = 10,
    dex_hand_joint = 11,
    composite_mode = 12,
};

inline constexpr std::size_t control_mode_count = 13;

/// Numbers in one row of a mode; 0 for a mode that does not exist.
constexpr std::size_t row_width(std::size_t mode, std::size_t dof_count) noexcept {
    switch (mode) {
        case 0: case 1: case 2: case 3: case 11: return dof_count;
        case 4: return 7;
        case 5: case 6: case 7: return 6;
        case 9: case 10: case 12: return 1;
        default: return 0;
    }
}

}  // namespace lastgate
