// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lastgate/gate.hpp"

namespace lastgate {

enum class Outcome : std::uint8_t { clear, violated, budget };

/// Where a path stops being shown.
struct Finding {
    std::uint32_t segment = none;  ///< Counted by the row it leads to, from 1; 1 leads from the measured state to row 1.
    OpenItem item;
    double segment_t = 0.0;
    double first_contact_t = 0.0;
    Witness witness{};  ///< Of the volumes, radii subtracted.
    std::uint32_t obstacle = none;  ///< Which cell or point of a field.
};

/// What the convex pieces of a pair's links say about it.
struct Refined {
    bool applies = false;  ///< False where no pieces were looked at: then only `violated` counts.
    bool shown = false;
    bool violated = true;  ///< Touching at the instant itself; also where there are no pieces, so that the volumes decide.
    double spare_m = 0.0;  ///< Distance minus demand minus motion, of the worst two pieces; looks end at the first that are not shown.
    double motion_m = 0.0;  ///< Of the fastest two that were looked at.
    double demand_m = 0.0;
    Witness witness{};  ///< Of the nearest two pieces, radii subtracted; its distance is never above the truth.
    std::uint32_t obstacle = none;
};

/// Joint motion that an instant must vouch for: `share` of `step`, per variable.
struct MotionShare {
    std::span<const double> step;
    double share = 1.0;
};

/// Shows, or fails to show, that pairs keep their demand at every instant of a joint path.
///
/// A row shows a pair clear for half a segment on either side when its distance exceeds the demand by
/// more than the pair can move in that time. What no row shows is bisected in time until it is shown,
/// violated, or moves less than the resolution.
class Sweep {
    friend class BatchCheck;
    friend class Refinement;

  public:
    Sweep(Gate& gate, Verdict& verdict) noexcept : gate_(gate), verdict_(verdict) {}

    /// Frames, cores and motion bounds of all rows of the gate's path.
    void place_rows() noexcept;

    /// Where the tools stand in row 0, for `test_tool_steps`; before `place_rows`.
    void place_start_tools() noexcept;

    /// Added to every margin: residual and declared deviation of Cartesian paths.
    void widen(double extra_m) noexcept { extra_m_ = extra_m; }
    void set_world(const WorldSnapshot* world) noexcept { world_ = world; }
    const WorldSnapshot* world() const noexcept { return world_; }

    /// Contacts somebody declared, all usable. None counts before it is relied on. `last_segment` says for each up
    /// to which segment it has not expired.
    void set_contacts(std::span<const DeclaredContact> contacts, const WorldSnapshot* world, std::span<const std::uint32_t> last_segment) noexcept;
    /// Lets the declared contacts of a pair count from here on; false when none is declared, or all count already.
    bool rely_on_contacts(PairKind kind, const OpenItem& item) noexcept;
    void forget_contacts() noexcept { relied_ = 0; }
    std::uint32_t contacts_relied_on() const noexcept { return relied_; }

    /// The first segment (in path order, up to `row_last`) that is not shown.
    Outcome run(PairKind kind, std::size_t row_last, Finding& finding) noexcept;
    /// Row 0 without any motion: smallest distance minus demand over all pairs, at most 1.
    /// `all_shown` tells whether every pair exceeds its demand.
    double clearance_of_row_alone() noexcept;
    bool all_shown() const noexcept { return gate_.items_.empty() && !overflow_; }
    /// Everything within `half_width` of the gate's row 0, per variable.
    Outcome run_tube(PairKind kind, std::span<const double> half_width, Finding& finding) noexcept;
    /// The footprint against the map of the floor, while the base moves; both must be there.
    Outcome run_footprint(std::size_t row_last, Finding& finding) noexcept;
    /// Pairs that start inside their margin, for recovery; false when there are too many to follow.
    bool collect_start_contacts() noexcept;
    Outcome follow_start_contacts(Finding& finding, PairKind& kind) noexcept;

    double min_clearance_m() const noexcept { return best_m_; }
    std::uint32_t evaluations() const noexcept { return evaluations_; }
    /// In double; computed when first asked for.
    const Transform* frames_of_row(std::size_t row) noexcept;
    /// The bodies at a share `t` of the way to a row, until the next call; null when the budget is spent.
    const Transform* frames_between(std::size_t row, double t) noexcept { return sample_segment(row, t) ? gate_.sample_frames_.data() : nullptr; }
    /// Never smaller than what the tool of an effector moves, in metres, and turns, in radians, towards `row`.
    double tool_motion(std::size_t effector, std::size_t row) noexcept;
    double tool_turn(std::size_t effector, std::size_t row) const noexcept;
    /// How far what moves with the tool of an effector, held things included, can be from it.
    double reach_from_tool(std::size_t effector, const Transform* frames) const noexcept;
    /// Bit k of `open[g]` is clear when row 8 g + k + 1 is shown to move the tool at most `move_m` and to turn it at most `turn_rad`.
    void test_tool_steps(std::size_t effector, double move_m, double turn_rad, std::uint8_t* open) noexcept;
    /// Looks at the obstacle that was closest last time, whose clearance lets bounds skip others.
    void look_at_closest() noexcept;

  private:
    std::size_t body_count() const noexcept { return gate_.model_->bodies().size(); }
    std::size_t variable_count() const noexcept { return gate_.model_->variable_count(); }
    std::size_t volume_count() const noexcept { return gate_.shapes_.volumes().size(); }
    std::span<const BodyPrimitive> shortlist() const noexcept { return {gate_.shortlist_.data(), gate_.shortlist_count_}; }
    const double* row(std::size_t index) const noexcept { return gate_.path_.data() + index * variable_count(); }

    void place_cores(std::size_t row) noexcept;
    void bound_row_motion(std::size_t row, std::span<const double> half_step) noexcept;
    void fill_half_step(std::size_t row) noexcept;

    double motion_of_volume(std::size_t volume, std::size_t from_depth, std::span<const double> step) const noexcept;
    double motion_of_effector(std::size_t effector, std::span<const double> step) const noexcept;
    double pair_motion(PairKind kind, const OpenItem& item, std::span<const double> step) const noexcept;
    double demand(PairKind kind, std::uint16_t a, std::uint16_t b) const noexcept;

    void place_lanes() noexcept;
    void test_lanes(PairKind kind, std::size_t row_last) noexcept;
    void test_fields(const LaneGroup& group, float margin_m, bool one_motion, float* best, std::uint8_t* doubt) noexcept;
    std::uint8_t far_lanes(const LaneGroup& group, std::size_t body, const ObstacleField& field, const float* needed_m, const float* best) const noexcept;
    std::uint8_t open_lanes(const LaneGroup& group, std::size_t volume, const ObstacleField& field, const float* needed_m, std::uint8_t settled, bool one_motion,
                            float* best) const noexcept;
    std::uint8_t test_group(PairKind kind, std::size_t index, float margin_m, float* best, std::uint8_t* doubt) noexcept;
    std::uint8_t test_group_box(const LaneGroup& group, std::uint8_t* doubt) noexcept;
    std::size_t entry_count(PairKind kind) const noexcept;
    float lane_margin(PairKind kind) const noexcept;
    void test_keep_in(const LaneGroup& group, float margin_m, float* best, std::uint8_t* doubt) const noexcept;
    bool stays_inside(std::size_t zone, std::size_t volume) const noexcept;
    Witness measure_depth(const OpenItem& item, const Transform* frames) const noexcept;
    bool is_declared(const DeclaredContact& contact, PairKind kind, const OpenItem& item) const noexcept;
    double touching_demand(PairKind kind, const OpenItem& item) const noexcept;
    double with_contacts(PairKind kind, const OpenItem& item, std::size_t segment, const Transform* frames, double distance_m) const noexcept;
    void shortlist_with_lanes(std::size_t group_count) noexcept;
    bool row_in_doubt(std::size_t row) const noexcept;
    bool in_doubt(std::size_t row, std::size_t entry) const noexcept;

    bool scan_row(PairKind kind, std::size_t row) noexcept;
    bool scan_row_self(std::size_t row) noexcept;
    bool scan_row_world(std::size_t row) noexcept;
    bool scan_row_box(std::size_t row) noexcept;
    bool scan_row_field(std::size_t row) noexcept;
    bool scan_row_keep_in(std::size_t row) noexcept;
    bool note(PairKind kind, std::size_t row, std::uint32_t key, std::uint16_t a, std::uint16_t b, double distance_m) noexcept;
    void shortlist_primitives(std::size_t row_last) noexcept;

    /// Counts looks at two volumes or two pieces against the budget.
    void charge_looks(std::uint32_t looks) noexcept;
    /// Tries the convex pieces of a pair that its volumes could not show.
    Refined refine(PairKind kind, const OpenItem& item, const Transform* frames, const MotionShare& motion) noexcept;
    bool has_pieces(PairKind kind, const OpenItem& item) const noexcept;
    double whole_margin(PairKind kind) const noexcept;
    /// How far the pieces of a pair are apart, up to its margin; see StartContact.
    double distance_of_pieces(PairKind kind, const OpenItem& item, const Transform* frames) noexcept;
    /// Whether the pieces of a pair that started in contact exceed a demand of their own.
    Refined hold_pieces(PairKind kind, const OpenItem& item, const MotionShare& motion, double demand_m) noexcept;

    /// `within_m`: a field tells distances exactly up to this, and otherwise that there is nothing.
    Witness measure(PairKind kind, const OpenItem& item, const Transform* frames, double within_m) noexcept;
    double field_reach(const OpenItem& item, double motion_m) const noexcept;
    Segment core_in_base(std::size_t volume, const Transform* frames) const noexcept;
    bool sample_segment(std::size_t segment, double t) noexcept;
    std::uint32_t open_segment(PairKind kind, std::size_t segment) noexcept;
    Outcome bisect_segment(PairKind kind, std::size_t segment, Finding& finding) noexcept;
    bool shown_by_pieces(PairKind kind, std::span<const double> half_width, OpenItem& item, Witness& witness) noexcept;
    bool find_unshown(PairKind kind, std::span<const double> half_width, OpenItem& item, Witness& witness) noexcept;
    std::size_t widest_variable(PairKind kind, const OpenItem& item, std::span<const double> half_width) noexcept;
    void report_deepest(PairKind kind, std::size_t segment, Finding& finding) noexcept;

    Outcome keeps_distance(const StartContact& contact, std::size_t segment, Finding& finding) noexcept;
    Outcome keeps_pieces_apart(const StartContact& contact, std::size_t segment, Finding& finding) noexcept;
    Vec3 corner_at(std::size_t corner, std::size_t segment, double t) const noexcept;
    Witness nearest_to_footprint(std::size_t segment, double t, double half, bool& shown, Finding& finding) noexcept;

    Gate& gate_;
    Verdict& verdict_;
    const WorldSnapshot* world_ = nullptr;
    std::span<const DeclaredContact> contacts_;
    std::uint32_t contact_last_segment_[capacity::declared_contacts_max];  ///< Set with the contacts.
    const WorldSnapshot* contact_world_ = nullptr;  ///< The snapshot whose obstacles they name; never the zones.
    std::uint32_t relied_ = 0;                      ///< Bits of the contacts that count.
    double extra_m_ = 0.0;
    /// Farther than a metre is as good as free: the reported bound stops there, so that distant
    /// obstacles cost nothing.
    double best_m_ = 1.0;
    std::uint32_t evaluations_ = 0;
    std::uint32_t looks_ = 0;  ///< At pieces, not yet charged as an evaluation.
    bool overflow_ = false;
    bool row_alone_ = false;
    bool violated_here_ = false;  ///< The pair that a box of a tube cannot clear is too close in its middle already.
    std::uint32_t last_obstacle_ = none;
    bool lanes_used_ = false;
    std::uint8_t group_doubt_[capacity::rows_max / lane_count];  ///< Which rows of a group any entry leaves open.
    std::size_t item_first_[capacity::rows_max + 3];  ///< Written up to the last scanned row before it is read.
};

}  // namespace lastgate
