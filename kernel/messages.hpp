// SPDX-License-Identifier: Apache-2.0
// The messages of the wire contract, as they lie in memory. Views point into the bytes they were read from.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "cdr.hpp"

namespace lastgate::kernel {

struct Stamp {
    std::int32_t seconds = 0;
    std::uint32_t nanoseconds = 0;
    double in_seconds() const noexcept { return static_cast<double>(seconds) + 1e-9 * static_cast<double>(nanoseconds); }
    /// Of a time that fits; the nanoseconds are cut, so that a stamp is never later than what it stamps.
    static Stamp of_seconds(double time_s) noexcept {
        const double whole = std::floor(time_s);
        return {static_cast<std::int32_t>(whole), static_cast<std::uint32_t>(std::min((time_s - whole) * 1e9, 999999999.0))};
    }
};

/// openral_msgs/ActionChunk. `flat` is read in place, so the payload must lie where `payload_alignment` says.
struct ActionChunkMessage {
    Stamp stamp;
    std::string_view header_frame_id;
    std::uint8_t control_mode = 0;
    std::uint16_t horizon = 0;
    std::span<const double> flat;
    std::uint8_t n_dof = 0;
    std::string_view ee_name;
    std::string_view frame_id;
    float confidence = 0.0F;
    std::string_view rskill_id;
    std::string_view rskill_revision;
    std::string_view trace_id;
    std::uint32_t tick_index = 0;
};

/// A payload starts four bytes before an address divisible by eight, so that its doubles are aligned.
inline constexpr std::size_t payload_alignment = 8;
inline constexpr std::size_t payload_offset = payload_alignment - CdrReader::encapsulation_bytes;

/// Reads a chunk; a big-endian one has its numbers turned round in place, which is why the bytes are not const.
/// Nothing when the bytes are not exactly one such message.
std::optional<ActionChunkMessage> read_action_chunk(std::span<std::byte> payload) noexcept;
/// Writes a chunk; the empty span when it does not fit.
std::span<const std::byte> write_action_chunk(const ActionChunkMessage& chunk, std::span<std::byte> memory) noexcept;

/// One joint of a sensor_msgs/JointState.
struct JointReading {
    std::string_view name;
    double position = 0.0;
    double velocity = 0.0;
    bool has_velocity = false;
};
struct JointStateMessage {
    Stamp stamp;
    std::size_t count = 0;
};
/// Fills the first of `joints`. Nothing when the bytes are not exactly one such message, its lengths disagree, or it
/// holds more joints than there is room for.
std::optional<JointStateMessage> read_joint_state(std::span<const std::byte> payload, std::span<JointReading> joints) noexcept;
std::span<const std::byte> write_joint_state(Stamp stamp, std::span<const std::string_view> names, std::span<const double> positions,
                                             std::span<const double> velocities, std::span<std::byte> memory) noexcept;

/// openral_msgs/WorldCollision.
struct WorldCollisionMessage {
    Stamp stamp;
    std::string_view frame_id;
    std::vector<double> radius;
    std::vector<double> half_length;
    std::vector<double> origin_xyzrpy;
    std::vector<std::string_view> object_id;
};
/// Allocates: worlds are read by a thread that does not decide.
std::optional<WorldCollisionMessage> read_world_collision(std::span<const std::byte> payload);

/// openral_msgs/OccupancyVoxels.
struct OccupancyVoxelsMessage {
    Stamp stamp;
    std::string_view frame_id;
    std::array<double, 3> origin{};
    double resolution = 0.0;
    std::array<std::uint32_t, 3> size{};
    std::span<const std::uint8_t> occupancy;
};
std::optional<OccupancyVoxelsMessage> read_occupancy_voxels(std::span<const std::byte> payload) noexcept;

/// An occupancy map and where it lies under the robot.
struct FloorMapMessage {
    std::string_view frame_id;                ///< Of the map.
    double stamp_s = 0.0;                     ///< When the map was made.
    double age_s_max = 0.0;                   ///< How long it is believed.
    double placed_stamp_s = 0.0;              ///< When localisation measured where the robot stands on it.
    std::array<double, 2> origin_xy{};        ///< The corner of cell 0, 0 in its frame,
    double origin_yaw = 0.0;                  ///< and how far rows and columns are turned there.
    double resolution_m = 0.0;
    std::array<std::uint32_t, 2> size{};      ///< Columns, rows.
    std::array<std::uint32_t, 2> window_first{};  ///< Column and row from which cells count in checks around the robot,
    std::array<std::uint32_t, 2> window_end{};    ///< and before which they end.
    std::array<double, 12> window_in_base{};  ///< 3 x 4 by rows: the corner of the window's first cell, in the robot's base.
    double low_m = 0.0;
    double high_m = 0.0;
    std::span<const std::uint8_t> blocked_bits;  ///< Every row from a new byte, the first column in the lowest bit.
    std::size_t row_bytes() const noexcept { return (std::size_t{size[0]} + 7) / 8; }
    bool is_blocked(std::size_t column, std::size_t row) const noexcept { return (blocked_bits[row * row_bytes() + column / 8] >> (column % 8) & 1U) != 0; }
};

/// A whole snapshot as `lastgate.KernelClient.publish_world` sends it: what the two messages above cannot say.
struct WorldSnapshotMessage {
    double stamp_s = 0.0;
    std::string_view frame_id;
    std::string_view world_id;
    std::vector<std::uint8_t> kinds;       ///< `PrimitiveKind`.
    std::vector<double> sizes_m;           ///< Three per obstacle.
    std::vector<double> xyz_quat_xyzw;     ///< Seven per obstacle.
    std::vector<std::string_view> object_id;
    bool has_points = false;
    double points_stamp_s = 0.0;
    std::vector<double> points;            ///< Three per point.
    bool has_voxels = false;
    double voxels_stamp_s = 0.0;
    std::array<double, 3> origin{};
    double resolution = 0.0;
    std::array<std::uint32_t, 3> size{};
    bool unknown_is_free = false;
    bool outside_is_free = false;
    std::span<const std::uint8_t> occupancy;
    bool declared_absent = false;          ///< `NO_WORLD`, declared.
    std::uint32_t obstacle_count = 0;      ///< The first so many are obstacles; the others are zones, which no link may touch.
    bool has_floor = false;
    FloorMapMessage floor;
    /// Nothing of it moves, fields apart, for so long after the stamp. Written after all else and only where it is so: older readers and
    /// recordings know worlds without it.
    bool is_static = false;
    double static_lasts_s = 0.0;
};
std::optional<WorldSnapshotMessage> read_world_snapshot(std::span<const std::byte> payload);
std::span<const std::byte> write_world_snapshot(const WorldSnapshotMessage& world, std::span<std::byte> memory) noexcept;

/// openral_msgs/FailureTrigger.
struct FailureTriggerMessage {
    Stamp stamp;
    std::uint8_t kind = 0;
    std::uint8_t severity = 0;
    std::string_view evidence_json;
    std::string_view rskill_id;
    std::string_view trace_id;
};
std::span<const std::byte> write_failure_trigger(const FailureTriggerMessage& failure, std::span<std::byte> memory) noexcept;

/// openral_msgs/SafetyStatus.
struct SafetyStatusMessage {
    Stamp stamp;
    std::uint8_t state = 0;
    std::string_view source;
    std::string_view reason;
    std::uint32_t sequence = 0;
    std::uint64_t passed = 0;
    std::uint64_t dropped = 0;
    std::string_view model_digest;
    std::string_view world_id;
};
std::span<const std::byte> write_safety_status(const SafetyStatusMessage& status, std::span<std::byte> memory) noexcept;

/// geometry_msgs/Twist: linear x y z, angular x y z.
std::span<const std::byte> write_twist(const std::array<double, 6>& twist, std::span<std::byte> memory) noexcept;
std::optional<std::array<double, 6>> read_twist(std::span<const std::byte> payload) noexcept;

}  // namespace lastgate::kernel
