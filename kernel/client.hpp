// SPDX-License-Identifier: Apache-2.0
// The other side of the channels: for policies, drivers, e-stop sources and gateways, in C++ or through the bindings.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "channels.hpp"
#include "evidence.hpp"

namespace lastgate::kernel {

/// A place in front of a running kernel from which chunks, states and worlds are handed in.
class ChannelClient {
  public:
    /// Takes the first free channel. Throws std::runtime_error when there is no kernel, or no free channel.
    explicit ChannelClient(const std::string& instance);

    std::uint64_t submit(MessageType type, std::span<const std::byte> payload);
    void observe(std::span<const std::byte> joint_state);
    /// Returns a number for `wait_world`.
    std::uint64_t publish_world(MessageType type, std::span<const std::byte> payload);

    struct Answer {
        VerdictFrame frame;
        std::string evidence;
    };
    /// The verdict about message `sequence`, or nothing within the time.
    std::optional<Answer> wait_verdict(std::uint64_t sequence, std::int64_t timeout_ns, std::int64_t spin_ns);
    bool wait_world(std::uint64_t sequence, std::int64_t timeout_ns);
    std::optional<AnswerFrame> command(Command command, std::int64_t timeout_ns);
    /// The answer to a `attached_shape`, a `detach` or a `nav_goal`.
    std::optional<AnswerFrame> ask(MessageType type, std::span<const std::byte> payload, std::int64_t timeout_ns);

    bool kernel_is_alive() const noexcept { return status_block_.is_alive(monotonic_ns()); }
    StatusBlock& status_block() const noexcept { return *status_block_; }
    std::size_t channel() const noexcept { return channel_; }

  private:
    template <typename Found>
    bool wait_answer(MessageType type, std::int64_t timeout_ns, std::int64_t spin_ns, Found found);
    std::uint64_t hand_in(Ring& ring, Event& event, MessageType type, std::span<const std::byte> payload);

    StatusBlockView status_block_;
    std::uint64_t owner_;
    std::size_t channel_ = 0;
    Ring chunks_;
    Ring states_;
    Ring worlds_;
    Ring verdicts_;
    std::uint64_t verdict_cursor_ = 0;
    std::vector<std::byte> answer_;
};

/// Follows one of the rings that the kernel writes for all readers.
class RingReader {
  public:
    /// Starts behind what is there already, or with the newest message when `from_newest`.
    RingReader(const std::string& instance, const std::string& ring, RingShape shape, bool from_newest);
    struct Message {
        MessageHead head;
        std::vector<std::byte> payload;
    };
    std::optional<Message> read(std::int64_t timeout_ns);
    /// Goes back to the oldest message that is still there.
    void rewind() noexcept { cursor_ = ring_.newest() - std::min<std::uint64_t>(ring_.newest(), ring_.shape().slots); }
    std::uint64_t lost() const noexcept { return lost_; }
    MessageType last_type() const noexcept { return last_type_; }  ///< Of the message that was read last.

  private:
    MessageType last_type_ = MessageType::nothing;
    Ring ring_;
    std::uint64_t cursor_ = 0;
    std::uint64_t lost_ = 0;
    std::vector<std::byte> bytes_;
};

/// Stops a kernel without a registration: the source stays unknown, and it never depends on whether a registration is
/// free.
class StopEvent {
  public:
    /// Throws std::runtime_error when there is no kernel.
    explicit StopEvent(const std::string& instance) : line_(instance) {}
    void signal() noexcept { line_.ask(); }
    bool kernel_is_alive() const noexcept { return line_.status_block().is_alive(monotonic_ns()); }
    StatusBlock& status_block() const noexcept { return *line_.status_block(); }

  private:
    StopLine line_;
};

/// A registration on the status block: for something that can stop the robot, or that drives it. A process that was
/// paused for so long that another has taken its registration can still stop; nothing else it says counts.
class Registration {
  public:
    enum class Row : std::uint8_t { source, actuator };
    /// Throws std::runtime_error when there is no kernel, all registrations are taken, or a live program has this name.
    /// `holding` is why a stop is held from the first moment: a source that looked before it registered is never seen
    /// without what it saw. Empty for none.
    Registration(const std::string& instance, Row row, const std::string& name, std::string_view holding = {});

    bool is_mine() const noexcept { return registration_->owner.load(std::memory_order_acquire) == owner_; }
    void beat() noexcept {
        if (is_mine()) registration_->heartbeat_ns.store(monotonic_ns(), std::memory_order_release);
    }
    /// Asks for a stop. It cannot be lost and does not wait. `evidence` is reported as it is, as a `FailureTrigger`.
    void press(std::string_view reason, FailureKind kind = FailureKind::human, std::string_view evidence = {}) noexcept;
    /// Holds the stop until it is released; no reset is possible meanwhile.
    void hold(std::string_view reason) noexcept;
    void release() noexcept {
        if (is_mine()) registration_->asserted.store(0, std::memory_order_release);
    }
    /// Says that the drive has stopped for this latch.
    void acknowledge(std::uint32_t latch_sequence) noexcept {
        if (is_mine()) registration_->acknowledged.store(latch_sequence, std::memory_order_release);
    }
    /// Gives the registration back; a program that ends without it counts as lost.
    void leave() noexcept;

    bool kernel_is_alive() const noexcept { return line_.status_block().is_alive(monotonic_ns()); }
    /// Latched from the moment a stop is asked for, not only when the kernel has heard it.
    LifecycleState kernel_state() const noexcept { return line_.kernel_state(); }
    StatusBlock& status_block() const noexcept { return *line_.status_block(); }

  private:
    StopLine line_;
    std::uint64_t owner_;
    RegistrationSlot* registration_ = nullptr;
};

}  // namespace lastgate::kernel
