// SPDX-License-Identifier: Apache-2.0
// The lane kernels compiled for AVX2 (CMakeLists.txt sets the flag for this file alone).
#if defined(__x86_64__)
#include "lanes_builds.hpp"

namespace lastgate::lanes_avx2 {
#include "lanes_kernel.inc"
}  // namespace lastgate::lanes_avx2
#endif
