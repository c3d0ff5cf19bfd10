// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

namespace lastgate::fitting {

/// Returns the vertices (rows of three) of where a plane cuts the hull of vertices (rows of three), whose heights above the
/// plane are given: every segment from one side to the other crosses it, and the outermost crossings are kept (Andrew's
/// chain). `axis` is the plane's unit normal.
std::vector<double> plane_section(std::span<const double> vertices, std::span<const double> height,
                                  std::span<const double, 3> axis);

}  // namespace lastgate::fitting
