// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace lastgate::fitting {

/// Returns where each point (rows of three) occurs first, in order. Points are the same if their bits are: a vertex that
/// six triangles share is one point, and zero and minus zero stay two.
std::vector<std::size_t> distinct(std::span<const double> points);

}  // namespace lastgate::fitting
