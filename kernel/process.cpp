// SPDX-License-Identifier: Apache-2.0
#include "process.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "log_line.hpp"
#include "test_point.hpp"

namespace lastgate::kernel {
namespace {

/// Different with every start, so that no client takes the word of a kernel that ended for its successor's.
std::uint64_t new_identity() noexcept { return (static_cast<std::uint64_t>(monotonic_ns()) << 16U) ^ static_cast<std::uint64_t>(getpid()) ^ 1U; }

/// Where chunks that break a rule pass, a loud line this often.
constexpr std::int64_t warning_period_ns = 1'000'000'000;

template <typename Frame>
std::span<const std::byte> bytes_of(const Frame& frame) noexcept {
    static_assert(std::is_trivially_copyable_v<Frame>);
    return {reinterpret_cast<const std::byte*>(&frame), sizeof frame};
}

}  // namespace

KernelProcess::KernelProcess(const KernelConfig& config, KernelSettings settings, std::string model_digest, ProcessOptions options)
    : options_(std::move(options)),
      instance_(options_.instance),
      latch_file_(options_.latch_path),
      kernel_(config, std::move(settings), std::move(model_digest), latch_file_.read()),
      kernel_id_(new_identity()),
      status_block_(StatusBlockView::create(options_.instance)) {
    const std::string& instance = options_.instance;
    for (std::size_t channel = 0; channel < channels_max; ++channel) {
        channels_[channel].chunks = Ring::create(channel_ring_name(instance, "chunks", channel), chunk_ring);
        channels_[channel].states = Ring::create(channel_ring_name(instance, "states", channel), state_ring);
        channels_[channel].worlds = Ring::create(channel_ring_name(instance, "worlds", channel), world_ring, SharedMemory::Pages::when_written);
        channels_[channel].verdicts = Ring::create(channel_ring_name(instance, "verdicts", channel), verdict_ring);
    }
    safe_actions_ = Ring::create(ring_name(instance, "safe_actions"), chunk_ring);
    failures_ = Ring::create(ring_name(instance, "failures"), failure_ring);
    statuses_ = Ring::create(ring_name(instance, "statuses"), status_ring);
    traces_ = Ring::create(ring_name(instance, "traces"), trace_ring);
    inputs_ = Ring::create(ring_name(instance, "inputs"), input_ring);
    payload_.resize(payload_offset + chunk_bytes_max);
    safe_.resize(chunk_bytes_max);
    verdict_.resize(verdict_ring.slot_bytes);
    input_.resize(input_ring.slot_bytes);
    written_ = kernel_.latch().record();
    for (const std::string& name : kernel_.settings().required_sources) absences_.push_back("absence of " + name);
    status_block_->kernel_id = kernel_id_;
    put_text(status_block_->robot, kernel_.config().robot_name);
    put_text(status_block_->model_digest, kernel_.model_digest());
    status_block_->warn_only = kernel_.settings().warn_only ? 1 : 0;
    status_block_->n_dof = static_cast<std::uint32_t>(kernel_.config().joint_names.size());
    {
        const std::lock_guard hold(gate_lock_);
        wants_active_ = options_.start_active;
        if (wants_active_) (void)try_activate();
        note_change(now());
    }
    status_block_->heartbeat_ns.store(monotonic_ns(), std::memory_order_release);
    // Last: from here on others may come in.
    status_block_->magic = StatusBlock::magic_value;
}

KernelProcess::~KernelProcess() {
    // A reader of the status block sees a kernel that no longer beats.
    status_block_->heartbeat_ns.store(0, std::memory_order_release);
}

Now KernelProcess::now() const noexcept { return {wall_clock_s(), static_cast<double>(monotonic_ns()) * 1e-9}; }

void KernelProcess::shut_down() noexcept {
    ending_.store(true, std::memory_order_release);
    status_block_->work_event.signal();
    status_block_->builder_event.signal();
    // Not that of stops, which would be one: its listener wakes often enough.
}

// ---- The thread that decides -----------------------------------------------------------------------

void KernelProcess::run() {
    std::thread stops(&KernelProcess::listen_for_stops, this);
    std::thread worlds(&KernelProcess::build_worlds, this);
    std::jthread disk([this](const std::stop_token& ending) { wait_for_disk(ending); });
    // Only now: a thread inherits the priority and the processor of its parent.
    become_decider(options_.real_time);
    std::int64_t worked_ns = monotonic_ns();
    while (!ending_.load(std::memory_order_acquire)) {
        const std::uint32_t seen = status_block_->work_event.signals();
        const std::int64_t now_ns = monotonic_ns();
        status_block_->heartbeat_ns.store(now_ns, std::memory_order_release);
        world_ = mailbox_.take();
        bool worked = false;
        for (std::size_t channel = 0; channel < channels_max; ++channel) worked = serve_channel(channel) || worked;
        answer_reset_when_kept();
        if (worked) {
            worked_ns = now_ns;
        } else if (options_.spin_ns >= 0 && now_ns - worked_ns > options_.spin_ns) {
            status_block_->work_event.wait(seen, heartbeat_period_ns);
        } else {
            rest_while_spinning();
        }
    }
    stops.join();
    worlds.join();
    // Last, so that whatever those wrote down is kept.
    disk.request_stop();
    disk_event_.signal();
}

bool KernelProcess::serve_channel(std::size_t index) {
    Channel& channel = channels_[index];
    MessageHead head;
    const std::span<std::byte> payload(payload_.data() + payload_offset, chunk_bytes_max);
    // One message per round and channel: a flood at one channel does not keep the others waiting.
    if (!channel.chunks.read(channel.chunk_cursor, head, payload, lost_)) return false;
    LASTGATE_POINT("chunk taken");
    // What was measured before the chunk was sent is known before it is evaluated.
    for (Channel& any : channels_) take_states(any);
    world_ = mailbox_.take();
    const auto message = payload.first(head.size);
    if (head.type == MessageType::action_chunk) serve_chunk(index, head, message);
    else if (head.type == MessageType::twist) serve_twist(index, head, message);
    else if (head.type == MessageType::chunk_request) serve_request(index, head, message);
    else if (head.type == MessageType::command) serve_command(index, head, message);
    else serve_question(index, head, message);
    return true;
}

void KernelProcess::take_states(Channel& channel) {
    MessageHead head;
    std::array<std::byte, state_ring.slot_bytes> bytes;
    // No more than there were when we began: a client that writes without end must not keep the others waiting.
    for (std::uint32_t left = state_ring.slots; left > 0 && channel.states.read(channel.state_cursor, head, bytes, lost_); --left) {
        // Since when it is known is when it was written, not when we got round to it.
        const Now arrived{wall_clock_s(), static_cast<double>(std::min(head.written_ns, monotonic_ns())) * 1e-9};
        if (head.type == MessageType::joint_state) (void)kernel_.observe({bytes.data(), head.size}, arrived);
    }
}

void KernelProcess::serve_chunk(std::size_t index, const MessageHead& head, std::span<std::byte> payload) {
    const Now begun = now();
    // Evaluating may turn numbers round in place; what passes on are the bytes as they came.
    if (!payload.empty()) std::memcpy(safe_.data(), payload.data(), payload.size());
    settle(index, head, kernel_.evaluate(payload, world_, begun), {safe_.data(), payload.size()}, world_, begun);
}

void KernelProcess::serve_twist(std::size_t index, const MessageHead& head, std::span<const std::byte> payload) {
    const Now begun = now();
    settle(index, head, kernel_.evaluate_twist(payload, world_, begun), payload, world_, begun);
}

void KernelProcess::serve_request(std::size_t index, const MessageHead& head, std::span<std::byte> payload) {
    const Now begun = now();
    const auto request = kernel_.read_request(payload, world_);
    if (!request) return settle(index, head, Kernel::not_a_chunk(payload.size()), {}, world_, begun);
    const std::size_t size = request->chunk.size();
    if (size == 0) return settle(index, head, Kernel::not_a_chunk(0), {}, world_, begun);
    if (size > 0) std::memcpy(safe_.data(), request->chunk.data(), size);
    // To where its numbers are aligned; nothing else of the request is needed any more.
    std::memmove(payload.data(), request->chunk.data(), size);
    settle(index, {head.sequence, head.origin, head.written_ns, MessageType::action_chunk, head.size}, kernel_.evaluate(payload.first(size), world_, begun, &*request), {safe_.data(), size}, world_, begun);
}

void KernelProcess::serve_question(std::size_t index, const MessageHead& head, std::span<const std::byte> payload) {
    AnswerFrame frame;
    if (head.type == MessageType::attached_shape || head.type == MessageType::detach) {
        const std::lock_guard hold(gate_lock_);
        const AttachOutcome outcome = head.type == MessageType::attached_shape ? kernel_.attach(payload) : kernel_.detach(payload);
        frame.success = outcome.success ? 1 : 0;
        frame.number = outcome.number;
        frame.message.assign(outcome.message.view());
        note_change(now());
    } else if (head.type == MessageType::nav_goal) {
        const NavAnswer outcome = kernel_.nav_goal(payload, world_, now());
        frame.success = outcome.ok ? 1 : 0;
        frame.message.assign(outcome.reason.view());
    } else {
        return;
    }
    answer(index, head, frame);
}

void KernelProcess::answer(std::size_t index, const MessageHead& head, AnswerFrame frame) {
    frame.command_sequence = head.sequence;
    channels_[index].verdicts.write(MessageType::answer, bytes_of(frame), kernel_id_);
}

void KernelProcess::settle(std::size_t index, const MessageHead& head, const Finding& finding, std::span<const std::byte> safe, const NamedWorld* world, Now begun) {
    VerdictFrame frame;
    TraceFrame trace;
    Decision decision;
    LASTGATE_POINT("chunk evaluated");
    {
        const std::lock_guard hold(gate_lock_);
        LASTGATE_POINT("gate held");
        // A stop that is being asked for right now waits for this lock, or for its thread to run. Only a short cut: what
        // lets nothing slip out before it is that a chunk leaves in one step with asking.
        if (stop_is_unheard() && !kernel_.latch().latched()) kernel_.estop("external", "a stop was asked for", now());
        LASTGATE_POINT("stop flag read");
        decision = kernel_.decide(finding, world, now());
        LASTGATE_POINT("decided");
        if (decision.pass) frame.safe_sequence = safe_actions_.write_unless_stopped(head.type, safe, kernel_id_, stops_heard_);
        if (decision.pass && frame.safe_sequence == 0) decision = kernel_.take_back(now());
        if (decision.pass) safe_sequence_ = frame.safe_sequence;
        if (decision.pass && decision.report) passed_broken_.fetch_add(1, std::memory_order_relaxed);
        if (decision.controlled_stop) status_block_->stopped_at.store(safe_sequence_, std::memory_order_release);
        if (decision.report) failures_.write(MessageType::failure_trigger, decision.failure, kernel_id_);
        if (decision.latch || decision.report) note_change(now());
        frame.latched = kernel_.latch().latched() ? 1 : 0;
        frame.latch_sequence = kernel_.latch().record().sequence;
    }
    LASTGATE_POINT("gate released");
    frame.chunk_sequence = head.sequence;
    frame.passed = frame.safe_sequence != 0 ? 1 : 0;
    frame.verdict = decision.verdict;
    frame.duration_ns = static_cast<std::int64_t>((now().monotonic_s - begun.monotonic_s) * 1e9);
    frame.evidence_bytes = static_cast<std::uint32_t>(std::min(decision.evidence.size(), verdict_.size() - sizeof frame));
    std::memcpy(verdict_.data(), &frame, sizeof frame);
    // A decision without evidence has no place to copy from.
    if (frame.evidence_bytes > 0) std::memcpy(verdict_.data() + sizeof frame, decision.evidence.data(), frame.evidence_bytes);
    channels_[index].verdicts.write(MessageType::verdict, {verdict_.data(), sizeof frame + frame.evidence_bytes}, kernel_id_);

    trace.begun_wall_ns = static_cast<std::int64_t>(begun.wall_s * 1e9);
    trace.duration_ns = frame.duration_ns;
    trace.chunk_sequence = head.sequence;
    trace.channel = static_cast<std::uint32_t>(index);
    trace.passed = frame.passed;
    trace.warn_only = kernel_.settings().warn_only ? 1 : 0;
    trace.latched = frame.latched;
    trace.verdict = decision.verdict;
    trace.trace_id.assign(finding.chunk.trace_id);
    trace.rskill_id.assign(finding.chunk.rskill_id);
    traces_.write(MessageType::trace, bytes_of(trace), kernel_id_);
    const EvaluationInputs inputs = kernel_.take_evaluation_inputs();
    if (inputs.evaluated) write_inputs(index, head, inputs, finding.verdict, safe, begun);
}

void KernelProcess::write_inputs(std::size_t index, const MessageHead& head, const EvaluationInputs& inputs, const Verdict& found, std::span<const std::byte> chunk, Now begun) {
    InputFrame frame;
    frame.chunk_sequence = head.sequence;
    frame.channel = static_cast<std::uint32_t>(index);
    frame.state_given = inputs.state.given ? 1 : 0;
    frame.recovery = inputs.recovery ? 1 : 0;
    frame.contact_count = static_cast<std::uint32_t>(inputs.contact_count);
    frame.held_count = static_cast<std::uint32_t>(kernel_.held_count());
    frame.world_given = inputs.world != nullptr ? 1 : 0;
    frame.stamp_s = inputs.state.stamp_s;
    frame.now_s = begun.wall_s;
    frame.world_held_s = inputs.world_held_s;
    if (inputs.world != nullptr) {
        frame.world_id = inputs.world->snapshot.id();
        frame.world = inputs.world->sources;
    }
    frame.found = found;
    frame.chunk_type = head.type == MessageType::twist ? MessageType::twist : MessageType::action_chunk;
    frame.chunk_bytes = static_cast<std::uint32_t>(chunk.size());
    std::vector<std::byte>& bytes = input_;
    std::size_t size = sizeof frame;
    const auto append = [&](std::span<const double> numbers) {
        if (!numbers.empty()) std::memcpy(bytes.data() + size, numbers.data(), numbers.size_bytes());
        size += numbers.size_bytes();
        return static_cast<std::uint32_t>(numbers.size());
    };
    frame.position_count = append(inputs.state.positions);
    frame.stamp_count = append(inputs.state.stamps_s);
    frame.velocity_count = append(inputs.state.velocities);
    frame.gripper_count = append(inputs.state.gripper_positions);
    if (!chunk.empty()) std::memcpy(bytes.data() + size, chunk.data(), chunk.size());
    size += chunk.size();
    std::memcpy(bytes.data(), &frame, sizeof frame);
    inputs_.write(MessageType::inputs, {bytes.data(), size}, kernel_id_);
}

void KernelProcess::serve_command(std::size_t index, const MessageHead& head, std::span<const std::byte> payload) {
    CommandFrame frame;
    AnswerFrame said;
    said.message.assign("not a command");
    if (payload.size() == sizeof frame) {
        std::memcpy(&frame, payload.data(), sizeof frame);
        if (frame.command == Command::reset) {
            const std::lock_guard hold(gate_lock_);
            const auto answered = begin_reset(index, head);
            if (!answered) return;
            said = *answered;
        } else {
            said = answer_to(frame.command);
        }
    }
    answer(index, head, said);
}

AnswerFrame KernelProcess::answer_to(Command command) {
    const std::lock_guard hold(gate_lock_);
    AnswerFrame answer;
    switch (command) {
        case Command::reset: break;  // which waits for the disk: `begin_reset`
        case Command::activate:
            wants_active_ = true;
            answer.success = try_activate() ? 1 : 0;
            answer.message.assign(answer.success == 1 ? "active" : "refused: a required e-stop source is absent");
            break;
        case Command::deactivate:
            wants_active_ = false;
            answer.success = kernel_.deactivate() ? 1 : 0;
            answer.message.assign("inactive");
            break;
        case Command::status:
            answer.success = 1;
            write_status(now());
            return answer;
        case Command::shutdown:
            answer.success = 1;
            answer.message.assign("shutting down");
            ending_.store(true, std::memory_order_release);
            break;
        case Command::nothing: answer.message.assign("not a command"); break;
    }
    note_change(now());
    return answer;
}

bool KernelProcess::try_activate() {
    std::array<std::string_view, sources_max> live;
    std::size_t count = 0;
    const std::int64_t now_ns = monotonic_ns();
    for (const RegistrationSlot& registration : status_block_->sources) {
        const std::string_view name = live_name(registration, now_ns);
        if (!name.empty()) live[count++] = name;
    }
    return kernel_.activate({live.data(), count});
}

// ---- The thread that builds worlds -----------------------------------------------------------------

void KernelProcess::build_worlds() {
    become_builder();
    WorldBuilder builder(kernel_.config().frames);
    std::vector<std::byte> bytes(world_ring.slot_bytes);
    while (!ending_.load(std::memory_order_acquire)) {
        const std::uint32_t seen = status_block_->builder_event.signals();
        bool worked = false;
        for (Channel& channel : channels_) {
            MessageHead head;
            std::uint64_t lost = 0;
            if (!channel.worlds.read(channel.world_cursor, head, bytes, lost)) continue;
            worked = true;
            auto world = builder.take(head.type, {bytes.data(), head.size}, {wall_clock_s(), static_cast<double>(head.written_ns) * 1e-9},
                                      {head.type, static_cast<std::uint32_t>(&channel - channels_.data()), head.sequence});
            const bool world_was_read = world != nullptr;
            if (world) mailbox_.put(std::move(world));
            status_block_->worlds_taken[static_cast<std::size_t>(&channel - channels_.data())].store(head.sequence, std::memory_order_release);
            status_block_->world_event.signal();
            if (!world_was_read) (void)say_without_waiting("lastgate-kernel: a world message that cannot be read was ignored\n");
        }
        if (kernel_.settings().warn_only) warn_loudly();
        mailbox_.free_retired();
        if (!worked) status_block_->builder_event.wait(seen, heartbeat_period_ns);
    }
}

void KernelProcess::warn_loudly() {
    const std::int64_t now_ns = monotonic_ns();
    if (now_ns - warned_ns_ < warning_period_ns) return;
    warned_ns_ = now_ns;
    char line[160];
    const int size = std::snprintf(line, sizeof line, "lastgate-kernel: WARN ONLY: no chunk is rejected; %llu chunks that break a rule have passed\n",
                                   static_cast<unsigned long long>(passed_broken_.load(std::memory_order_relaxed)));
    (void)say_without_waiting({line, static_cast<std::size_t>(size)});
}

}  // namespace lastgate::kernel
