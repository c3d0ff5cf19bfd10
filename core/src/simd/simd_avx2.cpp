// SPDX-License-Identifier: Apache-2.0
// The SIMD kernels compiled for AVX2 (CMakeLists.txt sets the flag for this file alone).
#if defined(__x86_64__)
#include "simd_kernels.hpp"

namespace lastgate::simd_avx2 {
#include "simd_robot.hpp"
}  // namespace lastgate::simd_avx2
#endif
