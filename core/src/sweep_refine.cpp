// SPDX-License-Identifier: Apache-2.0
// The second look at a pair: its links by their convex pieces instead of their volumes. It may clear the pair it
// looked at and nothing else.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "lastgate/convex.hpp"
#include "lastgate/tolerance.hpp"
#include "placed_corners.hpp"
#include "sweep.hpp"

namespace lastgate {

/// A piece, a volume that has no pieces, or an obstacle, at one instant.
struct PlacedShape : PlacedCorners {
    std::uint16_t body = 0;
    const double* reach = nullptr;  ///< None for what does not move.
};

namespace {

Transform relative(const Transform& from, const Transform& to) noexcept {
    return {{transposed_times(from.rotation, to.rotation.x), transposed_times(from.rotation, to.rotation.y), transposed_times(from.rotation, to.rotation.z)},
            inverse_times(from, to.translation)};
}

/// Pieces are looked at once their volumes move less than this within half an interval. Before that, halving the
/// interval costs one placement for all pairs together, and the volumes alone show most of them. For g1's steps of
/// half a radian near contact this takes a tenth of the looks at pieces, with the same answers.
constexpr double close_look_m = 0.02;

}  // namespace

/// One second look.
class Refinement {
  public:
    Refinement(Sweep& sweep, PairKind kind, const OpenItem& item, const Transform* frames, const MotionShare& motion) noexcept
        : sweep_(sweep), gate_(sweep.gate_), kind_(kind), item_(item), frames_(frames), motion_(motion) {}

    /// The pair, which has pieces, against a margin.
    Refined look(double margin_m) noexcept;
    /// The same against a demand that may be negative: what overlaps so far that its depth cannot be told is as deep as can be.
    Refined hold(double demand_m) noexcept {
        deepest_m_ = -std::numeric_limits<double>::infinity();
        return look(demand_m);
    }
    /// The same without ending at the first two that are not shown: `Refined::witness` is that of the nearest, up to the margin.
    Refined measure(double margin_m) noexcept {
        measuring_ = true;
        return hold(margin_m);
    }
    bool is_start_contact() const noexcept;

  private:
    double motion_of(const PlacedShape& shape, std::size_t from_depth, std::span<const double> step) const noexcept;
    template <typename Look>
    void for_each_shape(std::uint16_t volume, Look look) const noexcept;

    bool compare(const PlacedShape& a, const PlacedShape& b, std::size_t common_depth) noexcept;
    void compare_with_primitive(const PlacedShape& shape, const Primitive& primitive) noexcept;
    void compare_with_half_space(const PlacedShape& shape, const Transform& in_base) noexcept;
    void compare_with_field(const PlacedShape& shape, const ObstacleField& field) noexcept;
    bool record(const Witness& witness, double demand_m, double moved_m) noexcept { return record(witness, demand_m, moved_m, witness.distance_m); }
    bool record(const Witness& witness, double demand_m, double moved_m, double at_most_m) noexcept;
    void give_up() noexcept;

    Sweep& sweep_;
    Gate& gate_;
    PairKind kind_;
    const OpenItem& item_;
    const Transform* frames_;
    MotionShare motion_;
    double margin_m_ = 0.0;
    double deepest_m_ = 0.0;  ///< What shapes without a distance count as.
    bool measuring_ = false;
    Refined refined_;
};

/// A pair that starts in contact is held to its own distance, which its volumes measure: pieces that overlap all
/// have the distance 0 and could not tell closer from farther. Where they can, they are held to theirs as well (sweep_recovery.cpp).
bool Refinement::is_start_contact() const noexcept {
    for (const StartContact& contact : gate_.contacts_) {
        if (contact.kind == kind_ && contact.a == item_.a && contact.b == item_.b) return true;
    }
    return false;
}

double Refinement::motion_of(const PlacedShape& shape, std::size_t from_depth, std::span<const double> step) const noexcept {
    if (shape.reach == nullptr) return 0.0;
    const auto chain = gate_.model_->chain(shape.body);
    double sum = 0.0;
    for (std::size_t depth = from_depth; depth < chain.size(); ++depth) sum += step[gate_.model_->bodies()[chain[depth]].dof] * shape.reach[depth];
    return sum;
}

/// What a volume stands for: the pieces it meets or, where there are none, itself.
template <typename Look>
void Refinement::for_each_shape(std::uint16_t volume, Look look) const noexcept {
    const RobotModel& model = *gate_.model_;
    const Volume& own = gate_.shapes_.volumes()[volume];
    PlacedShape shape;
    shape.body = own.body;
    shape.in_base = frames_[own.body];
    const auto met = model.pieces_of_volume(volume);
    if (met.empty()) {
        shape.set_segment({own.end_a, own.end_b});
        shape.radius_m = own.radius_m;
        shape.centre = shape.in_base * (0.5 * (own.end_a + own.end_b));
        shape.ball_radius_m = 0.5 * norm(own.end_b - own.end_a) + own.radius_m;
        shape.reach = own.reach.data();
        look(shape);
        return;
    }
    for (const std::uint16_t index : met) {
        const Piece& piece = model.pieces()[index];
        shape.corners = model.corners(piece);
        shape.radius_m = piece.radius_m;
        shape.centre = shape.in_base * piece.centre;
        shape.ball_radius_m = piece.ball_radius_m;
        shape.reach = piece.reach.data();
        if (!look(shape)) return;
    }
}

/// Keeps the worst; `at_most_m` is never below the true distance. False when something was not shown: looking at
/// the rest would cost more than looking again at half the motion, which must be done anyway.
bool Refinement::record(const Witness& witness, double demand_m, double moved_m, double at_most_m) noexcept {
    const double spare_m = witness.distance_m - demand_m - moved_m;
    const bool first = !refined_.applies;
    refined_.applies = true;
    if (first || !(spare_m >= refined_.spare_m)) refined_.spare_m = spare_m;
    refined_.motion_m = std::max(refined_.motion_m, moved_m);
    if (first || witness.distance_m - demand_m < refined_.witness.distance_m - refined_.demand_m) {
        refined_.witness = witness;
        refined_.demand_m = demand_m;
        refined_.obstacle = none;
    }
    if (spare_m > tolerance::rounding_m) return true;
    refined_.shown = false;
    refined_.violated = !(at_most_m > demand_m);
    return measuring_;
}

void Refinement::give_up() noexcept { (void)record({deepest_m_, {}, {}}, margin_m_, 0.0, 0.0); }

/// Two convex shapes. False when the answer is settled.
bool Refinement::compare(const PlacedShape& a, const PlacedShape& b, std::size_t common_depth) noexcept {
    const double demand_m = margin_m_ + motion_of(a, common_depth, gate_.uncertainty_) + motion_of(b, common_depth, gate_.uncertainty_);
    const double moved_m = motion_.share * (motion_of(a, common_depth, motion_.step) + motion_of(b, common_depth, motion_.step));
    const double needed_m = demand_m + moved_m + tolerance::rounding_m;
    const double wanted_m = needed_m + std::max(sweep_.best_m_, 0.0);
    const Vec3 apart = b.centre - a.centre;
    const double length = norm(apart);
    const double gap_m = length - a.ball_radius_m - b.ball_radius_m;
    if (gap_m > wanted_m) {
        return record({gap_m, a.centre + (a.ball_radius_m / length) * apart, b.centre - (b.ball_radius_m / length) * apart}, demand_m, moved_m);
    }
    if (sweep_.evaluations_ >= gate_.config_.evaluations_max) {
        give_up();
        return false;
    }
    const double radii_m = a.radius_m + b.radius_m;
    const ConvexGoal goal{wanted_m + radii_m, measuring_ ? 0.0 : needed_m + radii_m};
    const ConvexDistance found = convex_distance(a.corners, b.corners, relative(a.in_base, b.in_base), goal);
    sweep_.charge_looks(found.iterations + 2);
    Witness witness{(found.lower_m > 0.0 ? found.lower_m : deepest_m_) - radii_m, a.in_base * found.on_first, a.in_base * found.on_second};
    const Vec3 across = witness.on_second - witness.on_first;
    const double across_m = norm(across);
    if (across_m > 0.0) {
        witness.on_first = witness.on_first + (a.radius_m / across_m) * across;
        witness.on_second = witness.on_second - (b.radius_m / across_m) * across;
    }
    return record(witness, demand_m, moved_m, found.upper_m - radii_m);
}

void Refinement::compare_with_half_space(const PlacedShape& shape, const Transform& in_base) noexcept {
    const double demand_m = margin_m_ + motion_of(shape, 0, gate_.uncertainty_);
    const double moved_m = motion_.share * motion_of(shape, 0, motion_.step);
    const Vec3 out = in_base.rotation.z;
    double lowest_m = 1e300;
    Vec3 at;
    for (std::uint32_t index = 0; index < shape.corners.count; ++index) {
        const Vec3 corner = shape.in_base * Vec3{shape.corners.x[index], shape.corners.y[index], shape.corners.z[index]};
        const double height_m = dot(out, corner - in_base.translation);
        if (height_m < lowest_m) {
            lowest_m = height_m;
            at = corner;
        }
    }
    sweep_.charge_looks(1);
    (void)record({lowest_m - shape.radius_m, at - shape.radius_m * out, at - lowest_m * out}, demand_m, moved_m);
}

void Refinement::compare_with_primitive(const PlacedShape& shape, const Primitive& primitive) noexcept {
    if (primitive.kind == PrimitiveKind::half_space) return compare_with_half_space(shape, primitive.in_base);
    PlacedShape obstacle;
    if (!obstacle.set_primitive(primitive)) return give_up();
    (void)compare(shape, obstacle, 0);
}

/// A field keeps the surface of what is solid. A shape that meets no cell of it and has one corner outside all
/// solid cells is outside altogether, because it is connected.
void Refinement::compare_with_field(const PlacedShape& shape, const ObstacleField& field) noexcept {
    const double demand_m = margin_m_ + motion_of(shape, 0, gate_.uncertainty_);
    const double moved_m = motion_.share * motion_of(shape, 0, motion_.step);
    const double needed_m = demand_m + moved_m + tolerance::rounding_m;
    Vec3 low{1e300, 1e300, 1e300};
    Vec3 high{-1e300, -1e300, -1e300};
    for (std::uint32_t index = 0; index < shape.corners.count; ++index) {
        const Vec3 p = shape.in_base * Vec3{shape.corners.x[index], shape.corners.y[index], shape.corners.z[index]};
        low = {std::min(low.x, p.x), std::min(low.y, p.y), std::min(low.z, p.z)};
        high = {std::max(high.x, p.x), std::max(high.y, p.y), std::max(high.z, p.z)};
    }
    const Vec3 corner = shape.in_base * Vec3{shape.corners.x[0], shape.corners.y[0], shape.corners.z[0]};
    if (field.is_solid(corner)) return give_up();
    if (!record({field.room(low, high) - shape.radius_m, corner, corner}, demand_m, moved_m)) return;
    // Nothing farther than the clearance that is still of interest needs to be looked at.
    const double reach_m = needed_m + std::max(sweep_.best_m_, tolerance::resolution_m) + shape.radius_m;
    const Vec3 reach{reach_m, reach_m, reach_m};
    (void)record({reach_m - shape.radius_m, corner, corner}, demand_m, moved_m);
    PlacedShape cell;
    if (field.half_m() > 0.0) {
        cell.set_box({field.half_m(), field.half_m(), field.half_m()});
        cell.ball_radius_m = field.half_m() * 1.7320508075688773;
    } else {
        cell.set_segment({});
        cell.corners.count = 1;
    }
    (void)field.every_obstacle_in(low - reach, high + reach, [&](Vec3 centre, std::uint32_t index) noexcept {
        cell.in_base.translation = centre;
        cell.centre = centre;
        if (field.half_m() == 0.0) cell.radius_m = cell.ball_radius_m = field.radius_m(index);
        const double before_m = refined_.witness.distance_m;
        const bool open = compare(shape, cell, 0);
        if (refined_.witness.distance_m < before_m) refined_.obstacle = index;
        return open;
    });
}

Refined Refinement::look(double margin_m) noexcept {
    if (motion_.share * sweep_.pair_motion(kind_, item_, motion_.step) > close_look_m) return {.violated = false};
    margin_m_ = margin_m;
    // Until something speaks against it; what was never compared does not count as shown.
    refined_.shown = true;
    refined_.violated = false;
    if (kind_ == PairKind::self) {
        const auto volumes = gate_.shapes_.volumes();
        const std::size_t common_depth = gate_.model_->common_depth(volumes[item_.a].body, volumes[item_.b].body);
        for_each_shape(item_.a, [&](const PlacedShape& a) noexcept {
            for_each_shape(item_.b, [&](const PlacedShape& b) noexcept { return compare(a, b, common_depth); });
            return measuring_ || refined_.shown;
        });
    } else {
        for_each_shape(item_.a, [&](const PlacedShape& shape) noexcept {
            if (kind_ == PairKind::field) {
                compare_with_field(shape, *sweep_.world_->field(item_.b));
            } else {
                compare_with_primitive(shape, sweep_.world_->primitives()[item_.b]);
            }
            return measuring_ || refined_.shown;
        });
    }
    if (!refined_.applies) return {};
    return refined_;
}

/// Sixteen looks at all corners of two pieces take about as long as placing a robot once. Charged so, a check of a
/// twelve-joint robot that did little else took 1.73 microseconds per evaluation; charged one by two it took 0.22. A
/// look at two volumes is charged like one at two pieces.
void Sweep::charge_looks(std::uint32_t looks) noexcept {
    constexpr std::uint32_t looks_per_evaluation = 16;
    looks_ += looks;
    evaluations_ += looks_ / looks_per_evaluation;
    looks_ %= looks_per_evaluation;
}

bool Sweep::has_pieces(PairKind kind, const OpenItem& item) const noexcept {
    // Only pairs that must stay apart: what must stay inside a box or a zone is judged by its volumes.
    const bool apart = kind == PairKind::self || kind == PairKind::world || kind == PairKind::field;
    // A floor lies in a frame of its own and is asked about flattened; volumes decide about it.
    const bool on_floor = kind == PairKind::field && item.b == floor_slot;
    if (!apart || on_floor) return false;
    return !gate_.model_->pieces_of_volume(item.a).empty() || (kind == PairKind::self && !gate_.model_->pieces_of_volume(item.b).empty());
}

double Sweep::whole_margin(PairKind kind) const noexcept {
    return (kind == PairKind::self ? gate_.config_.self_margin_m : gate_.config_.world_margin_m) + extra_m_;
}

Refined Sweep::refine(PairKind kind, const OpenItem& item, const Transform* frames, const MotionShare& motion) noexcept {
    if (!has_pieces(kind, item)) return {};
    Refinement second_look(*this, kind, item, frames, motion);
    return second_look.is_start_contact() ? Refined{} : second_look.look(whole_margin(kind));
}

double Sweep::distance_of_pieces(PairKind kind, const OpenItem& item, const Transform* frames) noexcept {
    if (!has_pieces(kind, item)) return StartContact{}.pieces_m;
    const Refined found = Refinement(*this, kind, item, frames, {gate_.step_, 0.0}).measure(whole_margin(kind));
    return found.applies ? found.witness.distance_m : StartContact{}.pieces_m;
}

Refined Sweep::hold_pieces(PairKind kind, const OpenItem& item, const MotionShare& motion, double demand_m) noexcept {
    return Refinement(*this, kind, item, gate_.sample_frames_.data(), motion).hold(demand_m);
}

}  // namespace lastgate
