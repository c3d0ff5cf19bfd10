// SPDX-License-Identifier: Apache-2.0
#include "kernel.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace lastgate::kernel {
namespace {

/// A JointState may carry other devices' joints beside ours; this many in one message is no robot.
constexpr std::size_t readings_max = 512;

/// Evidence, and the two names that are copied from the chunk, each as long as a chunk's slot allows.
constexpr std::size_t failure_bytes_max = evidence_bytes_max + 8192;

/// How far from where it was sent a finger counts as having arrived, in m or rad: the slack of a measured joint beyond its limit.
constexpr double arrived_slack = 0.005;

/// A driver begins a chunk within this time of its passing, or not at all.
constexpr double driver_patience_s = 0.2;

bool is_gripper_mode(ControlMode mode) noexcept { return mode == ControlMode::gripper_binary || mode == ControlMode::gripper_position || mode == ControlMode::composite_mode; }

/// The older of what the source says and of what we saw: a source whose clock runs ahead cannot stay fresh, and
/// stepping the system clock cannot make old data young.
double effective_stamp_s(double stamp_s, double arrived_s, Now now) noexcept {
    const double by_arrival = now.wall_s - (now.monotonic_s - arrived_s);
    return std::isfinite(stamp_s) && stamp_s > by_arrival && stamp_s <= now.wall_s ? by_arrival : stamp_s;
}

}  // namespace

Kernel::Kernel(const KernelConfig& config, KernelSettings settings, std::string model_digest, const LatchRecord& restored)
    : Kernel(config, std::make_shared<Gate>(std::make_shared<RobotModel>(config.model), config.gate), std::move(settings), std::move(model_digest), restored) {}

Kernel::Kernel(KernelConfig config, std::shared_ptr<Gate> gate, KernelSettings settings, std::string model_digest, const LatchRecord& restored)
    : config_(std::move(config)), settings_(std::move(settings)), model_digest_(std::move(model_digest)), gate_(std::move(gate)), latch_(settings_.reset_cooldown_s) {
    if (!(std::isfinite(settings_.reset_cooldown_s) && settings_.reset_cooldown_s > 0.0)) throw std::invalid_argument("the reset cooldown must be finite and greater than 0");
    // Here, not where a kernel is started: every way to start one is bound by the envelope.
    auto& required = settings_.required_sources;
    if (config_.deadman_required && std::find(required.begin(), required.end(), deadman_name) == required.end()) required.emplace_back(deadman_name);
    // A program cannot register under another name, and a source or an actuator that cannot come would be waited for in
    // vain.
    const auto is_registration_name = [](const std::string& name) { return !name.empty() && name.size() <= registration_name_bytes_max; };
    const auto& sources = settings_.required_sources;
    if (sources.size() > sources_max || !std::all_of(sources.begin(), sources.end(), is_registration_name)) throw std::invalid_argument("required sources must be at most 16 names of 1 to 31 bytes");
    for (const std::string& name : settings_.required_actuators) {
        if (!is_registration_name(name) || !latch_.require_actuator(name)) throw std::invalid_argument("required actuators must be at most 16 names of 1 to 31 bytes");
    }
    latch_.restore(restored);
    if (settings_.without_world) {
        no_world_ = std::make_unique<NamedWorld>();
        no_world_->snapshot.declare_absent();
        no_world_->names.world_id = "no-world";
        no_world_->names.declared_absent = true;
    }
    const std::size_t dofs = config_.joint_names.size();
    measured_.resize(dofs);
    readings_.resize(readings_max);
    positions_.resize(dofs);
    velocities_.resize(dofs);
    stamps_s_.resize(dofs);
    gripper_.resize(dofs);
    sent_.resize(dofs);
    evidence_.resize(evidence_bytes_max);
    failure_.resize(failure_bytes_max);
    status_.resize(2048);
}

bool Kernel::activate(std::span<const std::string_view> live_sources) noexcept {
    for (const std::string& required : settings_.required_sources) {
        if (std::find(live_sources.begin(), live_sources.end(), std::string_view(required)) == live_sources.end()) return false;
    }
    active_ = true;
    return true;
}

bool Kernel::deactivate() noexcept {
    active_ = false;
    return true;
}

std::size_t Kernel::held_count() const noexcept {
    return static_cast<std::size_t>(std::count_if(held_.begin(), held_.end(), [](const auto& name) { return !name.empty(); }));
}

LifecycleState Kernel::state() const noexcept {
    if (latch_.latched()) return LifecycleState::latched;
    return active_ ? LifecycleState::active : LifecycleState::inactive;
}

bool Kernel::observe(std::span<const std::byte> payload, Now now) noexcept {
    const auto state = read_joint_state(payload, readings_);
    if (!state) return false;
    for (std::size_t i = 0; i < state->count; ++i) {
        const JointReading& reading = readings_[i];
        const auto& names = config_.joint_names;
        // Most publishers keep the robot's own order.
        const auto found = i < names.size() && names[i] == reading.name ? names.begin() + static_cast<std::ptrdiff_t>(i) : std::find(names.begin(), names.end(), reading.name);
        if (found == names.end()) continue;
        Measured& joint = measured_[static_cast<std::size_t>(found - names.begin())];
        joint = {reading.position, reading.velocity, state->stamp.in_seconds(), now.monotonic_s, true, reading.has_velocity};
    }
    return true;
}

StateView Kernel::measured_state(Now now) noexcept {
    StateView view;
    std::size_t rows = 0;
    std::size_t grippers = 0;
    bool velocities = true;
    bool grippers_given = true;
    double gripper_stamp_s = now.wall_s;
    for (std::size_t dof = 0; dof < measured_.size(); ++dof) {
        const Measured& joint = measured_[dof];
        const double stamp_s = effective_stamp_s(joint.stamp_s, joint.arrived_s, now);
        if (config_.model.dofs[dof].in_rows) {
            if (!joint.given) return view;  // a joint that was never seen: no state
            positions_[rows] = joint.position;
            velocities_[rows] = joint.velocity;
            stamps_s_[rows] = stamp_s;
            velocities = velocities && joint.has_velocity;
            ++rows;
        } else {
            gripper_[grippers++] = joint.position;
            grippers_given = grippers_given && joint.given && has_arrived(sent_[dof], joint);
            gripper_stamp_s = std::min(gripper_stamp_s, stamp_s);
        }
    }
    view.positions = {positions_.data(), rows};
    view.stamps_s = {stamps_s_.data(), rows};
    if (velocities) view.velocities = {velocities_.data(), rows};
    if (grippers > 0 && grippers_given) view.gripper_positions = {gripper_.data(), grippers};
    view.stamp_s = gripper_stamp_s;
    view.given = true;
    return view;
}

bool Kernel::has_arrived(const Sent& sent, const Measured& joint) noexcept {
    return !sent.given || (joint.arrived_s >= sent.ends_s && std::abs(joint.position - sent.position) <= arrived_slack);
}

std::uint32_t Kernel::effector_of(const ActionChunkMessage& chunk) const noexcept {
    if (chunk.ee_name.empty() && config_.effector_names.size() == 1) return 0;
    for (std::uint32_t i = 0; i < config_.effector_names.size(); ++i) {
        if (config_.effector_names[i] == chunk.ee_name) return i;
    }
    return none;
}

/// Fingers that a chunk sends somewhere are on their way from now on, whatever moves meanwhile: until they were measured where they were
/// sent they count as not measured, and other chunks are evaluated with every finger anywhere in its range.
void Kernel::note_sent(const ActionChunkMessage& chunk, Now now) noexcept {
    const auto mode = static_cast<ControlMode>(chunk.control_mode);
    if (!is_gripper_mode(mode)) return;
    const std::uint32_t effector = effector_of(chunk);
    // A kernel that only warns passes chunks that say nothing, too: those lead nowhere that can be told.
    const std::size_t last = static_cast<std::size_t>(chunk.horizon - 1) * chunk.n_dof;
    const double command = chunk.horizon > 0 && last < chunk.flat.size() ? chunk.flat[last] : std::numeric_limits<double>::quiet_NaN();
    const double ends_s = now.monotonic_s + driver_patience_s + config_.gate.step_s * (1.0 + chunk.horizon);
    for (const GripperJointConfig& joint : config_.gate.gripper_joints) {
        if (joint.effector != effector) continue;
        const bool binary = mode == ControlMode::gripper_binary;
        const double share = binary ? command : (command - joint.channel_closed) / (joint.channel_open - joint.channel_closed);
        sent_[joint.dof] = {joint.position_closed + share * (joint.position_open - joint.position_closed), ends_s, true};
    }
}

Verdict Kernel::check_chunk(const ActionChunkMessage& chunk, const NamedWorld* world, Now now, const ChunkRequest* with) noexcept {
    CheckRequest request;
    if (with != nullptr) {
        request.recovery = with->recovery;
        request.contacts = {with->contacts.data(), with->contact_count};
    }
    request.chunk.control_mode = chunk.control_mode;
    request.chunk.row_count = chunk.horizon;
    request.chunk.width = chunk.n_dof;
    request.chunk.flat = chunk.flat;
    request.chunk.effector = effector_of(chunk);
    if (chunk.frame_id.empty() || chunk.frame_id == config_.base_frame) {
        request.chunk.frame = CartesianFrame::base;
    } else if (request.chunk.effector < config_.effector_names.size() && chunk.frame_id == config_.effector_names[request.chunk.effector]) {
        // The steps are turned by the axes of the effector they move; another effector's axes are not these.
        request.chunk.frame = CartesianFrame::tool;
    }
    request.state = measured_state(now);
    if (world != nullptr) {
        request.world = &world->snapshot;
        request.world_held_s = held_s(*world, now);
    }
    request.now_s = now.wall_s;
    evaluation_inputs_ = {true, request.state, world, request.world_held_s, request.recovery, request.contacts.size()};
    return gate_->check(request);
}

/// Not a chunk: whatever it was meant to say, its numbers do not stand where they must.
Finding Kernel::not_a_chunk(std::size_t bytes) noexcept {
    Finding finding;
    finding.verdict.stage = 4;
    finding.verdict.violation.code = ViolationCode::dim_mismatch;
    finding.verdict.violation.element = 2;
    finding.verdict.violation.value = static_cast<double>(bytes);
    return finding;
}

std::optional<ChunkRequest> Kernel::read_request(std::span<const std::byte> payload, const NamedWorld* world) const noexcept {
    world = world_or_none(world);
    return read_chunk_request(payload, config_, held_, world == nullptr ? nullptr : &world->names);
}

Finding Kernel::evaluate(std::span<std::byte> payload, const NamedWorld* world, Now now, const ChunkRequest* request) noexcept {
    const auto chunk = read_action_chunk(payload);
    if (!chunk) return not_a_chunk(payload.size());
    Finding finding{*chunk, {}};
    if (request != nullptr && request->blame != none) {
        finding.verdict.stage = 9;
        finding.verdict.violation.code = ViolationCode::declared_contact;
        finding.verdict.violation.element = request->blame;
        finding.verdict.violation.value = static_cast<double>(request->blamed);
        finding.verdict.violation.limit_max = static_cast<double>(capacity::declared_contacts_max);
        return finding;
    }
    finding.verdict = check_chunk(*chunk, world_or_none(world), now, request);
    if (request != nullptr) {
        // The gate counts those it was given; the client counts those it sent.
        std::uint32_t used = 0;
        for (std::size_t i = 0; i < request->contact_count; ++i) used |= (finding.verdict.contacts_used >> i & 1U) << request->sent_as[i];
        finding.verdict.contacts_used = used;
        Violation& violation = finding.verdict.violation;
        if (violation.code == ViolationCode::declared_contact && violation.value < static_cast<double>(request->contact_count)) violation.value = request->sent_as[static_cast<std::size_t>(violation.value)];
    }
    return finding;
}

AttachOutcome Kernel::attach(std::span<const std::byte> payload) noexcept {
    const auto shape = read_attached_shape(payload, config_);
    if (!shape) return {false, none, {"not a shape to hold"}};
    if (!shape->links_known) return {false, none, {"a link that it names does not exist"}};
    if (shape->object_id.size() > 200) return {false, none, {"its name is longer than 200 bytes"}};
    // Several shapes may make one object; a new object gets the first number that is free.
    std::uint16_t number = capacity::attached_max;
    for (std::uint16_t i = 0; i < capacity::attached_max; ++i) {
        if (held_[i].view() == shape->object_id) {
            number = i;
            break;
        }
        if (held_[i].empty() && number == capacity::attached_max) number = i;
    }
    Attachment attachment;
    attachment.id = number;
    const auto& ends = shape->ends;
    attachment.volume = {shape->link_index, shape->radius_m, {ends[0], ends[1], ends[2]}, {ends[3], ends[4], ends[5]}};
    attachment.touch = shape->touch;
    attachment.solid = shape->solid;
    if (number == capacity::attached_max || !gate_->attach(attachment)) return {false, none, {"larger than 100 m, or no room for another shape"}};
    held_[number].assign(shape->object_id);
    latch_.note_held(true);
    return {true, number, {"attached"}};
}

AttachOutcome Kernel::detach(std::span<const std::byte> payload) noexcept {
    const auto object_id = read_detach(payload);
    if (!object_id) return {false, none, {"not a name"}};
    bool holds = false;
    AttachOutcome outcome{false, none, {"it is not attached"}};
    for (std::uint16_t i = 0; i < capacity::attached_max; ++i) {
        if (held_[i].view() == *object_id && gate_->detach(i)) {
            held_[i] = {};
            outcome = {true, i, {"detached"}};
        }
        holds = holds || !held_[i].empty();
    }
    latch_.note_held(holds);
    return outcome;
}

NavAnswer Kernel::nav_goal(std::span<const std::byte> payload, const NamedWorld* world, Now now) const noexcept {
    const auto goal = read_nav_goal(payload);
    if (!goal) return {false, {"not a goal"}};
    const FloorMapMessage* map = world == nullptr || !world->occupancy_map ? nullptr : &world->occupancy_map->map;
    return evaluate_nav_goal(*goal, map, config_.gate, config_.robot_name, now.wall_s, world == nullptr ? 0.0 : held_s(*world, now));
}

Finding Kernel::evaluate_twist(std::span<const std::byte> payload, const NamedWorld* world, Now now) noexcept {
    const auto twist = read_twist(payload);
    if (!twist) return not_a_chunk(payload.size());
    ActionChunkMessage chunk;
    chunk.control_mode = static_cast<std::uint8_t>(ControlMode::body_twist);
    chunk.horizon = 1;
    chunk.n_dof = 6;
    std::copy(twist->begin(), twist->end(), twist_.begin());
    chunk.flat = twist_;
    return {chunk, check_chunk(chunk, world_or_none(world), now)};
}

Decision Kernel::dropped_at_stage_one(ViolationCode code) noexcept {
    Decision decision;
    decision.verdict.stage = 1;
    decision.verdict.violation.code = code;
    dropped_ += 1;
    return decision;
}

Decision Kernel::take_back(Now now) noexcept {
    passed_ -= 1;
    estop("external", "a stop was asked for", now);
    Decision decision = dropped_at_stage_one(ViolationCode::estop_latched);
    decision.latch = true;
    return decision;
}

Decision Kernel::decide(const Finding& finding, const NamedWorld* world, Now now) noexcept {
    world = world_or_none(world);
    const auto& [chunk, verdict] = finding;
    Decision decision;
    decision.verdict = verdict;
    // Stage 1 comes last in time: a stop that was asked for while the chunk was evaluated counts.
    ViolationCode stage_one = ViolationCode::not_checked;
    if (latch_.latched()) stage_one = ViolationCode::estop_latched;
    else if (!active_) stage_one = ViolationCode::envelope_unconfigured;
    if (stage_one != ViolationCode::not_checked) return dropped_at_stage_one(stage_one);
    const ViolationCode code = verdict.violation.code;
    if (verdict.accepted == 1) {
        decision.pass = true;
        passed_ += 1;
        note_sent(chunk, now);
        return decision;
    }
    decision.report = true;
    const ChunkNames names{chunk.control_mode, chunk.ee_name, chunk.frame_id, chunk.flat, chunk.n_dof};
    AttachedViews attached;
    std::transform(held_.begin(), held_.end(), attached.begin(), [](const auto& name) { return name.view(); });
    NameMemory memory;
    decision.evidence = write_evidence(name_violation(verdict, {config_, names, world == nullptr ? nullptr : &world->names, attached}, memory), evidence_);
    FailureTriggerMessage failure;
    failure.stamp = Stamp::of_seconds(now.wall_s);
    failure.kind = static_cast<std::uint8_t>(entry_of(code).kind);
    failure.severity = severity_abort;
    failure.evidence_json = decision.evidence;
    failure.rskill_id = chunk.rskill_id;
    failure.trace_id = chunk.trace_id;
    decision.failure = write_failure_trigger(failure, failure_);
    if (settings_.warn_only) {
        decision.pass = true;
        passed_ += 1;
        note_sent(chunk, now);
        return decision;
    }
    dropped_ += 1;
    const Response response = respond_to(entry_of(code).response, settings_.on_violation, settings_.on_stale);
    decision.latch = response.latch;
    decision.controlled_stop = response.controlled_stop;
    if (decision.latch) latch_.trip("kernel", entry_of(code).word, now.monotonic_s);
    return decision;
}

std::span<const std::byte> Kernel::status(const NamedWorld* world, Now now) noexcept {
    SafetyStatusMessage status;
    status.stamp = Stamp::of_seconds(now.wall_s);
    status.state = static_cast<std::uint8_t>(state());
    status.source = latch_.record().source.view();
    status.reason = latch_.record().reason.view();
    if (settings_.warn_only && !latch_.latched()) {
        // Where a stop would be told: a client that reads that nothing is stopped reads that nothing is rejected, either.
        status.source = "kernel";
        status.reason = "warn only: chunks that break a rule pass";
    }
    status.sequence = latch_.record().sequence;
    status.passed = passed_;
    status.dropped = dropped_;
    status.model_digest = model_digest_;
    if (world != nullptr) status.world_id = world->names.world_id;
    return write_safety_status(status, status_);
}

}  // namespace lastgate::kernel
