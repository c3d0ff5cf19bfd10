// SPDX-License-Identifier: Apache-2.0
// How the process hears stops, writes them down and says how it stands.
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "process.hpp"

namespace lastgate {
namespace {

/// A status at least this often, so that one who starts late learns how things stand.
constexpr std::int64_t status_period_ns = 1'000'000'000;
/// Who waits for the disk is rung for; this is for a ring that was missed.
constexpr std::int64_t disk_look_period_ns = 1'000'000'000;

}  // namespace

// ---- The thread that listens for stops -------------------------------------------------------------

void KernelProcess::listen_for_stops() {
    become_listener(options_.real_time);
    for (bool ending = false; !ending;) {
        // Before the last look, not after it: a stop that is asked for now is written down and found by the next kernel.
        ending = ending_.load(std::memory_order_acquire);
        const std::uint32_t rung = board_->estop_bell.rung();
        const bool asked = rung != estop_seen_;
        if (asked) {
            // Before any lock: the decision that is being made right now will find it, and drivers read the board.
            stop_asked_.store(true, std::memory_order_release);
            board_->state.store(static_cast<std::uint32_t>(LifecycleState::latched), std::memory_order_release);
        }
        {
            const std::lock_guard hold(gate_lock_);
            const Now moment = now();
            estop_seen_ = rung;
            const bool explained = look_at_seats(moment);
            if (wants_active_ && !kernel_.is_active()) (void)try_activate();
            const LatchRecord& record = kernel_.latch().record();
            // Nobody on a seat said why. While latched this is a stop like the one before it: the cooldown begins again.
            if (asked && !explained && record.latched) kernel_.estop(record.source.view(), record.reason.view(), moment);
            else if (asked && !explained) kernel_.estop("external", "a stop was asked for", moment);
            note_change(moment);
            if (monotonic_ns() - status_ns_ >= status_period_ns) write_status(moment);
        }
        if (options_.parent >= 0 && getppid() != options_.parent) shut_down();
        if (!ending) board_->estop_bell.wait(rung, heartbeat_period_ns);
    }
}

bool KernelProcess::look_at_seats(Now moment) {
    const std::int64_t now_ns = monotonic_ns();
    bool asked = false;
    const auto readable = [](std::string_view text, std::string_view otherwise) { return CdrReader::is_utf8(text) && !text.empty() ? text : otherwise; };
    for (std::size_t i = 0; i < sources_max; ++i) {
        BoardSeat& seat = board_->sources[i];
        const std::string_view name = readable(text_of(seat.name), "external");
        const std::string_view reason = readable(text_of(seat.reason), "a stop was asked for");
        // Whoever has left since was still here when they pressed.
        const std::uint32_t presses = seat.presses.load(std::memory_order_acquire);
        if (presses != presses_seen_[i]) {
            presses_seen_[i] = presses;
            kernel_.estop(name, reason, moment);
            report_for(seat, moment);
            asked = true;
        }
        const bool taken = seat.owner.load(std::memory_order_acquire) != 0;
        if (taken && seat.named.load(std::memory_order_acquire) != 1) continue;  // somebody is sitting down
        // One that died while it held stays asserted: only who takes its seat can say that it let go.
        const bool holds = taken && seat.asserted.load(std::memory_order_acquire) != 0;
        const bool held_by_another = held_[i] && held_as_[i].view() != name;
        if (held_[i] && (!holds || held_by_another)) kernel_.latch().release_source(held_as_[i].view());
        if (holds && (!held_[i] || held_by_another)) {
            kernel_.latch().assert_source(name, reason, moment.monotonic_s);
            held_as_[i].assign(name);
            asked = true;
        }
        held_[i] = holds;
    }
    if (!kernel_.is_active()) return asked;
    const auto& required = kernel_.settings().required_sources;
    for (std::size_t k = 0; k < required.size(); ++k) {
        const bool alive = std::any_of(board_->sources.begin(), board_->sources.end(), [&](const BoardSeat& seat) { return live_name(seat, now_ns) == required[k]; });
        // Only told here: the latch cuts names, and two that begin alike would be one. `reset` asks `missing_`.
        if (!alive && !missing_[k]) kernel_.estop(absences_[k], "a required e-stop source is gone", moment);
        missing_[k] = !alive;
    }
    return asked;
}

void KernelProcess::report_for(const BoardSeat& seat, Now moment) {
    const std::string_view evidence = text_of(seat.evidence);
    if (evidence.empty() || !CdrReader::is_utf8(evidence)) return;
    FailureTriggerMessage failure;
    failure.stamp = Stamp::of_seconds(moment.wall_s);
    failure.kind = static_cast<std::uint8_t>(seat.failure_kind.load(std::memory_order_relaxed));
    failure.severity = severity_abort;
    failure.evidence_json = evidence;
    std::array<std::byte, 1024> memory;
    failures_.write(MessageType::failure_trigger, write_failure_trigger(failure, memory), kernel_id_);
}

void KernelProcess::note_change(Now moment) {
    const LatchRecord& record = kernel_.latch().record();
    if (record.latched) stop_asked_.store(true, std::memory_order_release);
    const auto state = static_cast<std::uint32_t>(kernel_.state());
    const bool changed = record.latched != written_.latched || record.sequence != written_.sequence || record.held != written_.held || unwritten_;
    if (changed) {
        unwritten_ = !latch_file_.write(record);
        // A stop that cannot be written down is still a stop here; a reset that cannot is none.
        if (unwritten_ && !record.latched) kernel_.estop("kernel", "the latch file cannot be written", moment);
        if (!unwritten_) {
            written_ = record;
            disk_bell_.ring();
        }
    }
    const auto shown = stop_asked_.load(std::memory_order_acquire) ? static_cast<std::uint32_t>(LifecycleState::latched) : state;
    const bool moved = board_->state.exchange(shown, std::memory_order_acq_rel) != shown;
    board_->latch_sequence.store(record.sequence, std::memory_order_release);
    if (changed || moved) write_status(moment);
}

void KernelProcess::write_status(Now moment) {
    status_ns_ = monotonic_ns();
    statuses_.write(MessageType::safety_status, kernel_.status(world_, moment), kernel_id_);
}

// ---- The thread that waits for the disk ------------------------------------------------------------

void KernelProcess::wait_for_disk(const std::stop_token& ending) {
    pthread_setname_np(pthread_self(), "lastgate-disk");
    std::uint32_t kept = 0;
    while (true) {
        const std::uint32_t rung = disk_bell_.rung();
        if (rung != kept) {
            latch_file_.sync();
            kept = rung;
        } else if (ending.stop_requested()) {
            return;
        } else {
            disk_bell_.wait(rung, disk_look_period_ns);
        }
    }
}

}  // namespace lastgate
