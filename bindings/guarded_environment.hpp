// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "entry_guard.hpp"
#include "lastgate/planning.hpp"

namespace lastgate::bindings {

/// Any number of threads ask it at once, without the interpreter's lock; while one asks, nothing is added.
using GuardedEnvironment = Guarded<CollisionEnvironment>;
inline constexpr const char* environment_name = "this collision environment";

}  // namespace lastgate::bindings
