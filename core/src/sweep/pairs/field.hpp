// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sweep/sweep.hpp"

namespace lastgate::detail {

/// Fills the unresolved bits of every volume and field for eight configurations. In one motion the smallest clearance is wanted of all lanes together,
/// so each may use what another has found.
std::uint8_t test_fields(Sweep& sweep, const SimdGroup& group, float margin_m, bool one_motion, float* best, std::uint8_t* unresolved) noexcept;

}  // namespace lastgate::detail
