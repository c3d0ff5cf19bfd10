// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>

#include "lastgate/gate.hpp"
#include "sweep/sweep.hpp"

namespace lastgate::detail {

/// Asks "is it inside?", never "is it outside?": NaN answers no to both.
inline bool inside(double value, Interval allowed) noexcept { return allowed.min <= value && value <= allowed.max; }
/// A recovery may use a quarter of the speed limits, so that whatever is in contact is left slowly.
inline constexpr double recovery_speed_factor = 0.25;

/// Which part of the state is to blame, in `Violation::element`.
namespace state_cause {
inline constexpr std::uint32_t absent = 0;
inline constexpr std::uint32_t incomplete = 1;
inline constexpr std::uint32_t not_finite = 2;
inline constexpr std::uint32_t stale = 3;
inline constexpr std::uint32_t unmeasured_tool = 4;  ///< A joint that the tool of a Cartesian row moves with.
}  // namespace state_cause

/// What remains between a tool and where a row sends it.
struct Residual {
    double move_m = 0.0;
    double turn_rad = 0.0;
};

/// What a tool may do within one step, the step being the unit of time; infinite where nothing is declared.
struct ToolLimits {
    double move_m;
    double turn;
    double bend_m;
};

/// One run of the validation order. Every check returns true when it shows its rule kept, and
/// otherwise records the first offender, scanning step by step.
class Validation {
  public:
    Validation(GateState& gate, const CheckRequest& request) noexcept
        : setup_(gate.setup), workspace_(gate.workspace), request_(request), sweep_(gate.setup, gate.workspace, request.world) {}

    Verdict run() noexcept;
    /// After an accepted chunk: whether the volumes certified every pair at the steps themselves, so that `min_clearance_m` is theirs.
    bool is_certified_by_volumes() const noexcept { return sweep_.by_volumes_alone; }

  private:
    // checks/: one file per rule, in the order of the stages.
    bool check_control_mode() noexcept;
    bool check_ndof_mismatch() noexcept;
    bool check_dim_mismatch() noexcept;
    bool check_nan_in_action() noexcept;
    bool check_row_limits() noexcept;
    bool check_joint_position_rows() noexcept;
    bool check_joint_rows(ViolationCode code, const std::vector<double>& limits) noexcept;
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
    bool check_ee_along_step(std::size_t row, std::size_t effector, const ToolBounds& bounds) noexcept;
    bool check_ee_between_steps(std::size_t row, std::size_t effector, double bend_m) noexcept;
    void test_ee_speeds(std::size_t effector, std::uint8_t* open) noexcept;
    ToolLimits tool_limits() const noexcept;
    ToolBounds bound_tool_with_grippers(std::size_t effector, std::span<const double> step, ToolBounds& unknown) noexcept;
    bool is_gripper_uncertain(std::size_t effector) const noexcept;
    bool check_workspace_box() noexcept;
    bool check_world_unavailable() noexcept;
    bool check_self_collision() noexcept;
    bool check_world_collision() noexcept;
    bool has_footprint_to_check() const noexcept;
    bool check_footprint() noexcept;
    Outcome run_sweep(PairKind kind, Finding& finding) noexcept;
    bool sweep_world(PairKind kind) noexcept;
    bool check_reachable_set_limits() noexcept;
    bool check_recovery() noexcept;
    bool check_no_go_zones() noexcept;
    bool check_keep_in_zones() noexcept;
    bool check_declared_contact() noexcept;
    std::uint32_t contact_last_segment(double expires_s) const noexcept;
    // checks/stop.cpp
    void plan_stop() noexcept;
    bool can_stop() const noexcept;
    double braking_time(std::size_t segment) const noexcept;
    double cut_at_limits(double beyond_s) noexcept;
    void extend_path(double beyond_s) noexcept;
    bool is_in_stop(const Finding& finding) const noexcept;
    /// The chunk itself comes first: what its stop lacks decides when everything else has passed.
    [[gnu::cold]] void postpone_stop(Violation violation, const Finding& finding) noexcept;
    [[gnu::cold]] std::uint32_t segments_with_stop(double clear_until_s) const noexcept;
    [[gnu::cold]] void limit_prefix_to_stops() noexcept;
    [[gnu::cold]] void steps_from_segments() noexcept;
    bool check_stop_not_certified() noexcept;
    bool check_reachable_stop() noexcept;
    bool check_joint_stop() noexcept;
    /// Up to which segment every stop in which joints brake alone is certified; 0 when the budget is spent, which `budget` then says.
    std::uint32_t certify_joint_stops(std::uint32_t segments, bool& budget) noexcept;
    std::uint32_t joint_stops_inside_limits(std::uint32_t segments) noexcept;
    // checks/seam_jump.cpp
    bool begin_running_motion() noexcept;
    bool check_seam_jump() noexcept;
    bool reject_running(std::uint32_t cause) noexcept;
    bool is_running_at_rest() const noexcept;
    double running_position(double steps, std::size_t column) const noexcept;
    bool is_swept(PairKind kind) const noexcept;

    // paths/: how each control mode becomes a joint path. False when it cannot.
    bool build_path() noexcept;
    void begin_path() noexcept;
    void set_motion_rows(std::size_t rows) noexcept;
    void time_rows() noexcept;
    void drive_base(std::size_t path_row_index, std::size_t step, double duration_s) noexcept;
    void begin_reachable_set() noexcept;
    bool build_joint_path() noexcept;
    bool build_velocity_path() noexcept;
    bool build_torque_reachable_set() noexcept;
    bool build_cartesian_path() noexcept;
    bool resolve_row(const Effector& effector, const Transform& target, double* configuration, Residual& residual) noexcept;
    bool build_base_path() noexcept;
    bool build_gripper_path() noexcept;

    // Cold: what leads to a rejection stands apart from what an accepted chunk runs, which is then in fewer pages.
    [[gnu::cold]] bool reject(const Violation& violation) noexcept;
    [[gnu::cold]] bool reject_budget() noexcept;
    bool settle(PairKind kind, Outcome outcome, const Finding& finding) noexcept;
    Violation violation_of_pair(PairKind kind, const Finding& finding) const noexcept;
    /// Cuts `certified_rows` back to what the checks that were not reached show as well.
    [[gnu::cold]] void confirm_prefix(PairKind failed) noexcept;
    /// A limit every value of which must be certified inside.
    bool require_inside(double value, double min, double max, Violation violation) noexcept;
    [[gnu::cold]] bool reject_dof(ViolationCode code, std::size_t row, std::size_t dof, double value, Interval allowed) noexcept;
    Violation violation_of_dof(ViolationCode code, std::size_t row, std::size_t dof) const noexcept;
    Violation violation_of_element(ViolationCode code, std::size_t row, std::size_t column) const noexcept;
    Violation violation_of_effector(ViolationCode code, std::size_t row, std::size_t effector) const noexcept;

    ControlMode mode() const noexcept { return static_cast<ControlMode>(request_.chunk.control_mode); }
    double value_at(std::size_t row, std::size_t column) const noexcept { return request_.chunk.flat[row * request_.chunk.width + column]; }
    Vec3 vector_at(std::size_t row, std::size_t column) const noexcept { return {value_at(row, column), value_at(row, column + 1), value_at(row, column + 2)}; }
    double* path_row(std::size_t row) noexcept { return workspace_.path.data() + row * setup_.model->variable_count(); }
    const GateConfig& config() const noexcept { return setup_.config; }
    const RobotModel& model() const noexcept { return *setup_.model; }
    bool is_timed_joint_path() const noexcept;
    bool limits_tool_speeds() const noexcept;
    /// The step of the chunk that a row of the path is, or that a segment of it leads to; the first one for what comes before.
    std::uint32_t step_towards(std::size_t path_row_index) const noexcept {
        return static_cast<std::uint32_t>(std::max(path_row_index, workspace_.lead_rows + 1) - workspace_.lead_rows - 1);
    }
    bool knows_start_velocity() const noexcept { return workspace_.lead_rows > 0 || !request_.state.velocities.empty(); }

    const GateSetup& setup_;
    SweepWorkspace& workspace_;
    const CheckRequest& request_;
    Verdict verdict_{};
    Sweep sweep_;
    bool rows_are_segments_ = true;  ///< Each step of the chunk ends one segment of the path; strokes of a gripper do not.
    bool sweeps_reachable_set_ = false;       ///< All within `half_width_` of row 0 is swept, instead of a path.
    std::array<double, capacity::dofs_max + 3> ee_step_;  ///< Of the step being checked, per variable, with signs; three for a base.
    std::array<double, capacity::dofs_max + 3> ee_widened_;
    std::array<double, capacity::dofs_max + 3> start_offset_;  ///< Where the robot was one step ago, had it moved as measured, less where it is.
    std::array<Vec3, capacity::effectors_max> tool_before_start_;  ///< One step ago, had the joints moved as they were measured to.
    bool plans_stop_ = false;         ///< The stop is declared, and this mode has one.
    std::uint16_t stop_stage_ = 0;    ///< Where a stop was found not to be certified; 0 while none was.
    Violation stop_violation_;
    double stop_beyond_s_ = 0.0;      ///< How far a stop may lead beyond the last row, in seconds at full speed.
    double stop_clear_s_ = 0.0;       ///< Up to when on the path a stop is certified, where one is not.
    std::array<double, capacity::dofs_max> seam_velocity_;  ///< Per column: of the running motion where the chunk takes over.
    std::uint32_t contact_segment_ = none;  ///< The first segment that was certified by a declared contact.
};

}  // namespace lastgate::detail
