// SPDX-License-Identifier: Apache-2.0
// The lane kernels compiled for NEON, which every 64-bit ARM has.
#if defined(__aarch64__)
#include "lanes_builds.hpp"

namespace lastgate::lanes_neon {
#include "lanes_kernel.inc"
}  // namespace lastgate::lanes_neon
#endif
