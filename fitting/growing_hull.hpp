// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

namespace lastgate::fitting {

/// Writes per offset, lowest first, the volume of the convex hull of the points (rows of three) whose height is not above
/// it: 0 where they lie in one plane, not a number where they are fewer than four.
///
/// One hull grows from offset to offset, which spares building one for each. Returns false where rounding tore it, which
/// nearly flat sides may do: the volumes are then worth nothing. They compare cuts; what contains a link is never taken
/// from here.
[[nodiscard]] bool growing_hulls(std::span<const double> points, std::span<const double> height, std::span<const double> offsets,
                   std::span<double> volume_m3);

}  // namespace lastgate::fitting
