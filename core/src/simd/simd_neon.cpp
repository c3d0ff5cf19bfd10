// SPDX-License-Identifier: Apache-2.0
// The SIMD kernels compiled for NEON, which every 64-bit ARM has.
#if defined(__aarch64__)
#define LASTGATE_SIMD_ISA simd_neon
#include "simd_build.hpp"
#endif
