// SPDX-License-Identifier: Apache-2.0
// The sweep of a path: rows first, then bisection in time of what no row certifies.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "convex_refine.hpp"
#include "geometry/tolerance.hpp"
#include "pair_table.hpp"

namespace lastgate::detail {
namespace {

/// Merges what the two rows of a segment could not certify into one list at the start of the arena. False when there is no room.
bool open_segment(Sweep& sweep, PairKind kind, std::size_t segment) noexcept {
    SweepWorkspace& workspace = sweep.workspace;
    sweep.measure_segment_step(segment);
    const Item* left = workspace.items.data() + workspace.item_first[segment - 1];
    const Item* left_end = workspace.items.data() + workspace.item_first[segment];
    const Item* right = left_end;
    const Item* right_end = workspace.items.data() + workspace.item_first[segment + 1];
    workspace.arena.clear();
    while (left != left_end || right != right_end) {
        const bool take_left = right == right_end || (left != left_end && left->key <= right->key);
        const Item& item = take_left ? *left : *right;
        if (left != left_end && left->key == item.key) ++left;
        if (right != right_end && right->key == item.key) ++right;
        if (workspace.arena.size() >= capacity::items_max) {
            sweep.items_overflow = true;
            return false;
        }
        OpenItem open{item.key, item.a, item.b, 0.0, sweep.required(kind, item.a, item.b)};
        open.motion_m = sweep.pair_motion(kind, open, workspace.segment_step);
        workspace.arena.push_back(open);
    }
    return true;
}

struct OpenInterval {
    double low = 0.0;
    double high = 1.0;
    std::uint32_t first = 0;
    std::uint32_t last = 0;
};

}  // namespace

/// Bisects one segment, earlier halves first, so that the first instant that cannot be certified is found.
Outcome Sweep::bisect_segment(PairKind kind, std::size_t segment, Finding& finding) noexcept {
    const PairFunctions& functions = functions_of(kind);
    std::array<OpenInterval, capacity::depth_max + 2> stack;
    std::size_t open_count = 0;
    if (!open_segment(*this, kind, segment)) return Outcome::budget;
    if (workspace.arena.empty()) return Outcome::clear;
    stack[open_count++] = {0.0, 1.0, 0, static_cast<std::uint32_t>(workspace.arena.size())};
    finding.segment = none;

    while (open_count > 0) {
        const OpenInterval interval = stack[--open_count];
        workspace.arena.resize(interval.last);
        const double middle = 0.5 * (interval.low + interval.high);
        const double half = 0.5 * (interval.high - interval.low);
        const Transform* frames = frames_between(segment, middle);
        if (frames == nullptr) return Outcome::budget;
        bool violated_here = false;
        bool at_resolution = false;
        for (std::uint32_t index = interval.first; index < interval.last; ++index) {
            const OpenItem item = workspace.arena[index];
            const double motion_m = item.motion_m * half;
            charge_queries(1);
            const double volumes_m = functions.measure(*this, item, frames, field_reach(item, motion_m)).distance_m;
            double distance_m = volumes_m;
            if (contacts_relied_on != 0) distance_m = with_contacts(kind, item, segment, frames, distance_m);
            if (certified(distance_m, item.required_m, motion_m, functions.touching)) {
                if (functions.touching == Touching::forbidden) min_clearance_m = std::min(min_clearance_m, distance_m - item.required_m - motion_m);
                continue;
            }
            const double directional_m = directional_bound(kind, item, interval_in_segment(half), volumes_m);
            if (certified(directional_m, item.required_m, 0.0)) {
                min_clearance_m = std::min(min_clearance_m, directional_m - item.required_m);
                continue;
            }
            contact_segment = segment;
            const Refined refined =
                refine(*this, kind, item, frames, {workspace.segment_step, half, interval_in_segment(half)});
            contact_segment = no_segment;
            if (refined.certified) {
                min_clearance_m = std::min(min_clearance_m, refined.spare_m);
                continue;
            }
            if (workspace.arena.size() >= capacity::items_max) return Outcome::budget;
            workspace.arena.push_back(item);
            const bool finished = std::max(motion_m, refined.motion_m) <= tolerance::resolution_m;
            const bool is_violated = violated(distance_m, item.required_m, functions.touching) && refined.violated;
            if ((is_violated && !violated_here) || (finished && !at_resolution)) {
                finding.segment = static_cast<std::uint32_t>(segment);
                finding.item = item;
                finding.segment_t = middle;
                finding.first_contact_t = interval.low;
            }
            violated_here |= is_violated;
            at_resolution |= finished;
        }
        const auto kept = static_cast<std::uint32_t>(workspace.arena.size());
        if (kept == interval.last) continue;
        // Everything earlier was certified, so what cannot be certified here comes first.
        if (at_resolution) return Outcome::violated;
        // Nothing after a violation matters; something before it may.
        if (violated_here) open_count = 0;
        if (open_count + 2 > stack.size()) return Outcome::budget;
        if (!violated_here) stack[open_count++] = {middle, interval.high, interval.last, kept};
        stack[open_count++] = {interval.low, middle, interval.last, kept};
    }
    return finding.segment == none ? Outcome::clear : Outcome::violated;
}

void Sweep::report_deepest(PairKind kind, std::size_t segment, Finding& finding) noexcept {
    constexpr int queries = 8;
    const double whole_m = finding.item.required_m;
    double deepest_m = 0.0;
    bool first = true;
    for (int query = -1; query <= queries; ++query) {
        const double span = 1.0 - finding.first_contact_t;
        const double t = query < 0 ? finding.segment_t : finding.first_contact_t + span * query / queries;
        sample_segment(segment, t);
        const Transform* frames = workspace.sample_frames.data();
        Witness witness = measure(kind, finding.item, frames, finding.item.required_m + 10.0 * tolerance::resolution_m);
        std::uint32_t obstacle = last_obstacle;
        const OpenItem item{finding.item.key, finding.item.a, finding.item.b, finding.item.motion_m, whole_m};
        // Hulls know how far apart they are, not how deep they overlap; the volumes know both. In a declared contact the
        // way that would part the hulls counts, as in the decision.
        if (contacts_relied_on == 0) {
            const Refined refined = refine(*this, kind, item, frames, {workspace.no_step, 0.0});
            if (refined.applies && refined.witness.distance_m > std::max(witness.distance_m, 0.0)) {
                witness = refined.witness;
                obstacle = refined.obstacle;
            }
        } else {
            witness.distance_m = std::max(witness.distance_m, signed_distance_of_hulls(*this, kind, item, frames));
        }
        // The instant at which the least that is asked for is kept worst; where that is kept, the place was not in the region.
        const double spare_m = witness.distance_m - required_in_contact(kind, item, segment, -std::numeric_limits<double>::infinity());
        if (first || spare_m < deepest_m) {
            deepest_m = spare_m;
            finding.item.required_m = required_in_contact(kind, item, segment, witness.distance_m);
            finding.witness = witness;
            finding.obstacle = obstacle;
            finding.segment_t = t;
        }
        first = false;
    }
    withdraw_credit(kind, finding);
}

Outcome Sweep::run(PairKind kind, std::size_t row_last, Finding& finding) noexcept {
    workspace.items.clear();
    test_groups(kind, row_last);
    std::size_t scanned = 0;
    std::size_t violating_row = row_last + 1;
    for (std::size_t index = 0; index <= row_last && violating_row > row_last; ++index) {
        workspace.item_first[index] = workspace.items.size();
        scanned = index;
        if (!is_row_unresolved(index)) continue;
        place_axes(index);
        bound_half_step(index);
        bound_row_motion(index, workspace.row_half_step);
        if (functions_of(kind).scan_row(*this, {index, workspace.row_half_step, interval_around_row(index)}))
            violating_row = index;
    }
    workspace.item_first[scanned + 1] = workspace.items.size();
    if (scanned == 0) workspace.item_first[2] = workspace.item_first[1];  // only the measured state was checked, and it violates
    if (items_overflow) return Outcome::budget;
    if (workspace.items.empty()) return Outcome::clear;
    for (std::size_t segment = 1; segment <= std::max<std::size_t>(scanned, 1); ++segment) {
        if (workspace.item_first[segment - 1] == workspace.item_first[segment + 1]) continue;
        const Outcome outcome = bisect_segment(kind, segment, finding);
        if (outcome == Outcome::violated) report_deepest(kind, segment, finding);
        if (outcome != Outcome::clear) {
            finding.segment = static_cast<std::uint32_t>(segment);
            return outcome;
        }
    }
    // A violating row lies in the last segment; should bisection not have found it, nothing is certified.
    return violating_row > row_last ? Outcome::clear : Outcome::budget;
}

double Sweep::clearance_of_row_alone(PairKind* first) noexcept {
    workspace.items.clear();
    row_alone = true;
    uses_simd = false;
    place_axes(0);
    bound_row_motion(0, workspace.no_step);
    for (const PairKind kind : {PairKind::self, PairKind::keep_in, PairKind::world, PairKind::field, PairKind::zone}) {
        const bool in_world = kind == PairKind::world || kind == PairKind::field;
        if (in_world && world->is_declared_absent()) continue;
        const PairFunctions& functions = functions_of(kind);
        if (functions.shortlist != nullptr) functions.shortlist(*this, 0);
        if (first != nullptr && all_certified()) *first = kind;
        (void)functions.scan_row(*this, {0, workspace.no_step});
    }
    return min_clearance_m;
}

}  // namespace lastgate::detail
