// SPDX-License-Identifier: Apache-2.0
// Motion bounds of all bodies of a row at once, for bounding spheres.
#include <algorithm>
#include <cmath>

#include "sweep.hpp"

namespace lastgate::detail {

void Sweep::bound_half_step(std::size_t row_index) noexcept {
    const double* at = row(row_index);
    for (std::size_t variable = 0; variable < variable_count(); ++variable) {
        double largest = 0.0;
        if (row_index > 0) largest = std::abs(at[variable] - row(row_index - 1)[variable]);
        if (row_index < workspace.path_rows) largest = std::max(largest, std::abs(row(row_index + 1)[variable] - at[variable]));
        workspace.row_half_step[variable] = 0.5 * largest;
    }
}

/// The sum of `motion_bound` from every depth on, with what is uncertain, for the largest reach of a body's volumes.
void Sweep::bound_row_motion(std::size_t row_index, std::span<const double> half_step) noexcept {
    double* body_motion = workspace.body_motion.data() + row_index * body_count();
    for (std::size_t body = 0; body < body_count(); ++body) {
        const auto chain = setup.model->chain(body);
        double* tail = workspace.tails.data() + body * (capacity::chain_max + 1);
        const double* reach = setup.body_reach.data() + body * capacity::chain_max;
        double sum = 0.0;
        tail[chain.size()] = 0.0;
        for (std::size_t depth = chain.size(); depth > 0; --depth) {
            const std::size_t variable = setup.model->bodies()[chain[depth - 1]].dof;
            sum += (half_step[variable] + workspace.uncertainty[variable]) * reach[depth - 1];
            tail[depth - 1] = sum;
        }
        body_motion[body] = sum;
    }
}

}  // namespace lastgate::detail
