// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config.hpp"
#include "evidence.hpp"
#include "latch.hpp"
#include "messages.hpp"
#include "nav_goal.hpp"
#include "requests.hpp"
#include "response.hpp"
#include "ring.hpp"

namespace lastgate::kernel {

struct KernelSettings {
    OnViolation on_violation = OnViolation::estop;
    OnStale on_stale = OnStale::estop;
    bool warn_only = false;       ///< Simulation and bring-up: everything is checked, and passes with a warning.
    bool without_world = false;   ///< Declared: the world is not observed.
    double reset_cooldown_s = 0.5;
    std::vector<std::string> required_sources;    ///< Must be alive before anything passes; a deadman that the envelope requires is one of them, named or not.
    std::vector<std::string> required_actuators;  ///< Must acknowledge a stop before it can be reset.
};

/// Both clocks: sources stamp by the one that people set, ages are held to by the monotonic one.
struct Now {
    double wall_s = 0.0;
    double monotonic_s = 0.0;
};

/// A world and the names in it, ready to be checked against.
struct NamedWorld {
    WorldSnapshot snapshot;
    WorldNames names;
    double arrived_s = 0.0;  ///< Monotonic.
    std::array<MessageSource, 2> sources{};  ///< What it was made of.
    std::unique_ptr<const OccupancyMap> occupancy_map;
};

/// What the last evaluation depended on beside the chunk.
struct EvaluationInputs {
    bool evaluated = false;  ///< False when the bytes were no chunk.
    StateView state;
    const NamedWorld* world = nullptr;
    double world_held_s = 0.0;
    bool recovery = false;
    std::size_t contact_count = 0;
};

/// What came of attaching or detaching.
struct AttachOutcome {
    bool success = false;
    std::uint32_t number = none;  ///< Under which verdicts speak of it.
    ShortText<240> message;
};

/// What the evaluation of a chunk gave; no decision yet.
struct Finding {
    ActionChunkMessage chunk;  ///< Views into the payload it was read from.
    Verdict verdict;
};

/// What a chunk led to. `pass` is the only thing that lets its bytes through.
struct Decision {
    bool pass = false;
    bool report = false;           ///< A `FailureTrigger` is due; `failure` holds it.
    bool latch = false;            ///< An emergency stop is due.
    bool controlled_stop = false;  ///< The driver is to stop in its own way; nothing is latched.
    Verdict verdict;
    std::string_view evidence;
    std::span<const std::byte> failure;
};

/// The kernel without its process: no thread, no clock, no file, no shared memory. What happens to it depends on
/// what it is given and on nothing else, so that a test can replay any schedule of events. Nothing here allocates
/// after construction.
class Kernel {
  public:
    /// Throws std::invalid_argument for a configuration or settings that cannot be used.
    Kernel(const KernelConfig& config, KernelSettings settings, std::string model_digest, const LatchRecord& restored);
    /// The same with a gate that was built from `config` before: its memory is the costly part.
    Kernel(KernelConfig config, std::shared_ptr<Gate> gate, KernelSettings settings, std::string model_digest, const LatchRecord& restored);

    // Lifecycle; each returns whether it is possible from where the kernel stands. None of them clears the latch.
    bool activate(std::span<const std::string_view> live_sources) noexcept;
    bool deactivate() noexcept;
    LifecycleState state() const noexcept;
    bool is_active() const noexcept { return active_; }

    /// Evaluates the bytes of one ActionChunk, which it may turn round in place. Takes as long as a check takes, and
    /// touches neither the latch nor the counters: a stop that arrives meanwhile need not wait for it.
    /// `request` is what came with it, when something did; its contacts are those of this `world`.
    Finding evaluate(std::span<std::byte> payload, const NamedWorld* world, Now now, const ChunkRequest* request = nullptr) noexcept;
    std::optional<ChunkRequest> read_request(std::span<const std::byte> payload, const NamedWorld* world) const noexcept;
    /// Of bytes that say nothing.
    static Finding not_a_chunk(std::size_t bytes) noexcept;
    /// The same for the base twist of `/cmd_vel`, as a BODY_TWIST chunk of one step.
    Finding evaluate_twist(std::span<const std::byte> payload, const NamedWorld* world, Now now) noexcept;
    /// Decides, by what was found and by how things stand now: latch, lifecycle, settings. Short.
    Decision decide(const Finding& finding, const NamedWorld* world, Now now) noexcept;
    /// Instead of what `decide` gave, when a stop was asked for before the chunk had left: latches, and drops it.
    Decision take_back(Now now) noexcept;

    /// Takes one JointState; joints of others are ignored. False when the bytes are not one.
    bool observe(std::span<const std::byte> payload, Now now) noexcept;

    /// Makes something part of the robot from the next evaluation on, or no longer: `MessageType::attached_shape`,
    /// `detach`.
    AttachOutcome attach(std::span<const std::byte> payload) noexcept;
    AttachOutcome detach(std::span<const std::byte> payload) noexcept;

    /// Whether the base may be sent somewhere, by the map of this world.
    NavAnswer nav_goal(std::span<const std::byte> payload, const NamedWorld* world, Now now) const noexcept;

    /// Once per evaluation: no client is told twice, or of the evaluation before.
    EvaluationInputs take_evaluation_inputs() noexcept { return std::exchange(evaluation_inputs_, EvaluationInputs{}); }
    std::size_t held_count() const noexcept;

    void estop(std::string_view source, std::string_view reason, Now now) noexcept { latch_.trip(source, reason, now.monotonic_s); }
    Latch& latch() noexcept { return latch_; }
    const Latch& latch() const noexcept { return latch_; }

    /// Writes the `SafetyStatus`.
    std::span<const std::byte> status(const NamedWorld* world, Now now) noexcept;

    const KernelConfig& config() const noexcept { return config_; }
    const KernelSettings& settings() const noexcept { return settings_; }
    std::uint64_t passed() const noexcept { return passed_; }
    std::uint64_t dropped() const noexcept { return dropped_; }
    const std::string& model_digest() const noexcept { return model_digest_; }

  private:
    struct Measured {
        double position = 0.0;
        double velocity = 0.0;
        double stamp_s = 0.0;
        double arrived_s = 0.0;
        bool given = false;
        bool has_velocity = false;
    };

    /// Where a chunk that passed sends a finger, and when its last step has been sent at the latest.
    struct Sent {
        double position = 0.0;
        double ends_s = 0.0;
        bool given = false;
    };

    Verdict check_chunk(const ActionChunkMessage& chunk, const NamedWorld* world, Now now, const ChunkRequest* request = nullptr) noexcept;
    std::uint32_t effector_of(const ActionChunkMessage& chunk) const noexcept;
    void note_sent(const ActionChunkMessage& chunk, Now now) noexcept;
    static bool has_arrived(const Sent& sent, const Measured& joint) noexcept;
    static double held_s(const NamedWorld& world, Now now) noexcept { return world.snapshot.is_declared_absent() ? 0.0 : now.monotonic_s - world.arrived_s; }
    const NamedWorld* world_or_none(const NamedWorld* world) const noexcept { return world == nullptr ? no_world_.get() : world; }
    StateView measured_state(Now now) noexcept;
    Decision dropped_at_stage_one(ViolationCode code) noexcept;

    KernelConfig config_;
    KernelSettings settings_;
    std::string model_digest_;
    std::shared_ptr<Gate> gate_;
    Latch latch_;
    bool active_ = false;
    std::uint64_t passed_ = 0;
    std::uint64_t dropped_ = 0;
    std::unique_ptr<NamedWorld> no_world_;  ///< Null unless the settings declare that the world is not observed.
    AttachedNames held_;
    EvaluationInputs evaluation_inputs_;

    std::vector<Measured> measured_;  ///< Per degree of freedom.
    std::vector<JointReading> readings_;
    std::vector<double> positions_;
    std::vector<double> velocities_;
    std::vector<double> stamps_s_;
    std::vector<double> gripper_;
    std::vector<Sent> sent_;  ///< Per degree of freedom.
    std::array<double, 6> twist_{};
    std::vector<char> evidence_;
    std::vector<std::byte> failure_;
    std::vector<std::byte> status_;
};

}  // namespace lastgate::kernel
