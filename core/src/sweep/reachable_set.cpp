// SPDX-License-Identifier: Apache-2.0
// Reachable sets: everything that a torque or a joint that was not measured can reach, as boxes of configurations. A box is halved until every
// pair is certified in all of it, or one is violated in its middle.
#include "reachable_set.hpp"

#include <algorithm>
#include <cmath>

#include "convex_refine.hpp"
#include "geometry/tolerance.hpp"
#include "pair_table.hpp"

namespace lastgate::detail {

/// What hulls could not certify either is described by whichever query saw it farther apart.
bool BoxTest::is_certified_by_hulls() noexcept {
    const Refined refined = refine(sweep_, kind_, item, sweep_.workspace.sample_frames.data(), {half_width_, 1.0});
    if (refined.certified) {
        sweep_.min_clearance_m = std::min(sweep_.min_clearance_m, refined.spare_m);
        return true;
    }
    violated_here = violated_here && refined.violated;
    if (refined.applies) {
        item.required_m = refined.required_m;
        item.motion_m = std::max(item.motion_m, refined.motion_m);
        if (refined.witness.distance_m > witness.distance_m) witness = refined.witness;
    }
    return false;
}

bool BoxTest::is_uncertified(std::uint16_t a, std::uint16_t b) noexcept {
    const Transform* frames = sweep_.workspace.sample_frames.data();
    item = {0, a, b, 0.0, sweep_.required(kind_, a, b)};
    item.motion_m = sweep_.pair_motion(kind_, item, half_width_);
    sweep_.charge_queries(1);
    witness = sweep_.measure(kind_, item, frames, sweep_.field_reach(item, item.motion_m));
    const double distance_m =
        sweep_.contacts_relied_on == 0 ? witness.distance_m : sweep_.with_contacts(kind_, item, segment_, frames, witness.distance_m);
    const Touching touching = functions_of(kind_).touching;
    if (certified(distance_m, item.required_m, item.motion_m, touching)) {
        if (touching == Touching::forbidden) {
            sweep_.min_clearance_m = std::min(sweep_.min_clearance_m, distance_m - item.required_m - item.motion_m);
        }
        return false;
    }
    violated_here = violated(distance_m, item.required_m);
    return !is_certified_by_hulls();
}

namespace {

/// The variable that contributes most to the motion of the pair that is not certified.
std::size_t widest_variable(Sweep& sweep, PairKind kind, const OpenItem& item, std::span<const double> half_width) noexcept {
    std::vector<double>& probe = sweep.workspace.probe_step;
    std::size_t widest = 0;
    double largest_m = -1.0;
    std::fill(probe.begin(), probe.end(), 0.0);
    for (std::size_t variable = 0; variable < sweep.variable_count(); ++variable) {
        probe[variable] = half_width[variable];
        const double moved_m = sweep.pair_motion(kind, item, probe);
        probe[variable] = 0.0;
        if (moved_m > largest_m) {
            largest_m = moved_m;
            widest = variable;
        }
    }
    return widest;
}

}  // namespace

Outcome Sweep::run_reachable_set(PairKind kind, std::span<const double> half_width, std::size_t segment, Finding& finding) noexcept {
    const PairFunctions& functions = functions_of(kind);
    const std::size_t variables = variable_count();
    const std::size_t box_size = 2 * variables;
    const std::size_t boxes_max = workspace.boxes.size() / box_size;
    std::copy_n(row(0), variables, workspace.boxes.data());
    std::copy_n(half_width.data(), variables, workspace.boxes.data() + variables);
    std::size_t open_count = 1;
    place_axes(0);
    bound_row_motion(0, half_width);
    if (functions.shortlist != nullptr) functions.shortlist(*this, 0);
    while (open_count > 0) {
        double* box = workspace.boxes.data() + (open_count - 1) * box_size;
        const std::span<double> centre{box, variables};
        const std::span<double> half{box + variables, variables};
        if (is_budget_spent()) return Outcome::budget;
        ++evaluations;
        forward_kinematics(*setup.model, centre.data(), workspace.sample_frames);
        bound_row_motion(0, half);
        BoxTest test(*this, kind, half, segment);
        if (!functions.find_uncertified(*this, test)) {
            --open_count;
            continue;
        }
        if (test.violated_here || test.item.motion_m <= tolerance::resolution_m) {
            finding = {1, test.item, 1.0, 0.0, test.witness, last_obstacle};
            return Outcome::violated;
        }
        if (open_count >= boxes_max) return Outcome::budget;
        const std::size_t widest = widest_variable(*this, kind, test.item, half);
        half[widest] *= 0.5;
        double* twin = box + box_size;
        std::copy_n(box, box_size, twin);
        centre[widest] -= half[widest];
        twin[widest] += half[widest];
        ++open_count;
    }
    return Outcome::clear;
}

}  // namespace lastgate::detail
