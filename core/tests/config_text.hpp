// SPDX-License-Identifier: Apache-2.0
// The smallest flat file that arms a gate: one joint, one volume, every key.
#pragma once

#include <string>

namespace lastgate::tests {

inline const std::string config_text = R"(schema_version: 1
robot_name: "planar"
base_frame: "base"
skill_id: ""
skill_version: ""
step_s: 0.02
mobile_base: false
deadman_required: true
evaluations_max: 20000
link_names: ["base", "arm"]
link_parent: [-1, 0]
joint_kind: [0, 1]
joint_dof: [-1, 0]
joint_multiplier: [1.0, 1.0]
joint_offset: [0.0, 0.0]
joint_origin_xyzrpy: [0, 0, 0, 0, 0, 0, 0, 0, 0.5, 0, 0, 0]
joint_axis: [0, 0, 1, 0, 0, 1]
dof_names: ["shoulder"]
dof_in_rows: [1]
position_min: [-3.0]
position_max: [3.0]
velocity_max: [2.0]
acceleration_max: [10.0]
torque_max: [40.0]
volume_link: [1]
volume_radius_m: [0.05]
volume_ends_m: [0, 0, 0, 1, 0, 0]
allowed_link_pairs: [0, 1]
piece_link: [1]
piece_radius_m: [0.001]
piece_corner_count: [2]
piece_corners_m: [0, 0, 0, 1, 0, 0]
effector_names: ["tool"]
effector_link: [1]
effector_tool_xyzrpy: [1, 0, 0, 0, 0, 0]
gripper_effector: []
gripper_dof: []
gripper_position_closed: []
gripper_position_open: []
gripper_channel_closed: []
gripper_channel_open: []
zone_names: ["cabinet"]
zone_kind: [2]
zone_size_m: [0.1, 0.1, 0.1]
zone_xyz_quat_xyzw: [5, 0, 0, 0, 0, 0, 1]
keep_in_names: ["cell", "table"]
keep_in_kind: [2, 3]
keep_in_size_m: [3, 3, 3, 0, 0, 0]
keep_in_xyz_quat_xyzw: [0, 0, 0, 0, 0, 0, 1, 0, 0, 2.5, 0, 0, 0, 1]
keep_in_links: [1, 1]
self_collision_margin_m: 0.01
world_collision_margin_m: 0.02
cartesian_deviation_m: 0.0
state_age_s_max: 0.2
world_age_s_max: 0.5
workspace_box_min_xyz: [-2, -2, -1]
workspace_box_max_xyz: [2, 2, 3]
max_ee_speed_m_s: 1.5
max_ee_angular_speed_rad_s: 2.5
max_cartesian_step_m: 0.05
max_cartesian_step_rad: 0.2
gripper_min: 0.0
gripper_max: 1.0
control_modes: [0, 1, 3, 4, 5, 6]
)";

}  // namespace lastgate::tests
