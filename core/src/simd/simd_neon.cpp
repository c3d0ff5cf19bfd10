// SPDX-License-Identifier: Apache-2.0
// The SIMD kernels compiled for NEON, which every 64-bit ARM has.
#if defined(__aarch64__)
#include "simd_kernels.hpp"

namespace lastgate::simd_neon {
#include "simd_robot.hpp"
}  // namespace lastgate::simd_neon
#endif
