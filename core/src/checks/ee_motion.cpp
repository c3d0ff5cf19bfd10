// SPDX-License-Identifier: Apache-2.0
// ee_speed, ee_angular_speed, ee_acceleration, by forward kinematics along any joint path, at every instant of its steps.
#include <algorithm>
#include <cmath>
#include <limits>

#include "validation.hpp"

namespace lastgate::detail {
namespace {

/// An interval of a step is not halved further once its bound is within this share of the limit above what its middle shows. What is
/// then not certified counts as a violation: it is within a thousandth of one, far less than a controller follows a
/// speed.
constexpr double resolution_share = 1e-3;

/// Half a turn: up to here the angle between two orientations says how far the tool turned.
constexpr double half_turn = 3.141592653589793;

constexpr double unlimited = std::numeric_limits<double>::infinity();

}  // namespace

Violation Validation::violation_of_effector(ViolationCode code, std::size_t row, std::size_t index) const noexcept {
    Violation violation;
    violation.code = code;
    violation.subject_kind = SubjectKind::effector;
    violation.subject = static_cast<std::uint32_t>(index);
    violation.row = step_towards(row);
    return violation;
}

ToolLimits Validation::tool_limits() const noexcept {
    const double step_s = config().step_s;
    return {config().max_ee_speed_m_s ? *config().max_ee_speed_m_s * step_s : unlimited,
            config().max_ee_angular_speed_rad_s ? *config().max_ee_angular_speed_rad_s * step_s : unlimited,
            config().max_ee_accel_m_s2 ? *config().max_ee_accel_m_s2 * step_s * step_s : unlimited};
}

/// Bounds of a step, and in `unknown` by how much speeds, turn and bend may differ from those of the path because a gripper in the chain
/// was not measured. The bounds are sums of products of steps: with each step widened by what is not known, the products that mix
/// both are what the difference consists of, and each is in the widened sum two or three times.
ToolBounds Validation::bound_tool_with_grippers(std::size_t effector, std::span<const double> step, ToolBounds& unknown) noexcept {
    const ToolBounds bounds = sweep_.bound_tool(effector, step);
    unknown = {};
    if (!is_gripper_uncertain(effector)) return bounds;
    for (std::size_t variable = 0; variable < step.size(); ++variable) ee_widened_[variable] = step[variable] + workspace_.uncertainty[variable];
    const ToolBounds wide = sweep_.bound_tool(effector, {ee_widened_.data(), step.size()});
    unknown.move_m = 0.5 * (wide.bend_m - bounds.bend_m);
    unknown.bend_m = (wide.jerk_m - bounds.jerk_m) / 3.0;
    unknown.turn = wide.turn_change - bounds.turn_change;
    return bounds;
}

bool Validation::is_gripper_uncertain(std::size_t effector) const noexcept {
    for (const std::uint16_t body : model().chain(model().effectors()[effector].body)) {
        if (workspace_.uncertainty[model().bodies()[body].dof] > 0.0) return true;
    }
    return false;
}

/// Samples along a step that its bounds do not certify, halving it as often as needed. Within h of a sample the
/// position's first derivative is at most that of the straight line through the sample's first and second, whose length
/// is largest at an end, and half the third times h squared; the second changes by at most the third times h; the turn
/// by at most its own second times h.
bool Validation::check_ee_along_step(std::size_t row, std::size_t index, const ToolBounds& bounds) noexcept {
    const double step_s = config().step_s;
    const ToolLimits limits = tool_limits();
    const std::size_t variables = model().variable_count();
    ToolBounds unknown;
    for (std::size_t variable = 0; variable < variables; ++variable) workspace_.tool_step[variable] = std::abs(ee_step_[variable]);
    (void)bound_tool_with_grippers(index, workspace_.tool_step, unknown);
    struct Part {
        double middle;
        double half;
    };
    Part open[capacity::depth_max + 2];
    std::size_t count = 0;
    open[count++] = {0.5, 0.5};
    while (count > 0) {
        const Part part = open[--count];
        const Transform* frames = sweep_.frames_between(row, part.middle);
        if (frames == nullptr) return reject_budget();
        const ToolMotion at = sweep_.tool_motion_at(index, frames, {ee_step_.data(), variables});
        // A single joint carries the tool along a line or a circle, evenly: what an instant shows is so at all of them.
        const double spread = bounds.moving_joints > 1 ? part.half : 0.0;
        const double fastest_m = std::max(norm(at.move + spread * at.bend), norm(at.move - spread * at.bend));
        const double move_m = std::min(fastest_m + 0.5 * bounds.jerk_m * spread * spread, norm(at.move) + bounds.bend_m * spread) + unknown.move_m;
        const double turn = norm(at.turn) + bounds.turn_change * spread + unknown.turn;
        const double bend_m = norm(at.bend) + bounds.jerk_m * spread + unknown.bend_m;
        // What is beyond a limit here, or so near it that no halving would help, is not inside it.
        const auto settled = [](double here, double most, double limit) noexcept { return most > limit && (here > limit || most - here <= resolution_share * limit); };
        const auto require_within = [&](double here, double most, double limit, double unit, ViolationCode code) noexcept {
            return !settled(here, most, limit) || require_inside(most / unit, 0.0, limit / unit, violation_of_effector(code, row, index));
        };
        if (!require_within(norm(at.move) + unknown.move_m, std::min(move_m, bounds.move_m), limits.move_m, step_s, ViolationCode::ee_speed)) return false;
        if (!require_within(norm(at.turn) + unknown.turn, std::min(turn, bounds.turn), limits.turn, step_s, ViolationCode::ee_angular_speed)) return false;
        if (!require_within(norm(at.bend) + unknown.bend_m, std::min(bend_m, bounds.bend_m), limits.bend_m, step_s * step_s, ViolationCode::ee_acceleration)) return false;
        const bool certified = (move_m <= limits.move_m || bounds.move_m <= limits.move_m) && (turn <= limits.turn || bounds.turn <= limits.turn) &&
                           (bend_m <= limits.bend_m || bounds.bend_m <= limits.bend_m);
        if (certified) continue;
        if (count + 2 > capacity::depth_max + 2) return reject_budget();
        const double quarter = 0.5 * part.half;
        open[count++] = {part.middle + quarter, quarter};  // the earlier half lies on top
        open[count++] = {part.middle - quarter, quarter};
    }
    return true;
}

/// At a row the velocity of the tool jumps, and the rows leave one step for that: the jump itself is held to the acceleration limit, and so
/// is the difference of the two ways. `bend_m`: bound of the step that follows.
bool Validation::check_ee_between_steps(std::size_t row, std::size_t index, double bend_m) noexcept {
    const std::size_t first = workspace_.lead_rows + 1;
    if (!config().max_ee_accel_m_s2 || (row == first && !knows_start_velocity())) return true;
    const std::size_t variables = model().variable_count();
    const double step_s = config().step_s;
    const double limit_m = tool_limits().bend_m;
    const Violation violation = violation_of_effector(ViolationCode::ee_acceleration, row, index);
    std::array<double, capacity::dofs_max + 3> jump{};
    for (std::size_t variable = 0; variable < variables; ++variable) {
        const double before = row > first ? path_row(row - 1)[variable] - path_row(row - 2)[variable] : -start_offset_[variable];
        jump[variable] = ee_step_[variable] - before;
        workspace_.tool_step[variable] = std::abs(before);
    }
    const double bend_before_m = sweep_.bound_tool(index, workspace_.tool_step).bend_m;
    for (std::size_t variable = 0; variable < variables; ++variable) workspace_.tool_step[variable] = std::abs(jump[variable]);
    ToolBounds unknown;
    const double jump_m = bound_tool_with_grippers(index, workspace_.tool_step, unknown).move_m;
    // The way of a step strays from its speed at either end by at most half of the bend.
    if (jump_m + 0.5 * (bend_m + bend_before_m) <= limit_m) return true;
    const Effector& effector = model().effectors()[index];
    const auto tool_at = [&](std::size_t at) noexcept { return sweep_.frames_of_row(at)[effector.body] * effector.in_body.translation; };
    const double jumped_m = norm(sweep_.tool_motion_at(index, sweep_.frames_of_row(row - 1), {jump.data(), variables}).move) + unknown.move_m;
    if (!require_inside(std::min(jumped_m, jump_m) / (step_s * step_s), 0.0, *config().max_ee_accel_m_s2, violation)) return false;
    const Vec3 before = tool_at(row - 1);
    const Vec3 earlier = row > first ? tool_at(row - 2) : tool_before_start_[index];
    const double acceleration = norm((tool_at(row) - before) - (before - earlier)) / (step_s * step_s);
    return require_inside(acceleration, 0.0, *config().max_ee_accel_m_s2, violation);
}

/// One step of one tool. Bounds on its motion come first; where they suffice, nothing is computed. `open`: the lanes
/// did not certify the step inside both speeds.
bool Validation::check_ee_step(std::size_t row, std::size_t index, bool open) noexcept {
    if (!open && !config().max_ee_accel_m_s2) return true;
    for (std::size_t variable = 0; variable < model().variable_count(); ++variable) {
        ee_step_[variable] = path_row(row)[variable] - path_row(row - 1)[variable];
        workspace_.tool_step[variable] = std::abs(ee_step_[variable]);
    }
    const ToolLimits limits = tool_limits();
    const ToolBounds bounds = sweep_.bound_tool(index, workspace_.tool_step);
    const bool slow = !open || (bounds.move_m <= limits.move_m && bounds.turn <= limits.turn);
    if (!(slow && bounds.bend_m <= limits.bend_m) && !check_ee_along_step(row, index, bounds)) return false;
    return check_ee_between_steps(row, index, bounds.bend_m);
}

bool Validation::check_ee_motion() noexcept {
    const bool timed = is_timed_joint_path();
    const bool has_velocity = knows_start_velocity();
    if (config().max_ee_accel_m_s2 && timed && !has_velocity) {
        verdict_.unchecked |= static_cast<std::uint32_t>(Unchecked::initial_acceleration);
    }
    if (config().max_ee_accel_m_s2 && has_velocity) {
        // Where the robot was one step before the chunk, had it moved as it was measured to, or as the running motion does.
        start_offset_.fill(0.0);
        const auto dofs = model().row_dofs();
        const bool runs = workspace_.lead_rows > 0;
        for (std::size_t column = 0; column < dofs.size(); ++column) {
            start_offset_[dofs[column]] = -(runs ? seam_velocity_[column] : request_.state.velocities[column]) * config().step_s;
        }
        const double* start = path_row(workspace_.lead_rows);
        for (std::size_t variable = 0; variable < model().variable_count(); ++variable) workspace_.sample[variable] = start[variable] + start_offset_[variable];
        forward_kinematics(model(), workspace_.sample.data(), workspace_.sample_frames);
        for (std::size_t index = 0; index < model().effectors().size(); ++index) {
            const Effector& effector = model().effectors()[index];
            tool_before_start_[index] = workspace_.sample_frames[effector.body] * effector.in_body.translation;
        }
    }
    return !timed || check_ee_steps();
}

bool Validation::limits_tool_speeds() const noexcept {
    return is_timed_joint_path() && (config().max_ee_speed_m_s || config().max_ee_angular_speed_rad_s) && !model().effectors().empty();
}

/// Which steps are not certified inside both speeds by checking their ends alone; one bound serves all steps, of the
/// largest motion of each joint. With v the derivative of the position along a step and d its way, v(t) - d is the mean
/// of v(t) - v(s) over s, and so at most half of the bend. With w the turn and c the turn in the middle, the rotation
/// that remains between turning by w and turning evenly by c is at most the mean of |w - c|, a quarter of the change of
/// the turn; so |c| is at most the angle between the ends and that, while it is below half a turn, and |w| at most half
/// of the change more.
void Validation::test_ee_speeds(std::size_t effector, std::uint8_t* open) noexcept {
    const ToolLimits limits = tool_limits();
    ToolBounds unknown;
    const ToolBounds bounds = bound_tool_with_grippers(effector, workspace_.tool_step, unknown);
    const std::size_t groups = (workspace_.path_rows + lane_count - 1) / lane_count;
    const bool slow = bounds.move_m <= limits.move_m;
    const bool steady = bounds.turn <= limits.turn;
    if (slow && steady) return std::fill_n(open, groups, std::uint8_t{0}), void();
    // Farther than any robot reaches, and more than half a turn: no limit.
    const double move_m = slow ? 1e6 : limits.move_m - 0.5 * bounds.bend_m - unknown.move_m;
    const double turn = steady ? 1e6 : limits.turn - 0.75 * bounds.turn_change - unknown.turn;
    const bool speaks = move_m > 0.0 && turn > 0.0 && (steady || bounds.turn <= half_turn);
    if (!speaks) return std::fill_n(open, groups, std::uint8_t{0xFF}), void();
    sweep_.test_tool_steps(effector, move_m, turn, open);
}

bool Validation::check_ee_steps() noexcept {
    const std::size_t variables = model().variable_count();
    std::uint8_t open[capacity::effectors_max][capacity::path_rows_max / lane_count];
    const bool limited = limits_tool_speeds();
    if (!limited && !config().max_ee_accel_m_s2) return true;
    std::fill(workspace_.tool_step.begin(), workspace_.tool_step.end(), 0.0);
    for (std::size_t row = workspace_.lead_rows + 1; limited && row <= workspace_.motion_rows; ++row) {
        const double* from = path_row(row - 1);
        const double* to = path_row(row);
        for (std::size_t variable = 0; variable < variables; ++variable) workspace_.tool_step[variable] = std::max(workspace_.tool_step[variable], std::abs(to[variable] - from[variable]));
    }
    for (std::size_t index = 0; limited && index < model().effectors().size(); ++index) test_ee_speeds(index, open[index]);
    for (std::size_t row = workspace_.lead_rows + 1; row <= workspace_.motion_rows; ++row) {
        const std::size_t lane = row - 1;
        for (std::size_t index = 0; index < model().effectors().size(); ++index) {
            const bool is_open = limited && (open[index][lane / lane_count] >> (lane % lane_count) & 1) != 0;
            if (!check_ee_step(row, index, is_open)) return false;
        }
    }
    return true;
}

/// The tool of every end effector stays inside the box at every instant of the path.
bool Validation::check_workspace_box() noexcept {
    if (!config().workspace_box || mode() == ControlMode::body_twist) return true;
    Finding finding;
    if (settle(PairKind::box, run_sweep(PairKind::box, finding), finding)) return true;
    confirm_prefix(PairKind::box);
    return false;
}

}  // namespace lastgate::detail
