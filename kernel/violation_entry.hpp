// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "lastgate/verdict.hpp"

namespace lastgate::kernel {

/// `FailureTrigger.kind`.
enum class FailureKind : std::uint8_t { timeout = 0, force = 1, workspace = 2, controller = 5, human = 7, collision = 10 };
inline constexpr std::uint8_t severity_abort = 3;

/// Which setting says what a violation leads to.
enum class ResponseClass : std::uint8_t { violation, stale, fault, nothing };
/// What of a joint leaves its limits; the unit is the joint's own.
enum class JointQuantity : std::uint8_t { nothing, position, velocity, acceleration, torque };
/// What breaks the rule where a whole step, or one number of it, is at fault.
enum class StepSubject : std::uint8_t { column, effector, base };

/// What is said about one code: an entry of core/violations.toml, which explains the members.
struct ViolationEntry {
    ViolationCode code = ViolationCode::not_checked;
    std::string_view word{};
    FailureKind kind = FailureKind::controller;
    std::string_view state{};
    std::string_view field{};
    std::string_view unit{};
    std::string_view sentence{};
    ResponseClass response = ResponseClass::violation;
    JointQuantity quantity = JointQuantity::nothing;
    StepSubject about = StepSubject::column;
    std::array<std::string_view, 8> detail{};

    /// The word of a controller failure: that of the wire contract, where it has one of its own.
    constexpr std::string_view controller_state() const noexcept { return state.empty() ? word : state; }
};

/// Never nothing: an unknown code is a fault of ours.
const ViolationEntry& entry_of(ViolationCode code) noexcept;

}  // namespace lastgate::kernel
