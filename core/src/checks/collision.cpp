// SPDX-License-Identifier: Apache-2.0
// self_collision, world_collision, recovery_not_growing: nothing comes closer than its margin between
// the measured state and the last row.
#include "../validation.hpp"

namespace lastgate {

bool Validation::check_self_collision() noexcept {
    if (request_.recovery && !sweep_.collect_start_contacts()) return reject_budget();
    Finding finding;
    const bool tube = mode() == ControlMode::joint_torque;
    const Outcome outcome = tube ? sweep_.run_tube(PairKind::self, gate_.half_width_, finding)
                                 : sweep_.run(PairKind::self, gate_.path_rows_, finding);
    if (settle(PairKind::self, outcome, finding)) return true;
    // The prefix that a caller may use must be clear of the world as well.
    if (!tube && verdict_.certified_rows > 0 && !request_.world->is_declared_absent()) {
        for (const PairKind kind : {PairKind::world, PairKind::field}) {
            Finding with_world;
            if (verdict_.certified_rows == 0 || sweep_.run(kind, verdict_.certified_rows, with_world) == Outcome::clear) continue;
            verdict_.certified_rows = with_world.segment == none ? 0 : with_world.segment - 1;
        }
    }
    return false;
}

bool Validation::sweep_world(PairKind kind) noexcept {
    Finding finding;
    const Outcome outcome = mode() == ControlMode::joint_torque ? sweep_.run_tube(kind, gate_.half_width_, finding)
                                                                : sweep_.run(kind, gate_.path_rows_, finding);
    return settle(kind, outcome, finding);
}

bool Validation::check_world_collision() noexcept {
    const WorldSnapshot& world = *request_.world;
    if (world.is_declared_absent()) return true;
    const bool has_field = world.field(voxel_slot) != nullptr || world.field(point_slot) != nullptr;
    return sweep_world(PairKind::world) && (!has_field || sweep_world(PairKind::field));
}

bool Validation::check_recovery() noexcept {
    if (gate_.contacts_.empty()) return true;
    Finding finding;
    PairKind kind = PairKind::self;
    if (sweep_.follow_start_contacts(finding, kind) == Outcome::clear) {
        verdict_.recovery = 1;
        return true;
    }
    (void)settle(kind, Outcome::violated, finding);
    verdict_.violation.code = ViolationCode::recovery_not_growing;
    return false;
}

/// Zones that nothing of the robot may enter, kept apart from the world so that no snapshot can drop
/// them. Recovery gives no exemption here.
bool Validation::check_no_go_zones() noexcept {
    if (gate_.zones_.primitives().empty()) return true;
    gate_.contacts_.clear();
    sweep_.set_world(&gate_.zones_);
    if (sweep_world(PairKind::world)) return true;
    if (verdict_.violation.code == ViolationCode::world_collision) verdict_.violation.against_kind = AgainstKind::zone;
    return false;
}

}  // namespace lastgate
