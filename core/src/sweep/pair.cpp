// SPDX-License-Identifier: Apache-2.0
// What is the same for every kind of pair: required distance, and what a row that cannot certify a pair notes.
#include <algorithm>
#include <limits>

#include "convex_refine.hpp"
#include "geometry/tolerance.hpp"
#include "pair_table.hpp"

namespace lastgate::detail {

double Sweep::whole_margin(PairKind kind) const noexcept { return functions_of(kind).margin_m(setup.config) + extra_m; }

double Sweep::pair_motion(PairKind kind, const OpenItem& item, std::span<const double> step) const noexcept {
    return functions_of(kind).motion(*this, item, step);
}

Witness Sweep::measure(PairKind kind, const OpenItem& item, const Transform* frames, double within_m) noexcept {
    return functions_of(kind).measure(*this, item, frames, within_m);
}

double Sweep::required(PairKind kind, std::uint16_t a, std::uint16_t b) const noexcept {
    const double margin_m = whole_margin(kind) + pair_motion(kind, {0, a, b, 0.0, 0.0}, workspace.uncertainty);
    const StartContact* contact = start_contact(kind, a, b);
    // While recovering, a pair that starts inside its margin may not come closer than it is. A field is many obstacles: its margin
    // stays, and those that were touched get credit for what they lack (pairs/field.cpp).
    if (contact == nullptr || kind == PairKind::field) return margin_m;
    return std::min(margin_m, contact->distance_m - tolerance::resolution_m);
}

double Sweep::field_reach(const OpenItem& item, double motion_m) const noexcept {
    return item.required_m + motion_m + std::max(min_clearance_m, tolerance::resolution_m);
}

/// Sixteen queries at all vertices of two hulls take about as long as placing a robot once. Charged so, a check of a
/// twelve-joint robot that did little else took 1.73 microseconds per evaluation; charged one by two it took 0.22. A
/// query of two volumes is charged like one of two hulls.
void Sweep::charge_queries(std::uint32_t queries) noexcept {
    constexpr std::uint32_t queries_per_evaluation = 16;
    uncharged_queries += queries;
    evaluations += uncharged_queries / queries_per_evaluation;
    uncharged_queries %= queries_per_evaluation;
}

double Sweep::directional_bound(PairKind kind, const OpenItem& item, const PathInterval& interval,
                                double distance_m) noexcept {
    constexpr double unknown = -std::numeric_limits<double>::infinity();
    const PairFunctions& functions = functions_of(kind);
    // Along a direction two shapes are no farther apart than they are.
    if (functions.place_second == nullptr || !interval.is_straight() ||
        !certified(distance_m, std::max(item.required_m, 0.0), 0.0))
        return unknown;
    PlacedShape first;
    PlacedShape second;
    first.set_volume(setup.shapes.volumes()[item.a], interval.frames);
    if (!functions.place_second(*this, item, interval.frames, second)) return unknown;
    const Witness witness = functions.measure(*this, item, interval.frames, 0.0);
    charge_queries(1);
    return directional_distance({*setup.model, first, second, interval}, witness.on_second - witness.on_first);
}

bool Sweep::note(PairKind kind, const RowScan& scan, std::uint32_t key, std::uint16_t a, std::uint16_t b,
                 double distance_m) noexcept {
    const Touching touching = functions_of(kind).touching;
    const double required_m = required(kind, a, b);
    const double motion_m = pair_motion(kind, {key, a, b, 0.0, 0.0}, scan.step);
    const double volumes_m = distance_m;
    double here_m = distance_m;
    if (contacts_relied_on != 0) {
        // The row ends one segment and starts the next: to certify both, a contact must be declared for both.
        const OpenItem item{key, a, b, motion_m, required_m};
        const Transform* frames = frames_of_row(scan.row);
        here_m = with_contacts(kind, item, std::max<std::size_t>(scan.row, 1), frames, distance_m);
        distance_m = with_contacts(kind, item, std::min(scan.row + 1, workspace.path_rows), frames, distance_m);
    }
    if (certified(distance_m, required_m, motion_m, touching)) {
        if (touching == Touching::forbidden) min_clearance_m = std::min(min_clearance_m, distance_m - required_m - motion_m);
        return false;
    }
    by_volumes_alone = false;
    const double directional_m = directional_bound(kind, {key, a, b, motion_m, required_m}, scan.interval, volumes_m);
    if (certified(directional_m, required_m, 0.0)) {
        min_clearance_m = std::min(min_clearance_m, directional_m - required_m);
        return false;
    }
    // One pair rejects a single configuration: a narrow-phase query at the others could not change that, and their
    // volumes bound the clearance from below as well.
    contact_segment = std::min(scan.row + 1, workspace.path_rows);
    const bool is_rejected_already = row_alone && !all_certified();
    const Refined refined = is_rejected_already ? Refined{}
                                               : refine(*this, kind, {key, a, b, 0.0, 0.0}, frames_of_row(scan.row),
                                                        {scan.step, 1.0, scan.interval});
    contact_segment = no_segment;
    if (refined.certified) {
        min_clearance_m = std::min(min_clearance_m, refined.spare_m);
        return false;
    }
    if (row_alone && touching == Touching::forbidden) {
        const double closer_m = refined.applies ? refined.witness.distance_m - refined.required_m : distance_m - required_m;
        min_clearance_m = std::min(min_clearance_m, std::max(closer_m, distance_m - required_m));
    }
    if (workspace.items.size() >= capacity::items_max) {
        items_overflow = true;
        return true;
    }
    workspace.items.push_back({static_cast<std::uint32_t>(scan.row), key, a, b});
    return violated(here_m, required_m, touching) && refined.violated;
}

}  // namespace lastgate::detail
