// SPDX-License-Identifier: Apache-2.0
// How the process waits for the disk, on a thread that nothing else waits for, and what it tells only when the disk has it.
#include <pthread.h>

#include <cstdio>

#include "process.hpp"

namespace lastgate::kernel {
namespace {

/// How often it is looked whether the file still has its name.
constexpr std::int64_t disk_poll_period_ns = 100'000'000;

AnswerFrame refused(std::string_view why) noexcept {
    AnswerFrame answer;
    answer.message.assign(why);
    return answer;
}

}  // namespace

void KernelProcess::wait_for_disk(const std::stop_token& ending) {
    pthread_setname_np(pthread_self(), "lastgate-disk");
    while (true) {
        const std::uint32_t signals = disk_event_.signals();
        // What the disk has failed to keep it may call kept when asked again: it is written anew first.
        if (signals != kept_.load(std::memory_order_relaxed) && signals != failed_.load(std::memory_order_relaxed)) {
            const bool kept = latch_file_.sync();
            disk_fails_.store(!kept, std::memory_order_release);
            (kept ? kept_ : failed_).store(signals, std::memory_order_release);
            status_block_->work_event.signal();  // a client that waits for this is answered by the thread that decides
            if (kept) continue;
        }
        if (ending.stop_requested()) return;
        if (!latch_file_.is_in_place()) misplaced_.store(true, std::memory_order_release);
        disk_event_.wait(signals, disk_poll_period_ns);
    }
}

// ---- With `gate_lock_` held --------------------------------------------------------------------------

bool KernelProcess::write_down(const LatchRecord& record) {
    unwritten_ = !latch_file_.write(record);
    if (unwritten_) return false;
    written_ = record;
    disk_event_.signal();
    if (record.latched) kept_as_latched_ = disk_event_.signals();
    return true;
}

void KernelProcess::poll_disk(Now moment) {
    if (misplaced_.exchange(false, std::memory_order_acq_rel)) {
        kernel_.estop("kernel", "the latch file was removed, replaced or moved away", moment);
        unwritten_ = true;  // until it stands where the next kernel looks for it
    }
    const bool fails = disk_fails_.load(std::memory_order_acquire);
    if (fails && !disk_failure_told_) kernel_.estop("kernel", "the disk does not keep the latch file", moment);
    // A disk that failed has thrown away what it was given: only what is written again can be kept.
    if (fails && failed_.load(std::memory_order_acquire) == disk_event_.signals()) unwritten_ = true;
    disk_failure_told_ = fails;
}

AnswerFrame KernelProcess::refusal_of_reset(Now moment) {
    if (stop_is_unheard()) return refused("reset refused: a stop is being asked for");
    if (unwritten_ || disk_fails_.load(std::memory_order_acquire)) return refused("reset refused: the latch file cannot be written");
    for (std::size_t k = 0; k < absences_.size() && kernel_.latch().latched(); ++k) {
        if (!missing_[k]) continue;
        char text[96];
        std::snprintf(text, sizeof text, "reset refused: source `%s` is still asserted", absences_[k].c_str());
        return refused(text);
    }
    Latch tried = kernel_.latch();
    const Latch::Reset outcome = tried.reset(moment.monotonic_s);
    if (outcome.success) return {};
    // Even a reset that is refused tells the time: the cooldown of a stop before this process begins with it.
    (void)kernel_.latch().reset(moment.monotonic_s);
    return refused(outcome.message.view());
}

std::optional<AnswerFrame> KernelProcess::begin_reset(std::size_t channel, const MessageHead& head) {
    const Now moment = now();
    if (reset_.waiting) return refused("reset refused: another one is on its way to the disk");
    (void)poll_registrations(moment);
    for (const RegistrationSlot& registration : status_block_->actuators) {
        const std::string_view name = live_name(registration, monotonic_ns());
        if (!name.empty()) (void)kernel_.latch().acknowledge(name, registration.acknowledged.load(std::memory_order_acquire));
    }
    AnswerFrame answer = refusal_of_reset(moment);
    if (answer.message.empty() && !kernel_.latch().latched()) {
        answer.message.assign(kernel_.latch().reset(moment.monotonic_s).message.view());
        answer.success = 1;
    }
    if (!answer.message.empty()) {
        note_change(moment);
        return answer;
    }
    // Nothing is cleared here before the disk has kept that it is: a reset that was answered holds, and one that was not
    // may be found done by the next kernel, but never a stop undone that came after it.
    Latch cleared = kernel_.latch();
    (void)cleared.reset(moment.monotonic_s);
    if (!write_down(cleared.record())) {
        note_change(moment);
        return refused("reset refused: the latch file cannot be written");
    }
    reset_ = {true, channel, head, disk_event_.signals(), kernel_.latch().stops()};
    return std::nullopt;
}

AnswerFrame KernelProcess::end_reset() {
    const Now moment = now();
    reset_.waiting = false;
    (void)poll_registrations(moment);
    AnswerFrame answer;
    if (!is_reached(kept_.load(std::memory_order_acquire), reset_.count)) answer = refused("reset refused: the disk does not keep the latch file");
    else if (kernel_.latch().stops() != reset_.stops) answer = refused("reset refused: a stop came meanwhile");
    else answer = refusal_of_reset(moment);
    if (answer.message.empty()) {
        const Latch::Reset outcome = kernel_.latch().reset(moment.monotonic_s);
        answer.success = outcome.success ? 1 : 0;
        answer.message.assign(outcome.message.view());
    }
    note_change(moment);  // which writes the stop down again where there still is one
    return answer;
}

void KernelProcess::answer_reset_when_kept() {
    if (!reset_.waiting) return;  // which no thread but this one sets
    const bool kept = is_reached(kept_.load(std::memory_order_acquire), reset_.count);
    const bool failed = is_reached(failed_.load(std::memory_order_acquire), reset_.count);
    if (!kept && !failed) return;
    AnswerFrame said;
    {
        const std::lock_guard hold(gate_lock_);
        said = end_reset();
    }
    answer(reset_.channel, reset_.head, said);
}

}  // namespace lastgate::kernel
