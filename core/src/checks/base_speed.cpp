// SPDX-License-Identifier: Apache-2.0
// base_linear_speed, base_angular_speed.
#include <cmath>

#include "validation.hpp"

namespace lastgate::detail {

/// A base drives in its plane: what lifts or tips it is no base motion we know how to check.
bool Validation::check_body_twist_rows() noexcept {
    for (std::size_t row = 0; row < request_.chunk.row_count; ++row) {
        const Vec3 linear = vector_at(row, 0);
        const double speed = std::sqrt(linear.x * linear.x + linear.y * linear.y);
        if (!require_inside(linear.z, 0.0, 0.0, violation_of_element(ViolationCode::base_linear_speed, row, 2))) return false;
        if (!require_inside(value_at(row, 3), 0.0, 0.0, violation_of_element(ViolationCode::base_angular_speed, row, 3))) return false;
        if (!require_inside(value_at(row, 4), 0.0, 0.0, violation_of_element(ViolationCode::base_angular_speed, row, 4))) return false;
        const double factor = request_.recovery ? recovery_speed_factor : 1.0;
        const auto code = [&](ViolationCode usual) noexcept { return request_.recovery ? ViolationCode::recovery_speed : usual; };
        const Violation drive = violation_of_element(code(ViolationCode::base_linear_speed), row, 0);
        if (!require_inside(speed, 0.0, *config().max_base_linear_speed_m_s * factor, drive)) return false;
        const double limit = *config().max_base_angular_speed_rad_s * factor;
        const Violation turn = violation_of_element(code(ViolationCode::base_angular_speed), row, 5);
        if (!require_inside(value_at(row, 5), -limit, limit, turn)) return false;
    }
    return true;
}

}  // namespace lastgate::detail
