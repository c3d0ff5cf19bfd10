// SPDX-License-Identifier: Apache-2.0
// The lane kernels for any machine: the compiler lowers eight lanes to what the baseline has.
#include "lanes_builds.hpp"

namespace lastgate::lanes_generic {
#include "lanes_kernel.inc"
}  // namespace lastgate::lanes_generic
