// SPDX-License-Identifier: Apache-2.0
// seam_jump: a chunk that replaces a running motion takes over where that motion will be, at a speed it can have there.
#include <algorithm>
#include <cmath>

#include "validation.hpp"

namespace lastgate::detail {
namespace {

/// Which detail of `seam_jump` a violation has, in `Violation::element`.
enum Cause : std::uint32_t { jump = 0, lag = 1, mode_or_recovery = 2, not_rows = 3, not_in_time = 4, ends_too_early = 5 };

/// Differences of positions, and of differences of them, are off by a few roundings of the positions.
double rounding_of(double position_a, double position_b) noexcept { return 16.0 * 2.220446049250313e-16 * (std::abs(position_a) + std::abs(position_b)); }

/// Rows nearer to each other in time than this share of a step are one.
constexpr double same_step = 1e-9;

}  // namespace

bool Validation::reject_running(std::uint32_t cause) noexcept {
    Violation violation;
    violation.code = ViolationCode::seam_jump;
    violation.element = cause;
    return reject(violation);
}

bool Validation::is_running_at_rest() const noexcept {
    const std::size_t width = model().row_dofs().size();
    const RunningMotion& running = request_.running;
    if (running.row_count < 2) return false;
    const double* last = running.rows.data() + (running.row_count - 1) * width;
    return std::equal(last, last + width, last - width);
}

/// Where the running motion commands a joint, `steps` after its start. Before the first row of a motion whose start is not known, on the
/// way there from where the joint was measured.
double Validation::running_position(double steps, std::size_t column) const noexcept {
    const RunningMotion& running = request_.running;
    const std::size_t width = model().row_dofs().size();
    const auto row_at = [&](std::size_t row) noexcept { return running.rows[row * width + column]; };
    if (steps >= static_cast<double>(running.row_count)) return row_at(running.row_count - 1);
    const auto row = static_cast<std::size_t>(steps);
    const double share = steps - static_cast<double>(row);
    if (row > 0) return row_at(row - 1) + share * (row_at(row) - row_at(row - 1));
    if (!running.start.empty()) return running.start[column] + share * (row_at(0) - running.start[column]);
    const double begun = (request_.now_s - running.started_s) / config().step_s;
    const double way = begun < 1.0 ? std::clamp((steps - begun) / (1.0 - begun), 0.0, 1.0) : 1.0;
    return request_.state.positions[column] + way * (row_at(0) - request_.state.positions[column]);
}

/// Writes the rows of the path that come before the chunk: what the running motion still does until the hand-over.
bool Validation::begin_running_motion() noexcept {
    const RunningMotion& running = request_.running;
    workspace_.lead_rows = 0;
    if (!running.given) return true;
    const auto dofs = model().row_dofs();
    const bool joint_rows = mode() == ControlMode::joint_position || mode() == ControlMode::joint_trajectory || mode() == ControlMode::dex_hand_joint;
    if (!joint_rows || request_.recovery) return reject_running(Cause::mode_or_recovery);
    const bool whole = running.row_count >= 1 && running.row_count <= capacity::rows_max && running.rows.size() == running.row_count * dofs.size() &&
                       (running.start.empty() || running.start.size() == dofs.size());
    const auto usable = [](double position) noexcept { return std::abs(position) <= capacity::joint_position_max; };
    if (!whole || !std::all_of(running.rows.begin(), running.rows.end(), usable) || !std::all_of(running.start.begin(), running.start.end(), usable)) {
        return reject_running(Cause::not_rows);
    }
    const double step_s = config().step_s;
    const double now = (request_.now_s - running.started_s) / step_s;
    const double seam = (request_.now_s + running.handover_s - running.started_s) / step_s;
    // A motion that ended longer ago than any lasts is none that runs.
    const bool in_time = now >= 0.0 && now <= 2.0 * static_cast<double>(capacity::rows_max) && running.handover_s >= 0.0 &&
                         running.handover_s <= step_s * static_cast<double>(capacity::lead_rows_max - 1);
    if (!in_time) return reject_running(Cause::not_in_time);
    if (seam > static_cast<double>(running.row_count) + same_step && !is_running_at_rest()) return reject_running(Cause::ends_too_early);

    std::size_t lead = 0;
    workspace_.row_time_s[0] = 0.0;
    const auto append = [&](double steps, double time_s) noexcept {
        ++lead;
        std::copy_n(path_row(0), model().variable_count(), path_row(lead));
        for (std::size_t column = 0; column < dofs.size(); ++column) path_row(lead)[dofs[column]] = running_position(steps, column);
        workspace_.row_time_s[lead] = time_s;
    };
    for (double steps = std::floor(now) + 1.0; steps < seam - same_step; steps += 1.0) {
        if (steps - now > same_step) append(steps, (steps - now) * step_s);
    }
    append(seam, running.handover_s);
    // What runs up to the seam, whose speed the chunk takes over; a motion that has ended rests.
    const double before = std::max(std::ceil(seam - same_step) - 1.0, 0.0);
    for (std::size_t column = 0; column < dofs.size(); ++column) {
        workspace_.running_start[dofs[column]] = running_position(now, column);
        const double way = running_position(before + 1.0, column) - running_position(before, column);
        seam_velocity_[column] = way / step_s;
    }
    workspace_.lead_rows = lead;
    set_motion_rows(lead + request_.chunk.row_count);
    return true;
}

/// The measured state is where the running motion should have it, as near as a joint could come within one step; and the chunk's first
/// step can be reached from where it takes over.
bool Validation::check_seam_jump() noexcept {
    if (workspace_.lead_rows == 0) return true;
    const auto dofs = model().row_dofs();
    const double step_s = config().step_s;
    for (std::size_t column = 0; column < dofs.size(); ++column) {
        const std::size_t dof = dofs[column];
        const double measured = path_row(0)[dof];
        const double commanded = workspace_.running_start[dof];
        const double slack = config().velocity_max[dof] * step_s + rounding_of(measured, commanded);
        Violation violation = violation_of_dof(ViolationCode::seam_jump, 0, dof);
        violation.element = Cause::lag;
        if (!require_inside(measured - commanded, -slack, slack, violation)) return false;
    }
    for (std::size_t column = 0; column < dofs.size(); ++column) {
        const std::size_t dof = dofs[column];
        const double from = path_row(workspace_.lead_rows)[dof];
        const double to = path_row(workspace_.lead_rows + 1)[dof];
        const double rounding = rounding_of(from, to);
        Interval allowed{-config().velocity_max[dof] * step_s - rounding, config().velocity_max[dof] * step_s + rounding};
        if (config().acceleration_max) {
            const double change = (*config().acceleration_max)[dof] * step_s * step_s + rounding;
            allowed.min = std::max(allowed.min, seam_velocity_[column] * step_s - change);
            allowed.max = std::min(allowed.max, seam_velocity_[column] * step_s + change);
        }
        Violation violation = violation_of_dof(ViolationCode::seam_jump, 0, dof);
        violation.element = Cause::jump;
        if (!require_inside(to - from, allowed.min, allowed.max, violation)) return false;
    }
    return true;
}

}  // namespace lastgate::detail
