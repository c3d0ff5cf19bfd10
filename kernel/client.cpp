// SPDX-License-Identifier: Apache-2.0
#include "client.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace lastgate::kernel {
namespace {

std::uint64_t owner_number() noexcept { return (static_cast<std::uint64_t>(monotonic_ns()) << 20U) ^ static_cast<std::uint64_t>(getpid()) ^ 1U; }

}  // namespace

ChannelClient::ChannelClient(const std::string& instance) : status_block_(StatusBlockView::open(instance)), owner_(owner_number()), answer_(verdict_ring.slot_bytes) {
    for (channel_ = 0; channel_ < channels_max; ++channel_) {
        chunks_ = Ring::open(channel_ring_name(instance, "chunks", channel_), chunk_ring);
        if (chunks_.claim()) break;
    }
    if (channel_ == channels_max) throw std::runtime_error("all channels of the kernel `" + instance + "` are taken");
    states_ = Ring::open(channel_ring_name(instance, "states", channel_), state_ring);
    worlds_ = Ring::open(channel_ring_name(instance, "worlds", channel_), world_ring);
    verdicts_ = Ring::open(channel_ring_name(instance, "verdicts", channel_), verdict_ring);
    verdict_cursor_ = verdicts_.newest();
}

std::uint64_t ChannelClient::hand_in(Ring& ring, Event& event, MessageType type, std::span<const std::byte> payload) {
    const std::uint64_t sequence = ring.write(type, payload, owner_);
    if (sequence == 0) throw std::invalid_argument("a message of " + std::to_string(payload.size()) + " bytes does not fit into a slot of " + std::to_string(ring.shape().slot_bytes));
    event.signal();
    return sequence;
}

std::uint64_t ChannelClient::submit(MessageType type, std::span<const std::byte> payload) { return hand_in(chunks_, status_block_->work_event, type, payload); }

void ChannelClient::observe(std::span<const std::byte> joint_state) { (void)hand_in(states_, status_block_->work_event, MessageType::joint_state, joint_state); }

std::uint64_t ChannelClient::publish_world(MessageType type, std::span<const std::byte> payload) { return hand_in(worlds_, status_block_->builder_event, type, payload); }

template <typename Found>
bool ChannelClient::wait_answer(MessageType type, std::int64_t timeout_ns, std::int64_t spin_ns, Found found) {
    const std::int64_t begun_ns = monotonic_ns();
    while (true) {
        const std::uint32_t seen = verdicts_.event().signals();
        MessageHead head;
        std::uint64_t lost = 0;
        while (verdicts_.read(verdict_cursor_, head, answer_, lost)) {
            if (head.type == type && found(head)) return true;
        }
        const std::int64_t waited_ns = monotonic_ns() - begun_ns;
        if (waited_ns >= timeout_ns) return false;
        if (spin_ns >= 0 && waited_ns >= spin_ns) verdicts_.event().wait(seen, std::min(timeout_ns - waited_ns, heartbeat_period_ns));
        else rest_while_spinning();
    }
}

std::optional<ChannelClient::Answer> ChannelClient::wait_verdict(std::uint64_t sequence, std::int64_t timeout_ns, std::int64_t spin_ns) {
    Answer answer;
    const bool found = wait_answer(MessageType::verdict, timeout_ns, spin_ns, [&](const MessageHead& head) {
        if (head.size < sizeof answer.frame) return false;
        std::memcpy(&answer.frame, answer_.data(), sizeof answer.frame);
        const std::size_t evidence = std::min<std::size_t>(answer.frame.evidence_bytes, head.size - sizeof answer.frame);
        answer.evidence.assign(reinterpret_cast<const char*>(answer_.data()) + sizeof answer.frame, evidence);
        return answer.frame.chunk_sequence == sequence;
    });
    if (!found) return std::nullopt;
    return answer;
}

bool ChannelClient::wait_world(std::uint64_t sequence, std::int64_t timeout_ns) {
    const std::int64_t begun_ns = monotonic_ns();
    while (true) {
        const std::uint32_t seen = status_block_->world_event.signals();
        if (status_block_->worlds_taken[channel_].load(std::memory_order_acquire) >= sequence) return true;
        const std::int64_t left_ns = timeout_ns - (monotonic_ns() - begun_ns);
        if (left_ns <= 0) return false;
        status_block_->world_event.wait(seen, std::min(left_ns, heartbeat_period_ns));
    }
}

std::optional<AnswerFrame> ChannelClient::command(Command command, std::int64_t timeout_ns) {
    const CommandFrame frame{command};
    return ask(MessageType::command, {reinterpret_cast<const std::byte*>(&frame), sizeof frame}, timeout_ns);
}

std::optional<AnswerFrame> ChannelClient::ask(MessageType type, std::span<const std::byte> payload, std::int64_t timeout_ns) {
    const std::uint64_t sequence = hand_in(chunks_, status_block_->work_event, type, payload);
    AnswerFrame answer;
    const bool found = wait_answer(MessageType::answer, timeout_ns, 0, [&](const MessageHead& head) {
        if (head.size != sizeof answer) return false;
        std::memcpy(&answer, answer_.data(), sizeof answer);
        return answer.command_sequence == sequence;
    });
    if (!found) return std::nullopt;
    return answer;
}

RingReader::RingReader(const std::string& instance, const std::string& ring, RingShape shape, bool from_newest) : ring_(Ring::open(ring_name(instance, ring), shape)), bytes_(shape.slot_bytes) {
    cursor_ = ring_.newest();
    if (from_newest && cursor_ > 0) --cursor_;
}

std::optional<RingReader::Message> RingReader::read(std::int64_t timeout_ns) {
    const std::int64_t begun_ns = monotonic_ns();
    while (true) {
        const std::uint32_t seen = ring_.event().signals();
        MessageHead head;
        if (ring_.read(cursor_, head, bytes_, lost_)) {
            last_type_ = head.type;
            return Message{head, {bytes_.begin(), bytes_.begin() + head.size}};
        }
        const std::int64_t left_ns = timeout_ns - (monotonic_ns() - begun_ns);
        if (left_ns <= 0) return std::nullopt;
        ring_.event().wait(seen, left_ns);
    }
}

Registration::Registration(const std::string& instance, Row row, const std::string& name, std::string_view holding) : line_(instance), owner_(owner_number()) {
    auto& registrations = row == Row::source ? status_block().sources : status_block().actuators;
    if (name.empty() || name.size() > registration_name_bytes_max) throw std::invalid_argument("a registration needs a name of 1 to 31 bytes");
    registration_ = register_as(registrations, name, owner_, monotonic_ns(), holding);
    if (registration_ == nullptr) throw std::runtime_error("no registration for `" + name + "` in the status block of `" + instance + "`: the name is in use, or all registrations are taken");
    if (!holding.empty()) line_.ask();
}

void Registration::press(std::string_view reason, FailureKind kind, std::string_view evidence) noexcept {
    beat();
    if (is_mine()) {
        // Evidence that was cut could not be read; the reason stands in the status.
        constexpr std::string_view too_long = R"({"kind":"human","actor":"a person","reason":"longer than a report has room for"})";
        if (evidence.size() >= sizeof registration_->evidence) evidence = kind == FailureKind::human ? too_long : std::string_view();
        put_text(registration_->reason, reason);
        put_text(registration_->evidence, evidence);
        registration_->failure_kind.store(static_cast<std::uint32_t>(kind), std::memory_order_relaxed);
        registration_->presses.fetch_add(1, std::memory_order_release);
    }
    line_.ask();
}

void Registration::hold(std::string_view reason) noexcept {
    if (is_mine()) {
        put_text(registration_->reason, reason);
        registration_->asserted.store(1, std::memory_order_release);
    }
    // After it: a reader must not see that this source lives, and not yet what it holds.
    beat();
    line_.ask();
}

void Registration::leave() noexcept {
    if (!is_mine()) return;
    release();
    registration_->named.store(0, std::memory_order_release);
    registration_->owner.store(0, std::memory_order_release);
}

}  // namespace lastgate::kernel
