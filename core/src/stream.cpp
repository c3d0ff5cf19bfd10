// SPDX-License-Identifier: Apache-2.0
// Steps one at a time. The full check decides; this file says when its answer is known already. docs/concepts/streaming.md has the proof.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "geometry/tolerance.hpp"
#include "sweep/clearance.hpp"
#include "validation.hpp"

namespace lastgate {

using namespace detail;

namespace {

constexpr double spent = -std::numeric_limits<double>::infinity();

/// What is left of a budget must exceed four rounding bounds for the full check to certify as well: its own, those of the two distances that were
/// computed, and the sums of this file.
constexpr double roundings = 4.0;

bool is_left(double left_m) noexcept { return certified(left_m / roundings, 0.0, 0.0); }

/// A sum that is this much below a limit is below it however it is rounded.
constexpr double nearly = 1.0 - 1e-9;

/// Adds what one unit of each variable moves, from a depth of a chain on.
void add_reach(const RobotModel& model, std::size_t body, const double* reach, std::size_t from_depth, std::span<double> sum) noexcept {
    const auto chain = model.chain(body);
    for (std::size_t depth = from_depth; depth < chain.size(); ++depth) sum[model.bodies()[chain[depth]].dof] += reach[depth];
}

}  // namespace

Stream::Stream(Gate& gate, ControlMode mode) : gate_(gate), mode_(static_cast<std::size_t>(mode)), budget_m_(spent) {
    if (mode != ControlMode::joint_position && mode != ControlMode::joint_trajectory && mode != ControlMode::dex_hand_joint) {
        throw std::invalid_argument("a stream takes joint positions: JOINT_POSITION, JOINT_TRAJECTORY or DEX_HAND_JOINT");
    }
    const RobotModel& model = gate.model();
    const GateConfig& config = gate.config();
    columns_ = model.row_dofs().size();
    grippers_ = model.dof_count() - columns_;
    // How a tool bends along a step, and where a stop would end, is left to the full check.
    knows_all_checks_ = !config.max_ee_accel_m_s2 && !config.stop;
    for (std::vector<double>* values : {&last_, &reference_, &moved_, &step_, &low_, &high_, &speed_max_, &acceleration_max_, &reach_}) {
        values->assign(model.dof_count(), 0.0);
    }
    velocity_.reserve(columns_);
    tool_reach_.assign(model.effectors().size() * model.dof_count(), 0.0);
    tool_turn_ = tool_reach_;
    tool_budget_m_.assign(model.effectors().size(), spent);
    follow_shapes();
}

/// In the order of columns, grippers last.
void Stream::follow_shapes() noexcept {
    const RobotModel& model = gate_.model();
    const GateSetup& setup = gate_.memory().setup;
    shapes_revision_ = gate_.memory().shapes_revision;
    std::array<double, capacity::dofs_max + 3> sum;
    std::array<double, capacity::dofs_max + 3> most{};
    for (std::size_t body = 0; body < model.bodies().size(); ++body) {
        sum.fill(0.0);
        add_reach(model, body, setup.body_reach.data() + body * capacity::chain_max, 0, sum);
        for (std::size_t variable = 0; variable < sum.size(); ++variable) most[variable] = std::max(most[variable], sum[variable]);
    }
    for (const BodyPair& pair : setup.shapes.body_pairs()) {
        sum.fill(0.0);
        for (const std::uint16_t body : {pair.a, pair.b}) add_reach(model, body, setup.body_reach.data() + body * capacity::chain_max, pair.common_depth, sum);
        for (std::size_t variable = 0; variable < sum.size(); ++variable) most[variable] = std::max(most[variable], sum[variable]);
    }
    std::size_t column = 0;
    std::size_t gripper = columns_;
    for (std::size_t dof = 0; dof < model.dof_count(); ++dof) {
        const bool in_rows = model.dof(dof).in_rows;
        const std::size_t place = in_rows ? column++ : gripper++;
        low_[place] = model.dof(dof).position_min;
        high_[place] = model.dof(dof).position_max;
        speed_max_[place] = gate_.config().velocity_max[dof] * (gate_.config().step_s * (1.0 - 1e-12));
        acceleration_max_[place] = gate_.config().acceleration_max ? (*gate_.config().acceleration_max)[dof] : std::numeric_limits<double>::infinity();
        reach_[place] = most[dof];
        for (std::size_t index = 0; index < model.effectors().size(); ++index) {
            const Effector& tool = model.effectors()[index];
            const auto chain = model.chain(tool.body);
            double& moves_m = tool_reach_[index * model.dof_count() + place] = 0.0;
            double& turns = tool_turn_[index * model.dof_count() + place] = 0.0;
            for (std::size_t depth = 0; depth < chain.size(); ++depth) {
                const Body& joint = model.bodies()[chain[depth]];
                if (joint.dof != dof) continue;
                moves_m += tool.reach[depth];
                turns += joint.kind == JointKind::revolute ? std::abs(joint.multiplier) : 0.0;
            }
        }
    }
}

/// A state of another length is kept as one, so that the full check says what is wrong with it.
void Stream::begin(const StateView& measured) noexcept {
    budget_m_ = spent;
    has_moved_ = false;
    const bool fits = measured.positions.size() == columns_ && (measured.velocities.empty() || measured.velocities.size() == columns_);
    is_given_ = measured.given && fits;
    velocity_.clear();
    if (!is_given_) return;
    std::copy(measured.positions.begin(), measured.positions.end(), last_.begin());
    velocity_.assign(measured.velocities.begin(), measured.velocities.end());
}

bool Stream::is_same_setting(const StreamStep& step) const noexcept {
    return knows_all_checks_ && step.row.size() == columns_ && step.world == world_ && step.world->revision() == world_revision_ &&
           gate_.memory().shapes_revision == shapes_revision_ && step.gripper_positions.size() == grippers_given_;
}

/// Stages 7 and 9, of a state and a world that were usable before: their ages.
bool Stream::is_fresh(const StreamStep& step, Verdict& verdict) const noexcept {
    const GateConfig& config = gate_.config();
    verdict.state_age_s = step.now_s - step.state_stamp_s;
    if (!inside(verdict.state_age_s, {-tolerance::future_stamp_s, config.state_age_s_max})) return false;
    if (step.world->is_declared_absent()) return true;
    verdict.world_age_s = step.now_s - step.world->stamp_s();
    const double age_s_max = step.world->age_s_max(config.world_age_s_max);
    if (!inside(verdict.world_age_s, {-tolerance::future_stamp_s, age_s_max}) || !inside(step.world_held_s, {0.0, age_s_max})) return false;
    const Interval fresh{-tolerance::future_stamp_s, config.world_age_s_max};
    for (std::size_t slot = 0; slot < field_slots; ++slot) {
        if (step.world->field(slot) == nullptr) continue;
        if (!inside(step.world_held_s, {0.0, config.world_age_s_max})) return false;
        const double age_s = step.now_s - step.world->field_stamp_s(slot);
        const double lasts_s = step.world->field_expires_s(slot) - step.world->field_stamp_s(slot);
        if (!inside(age_s, fresh) || !inside(age_s, {-tolerance::future_stamp_s, lasts_s})) return false;
        verdict.world_age_s = std::max(verdict.world_age_s, age_s);
    }
    return true;
}

/// Stages 4 to 8 but for the tools: positions, speeds and accelerations, by the inequalities of checks/joint_limits.cpp without their slack.
bool Stream::is_inside_limits(const StreamStep& step) const noexcept {
    const double step_s = gate_.config().step_s;
    bool all = true;
    for (std::size_t column = 0; column < columns_; ++column) {
        const double to = step.row[column];
        const double from = last_[column];
        const Interval allowed{low_[column], high_[column]};
        const double acceleration = ((to - from) / step_s - velocity_[column]) / step_s;
        all = all && inside(to, allowed) && inside(from, allowed) && std::abs(to - from) <= speed_max_[column] &&
              std::abs(velocity_[column]) <= capacity::joint_position_max && std::abs(acceleration) <= acceleration_max_[column];
    }
    for (std::size_t index = 0; index < step.gripper_positions.size(); ++index) {
        all = all && inside(step.gripper_positions[index], {low_[columns_ + index], high_[columns_ + index]});
    }
    return all;
}

/// By the bounds of sweep/tool_speed.cpp, which the full check tries first.
bool Stream::is_slow_for_tools() const noexcept {
    const GateConfig& config = gate_.config();
    const std::size_t width = last_.size();
    const double move_max_m = config.max_ee_speed_m_s ? *config.max_ee_speed_m_s * config.step_s * nearly : std::numeric_limits<double>::infinity();
    const double turn_max = config.max_ee_angular_speed_rad_s ? *config.max_ee_angular_speed_rad_s * config.step_s * nearly : std::numeric_limits<double>::infinity();
    for (std::size_t tool = 0; tool < tool_budget_m_.size(); ++tool) {
        double move_m = 0.0;
        double turn = 0.0;
        for (std::size_t column = 0; column < columns_; ++column) {
            move_m += step_[column] * tool_reach_[tool * width + column];
            turn += step_[column] * tool_turn_[tool * width + column];
        }
        if (!(move_m <= move_max_m && turn <= turn_max)) return false;
    }
    return true;
}

/// Stages 8, 10 and 11: at both ends of the step every distance still exceeds what is required by more than half of the step can take.
bool Stream::is_within_budget(const StreamStep& step, double& left_m) const noexcept {
    double used_m = 0.0;
    for (std::size_t place = 0; place < last_.size(); ++place) used_m += moved_[place] * reach_[place];
    left_m = budget_m_ - used_m;
    bool all = is_left(left_m);
    for (std::size_t tool = 0; all && gate_.config().workspace_box && tool < tool_budget_m_.size(); ++tool) {
        double tool_m = 0.0;
        for (std::size_t place = 0; place < last_.size(); ++place) tool_m += moved_[place] * tool_reach_[tool * last_.size() + place];
        all = is_left(tool_budget_m_[tool] - tool_m);
    }
    return all && step.row.size() == columns_;
}

Verdict Stream::step(const StreamStep& step) noexcept {
    if (!(budget_m_ > 0.0) || velocity_.empty() || !is_same_setting(step)) return check_fully(step);
    for (std::size_t column = 0; column < columns_; ++column) {
        step_[column] = std::abs(step.row[column] - last_[column]);
        moved_[column] = std::max(std::abs(step.row[column] - reference_[column]), std::abs(last_[column] - reference_[column])) + 0.5 * step_[column];
    }
    for (std::size_t index = 0; index < step.gripper_positions.size(); ++index) {
        moved_[columns_ + index] = std::abs(step.gripper_positions[index] - reference_[columns_ + index]);
    }
    double left_m = spent;
    Verdict verdict = pattern_;
    const bool is_known = is_within_budget(step, left_m) && is_inside_limits(step) && is_slow_for_tools() && is_fresh(step, verdict);
    if (!is_known) return check_fully(step);
    verdict.min_clearance_m = std::min(left_m, verdict.min_clearance_m);
    accept(step);
    return verdict;
}

void Stream::accept(const StreamStep& step) noexcept {
    const double step_s = gate_.config().step_s;
    velocity_.resize(columns_);  // its memory was reserved
    for (std::size_t column = 0; column < columns_; ++column) {
        velocity_[column] = (step.row[column] - last_[column]) / step_s;
        last_[column] = step.row[column];
    }
    has_moved_ = true;
}

Verdict Stream::check_fully(const StreamStep& step) noexcept {
    ++full_checks_;
    CheckRequest request;
    request.chunk = {mode_, 1, step.row.size(), step.row, none, CartesianFrame::unknown};
    request.state = {{last_.data(), columns_}, velocity_, step.gripper_positions, {}, step.state_stamp_s, is_given_};
    request.world = step.world;
    request.now_s = step.now_s;
    request.world_held_s = step.world_held_s;
    Validation validation(gate_.memory(), request);
    const Verdict verdict = validation.run();
    if (verdict.accepted != 0) {
        accept(step);
        budget_m_ = spent;
        if (knows_all_checks_ && validation.is_certified_by_volumes()) refill(step, verdict);
    } else if (has_moved_) {
        std::fill(velocity_.begin(), velocity_.end(), 0.0);
    }
    return verdict;
}

/// After a step was accepted, from what its check found. A budget that only hulls or a direction vouch for is none: how much work the
/// full check would have with the next step could not be told.
void Stream::refill(const StreamStep& step, const Verdict& verdict) noexcept {
    const RobotModel& model = gate_.model();
    const GateState& state = gate_.memory();
    if (shapes_revision_ != state.shapes_revision) follow_shapes();
    world_ = step.world;
    world_revision_ = step.world->revision();
    grippers_given_ = step.gripper_positions.size();
    std::copy(step.row.begin(), step.row.end(), reference_.begin());
    std::copy(step.gripper_positions.begin(), step.gripper_positions.end(), reference_.begin() + static_cast<std::ptrdiff_t>(columns_));
    std::fill(moved_.begin(), moved_.end(), 0.0);
    budget_m_ = verdict.min_clearance_m;
    pattern_ = verdict;
    pattern_.evaluations = 0;
    // Velocities are known from the first accepted step on.
    pattern_.unchecked &= ~static_cast<std::uint32_t>(Unchecked::initial_acceleration);
    if (!gate_.config().workspace_box) return;
    SweepWorkspace& workspace = gate_.memory().workspace;
    forward_kinematics(model, workspace.path.data() + model.variable_count(), workspace.sample_frames);
    const WorkspaceBox& box = *gate_.config().workspace_box;
    for (std::size_t index = 0; index < model.effectors().size(); ++index) {
        const Effector& effector = model.effectors()[index];
        const Vec3 tool = workspace.sample_frames[effector.body] * effector.in_body.translation;
        const double unknown_m = motion_bound(model, effector.body, effector.reach.data(), 0, workspace.uncertainty);
        tool_budget_m_[index] = std::min({tool.x - box.min.x, box.max.x - tool.x, tool.y - box.min.y, box.max.y - tool.y, tool.z - box.min.z,
                                          box.max.z - tool.z}) - unknown_m;
    }
}

}  // namespace lastgate
