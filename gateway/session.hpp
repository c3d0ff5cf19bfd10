// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "client.hpp"
#include "requests.hpp"

namespace lastgate::gateway {

using namespace kernel;  // whose messages it passes on

/// What the kernel publishes, for the gateway to pass on. Called on threads of the session.
struct KernelListener {
    std::function<void(std::span<const std::byte> chunk)> safe_action;
    std::function<void(std::span<const std::byte> twist)> safe_twist;
    std::function<void(std::span<const std::byte> failure)> failure;
    std::function<void(std::span<const std::byte> status)> status;
};

/// The time with one kernel, from finding it to its death: a channel, a registration in the status block, and the rings
/// that are followed.
class Session {
  public:
    /// Throws std::runtime_error when there is no kernel, no free channel, or another gateway in front of it.
    Session(const std::string& instance, KernelListener listener);
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    // From topics to the kernel. False when the kernel will not see it.
    bool submit(MessageType type, std::span<const std::byte> payload) noexcept;
    bool observe(std::span<const std::byte> joint_state) noexcept;
    bool publish_world(MessageType type, std::span<const std::byte> payload) noexcept;
    /// Waits for no message and no lock.
    void stop(std::string_view reason, FailureKind kind, std::string_view evidence) noexcept { registration_.press(reason, kind, evidence); }
    std::optional<AnswerFrame> reset();
    std::optional<AnswerFrame> check_nav_goal(const NavGoalRequest& goal);

    void beat() noexcept { registration_.beat(); }
    bool kernel_is_alive() const noexcept { return registration_.kernel_is_alive(); }
    const StatusBlock& status_block() const noexcept { return registration_.status_block(); }
    std::string_view last_drop_reason() const noexcept;
    /// Safe actions that were too old to be passed on, or overwritten before they could be.
    std::uint64_t withheld() const noexcept { return withheld_.load(std::memory_order_relaxed); }

  private:
    template <typename Handle>
    void follow(const std::string& instance, const char* ring, RingShape shape, bool from_newest, Handle handle);

    KernelListener listener_;
    Registration registration_;
    ChannelClient channel_;
    std::uint64_t kernel_id_;
    std::mutex chunks_lock_;  ///< Chunks and commands go through one ring.
    std::mutex states_lock_;
    std::mutex worlds_lock_;
    std::atomic<std::uint64_t> withheld_{0};
    std::atomic<std::uint16_t> last_drop_{0};
    std::vector<std::jthread> threads_;  ///< Last: they use the others, and end first.
};

}  // namespace lastgate::gateway
