// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "violation_entry.hpp"

namespace lastgate::kernel {

/// Responses to a chunk that breaks a rule.
enum class OnViolation : std::uint8_t { estop, hold };
/// Responses to missing, stale or overflowing data.
enum class OnStale : std::uint8_t { estop, stop, drop };

/// What a rejected chunk leads to; that it does not pass is the premise.
struct Response {
    bool report = true;            ///< Publish a FailureTrigger of severity ABORT.
    bool latch = true;             ///< Publish an emergency stop and latch.
    bool controlled_stop = false;  ///< Ask the robot's driver for a controlled stop.
};

/// A chunk rejected because a stop is already latched leads to nothing more. A fault of the gate itself latches under
/// every setting: no setting may let it go on to the next chunk.
constexpr Response respond_to(ResponseClass kind, OnViolation on_violation, OnStale on_stale) noexcept {
    switch (kind) {
        case ResponseClass::nothing: return {false, false, false};
        case ResponseClass::violation: return {true, on_violation == OnViolation::estop, false};
        case ResponseClass::stale: return {true, on_stale == OnStale::estop, on_stale == OnStale::stop};
        case ResponseClass::fault: break;
    }
    return {true, true, false};
}

}  // namespace lastgate::kernel
