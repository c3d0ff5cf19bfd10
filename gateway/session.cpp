// SPDX-License-Identifier: Apache-2.0
#include "session.hpp"

#include <cstdio>
#include <cstring>

namespace lastgate::gateway {
namespace {

constexpr const char* registration_name = "gateway";
/// A registration of one that died is free after `registration_age_ns_max`; twice that.
constexpr std::int64_t registration_wait_ns = 2 * registration_age_ns_max;
constexpr std::int64_t answer_timeout_ns = 500'000'000;
/// How long a thread sleeps before it looks whether it should end.
constexpr std::int64_t poll_ns = 50'000'000;
/// A chunk that has waited this long in the ring is not motion for now any more: half of the 0.2 s after which a driver
/// without a new one stops.
constexpr std::int64_t safe_action_age_ns_max = 100'000'000;

Registration register_when_free(const std::string& instance) {
    const std::int64_t begun_ns = monotonic_ns();
    while (true) {
        try {
            return Registration(instance, Registration::Row::source, registration_name);
        } catch (const std::runtime_error&) {
            if (monotonic_ns() - begun_ns > registration_wait_ns) throw;
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
    }
}

}  // namespace

Session::Session(const std::string& instance, KernelListener listener)
    : listener_(std::move(listener)), registration_(register_when_free(instance)), channel_(instance), kernel_id_(channel_.status_block().kernel_id) {
    follow(instance, "safe_actions", chunk_ring, false, [this](const MessageHead& head, std::span<const std::byte> payload) {
        if (monotonic_ns() - head.written_ns > safe_action_age_ns_max) {
            withheld_.fetch_add(1, std::memory_order_relaxed);
            return;
        }
        if (head.type == MessageType::action_chunk) listener_.safe_action(payload);
        else if (head.type == MessageType::twist) listener_.safe_twist(payload);
    });
    follow(instance, "failures", failure_ring, false, [this](const MessageHead&, std::span<const std::byte> payload) { listener_.failure(payload); });
    follow(instance, "statuses", status_ring, true, [this](const MessageHead&, std::span<const std::byte> payload) { listener_.status(payload); });
    follow(instance, "traces", trace_ring, false, [this](const MessageHead&, std::span<const std::byte> payload) {
        TraceFrame frame;
        if (payload.size() != sizeof frame) return;
        std::memcpy(&frame, payload.data(), sizeof frame);
        if (frame.passed == 0) last_drop_.store(static_cast<std::uint16_t>(frame.verdict.violation.code), std::memory_order_relaxed);
    });
}

Session::~Session() { registration_.leave(); }

template <typename Handle>
void Session::follow(const std::string& instance, const char* ring, RingShape shape, bool from_newest, Handle handle) {
    // Opened here, so that a ring that cannot be is an error and nothing between now and the first poll is missed.
    threads_.emplace_back([this, reader = RingReader(instance, ring, shape, from_newest), handle](std::stop_token ending) mutable {
        while (!ending.stop_requested()) {
            const auto message = reader.read(poll_ns);
            // Of this kernel, not of one before it.
            if (message && message->head.origin == kernel_id_) handle(message->head, message->payload);
        }
    });
}

bool Session::submit(MessageType type, std::span<const std::byte> payload) noexcept try {
    const std::lock_guard hold(chunks_lock_);
    return channel_.submit(type, payload) != 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "lastgate-gateway: warning: %s\n", error.what());
    return false;
}

bool Session::observe(std::span<const std::byte> joint_state) noexcept try {
    const std::lock_guard hold(states_lock_);
    channel_.observe(joint_state);
    return true;
} catch (const std::exception& error) {
    std::fprintf(stderr, "lastgate-gateway: warning: %s\n", error.what());
    return false;
}

bool Session::publish_world(MessageType type, std::span<const std::byte> payload) noexcept try {
    const std::lock_guard hold(worlds_lock_);
    return channel_.publish_world(type, payload) != 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "lastgate-gateway: warning: %s\n", error.what());
    return false;
}

std::optional<AnswerFrame> Session::reset() {
    // Chunks wait meanwhile. That costs a client in need of a reset nothing: a latched kernel rejects them.
    const std::lock_guard hold(chunks_lock_);
    return channel_.command(Command::reset, answer_timeout_ns);
}

std::optional<AnswerFrame> Session::check_nav_goal(const NavGoalRequest& goal) {
    std::vector<std::byte> memory(goal.frame_id.size() + 128);
    const std::lock_guard hold(chunks_lock_);
    return channel_.ask(MessageType::nav_goal, write_nav_goal(goal, memory), answer_timeout_ns);
}

std::string_view Session::last_drop_reason() const noexcept {
    const auto code = static_cast<ViolationCode>(last_drop_.load(std::memory_order_relaxed));
    return code == ViolationCode::not_checked ? std::string_view() : entry_of(code).controller_state();
}

}  // namespace lastgate::gateway
