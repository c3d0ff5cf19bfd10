// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config.hpp"
#include "lastgate/capacity.hpp"
#include "lastgate/verdict.hpp"
#include "latch.hpp"
#include "messages.hpp"

namespace lastgate::kernel {

/// `FailureTrigger.kind`.
enum class FailureKind : std::uint8_t { timeout = 0, force = 1, workspace = 2, controller = 5, human = 7, collision = 10 };
inline constexpr std::uint8_t severity_abort = 3;

/// The kind under which a violation is reported.
FailureKind failure_kind(ViolationCode code) noexcept;
/// The word by which people know a violation: that of `lastgate explain`.
std::string_view violation_word(ViolationCode code) noexcept;
/// The word of a controller failure: that of the validation order, where it has one of its own.
std::string_view controller_state(ViolationCode code) noexcept;

/// Names that come with a world rather than with the robot.
struct WorldNames {
    std::string world_id;
    std::vector<std::string> object_id;
    std::uint32_t obstacle_count = 0;  ///< The first so many may be touched by declaration; zones follow, which may not.
    // Where the cells that verdicts count lie in the whole map.
    std::uint32_t floor_first_column = 0;
    std::uint32_t floor_first_row = 0;
    std::uint32_t floor_columns = 0;
};

/// What the robot holds, by the number under which the gate knows it; empty where nothing is.
using AttachedNames = std::array<ShortText<200>, capacity::attached_max>;

/// Enough for names of 200 bytes, each byte escaped, and twenty numbers.
inline constexpr std::size_t evidence_bytes_max = 4096;

/// Puts a rejected verdict into the JSON of `FailureEvidence`, in memory it was given.
std::string_view write_evidence(const Verdict& verdict, const ActionChunkMessage& chunk, const KernelConfig& config, const WorldNames* world, const AttachedNames& held, std::span<char> memory) noexcept;

}  // namespace lastgate::kernel
