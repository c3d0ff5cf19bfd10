// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "channels.hpp"
#include "instance.hpp"
#include "kernel.hpp"
#include "latch_file.hpp"
#include "real_time.hpp"
#include "snapshot_mailbox.hpp"
#include "world_builder.hpp"

namespace lastgate::kernel {

/// How one kernel process runs.
struct ProcessOptions {
    std::string instance;     ///< Names its shared memory; one kernel per instance.
    std::string latch_path;
    std::int64_t spin_ns = 50'000;  ///< How long to look for work before going to sleep; negative: always.
    bool start_active = true;
    int parent = -1;          ///< End when this process is no longer the one that started us; -1: whatever happens to it.
    RealTime real_time;
};

/// Of two counts that begin again after 2^32: whether the first has come as far as the second.
inline bool is_reached(std::uint32_t count, std::uint32_t goal) noexcept { return static_cast<std::int32_t>(count - goal) >= 0; }

/// The process around a `Kernel`: rings in, rings out, four threads.
///
/// One thread decides. One listens for stops and nothing else: it latches, writes that down and says so while the
/// first may be in the middle of a check. One builds worlds. One waits for the disk, which may take seconds. They meet at `gate_lock_`, which is held for as long as
/// it takes to write one message, and never during a check.
class KernelProcess {
  public:
    /// Creates the shared memory. Throws std::runtime_error when another kernel has it.
    KernelProcess(const KernelConfig& config, KernelSettings settings, std::string model_digest, ProcessOptions options);
    ~KernelProcess();

    /// Serves until `shut_down` is called, or a client asks through a channel.
    void run();
    void shut_down() noexcept;  ///< May be called from a signal handler.

  private:
    struct Channel {
        Ring chunks;
        Ring states;
        Ring worlds;
        Ring verdicts;
        std::uint64_t chunk_cursor = 0;
        std::uint64_t state_cursor = 0;
        std::uint64_t world_cursor = 0;
    };

    void listen_for_stops();
    void wait_for_disk(const std::stop_token& ending);
    void build_worlds();
    void show_latched() noexcept;
    void warn_loudly();
    bool serve_channel(std::size_t index);
    void take_states(Channel& channel);
    void serve_chunk(std::size_t index, const MessageHead& head, std::span<std::byte> payload);
    void serve_twist(std::size_t index, const MessageHead& head, std::span<const std::byte> payload);
    void settle(std::size_t index, const MessageHead& head, const Finding& finding, std::span<const std::byte> safe, const NamedWorld* world, Now begun);
    void write_inputs(std::size_t index, const MessageHead& head, const EvaluationInputs& inputs, const Verdict& found, std::span<const std::byte> chunk, Now begun);
    void serve_request(std::size_t index, const MessageHead& head, std::span<std::byte> payload);
    void serve_question(std::size_t index, const MessageHead& head, std::span<const std::byte> payload);
    void answer(std::size_t index, const MessageHead& head, AnswerFrame frame);
    void serve_command(std::size_t index, const MessageHead& head, std::span<const std::byte> payload);
    AnswerFrame answer_to(Command command);
    void answer_reset_when_kept();

    // With `gate_lock_` held.
    bool stop_is_unheard() const noexcept { return safe_actions_.stops_asked() != stops_heard_; }
    std::optional<AnswerFrame> begin_reset(std::size_t channel, const MessageHead& head);  ///< Nothing while the disk is waited for.
    AnswerFrame end_reset();
    AnswerFrame refusal_of_reset(Now now);
    void poll_disk(Now now);
    bool write_down(const LatchRecord& record);
    bool try_activate();
    bool poll_registrations(Now now);  ///< Whether a program there asked for a stop since the last poll.
    void note_change(Now now);
    void write_status(Now now);
    void report_for(const RegistrationSlot& registration, Now now);  ///< In the words of the program that asked.
    void report_absence(std::string_view source, Now now);
    void report_stop(std::uint32_t kind, std::string_view evidence, Now now);
    Now now() const noexcept;

    ProcessOptions options_;
    Instance instance_;  ///< Before everything that lies in memory under its name, which it removes at the end.
    LatchFile latch_file_;
    Kernel kernel_;
    std::uint64_t kernel_id_;
    StatusBlockView status_block_;
    std::array<Channel, channels_max> channels_;
    Ring safe_actions_;
    Ring failures_;
    Ring statuses_;
    Ring traces_;
    Ring inputs_;
    SnapshotMailbox mailbox_;
    const NamedWorld* world_ = nullptr;  ///< Of the deciding thread.

    std::mutex gate_lock_;
    std::atomic<bool> ending_{false};
    std::uint32_t stops_heard_ = 0;        ///< Of those asked for: the latch knows of these. With `gate_lock_` held.
    std::array<std::uint32_t, sources_max> presses_seen_{};
    std::array<bool, sources_max> held_{};
    std::array<SourceName, sources_max> held_as_{};  ///< The name that the latch knows a held registration by.
    std::vector<std::string> absences_;        ///< What it is called when a required source is gone,
    std::array<bool, sources_max> missing_{};  ///< and which are.
    std::atomic<std::uint64_t> passed_broken_{0};  ///< Under `warn_only`.
    std::int64_t warned_ns_ = 0;
    bool wants_active_ = false;            ///< Becomes active as soon as every required source is there.
    std::int64_t status_ns_ = 0;           ///< When the last status was written.
    LatchRecord written_;                  ///< What the file holds.
    Event disk_event_{};                     ///< Signalled when that has changed. Its count names what was written up to then.
    std::atomic<std::uint32_t> kept_{0};   ///< Up to which count the disk has kept it,
    std::atomic<std::uint32_t> failed_{0}; ///< and up to which it was last found that it has not.
    std::atomic<bool> disk_fails_{false};  ///< It does not keep what it is given.
    std::atomic<bool> misplaced_{false};   ///< The file was removed, replaced or moved away.
    bool disk_failure_told_ = false;
    std::uint32_t kept_as_latched_ = 0;    ///< The count under which the latest stop was written down.
    struct PendingReset {
        bool waiting = false;
        std::size_t channel = 0;
        MessageHead head;
        std::uint32_t count = 0;   ///< Of the record without the latch.
        std::uint64_t stops = 0;   ///< Of the latch, when it was written.
    };
    PendingReset reset_;                   ///< Written down, and not yet in force.
    bool unwritten_ = false;               ///< The system would not take the record; tried again until it does.
    std::uint64_t lost_ = 0;
    std::uint64_t safe_sequence_ = 0;      ///< Of the last chunk that passed.
    std::vector<std::byte> payload_;       ///< Where chunks are copied to before anything is believed.
    std::vector<std::byte> safe_;          ///< The same bytes as they came.
    std::vector<std::byte> verdict_;
    std::vector<std::byte> input_;
};

}  // namespace lastgate::kernel
