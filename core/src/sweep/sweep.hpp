// SPDX-License-Identifier: Apache-2.0
// Continuous collision checking of a joint path by motion bounds (Schwarzer, Saha and Latombe 2005).
#pragma once

#include <algorithm>
#include <limits>

#include "checks/gate_setup.hpp"
#include "directional_bound.hpp"
#include "lastgate/gate.hpp"
#include "motion_bound.hpp"
#include "pair_kind.hpp"
#include "workspace.hpp"

namespace lastgate::detail {

struct PairFunctions;
struct RowScan;

enum class Outcome : std::uint8_t { clear, violated, budget };

/// Where a path stops being certified.
struct Finding {
    std::uint32_t segment = none;  ///< Counted by the row it leads to, from 1; 1 leads from the measured state to row 1.
    OpenItem item;
    double segment_t = 0.0;
    double first_contact_t = 0.0;
    Witness witness{};  ///< Of the volumes, radii subtracted.
    std::uint32_t obstacle = none;  ///< Which voxel or point of a field.
};

/// Never smaller than the derivatives of a tool's position and turn anywhere along one step, the step being the unit of time.
struct ToolBounds {
    double move_m = 0.0;       ///< First derivative of the position,
    double bend_m = 0.0;       ///< second,
    double jerk_m = 0.0;       ///< third.
    double turn = 0.0;         ///< Of the orientation, the first,
    double turn_change = 0.0;  ///< and the second.
    std::uint32_t moving_joints = 0;
};

/// The derivatives themselves, at one instant.
struct ToolMotion {
    Vec3 move;
    Vec3 bend;
    Vec3 turn;
};

/// Certifies, or fails to certify, that pairs keep their required distance at every instant of a joint path.
///
/// A row certifies a pair for half a segment on either side when its distance exceeds what is required by more than the pair can move in
/// that time. What no row certifies is bisected in time until it is certified, violated, or moves less than the resolution.
///
/// One check has one sweep. What a robot and its rules are stands in `setup`, all memory in `workspace`; the rest is what one check has
/// found so far. Functions are grouped by the file that has them.
struct Sweep {
    /// `surroundings` may be null for as long as nothing asks about obstacles or fields.
    Sweep(const GateSetup& gate_setup, SweepWorkspace& gate_workspace, const WorldSnapshot* surroundings) noexcept
        : setup(gate_setup), workspace(gate_workspace), world(surroundings) {}

    const GateSetup& setup;
    SweepWorkspace& workspace;
    const WorldSnapshot* const world;
    double extra_m = 0.0;  ///< Added to every margin: residual and declared deviation of Cartesian paths.

    /// Farther than a metre is as good as free: the reported bound stops there, so that distant obstacles cost nothing.
    double min_clearance_m = 1.0;
    std::uint32_t evaluations = 0;
    std::uint32_t uncharged_queries = 0;  ///< Not yet counted as an evaluation.
    bool items_overflow = false;
    bool row_alone = false;
    bool by_volumes_alone = true;  ///< No pair needed more than the distance of its volumes at a row.
    bool uses_simd = false;             ///< `is_unresolved` means something: SIMD has tested the entries.
    std::uint32_t last_obstacle = none;  ///< Of the field that was measured last.

    /// Contacts that were declared, all usable. None counts before it is relied on.
    std::span<const DeclaredContact> declared;
    std::array<std::uint32_t, capacity::declared_contacts_max> declared_last_segment;  ///< Set with the contacts.
    std::uint32_t contacts_relied_on = 0;  ///< Bits of the contacts that count.
    /// The last segment that hulls are compared for: a contact must not have expired before it. None counts where it was not set.
    std::size_t contact_segment = no_segment;
    static constexpr std::size_t no_segment = std::numeric_limits<std::size_t>::max();

    std::size_t body_count() const noexcept { return setup.model->bodies().size(); }
    std::size_t variable_count() const noexcept { return setup.model->variable_count(); }
    std::size_t volume_count() const noexcept { return setup.shapes.volumes().size(); }
    const double* row(std::size_t index) const noexcept { return workspace.path.data() + index * variable_count(); }
    /// Whether the narrow phase knows a volume by more than itself: the hulls of its link, or an attached solid.
    bool has_hulls(std::size_t volume) const noexcept {
        return !setup.model->hulls_of_volume(volume).empty() || setup.shapes.solid_of(volume) != nullptr;
    }
    bool all_certified() const noexcept { return workspace.items.empty() && !items_overflow; }
    bool is_budget_spent() const noexcept { return evaluations >= setup.config.evaluations_max; }
    Segment axis_in_base(std::size_t volume, const Transform* frames) const noexcept {
        const Volume& shape = setup.shapes.volumes()[volume];
        return {frames[shape.body] * shape.end_a, frames[shape.body] * shape.end_b};
    }

    // ---- placement.cpp
    /// Frames, cores and motion bounds of all rows of the path, by SIMD.
    void place_rows() noexcept;
    /// Where the tools stand in row 0, for `test_tool_steps`; before `place_rows`.
    void place_start_tools() noexcept;
    /// In double; computed when first asked for.
    const Transform* frames_of_row(std::size_t row_index) noexcept;
    /// Cores and bounding spheres of one row in double.
    void place_axes(std::size_t row_index) noexcept;
    /// Bounding spheres of a box of configurations in the place of row 0, for lists of what is near.
    void place_box(std::span<const double> centre, std::span<const double> half) noexcept;
    /// Places the bodies at one instant of a segment, whatever the budget.
    void sample_segment(std::size_t segment, double t) noexcept;
    /// The bodies at a share `t` of the way to a row, until the next call; null when the budget is spent.
    const Transform* frames_between(std::size_t segment, double t) noexcept;
    /// Writes how far each variable moves within a segment to `workspace.segment_step`, and where to for `interval_in_segment`.
    void measure_segment_step(std::size_t segment) noexcept;
    /// The interval of half-width `half` around the sampled instant of the segment that was measured last.
    PathInterval interval_in_segment(double half) const noexcept {
        return {workspace.sample_frames.data(), workspace.to_before, workspace.to_after, half};
    }
    /// From the middle of the segment before a row to the middle of the one after it; until the next call or segment.
    PathInterval interval_around_row(std::size_t row_index) noexcept;

    // ---- motion_bound.cpp
    /// How far each variable can be from a row within half a segment, to `workspace.row_half_step`.
    void bound_half_step(std::size_t row_index) noexcept;
    /// Motion of every body's cores relative to the frame above each joint of its chain.
    void bound_row_motion(std::size_t row_index, std::span<const double> half_step) noexcept;
    double motion_of_volume(std::size_t volume, std::size_t from_depth, std::span<const double> step) const noexcept {
        const Volume& shape = setup.shapes.volumes()[volume];
        return motion_bound(*setup.model, shape.body, shape.reach.data(), from_depth, step);
    }

    // ---- pair.cpp: what all kinds share
    /// Margin and widening, without what a gripper that was not measured could add.
    double whole_margin(PairKind kind) const noexcept;
    /// The distance a pair must exceed: margin, widening, and what an unknown gripper could add.
    double required(PairKind kind, std::uint16_t a, std::uint16_t b) const noexcept;
    double pair_motion(PairKind kind, const OpenItem& item, std::span<const double> step) const noexcept;
    Witness measure(PairKind kind, const OpenItem& item, const Transform* frames, double within_m) noexcept;
    /// How far a field must be searched to decide about an item, and to say how clear it is.
    double field_reach(const OpenItem& item, double motion_m) const noexcept;
    /// Never above the distance of a pair's volumes, `distance_m` at the instant, anywhere in its interval; minus infinity where nothing is known.
    double directional_bound(PairKind kind, const OpenItem& item, const PathInterval& interval,
                             double distance_m) noexcept;
    /// Records a pair that this row could not certify. True when the row itself violates.
    bool note(PairKind kind, const RowScan& scan, std::uint32_t key, std::uint16_t a, std::uint16_t b, double distance_m) noexcept;
    /// Counts queries of two volumes or two hulls against the budget.
    void charge_queries(std::uint32_t queries) noexcept;

    // ---- broad_phase.cpp
    /// Fills the unresolved bits of every entry (body pair, body and obstacle, or effector) for the rows up to `row_last`.
    void test_groups(PairKind kind, std::size_t row_last) noexcept;
    /// Queries the obstacle that was closest last time, whose clearance lets bounds skip others.
    void query_closest() noexcept;
    float simd_margin(PairKind kind) const noexcept;
    bool is_row_unresolved(std::size_t row_index) const noexcept;
    bool is_unresolved(std::size_t row_index, std::size_t entry) const noexcept;

    // ---- bisect.cpp
    /// The first segment (in path order, up to `row_last`) that is not certified.
    Outcome run(PairKind kind, std::size_t row_last, Finding& finding) noexcept;
    /// Row 0 without any motion: smallest distance minus required distance over all pairs, at most 1.
    /// `all_certified` tells whether every pair exceeds its required distance.
    /// `first` is the kind of pair that the first item in the workspace belongs to, then.
    double clearance_of_row_alone(PairKind* first = nullptr) noexcept;
    Outcome bisect_segment(PairKind kind, std::size_t segment, Finding& finding) noexcept;
    /// The moment at which the pair is deepest, as far as a few queries tell: the one to show a person.
    void report_deepest(PairKind kind, std::size_t segment, Finding& finding) noexcept;

    // ---- reachable_set.cpp, footprint.cpp
    /// Everything within `half_width` of row 0, per variable; contacts count that are declared for a segment.
    Outcome run_reachable_set(PairKind kind, std::span<const double> half_width, std::size_t segment, Finding& finding) noexcept;
    /// The footprint against the occupancy map, while the base moves; both must be there.
    Outcome run_footprint(std::size_t row_last, Finding& finding) noexcept;

    // ---- joint_stop.cpp: what a segment's stops reach when every joint brakes alone
    double stop_velocity(std::size_t segment, std::size_t variable) const noexcept;
    /// How far a variable still moves, without its sign.
    double stop_travel(std::size_t segment, std::size_t variable) const noexcept;
    /// One box of configurations per segment, instead of the rows, by SIMD.
    void place_stops(std::size_t segment_last) noexcept;
    /// The first segment up to `segment_last` with a stop that is not certified; after `place_stops`.
    Outcome run_stops(PairKind kind, std::size_t segment_last, Finding& finding) noexcept;
    Outcome bisect_stops(PairKind kind, std::size_t segment, Finding& finding) noexcept;

    // ---- declared_contact.cpp
    /// `last_segment` says for each contact up to which segment it has not expired.
    void set_contacts(std::span<const DeclaredContact> contacts, std::span<const std::uint32_t> last_segment) noexcept;
    /// Lets the declared contacts of a pair count from here on; false when none is declared, or all count already.
    bool rely_on_contacts(PairKind kind, const OpenItem& item) noexcept;
    void forget_contacts() noexcept { contacts_relied_on = 0; }
    /// Whether a relied-on contact is about a pair and counts in a segment.
    bool counts(std::size_t contact, PairKind kind, const OpenItem& item, std::size_t segment) const noexcept;
    double required_in_contact(PairKind kind, const OpenItem& item, std::size_t segment, double distance_m) const noexcept;
    bool has_contact(PairKind kind, const OpenItem& item, std::size_t segment) const noexcept;
    double required_touching(PairKind kind, const OpenItem& item) const noexcept;
    double with_contacts(PairKind kind, const OpenItem& item, std::size_t segment, const Transform* frames, double distance_m) const noexcept;

    // ---- recovery.cpp
    /// Pairs that start inside their margin, for recovery, and of fields the single obstacles; false when there are too many to follow.
    bool collect_start_contacts() noexcept;
    Outcome follow_start_contacts(Finding& finding, PairKind& kind) noexcept;
    const StartContact* start_contact(PairKind kind, std::uint16_t a, std::uint16_t b) const noexcept;
    std::span<TouchedObstacle> touched(const StartContact& contact) const noexcept {
        return {workspace.touched.data() + contact.touched_first, contact.touched_count};
    }
    double touched_distance(const StartContact& contact, const TouchedObstacle& entry, const Segment& capsule_axis) const noexcept;
    /// The nearest of the obstacles that were touched, however far it is.
    double nearest_touched(const StartContact& contact, const Transform* frames, bool with_credit) noexcept;
    /// What a finding says of a touched obstacle, without the credit that only serves to compare it with others.
    void withdraw_credit(PairKind kind, Finding& finding) const noexcept;

    // ---- tool_speed.cpp
    ToolBounds bound_tool(std::size_t effector, std::span<const double> step) const noexcept;
    /// The tool of an effector at an instant of a step, the bodies placed; `step` with its signs.
    ToolMotion tool_motion_at(std::size_t effector, const Transform* frames, std::span<const double> step) const noexcept;
    /// How far what moves with the tool of an effector, attached objects included, can be from it.
    double reach_from_tool(std::size_t effector, const Transform* frames) const noexcept;
    /// Bit k of `open[g]` is clear when row 8 g + k + 1 is certified to move the tool at most `move_m` and to turn it at most `turn_rad`.
    void test_tool_steps(std::size_t effector, double move_m, double turn_rad, std::uint8_t* open) noexcept;
};

/// Groups of eight rows.
inline std::size_t group_count_for(std::size_t rows) noexcept { return (rows + lane_count - 1) / lane_count; }

}  // namespace lastgate::detail
