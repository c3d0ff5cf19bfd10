// SPDX-License-Identifier: Apache-2.0
// Stages 2 to 5: is this a chunk at all?
#include <cmath>

#include "validation.hpp"

namespace lastgate::detail {

/// The mode exists, is one we can check, and was enabled (which needs its bounds declared).
bool Validation::check_control_mode() noexcept {
    const std::size_t number = request_.chunk.control_mode;
    const bool known = number < control_mode_count && number != static_cast<std::size_t>(ControlMode::foot_placement);
    if (known && config().enabled_modes.test(number)) return true;
    Violation violation;
    violation.code = ViolationCode::control_mode;
    violation.value = static_cast<double>(number);
    return reject(violation);
}

/// The chunk's own width is what the mode requires for this robot.
bool Validation::check_ndof_mismatch() noexcept {
    const std::size_t wanted = row_width(request_.chunk.control_mode, model().row_dofs().size());
    if (request_.chunk.width == wanted) return true;
    Violation violation;
    violation.code = ViolationCode::ndof_mismatch;
    violation.value = static_cast<double>(request_.chunk.width);
    violation.limit_min = violation.limit_max = static_cast<double>(wanted);
    return reject(violation);
}

/// As many numbers as rows times width, and a number of rows that fits the memory.
bool Validation::check_dim_mismatch() noexcept {
    const ChunkView& chunk = request_.chunk;
    // The bound on rows comes first, so that the product cannot wrap around.
    const bool fits = chunk.row_count >= 1 && chunk.row_count <= capacity::rows_max;
    if (fits && chunk.flat.size() == chunk.row_count * chunk.width && chunk.flat.data() != nullptr) return true;
    Violation violation;
    violation.code = ViolationCode::dim_mismatch;
    violation.value = fits ? static_cast<double>(chunk.flat.size()) : static_cast<double>(chunk.row_count);
    violation.limit_min = fits ? static_cast<double>(chunk.row_count * chunk.width) : 1.0;
    violation.limit_max = fits ? violation.limit_min : static_cast<double>(capacity::rows_max);
    // Tells a wrong count of numbers (flat) from a wrong count of rows (horizon).
    violation.element = fits ? 0 : 1;
    return reject(violation);
}

bool Validation::check_nan_in_action() noexcept {
    const ChunkView& chunk = request_.chunk;
    for (std::size_t row = 0; row < chunk.row_count; ++row) {
        for (std::size_t column = 0; column < chunk.width; ++column) {
            if (std::isfinite(value_at(row, column))) continue;
            Violation violation = violation_of_element(ViolationCode::nan_in_action, row, column);
            violation.value = value_at(row, column);
            return reject(violation);
        }
    }
    return true;
}

}  // namespace lastgate::detail
