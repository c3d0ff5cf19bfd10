// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace lastgate::kernel {

/// `SafetyStatus.state`.
enum class LifecycleState : std::uint8_t { unconfigured = 0, inactive = 1, active = 2, latched = 3 };

/// Text of bounded length that never allocates; what is too long is cut at a whole character.
template <std::size_t capacity>
class ShortText {
  public:
    ShortText() = default;
    ShortText(std::string_view text) noexcept { assign(text); }  // NOLINT: a text is a text
    void assign(std::string_view text) noexcept {
        size_ = text.size() < capacity ? text.size() : capacity;
        while (size_ > 0 && size_ < text.size() && (static_cast<unsigned char>(text[size_]) & 0xC0U) == 0x80U) --size_;
        for (std::size_t i = 0; i < size_; ++i) bytes_[i] = text[i];
    }
    std::string_view view() const noexcept { return {bytes_.data(), size_}; }
    bool empty() const noexcept { return size_ == 0; }

  private:
    std::array<char, capacity> bytes_{};
    std::size_t size_ = 0;
};

using SourceName = ShortText<32>;
using StopReason = ShortText<160>;

/// E-stop sources and actuators of one robot: pendants, deadmen, people, drives. Sixteen of each is a lot.
inline constexpr std::size_t sources_max = 16;
/// Every source with its name and reason, and every actuator.
inline constexpr std::size_t reset_message_bytes_max = sources_max * (32 + 160 + 40) + sources_max * (32 + 60) + 160;
/// Of a name on the status block, which ends with a zero.
inline constexpr std::size_t registration_name_bytes_max = 31;

/// The source that an envelope with `deadman_required` asks for.
inline constexpr std::string_view deadman_name = "deadman";

/// What is written down, so that a stop outlives the process.
struct LatchRecord {
    bool latched = false;
    bool held = false;  ///< The robot held something that only this process knew of.
    std::uint32_t sequence = 0;
    SourceName source;
    StopReason reason;
};

/// Remembers that an emergency stop happened until a reset is both asked for and possible: the latch of the kernel and,
/// bound, of `lastgate.SafetyLatch`. It has no clock, no file and no heap. Times are seconds of one clock; if it runs
/// backwards, time stands still for the latch, so that the cooldown only gets longer. What is not a time latches all the
/// same, and the cooldown begins with the next reset that is asked for.
class Latch {
  public:
    explicit Latch(double cooldown_s) noexcept : cooldown_s_(cooldown_s) {}

    /// Adds an actuator that must acknowledge every stop; false when there is no room.
    bool require_actuator(std::string_view name) noexcept;
    /// Goes on where a process before this one ended: the cooldown begins again with the first reset. What that one
    /// knew to be held is no longer checked, so this is a stop too.
    void restore(const LatchRecord& record) noexcept;
    /// Goes on where another latch of this kind ended, which knew these; neither is a stop of its own.
    void restore_source(std::string_view source, std::string_view reason) noexcept;
    void restore_acknowledgement(std::string_view actuator) noexcept;
    /// Notes whether the robot holds something.
    void note_held(bool held) noexcept { record_.held = held; }

    bool latched() const noexcept { return record_.latched; }
    const LatchRecord& record() const noexcept { return record_; }

    /// How many stops there were since the start, those that came while it was latched too.
    std::uint64_t stops() const noexcept { return stops_; }

    /// Latches for an event that is over at once.
    void trip(std::string_view source, std::string_view reason, double now_s) noexcept;
    /// Latches for as long as the source holds it, and beyond.
    void assert_source(std::string_view source, std::string_view reason, double now_s) noexcept;
    /// Notes that a source no longer holds the stop, and tells whether it did; the latch stays.
    bool release_source(std::string_view source) noexcept;
    bool is_asserted(std::string_view source) const noexcept;
    /// Notes that an actuator has stopped; a late answer to an earlier stop does not count.
    bool acknowledge(std::string_view actuator, std::uint32_t sequence) noexcept;

    struct Reset {
        bool success = false;
        ShortText<reset_message_bytes_max> message;
    };
    /// Clears the latch if nothing blocks it; otherwise the message names everything that does.
    Reset reset(double now_s) noexcept;

    struct Held {
        SourceName source;
        StopReason reason;
        bool asserted = false;
    };
    struct Actuator {
        SourceName name;
        bool acknowledged = false;
    };
    /// Places for sources; those that are asserted hold the stop.
    std::span<const Held> held() const noexcept { return held_; }
    /// Those that must acknowledge every stop.
    std::span<const Actuator> actuators() const noexcept { return {actuators_.data(), actuator_count_}; }

  private:

    void stop(std::string_view source, std::string_view reason, double now_s) noexcept;
    bool advance(double now_s) noexcept;

    double cooldown_s_;
    LatchRecord record_;
    std::array<Held, sources_max> held_{};
    std::array<Actuator, sources_max> actuators_{};
    std::size_t actuator_count_ = 0;
    bool too_many_held_ = false;  ///< A source that found no room: when it is released is unknown.
    double latest_s_ = 0.0;
    bool has_latest_ = false;
    double last_stop_s_ = 0.0;
    std::uint64_t stops_ = 0;
    bool has_last_stop_ = false;  ///< False while latched: the stop happened at a time this clock cannot place.
};

/// How a record lies in its file: fixed size, so that writing it needs no space on the disk, and a digest.
inline constexpr std::size_t latch_file_bytes = 256;
void encode_latch(const LatchRecord& record, std::span<std::byte, latch_file_bytes> bytes) noexcept;
/// Anything but exactly what `encode_latch` writes reads as latched, with the reason.
LatchRecord decode_latch(std::span<const std::byte> bytes) noexcept;

}  // namespace lastgate::kernel
