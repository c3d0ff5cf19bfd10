// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "doors.hpp"
#include "instance.hpp"
#include "kernel.hpp"
#include "latch_file.hpp"
#include "real_time.hpp"
#include "snapshot_mailbox.hpp"
#include "world_builder.hpp"

namespace lastgate {

/// How one kernel process runs.
struct ProcessOptions {
    std::string instance;     ///< Names its shared memory; one kernel per instance.
    std::string latch_path;
    std::int64_t spin_ns = 50'000;  ///< How long to look for work before going to sleep; negative: always.
    bool start_active = true;
    int parent = -1;          ///< End when this process is no longer the one that started us; -1: whatever happens to it.
    RealTime real_time;
};

/// The process around a `Kernel`: rings in, rings out, four threads.
///
/// One thread decides. One listens for stops and nothing else: it latches, writes that down and says so while the
/// first may be in the middle of a check. One builds worlds. One waits for the disk, which may take seconds. They meet at `gate_lock_`, which is held for as long as
/// it takes to write one message, and never during a check.
class KernelProcess {
  public:
    /// Creates the shared memory. Throws std::runtime_error when another kernel has it.
    KernelProcess(KernelConfig config, KernelSettings settings, std::string model_digest, ProcessOptions options);
    ~KernelProcess();

    /// Serves until `shut_down` is called, or somebody asks through a door.
    void run();
    void shut_down() noexcept;  ///< May be called from a signal handler.

  private:
    struct Door {
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
    void warn_loudly();
    bool serve_door(std::size_t index);
    void take_states(Door& door);
    void serve_chunk(std::size_t index, const MessageHead& head, std::span<std::byte> payload);
    void serve_twist(std::size_t index, const MessageHead& head, std::span<const std::byte> payload);
    void settle(std::size_t index, const MessageHead& head, const Finding& finding, std::span<const std::byte> safe, const NamedWorld* world, Now begun);
    void write_inputs(std::size_t index, const MessageHead& head, const LookedAt& looked, const Verdict& found, std::span<const std::byte> chunk, Now begun);
    void serve_request(std::size_t index, const MessageHead& head, std::span<std::byte> payload);
    void serve_question(std::size_t index, const MessageHead& head, std::span<const std::byte> payload);
    void answer(std::size_t index, const MessageHead& head, AnswerFrame frame);
    void serve_command(std::size_t index, const MessageHead& head, std::span<const std::byte> payload);
    AnswerFrame answer_to(Command command);

    // With `gate_lock_` held.
    AnswerFrame reset();
    bool try_activate();
    bool look_at_seats(Now now);  ///< Whether somebody there asked for a stop since the last look.
    void note_change(Now now);
    void write_status(Now now);
    void report_for(const BoardSeat& seat, Now now);
    Now now() const noexcept;

    ProcessOptions options_;
    Instance instance_;  ///< Before everything that lies in memory under its name, which it removes at the end.
    LatchFile latch_file_;
    Kernel kernel_;
    std::uint64_t kernel_id_;
    BoardView board_;
    std::array<Door, doors_max> doors_;
    Ring safe_actions_;
    Ring failures_;
    Ring statuses_;
    Ring traces_;
    Ring inputs_;
    SnapshotMailbox mailbox_;
    const NamedWorld* world_ = nullptr;  ///< Of the deciding thread.

    std::mutex gate_lock_;
    std::atomic<bool> stop_asked_{false};  ///< Set before the lock is taken: from then on nothing passes.
    std::atomic<bool> ending_{false};
    std::uint32_t estop_seen_ = 0;         ///< How often the bell had rung when the latch last heard it.
    std::array<std::uint32_t, sources_max> presses_seen_{};
    std::array<bool, sources_max> held_{};
    std::array<SourceName, sources_max> held_as_{};  ///< The name that the latch knows a held seat by.
    std::vector<std::string> absences_;        ///< What it is called when a required source is gone,
    std::array<bool, sources_max> missing_{};  ///< and which are.
    std::atomic<std::uint64_t> passed_broken_{0};  ///< Under `warn_only`.
    std::int64_t warned_ns_ = 0;
    bool wants_active_ = false;            ///< Becomes active as soon as every required source is there.
    std::int64_t status_ns_ = 0;           ///< When the last status was written.
    LatchRecord written_;                  ///< What the file holds.
    Bell disk_bell_{};                     ///< Rung when that has changed.
    bool unwritten_ = false;               ///< The system would not take the record; tried again until it does.
    std::uint64_t lost_ = 0;
    std::uint64_t safe_sequence_ = 0;      ///< Of the last chunk that passed.
    std::vector<std::byte> payload_;       ///< Where chunks are copied to before anything is believed.
    std::vector<std::byte> safe_;          ///< The same bytes as they came.
    std::vector<std::byte> verdict_;
    std::vector<std::byte> input_;
};

}  // namespace lastgate
