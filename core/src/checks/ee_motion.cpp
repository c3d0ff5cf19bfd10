// SPDX-License-Identifier: Apache-2.0
// ee_speed, ee_angular_speed, ee_acceleration, by forward kinematics along any joint path.
#include <algorithm>
#include <cmath>

#include "../validation.hpp"

namespace lastgate {
namespace {

/// A straight line stands for the arc of a tool, and an angle for its turn, up to this much turning of its joints together: the arc of
/// one joint is then longer by a hundredth. A whole turn would look like none.
constexpr double turn_rad_max = 0.5;

}  // namespace

Violation Validation::blame_effector(ViolationCode code, std::size_t row, std::size_t index) const noexcept {
    Violation blame;
    blame.code = code;
    blame.subject_kind = SubjectKind::effector;
    blame.subject = static_cast<std::uint32_t>(index);
    blame.row = static_cast<std::uint32_t>(row - 1);
    return blame;
}

/// A step that turns far is looked at in parts, as if its rows were denser. Bounds of the whole step hold in every part.
bool Validation::check_ee_parts(std::size_t row, std::size_t index) noexcept {
    const Effector& effector = model().effectors()[index];
    const double parts = std::ceil(sweep_.tool_turn(index, row) / turn_rad_max);
    const double part_s = config().step_s / parts;
    const auto tool_at = [&](const Transform* frames) noexcept { return frames[effector.body] * effector.in_body; };
    Transform before = tool_at(sweep_.frames_of_row(row - 1));
    Vec3 moved_before;
    const bool shown_slow = !config().max_ee_speed_m_s || sweep_.tool_motion(index, row) <= *config().max_ee_speed_m_s * config().step_s;
    const bool shown_steady =
        !config().max_ee_angular_speed_rad_s || sweep_.tool_turn(index, row) <= *config().max_ee_angular_speed_rad_s * config().step_s;
    if (shown_slow && shown_steady && !config().max_ee_accel_m_s2) return true;
    for (double part = 1.0; part <= parts; part += 1.0) {
        const Transform* frames = sweep_.frames_between(row, part / parts);
        if (frames == nullptr) return reject_budget();
        const Transform here = tool_at(frames);
        const Vec3 moved = here.translation - before.translation;
        const double turn = angle_between(before.rotation, here.rotation) / part_s;
        const bool moves = shown_slow || require_inside(norm(moved) / part_s, 0.0, *config().max_ee_speed_m_s, blame_effector(ViolationCode::ee_speed, row, index));
        if (!moves) return false;
        const bool turns = shown_steady || require_inside(turn, 0.0, *config().max_ee_angular_speed_rad_s, blame_effector(ViolationCode::ee_angular_speed, row, index));
        if (!turns) return false;
        // From part to part only: at a row the speed jumps, and how long that takes the rows say.
        if (config().max_ee_accel_m_s2 && part > 1.0) {
            const double acceleration = norm(moved - moved_before) / (part_s * part_s);
            if (!require_inside(acceleration, 0.0, *config().max_ee_accel_m_s2, blame_effector(ViolationCode::ee_acceleration, row, index))) return false;
        }
        before = here;
        moved_before = moved;
    }
    return true;
}

/// One step of one tool. Bounds on its motion come first; where they suffice, nothing is computed. `open`: the lanes
/// did not show the step inside both speeds.
bool Validation::check_ee_step(std::size_t row, std::size_t index, bool open) noexcept {
    const double step_s = config().step_s;
    const Effector& effector = model().effectors()[index];
    const auto tool_at = [&](std::size_t at) noexcept { return sweep_.frames_of_row(at)[effector.body] * effector.in_body; };
    if (open && config().max_ee_speed_m_s && !(sweep_.tool_motion(index, row) <= *config().max_ee_speed_m_s * step_s)) {
        const double speed = norm(tool_at(row).translation - tool_at(row - 1).translation) / step_s;
        if (!require_inside(speed, 0.0, *config().max_ee_speed_m_s, blame_effector(ViolationCode::ee_speed, row, index))) return false;
    }
    if (open && config().max_ee_angular_speed_rad_s && !(sweep_.tool_turn(index, row) <= *config().max_ee_angular_speed_rad_s * step_s)) {
        const double turn = angle_between(tool_at(row - 1).rotation, tool_at(row).rotation) / step_s;
        if (!require_inside(turn, 0.0, *config().max_ee_angular_speed_rad_s, blame_effector(ViolationCode::ee_angular_speed, row, index))) return false;
    }
    const bool has_velocity = !request_.state.velocities.empty();
    if (config().max_ee_accel_m_s2 && (row >= 2 || has_velocity)) {
        const Vec3 here = tool_at(row).translation;
        const Vec3 before = tool_at(row - 1).translation;
        const Vec3 earlier = row >= 2 ? tool_at(row - 2).translation : tool_before_start_[index];
        const double acceleration = norm((here - before) - (before - earlier)) / (step_s * step_s);
        if (!require_inside(acceleration, 0.0, *config().max_ee_accel_m_s2, blame_effector(ViolationCode::ee_acceleration, row, index))) return false;
    }
    return true;
}

bool Validation::check_ee_motion() noexcept {
    const bool timed = is_timed_joint_path();
    const bool has_velocity = !request_.state.velocities.empty();
    if (config().max_ee_accel_m_s2 && timed && !has_velocity) {
        verdict_.unchecked |= static_cast<std::uint32_t>(Unchecked::initial_acceleration);
    }
    if (config().max_ee_accel_m_s2 && has_velocity) {
        // Where the robot was one step ago, had it moved as it was measured to.
        std::copy_n(path_row(0), model().variable_count(), gate_.sample_.data());
        const auto dofs = model().row_dofs();
        for (std::size_t column = 0; column < dofs.size(); ++column) {
            gate_.sample_[dofs[column]] -= request_.state.velocities[column] * config().step_s;
        }
        forward_kinematics(model(), gate_.sample_.data(), gate_.sample_frames_);
        for (std::size_t index = 0; index < model().effectors().size(); ++index) {
            const Effector& effector = model().effectors()[index];
            tool_before_start_[index] = gate_.sample_frames_[effector.body] * effector.in_body.translation;
        }
    }
    return !timed || check_ee_steps();
}

bool Validation::limits_tool_speeds() const noexcept {
    return is_timed_joint_path() && (config().max_ee_speed_m_s || config().max_ee_angular_speed_rad_s) && !model().effectors().empty();
}

/// Whether a step within the speed limits of the joints can turn a tool too far to be looked at as a whole, and there is anything to look at.
bool Validation::may_turn_far(std::size_t effector) const noexcept {
    if (!config().max_ee_speed_m_s && !config().max_ee_angular_speed_rad_s && !config().max_ee_accel_m_s2) return false;
    double turn = 0.0;
    for (const std::uint16_t body : model().chain(model().effectors()[effector].body)) {
        const Body& joint = model().bodies()[body];
        if (joint.kind != JointKind::revolute) continue;
        // The base stands still while its joints move.
        if (joint.dof < model().dof_count()) turn += std::abs(joint.multiplier) * config().velocity_max[joint.dof] * config().step_s;
    }
    return !(turn < turn_rad_max);
}

bool Validation::check_ee_steps() noexcept {
    // Farther than any robot reaches, and more than half a turn: no limit.
    const double move_m = config().max_ee_speed_m_s ? *config().max_ee_speed_m_s * config().step_s : 1e6;
    const double turn_rad = config().max_ee_angular_speed_rad_s ? *config().max_ee_angular_speed_rad_s * config().step_s : 1e6;
    std::uint8_t open[capacity::effectors_max][capacity::rows_max / lane_count];
    bool far[capacity::effectors_max];
    for (std::size_t index = 0; index < model().effectors().size(); ++index) far[index] = may_turn_far(index);
    const bool limited = limits_tool_speeds();
    for (std::size_t index = 0; limited && index < model().effectors().size(); ++index) {
        sweep_.test_tool_steps(index, move_m, turn_rad, open[index]);
    }
    for (std::size_t row = 1; row <= gate_.path_rows_; ++row) {
        const std::size_t lane = row - 1;
        for (std::size_t index = 0; index < model().effectors().size(); ++index) {
            const bool is_open = limited && (open[index][lane / lane_count] >> (lane % lane_count) & 1) != 0;
            if (!check_ee_step(row, index, is_open)) return false;
            if (far[index] && sweep_.tool_turn(index, row) > turn_rad_max && !check_ee_parts(row, index)) return false;
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

}  // namespace lastgate
