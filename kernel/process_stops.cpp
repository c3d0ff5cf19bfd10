// SPDX-License-Identifier: Apache-2.0
// How the process hears stops, writes them down and says how it stands.
#include <unistd.h>

#include <algorithm>
#include <array>

#include "json_text.hpp"
#include "process.hpp"

namespace lastgate::kernel {
namespace {

/// A status at least this often, so that a late client learns how things stand.
constexpr std::int64_t status_period_ns = 1'000'000'000;
constexpr const char* source_is_gone = "a required e-stop source is gone";

}  // namespace

// ---- The thread that listens for stops -------------------------------------------------------------

void KernelProcess::listen_for_stops() {
    become_listener(options_.real_time);
    for (bool ending = false; !ending;) {
        // Before the last poll, not after it: a stop that is asked for now is written down and found by the next
        // kernel.
        ending = ending_.load(std::memory_order_acquire);
        const std::uint32_t signals = status_block_->estop_event.signals();
        const std::uint32_t stops = safe_actions_.stops_asked();
        const bool asked = stops != stops_heard_;  // which no other thread writes
        // Before any lock: a client that waits for the kernel to hear it reads the status block.
        if (asked) show_latched();
        {
            const std::lock_guard hold(gate_lock_);
            const Now moment = now();
            stops_heard_ = stops;  // latched below, before the lock is released
            const bool explained = poll_registrations(moment);
            poll_disk(moment);
            if (wants_active_ && !kernel_.is_active()) (void)try_activate();
            const LatchRecord& record = kernel_.latch().record();
            // No program on a registration said why. While latched this is a stop like the one before it: the cooldown
            // begins again.
            if (asked && !explained && record.latched) kernel_.estop(record.source.view(), record.reason.view(), moment);
            else if (asked && !explained) kernel_.estop("external", "a stop was asked for", moment);
            note_change(moment);
            status_block_->stops_heard.store(stops, std::memory_order_release);
            if (monotonic_ns() - status_ns_ >= status_period_ns) write_status(moment);
        }
        if (options_.parent >= 0 && getppid() != options_.parent) shut_down();
        if (!ending) status_block_->estop_event.wait(signals, heartbeat_period_ns);
    }
}

void KernelProcess::show_latched() noexcept {
    constexpr auto latched = static_cast<std::uint32_t>(LifecycleState::latched);
    if (status_block_->state.load(std::memory_order_acquire) == latched) return;
    status_block_->latch_kept.store(0, std::memory_order_release);
    status_block_->state.store(latched, std::memory_order_release);
}

bool KernelProcess::poll_registrations(Now moment) {
    const std::int64_t now_ns = monotonic_ns();
    bool asked = false;
    const auto readable = [](std::string_view text, std::string_view otherwise) { return CdrReader::is_utf8(text) && !text.empty() ? text : otherwise; };
    for (std::size_t i = 0; i < sources_max; ++i) {
        RegistrationSlot& registration = status_block_->sources[i];
        const std::string_view name = readable(text_of(registration.name), "external");
        const std::string_view reason = readable(text_of(registration.reason), "a stop was asked for");
        // A program that has left since was still here when it pressed.
        const std::uint32_t presses = registration.presses.load(std::memory_order_acquire);
        if (presses != presses_seen_[i]) {
            presses_seen_[i] = presses;
            kernel_.estop(name, reason, moment);
            report_for(registration, moment);
            asked = true;
        }
        const bool taken = registration.owner.load(std::memory_order_acquire) != 0;
        if (taken && registration.named.load(std::memory_order_acquire) != 1) continue;  // a program is sitting down
        // One that died while it held stays asserted: only the program that registers can say that it released the stop.
        const bool holds = taken && registration.asserted.load(std::memory_order_acquire) != 0;
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
        const bool alive = std::any_of(status_block_->sources.begin(), status_block_->sources.end(), [&](const RegistrationSlot& registration) { return live_name(registration, now_ns) == required[k]; });
        // Only told here: the latch cuts names, and two that begin alike would be one. `reset` asks `missing_`.
        if (!alive && !missing_[k]) {
            kernel_.estop(absences_[k], source_is_gone, moment);
            report_absence(required[k], moment);
        }
        missing_[k] = !alive;
    }
    return asked;
}

void KernelProcess::report_for(const RegistrationSlot& registration, Now moment) {
    report_stop(registration.failure_kind.load(std::memory_order_relaxed), text_of(registration.evidence), moment);
}

void KernelProcess::report_absence(std::string_view source, Now moment) {
    std::array<char, 256> memory;
    JsonText evidence(memory);
    evidence.text("kind", "controller");
    evidence.text("controller_name", source);
    evidence.text("state", "estop_source_lost");
    evidence.text("detail", source_is_gone);
    report_stop(static_cast<std::uint32_t>(FailureKind::controller), evidence.view(), moment);
}

void KernelProcess::report_stop(std::uint32_t kind, std::string_view evidence, Now moment) {
    if (evidence.empty() || !CdrReader::is_utf8(evidence)) return;
    FailureTriggerMessage failure;
    failure.stamp = Stamp::of_seconds(moment.wall_s);
    failure.kind = static_cast<std::uint8_t>(kind);
    failure.severity = severity_abort;
    failure.evidence_json = evidence;
    std::array<std::byte, 1024> memory;
    failures_.write(MessageType::failure_trigger, write_failure_trigger(failure, memory), kernel_id_);
}

void KernelProcess::note_change(Now moment) {
    const LatchRecord& record = kernel_.latch().record();
    const bool same = record.latched == written_.latched && record.sequence == written_.sequence && record.held == written_.held && !unwritten_;
    // A reset that is on its way to the disk stands there already; a stop that came since does not.
    const bool changed = !same && !(reset_.waiting && kernel_.latch().stops() == reset_.stops && !unwritten_);
    // A stop that cannot be written down is still a stop here; anything else that cannot becomes one.
    if (changed && !write_down(record) && !record.latched) kernel_.estop("kernel", "the latch file cannot be written", moment);
    const auto shown = static_cast<std::uint32_t>(stop_is_unheard() ? LifecycleState::latched : kernel_.state());
    const bool kept = record.latched && !unwritten_ && !reset_.waiting && is_reached(kept_.load(std::memory_order_acquire), kept_as_latched_);
    status_block_->latch_kept.store(kept ? 1 : 0, std::memory_order_release);  // first: a reader of the state sees no older word about it
    const bool moved = status_block_->state.exchange(shown, std::memory_order_acq_rel) != shown;
    status_block_->latch_sequence.store(record.sequence, std::memory_order_release);
    if (changed || moved) write_status(moment);
}

void KernelProcess::write_status(Now moment) {
    status_ns_ = monotonic_ns();
    statuses_.write(MessageType::safety_status, kernel_.status(world_, moment), kernel_id_);
}

}  // namespace lastgate::kernel
