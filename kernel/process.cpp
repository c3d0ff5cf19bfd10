// SPDX-License-Identifier: Apache-2.0
#include "process.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "log_line.hpp"

namespace lastgate {
namespace {

/// Different with every start, so that nobody takes an old kernel's word for a new one's.
std::uint64_t new_identity() noexcept { return (static_cast<std::uint64_t>(monotonic_ns()) << 16U) ^ static_cast<std::uint64_t>(getpid()) ^ 1U; }

/// Where chunks that break a rule pass, a loud line this often.
constexpr std::int64_t warning_period_ns = 1'000'000'000;

template <typename Frame>
std::span<const std::byte> bytes_of(const Frame& frame) noexcept {
    static_assert(std::is_trivially_copyable_v<Frame>);
    return {reinterpret_cast<const std::byte*>(&frame), sizeof frame};
}

}  // namespace

KernelProcess::KernelProcess(KernelConfig config, KernelSettings settings, std::string model_digest, ProcessOptions options)
    : options_(std::move(options)),
      instance_(options_.instance),
      latch_file_(options_.latch_path),
      kernel_(std::move(config), std::move(settings), std::move(model_digest), latch_file_.read()),
      kernel_id_(new_identity()),
      board_(BoardView::create(options_.instance)) {
    const std::string& instance = options_.instance;
    for (std::size_t door = 0; door < doors_max; ++door) {
        doors_[door].chunks = Ring::create(door_ring_name(instance, "chunks", door), chunk_ring);
        doors_[door].states = Ring::create(door_ring_name(instance, "states", door), state_ring);
        doors_[door].worlds = Ring::create(door_ring_name(instance, "worlds", door), world_ring, SharedMemory::Pages::when_written);
        doors_[door].verdicts = Ring::create(door_ring_name(instance, "verdicts", door), verdict_ring);
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
    board_->kernel_id = kernel_id_;
    put_text(board_->robot, kernel_.config().robot_name);
    put_text(board_->model_digest, kernel_.model_digest());
    board_->n_dof = static_cast<std::uint32_t>(kernel_.config().joint_names.size());
    stop_asked_ = kernel_.latch().latched();
    {
        const std::lock_guard hold(gate_lock_);
        wants_active_ = options_.start_active;
        if (wants_active_) (void)try_activate();
        note_change(now());
    }
    board_->heartbeat_ns.store(monotonic_ns(), std::memory_order_release);
    // Last: from here on others may come in.
    board_->magic = Board::magic_value;
}

KernelProcess::~KernelProcess() {
    // Whoever still looks at the board sees a kernel that no longer beats.
    board_->heartbeat_ns.store(0, std::memory_order_release);
}

Now KernelProcess::now() const noexcept { return {wall_clock_s(), static_cast<double>(monotonic_ns()) * 1e-9}; }

void KernelProcess::shut_down() noexcept {
    ending_.store(true, std::memory_order_release);
    board_->doorbell.ring();
    board_->builder_bell.ring();
    // Not that of stops, which would be one: who listens there looks often enough.
}

// ---- The thread that decides -----------------------------------------------------------------------

void KernelProcess::run() {
    std::thread stops(&KernelProcess::listen_for_stops, this);
    std::thread worlds(&KernelProcess::build_worlds, this);
    std::jthread disk([this](const std::stop_token& ending) { wait_for_disk(ending); });
    // Only now: a thread inherits the priority and the processor of whoever starts it.
    become_decider(options_.real_time);
    std::int64_t worked_ns = monotonic_ns();
    while (!ending_.load(std::memory_order_acquire)) {
        const std::uint32_t seen = board_->doorbell.rung();
        const std::int64_t now_ns = monotonic_ns();
        board_->heartbeat_ns.store(now_ns, std::memory_order_release);
        world_ = mailbox_.take();
        bool worked = false;
        for (std::size_t door = 0; door < doors_max; ++door) worked = serve_door(door) || worked;
        if (worked) {
            worked_ns = now_ns;
        } else if (options_.spin_ns >= 0 && now_ns - worked_ns > options_.spin_ns) {
            board_->doorbell.wait(seen, heartbeat_period_ns);
        } else {
            rest_while_spinning();
        }
    }
    stops.join();
    worlds.join();
    // Last, so that whatever those wrote down is kept.
    disk.request_stop();
    disk_bell_.ring();
}

bool KernelProcess::serve_door(std::size_t index) {
    Door& door = doors_[index];
    MessageHead head;
    const std::span<std::byte> payload(payload_.data() + payload_offset, chunk_bytes_max);
    // One message per round and door: a flood at one door does not keep the others waiting.
    if (!door.chunks.read(door.chunk_cursor, head, payload, lost_)) return false;
    // What was measured before the chunk was sent is known before it is judged.
    for (Door& any : doors_) take_states(any);
    world_ = mailbox_.take();
    const auto message = payload.first(head.size);
    if (head.type == MessageType::action_chunk) serve_chunk(index, head, message);
    else if (head.type == MessageType::twist) serve_twist(index, head, message);
    else if (head.type == MessageType::chunk_request) serve_request(index, head, message);
    else if (head.type == MessageType::command) serve_command(index, head, message);
    else serve_question(index, head, message);
    return true;
}

void KernelProcess::take_states(Door& door) {
    MessageHead head;
    std::array<std::byte, state_ring.slot_bytes> bytes;
    // No more than there were when we began: one who writes without end must not keep the others waiting.
    for (std::uint32_t left = state_ring.slots; left > 0 && door.states.read(door.state_cursor, head, bytes, lost_); --left) {
        // Since when it is known is when it was written, not when we got round to it.
        const Now arrived{wall_clock_s(), static_cast<double>(std::min(head.written_ns, monotonic_ns())) * 1e-9};
        if (head.type == MessageType::joint_state) (void)kernel_.observe({bytes.data(), head.size}, arrived);
    }
}

void KernelProcess::serve_chunk(std::size_t index, const MessageHead& head, std::span<std::byte> payload) {
    const Now begun = now();
    // Looking may turn numbers round in place; what passes on are the bytes as they came.
    std::memcpy(safe_.data(), payload.data(), payload.size());
    settle(index, head, kernel_.look(payload, world_, begun), {safe_.data(), payload.size()}, world_, begun);
}

void KernelProcess::serve_twist(std::size_t index, const MessageHead& head, std::span<const std::byte> payload) {
    const Now begun = now();
    settle(index, head, kernel_.look_at_twist(payload, world_, begun), payload, world_, begun);
}

void KernelProcess::serve_request(std::size_t index, const MessageHead& head, std::span<std::byte> payload) {
    const Now begun = now();
    const auto request = kernel_.read_request(payload, world_);
    if (!request) return settle(index, head, Kernel::not_a_chunk(payload.size()), {}, world_, begun);
    const std::size_t size = request->chunk.size();
    if (size == 0) return settle(index, head, Kernel::not_a_chunk(0), {}, world_, begun);
    std::memcpy(safe_.data(), request->chunk.data(), size);
    // To where its numbers are aligned; nothing else of the request is needed any more.
    std::memmove(payload.data(), request->chunk.data(), size);
    settle(index, {head.sequence, head.origin, head.written_ns, MessageType::action_chunk, head.size}, kernel_.look(payload.first(size), world_, begun, &*request), {safe_.data(), size}, world_, begun);
}

void KernelProcess::serve_question(std::size_t index, const MessageHead& head, std::span<const std::byte> payload) {
    AnswerFrame frame;
    if (head.type == MessageType::held_shape || head.type == MessageType::let_go) {
        const std::lock_guard hold(gate_lock_);
        const HeldOutcome outcome = head.type == MessageType::held_shape ? kernel_.attach(payload) : kernel_.let_go(payload);
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
    doors_[index].verdicts.write(MessageType::answer, bytes_of(frame), kernel_id_);
}

void KernelProcess::settle(std::size_t index, const MessageHead& head, const Finding& finding, std::span<const std::byte> safe, const NamedWorld* world, Now begun) {
    VerdictFrame frame;
    TraceFrame trace;
    Decision decision;
    {
        const std::lock_guard hold(gate_lock_);
        // A stop that is being asked for right now waits for this lock, or for its thread to run; nothing may slip out before it.
        const bool asked = stop_asked_.load(std::memory_order_acquire) || board_->estop_bell.rung() != estop_seen_;
        if (asked && !kernel_.latch().latched()) kernel_.estop("external", "a stop was asked for", now());
        decision = kernel_.conclude(finding, world, now());
        if (decision.pass && decision.report) passed_broken_.fetch_add(1, std::memory_order_relaxed);
        if (decision.pass) safe_sequence_ = frame.safe_sequence = safe_actions_.write(head.type, safe, kernel_id_);
        if (decision.controlled_stop) board_->stopped_at.store(safe_sequence_, std::memory_order_release);
        if (decision.report) failures_.write(MessageType::failure_trigger, decision.failure, kernel_id_);
        if (decision.latch || decision.report) note_change(now());
        frame.latched = kernel_.latch().latched() ? 1 : 0;
        frame.latch_sequence = kernel_.latch().record().sequence;
    }
    frame.chunk_sequence = head.sequence;
    frame.passed = frame.safe_sequence != 0 ? 1 : 0;
    frame.verdict = decision.verdict;
    frame.duration_ns = static_cast<std::int64_t>((now().monotonic_s - begun.monotonic_s) * 1e9);
    frame.evidence_bytes = static_cast<std::uint32_t>(std::min(decision.evidence.size(), verdict_.size() - sizeof frame));
    std::memcpy(verdict_.data(), &frame, sizeof frame);
    std::memcpy(verdict_.data() + sizeof frame, decision.evidence.data(), frame.evidence_bytes);
    doors_[index].verdicts.write(MessageType::verdict, {verdict_.data(), sizeof frame + frame.evidence_bytes}, kernel_id_);

    trace.begun_wall_ns = static_cast<std::int64_t>(begun.wall_s * 1e9);
    trace.duration_ns = frame.duration_ns;
    trace.chunk_sequence = head.sequence;
    trace.door = static_cast<std::uint32_t>(index);
    trace.passed = frame.passed;
    trace.warn_only = kernel_.settings().warn_only ? 1 : 0;
    trace.latched = frame.latched;
    trace.verdict = decision.verdict;
    trace.trace_id.assign(finding.chunk.trace_id);
    trace.rskill_id.assign(finding.chunk.rskill_id);
    traces_.write(MessageType::trace, bytes_of(trace), kernel_id_);
    const LookedAt looked = kernel_.take_looked_at();
    if (looked.judged) write_inputs(index, head, looked, finding.verdict, safe, begun);
}

void KernelProcess::write_inputs(std::size_t index, const MessageHead& head, const LookedAt& looked, const Verdict& found, std::span<const std::byte> chunk, Now begun) {
    InputFrame frame;
    frame.chunk_sequence = head.sequence;
    frame.door = static_cast<std::uint32_t>(index);
    frame.state_given = looked.state.given ? 1 : 0;
    frame.recovery = looked.recovery ? 1 : 0;
    frame.contact_count = static_cast<std::uint32_t>(looked.contact_count);
    frame.held_count = static_cast<std::uint32_t>(kernel_.held_count());
    frame.world_given = looked.world != nullptr ? 1 : 0;
    frame.stamp_s = looked.state.stamp_s;
    frame.now_s = begun.wall_s;
    frame.world_held_s = looked.world_held_s;
    if (looked.world != nullptr) {
        frame.world_id = looked.world->snapshot.id();
        frame.world = looked.world->sources;
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
    frame.position_count = append(looked.state.positions);
    frame.stamp_count = append(looked.state.stamps_s);
    frame.velocity_count = append(looked.state.velocities);
    frame.gripper_count = append(looked.state.gripper_positions);
    std::memcpy(bytes.data() + size, chunk.data(), chunk.size());
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
        said = answer_to(frame.command);
    }
    answer(index, head, said);
}

AnswerFrame KernelProcess::answer_to(Command command) {
    const std::lock_guard hold(gate_lock_);
    AnswerFrame answer;
    switch (command) {
        case Command::reset: return reset();
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
    for (const BoardSeat& seat : board_->sources) {
        const std::string_view name = live_name(seat, now_ns);
        if (!name.empty()) live[count++] = name;
    }
    return kernel_.activate({live.data(), count});
}

AnswerFrame KernelProcess::reset() {
    AnswerFrame answer;
    const Now moment = now();
    (void)look_at_seats(moment);
    for (const BoardSeat& seat : board_->actuators) {
        const std::string_view name = live_name(seat, monotonic_ns());
        if (!name.empty()) (void)kernel_.latch().acknowledge(name, seat.acknowledged.load(std::memory_order_acquire));
    }
    if (board_->estop_bell.rung() != estop_seen_) {
        answer.message.assign("reset refused: a stop is being asked for");
        return answer;
    }
    for (std::size_t k = 0; k < absences_.size() && kernel_.latch().latched(); ++k) {
        if (!missing_[k]) continue;
        char text[96];
        std::snprintf(text, sizeof text, "reset refused: source `%s` is still asserted", absences_[k].c_str());
        answer.message.assign(text);
        note_change(moment);
        return answer;
    }
    const Latch::Reset outcome = kernel_.latch().reset(moment.monotonic_s);
    answer.success = outcome.success ? 1 : 0;
    answer.message.assign(outcome.message.view());
    if (outcome.success) stop_asked_.store(false, std::memory_order_release);
    note_change(moment);
    return answer;
}

// ---- The thread that builds worlds -----------------------------------------------------------------

void KernelProcess::build_worlds() {
    become_builder();
    WorldBuilder builder(kernel_.config().base_frame);
    std::vector<std::byte> bytes(world_ring.slot_bytes);
    while (!ending_.load(std::memory_order_acquire)) {
        const std::uint32_t seen = board_->builder_bell.rung();
        bool worked = false;
        for (Door& door : doors_) {
            MessageHead head;
            std::uint64_t lost = 0;
            if (!door.worlds.read(door.world_cursor, head, bytes, lost)) continue;
            worked = true;
            auto world = builder.take(head.type, {bytes.data(), head.size}, {wall_clock_s(), static_cast<double>(head.written_ns) * 1e-9},
                                      {head.type, static_cast<std::uint32_t>(&door - doors_.data()), head.sequence});
            const bool world_was_read = world != nullptr;
            if (world) mailbox_.put(std::move(world));
            board_->worlds_taken[static_cast<std::size_t>(&door - doors_.data())].store(head.sequence, std::memory_order_release);
            board_->world_bell.ring();
            if (!world_was_read) (void)say_without_waiting("lastgate-kernel: a world message that cannot be read was ignored\n");
        }
        if (kernel_.settings().warn_only) warn_loudly();
        mailbox_.free_retired();
        if (!worked) board_->builder_bell.wait(seen, heartbeat_period_ns);
    }
}

void KernelProcess::warn_loudly() {
    const std::int64_t now_ns = monotonic_ns();
    if (now_ns - warned_ns_ < warning_period_ns) return;
    warned_ns_ = now_ns;
    char line[160];
    const int size = std::snprintf(line, sizeof line, "lastgate-kernel: WARN ONLY: no chunk is refused; %llu chunks that break a rule have passed\n",
                                   static_cast<unsigned long long>(passed_broken_.load(std::memory_order_relaxed)));
    (void)say_without_waiting({line, static_cast<std::size_t>(size)});
}

}  // namespace lastgate
