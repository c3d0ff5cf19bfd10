// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "lastgate/gate.hpp"
#include "sweep.hpp"

namespace lastgate {

/// Asks "is it inside?", never "is it outside?": NaN answers no to both.
inline bool inside(double value, Interval allowed) noexcept { return allowed.min <= value && value <= allowed.max; }
/// A recovery may use a quarter of the speed limits, so that whatever is in contact is left slowly.
inline constexpr double recovery_speed_factor = 0.25;

/// What remains between a tool and where a row sends it.
struct Residual {
    double move_m = 0.0;
    double turn_rad = 0.0;
};

/// One run of the validation order. Every check returns true when it shows its rule kept, and
/// otherwise records the first offender, scanning step by step.
class Validation {
  public:
    Validation(Gate& gate, const CheckRequest& request) noexcept : gate_(gate), request_(request), sweep_(gate, verdict_) {}

    Verdict run() noexcept;

  private:
    // checks/: one file per rule, in the order of the stages.
    bool check_control_mode() noexcept;
    bool check_ndof_mismatch() noexcept;
    bool check_dim_mismatch() noexcept;
    bool check_nan_in_action() noexcept;
    bool check_row_limits() noexcept;
    bool check_joint_position_rows() noexcept;
    bool check_joint_velocity_rows() noexcept;
    bool check_joint_torque_rows() noexcept;
    bool check_cartesian_frame() noexcept;
    bool check_cartesian_pose_rows() noexcept;
    bool check_cartesian_delta_rows() noexcept;
    bool check_cartesian_twist_rows() noexcept;
    bool check_body_twist_rows() noexcept;
    bool check_gripper_range() noexcept;
    bool check_state_unavailable() noexcept;
    bool check_path_limits() noexcept;
    bool check_joint_position_path() noexcept;
    bool check_joint_velocity_path() noexcept;
    bool check_joint_acceleration_limit() noexcept;
    bool check_ee_motion() noexcept;
    bool check_ee_steps() noexcept;
    bool check_ee_step(std::size_t row, std::size_t effector, bool open) noexcept;
    bool check_ee_parts(std::size_t row, std::size_t effector) noexcept;
    bool may_turn_far(std::size_t effector) const noexcept;
    bool check_workspace_box() noexcept;
    bool check_world_unavailable() noexcept;
    bool check_self_collision() noexcept;
    bool check_world_collision() noexcept;
    bool has_footprint_to_check() const noexcept;
    bool check_footprint() noexcept;
    Outcome run_sweep(PairKind kind, Finding& finding) noexcept;
    bool sweep_world(PairKind kind) noexcept;
    bool check_tube_limits() noexcept;
    bool check_recovery() noexcept;
    bool check_no_go_zones() noexcept;
    bool check_keep_in_zones() noexcept;
    bool check_declared_contact() noexcept;
    std::uint32_t contact_last_segment(double expires_s) const noexcept;

    // paths/: how each control mode becomes a joint path. False when it cannot.
    bool build_path() noexcept;
    void begin_path() noexcept;
    void begin_tube() noexcept;
    bool build_joint_path() noexcept;
    bool build_velocity_path() noexcept;
    bool build_torque_tube() noexcept;
    bool build_cartesian_path() noexcept;
    bool resolve_row(const Effector& effector, const Transform& target, double* configuration, Residual& residual) noexcept;
    bool build_base_path() noexcept;
    bool build_gripper_path() noexcept;

    // Cold: what leads to a refusal stands apart from what an accepted chunk runs, which is then in fewer pages.
    [[gnu::cold]] bool reject(const Violation& violation) noexcept;
    [[gnu::cold]] bool reject_budget() noexcept;
    bool settle(PairKind kind, Outcome outcome, const Finding& finding) noexcept;
    /// Cuts `certified_rows` back to what the checks that were not reached show as well.
    [[gnu::cold]] void confirm_prefix(PairKind failed) noexcept;
    /// A limit every value of which must be shown inside.
    bool require_inside(double value, double min, double max, Violation blame) noexcept;
    [[gnu::cold]] bool reject_dof(ViolationCode code, std::size_t row, std::size_t dof, double value, Interval allowed) noexcept;
    Violation blame_dof(ViolationCode code, std::size_t row, std::size_t dof) const noexcept;
    Violation blame_element(ViolationCode code, std::size_t row, std::size_t column) const noexcept;
    Violation blame_effector(ViolationCode code, std::size_t row, std::size_t effector) const noexcept;

    ControlMode mode() const noexcept { return static_cast<ControlMode>(request_.chunk.control_mode); }
    double cell(std::size_t row, std::size_t column) const noexcept { return request_.chunk.flat[row * request_.chunk.width + column]; }
    Vec3 cell3(std::size_t row, std::size_t column) const noexcept { return {cell(row, column), cell(row, column + 1), cell(row, column + 2)}; }
    double* path_row(std::size_t row) noexcept { return gate_.path_.data() + row * gate_.model_->variable_count(); }
    const GateConfig& config() const noexcept { return gate_.config_; }
    const RobotModel& model() const noexcept { return *gate_.model_; }
    bool is_timed_joint_path() const noexcept;
    bool limits_tool_speeds() const noexcept;

    Gate& gate_;
    const CheckRequest& request_;
    Verdict verdict_{};
    Sweep sweep_;
    bool rows_are_segments_ = true;  ///< Each row of the chunk ends one segment of the path; strokes of a gripper do not.
    bool sweeps_tube_ = false;       ///< All within `half_width_` of row 0 is swept, instead of a path.
    std::array<Vec3, capacity::effectors_max> tool_before_start_;  ///< One step ago, had the joints moved as they were measured to.
    std::uint32_t contact_segment_ = none;  ///< The first segment that was shown by a declared contact.
};

}  // namespace lastgate
