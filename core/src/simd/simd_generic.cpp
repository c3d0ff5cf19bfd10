// SPDX-License-Identifier: Apache-2.0
// The SIMD kernels for any machine: the compiler lowers eight lanes to what the baseline has.
#define LASTGATE_SIMD_ISA simd_generic
#include "simd_build.hpp"
