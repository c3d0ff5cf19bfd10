// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "validation.hpp"
#include "geometry/tolerance.hpp"

namespace lastgate::detail {
using namespace state_cause;

/// Stage 7: the measured state is there, complete, finite and fresh by the stamps of its source, for
/// every joint. A state that was not measured is no state to start from.
bool Validation::check_state_unavailable() noexcept {
    const StateView& state = request_.state;
    const std::size_t joints = model().row_dofs().size();
    const std::size_t grippers = model().dof_count() - joints;
    const auto unavailable = [&](std::uint32_t cause, std::size_t column) noexcept {
        Violation violation;
        violation.code = ViolationCode::state_unavailable;
        violation.element = cause;
        if (column < joints) {
            violation.subject_kind = SubjectKind::dof;
            violation.subject = model().row_dofs()[column];
        }
        return violation;
    };
    if (!state.given) return reject(unavailable(absent, joints));
    const bool complete = state.positions.size() == joints && (state.velocities.empty() || state.velocities.size() == joints) &&
                          (state.gripper_positions.empty() || state.gripper_positions.size() == grippers) &&
                          (state.stamps_s.empty() || state.stamps_s.size() == joints);
    if (!complete) return reject(unavailable(incomplete, joints));
    for (std::size_t column = 0; column < joints; ++column) {
        const bool usable = std::abs(state.positions[column]) <= capacity::joint_position_max &&
                            (state.velocities.empty() || std::abs(state.velocities[column]) <= capacity::joint_position_max);
        if (!usable) return reject(unavailable(not_finite, column));
    }
    for (const double position : state.gripper_positions) {
        if (!(std::abs(position) <= capacity::joint_position_max)) return reject(unavailable(not_finite, joints));
    }
    for (std::size_t column = 0; column < joints; ++column) {
        const double stamp_s = state.stamps_s.empty() ? state.stamp_s : state.stamps_s[column];
        const double age_s = request_.now_s - stamp_s;
        const Interval fresh{-tolerance::future_stamp_s, config().state_age_s_max};
        if (!inside(age_s, fresh)) return require_inside(age_s, fresh.min, fresh.max, unavailable(stale, column));
        verdict_.state_age_s = column == 0 || age_s > verdict_.state_age_s ? age_s : verdict_.state_age_s;
    }
    // Where every joint has its own stamp, the common one is that of the gripper.
    if (!state.gripper_positions.empty()) {
        const double age_s = request_.now_s - state.stamp_s;
        if (!require_inside(age_s, -tolerance::future_stamp_s, config().state_age_s_max, unavailable(stale, joints))) return false;
        verdict_.state_age_s = age_s > verdict_.state_age_s ? age_s : verdict_.state_age_s;
    }
    return true;
}

}  // namespace lastgate::detail
