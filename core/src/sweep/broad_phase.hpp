// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include "simd/simd_tables.hpp"
#include "lastgate/math.hpp"

namespace lastgate::detail {

/// Towards infinity, so that a required distance never shrinks by conversion.
inline float round_up(double value) noexcept { return static_cast<float>(value + std::abs(value) * 1e-6 + 1e-9); }

/// One lane of a point that SIMD has placed.
inline Vec3 lane_point(const float* coordinates) noexcept {
    return {static_cast<double>(coordinates[0]), static_cast<double>(coordinates[lane_count]), static_cast<double>(coordinates[2 * lane_count])};
}

}  // namespace lastgate::detail
