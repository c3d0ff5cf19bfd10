// SPDX-License-Identifier: Apache-2.0
// The messages that the gateway itself composes. Everything else it moves as it came.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "messages.hpp"
#include "wire.hpp"

namespace lastgate::gateway {

using namespace kernel;  // whose messages it passes on

/// std_msgs/Empty: ROS 2 sends one byte in the place of no fields.
std::vector<std::byte> empty_message();

/// What a `SafetyStatus` says; nothing when the bytes are not one. Views point into them.
std::optional<SafetyStatusMessage> read_status(std::span<const std::byte> payload) noexcept;

/// diagnostic_msgs/DiagnosticStatus.
struct Diagnosis {
    enum class Level : std::uint8_t { ok = 0, warn = 1, error = 2, stale = 3 };
    Level level = Level::ok;
    std::string message;
    std::string hardware_id;
    std::vector<std::pair<std::string, std::string>> values;
};
/// diagnostic_msgs/DiagnosticArray of one status.
std::vector<std::byte> diagnostic_array(Stamp stamp, std::string_view name, const Diagnosis& diagnosis);

/// How wide a `Gid` is in `rmw_dds_common`: 16 since Iron, 24 in Humble. With the wrong one the node has no name.
enum class GidWidth : std::uint8_t { since_iron = 16, humble = 24 };
/// rmw_dds_common/ParticipantEntitiesInfo: one node, and which ends are its own.
std::vector<std::byte> participant_info(GidWidth width, const Guid& participant, std::string_view name_space, std::string_view node, const std::vector<Guid>& readers, const std::vector<Guid>& writers);

}  // namespace lastgate::gateway
