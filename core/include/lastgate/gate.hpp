// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitset>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "lastgate/gate_config.hpp"
#include "lastgate/lanes.hpp"
#include "lastgate/robot_model.hpp"
#include "lastgate/shape_set.hpp"
#include "lastgate/verdict.hpp"
#include "lastgate/world_snapshot.hpp"

namespace lastgate {

/// In which axes Cartesian rows are written.
enum class CartesianFrame : std::uint8_t { unknown = 0, base = 1, tool = 2 };

/// A chunk as it came: nothing about it has been believed yet.
struct ChunkView {
    std::size_t control_mode = control_mode_count;  ///< Any number; the gate judges it.
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

/// Touching that somebody meant: inside the region and until it expires, the named pairs may come as close as
/// touching instead of keeping the margin. It widens nothing else, and zones never.
struct DeclaredContact {
    std::bitset<capacity::links_max> links;           ///< Whose own volumes may touch.
    std::bitset<capacity::attached_max> held;         ///< Which held things may, by attachment id.
    std::bitset<capacity::primitives_max> obstacles;  ///< What they may touch: primitives of the snapshot,
    std::bitset<field_slots> fields;                  ///< or whatever a field shows.
    PrimitiveSpec region;                             ///< A box; the touching volume must lie inside it, whole.
    double expires_s = 0.0;
};

struct CheckRequest {
    ChunkView chunk;
    StateView state;
    const WorldSnapshot* world = nullptr;
    double now_s = 0.0;
    double world_held_s = 0.0;  ///< How long the caller has had the world, by a clock that nobody sets; its stamp may say less.
    std::span<const DeclaredContact> contacts;
    bool recovery = false;  ///< The caller asks for the retreat rule: start inside a margin, only grow.
};

/// One pair that a row could not clear: volume and volume, volume and primitive, or an effector and its box.
struct Item {
    std::uint32_t row = 0;
    std::uint32_t key = 0;  ///< Grows within a row, so that the lists of two rows can be merged.
    std::uint16_t a = 0;
    std::uint16_t b = 0;
};

/// An item inside one segment, with what it needs to be cleared.
struct OpenItem {
    std::uint32_t key = 0;
    std::uint16_t a = 0;
    std::uint16_t b = 0;
    double motion_m = 0.0;  ///< Bound on the change of its distance over the whole segment.
    double demand_m = 0.0;  ///< Distance it must exceed.
};

/// What a pair consists of: two volumes; a volume and an obstacle; a volume and a field (`b` is its slot); a
/// tool and its box; a volume and the zone it stays inside.
enum class PairKind : std::uint8_t { self, world, field, box, keep_in };

/// A pair that starts inside its margin, while recovering.
struct StartContact {
    std::uint16_t a = 0;
    std::uint16_t b = 0;
    PairKind kind = PairKind::self;
    double distance_m = 0.0;
    /// How far the convex pieces of the pair have been apart at most, negative while they overlap. Minus infinity where that cannot be
    /// told: there are none, or corners of one lie between those of the other.
    double pieces_m = -std::numeric_limits<double>::infinity();
};

/// Decides about chunks for one robot. Allocates when it is built and never again; belongs to one
/// thread. Every function after construction is noexcept, and bounded by the capacities.
class Gate {
  public:
    /// Throws std::invalid_argument that says which number cannot be used.
    Gate(std::shared_ptr<const RobotModel> model, GateConfig config);
    // Its tables point into its own memory, which moves with it and cannot be shared.
    Gate(const Gate&) = delete;
    Gate& operator=(const Gate&) = delete;
    Gate(Gate&&) = default;
    Gate& operator=(Gate&&) = default;

    /// Accepts the chunk whole or rejects it whole, and says why. Never edits it.
    [[nodiscard]] Verdict check(const CheckRequest& request) noexcept;

    /// Looks at single configurations (`count` rows of joint-row width): limits, self, world. No motion.
    /// `clearance_m` gets the smallest distance minus margin, never above the truth, and is exact
    /// below zero's first contact; an out-of-limit configuration gets -infinity.
    void check_configurations(std::span<const double> configurations, std::size_t count,
                              std::span<const double> gripper_positions, const WorldSnapshot& world,
                              std::span<std::uint8_t> accepted, std::span<double> clearance_m) noexcept;

    /// Straight joint motions (`count` starts and ends of joint-row width), for planners: of each the share of the
    /// way up to which it is shown clear of everything, never beyond the first contact, and infinity when all of it
    /// is. Margins count; limits, speeds and stamps are not looked at. Positions must lie inside the limits.
    /// A motion is first looked at every `step_max` of its widest joint.
    void check_edges(std::span<const double> starts, std::span<const double> ends, std::size_t count, std::span<const double> gripper_positions,
                     const WorldSnapshot& world, double step_max, std::span<double> first_contact) noexcept;

    /// Makes something held part of the robot; false, and nothing changed, when it cannot be.
    [[nodiscard]] bool attach(const Attachment& attachment) noexcept;
    [[nodiscard]] bool detach(std::uint16_t id) noexcept;

    const RobotModel& model() const noexcept { return *model_; }
    const GateConfig& config() const noexcept { return config_; }
    const ShapeSet& shapes() const noexcept { return shapes_; }

    /// The joint rows behind the last check, measured state first; Cartesian modes are resolved here.
    std::span<const double> path() const noexcept { return {path_.data(), (path_rows_ + 1) * model_->variable_count()}; }
    /// By how much each variable of that path may be off: half the range of a gripper that nobody measured.
    std::span<const double> uncertainty() const noexcept { return uncertainty_; }
    const WorldSnapshot& no_go_zones() const noexcept { return zones_; }

  private:
    friend class Validation;
    friend class Sweep;
    friend class BatchCheck;
    friend class Refinement;

    /// Where the joints stand that rows do not command, written to a row of the path. One nobody placed stands in the
    /// middle of its range, and half of it is uncertain. False when one is outside its range.
    bool place_grippers(std::span<const double> gripper_positions, double* row) noexcept;
    void bound_body_reach() noexcept;
    void rebuild_lanes() noexcept;
    /// The memory of one group of eight configurations. What nobody reads once a group is placed, all groups share.
    LaneGroup lane_group(std::size_t index) noexcept;
    std::size_t lane_placing_size() const noexcept;
    std::size_t lane_group_size() const noexcept;

    std::shared_ptr<const RobotModel> model_;
    GateConfig config_;
    ShapeSet shapes_;
    LaneModel lanes_;
    WorldSnapshot zones_;
    WorldSnapshot keep_in_;  ///< Shapes to stay inside, in the order of the configuration.

    // Working memory. "Row" counts the measured state as row 0 and the chunk's rows from 1.
    std::vector<double> path_;          ///< (rows + 1) x variables.
    std::vector<double> uncertainty_;   ///< Per variable: half width of what is not known about it.
    std::size_t path_rows_ = 0;
    std::vector<Transform> frames_;     ///< (rows + 1) x bodies.
    std::vector<Segment> cores_;        ///< (rows + 1) x volumes, in the base frame.
    std::vector<Vec3> centres_;         ///< (rows + 1) x bodies: centres of their balls.
    std::vector<double> body_motion_;   ///< (rows + 1) x bodies: how far any core of the body strays from its row pose.
    std::vector<double> body_reach_;    ///< bodies x chain: the largest reach of its volumes.
    std::vector<std::uint8_t> row_placed_;
    std::vector<float> lane_memory_;
    std::vector<float> start_tools_;        ///< The tools in row 0, as in LaneGroup.
    std::vector<std::uint8_t> lane_doubt_;  ///< groups x entries: which configurations of a group an entry leaves open.
    std::vector<std::uint8_t> lane_placed_;  ///< groups x bodies.
    std::vector<LaneGroup> lane_groups_;     ///< Scratch: the groups of one chunk.
    std::vector<double> lane_variables_;     ///< Scratch: variables x 8.
    LaneHint chunk_hint_;                    ///< What was closest last time: changes how long a check takes, nothing else.
    LaneHint batch_hint_;
    std::vector<std::uint32_t> chunk_closest_;  ///< Per body pair, for the hints.
    std::vector<std::uint32_t> batch_closest_;
    void forget_closest() noexcept;
    std::vector<double> tails_;         ///< bodies x (chain + 1): motion relative to the frame above each depth.
    std::vector<double> step_;          ///< Scratch, per variable.
    std::vector<double> sample_;        ///< Scratch configuration.
    std::vector<Transform> sample_frames_;
    std::vector<Item> items_;           ///< What rows could not clear, by row.
    std::vector<OpenItem> arena_;       ///< Item lists of open intervals.
    std::vector<BodyPrimitive> shortlist_;  ///< Sized for every body and obstacle.
    std::size_t shortlist_count_ = 0;
    std::vector<StartContact> contacts_;
    std::vector<double> half_width_;    ///< Torque: how far each variable can get within the horizon.
    std::vector<double> tube_;          ///< Boxes waiting in the torque check: centre and half width per variable.
};

}  // namespace lastgate
