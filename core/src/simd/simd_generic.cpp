// SPDX-License-Identifier: Apache-2.0
// The SIMD kernels for any machine: the compiler lowers eight lanes to what the baseline has.
#include "simd_kernels.hpp"

namespace lastgate::simd_generic {
#include "simd_robot.hpp"
}  // namespace lastgate::simd_generic
