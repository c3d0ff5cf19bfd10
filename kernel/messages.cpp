// SPDX-License-Identifier: Apache-2.0
#include "messages.hpp"

#include <cmath>
#include <limits>

namespace lastgate::kernel {
namespace {

Stamp read_stamp(CdrReader& reader) noexcept {
    Stamp stamp;
    stamp.seconds = reader.number<std::int32_t>();
    stamp.nanoseconds = reader.number<std::uint32_t>();
    return stamp;
}

void write_header(CdrWriter& writer, Stamp stamp, std::string_view frame_id) noexcept {
    writer.number(stamp.seconds);
    writer.number(stamp.nanoseconds);
    writer.text(frame_id);
}

/// A number of a sequence, in our order.
template <typename Number>
Number element(std::span<const std::byte> sequence, std::size_t index, bool swap) noexcept {
    Number value{};
    std::memcpy(&value, sequence.data() + index * sizeof(Number), sizeof(Number));
    return swap ? CdrReader::swapped(value) : value;
}

std::vector<double> doubles_of(CdrReader& reader) {
    const auto sequence = reader.sequence<double>();
    std::vector<double> values(sequence.size() / sizeof(double));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = element<double>(sequence, i, reader.swaps_bytes());
    return values;
}

/// A sequence of strings: each takes at least five bytes, so a huge count ends at the first that is not there.
std::vector<std::string_view> texts_of(CdrReader& reader) {
    std::vector<std::string_view> texts;
    const auto count = reader.number<std::uint32_t>();
    for (std::uint32_t i = 0; i < count && reader.ok(); ++i) {
        const auto text = reader.text();
        if (reader.ok()) texts.push_back(text);
    }
    return texts;
}

std::span<const std::uint8_t> octets_of(CdrReader& reader) noexcept {
    const auto sequence = reader.sequence<std::uint8_t>();
    return {reinterpret_cast<const std::uint8_t*>(sequence.data()), sequence.size()};
}

/// False when the cells do not fill the map, or the window does not lie in it.
bool read_floor_map(CdrReader& reader, FloorMapMessage& floor) noexcept {
    floor.frame_id = reader.text();
    for (double* number : {&floor.stamp_s, &floor.age_s_max, &floor.placed_stamp_s, &floor.origin_xy[0], &floor.origin_xy[1], &floor.origin_yaw, &floor.resolution_m}) *number = reader.number<double>();
    for (auto* pair : {&floor.size, &floor.window_first, &floor.window_end}) {
        for (std::uint32_t& cells : *pair) cells = reader.number<std::uint32_t>();
    }
    for (double& number : floor.window_in_base) number = reader.number<double>();
    floor.low_m = reader.number<double>();
    floor.high_m = reader.number<double>();
    floor.blocked_bits = octets_of(reader);
    if (!reader.ok() || floor.size[0] == 0 || floor.size[1] == 0 || floor.blocked_bits.size() / floor.row_bytes() != floor.size[1] || floor.blocked_bits.size() % floor.row_bytes() != 0) return false;
    for (std::size_t axis = 0; axis < 2; ++axis) {
        if (!(floor.window_first[axis] < floor.window_end[axis] && floor.window_end[axis] <= floor.size[axis])) return false;
    }
    return true;
}

void write_floor_map(CdrWriter& writer, const FloorMapMessage& floor) noexcept {
    writer.text(floor.frame_id);
    for (const double number : {floor.stamp_s, floor.age_s_max, floor.placed_stamp_s, floor.origin_xy[0], floor.origin_xy[1], floor.origin_yaw, floor.resolution_m}) writer.number(number);
    for (const auto* pair : {&floor.size, &floor.window_first, &floor.window_end}) {
        for (const std::uint32_t cells : *pair) writer.number(cells);
    }
    for (const double number : floor.window_in_base) writer.number(number);
    writer.number(floor.low_m);
    writer.number(floor.high_m);
    writer.octets(floor.blocked_bits);
}

}  // namespace

std::optional<ActionChunkMessage> read_action_chunk(std::span<std::byte> payload) noexcept {
    CdrReader reader(payload);
    ActionChunkMessage chunk;
    chunk.stamp = read_stamp(reader);
    chunk.header_frame_id = reader.text();
    chunk.control_mode = reader.number<std::uint8_t>();
    chunk.horizon = reader.number<std::uint16_t>();
    const auto flat = reader.sequence<double>();
    chunk.n_dof = reader.number<std::uint8_t>();
    chunk.ee_name = reader.text();
    chunk.frame_id = reader.text();
    chunk.confidence = reader.number<float>();
    chunk.rskill_id = reader.text();
    chunk.rskill_revision = reader.text();
    chunk.trace_id = reader.text();
    chunk.tick_index = reader.number<std::uint32_t>();
    if (!reader.at_end()) return std::nullopt;
    // Read in place: the caller keeps the payload where its doubles are aligned.
    if (reinterpret_cast<std::uintptr_t>(flat.data()) % alignof(double) != 0) return std::nullopt;
    if (reader.swaps_bytes()) {
        std::byte* first = payload.data() + (flat.data() - payload.data());
        for (std::size_t i = 0; i < flat.size() / sizeof(double); ++i) {
            const double value = element<double>(flat, i, true);
            std::memcpy(first + i * sizeof(double), &value, sizeof value);
        }
    }
    chunk.flat = {reinterpret_cast<const double*>(flat.data()), flat.size() / sizeof(double)};
    return chunk;
}

std::span<const std::byte> write_action_chunk(const ActionChunkMessage& chunk, std::span<std::byte> memory) noexcept {
    CdrWriter writer(memory);
    write_header(writer, chunk.stamp, chunk.header_frame_id);
    writer.number(chunk.control_mode);
    writer.number(chunk.horizon);
    writer.doubles(chunk.flat);
    writer.number(chunk.n_dof);
    writer.text(chunk.ee_name);
    writer.text(chunk.frame_id);
    writer.number(chunk.confidence);
    writer.text(chunk.rskill_id);
    writer.text(chunk.rskill_revision);
    writer.text(chunk.trace_id);
    writer.number(chunk.tick_index);
    return writer.bytes();
}

std::optional<JointStateMessage> read_joint_state(std::span<const std::byte> payload, std::span<JointReading> joints) noexcept {
    CdrReader reader(payload);
    JointStateMessage state;
    state.stamp = read_stamp(reader);
    (void)reader.text();
    const auto count = reader.number<std::uint32_t>();
    if (!reader.ok() || count > joints.size()) return std::nullopt;
    for (std::uint32_t i = 0; i < count; ++i) joints[i].name = reader.text();
    const auto positions = reader.sequence<double>();
    const auto velocities = reader.sequence<double>();
    (void)reader.sequence<double>();  // effort, which no check uses
    if (!reader.at_end() || positions.size() != count * sizeof(double)) return std::nullopt;
    if (!velocities.empty() && velocities.size() != positions.size()) return std::nullopt;
    for (std::uint32_t i = 0; i < count; ++i) {
        joints[i].position = element<double>(positions, i, reader.swaps_bytes());
        joints[i].has_velocity = !velocities.empty();
        joints[i].velocity = velocities.empty() ? 0.0 : element<double>(velocities, i, reader.swaps_bytes());
    }
    state.count = count;
    return state;
}

std::span<const std::byte> write_joint_state(Stamp stamp, std::span<const std::string_view> names, std::span<const double> positions,
                                             std::span<const double> velocities, std::span<std::byte> memory) noexcept {
    CdrWriter writer(memory);
    write_header(writer, stamp, "");
    writer.number(static_cast<std::uint32_t>(names.size()));
    for (const auto name : names) writer.text(name);
    writer.doubles(positions);
    writer.doubles(velocities);
    writer.doubles({});
    return writer.bytes();
}

std::optional<WorldCollisionMessage> read_world_collision(std::span<const std::byte> payload) {
    CdrReader reader(payload);
    WorldCollisionMessage world;
    world.stamp = read_stamp(reader);
    world.frame_id = reader.text();
    world.radius = doubles_of(reader);
    world.half_length = doubles_of(reader);
    world.origin_xyzrpy = doubles_of(reader);
    world.object_id = texts_of(reader);
    const std::size_t count = world.radius.size();
    if (!reader.at_end() || world.half_length.size() != count || world.origin_xyzrpy.size() != 6 * count || world.object_id.size() != count) return std::nullopt;
    return world;
}

std::optional<OccupancyVoxelsMessage> read_occupancy_voxels(std::span<const std::byte> payload) noexcept {
    CdrReader reader(payload);
    OccupancyVoxelsMessage voxels;
    voxels.stamp = read_stamp(reader);
    voxels.frame_id = reader.text();
    for (double& coordinate : voxels.origin) coordinate = reader.number<double>();
    voxels.resolution = reader.number<double>();
    for (std::uint32_t& cells : voxels.size) cells = reader.number<std::uint32_t>();
    voxels.occupancy = octets_of(reader);
    if (!reader.at_end()) return std::nullopt;
    return voxels;
}

std::optional<WorldSnapshotMessage> read_world_snapshot(std::span<const std::byte> payload) {
    CdrReader reader(payload);
    WorldSnapshotMessage world;
    world.stamp_s = reader.number<double>();
    world.frame_id = reader.text();
    world.world_id = reader.text();
    world.declared_absent = reader.number<std::uint8_t>() == 1;
    const auto kinds = octets_of(reader);
    world.kinds.assign(kinds.begin(), kinds.end());
    world.sizes_m = doubles_of(reader);
    world.xyz_quat_xyzw = doubles_of(reader);
    world.object_id = texts_of(reader);
    world.has_points = reader.number<std::uint8_t>() == 1;
    world.points_stamp_s = reader.number<double>();
    world.points = doubles_of(reader);
    world.has_voxels = reader.number<std::uint8_t>() == 1;
    world.voxels_stamp_s = reader.number<double>();
    for (double& coordinate : world.origin) coordinate = reader.number<double>();
    world.resolution = reader.number<double>();
    for (std::uint32_t& cells : world.size) cells = reader.number<std::uint32_t>();
    world.unknown_is_free = reader.number<std::uint8_t>() == 1;
    world.outside_is_free = reader.number<std::uint8_t>() == 1;
    world.occupancy = octets_of(reader);
    world.obstacle_count = reader.number<std::uint32_t>();
    world.has_floor = reader.number<std::uint8_t>() == 1;
    if (world.has_floor && !read_floor_map(reader, world.floor)) return std::nullopt;
    if (!reader.at_end()) {
        world.is_static = reader.number<std::uint8_t>() == 1;
        world.static_lasts_s = reader.number<double>();
    }
    const std::size_t count = world.kinds.size();
    const bool lengths_agree = world.sizes_m.size() == 3 * count && world.xyz_quat_xyzw.size() == 7 * count && world.object_id.size() == count && world.points.size() % 3 == 0 && world.obstacle_count <= count;
    if (!reader.at_end() || !lengths_agree) return std::nullopt;
    return world;
}

std::span<const std::byte> write_world_snapshot(const WorldSnapshotMessage& world, std::span<std::byte> memory) noexcept {
    CdrWriter writer(memory);
    const auto flag = [&](bool value) { writer.number(static_cast<std::uint8_t>(value ? 1 : 0)); };
    writer.number(world.stamp_s);
    writer.text(world.frame_id);
    writer.text(world.world_id);
    flag(world.declared_absent);
    writer.octets(world.kinds);
    writer.doubles(world.sizes_m);
    writer.doubles(world.xyz_quat_xyzw);
    writer.number(static_cast<std::uint32_t>(world.object_id.size()));
    for (const auto name : world.object_id) writer.text(name);
    flag(world.has_points);
    writer.number(world.points_stamp_s);
    writer.doubles(world.points);
    flag(world.has_voxels);
    writer.number(world.voxels_stamp_s);
    for (const double coordinate : world.origin) writer.number(coordinate);
    writer.number(world.resolution);
    for (const std::uint32_t cells : world.size) writer.number(cells);
    flag(world.unknown_is_free);
    flag(world.outside_is_free);
    writer.octets(world.occupancy);
    writer.number(world.obstacle_count);
    flag(world.has_floor);
    if (world.has_floor) write_floor_map(writer, world.floor);
    if (world.is_static) {
        flag(true);
        writer.number(world.static_lasts_s);
    }
    return writer.bytes();
}

std::span<const std::byte> write_failure_trigger(const FailureTriggerMessage& failure, std::span<std::byte> memory) noexcept {
    CdrWriter writer(memory);
    write_header(writer, failure.stamp, "");
    writer.number(failure.kind);
    writer.number(failure.severity);
    writer.text(failure.evidence_json);
    writer.text(failure.rskill_id);
    writer.text(failure.trace_id);
    return writer.bytes();
}

std::span<const std::byte> write_safety_status(const SafetyStatusMessage& status, std::span<std::byte> memory) noexcept {
    CdrWriter writer(memory);
    write_header(writer, status.stamp, "");
    writer.number(status.state);
    writer.text(status.source);
    writer.text(status.reason);
    writer.number(status.sequence);
    writer.number(status.passed);
    writer.number(status.dropped);
    writer.text(status.model_digest);
    writer.text(status.world_id);
    return writer.bytes();
}

std::span<const std::byte> write_twist(const std::array<double, 6>& twist, std::span<std::byte> memory) noexcept {
    CdrWriter writer(memory);
    for (const double value : twist) writer.number(value);
    return writer.bytes();
}

std::optional<std::array<double, 6>> read_twist(std::span<const std::byte> payload) noexcept {
    CdrReader reader(payload);
    std::array<double, 6> twist{};
    for (double& value : twist) value = reader.number<double>();
    if (!reader.at_end()) return std::nullopt;
    return twist;
}

}  // namespace lastgate::kernel
