// SPDX-License-Identifier: Apache-2.0
// Recovery: pairs that start inside their margin must move apart.
#include <algorithm>
#include <cmath>
#include <limits>

#include "convex_refine.hpp"
#include "geometry/tolerance.hpp"
#include "pair_table.hpp"

namespace lastgate::detail {

const StartContact* Sweep::start_contact(PairKind kind, std::uint16_t a, std::uint16_t b) const noexcept {
    for (const StartContact& contact : workspace.start_contacts) {
        if (contact.kind == kind && contact.a == a && contact.b == b) return &contact;
    }
    return nullptr;
}

double Sweep::touched_distance(const StartContact& contact, const TouchedObstacle& entry, const Segment& capsule_axis) const noexcept {
    return world->field(contact.b)->distance_to(entry.obstacle, capsule_axis).distance_m - setup.shapes.volumes()[contact.a].radius_m;
}

namespace {

/// With credit the margin, and all that motion adds to it, can be asked of touched and untouched obstacles alike: what is compared
/// changes by no more than the distance does.
void give_credit(const Sweep& sweep, const StartContact& contact, TouchedObstacle& entry) noexcept {
    const double margin_m = sweep.required(contact.kind, contact.a, contact.b);
    entry.credit_m = std::max(margin_m - (entry.distance_m - tolerance::resolution_m), 0.0);
}

/// The single obstacles of a field that a volume is inside the margin of. Space outside a grid is none of them: what may stand
/// there is not one thing, so it keeps the whole margin. False when there are too many to follow.
bool collect_touched(Sweep& sweep, StartContact& contact) noexcept {
    const Segment capsule_axis = sweep.axis_in_base(contact.a, sweep.frames_of_row(0));
    const double margin_m = needed_distance(sweep.required(contact.kind, contact.a, contact.b), 0.0);
    const double reach_m = margin_m + sweep.setup.shapes.volumes()[contact.a].radius_m;
    contact.touched_first = static_cast<std::uint32_t>(sweep.workspace.touched.size());
    const bool fits = sweep.world->field(contact.b)->every_obstacle_near(capsule_axis, reach_m, [&](std::uint32_t obstacle) noexcept {
        sweep.charge_queries(1);
        TouchedObstacle entry;
        entry.obstacle = obstacle;
        entry.distance_m = sweep.touched_distance(contact, entry, capsule_axis);
        if (entry.distance_m > margin_m) return true;
        if (sweep.workspace.touched.size() == capacity::touched_max) return false;
        give_credit(sweep, contact, entry);
        entry.hulls_m = distance_of_hulls(sweep, {0, contact.a, contact.b, 0.0, 0.0}, obstacle, sweep.frames_of_row(0));
        if (std::isfinite(entry.hulls_m)) contact.hulls_m = entry.hulls_m;
        sweep.workspace.touched.push_back(entry);
        return true;
    });
    contact.touched_count = static_cast<std::uint32_t>(sweep.workspace.touched.size()) - contact.touched_first;
    const auto own = sweep.touched(contact);
    std::sort(own.begin(), own.end(), [](const TouchedObstacle& l, const TouchedObstacle& r) { return l.obstacle < r.obstacle; });
    return fits;
}

}  // namespace

void Sweep::withdraw_credit(PairKind kind, Finding& finding) const noexcept {
    const StartContact* contact = start_contact(kind, finding.item.a, finding.item.b);
    if (contact == nullptr) return;
    for (const TouchedObstacle& entry : touched(*contact)) {
        if (entry.obstacle != finding.obstacle) continue;
        finding.witness.distance_m -= entry.credit_m;
        finding.item.required_m -= entry.credit_m;
    }
}

double Sweep::nearest_touched(const StartContact& contact, const Transform* frames, bool with_credit) noexcept {
    const Segment capsule_axis = axis_in_base(contact.a, frames);
    double nearest_m = std::numeric_limits<double>::infinity();
    for (const TouchedObstacle& entry : touched(contact)) {
        nearest_m = std::min(nearest_m, touched_distance(contact, entry, capsule_axis) + (with_credit ? entry.credit_m : 0.0));
    }
    charge_queries(contact.touched_count);
    return nearest_m;
}

/// Scans the measured state for pairs inside their margin. They are then held to "not closer than now"
/// instead of to the margin.
bool Sweep::collect_start_contacts() noexcept {
    workspace.start_contacts.clear();
    workspace.touched.clear();
    uses_simd = false;
    place_axes(0);
    bound_row_motion(0, workspace.no_step);
    for (const PairKind kind : {PairKind::self, PairKind::world, PairKind::field}) {
        if (kind != PairKind::self && world->is_declared_absent()) break;
        const PairFunctions& functions = functions_of(kind);
        if (functions.shortlist != nullptr) functions.shortlist(*this, 0);
        workspace.items.clear();
        (void)functions.scan_row(*this, {0, workspace.no_step});
        for (const Item& item : workspace.items) {
            // Where an unmeasured gripper stands is not known, so neither is what "closer" means: it keeps its margin.
            if (pair_motion(kind, {0, item.a, item.b, 0.0, 0.0}, workspace.uncertainty) > 0.0) continue;
            if (workspace.start_contacts.size() == workspace.start_contacts.capacity()) return false;
            const OpenItem pair{0, item.a, item.b, 0.0, 0.0};
            const double distance_m = measure(kind, pair, frames_of_row(0), capacity::robot_extent_m_max).distance_m;
            StartContact contact{item.a, item.b, kind, distance_m};
            if (kind == PairKind::field) {
                if (!collect_touched(*this, contact)) return false;
            } else {
                contact.hulls_m = distance_of_hulls(*this, kind, pair, frames_of_row(0));
            }
            workspace.start_contacts.push_back(contact);
        }
    }
    workspace.items.clear();
    min_clearance_m = 1.0;
    return !items_overflow;
}

/// Volumes that move apart say nothing about the hulls inside them, which may swing into each other. So hulls come no closer
/// than they have been, and no deeper, all along a segment; what the volumes show with the whole margin is clear anyway. From an
/// obstacle of a field they come no closer than they were at the start.
double required_of_hull(double hulls_m, double margin_m) noexcept {
    const double closer_m = hulls_m - tolerance::resolution_m;
    // Those that are apart do not touch, however near they are.
    return std::min(margin_m, hulls_m > 0.0 ? std::max(closer_m, 0.0) : closer_m);
}

namespace {

/// Whether a pair that started inside its margin keeps what it had gained before a segment, all along it. Nothing else
/// is checked.
Outcome keeps_distance(Sweep& sweep, const StartContact& contact, std::size_t segment, Finding& finding) noexcept {
    sweep.workspace.items.clear();
    sweep.workspace.items.push_back({static_cast<std::uint32_t>(segment - 1), 0, contact.a, contact.b});
    sweep.workspace.item_first[segment - 1] = 0;
    sweep.workspace.item_first[segment] = sweep.workspace.item_first[segment + 1] = 1;
    const Outcome outcome = sweep.bisect_segment(contact.kind, segment, finding);
    if (outcome == Outcome::violated) sweep.report_deepest(contact.kind, segment, finding);
    return outcome;
}

Outcome keeps_hulls_apart(Sweep& sweep, const StartContact& contact, std::size_t segment, Finding& finding) noexcept {
    if (!std::isfinite(contact.hulls_m)) return Outcome::clear;
    const double margin_m = sweep.whole_margin(contact.kind);
    const bool in_field = contact.kind == PairKind::field;
    OpenItem item{0, contact.a, contact.b, 0.0, required_of_hull(contact.hulls_m, margin_m)};
    sweep.measure_segment_step(segment);
    item.motion_m = sweep.pair_motion(contact.kind, item, sweep.workspace.segment_step);
    struct Part {
        double middle;
        double half;
    };
    Part open[capacity::depth_max + 2];
    std::size_t count = 0;
    open[count++] = {0.5, 0.5};
    while (count > 0) {
        const Part part = open[--count];
        const Transform* frames = sweep.frames_between(segment, part.middle);
        if (frames == nullptr) return Outcome::budget;
        const double motion_m = item.motion_m * part.half;
        const double needed_m = needed_distance(margin_m, motion_m);
        sweep.charge_queries(1);
        const Witness volumes = in_field ? Witness{sweep.nearest_touched(contact, frames, false), {}, {}}
                                         : sweep.measure(contact.kind, item, frames, needed_m + tolerance::resolution_m);
        if (certified(volumes.distance_m, margin_m, motion_m)) continue;
        const Refined held = hold_hulls(sweep, contact, {sweep.workspace.segment_step, part.half}, item.required_m);
        if (held.certified) continue;
        if (held.violated || std::max(motion_m, held.motion_m) <= tolerance::resolution_m) {
            const bool told = std::isfinite(held.witness.distance_m);
            finding = {static_cast<std::uint32_t>(segment), item, part.middle, part.middle - part.half, told ? held.witness : volumes, told ? held.obstacle : sweep.last_obstacle};
            return Outcome::violated;
        }
        if (count + 2 > capacity::depth_max + 2) return Outcome::budget;
        const double quarter = 0.5 * part.half;
        open[count++] = {part.middle + quarter, quarter};  // the earlier half lies on top
        open[count++] = {part.middle - quarter, quarter};
    }
    return Outcome::clear;
}

/// Rows of the path, both ends included; empty when the last is before the first.
struct RowRange {
    std::size_t first;
    std::size_t last;
};

Outcome keeps_apart(Sweep& sweep, const StartContact& contact, std::size_t segment, Finding& finding) noexcept {
    Outcome outcome = keeps_distance(sweep, contact, segment, finding);
    if (outcome == Outcome::clear) outcome = keeps_hulls_apart(sweep, contact, segment, finding);
    if (outcome != Outcome::clear) finding.segment = static_cast<std::uint32_t>(segment);
    return outcome;
}

/// A pair that started inside its margin must move apart until it has left it, from row to row, and between two steps it may not
/// come closer than it was at the first. At the end of the motion it must be farther away than at the start; a stop beyond that
/// need not lead away any more.
Outcome follow_pair(Sweep& sweep, StartContact& contact, RowRange rows, Finding& finding) noexcept {
    const double margin_m = contact.kind == PairKind::self ? sweep.setup.config.self_margin_m : sweep.setup.config.world_margin_m;
    const double start_m = contact.distance_m;
    for (std::size_t index = rows.first; index <= rows.last; ++index) {
        const double previous_m = contact.distance_m;
        const OpenItem item{0, contact.a, contact.b, 0.0, previous_m};
        const Witness witness = sweep.measure(contact.kind, item, sweep.frames_of_row(index), capacity::robot_extent_m_max);
        const bool grows = witness.distance_m >= std::min(margin_m, previous_m);
        const bool grew = index != sweep.workspace.motion_rows || witness.distance_m > start_m;
        if (!grows || !grew) {
            finding = {static_cast<std::uint32_t>(index), item, 1.0, 0.0, witness, sweep.last_obstacle};
            return Outcome::violated;
        }
        if (const Outcome outcome = keeps_apart(sweep, contact, index, finding); outcome != Outcome::clear) return outcome;
        contact.distance_m = witness.distance_m;
        contact.hulls_m = std::max(contact.hulls_m, distance_of_hulls(sweep, contact.kind, item, sweep.frames_of_row(index)));
    }
    return Outcome::clear;
}

/// The same for every obstacle of a field that was touched: none of them comes closer, from row to row or in between, and at the end the
/// nearest is farther away than the nearest was. One alone may stay as far as it is, like a point beside a finger that is drawn back.
Outcome follow_touched(Sweep& sweep, const StartContact& contact, RowRange rows, Finding& finding) noexcept {
    const double margin_m = sweep.whole_margin(contact.kind);
    const double start_m = sweep.nearest_touched(contact, sweep.frames_of_row(0), false);
    for (std::size_t index = rows.first; index <= rows.last; ++index) {
        const Segment capsule_axis = sweep.axis_in_base(contact.a, sweep.frames_of_row(index));
        TouchedObstacle nearest{none, std::numeric_limits<double>::infinity()};
        const auto not_growing = [&](const TouchedObstacle& entry, double distance_m) noexcept {
            Witness witness{distance_m, capsule_axis.a, capsule_axis.a};
            if (entry.obstacle != none) witness = sweep.world->field(contact.b)->distance_to(entry.obstacle, capsule_axis);
            witness.distance_m = distance_m;
            finding = {static_cast<std::uint32_t>(index), {0, contact.a, contact.b, 0.0, entry.distance_m}, 1.0, 0.0, witness, entry.obstacle};
            return Outcome::violated;
        };
        for (const TouchedObstacle& entry : sweep.touched(contact)) {
            const double distance_m = sweep.touched_distance(contact, entry, capsule_axis);
            if (distance_m < nearest.distance_m) nearest = {entry.obstacle, distance_m};
            if (!(distance_m >= std::min(margin_m, entry.distance_m) - tolerance::rounding_m)) return not_growing(entry, distance_m);
        }
        if (index == sweep.workspace.motion_rows && !(nearest.distance_m > start_m)) return not_growing(nearest, nearest.distance_m);
        sweep.charge_queries(contact.touched_count);
        if (const Outcome outcome = keeps_apart(sweep, contact, index, finding); outcome != Outcome::clear) return outcome;
        for (TouchedObstacle& entry : sweep.touched(contact)) {
            entry.distance_m = sweep.touched_distance(contact, entry, capsule_axis);
            give_credit(sweep, contact, entry);
        }
    }
    return Outcome::clear;
}

}  // namespace

Outcome Sweep::follow_start_contacts(Finding& finding, PairKind& kind) noexcept {
    // The motion of all of them first: what only a stop would do decides after it.
    for (const RowRange rows : {RowRange{1, workspace.motion_rows}, RowRange{workspace.motion_rows + 1, workspace.path_rows}}) {
        for (StartContact& contact : workspace.start_contacts) {
            kind = contact.kind;
            const Outcome outcome = kind == PairKind::field ? follow_touched(*this, contact, rows, finding) : follow_pair(*this, contact, rows, finding);
            if (outcome != Outcome::clear) return outcome;
        }
    }
    return Outcome::clear;
}

}  // namespace lastgate::detail
