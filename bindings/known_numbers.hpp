// SPDX-License-Identifier: Apache-2.0
// Numbers that come from shared memory and recordings, as enumerations: a number that is none of ours must not end a reader.
#pragma once

#include "latch.hpp"
#include "naming.hpp"
#include "ring.hpp"

namespace lastgate::bindings {

using kernel::LifecycleState;
using kernel::MessageType;

inline LifecycleState known(LifecycleState state) { return state <= LifecycleState::latched ? state : LifecycleState::unconfigured; }
inline MessageType known(MessageType type) { return type <= MessageType::inputs ? type : MessageType::nothing; }
/// An unknown code is `internal_fault`.
inline ViolationCode known(ViolationCode code) { return kernel::entry_of(code).code; }
inline SubjectKind known(SubjectKind kind) { return kind <= SubjectKind::attached ? kind : SubjectKind::nothing; }
inline AgainstKind known(AgainstKind kind) { return kind <= AgainstKind::floor ? kind : AgainstKind::nothing; }

}  // namespace lastgate::bindings
