// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "lastgate/capacity.hpp"
#include "lastgate/math.hpp"
#include "lastgate/world_snapshot.hpp"

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

/// Which SIMD build runs. All give the same bits, because no operation is contracted,
/// reassociated or approximated.
enum class SimdBuild : std::uint8_t { generic = 0, avx2 = 1, neon = 2 };

/// The fastest build this machine can run.
SimdBuild best_simd_build() noexcept;
/// Whether this program contains the build and this machine can run it.
bool has_simd_build(SimdBuild build) noexcept;

struct Interval {
    double min = 0.0;
    double max = 0.0;
};

/// A box that a tool must stay inside, in the base frame.
struct WorkspaceBox {
    Vec3 min;
    Vec3 max;
};

/// How a gripper command moves one joint: channel `closed` … `open` maps linearly to its positions.
struct GripperJointConfig {
    std::uint16_t effector = 0;
    std::uint16_t dof = 0;
    double position_closed = 0.0;
    double position_open = 0.0;
    double channel_closed = 0.0;
    double channel_open = 0.0;
};

/// A shape that links must stay inside, whatever the world says.
struct KeepInZone {
    PrimitiveSpec shape;
    std::bitset<capacity::links_max> links;  ///< None set: every link that a joint carries.
};

/// path: only the time along the commanded path slows down; joint: every joint brakes on its own.
enum class StopKind : std::uint8_t { path = 0, joint = 1 };

/// How the driver stops. What a stop may need is certified with the chunk that it would end.
struct StopConfig {
    StopKind kind = StopKind::path;
    double reaction_s = 0.0;               ///< From the moment a stop is asked for until the set points slow down.
    std::vector<double> deceleration_max;  ///< Per degree of freedom; 0 only for one that no row moves and that declares none.
    std::optional<double> base_deceleration_m_s2;  ///< With its twin or not at all.
    std::optional<double> base_angular_deceleration_rad_s2;
};

/// The limits in force (robot and skill already intersected) and the numbers of one deployment.
/// What is not declared is absent, and what needs it cannot be enabled.
struct GateConfig {
    double step_s = 0.0;  ///< Time from one row to the next.

    std::vector<double> velocity_max;                     ///< Per degree of freedom, speed factor applied.
    std::optional<std::vector<double>> acceleration_max;  ///< Per degree of freedom.
    std::optional<std::vector<double>> torque_max;        ///< Per degree of freedom, envelope cap applied.
    std::optional<StopConfig> stop;
    std::optional<WorkspaceBox> workspace_box;
    std::optional<double> max_ee_speed_m_s;
    std::optional<double> max_ee_angular_speed_rad_s;
    std::optional<double> max_ee_accel_m_s2;
    std::optional<double> max_cartesian_step_m;
    std::optional<double> max_cartesian_step_rad;
    std::optional<double> max_base_linear_speed_m_s;
    std::optional<double> max_base_angular_speed_rad_s;
    std::optional<Interval> gripper_range;
    std::vector<GripperJointConfig> gripper_joints;
    std::vector<PrimitiveSpec> no_go_zones;  ///< Checked like obstacles, whatever the world says.
    std::vector<KeepInZone> keep_in_zones;   ///< What a link holds stays inside with it.

    /// What the base covers of the floor: a disc around its one vertex, or a polygon of at least three with radius 0.
    std::vector<Vec3> footprint_vertices;
    double footprint_radius_m = 0.0;

    double self_margin_m = 0.0;
    double world_margin_m = 0.0;
    double cartesian_deviation_m = 0.0;  ///< How far the robot's own Cartesian controller may stray from ours.
    double state_age_s_max = 0.0;
    double world_age_s_max = 0.0;
    std::bitset<control_mode_count> enabled_modes;

    /// Configurations one check may evaluate: the time budget in a unit that every machine counts alike.
    std::uint32_t evaluations_max = 20000;
    bool unproved_volumes = false;  ///< Volumes drawn by hand: every verdict says so.
    SimdBuild simd_build = SimdBuild::generic;  ///< Never changes a verdict, only its speed.
};

}  // namespace lastgate
