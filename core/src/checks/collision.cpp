// SPDX-License-Identifier: Apache-2.0
// self_collision, world_collision, recovery_not_growing: nothing comes closer than its margin between
// the measured state and the last row.
#include <algorithm>

#include "../validation.hpp"

namespace lastgate {

bool Validation::check_self_collision() noexcept {
    if (request_.recovery && !sweep_.collect_start_contacts()) return reject_budget();
    Finding finding;
    const bool tube = mode() == ControlMode::joint_torque;
    const Outcome outcome = tube ? sweep_.run_tube(PairKind::self, gate_.half_width_, finding)
                                 : sweep_.run(PairKind::self, gate_.path_rows_, finding);
    if (settle(PairKind::self, outcome, finding)) return true;
    shorten_certified_rows(*request_.world);
    shorten_certified_rows(gate_.zones_);
    return false;
}

bool Validation::check_world_collision() noexcept {
    if (request_.world->is_declared_absent()) return true;
    Finding finding;
    const Outcome outcome = mode() == ControlMode::joint_torque
                                ? sweep_.run_tube(PairKind::world, gate_.half_width_, finding)
                                : sweep_.run(PairKind::world, gate_.path_rows_, finding);
    if (settle(PairKind::world, outcome, finding)) return true;
    shorten_certified_rows(gate_.zones_);
    return false;
}

/// The prefix that a caller may use must be clear of what has not been looked at yet as well. While
/// recovering there is none: a part of a retreat need not be one.
void Validation::shorten_certified_rows(const WorldSnapshot& world) noexcept {
    if (!gate_.contacts_.empty()) verdict_.certified_rows = 0;
    if (verdict_.certified_rows == 0 || world.is_declared_absent()) return;
    sweep_.set_world(&world);
    Finding finding;
    const Outcome outcome = sweep_.run(PairKind::world, verdict_.certified_rows, finding);
    if (outcome != Outcome::clear) verdict_.certified_rows = finding.segment == none ? 0 : finding.segment - 1;
}

bool Validation::check_recovery() noexcept {
    if (gate_.contacts_.empty()) return true;
    Finding finding;
    // How deep a core lies inside a box is not measured, and a torque has no direction: what is to grow
    // cannot be told in either case.
    const auto cannot_grow = [&](const StartContact& contact) noexcept {
        if (mode() == ControlMode::joint_torque) return true;
        if (!contact.with_world || request_.world->primitives()[contact.b].kind != PrimitiveKind::box) return false;
        return !(contact.distance_m + gate_.shapes_.volumes()[contact.a].radius_m > 0.0);
    };
    const auto stuck = std::find_if(gate_.contacts_.begin(), gate_.contacts_.end(), cannot_grow);
    if (stuck != gate_.contacts_.end()) {
        finding = {1, {0, stuck->a, stuck->b, 0.0, stuck->distance_m}, 1.0, 0.0, {stuck->distance_m, {}, {}}};
    } else if (sweep_.follow_start_contacts(finding) == Outcome::clear) {
        verdict_.recovery = 1;
        return true;
    }
    const bool with_world = std::any_of(gate_.contacts_.begin(), gate_.contacts_.end(), [&](const StartContact& contact) noexcept {
        return contact.with_world && contact.a == finding.item.a && contact.b == finding.item.b;
    });
    (void)settle(with_world ? PairKind::world : PairKind::self, Outcome::violated, finding);
    verdict_.violation.code = ViolationCode::recovery_not_growing;
    verdict_.certified_rows = 0;
    return false;
}

/// Zones that nothing of the robot may enter, kept apart from the world so that no snapshot can drop
/// them. Recovery gives no exemption here.
bool Validation::check_no_go_zones() noexcept {
    if (gate_.zones_.primitives().empty()) return true;
    gate_.contacts_.clear();
    sweep_.set_world(&gate_.zones_);
    Finding finding;
    const Outcome outcome = mode() == ControlMode::joint_torque
                                ? sweep_.run_tube(PairKind::world, gate_.half_width_, finding)
                                : sweep_.run(PairKind::world, gate_.path_rows_, finding);
    if (settle(PairKind::world, outcome, finding)) return true;
    if (outcome == Outcome::violated) verdict_.violation.against_kind = AgainstKind::zone;
    return false;
}

}  // namespace lastgate
