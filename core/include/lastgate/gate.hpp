// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitset>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "lastgate/gate_config.hpp"
#include "lastgate/robot_model.hpp"
#include "lastgate/verdict.hpp"
#include "lastgate/world_snapshot.hpp"

namespace lastgate {

/// In which axes Cartesian rows are written.
enum class CartesianFrame : std::uint8_t { unknown = 0, base = 1, tool = 2 };

/// A chunk as it came: nothing about it has been believed yet.
struct ChunkView {
    std::size_t control_mode = control_mode_count;  ///< Any number; the gate evaluates it.
    std::size_t row_count = 0;
    std::size_t width = 0;  ///< Numbers per row as the chunk declares.
    std::span<const double> flat;
    std::uint32_t effector = none;
    CartesianFrame frame = CartesianFrame::unknown;
};

/// The measured state as it came. Empty spans mean "not given".
struct StateView {
    std::span<const double> positions;          ///< One per joint of a joint row.
    std::span<const double> velocities;         ///< The same, or empty.
    std::span<const double> gripper_positions;  ///< One per joint that rows do not command, or empty.
    std::span<const double> stamps_s;           ///< One per position when joints arrive separately, or empty.
    double stamp_s = 0.0;
    bool given = false;
};

/// Contact that the caller declares: inside the region and until it expires, the named pairs may touch, and overlap as deep as declared, instead
/// of keeping the margin. It widens nothing else, and zones never.
struct DeclaredContact {
    std::bitset<capacity::links_max> links;           ///< Whose own volumes may touch.
    std::bitset<capacity::attached_max> held;         ///< Which attached objects may, by attachment id.
    std::bitset<capacity::primitives_max> obstacles;  ///< What they may touch: primitives of the snapshot,
    std::bitset<field_slots> fields;                  ///< or whatever a field shows.
    PrimitiveSpec region;                             ///< A box; the touching volume, or its hulls, must lie inside it, whole.
    double expires_s = 0.0;
    double depth_m = 0.0;  ///< How deep they may overlap: the shortest way that parts them.
};

/// What moves the robot while a chunk is checked that is to replace it: steps of joint positions, as far apart as the gate's.
struct RunningMotion {
    std::span<const double> rows;   ///< Row after row; the first is reached one step after the start.
    std::span<const double> start;  ///< Where it was commanded from, one per column, or empty where that is not known.
    std::size_t row_count = 0;
    double started_s = 0.0;
    double handover_s = 0.0;  ///< How long after `now_s` the chunk takes over.
    bool given = false;
};

struct CheckRequest {
    ChunkView chunk;
    StateView state;
    RunningMotion running;
    const WorldSnapshot* world = nullptr;
    double now_s = 0.0;
    double world_held_s = 0.0;  ///< How long the caller has had the world, by the monotonic clock; its stamp may say less.
    std::span<const DeclaredContact> contacts;
    bool recovery = false;  ///< The caller asks for the retreat rule: start inside a margin, only grow.
};

/// A pair that the measured state of the last check held inside its margin, as the retreat rule found it.
struct StartPair {
    std::uint32_t kind = none;  ///< 0 two volumes, 1 a volume and a primitive, 2 a volume and a field.
    std::uint32_t a = none;
    std::uint32_t b = none;
    double distance_m = 0.0;  ///< Of the volumes; negative when they overlap.
    double hulls_m = 0.0;     ///< Of the convex hulls, or minus infinity where that cannot be told.
};

namespace detail {
struct GateState;
class ShapeSet;
}  // namespace detail

/// Decides about chunks for one robot. Allocates when it is built and never again; belongs to one
/// thread. Every function after construction is noexcept, and bounded by the capacities.
class Gate {
  public:
    /// Throws std::invalid_argument that says which number cannot be used.
    Gate(std::shared_ptr<const RobotModel> model, GateConfig config);
    // Its tables point into its own memory, which moves with it and cannot be shared. What was moved from may only be destroyed or assigned to.
    Gate(const Gate&) = delete;
    Gate& operator=(const Gate&) = delete;
    Gate(Gate&&) noexcept;
    Gate& operator=(Gate&&) noexcept;
    ~Gate();

    /// Accepts the chunk whole or rejects it whole, and says why. Never edits it.
    [[nodiscard]] Verdict check(const CheckRequest& request) noexcept;

    /// Checks single configurations (`count` rows of joint-row width): limits, self, world. No motion.
    /// `clearance_m` gets the smallest distance minus margin, never above the truth, and is exact
    /// below zero's first contact; an out-of-limit configuration gets -infinity.
    void check_configurations(std::span<const double> configurations, std::size_t count,
                              std::span<const double> gripper_positions, const WorldSnapshot& world,
                              std::span<std::uint8_t> accepted, std::span<double> clearance_m) noexcept;

    /// Why `check_configurations` rejects a configuration: a joint outside its limits, or the first pair that is not certified, in the order of the
    /// stages. The code `not_checked` where it accepts.
    [[nodiscard]] Violation explain_configuration(std::span<const double> configuration, std::span<const double> gripper_positions,
                                                  const WorldSnapshot& world) noexcept;

    /// Straight joint motions (`count` starts and ends of joint-row width), for planners: of each the share of the
    /// way up to which it is certified clear of everything, never beyond the first contact, and infinity when all of it
    /// is. Margins count; limits, speeds and stamps are not checked. Positions must lie inside the limits.
    /// A motion is first checked every `step_max` of its widest joint.
    void check_edges(std::span<const double> starts, std::span<const double> ends, std::size_t count, std::span<const double> gripper_positions,
                     const WorldSnapshot& world, double step_max, std::span<double> first_contact) noexcept;

    /// Makes something held part of the robot; false, and nothing changed, when it cannot be.
    [[nodiscard]] bool attach(const Attachment& attachment) noexcept;
    [[nodiscard]] bool detach(std::uint16_t id) noexcept;

    const RobotModel& model() const noexcept;
    const GateConfig& config() const noexcept;
    const detail::ShapeSet& shapes() const noexcept;

    /// The joint rows behind the last check, measured state first; Cartesian modes are resolved here. After what is executed come the
    /// rows that only a stop along the path may need.
    std::span<const double> path() const noexcept;
    /// How many rows of that path, the measured state apart, are executed, and how many of these belong to the motion that runs already.
    std::size_t motion_rows() const noexcept;
    std::size_t lead_rows() const noexcept;
    /// The longest stop that the last check certified, from the moment it is asked for until the robot rests.
    double stop_time_s() const noexcept;
    /// How far each joint of a row still travels at most, from any moment at which a stop is asked for.
    void stop_distance(std::span<double> per_column) const noexcept;
    /// By how much each variable of that path may be off: half the range of a gripper that was not measured.
    std::span<const double> uncertainty() const noexcept;
    const WorldSnapshot& no_go_zones() const noexcept;
    /// Writes the pairs that the last check found inside their margins at the measured state, and returns how many; none
    /// unless that check asked for the retreat rule. What does not fit is left out: proposals read it, no check does.
    std::size_t start_pairs(std::span<StartPair> out) const noexcept;

    /// For what works in the memory of a gate.
    detail::GateState& memory() noexcept { return *state_; }
    const detail::GateState& memory() const noexcept { return *state_; }

  private:
    std::unique_ptr<detail::GateState> state_;  ///< What it was built with, and its working memory.
};

/// One step of a stream, as it came.
struct StreamStep {
    std::span<const double> row;
    const WorldSnapshot* world = nullptr;
    std::span<const double> gripper_positions;  ///< Measured; one per joint that rows do not command, or empty.
    double state_stamp_s = std::numeric_limits<double>::quiet_NaN();  ///< Of the newest measured state.
    double now_s = 0.0;
    double world_held_s = 0.0;  ///< See CheckRequest.
};

/// Joint positions, one step at a time. A step is accepted exactly when `Gate::check` accepts the chunk of that one step, with what was
/// commanded last as the state: the last accepted step, or the measured state of `begin`, and the velocity of the last step.
/// A rejected step leaves the robot where it was sent last, so the next one starts there, at rest.
///
/// What makes it fast: a full check also says by how much every pair keeps its distance. As long as the joints have moved too little since then to
/// use that up, and a step is inside all limits by the same inequalities, nothing has to be placed or measured.
class Stream {
  public:
    /// The gate outlives the stream; both belong to one thread. Throws std::invalid_argument for a mode whose rows are no joint positions.
    explicit Stream(Gate& gate, ControlMode mode = ControlMode::joint_position);

    /// The measured state that the next step leads from.
    void begin(const StateView& measured) noexcept;

    Verdict step(const StreamStep& step) noexcept;

    /// Steps that `step` answered by a full check since the stream was made.
    std::uint64_t full_checks() const noexcept { return full_checks_; }

  private:
    /// Whether the gate, its shapes and the world are those that the budget was found for.
    bool is_same_setting(const StreamStep& step) const noexcept;
    bool is_fresh(const StreamStep& step, Verdict& verdict) const noexcept;
    bool is_inside_limits(const StreamStep& step) const noexcept;
    bool is_slow_for_tools() const noexcept;
    bool is_within_budget(const StreamStep& step, double& left_m) const noexcept;
    void follow_shapes() noexcept;
    [[gnu::cold]] Verdict check_fully(const StreamStep& step) noexcept;
    void refill(const StreamStep& step, const Verdict& verdict) noexcept;
    void accept(const StreamStep& step) noexcept;

    Gate& gate_;
    std::size_t mode_;
    bool knows_all_checks_;  ///< Every rule of this gate is among those that a step can be answered by without a full check.
    bool is_given_ = false;
    bool has_moved_ = false;  ///< A step was accepted since `begin`.
    std::uint64_t full_checks_ = 0;

    // Per column of a row, then per gripper.
    std::vector<double> last_;      ///< Where the robot was sent last.
    std::vector<double> velocity_;  ///< Per column; empty where none is known.
    std::vector<double> reference_;  ///< Where the budget was found.
    std::vector<double> moved_;      ///< Farthest from there during the step, and half of the step.
    std::vector<double> step_;       ///< Of the step, without signs.
    std::vector<double> low_, high_, speed_max_, acceleration_max_;
    std::vector<double> reach_;       ///< How far one unit of a joint changes any distance at most.
    std::vector<double> tool_reach_;  ///< effectors x columns: how far it moves a tool,
    std::vector<double> tool_turn_;   ///< and turns it.
    std::size_t columns_;
    std::size_t grippers_;
    std::size_t grippers_given_ = 0;

    // The budget, and what it was found for.
    double budget_m_;  ///< Minus infinity where there is none.
    std::vector<double> tool_budget_m_;
    const WorldSnapshot* world_ = nullptr;
    std::uint64_t world_revision_ = 0;
    std::uint64_t shapes_revision_ = 0;
    Verdict pattern_{};  ///< What an answer says that does not change from step to step.
};

}  // namespace lastgate
