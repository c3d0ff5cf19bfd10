// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "entry_guard.hpp"
#include "lastgate/gate.hpp"

namespace lastgate::bindings {

/// The gate that Python holds. `Alone` is taken around every use of its memory, and around nothing that makes Python
/// objects: the collector may run there, and with it any program.
using GuardedGate = Guarded<Gate>;
inline constexpr const char* gate_name = "this gate";

}  // namespace lastgate::bindings
