// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "naming.hpp"

namespace lastgate::kernel {

/// Enough for names of 200 bytes, each byte escaped, and twenty numbers.
inline constexpr std::size_t evidence_bytes_max = 4096;

/// Puts a violation into the JSON of `FailureEvidence`, in memory it was given; empty when it does not fit.
std::string_view write_evidence(const NamedViolation& violation, std::span<char> memory) noexcept;

}  // namespace lastgate::kernel
