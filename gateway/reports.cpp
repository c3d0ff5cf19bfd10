// SPDX-License-Identifier: Apache-2.0
#include "reports.hpp"

#include <stdexcept>

namespace lastgate::gateway {
namespace {

constexpr std::size_t report_bytes_max = 64 * 1024;

template <typename Fill>
std::vector<std::byte> composed(Fill fill) {
    std::vector<std::byte> memory(report_bytes_max);
    CdrWriter writer(memory);
    fill(writer);
    if (!writer.ok()) throw std::length_error("a report does not fit into " + std::to_string(report_bytes_max) + " bytes");
    memory.resize(writer.bytes().size());
    return memory;
}

}  // namespace

std::vector<std::byte> empty_message() {
    return composed([](CdrWriter& writer) { writer.number(std::uint8_t{0}); });
}

std::optional<SafetyStatusMessage> read_status(std::span<const std::byte> payload) noexcept {
    CdrReader reader(payload);
    SafetyStatusMessage status;
    status.stamp.seconds = reader.number<std::int32_t>();
    status.stamp.nanoseconds = reader.number<std::uint32_t>();
    (void)reader.text();
    status.state = reader.number<std::uint8_t>();
    status.source = reader.text();
    status.reason = reader.text();
    status.sequence = reader.number<std::uint32_t>();
    status.passed = reader.number<std::uint64_t>();
    status.dropped = reader.number<std::uint64_t>();
    status.model_digest = reader.text();
    status.world_id = reader.text();
    if (!reader.at_end()) return std::nullopt;
    return status;
}

std::vector<std::byte> diagnostic_array(Stamp stamp, std::string_view name, const Diagnosis& diagnosis) {
    return composed([&](CdrWriter& writer) {
        writer.number(stamp.seconds);
        writer.number(stamp.nanoseconds);
        writer.text("");
        writer.number(std::uint32_t{1});
        writer.number(static_cast<std::uint8_t>(diagnosis.level));
        writer.text(name);
        writer.text(diagnosis.message);
        writer.text(diagnosis.hardware_id);
        writer.number(static_cast<std::uint32_t>(diagnosis.values.size()));
        for (const auto& [key, value] : diagnosis.values) {
            writer.text(key);
            writer.text(value);
        }
    });
}

std::vector<std::byte> participant_info(GidWidth width, const Guid& participant, std::string_view name_space, std::string_view node, const std::vector<Guid>& readers, const std::vector<Guid>& writers) {
    return composed([&](CdrWriter& writer) {
        const auto gid = [&](const Guid& guid) {
            for (std::size_t i = 0; i < static_cast<std::size_t>(width); ++i) writer.number(i < guid.size() ? guid[i] : std::uint8_t{0});
        };
        const auto gids = [&](const std::vector<Guid>& guids) {
            writer.number(static_cast<std::uint32_t>(guids.size()));
            for (const Guid& guid : guids) gid(guid);
        };
        gid(participant);
        writer.number(std::uint32_t{1});
        writer.text(name_space);
        writer.text(node);
        gids(readers);
        gids(writers);
    });
}

}  // namespace lastgate::gateway
