// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "lastgate/tolerance.hpp"
#include "sweep.hpp"

namespace lastgate {

/// The second look at a pair that a box around the sampled configuration cannot clear. What it could not show either
/// is described by whichever look saw it farther apart.
bool Sweep::shown_by_pieces(PairKind kind, std::span<const double> half_width, OpenItem& item, Witness& witness) noexcept {
    const Refined refined = refine(kind, item, gate_.sample_frames_.data(), {half_width, 1.0});
    if (refined.shown) {
        best_m_ = std::min(best_m_, refined.spare_m);
        return true;
    }
    violated_here_ = violated_here_ && refined.violated;
    if (refined.applies) {
        item.demand_m = refined.demand_m;
        item.motion_m = std::max(item.motion_m, refined.motion_m);
        if (refined.witness.distance_m > witness.distance_m) witness = refined.witness;
    }
    return false;
}

/// The pair that a box around the sampled configuration cannot clear, or none.
bool Sweep::find_unshown(PairKind kind, std::span<const double> half_width, OpenItem& item, Witness& witness) noexcept {
    const Transform* frames = gate_.sample_frames_.data();
    const auto test = [&](std::uint16_t a, std::uint16_t b) noexcept {
        item = {0, a, b, 0.0, demand(kind, a, b)};
        item.motion_m = pair_motion(kind, item, half_width);
        charge_looks(1);
        witness = measure(kind, item, frames, field_reach(item, item.motion_m));
        // A tube is one segment: a contact counts for all of it or not at all.
        const double distance_m = relied_ == 0 ? witness.distance_m : with_contacts(kind, item, 1, frames, witness.distance_m);
        const double slack_m = kind == PairKind::box ? 0.0 : tolerance::rounding_m;
        const bool shown = distance_m >= item.demand_m + item.motion_m + slack_m;
        if (shown && kind != PairKind::box) best_m_ = std::min(best_m_, distance_m - item.demand_m - item.motion_m);
        if (shown) return false;
        violated_here_ = !(distance_m > item.demand_m);
        return !shown_by_pieces(kind, half_width, item, witness);
    };
    if (kind == PairKind::box) {
        for (std::size_t index = 0; index < gate_.model_->effectors().size(); ++index) {
            if (test(static_cast<std::uint16_t>(index), 0)) return true;
        }
        return false;
    }
    const auto balls = gate_.shapes_.balls();
    if (kind == PairKind::self) {
        for (const BodyPair& bodies : gate_.shapes_.body_pairs()) {
            const double* tail_a = gate_.tails_.data() + bodies.a * (capacity::chain_max + 1);
            const double* tail_b = gate_.tails_.data() + bodies.b * (capacity::chain_max + 1);
            const double needed_m = gate_.config_.self_margin_m + extra_m_ + tail_a[bodies.common_depth] +
                                    tail_b[bodies.common_depth] + tolerance::rounding_m;
            const double gap_m = norm(frames[bodies.a] * balls[bodies.a].centre - frames[bodies.b] * balls[bodies.b].centre) -
                                 balls[bodies.a].radius_m - balls[bodies.b].radius_m;
            if (gap_m > needed_m && gap_m - needed_m >= best_m_) continue;
            for (std::uint32_t index = bodies.first; index < bodies.first + bodies.count; ++index) {
                const VolumePair pair = gate_.shapes_.volume_pairs()[index];
                if (test(pair.a, pair.b)) return true;
            }
        }
        return false;
    }
    if (kind == PairKind::keep_in) {
        for (std::size_t index = 0; index < volume_count(); ++index) {
            for (std::size_t zone = 0; zone < gate_.config_.keep_in_zones.size(); ++zone) {
                if (stays_inside(zone, index) && test(static_cast<std::uint16_t>(index), static_cast<std::uint16_t>(zone))) return true;
            }
        }
        return false;
    }
    if (kind == PairKind::field) {
        for (std::size_t index = 0; index < volume_count(); ++index) {
            if (gate_.model_->bodies()[gate_.shapes_.volumes()[index].body].depth == 0) continue;  // see shortlist_primitives
            for (std::size_t slot = 0; slot < field_slots; ++slot) {
                if (world_->field(slot) != nullptr && test(static_cast<std::uint16_t>(index), static_cast<std::uint16_t>(slot))) return true;
            }
        }
        return false;
    }
    for (const BodyPrimitive entry : shortlist()) {
        for (const std::uint16_t volume : gate_.shapes_.volumes_of_body(entry.body)) {
            if (test(volume, entry.primitive)) return true;
        }
    }
    return false;
}

/// Halves the box along the variable that contributes most to the motion of the pair in doubt.
std::size_t Sweep::widest_variable(PairKind kind, const OpenItem& item, std::span<const double> half_width) noexcept {
    std::size_t widest = 0;
    double largest_m = -1.0;
    std::fill(gate_.step_.begin(), gate_.step_.end(), 0.0);
    for (std::size_t variable = 0; variable < variable_count(); ++variable) {
        gate_.step_[variable] = half_width[variable];
        const double moved_m = pair_motion(kind, item, gate_.step_);
        gate_.step_[variable] = 0.0;
        if (moved_m > largest_m) {
            largest_m = moved_m;
            widest = variable;
        }
    }
    return widest;
}

Outcome Sweep::run_tube(PairKind kind, std::span<const double> half_width, Finding& finding) noexcept {
    const std::size_t variables = variable_count();
    const std::size_t box_size = 2 * variables;
    const std::size_t boxes_max = gate_.tube_.size() / box_size;
    std::copy_n(row(0), variables, gate_.tube_.data());
    std::copy_n(half_width.data(), variables, gate_.tube_.data() + variables);
    std::size_t open_count = 1;
    place_cores(0);
    bound_row_motion(0, half_width);
    if (kind == PairKind::world) shortlist_primitives(0);
    while (open_count > 0) {
        double* box = gate_.tube_.data() + (open_count - 1) * box_size;
        const std::span<double> centre{box, variables};
        const std::span<double> half{box + variables, variables};
        if (evaluations_ >= gate_.config_.evaluations_max) return Outcome::budget;
        ++evaluations_;
        forward_kinematics(*gate_.model_, centre.data(), gate_.sample_frames_);
        bound_row_motion(0, half);
        OpenItem item;
        Witness witness{};
        if (!find_unshown(kind, half, item, witness)) {
            --open_count;
            continue;
        }
        if (violated_here_ || item.motion_m <= tolerance::resolution_m) {
            finding = {1, item, 1.0, 0.0, witness, last_obstacle_};
            return Outcome::violated;
        }
        if (open_count >= boxes_max) return Outcome::budget;
        const std::size_t widest = widest_variable(kind, item, half);
        half[widest] *= 0.5;
        double* twin = box + box_size;
        std::copy_n(box, box_size, twin);
        centre[widest] -= half[widest];
        twin[widest] += half[widest];
        ++open_count;
    }
    return Outcome::clear;
}

}  // namespace lastgate
