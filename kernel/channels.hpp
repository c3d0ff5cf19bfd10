// SPDX-License-Identifier: Apache-2.0
// Where the kernel and its clients meet: which rings there are, and the status block beside them.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "lastgate/capacity.hpp"
#include "lastgate/verdict.hpp"
#include "latch.hpp"
#include "ring.hpp"

namespace lastgate::kernel {

/// Programs that may propose at the same time: a policy, a teleoperator, a gateway, a tool. Each has a channel of its
/// own, so that none can hide or delay what another says.
inline constexpr std::size_t channels_max = 4;

/// The largest chunk there is (every step, every joint, as doubles) with 8 KiB of names, in whole pages.
inline constexpr std::uint32_t chunk_bytes_max = ((capacity::rows_max * capacity::dofs_max * 8 + 8192 + 4095) / 4096) * 4096;

inline constexpr RingShape chunk_ring{8, chunk_bytes_max};
inline constexpr RingShape state_ring{16, 32 * 1024};
/// Two worlds of 16 MiB: a grid of 256 voxels per edge, or 700,000 points. Pages that are never written take no memory; the kernel only reads them.
inline constexpr RingShape world_ring{2, 16 * 1024 * 1024};
inline constexpr RingShape verdict_ring{16, 8192};
inline constexpr RingShape failure_ring{64, 16 * 1024};
inline constexpr RingShape status_ring{16, 4096};
inline constexpr RingShape trace_ring{1024, 1024};
/// Five seconds of a 50 Hz stream, for a reader that sleeps: a chunk, four numbers per joint and the frame.
inline constexpr RingShape input_ring{256, chunk_bytes_max + 4096};

/// Of a kernel `NAME`, which is one's own user's, or `NAME@USER`, which is that user's.
inline std::string ring_name(std::string_view instance, std::string_view ring) {
    const std::size_t at = instance.rfind('@');
    const std::string user = at == std::string_view::npos ? "" : std::string(instance.substr(at + 1)) + "/";
    return user + "lastgate." + std::string(instance.substr(0, at)) + "." + std::string(ring);
}
inline std::string channel_ring_name(std::string_view instance, std::string_view ring, std::size_t channel) { return ring_name(instance, ring) + "." + std::to_string(channel); }

/// What a channel answers to a chunk; the evidence follows in the same message.
struct VerdictFrame {
    std::uint64_t chunk_sequence = 0;  ///< Of the message in the chunk ring.
    std::uint64_t safe_sequence = 0;   ///< Of the bytes in the ring of safe actions; 0 when they did not pass.
    std::int64_t duration_ns = 0;      ///< From taking the chunk to this answer.
    std::uint32_t latch_sequence = 0;
    std::uint32_t latched = 0;
    std::uint32_t passed = 0;
    std::uint32_t evidence_bytes = 0;
    Verdict verdict;
};

/// What telemetry learns about each chunk. Names are cut, never the numbers.
struct TraceFrame {
    std::int64_t begun_wall_ns = 0;
    std::int64_t duration_ns = 0;
    std::uint64_t chunk_sequence = 0;
    std::uint32_t channel = 0;
    std::uint32_t passed = 0;
    std::uint32_t warn_only = 0;
    std::uint32_t latched = 0;
    Verdict verdict;
    ShortText<64> trace_id;
    ShortText<128> rskill_id;
};

/// What a finding depended on beside the world, for the black box. Positions, their stamps, velocities and gripper
/// positions follow, as many as the counts say, and then the bytes of the chunk as they came.
struct InputFrame {
    std::uint64_t chunk_sequence = 0;
    std::uint32_t channel = 0;
    std::uint32_t state_given = 0;
    std::uint32_t position_count = 0;
    std::uint32_t stamp_count = 0;
    std::uint32_t velocity_count = 0;
    std::uint32_t gripper_count = 0;
    std::uint32_t recovery = 0;
    std::uint32_t contact_count = 0;
    std::uint32_t held_count = 0;
    std::uint32_t world_given = 0;
    MessageType chunk_type = MessageType::nothing;  ///< An ActionChunk or a twist.
    std::uint32_t chunk_bytes = 0;
    double stamp_s = 0.0;  ///< Of the gripper.
    double now_s = 0.0;
    double world_held_s = 0.0;
    std::uint64_t world_id = 0;
    std::array<MessageSource, 2> world;  ///< The messages the world was made of, in the order they are to be read.
    Verdict found;  ///< What the gate found. The answer may be another: that a stop is latched.
};
static_assert(sizeof(InputFrame) + 4 * 8 * capacity::dofs_max + chunk_bytes_max <= input_ring.slot_bytes);

/// What may be asked of the kernel through a channel, as a `MessageType::command`.
enum class Command : std::uint32_t { nothing = 0, reset = 1, activate = 2, deactivate = 3, shutdown = 4, status = 5 };
struct CommandFrame {
    Command command = Command::nothing;
};
struct AnswerFrame {
    std::uint64_t command_sequence = 0;
    std::uint32_t success = 0;
    std::uint32_t number = 0;  ///< Of an attached object: under which verdicts speak of it.
    ShortText<240> message;
};

/// Text on the status block: fixed room, ended by zeros; what is too long is cut at a whole character.
template <std::size_t room>
std::string_view text_of(const char (&text)[room]) noexcept {
    return {text, strnlen(text, room)};
}
template <std::size_t room>
void put_text(char (&to)[room], std::string_view text) noexcept {
    std::size_t size = std::min(text.size(), room - 1);
    while (size > 0 && size < text.size() && (static_cast<unsigned char>(text[size]) & 0xC0U) == 0x80U) --size;
    std::copy_n(text.begin(), size, to);
    std::memset(to + size, 0, room - size);
}

/// A process that can stop the robot, or that drives it. A level, not a message: it cannot be lost, however many
/// stops are asked for and whatever else is going on.
struct RegistrationSlot {
    std::atomic<std::uint64_t> owner;         ///< 0 free; else a number that the claiming process chose.
    std::atomic<std::int64_t> heartbeat_ns;   ///< Monotonic; an owner that stops beating is gone.
    std::atomic<std::uint32_t> asserted;      ///< Sources: 1 while the stop is held.
    std::atomic<std::uint32_t> acknowledged;  ///< Actuators: the latch sequence they have stopped for.
    std::atomic<std::uint32_t> named;         ///< 1 when `name` can be read.
    std::atomic<std::uint32_t> presses;       ///< Sources: grows with every stop.
    std::atomic<std::uint32_t> failure_kind;  ///< Sources: under which kind their stop is reported.
    char name[registration_name_bytes_max + 1];
    char reason[160];
    char evidence[512];  ///< Sources: the JSON that is reported; empty for none.
};

/// The small things that must never wait behind a message. Everything is atomic or written once.
struct StatusBlock {
    static constexpr std::uint32_t magic_value = 0x6C674264U;
    static constexpr std::uint32_t version_value = 5;
    std::uint32_t magic;
    std::uint32_t version;
    std::uint64_t kernel_id;
    char robot[64];
    char model_digest[72];
    std::uint32_t n_dof;
    std::uint32_t warn_only;                   ///< 1 where chunks that break a rule pass.
    std::atomic<std::int64_t> heartbeat_ns;    ///< Of the kernel.
    std::atomic<std::uint32_t> state;          ///< `LifecycleState`.
    std::atomic<std::uint32_t> latch_sequence;
    std::atomic<std::uint32_t> stops_heard;    ///< Of those asked for at the ring of safe actions: `state` knows of these.
    std::atomic<std::uint32_t> latch_kept;     ///< 1 when the stop that is latched would be found after a power cut.
    std::atomic<std::uint64_t> stopped_at;     ///< Up to this safe action drivers move no more: a controlled stop came after it.
    alignas(64) Event work_event;    ///< Signalled by the client that put a chunk, a state or a question into a ring of a channel.
    alignas(64) Event builder_event;  ///< Signalled by the client that put a world into one: the world builder need not wake for chunks.
    alignas(64) Event estop_event;  ///< Wakes the thread that listens for stops. They are asked for with `StopLine`; the registrations say why.
    alignas(64) Event world_event;  ///< Signalled when a world has become the one that is checked against.
    std::array<std::atomic<std::uint64_t>, channels_max> worlds_taken;  ///< Per channel: up to which message.
    alignas(64) std::array<RegistrationSlot, sources_max> sources;
    std::array<RegistrationSlot, sources_max> actuators;
};

/// A kernel that has not beaten for this long is gone: fifteen of its periods, and below the 0.2 s after which a
/// driver without a new chunk stops anyway.
inline constexpr std::int64_t heartbeat_period_ns = 10'000'000;
inline constexpr std::int64_t heartbeat_age_ns_max = 150'000'000;
/// A source or driver may be a Python program on a busy machine and beats every 50 ms; ten of those.
inline constexpr std::int64_t registration_age_ns_max = 500'000'000;

/// The status block of a running kernel.
class StatusBlockView {
  public:
    static StatusBlockView create(std::string_view instance);
    static StatusBlockView open(std::string_view instance);
    StatusBlock* operator->() const noexcept { return reinterpret_cast<StatusBlock*>(memory_.bytes().data()); }
    StatusBlock& operator*() const noexcept { return *reinterpret_cast<StatusBlock*>(memory_.bytes().data()); }
    [[nodiscard]] bool claim() noexcept { return memory_.claim(); }

    bool is_alive(std::int64_t now_ns) const noexcept;

  private:
    SharedMemory memory_;
};

/// Where stops are asked for, and how the kernel stands for a listener that must not miss any.
class StopLine {
  public:
    /// Throws std::runtime_error when there is no kernel.
    explicit StopLine(const std::string& instance) : status_block_(StatusBlockView::open(instance)), safe_actions_(Ring::open(ring_name(instance, "safe_actions"), chunk_ring)) {}
    /// From its return on no chunk passes, whatever the threads of the kernel are doing, until the stop was latched and reset.
    void ask() noexcept {
        safe_actions_.ask_stop();
        status_block_->estop_event.signal();
    }
    /// As the status block says, and latched while a stop was asked for that the kernel has yet to hear.
    LifecycleState kernel_state() const noexcept;
    const StatusBlockView& status_block() const noexcept { return status_block_; }

  private:
    StatusBlockView status_block_;
    Ring safe_actions_;
};

/// Takes a free registration, or one whose owner is gone: of this name, or of another that held nothing. Null when all
/// are taken, or a live program has this name. `holding` is the reason of a stop that is held from the first moment;
/// empty for none.
RegistrationSlot* register_as(std::array<RegistrationSlot, sources_max>& registrations, std::string_view name, std::uint64_t owner, std::int64_t now_ns, std::string_view holding = {}) noexcept;
/// The name on a registration that a live program holds; empty otherwise.
std::string_view live_name(const RegistrationSlot& registration, std::int64_t now_ns) noexcept;

}  // namespace lastgate::kernel
