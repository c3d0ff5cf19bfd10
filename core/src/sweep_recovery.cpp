// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "lastgate/tolerance.hpp"
#include "sweep.hpp"

namespace lastgate {

/// Scans the measured state for pairs inside their margin. They are then held to "not closer than now"
/// instead of to the margin.
bool Sweep::collect_start_contacts() noexcept {
    gate_.contacts_.clear();
    lanes_used_ = false;
    place_cores(0);
    std::fill(gate_.step_.begin(), gate_.step_.end(), 0.0);
    bound_row_motion(0, gate_.step_);
    for (const PairKind kind : {PairKind::self, PairKind::world, PairKind::field}) {
        if (kind != PairKind::self && world_->is_declared_absent()) break;
        if (kind == PairKind::world) shortlist_primitives(0);
        gate_.items_.clear();
        (void)scan_row(kind, 0);
        for (const Item& item : gate_.items_) {
            // Where a gripper stands that nobody measured is not known, so neither is what "closer" means: it keeps its margin.
            if (pair_motion(kind, {0, item.a, item.b, 0.0, 0.0}, gate_.uncertainty_) > 0.0) continue;
            if (gate_.contacts_.size() == gate_.contacts_.capacity()) return false;
            const OpenItem pair{0, item.a, item.b, 0.0, 0.0};
            const double distance_m = measure(kind, pair, frames_of_row(0), capacity::robot_extent_m_max).distance_m;
            gate_.contacts_.push_back({item.a, item.b, kind, distance_m, distance_of_pieces(kind, pair, frames_of_row(0))});
        }
    }
    gate_.items_.clear();
    best_m_ = 1.0;
    return !overflow_;
}

/// Whether a pair that started inside its margin keeps what it had gained before a segment, all along it. Nothing else is looked at.
Outcome Sweep::keeps_distance(const StartContact& contact, std::size_t segment, Finding& finding) noexcept {
    gate_.items_.clear();
    gate_.items_.push_back({static_cast<std::uint32_t>(segment - 1), 0, contact.a, contact.b});
    item_first_[segment - 1] = 0;
    item_first_[segment] = item_first_[segment + 1] = 1;
    const Outcome outcome = bisect_segment(contact.kind, segment, finding);
    if (outcome == Outcome::violated) report_deepest(contact.kind, segment, finding);
    return outcome;
}

/// Volumes that move apart say nothing about the pieces inside them, which may swing into each other. So pieces come no closer
/// than they have been, and no deeper, all along a segment; what the volumes show with the whole margin is clear anyway.
Outcome Sweep::keeps_pieces_apart(const StartContact& contact, std::size_t segment, Finding& finding) noexcept {
    if (!std::isfinite(contact.pieces_m)) return Outcome::clear;
    const double margin_m = whole_margin(contact.kind);
    const double closer_m = contact.pieces_m - tolerance::resolution_m;
    // Those that are apart do not touch, however near they are.
    OpenItem item{0, contact.a, contact.b, 0.0, std::min(margin_m, contact.pieces_m > 0.0 ? std::max(closer_m, 0.0) : closer_m)};
    for (std::size_t variable = 0; variable < variable_count(); ++variable) {
        gate_.step_[variable] = std::abs(row(segment)[variable] - row(segment - 1)[variable]);
    }
    item.motion_m = pair_motion(contact.kind, item, gate_.step_);
    struct Part {
        double middle;
        double half;
    };
    Part open[capacity::depth_max + 2];
    std::size_t count = 0;
    open[count++] = {0.5, 0.5};
    while (count > 0) {
        const Part part = open[--count];
        if (!sample_segment(segment, part.middle)) return Outcome::budget;
        const double motion_m = item.motion_m * part.half;
        const double needed_m = margin_m + motion_m + tolerance::rounding_m;
        charge_looks(1);
        const Witness volumes = measure(contact.kind, item, gate_.sample_frames_.data(), needed_m + tolerance::resolution_m);
        if (volumes.distance_m > needed_m) continue;
        const Refined held = hold_pieces(contact.kind, item, {gate_.step_, part.half}, item.demand_m);
        if (held.shown) continue;
        if (held.violated || std::max(motion_m, held.motion_m) <= tolerance::resolution_m) {
            const bool told = std::isfinite(held.witness.distance_m);
            finding = {static_cast<std::uint32_t>(segment), item, part.middle, part.middle - part.half, told ? held.witness : volumes, told ? held.obstacle : last_obstacle_};
            return Outcome::violated;
        }
        if (count + 2 > capacity::depth_max + 2) return Outcome::budget;
        const double quarter = 0.5 * part.half;
        open[count++] = {part.middle + quarter, quarter};  // the earlier half lies on top
        open[count++] = {part.middle - quarter, quarter};
    }
    return Outcome::clear;
}

/// Every pair that started inside its margin must move apart until it has left it, from row to row, and between two rows it may not
/// come closer than it was at the first: a field is one obstacle, and what was left behind may stand in the way again. At
/// the end it must be farther away than at the start.
Outcome Sweep::follow_start_contacts(Finding& finding, PairKind& kind) noexcept {
    for (StartContact& contact : gate_.contacts_) {
        const double margin_m = contact.kind == PairKind::self ? gate_.config_.self_margin_m : gate_.config_.world_margin_m;
        const double start_m = contact.distance_m;
        for (std::size_t index = 1; index <= gate_.path_rows_; ++index) {
            const double previous_m = contact.distance_m;
            kind = contact.kind;
            const OpenItem item{0, contact.a, contact.b, 0.0, previous_m};
            const Witness witness = measure(contact.kind, item, frames_of_row(index), capacity::robot_extent_m_max);
            const bool grows = witness.distance_m >= std::min(margin_m, previous_m);
            const bool grew = index < gate_.path_rows_ || witness.distance_m > start_m;
            if (!grows || !grew) {
                finding = {static_cast<std::uint32_t>(index), item, 1.0, 0.0, witness, last_obstacle_};
                return Outcome::violated;
            }
            Outcome outcome = keeps_distance(contact, index, finding);
            if (outcome == Outcome::clear) outcome = keeps_pieces_apart(contact, index, finding);
            if (outcome != Outcome::clear) {
                finding.segment = static_cast<std::uint32_t>(index);
                return outcome;
            }
            contact.distance_m = witness.distance_m;
            contact.pieces_m = std::max(contact.pieces_m, distance_of_pieces(contact.kind, item, frames_of_row(index)));
        }
    }
    return Outcome::clear;
}

}  // namespace lastgate
