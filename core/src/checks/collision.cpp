// SPDX-License-Identifier: Apache-2.0
// self_collision, world_collision, recovery_not_growing: nothing comes closer than its margin between
// the measured state and the last row.
#include <algorithm>

#include "../validation.hpp"

namespace lastgate {

/// A caller may execute the certified rows, so they must be clear of everything, not only of what the
/// failing check looks at.
void Validation::confirm_prefix(PairKind failed) noexcept {
    const auto confirm = [&](PairKind kind) noexcept {
        if (verdict_.certified_rows == 0) return;
        Finding finding;
        if (sweep_.run(kind, verdict_.certified_rows, finding) == Outcome::clear) return;
        verdict_.certified_rows = finding.segment == none ? 0 : finding.segment - 1;
    };
    if (failed == PairKind::box) {
        // The world was not judged yet; its age and name belong to a later stage than the one that decided.
        const Verdict decided = verdict_;
        const bool world_available = check_world_unavailable();
        verdict_ = decided;
        if (!world_available) verdict_.certified_rows = 0;
        confirm(PairKind::self);
    }
    if (failed != PairKind::world && verdict_.certified_rows > 0 && !request_.world->is_declared_absent()) confirm(PairKind::world);
    if (gate_.zones_.primitives().empty()) return;
    sweep_.set_world(&gate_.zones_);
    confirm(PairKind::world);
}

bool Validation::check_self_collision() noexcept {
    if (request_.recovery && !sweep_.collect_start_contacts()) return reject_budget();
    Finding finding;
    const Outcome outcome = mode() == ControlMode::joint_torque
                                ? sweep_.run_tube(PairKind::self, gate_.half_width_, finding)
                                : sweep_.run(PairKind::self, gate_.path_rows_, finding);
    if (settle(PairKind::self, outcome, finding)) return true;
    confirm_prefix(PairKind::self);
    return false;
}

bool Validation::check_world_collision() noexcept {
    if (request_.world->is_declared_absent()) return true;
    Finding finding;
    const Outcome outcome = mode() == ControlMode::joint_torque
                                ? sweep_.run_tube(PairKind::world, gate_.half_width_, finding)
                                : sweep_.run(PairKind::world, gate_.path_rows_, finding);
    if (settle(PairKind::world, outcome, finding)) return true;
    confirm_prefix(PairKind::world);
    return false;
}

bool Validation::check_recovery() noexcept {
    if (gate_.contacts_.empty()) return true;
    Finding finding;
    if (sweep_.follow_start_contacts(finding) == Outcome::clear) {
        verdict_.recovery = 1;
        return true;
    }
    const bool with_world = std::any_of(gate_.contacts_.begin(), gate_.contacts_.end(), [&](const StartContact& contact) noexcept {
        return contact.with_world && contact.a == finding.item.a && contact.b == finding.item.b;
    });
    (void)settle(with_world ? PairKind::world : PairKind::self, Outcome::violated, finding);
    verdict_.violation.code = ViolationCode::recovery_not_growing;
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
