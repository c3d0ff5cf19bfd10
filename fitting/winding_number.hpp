// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "point.hpp"

namespace lastgate::fitting {

/// Returns how often triangles (rows of nine) go round a point: near one inside a closed surface, near zero outside, and
/// somewhere between where the surface leaks. Negative where it is inside out.
double winding_number(Point at, std::span<const double> triangles);

}  // namespace lastgate::fitting
