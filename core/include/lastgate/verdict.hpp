// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include "lastgate/math.hpp"

namespace lastgate {

/// Why a chunk was rejected. The numbers are stored in recordings: never renumber, never reuse. Zero is `not_checked`, so
/// that a zeroed verdict is a rejection.
enum class ViolationCode : std::uint16_t {
    // generated: violation codes, from core/violations.toml by `make generate`
    not_checked = 0,
    internal_fault = 1,
    envelope_unconfigured = 2,
    estop_latched = 3,
    control_mode = 4,
    ndof_mismatch = 5,
    dim_mismatch = 6,
    nan_in_action = 7,
    budget_exceeded = 8,
    joint_position_limit = 10,
    joint_velocity_limit = 11,
    joint_torque_limit = 12,
    gripper_range = 13,
    cartesian_step = 14,
    cartesian_rotation_step = 15,
    ee_speed = 16,
    ee_angular_speed = 17,
    base_linear_speed = 18,
    base_angular_speed = 19,
    workspace_box = 20,
    quaternion_norm = 21,
    cartesian_frame = 22,
    joint_acceleration_limit = 23,
    ee_acceleration = 24,
    cartesian_unreachable = 25,
    stop_not_certified = 27,
    seam_jump = 28,
    state_unavailable = 30,
    world_unavailable = 40,
    world_overflow = 41,
    voxel_unavailable = 42,
    voxel_overflow = 43,
    declared_contact = 44,
    self_collision = 50,
    world_collision = 51,
    recovery_not_growing = 52,
    recovery_speed = 53,
    keep_in_zone = 54,
    // end of generated
};

/// Marks "no joint", "no row" and the like; a count never reaches it.
inline constexpr std::uint32_t none = 0xFFFFFFFFU;

/// What `Violation::subject` and `against` count.
enum class SubjectKind : std::uint8_t { nothing = 0, dof = 1, link = 2, effector = 3, element = 4, attached = 5 };
enum class AgainstKind : std::uint8_t { nothing = 0, link = 1, primitive = 2, zone = 3, voxel = 4, point = 5, attached = 6, keep_in_zone = 7, floor = 8 };

/// One broken rule with the numbers that prove it. Names are added outside the core.
struct Violation {
    ViolationCode code = ViolationCode::not_checked;
    SubjectKind subject_kind = SubjectKind::nothing;
    AgainstKind against_kind = AgainstKind::nothing;
    std::uint32_t subject = none;
    std::uint32_t against = none;
    std::uint32_t row = none;      ///< Step of the chunk that breaks the rule, or towards which the motion leads.
    std::uint32_t element = none;  ///< Index into the chunk's numbers, where one number is to blame.
    std::uint32_t reserved = 0;    ///< Always zero: a recorded verdict has no unwritten bytes.
    double value = 0.0;
    double limit_min = 0.0;
    double limit_max = 0.0;
    double segment_t = 0.0;        ///< Where between the previous row (0) and this one (1).
    double first_contact_t = 0.0;  ///< Not later than the first violating instant of that segment.
    double distance_m = 0.0;       ///< Of this pair at `segment_t`; negative when the volumes overlap.
    double margin_m = 0.0;
    Vec3 witness_a;
    Vec3 witness_b;
};

/// Which parts of the promise were not checked, because nothing was declared for them. Bits.
enum class Unchecked : std::uint32_t {
    world = 1U << 0,
    joint_acceleration = 1U << 1,
    initial_acceleration = 1U << 2,
    workspace_box = 1U << 3,
    ee_speed = 1U << 4,
    ee_acceleration = 1U << 5,
    gripper_state = 1U << 6,  ///< Not given: the whole range was assumed, so nothing was missed.
    ee_angular_speed = 1U << 7,
    floor_map = 1U << 8,  ///< The base was asked to move and no occupancy map was given.
    joint_velocities = 1U << 9,  ///< Torques rest on joints that start within their velocity limits, and no velocity was measured.
    stop = 1U << 10,              ///< The robot declares no stop, or the mode has no speeds to stop from.
    world_age = 1U << 12,  ///< The world was declared static: how old it may be its maker said, not the gate.
    unproved_volumes = 1U << 16,  ///< Of the model, not of the request: nothing shows that the volumes contain the robot.
};

/// The answer to one check. All bytes zero is a rejection; only the gate makes one accept.
struct [[nodiscard]] Verdict {
    std::uint8_t accepted = 0;
    std::uint8_t recovery = 0;  ///< Accepted under the recovery rule: some pair starts inside its margin.
    std::uint16_t stage = 0;    ///< The stage of the validation order that decided; 12 when all passed.
    std::uint32_t unchecked = 0;
    std::uint32_t certified_rows = 0;  ///< Rows up to which everything was certified.
    std::uint32_t evaluations = 0;     ///< Configurations checked; the time budget counts these.
    double min_clearance_m = 0.0;      ///< Never larger than the true smallest distance minus margin over the path.
    double state_age_s = 0.0;
    double world_age_s = 0.0;
    std::uint64_t world_id = 0;
    /// Accepted because of these declared contacts, one bit each in the order they were given: without them some
    /// pair would not have kept its margin. None on a rejection.
    std::uint32_t contacts_used = 0;
    std::uint32_t stop_certified = 0;  ///< 1: from every instant of the chunk the declared stop is certified as well.
    Violation violation;
};
static_assert(std::is_trivially_copyable_v<Verdict>);
// The sums of their members: a gap between two of them would be recorded with whatever lay there before.
static_assert(sizeof(Violation) == 4 + 5 * 4 + 7 * 8 + 6 * 8 && sizeof(Verdict) == 4 + 3 * 4 + 3 * 8 + 8 + 2 * 4 + sizeof(Violation));

}  // namespace lastgate
