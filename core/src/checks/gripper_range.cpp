// SPDX-License-Identifier: Apache-2.0
#include "validation.hpp"

namespace lastgate::detail {

/// A binary command lies in 0 … 1, a position in the declared range.
bool Validation::check_gripper_range() noexcept {
    const Interval range = mode() == ControlMode::gripper_binary ? Interval{0.0, 1.0} : *config().gripper_range;
    for (std::size_t row = 0; row < request_.chunk.row_count; ++row) {
        const Violation violation = violation_of_element(ViolationCode::gripper_range, row, 0);
        if (!require_inside(value_at(row, 0), range.min, range.max, violation)) return false;
    }
    return true;
}

}  // namespace lastgate::detail
