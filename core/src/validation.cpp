// SPDX-License-Identifier: Apache-2.0
#include "validation.hpp"

#include <algorithm>
#include <cmath>

#include "sweep/pair_table.hpp"

namespace lastgate::detail {
namespace {

constexpr std::uint16_t stage_passed_all = 12;

constexpr std::uint32_t bit(Unchecked part) noexcept { return static_cast<std::uint32_t>(part); }

}  // namespace

bool Validation::reject(const Violation& violation) noexcept {
    verdict_.violation = violation;
    return false;
}

bool Validation::reject_budget() noexcept {
    Violation violation;
    violation.code = ViolationCode::budget_exceeded;
    violation.value = sweep_.evaluations;
    violation.limit_max = config().evaluations_max;
    return reject(violation);
}

bool Validation::require_inside(double value, double min, double max, Violation violation) noexcept {
    if (inside(value, {min, max})) return true;
    violation.value = value;
    violation.limit_min = min;
    violation.limit_max = max;
    return reject(violation);
}

bool Validation::reject_dof(ViolationCode code, std::size_t row, std::size_t dof, double value, Interval allowed) noexcept {
    Violation violation = violation_of_dof(code, row, dof);
    violation.value = value;
    violation.limit_min = allowed.min;
    violation.limit_max = allowed.max;
    return reject(violation);
}

Violation Validation::violation_of_dof(ViolationCode code, std::size_t row, std::size_t dof) const noexcept {
    Violation violation;
    violation.code = code;
    violation.subject_kind = SubjectKind::dof;
    violation.subject = static_cast<std::uint32_t>(dof);
    violation.row = static_cast<std::uint32_t>(row);
    return violation;
}

Violation Validation::violation_of_element(ViolationCode code, std::size_t row, std::size_t column) const noexcept {
    Violation violation;
    violation.code = code;
    violation.subject_kind = SubjectKind::element;
    violation.subject = static_cast<std::uint32_t>(column);
    violation.row = static_cast<std::uint32_t>(row);
    violation.element = static_cast<std::uint32_t>(row * request_.chunk.width + column);
    return violation;
}

/// Whether consecutive rows of the path are one step of time apart. A gripper command is a target,
/// not a trajectory: its rows say where the fingers go, not how fast.
bool Validation::is_timed_joint_path() const noexcept {
    switch (mode()) {
        case ControlMode::joint_torque:
        case ControlMode::gripper_binary:
        case ControlMode::gripper_position:
        case ControlMode::composite_mode:
        case ControlMode::body_twist: return false;
        default: return true;
    }
}

/// Turns the end of a sweep into a verdict.
bool Validation::settle(PairKind kind, Outcome outcome, const Finding& finding) noexcept {
    if (outcome == Outcome::clear) return true;
    if (outcome == Outcome::violated && is_in_stop(finding)) {
        postpone_stop(violation_of_pair(kind, finding), finding);
        return true;
    }
    // A retreat is evaluated as a whole: its first rows alone need not lead away from anything.
    const bool no_prefix = request_.recovery || !rows_are_segments_ || finding.segment == none || finding.segment == 0;
    // The prefix must stand on its own: steps that rely on a declared contact are not in it.
    verdict_.certified_rows = no_prefix ? 0 : std::min(finding.segment, contact_segment_) - 1;
    sweep_.forget_contacts();
    if (outcome == Outcome::budget) return reject_budget();
    return reject(violation_of_pair(kind, finding));
}

Violation Validation::violation_of_pair(PairKind kind, const Finding& finding) const noexcept {
    Violation violation;
    // A gripper is swept in strokes, whatever the number of rows that asked for them.
    violation.row = std::min(step_towards(finding.segment), static_cast<std::uint32_t>(request_.chunk.row_count) - 1);
    violation.segment_t = finding.segment_t;
    violation.first_contact_t = finding.first_contact_t;
    violation.distance_m = finding.witness.distance_m;
    violation.margin_m = finding.item.required_m;
    violation.witness_a = finding.witness.on_first;
    violation.witness_b = finding.witness.on_second;
    violation.value = finding.witness.distance_m;
    violation.limit_min = finding.item.required_m;
    functions_of(kind).describe(sweep_, finding, violation);
    return violation;
}

Verdict Validation::run() noexcept {
    // An unfinished verdict stays a rejection with the code `not_checked`.
    using Check = bool (Validation::*)() noexcept;
    struct Stage {
        std::uint16_t number;
        Check check;
    };
    constexpr Stage order[] = {
        {2, &Validation::check_control_mode},      {3, &Validation::check_ndof_mismatch},
        {4, &Validation::check_dim_mismatch},      {5, &Validation::check_nan_in_action},
        {6, &Validation::check_row_limits},        {7, &Validation::check_state_unavailable},
        {8, &Validation::build_path},              {8, &Validation::check_path_limits},
        {9, &Validation::check_world_unavailable}, {9, &Validation::check_declared_contact},
        {10, &Validation::check_self_collision},
        {11, &Validation::check_world_collision},  {11, &Validation::check_footprint},
        {11, &Validation::check_recovery},
        {11, &Validation::check_no_go_zones},      {11, &Validation::check_keep_in_zones},
        {11, &Validation::check_stop_not_certified},
    };
    workspace_.start_contacts.clear();
    for (const Stage& stage : order) {
        verdict_.stage = stage.number;
        const bool passed = (this->*stage.check)();
        verdict_.evaluations = sweep_.evaluations;
        if (!passed) limit_prefix_to_stops();
        if (!passed) return verdict_;
    }
    verdict_.stage = stage_passed_all;
    verdict_.min_clearance_m = sweep_.min_clearance_m;
    verdict_.certified_rows = static_cast<std::uint32_t>(request_.chunk.row_count);
    verdict_.contacts_used = sweep_.contacts_relied_on;
    verdict_.stop_certified = plans_stop_ ? 1 : 0;
    verdict_.accepted = 1;
    verdict_.violation = Violation{};
    return verdict_;
}

/// Stage 6: limits of single rows that need no state.
bool Validation::check_row_limits() noexcept {
    switch (mode()) {
        case ControlMode::joint_position:
        case ControlMode::joint_trajectory:
        case ControlMode::dex_hand_joint: return check_joint_position_rows();
        case ControlMode::joint_velocity: return check_joint_rows(ViolationCode::joint_velocity_limit, config().velocity_max);
        case ControlMode::joint_torque: return check_joint_rows(ViolationCode::joint_torque_limit, *config().torque_max);
        case ControlMode::cartesian_pose: return check_cartesian_pose_rows();
        case ControlMode::cartesian_delta: return check_cartesian_delta_rows();
        case ControlMode::cartesian_twist: return check_cartesian_twist_rows();
        case ControlMode::body_twist: return check_body_twist_rows();
        case ControlMode::gripper_binary:
        case ControlMode::gripper_position:
        case ControlMode::composite_mode: return check_gripper_range();
        case ControlMode::foot_placement: break;
    }
    return false;
}

bool Validation::check_path_limits() noexcept {
    if (config().unproved_volumes) verdict_.unchecked |= bit(Unchecked::unproved_volumes);
    // A torque leads anywhere the joint speeds allow, a base carries its tools along, and a gripper says where its fingers go and not how
    // fast: none of them has speeds along a path to check.
    const bool timed = is_timed_joint_path();
    if (!config().acceleration_max || !(timed || mode() == ControlMode::body_twist)) verdict_.unchecked |= bit(Unchecked::joint_acceleration);
    const bool tool_box = config().workspace_box && mode() != ControlMode::body_twist;
    if (!tool_box) verdict_.unchecked |= bit(Unchecked::workspace_box);
    if (!config().max_ee_speed_m_s || !timed) verdict_.unchecked |= bit(Unchecked::ee_speed);
    if (!config().max_ee_angular_speed_rad_s || !timed) verdict_.unchecked |= bit(Unchecked::ee_angular_speed);
    if (!config().max_ee_accel_m_s2 || !timed) verdict_.unchecked |= bit(Unchecked::ee_acceleration);
    if (mode() == ControlMode::joint_torque) return check_reachable_set_limits();
    return check_joint_position_path() && check_joint_velocity_path() && check_joint_acceleration_limit() && check_ee_motion() &&
           check_workspace_box();
}

}  // namespace lastgate::detail
