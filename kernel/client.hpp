// SPDX-License-Identifier: Apache-2.0
// The other side of the doors: for policies, drivers, e-stop sources and gateways, in C++ or through the bindings.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doors.hpp"
#include "evidence.hpp"

namespace lastgate {

/// A place in front of a running kernel from which chunks, states and worlds are handed in.
class DoorClient {
  public:
    /// Takes the first free door. Throws std::runtime_error when there is no kernel, or no free door.
    explicit DoorClient(const std::string& instance);

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
    /// The answer to a `held_shape`, a `let_go` or a `nav_goal`.
    std::optional<AnswerFrame> ask(MessageType type, std::span<const std::byte> payload, std::int64_t timeout_ns);

    bool kernel_is_alive() const noexcept { return board_.is_alive(monotonic_ns()); }
    Board& board() const noexcept { return *board_; }
    std::size_t door() const noexcept { return door_; }

  private:
    template <typename Found>
    bool wait_answer(MessageType type, std::int64_t timeout_ns, std::int64_t spin_ns, Found found);
    std::uint64_t hand_in(Ring& ring, Bell& bell, MessageType type, std::span<const std::byte> payload);

    BoardView board_;
    std::uint64_t owner_;
    std::size_t door_ = 0;
    Ring chunks_;
    Ring states_;
    Ring worlds_;
    Ring verdicts_;
    std::uint64_t verdict_cursor_ = 0;
    std::vector<std::byte> answer_;
};

/// Follows one of the rings that the kernel writes for everybody.
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

/// Stops a kernel without a seat: nobody learns who it was, and it never depends on whether a seat is free.
class StopBell {
  public:
    /// Throws std::runtime_error when there is no kernel.
    explicit StopBell(const std::string& instance) : board_(BoardView::open(instance)) {}
    void ring() noexcept { board_->estop_bell.ring(); }
    bool kernel_is_alive() const noexcept { return board_.is_alive(monotonic_ns()); }
    Board& board() const noexcept { return *board_; }

  private:
    BoardView board_;
};

/// A seat on the board: for something that can stop the robot, or that drives it. A process that was paused for so long
/// that another has taken its seat can still stop; nothing else it says counts.
class Seat {
  public:
    enum class Row : std::uint8_t { source, actuator };
    /// Throws std::runtime_error when there is no kernel, all seats are taken, or somebody alive has this name.
    /// `holding` is why a stop is held from the first moment: a source that looked before it sat down is never seen without
    /// what it saw. Empty for none.
    Seat(const std::string& instance, Row row, const std::string& name, std::string_view holding = {});

    bool is_mine() const noexcept { return seat_->owner.load(std::memory_order_acquire) == owner_; }
    void beat() noexcept {
        if (is_mine()) seat_->heartbeat_ns.store(monotonic_ns(), std::memory_order_release);
    }
    /// Asks for a stop. It cannot be lost and does not wait. `evidence` is reported as it is, as a `FailureTrigger`.
    void press(std::string_view reason, FailureKind kind = FailureKind::human, std::string_view evidence = {}) noexcept;
    /// Holds the stop until it is released; no reset is possible meanwhile.
    void hold(std::string_view reason) noexcept;
    void release() noexcept {
        if (is_mine()) seat_->asserted.store(0, std::memory_order_release);
    }
    /// Says that the drive has stopped for this latch.
    void acknowledge(std::uint32_t latch_sequence) noexcept {
        if (is_mine()) seat_->acknowledged.store(latch_sequence, std::memory_order_release);
    }
    /// Gives the seat back; whoever is gone without that is missed.
    void leave() noexcept;

    bool kernel_is_alive() const noexcept { return board_.is_alive(monotonic_ns()); }
    Board& board() const noexcept { return *board_; }

  private:
    BoardView board_;
    std::uint64_t owner_;
    BoardSeat* seat_ = nullptr;
};

}  // namespace lastgate
