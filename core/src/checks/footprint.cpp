// SPDX-License-Identifier: Apache-2.0
// world_collision of the footprint: what the base covers of the floor stays on free cells while it moves.
#include "validation.hpp"

namespace lastgate::detail {

bool Validation::has_footprint_to_check() const noexcept {
    const bool moves = mode() == ControlMode::body_twist && !config().footprint_vertices.empty();
    return moves && !request_.world->is_declared_absent() && request_.world->field(floor_slot) != nullptr;
}

bool Validation::check_footprint() noexcept {
    if (!has_footprint_to_check()) return true;
    Finding finding;
    const Outcome outcome = sweep_.run_footprint(workspace_.path_rows, finding);
    if (outcome == Outcome::clear) return true;
    const bool in_stop = outcome == Outcome::violated && is_in_stop(finding);
    if (!in_stop) verdict_.certified_rows = request_.recovery || finding.segment == none ? 0 : finding.segment - 1;
    if (outcome == Outcome::budget) {
        (void)reject_budget();
        confirm_prefix(PairKind::field);
        return false;
    }
    Violation violation;
    violation.code = ViolationCode::world_collision;
    violation.subject_kind = SubjectKind::link;
    violation.subject = 0;  // the base itself
    violation.against_kind = AgainstKind::floor;
    violation.against = finding.obstacle == none ? none : request_.world->field(floor_slot)->label(finding.obstacle);
    violation.row = step_towards(finding.segment);
    violation.segment_t = finding.segment_t;
    violation.first_contact_t = finding.first_contact_t;
    violation.distance_m = finding.witness.distance_m;
    violation.margin_m = finding.item.required_m;
    violation.value = finding.witness.distance_m;
    violation.limit_min = finding.item.required_m;
    violation.witness_a = finding.witness.on_first;
    violation.witness_b = finding.witness.on_second;
    if (in_stop) {
        postpone_stop(violation, finding);
        return true;
    }
    (void)reject(violation);
    confirm_prefix(PairKind::field);
    return false;
}

}  // namespace lastgate::detail
