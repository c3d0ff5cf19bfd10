// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sweep/sweep.hpp"

namespace lastgate::detail {

/// Bit k of `unresolved[volume * zones + zone]` is set when configuration k does not certify the volume inside the
/// zone.
std::uint8_t test_keep_in(Sweep& sweep, const SimdGroup& group, float margin_m, float* best, std::uint8_t* unresolved) noexcept;

}  // namespace lastgate::detail
