// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>

#include "shared_memory.hpp"

namespace lastgate::kernel {

/// What the bytes of one message are.
enum class MessageType : std::uint32_t {
    nothing = 0,
    action_chunk = 1,
    joint_state = 2,
    world_collision = 3,
    occupancy_voxels = 4,
    world_snapshot = 5,
    twist = 6,
    failure_trigger = 7,
    safety_status = 8,
    verdict = 9,
    command = 10,
    answer = 11,
    trace = 12,
    chunk_request = 13,  ///< A chunk with what ActionChunk has no room for: recovery, declared contacts.
    attached_shape = 14,
    detach = 15,
    nav_goal = 16,
    inputs = 17,
};

/// What stands beside the bytes: who wrote them, when, and which one it is.
struct MessageHead {
    std::uint64_t sequence = 0;  ///< From 1, without gaps.
    std::uint64_t origin = 0;    ///< Identity of the writer; the kernel's is new with every start.
    std::int64_t written_ns = 0; ///< Monotonic clock.
    MessageType type = MessageType::nothing;
    std::uint32_t size = 0;
};

/// Names one message of one channel.
struct MessageSource {
    MessageType type = MessageType::nothing;
    std::uint32_t channel = 0;
    std::uint64_t sequence = 0;
};

struct RingShape {
    std::uint32_t slots = 0;
    std::uint32_t slot_bytes = 0;  ///< A multiple of eight.
    std::size_t bytes() const noexcept;
};

/// A ring in shared memory: one writer that never waits, and any number of readers that cannot hinder it. A
/// reader that is too slow loses the oldest messages, and knows how many. A writer that dies in the middle of a
/// message leaves nothing that could be read.
class Ring {
  public:
    Ring() = default;
    static Ring create(const std::string& name, RingShape shape, SharedMemory::Pages pages = SharedMemory::Pages::now);
    /// Opens a ring that has exactly this shape; throws std::runtime_error otherwise.
    static Ring open(const std::string& name, RingShape shape);

    [[nodiscard]] bool claim() noexcept { return memory_.claim(); }

    /// Writes one message, if it fits, and returns its sequence number; 0 when it does not fit.
    std::uint64_t write(MessageType type, std::span<const std::byte> payload, std::uint64_t origin) noexcept;

    /// The same, if no stop was asked for beyond those that were heard; otherwise 0, and no reader ever sees the message.
    std::uint64_t write_unless_stopped(MessageType type, std::span<const std::byte> payload, std::uint64_t origin, std::uint32_t stops_heard) noexcept;
    /// From the return of this call on, `write_unless_stopped` passes nothing to a writer that has not heard of it.
    void ask_stop() noexcept;
    /// How often that was called, as far as the word has room: compare for equality only.
    std::uint32_t stops_asked() const noexcept;

    /// Copies the message after `cursor` into `into` and moves the cursor. False when there is none yet.
    /// `lost` grows by what was overwritten before it could be read; a message that does not fit is lost too.
    bool read(std::uint64_t& cursor, MessageHead& head, std::span<std::byte> into, std::uint64_t& lost) const noexcept;

    /// The newest sequence number; a reader that starts here sees only what comes after.
    std::uint64_t newest() const noexcept;
    /// Signalled with every message.
    Event& event() const noexcept;

    const RingShape& shape() const noexcept { return shape_; }

  private:
    struct Header;
    struct Slot;
    Header* header() const noexcept;
    std::uint64_t fill_next_slot(MessageType type, std::span<const std::byte> payload, std::uint64_t origin) noexcept;
    Slot* slot(std::uint64_t sequence) const noexcept;

    SharedMemory memory_;
    RingShape shape_;
};

}  // namespace lastgate::kernel
