// SPDX-License-Identifier: Apache-2.0
// self_collision, world_collision, recovery_not_growing: nothing comes closer than its margin between
// the measured state and the last row.
#include <algorithm>

#include "validation.hpp"

namespace lastgate::detail {

/// A caller may execute the certified rows, so they must be clear of everything, not only of what the
/// failing check checks.
void Validation::confirm_prefix(PairKind failed) noexcept {
    const auto confirm = [&](PairKind kind) noexcept {
        if (verdict_.certified_rows == 0) return;
        Finding finding;
        if (sweep_.run(kind, verdict_.certified_rows, finding) == Outcome::clear) return;
        verdict_.certified_rows = finding.segment == none ? 0 : finding.segment - 1;
    };
    if (failed == PairKind::box) {
        // The world was not evaluated yet; its age and name belong to a later stage than the one that decided.
        const Verdict decided = verdict_;
        const bool world_available = check_world_unavailable();
        verdict_ = decided;
        if (!world_available) verdict_.certified_rows = 0;
        confirm(PairKind::self);
    }
    // Zones come after all that the snapshot holds, and keep-in zones after them: what was passed need not be certified
    // again.
    const bool snapshot_passed = failed == PairKind::keep_in || failed == PairKind::zone;
    if (verdict_.certified_rows > 0 && !snapshot_passed && !request_.world->is_declared_absent()) {
        if (failed == PairKind::box || failed == PairKind::self) confirm(PairKind::world);
        if (failed != PairKind::field) confirm(PairKind::field);
        if (verdict_.certified_rows > 0 && has_footprint_to_check()) {
            Finding finding;
            if (sweep_.run_footprint(verdict_.certified_rows, finding) != Outcome::clear) {
                verdict_.certified_rows = finding.segment == none ? 0 : finding.segment - 1;
            }
        }
    }
    if (failed == PairKind::keep_in) return;  // the last check: all others have passed
    if (!setup_.keep_in.primitives().empty()) confirm(PairKind::keep_in);
    if (!setup_.zones.primitives().empty() && failed != PairKind::zone) confirm(PairKind::zone);
}

Outcome Validation::run_sweep(PairKind kind, Finding& finding) noexcept {
    return sweeps_reachable_set_ ? sweep_.run_reachable_set(kind, workspace_.half_width, 1, finding) : sweep_.run(kind, workspace_.path_rows, finding);
}

bool Validation::check_self_collision() noexcept {
    if (request_.recovery && !sweep_.collect_start_contacts()) return reject_budget();
    // The stage after this one checks all obstacles; what it will find closest spares work here already.
    if (!sweeps_reachable_set_ && !request_.world->is_declared_absent()) sweep_.query_closest();
    Finding finding;
    if (settle(PairKind::self, run_sweep(PairKind::self, finding), finding)) return true;
    confirm_prefix(PairKind::self);
    return false;
}

/// Every pair is first held to its whole margin. Only a pair that fails and has a declared contact is checked
/// again with it, so that a contact which was not needed is never reported as used.
bool Validation::sweep_world(PairKind kind) noexcept {
    Finding finding;
    Outcome outcome = Outcome::budget;
    // Each round relies on one contact more, and there are few.
    for (std::size_t round = 0; round <= capacity::declared_contacts_max; ++round) {
        outcome = run_sweep(kind, finding);
        if (outcome != Outcome::violated || !sweep_.rely_on_contacts(kind, finding.item)) break;
        contact_segment_ = std::min(contact_segment_, finding.segment);
    }
    if (settle(kind, outcome, finding)) return true;
    confirm_prefix(kind);
    return false;
}

bool Validation::check_world_collision() noexcept {
    const WorldSnapshot& world = *request_.world;
    if (world.is_declared_absent()) return true;
    const bool has_field = world.has_fields();
    return sweep_world(PairKind::world) && (!has_field || sweep_world(PairKind::field));
}

bool Validation::check_recovery() noexcept {
    if (workspace_.start_contacts.empty()) return true;
    Finding finding;
    PairKind kind = PairKind::self;
    // How deep a capsule axis lies inside a box, a cylinder or a voxel is not measured, and a reachable set has no direction: what is to
    // grow cannot be told in either case.
    const auto cannot_grow = [&](const StartContact& contact) noexcept {
        if (sweeps_reachable_set_) return true;
        const bool solid = contact.kind == PairKind::field ||
                           (contact.kind == PairKind::world && is_solid(request_.world->primitives()[contact.b].kind));
        return solid && !(contact.distance_m + setup_.shapes.volumes()[contact.a].radius_m > 0.0);
    };
    const auto stuck = std::find_if(workspace_.start_contacts.begin(), workspace_.start_contacts.end(), cannot_grow);
    if (stuck != workspace_.start_contacts.end()) {
        finding = {1, {0, stuck->a, stuck->b, 0.0, stuck->distance_m}, 1.0, 0.0, {stuck->distance_m, {}, {}}, none};
        kind = stuck->kind;
    } else if (const Outcome outcome = sweep_.follow_start_contacts(finding, kind); outcome != Outcome::violated) {
        verdict_.recovery = outcome == Outcome::clear ? 1 : 0;
        return outcome == Outcome::clear || settle(kind, outcome, finding);
    } else if (is_in_stop(finding)) {
        verdict_.recovery = 1;
        return settle(kind, outcome, finding);
    }
    (void)settle(kind, Outcome::violated, finding);
    verdict_.violation.code = ViolationCode::recovery_not_growing;
    verdict_.certified_rows = 0;
    return false;
}

/// Zones that nothing of the robot may enter, kept apart from the world so that no snapshot can drop
/// them. Recovery gives no exemption here.
bool Validation::check_no_go_zones() noexcept {
    if (setup_.zones.primitives().empty()) return true;
    workspace_.start_contacts.clear();
    return sweep_world(PairKind::zone);
}

/// Shapes that the links stay inside, checked as if everything outside them were solid. Recovery gives no exemption.
bool Validation::check_keep_in_zones() noexcept {
    return setup_.keep_in.primitives().empty() || sweep_world(PairKind::keep_in);
}

}  // namespace lastgate::detail
