// SPDX-License-Identifier: Apache-2.0
// How far something on a chain of joints can move. The sum is written here and nowhere else; the checker of certificates has its own, on
// purpose.
#pragma once

#include <cstddef>
#include <span>

#include "lastgate/robot_model.hpp"

namespace lastgate::detail {

/// Never smaller than the way of any point of a shape when each variable moves by at most `step`: the sum over the joints that carry it of
/// step times reach, where `reach[depth]` is the largest distance of the shape from that joint's axis over all poses, or 1 for a slide.
/// `from_depth` leaves out the joints above it, which two bodies of one chain share.
inline double motion_bound(const RobotModel& model, std::size_t body, const double* reach, std::size_t from_depth,
                           std::span<const double> step) noexcept {
    const auto chain = model.chain(body);
    double sum = 0.0;
    for (std::size_t depth = from_depth; depth < chain.size(); ++depth) sum += step[model.bodies()[chain[depth]].dof] * reach[depth];
    return sum;
}

}  // namespace lastgate::detail
