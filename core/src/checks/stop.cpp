// SPDX-License-Identifier: Apache-2.0
// stop_not_certified: from every instant of the chunk the declared stop must keep what the chunk keeps. docs/concepts/certified-stop.md has
// the proof.
#include <algorithm>
#include <cmath>
#include <limits>

#include "validation.hpp"

namespace lastgate::detail {
namespace {

/// Which detail of `stop_not_certified` a violation has, in `Violation::element`.
enum Cause : std::uint32_t { pair = 0, joint = 1, box = 2 };

/// A row more for less than this share of a step would only be rounding.
constexpr double step_share_min = 1e-9;

/// A reachable set is one segment of a path, and its stop another: a declared contact may expire between the two.
constexpr std::size_t stop_segment = 2;

}  // namespace

/// A gripper command has no speed to stop from, a base stops as its own decelerations say, and a joint that is not known to brake alone while
/// it leaves a contact is not checked to.
bool Validation::can_stop() const noexcept {
    if (!config().stop) return false;
    switch (mode()) {
        case ControlMode::gripper_binary:
        case ControlMode::gripper_position:
        case ControlMode::composite_mode:
        case ControlMode::foot_placement: return false;
        case ControlMode::body_twist: return config().stop->base_deceleration_m_s2.has_value();
        case ControlMode::joint_torque: return !request_.recovery;
        default: return config().stop->kind == StopKind::path || !request_.recovery;
    }
}

/// How long braking from the speeds of one segment takes when the joint that needs longest sets the pace.
double Validation::braking_time(std::size_t segment) const noexcept {
    const StopConfig& stop = *config().stop;
    if (mode() == ControlMode::body_twist) {
        const std::size_t step = segment - 1;
        const double linear_s = std::hypot(value_at(step, 0), value_at(step, 1)) / *stop.base_deceleration_m_s2;
        return std::max(linear_s, std::abs(value_at(step, 5)) / *stop.base_angular_deceleration_rad_s2);
    }
    const double duration_s = workspace_.row_time_s[segment] - workspace_.row_time_s[segment - 1];
    const bool follows_running = segment == 1 && workspace_.lead_rows > 0;
    const double* from = follows_running ? workspace_.running_start.data() : workspace_.path.data() + (segment - 1) * model().variable_count();
    const double* to = workspace_.path.data() + segment * model().variable_count();
    double longest_s = 0.0;
    for (const std::uint16_t dof : model().row_dofs()) {
        const double moved = std::abs(to[dof] - from[dof]);
        if (moved > 0.0) longest_s = std::max(longest_s, moved / (duration_s * stop.deceleration_max[dof]));
    }
    return longest_s;
}

/// Appends to the path what a stop may need beyond its last row. A stop asked for in a segment brakes as long as the fastest segment from
/// there on takes, so that no joint needs more than its deceleration wherever on the path the stop then happens.
void Validation::plan_stop() noexcept {
    plans_stop_ = can_stop();
    workspace_.stop_time_s = 0.0;
    if (!plans_stop_) {
        verdict_.unchecked |= static_cast<std::uint32_t>(Unchecked::stop);
        return;
    }
    const StopConfig& stop = *config().stop;
    if (sweeps_reachable_set_) {
        for (const std::uint16_t dof : model().row_dofs()) {
            workspace_.stop_time_s = std::max(workspace_.stop_time_s, stop.reaction_s + config().velocity_max[dof] / stop.deceleration_max[dof]);
        }
        return;
    }
    const std::size_t last = workspace_.motion_rows;
    const double end_s = workspace_.row_time_s[last];
    double braking_s = 0.0;
    double beyond_s = 0.0;
    for (std::size_t segment = last; segment >= 1; --segment) {
        braking_s = std::max(braking_s, braking_time(segment));
        workspace_.braking_s[segment] = braking_s;
        beyond_s = std::max(beyond_s, workspace_.row_time_s[segment] + stop.reaction_s + 0.5 * braking_s - end_s);
    }
    workspace_.stop_time_s = stop.reaction_s + braking_s;
    stop_beyond_s_ = beyond_s;
    workspace_.stops_along_path = stop.kind == StopKind::path || mode() == ControlMode::body_twist;
    if (workspace_.stops_along_path) extend_path(cut_at_limits(beyond_s));
}

/// The part of the way beyond the last row that stays inside the limits of every joint, in seconds at full speed.
double Validation::cut_at_limits(double beyond_s) noexcept {
    const std::size_t last = workspace_.motion_rows;
    const double duration_s = workspace_.row_time_s[last] - workspace_.row_time_s[last - 1];
    double inside_s = beyond_s;
    for (std::size_t variable = 0; variable < model().variable_count(); ++variable) {
        const double here = path_row(last)[variable];
        const double velocity = (here - path_row(last - 1)[variable]) / duration_s;
        if (velocity == 0.0) continue;
        const bool is_joint = variable < model().dof_count();
        const Interval allowed = is_joint ? Interval{model().dof(variable).position_min, model().dof(variable).position_max}
                                          : Interval{-capacity::base_travel_m_max, capacity::base_travel_m_max};
        const double room_s = ((velocity > 0.0 ? allowed.max : allowed.min) - here) / velocity;
        if (room_s >= inside_s) continue;
        inside_s = std::max(room_s, 0.0);
        stop_violation_ = violation_of_dof(ViolationCode::stop_not_certified, 0, variable);
        stop_violation_.element = Cause::joint;
        stop_violation_.value = here + velocity * beyond_s;
        stop_violation_.limit_min = allowed.min;
        stop_violation_.limit_max = allowed.max;
        stop_clear_s_ = workspace_.row_time_s[last] + inside_s;
        stop_stage_ = 8;
    }
    return inside_s;
}

/// On from the last row as the last segment went, in segments of at most one step as long as the capacity allows it.
void Validation::extend_path(double beyond_s) noexcept {
    const std::size_t last = workspace_.motion_rows;
    const std::size_t variables = model().variable_count();
    const double* before = path_row(last - 1);
    const double* at = path_row(last);
    if (!(beyond_s > 0.0) || std::equal(before, before + variables, at)) return;
    const double duration_s = workspace_.row_time_s[last] - workspace_.row_time_s[last - 1];
    const double wanted = std::ceil(beyond_s / config().step_s - step_share_min);
    const auto rows = static_cast<std::size_t>(std::clamp(wanted, 1.0, static_cast<double>(capacity::stop_rows_max)));
    const double share_s = beyond_s / static_cast<double>(rows);
    for (std::size_t row = 1; row <= rows; ++row) {
        workspace_.row_time_s[last + row] = workspace_.row_time_s[last] + share_s * static_cast<double>(row);
        if (mode() == ControlMode::body_twist) {
            drive_base(last + row, request_.chunk.row_count - 1, share_s);
            continue;
        }
        double* to = path_row(last + row);
        std::copy_n(at, variables, to);
        for (const std::uint16_t dof : model().row_dofs()) {
            const DofSpec& limits = model().dof(dof);
            if (at[dof] == before[dof]) continue;
            // The limits were what cut the way off: rounding must not carry the row across.
            const double there = at[dof] + (at[dof] - before[dof]) * (share_s * static_cast<double>(row) / duration_s);
            to[dof] = std::clamp(there, limits.position_min, limits.position_max);
        }
    }
    workspace_.path_rows = last + rows;
}

bool Validation::is_in_stop(const Finding& finding) const noexcept {
    return workspace_.path_rows > workspace_.motion_rows && finding.segment != none && finding.segment > workspace_.motion_rows;
}

void Validation::postpone_stop(Violation violation, const Finding& finding) noexcept {
    const std::size_t segment = finding.segment;
    const double from_s = workspace_.row_time_s[segment - 1];
    const double duration_s = workspace_.row_time_s[segment] - from_s;
    const double end_s = workspace_.row_time_s[workspace_.motion_rows];
    violation.element = violation.code == ViolationCode::workspace_box ? Cause::box : Cause::pair;
    violation.code = ViolationCode::stop_not_certified;
    const auto share = [&](double t) noexcept { return (from_s + t * duration_s - end_s) / stop_beyond_s_; };
    violation.segment_t = share(violation.segment_t);
    violation.first_contact_t = share(violation.first_contact_t);
    stop_violation_ = violation;
    stop_clear_s_ = from_s + finding.first_contact_t * duration_s;
    stop_stage_ = verdict_.stage;
    // What lies beyond decides nothing more.
    workspace_.path_rows = segment - 1;
}

/// The last segment of the path such that stops asked for up to its end all end before an instant of the path.
std::uint32_t Validation::segments_with_stop(double clear_until_s) const noexcept {
    const double reaction_s = config().stop->reaction_s;
    std::uint32_t segments = 0;
    for (std::size_t segment = 1; segment <= workspace_.motion_rows; ++segment) {
        if (!(workspace_.row_time_s[segment] + reaction_s + 0.5 * workspace_.braking_s[segment] <= clear_until_s)) break;
        segments = static_cast<std::uint32_t>(segment);
    }
    return segments;
}

/// Where a joint that brakes alone comes to rest beyond its limits; up to the segment before, all come to rest inside.
std::uint32_t Validation::joint_stops_inside_limits(std::uint32_t segments) noexcept {
    for (std::uint32_t segment = 1; segment <= segments; ++segment) {
        for (const std::uint16_t dof : model().row_dofs()) {
            const double way = std::copysign(sweep_.stop_travel(segment, dof), sweep_.stop_velocity(segment, dof));
            if (way == 0.0) continue;
            const DofSpec& limits = model().dof(dof);
            const double farthest = path_row(segment)[dof] + way;
            if (inside(farthest, {limits.position_min, limits.position_max})) continue;
            stop_violation_ = violation_of_dof(ViolationCode::stop_not_certified, 0, dof);
            stop_violation_.element = Cause::joint;
            stop_violation_.value = farthest;
            stop_violation_.limit_min = limits.position_min;
            stop_violation_.limit_max = limits.position_max;
            stop_stage_ = 8;
            return segment - 1;
        }
    }
    return segments;
}

std::uint32_t Validation::certify_joint_stops(std::uint32_t segments, bool& budget) noexcept {
    segments = joint_stops_inside_limits(segments);
    budget = false;
    if (segments == 0) return 0;
    sweep_.place_stops(segments);
    constexpr PairKind kinds[] = {PairKind::box, PairKind::self, PairKind::world, PairKind::field, PairKind::zone, PairKind::keep_in};
    for (const PairKind kind : kinds) {
        if (!is_swept(kind) || segments == 0) continue;
        Finding finding;
        Outcome outcome = Outcome::budget;
        // As in `sweep_world`: each round relies on one contact more.
        for (std::size_t round = 0; round <= capacity::declared_contacts_max; ++round) {
            outcome = sweep_.run_stops(kind, segments, finding);
            if (outcome != Outcome::violated || !sweep_.rely_on_contacts(kind, finding.item)) break;
        }
        budget = outcome == Outcome::budget;
        if (budget) return 0;
        if (outcome == Outcome::clear) continue;
        stop_violation_ = violation_of_pair(kind, finding);
        stop_violation_.element = kind == PairKind::box ? Cause::box : Cause::pair;
        stop_violation_.code = ViolationCode::stop_not_certified;
        stop_stage_ = kind == PairKind::box ? 8 : kind == PairKind::self ? 10 : 11;
        segments = finding.segment - 1;
    }
    return segments;
}

bool Validation::check_joint_stop() noexcept {
    const auto all = static_cast<std::uint32_t>(workspace_.motion_rows);
    bool budget = false;
    const std::uint32_t segments = certify_joint_stops(all, budget);
    if (budget) return reject_budget();
    if (segments == all) return true;
    verdict_.stage = stop_stage_;
    verdict_.certified_rows = std::min(segments, contact_segment_ - 1);
    steps_from_segments();
    stop_violation_.row = verdict_.certified_rows;
    return reject(stop_violation_);
}

void Validation::steps_from_segments() noexcept {
    const auto lead = static_cast<std::uint32_t>(workspace_.lead_rows);
    verdict_.certified_rows = verdict_.certified_rows > lead ? verdict_.certified_rows - lead : 0;
}

/// From segments of the path to steps of the chunk, from which the robot can stop as well where it declares how. A caller may execute them.
void Validation::limit_prefix_to_stops() noexcept {
    if (verdict_.certified_rows == 0 || verdict_.violation.code == ViolationCode::stop_not_certified) return;
    if (plans_stop_ && rows_are_segments_) {
        const std::uint32_t segments = verdict_.certified_rows;
        bool budget = false;
        verdict_.certified_rows = workspace_.stops_along_path ? segments_with_stop(workspace_.row_time_s[segments]) : certify_joint_stops(segments, budget);
    }
    steps_from_segments();
}

/// Everything a torque can reach grows by what braking from the velocity limits needs. It has no steps from which a stop could be
/// certified before others: all of it is, or nothing.
bool Validation::check_reachable_stop() noexcept {
    const StopConfig& stop = *config().stop;
    const double chunk_s = config().step_s * static_cast<double>(request_.chunk.row_count);
    for (const std::uint16_t dof : model().row_dofs()) {
        const double speed = config().velocity_max[dof];
        workspace_.half_width[dof] = speed * (chunk_s + stop.reaction_s + 0.5 * speed / stop.deceleration_max[dof]);
        const DofSpec& limits = model().dof(dof);
        for (const double sign : {-1.0, 1.0}) {
            const double farthest = path_row(0)[dof] + sign * workspace_.half_width[dof];
            Violation violation = violation_of_dof(ViolationCode::stop_not_certified, 0, dof);
            violation.element = Cause::joint;
            if (!require_inside(farthest, limits.position_min, limits.position_max, violation)) return false;
        }
    }
    constexpr PairKind kinds[] = {PairKind::box, PairKind::self, PairKind::world, PairKind::field, PairKind::zone, PairKind::keep_in};
    for (const PairKind kind : kinds) {
        if (!is_swept(kind)) continue;
        Finding finding;
        const Outcome outcome = sweep_.run_reachable_set(kind, workspace_.half_width, stop_segment, finding);
        if (outcome == Outcome::clear) continue;
        if (outcome == Outcome::budget) return reject_budget();
        Violation violation = violation_of_pair(kind, finding);
        violation.element = kind == PairKind::box ? Cause::box : Cause::pair;
        violation.code = ViolationCode::stop_not_certified;
        return reject(violation);
    }
    return true;
}

/// Whether the chunk was held to a kind of pair.
bool Validation::is_swept(PairKind kind) const noexcept {
    const bool in_world = !request_.world->is_declared_absent();
    switch (kind) {
        case PairKind::box: return config().workspace_box && mode() != ControlMode::body_twist;
        case PairKind::self: return true;
        case PairKind::world: return in_world;
        case PairKind::field: return in_world && request_.world->has_fields();
        case PairKind::zone: return !setup_.zones.primitives().empty();
        case PairKind::keep_in: return !setup_.keep_in.primitives().empty();
    }
    return true;
}

/// Last of all stages: the chunk itself has passed, so the stop is all that may be missing.
bool Validation::check_stop_not_certified() noexcept {
    if (!plans_stop_) return true;
    if (sweeps_reachable_set_) return check_reachable_stop();
    if (!workspace_.stops_along_path) return check_joint_stop();
    if (stop_stage_ == 0) return true;
    verdict_.stage = stop_stage_;
    verdict_.certified_rows = request_.recovery ? 0 : std::min(segments_with_stop(stop_clear_s_), contact_segment_ - 1);
    steps_from_segments();
    stop_violation_.row = std::min(verdict_.certified_rows, static_cast<std::uint32_t>(request_.chunk.row_count) - 1);
    return reject(stop_violation_);
}

}  // namespace lastgate::detail
