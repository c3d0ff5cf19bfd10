// SPDX-License-Identifier: Apache-2.0
// The SIMD kernels compiled for AVX2 (CMakeLists.txt sets the flag for this file alone).
#if defined(__x86_64__)
#define LASTGATE_SIMD_ISA simd_avx2
#include "simd_build.hpp"
#endif
