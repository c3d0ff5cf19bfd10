// SPDX-License-Identifier: Apache-2.0
// Translation only: the messages that go through the channels of the kernel process.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "channels.hpp"
#include "client.hpp"
#include "evidence.hpp"
#include "known_numbers.hpp"
#include "messages.hpp"
#include "payload.hpp"
#include "requests.hpp"
#include "world_builder.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace lastgate;
using namespace lastgate::kernel;
using namespace lastgate::bindings;

namespace {

using Vector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Kinds = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Bytes3 = nb::ndarray<const std::uint8_t, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

/// Writes a message into memory that is surely large enough.
template <typename Write>
nb::bytes written(std::size_t room, Write write) {
    std::vector<std::byte> memory(room);
    const auto bytes = write(std::span<std::byte>(memory));
    if (bytes.empty()) throw std::invalid_argument("the message does not fit");
    return nb::bytes(bytes.data(), bytes.size());
}

Stamp stamp_of(double stamp_s) {
    if (!(stamp_s >= -2147483648.0 && stamp_s < 2147483648.0)) throw std::invalid_argument("the stamp does not fit into a ROS time");
    return Stamp::of_seconds(stamp_s);
}

nb::bytes encode_action_chunk(Matrix rows, std::uint8_t control_mode, double stamp_s, std::string_view ee_name, std::string_view frame_id, std::string_view rskill_id, std::string_view trace_id,
                              std::uint32_t tick_index) {
    if (rows.shape(0) > 65535 || rows.shape(1) > 255) throw std::invalid_argument("a chunk holds at most 65535 rows of 255 numbers");
    ActionChunkMessage chunk;
    chunk.stamp = stamp_of(stamp_s);
    chunk.control_mode = control_mode;
    chunk.horizon = static_cast<std::uint16_t>(rows.shape(0));
    chunk.n_dof = static_cast<std::uint8_t>(rows.shape(1));
    chunk.flat = {rows.data(), rows.size()};
    chunk.ee_name = ee_name;
    chunk.frame_id = frame_id;
    chunk.rskill_id = rskill_id;
    chunk.trace_id = trace_id;
    chunk.tick_index = tick_index;
    const std::size_t room = 128 + 8 * rows.size() + ee_name.size() + frame_id.size() + rskill_id.size() + trace_id.size();
    return written(room, [&](std::span<std::byte> memory) { return write_action_chunk(chunk, memory); });
}

/// A chunk together with the bytes that its views point into, which lie where its doubles are aligned, as the kernel keeps it.
struct OwnedChunk {
    std::vector<std::uint64_t> memory;
    ActionChunkMessage chunk;
};

std::optional<OwnedChunk> decode_action_chunk(const nb::bytes& payload) {
    OwnedChunk owned;
    owned.memory.resize((payload.size() + payload_offset + 7) / 8);
    auto* first = reinterpret_cast<std::byte*>(owned.memory.data()) + payload_offset;
    std::memcpy(first, payload.data(), payload.size());
    const auto chunk = read_action_chunk({first, payload.size()});
    if (!chunk) return std::nullopt;
    owned.chunk = *chunk;
    return owned;
}

void bind_action_chunk(nb::module_& module) {
    const auto text = [](std::string_view ActionChunkMessage::* member) { return [member](const OwnedChunk& c) { return std::string(c.chunk.*member); }; };
    nb::class_<OwnedChunk>(module, "ActionChunkMessage")
        .def_prop_ro("stamp_s", [](const OwnedChunk& c) { return c.chunk.stamp.in_seconds(); })
        .def_prop_ro("control_mode", [](const OwnedChunk& c) { return c.chunk.control_mode; })
        .def_prop_ro("horizon", [](const OwnedChunk& c) { return c.chunk.horizon; })
        .def_prop_ro("n_dof", [](const OwnedChunk& c) { return c.chunk.n_dof; })
        .def_prop_ro("flat", [](const OwnedChunk& c) { return std::vector<double>(c.chunk.flat.begin(), c.chunk.flat.end()); })
        .def_prop_ro("ee_name", text(&ActionChunkMessage::ee_name))
        .def_prop_ro("frame_id", text(&ActionChunkMessage::frame_id))
        .def_prop_ro("confidence", [](const OwnedChunk& c) { return c.chunk.confidence; })
        .def_prop_ro("rskill_id", text(&ActionChunkMessage::rskill_id))
        .def_prop_ro("rskill_revision", text(&ActionChunkMessage::rskill_revision))
        .def_prop_ro("trace_id", text(&ActionChunkMessage::trace_id))
        .def_prop_ro("tick_index", [](const OwnedChunk& c) { return c.chunk.tick_index; });
    module.def("encode_action_chunk", &encode_action_chunk, "rows"_a.noconvert(), nb::kw_only(), "control_mode"_a, "stamp_s"_a, "ee_name"_a = "", "frame_id"_a = "", "rskill_id"_a = "", "trace_id"_a = "", "tick_index"_a = 0);
    module.def("decode_action_chunk", &decode_action_chunk, "payload"_a);
}

nb::bytes encode_joint_state(const std::vector<std::string>& names, Vector positions, std::optional<Vector> velocities, double stamp_s) {
    const std::vector<std::string_view> views(names.begin(), names.end());
    std::size_t room = 128 + 16 * positions.size();
    for (const auto& name : names) room += name.size() + 16;
    const std::span<const double> speeds = velocities ? std::span<const double>(velocities->data(), velocities->size()) : std::span<const double>{};
    return written(room, [&](std::span<std::byte> memory) { return write_joint_state(stamp_of(stamp_s), views, {positions.data(), positions.size()}, speeds, memory); });
}

nb::bytes encode_world_snapshot(double stamp_s, std::string_view frame_id, std::string_view world_id, bool declared_absent, Kinds kinds, Matrix sizes_m, Matrix poses, const std::vector<std::string>& object_id,
                                std::optional<std::tuple<Matrix, double>> points, std::optional<std::tuple<Bytes3, std::array<double, 3>, double, bool, bool, double>> voxels,
                                std::uint32_t obstacle_count, const FloorMapMessage* floor, std::optional<double> static_lasts_s) {
    WorldSnapshotMessage world;
    world.stamp_s = stamp_s;
    world.frame_id = frame_id;
    world.world_id = world_id;
    world.declared_absent = declared_absent;
    world.kinds.assign(kinds.data(), kinds.data() + kinds.size());
    world.sizes_m.assign(sizes_m.data(), sizes_m.data() + sizes_m.size());
    world.xyz_quat_xyzw.assign(poses.data(), poses.data() + poses.size());
    std::size_t room = 512 + frame_id.size() + world_id.size() + kinds.size() * 96;
    for (const auto& name : object_id) {
        world.object_id.emplace_back(name);
        room += name.size() + 16;
    }
    if (points) {
        const Matrix& xyz = std::get<0>(*points);
        world.has_points = true;
        world.points_stamp_s = std::get<1>(*points);
        world.points.assign(xyz.data(), xyz.data() + xyz.size());
        room += xyz.size() * 8;
    }
    if (voxels) {
        const auto& [occupancy, origin, resolution_m, unknown_is_free, outside_is_free, voxels_stamp_s] = *voxels;
        world.has_voxels = true;
        world.voxels_stamp_s = voxels_stamp_s;
        world.origin = origin;
        world.resolution = resolution_m;
        world.size = {static_cast<std::uint32_t>(occupancy.shape(2)), static_cast<std::uint32_t>(occupancy.shape(1)), static_cast<std::uint32_t>(occupancy.shape(0))};
        world.unknown_is_free = unknown_is_free;
        world.outside_is_free = outside_is_free;
        world.occupancy = {occupancy.data(), occupancy.size()};
        room += occupancy.size();
    }
    world.obstacle_count = obstacle_count;
    world.is_static = static_lasts_s.has_value();
    world.static_lasts_s = static_lasts_s.value_or(0.0);
    if (floor != nullptr) {
        world.has_floor = true;
        world.floor = *floor;
        room += floor->blocked_bits.size() + floor->frame_id.size() + 512;
    }
    return written(room, [&](std::span<std::byte> memory) { return write_world_snapshot(world, memory); });
}

using ContactTuple = std::tuple<std::vector<std::string>, std::vector<std::string>, std::vector<std::string>, bool, bool, std::array<double, 3>, std::array<double, 7>, double, double>;

nb::bytes encode_chunk_request(const nb::bytes& chunk, bool recovery, const std::vector<ContactTuple>& contacts) {
    std::size_t room = 128 + chunk.size();
    std::vector<NamedContact> named;
    const auto views_of = [&](const std::vector<std::string>& names) {
        for (const auto& name : names) room += name.size() + 16;
        return std::vector<std::string_view>(names.begin(), names.end());
    };
    for (const auto& [links, held_objects, objects, voxels, points, region_size, region_pose, expires_s, depth_m] : contacts) {
        named.push_back({views_of(links), views_of(held_objects), views_of(objects), voxels, points, region_size, region_pose, expires_s, depth_m});
        room += 208;
    }
    return written(room, [&](std::span<std::byte> memory) { return write_chunk_request(recovery, named, span_of(chunk), memory); });
}

/// Whole numbers and texts of a message that its own reader has views of: the bytes it came in are kept beside it.
void bind_world_snapshot(nb::module_& module) {
    const auto bytes_of = [](const auto& numbers) { return nb::bytes(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof numbers[0]); };
    nb::class_<WorldSnapshotMessage>(module, "WorldSnapshotMessage")
        .def_ro("stamp_s", &WorldSnapshotMessage::stamp_s)
        .def_prop_ro("frame_id", [](const WorldSnapshotMessage& w) { return std::string(w.frame_id); })
        .def_prop_ro("world_id", [](const WorldSnapshotMessage& w) { return std::string(w.world_id); })
        .def_ro("declared_absent", &WorldSnapshotMessage::declared_absent)
        .def_prop_ro("static_lasts_s", [](const WorldSnapshotMessage& w) { return w.is_static ? std::optional(w.static_lasts_s) : std::nullopt; })
        .def_prop_ro("kinds", [bytes_of](const WorldSnapshotMessage& w) { return bytes_of(w.kinds); })
        .def_ro("sizes_m", &WorldSnapshotMessage::sizes_m)
        .def_ro("poses", &WorldSnapshotMessage::xyz_quat_xyzw)
        .def_prop_ro("object_id", [](const WorldSnapshotMessage& w) { return std::vector<std::string>(w.object_id.begin(), w.object_id.end()); })
        .def_ro("obstacle_count", &WorldSnapshotMessage::obstacle_count)
        .def_ro("has_points", &WorldSnapshotMessage::has_points)
        .def_ro("points_stamp_s", &WorldSnapshotMessage::points_stamp_s)
        .def_prop_ro("points", [bytes_of](const WorldSnapshotMessage& w) { return bytes_of(w.points); })
        .def_ro("has_voxels", &WorldSnapshotMessage::has_voxels)
        .def_ro("voxels_stamp_s", &WorldSnapshotMessage::voxels_stamp_s)
        .def_prop_ro("occupancy", [bytes_of](const WorldSnapshotMessage& w) { return bytes_of(w.occupancy); })
        .def_prop_ro("size_xyz", [](const WorldSnapshotMessage& w) { return std::make_tuple(w.size[0], w.size[1], w.size[2]); })
        .def_prop_ro("origin_xyz", [](const WorldSnapshotMessage& w) { return std::make_tuple(w.origin[0], w.origin[1], w.origin[2]); })
        .def_ro("resolution_m", &WorldSnapshotMessage::resolution)
        .def_ro("unknown_is_free", &WorldSnapshotMessage::unknown_is_free)
        .def_ro("outside_is_free", &WorldSnapshotMessage::outside_is_free);
    module.def("decode_world_snapshot", [](const nb::bytes& payload) { return read_world_snapshot(span_of(payload)); }, "payload"_a, nb::keep_alive<0, 1>());
}

/// The world that a kernel makes of these messages, by the code that the kernel makes it with.
std::unique_ptr<NamedWorld> world_of_messages(const std::vector<std::tuple<MessageType, nb::bytes>>& messages, const std::string& base_frame, std::uint64_t id, const std::string& root_frame, std::array<double, 6> root_in_base_xyzrpy) {
    // Messages that complete no world take no number: the last one gets the number that is asked for.
    WorldBuilder builder({base_frame, root_frame, root_in_base_xyzrpy}, id - (messages.empty() ? 0 : messages.size() - 1));
    std::unique_ptr<NamedWorld> world;
    for (const auto& [type, payload] : messages) world = builder.take(type, span_of(payload), {});
    return world;
}

void bind_built_world(nb::module_& module) {
    nb::class_<NamedWorld>(module, "BuiltWorld")
        .def_ro("native", &NamedWorld::snapshot)
        .def_prop_ro("world_id", [](const NamedWorld& w) { return w.names.world_id; })
        .def_prop_ro("object_id", [](const NamedWorld& w) { return w.names.object_id; })
        .def_prop_ro("obstacle_count", [](const NamedWorld& w) { return w.names.obstacle_count; });
    module.def("world_of_messages", &world_of_messages, "messages"_a, nb::kw_only(), "base_frame"_a, "id"_a, "root_frame"_a = "", "root_in_base_xyzrpy"_a = std::array<double, 6>{},
               nb::sig("def world_of_messages(messages: Sequence[tuple[MessageType, bytes]], *, base_frame: str, id: int, root_frame: str = '', root_in_base_xyzrpy: Sequence[float] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)) -> BuiltWorld | None"));
}

void bind_messages(nb::module_& module) {
    module.def("encode_joint_state", &encode_joint_state, "names"_a, nb::kw_only(), "positions"_a.noconvert(), "velocities"_a.none() = nb::none(), "stamp_s"_a);
    module.def("encode_world_snapshot", &encode_world_snapshot, nb::kw_only(), "stamp_s"_a, "frame_id"_a, "world_id"_a, "declared_absent"_a, "kinds"_a, "sizes_m"_a, "poses"_a, "object_id"_a, "points"_a.none(), "voxels"_a.none(), "obstacle_count"_a, "floor"_a.none(), "static_lasts_s"_a.none() = nb::none());
    // Views: the caller keeps what a view was made of.
    nb::class_<FloorMapMessage>(module, "FloorMapMessage")
        .def("__init__", [](FloorMapMessage* self, std::string_view frame_id, double stamp_s, double age_s_max, double placed_stamp_s, std::array<double, 2> origin_xy, double origin_yaw, double resolution_m,
                            std::array<std::uint32_t, 2> size, std::array<std::uint32_t, 2> window_first, std::array<std::uint32_t, 2> window_end, Matrix window_in_base, double low_m, double high_m, const nb::bytes& blocked_bits) {
            if (window_in_base.shape(0) != 3 || window_in_base.shape(1) != 4) throw std::invalid_argument("a pose is 3 x 4");
            new (self) FloorMapMessage{frame_id, stamp_s, age_s_max, placed_stamp_s, origin_xy, origin_yaw, resolution_m, size, window_first, window_end, {}, low_m, high_m, {static_cast<const std::uint8_t*>(blocked_bits.data()), blocked_bits.size()}};
            std::copy_n(window_in_base.data(), 12, self->window_in_base.begin());
        }, nb::kw_only(), nb::keep_alive<1, 2>(), nb::keep_alive<1, 15>(), "frame_id"_a, "stamp_s"_a, "age_s_max"_a, "placed_stamp_s"_a, "origin_xy"_a, "origin_yaw"_a, "resolution_m"_a, "size"_a, "window_first"_a, "window_end"_a,
           "window_in_base"_a.noconvert(), "low_m"_a, "high_m"_a, "blocked_bits"_a)
        .def_prop_ro("frame_id", [](const FloorMapMessage& m) { return std::string(m.frame_id); })
        .def_ro("stamp_s", &FloorMapMessage::stamp_s)
        .def_prop_ro("origin_xy", [](const FloorMapMessage& m) { return std::make_tuple(m.origin_xy[0], m.origin_xy[1]); })
        .def_ro("origin_yaw", &FloorMapMessage::origin_yaw)
        .def_ro("resolution_m", &FloorMapMessage::resolution_m)
        .def_prop_ro("size", [](const FloorMapMessage& m) { return std::make_tuple(m.size[0], m.size[1]); })
        .def_prop_ro("window_first", [](const FloorMapMessage& m) { return std::make_tuple(m.window_first[0], m.window_first[1]); })
        .def_prop_ro("window_in_base", [](const FloorMapMessage& m) { return nb::bytes(reinterpret_cast<const char*>(m.window_in_base.data()), sizeof m.window_in_base); })
        .def_prop_ro("blocked_bits", [](const FloorMapMessage& m) { return nb::bytes(reinterpret_cast<const char*>(m.blocked_bits.data()), m.blocked_bits.size()); });
    module.def("decode_floor_map", [](const nb::bytes& world_snapshot) -> std::optional<FloorMapMessage> {
        const auto world = read_world_snapshot(span_of(world_snapshot));
        return world && world->has_floor ? std::optional(world->floor) : std::nullopt;
    }, "world_snapshot"_a, nb::keep_alive<0, 1>());
    module.def("encode_chunk_request", &encode_chunk_request, "chunk"_a, nb::kw_only(), "recovery"_a, "contacts"_a);
    module.def("encode_attached_shape", [](std::string_view object_id, std::string_view link, double radius_m, Vector ends, const std::vector<std::string>& touch_links, std::optional<std::tuple<std::array<double, 6>, double, Matrix>> solid) {
        if (ends.size() != 6) throw std::invalid_argument("a segment is six numbers");
        const std::vector<std::string_view> views(touch_links.begin(), touch_links.end());
        std::size_t room = 256 + object_id.size() + link.size();
        for (const auto& name : touch_links) room += name.size() + 16;
        SolidNumbers numbers;
        if (solid) {
            const Matrix& vertices = std::get<2>(*solid);
            numbers = {std::get<0>(*solid), std::get<1>(*solid), {vertices.data(), vertices.size()}};
            room += 8 * vertices.size() + 128;
        }
        return written(room, [&](std::span<std::byte> memory) { return write_attached_shape(object_id, link, radius_m, {ends.data(), ends.size()}, views, memory, numbers); });
    }, nb::kw_only(), "object_id"_a, "link"_a, "radius_m"_a, "ends"_a.noconvert(), "touch_links"_a, "solid"_a.none() = nb::none());
    module.def("encode_detach", [](std::string_view object_id) {
        return written(64 + object_id.size(), [&](std::span<std::byte> memory) { return write_detach(object_id, memory); });
    }, "object_id"_a);
    module.def("encode_nav_goal", [](std::string_view frame_id, std::array<double, 3> xyz, std::array<double, 4> quat_xyzw) {
        return written(128 + frame_id.size(), [&](std::span<std::byte> memory) { return write_nav_goal({frame_id, xyz, quat_xyzw}, memory); });
    }, nb::kw_only(), "frame_id"_a, "xyz"_a, "quat_xyzw"_a);
    module.def("encode_twist", [](std::array<double, 6> twist) {
        return written(64, [&](std::span<std::byte> memory) { return write_twist(twist, memory); });
    }, "twist"_a);
    module.def("decode_twist", [](const nb::bytes& payload) { return read_twist(span_of(payload)); }, "payload"_a);
}

/// SafetyStatus as Python reads it.
struct OwnedStatus {
    double stamp_s = 0.0;
    LifecycleState state = LifecycleState::unconfigured;
    std::string source, reason;
    std::uint32_t sequence = 0;
    std::uint64_t passed = 0, dropped = 0;
    std::string model_digest, world_id;
};

std::optional<OwnedStatus> read_safety_status(const nb::bytes& payload) {
    CdrReader reader(span_of(payload));
    OwnedStatus status;
    const double seconds = reader.number<std::int32_t>();
    status.stamp_s = seconds + 1e-9 * reader.number<std::uint32_t>();
    (void)reader.text();
    const auto state = reader.number<std::uint8_t>();
    status.state = static_cast<LifecycleState>(state);
    status.source = reader.text();
    status.reason = reader.text();
    status.sequence = reader.number<std::uint32_t>();
    status.passed = reader.number<std::uint64_t>();
    status.dropped = reader.number<std::uint64_t>();
    status.model_digest = reader.text();
    status.world_id = reader.text();
    if (!reader.at_end() || state > static_cast<std::uint8_t>(LifecycleState::latched)) return std::nullopt;
    return status;
}

void bind_safety_status(nb::module_& module) {
    nb::class_<OwnedStatus>(module, "SafetyStatusMessage")
        .def_ro("stamp_s", &OwnedStatus::stamp_s)
        .def_ro("state", &OwnedStatus::state)
        .def_ro("source", &OwnedStatus::source)
        .def_ro("reason", &OwnedStatus::reason)
        .def_ro("sequence", &OwnedStatus::sequence)
        .def_ro("passed", &OwnedStatus::passed)
        .def_ro("dropped", &OwnedStatus::dropped)
        .def_ro("model_digest", &OwnedStatus::model_digest)
        .def_ro("world_id", &OwnedStatus::world_id);
    module.def("read_safety_status", &read_safety_status, "payload"_a);
}

/// What the kernel itself writes into its rings, as it lies there.
using DecidedChunk = ChannelClient::Answer;

std::optional<DecidedChunk> decode_verdict(const nb::bytes& payload) {
    DecidedChunk decided;
    VerdictFrame& frame = decided.frame;
    if (payload.size() < sizeof frame) return std::nullopt;
    std::memcpy(&frame, payload.data(), sizeof frame);
    if (payload.size() != sizeof frame + frame.evidence_bytes) return std::nullopt;
    decided.evidence.assign(static_cast<const char*>(payload.data()) + sizeof frame, frame.evidence_bytes);
    return decided;
}

void bind_verdict_frame(nb::module_& module) {
    nb::class_<DecidedChunk>(module, "VerdictFrame")
        .def_prop_ro("chunk_sequence", [](const DecidedChunk& d) { return d.frame.chunk_sequence; })
        .def_prop_ro("safe_sequence", [](const DecidedChunk& d) { return d.frame.safe_sequence; })
        .def_prop_ro("latch_sequence", [](const DecidedChunk& d) { return d.frame.latch_sequence; })
        .def_prop_ro("duration_s", [](const DecidedChunk& d) { return static_cast<double>(d.frame.duration_ns) * 1e-9; })
        .def_prop_ro("passed", [](const DecidedChunk& d) { return d.frame.passed == 1; })
        .def_prop_ro("latched", [](const DecidedChunk& d) { return d.frame.latched == 1; })
        .def_prop_ro("verdict", [](const DecidedChunk& d) { return d.frame.verdict; })
        .def_prop_ro("evidence", [](const DecidedChunk& d) { return nb::bytes(d.evidence.data(), d.evidence.size()); });
    module.def("decode_verdict", &decode_verdict, "payload"_a);
}

/// An InputFrame with the numbers and bytes that follow it.
struct OwnedInputs {
    InputFrame frame;
    std::vector<double> positions, stamps_s, velocities, gripper_positions;
    std::string chunk;
};

std::optional<OwnedInputs> decode_inputs(const nb::bytes& payload) {
    OwnedInputs inputs;
    InputFrame& frame = inputs.frame;
    if (payload.size() < sizeof frame) return std::nullopt;
    std::memcpy(&frame, payload.data(), sizeof frame);
    const std::size_t numbers = std::size_t{frame.position_count} + frame.stamp_count + frame.velocity_count + frame.gripper_count;
    if (payload.size() != sizeof frame + 8 * numbers + frame.chunk_bytes) return std::nullopt;
    const auto* at = static_cast<const char*>(payload.data()) + sizeof frame;
    const auto take = [&](std::uint32_t count) {
        std::vector<double> values(count);
        if (count > 0) std::memcpy(values.data(), at, 8 * std::size_t{count});
        at += 8 * std::size_t{count};
        return values;
    };
    inputs.positions = take(frame.position_count);
    inputs.stamps_s = take(frame.stamp_count);
    inputs.velocities = take(frame.velocity_count);
    inputs.gripper_positions = take(frame.gripper_count);
    inputs.chunk.assign(at, frame.chunk_bytes);
    return inputs;
}

/// Type, channel and sequence of the messages that a world was made of.
std::vector<std::tuple<MessageType, std::uint32_t, std::uint64_t>> world_sources(const OwnedInputs& inputs) {
    std::vector<std::tuple<MessageType, std::uint32_t, std::uint64_t>> sources;
    for (const MessageSource& source : inputs.frame.world) {
        if (source.type != MessageType::nothing) sources.emplace_back(known(source.type), source.channel, source.sequence);
    }
    return sources;
}

void bind_input_frame(nb::module_& module) {
    nb::class_<OwnedInputs>(module, "InputFrame")
        .def_prop_ro("chunk_sequence", [](const OwnedInputs& i) { return i.frame.chunk_sequence; })
        .def_prop_ro("channel", [](const OwnedInputs& i) { return i.frame.channel; })
        .def_prop_ro("state_given", [](const OwnedInputs& i) { return i.frame.state_given == 1; })
        .def_ro("positions", &OwnedInputs::positions)
        .def_ro("stamps_s", &OwnedInputs::stamps_s)
        .def_ro("velocities", &OwnedInputs::velocities)
        .def_ro("gripper_positions", &OwnedInputs::gripper_positions)
        .def_prop_ro("chunk_type", [](const OwnedInputs& i) { return known(i.frame.chunk_type); })
        .def_prop_ro("chunk", [](const OwnedInputs& i) { return nb::bytes(i.chunk.data(), i.chunk.size()); })
        .def_prop_ro("recovery", [](const OwnedInputs& i) { return i.frame.recovery == 1; })
        .def_prop_ro("contact_count", [](const OwnedInputs& i) { return i.frame.contact_count; })
        .def_prop_ro("attached_count", [](const OwnedInputs& i) { return i.frame.held_count; })
        .def_prop_ro("world_given", [](const OwnedInputs& i) { return i.frame.world_given == 1; })
        .def_prop_ro("stamp_s", [](const OwnedInputs& i) { return i.frame.stamp_s; })
        .def_prop_ro("now_s", [](const OwnedInputs& i) { return i.frame.now_s; })
        .def_prop_ro("world_held_s", [](const OwnedInputs& i) { return i.frame.world_held_s; })
        .def_prop_ro("world_id", [](const OwnedInputs& i) { return i.frame.world_id; })
        .def_prop_ro("world_sources", &world_sources)
        .def_prop_ro("verdict", [](const OwnedInputs& i) { return i.frame.found; });
    module.def("decode_inputs", &decode_inputs, "payload"_a);
}

void bind_trace_frame(nb::module_& module) {
    nb::class_<TraceFrame>(module, "TraceFrame")
        .def_prop_ro("begun_wall_s", [](const TraceFrame& t) { return static_cast<double>(t.begun_wall_ns) * 1e-9; })
        .def_prop_ro("duration_s", [](const TraceFrame& t) { return static_cast<double>(t.duration_ns) * 1e-9; })
        .def_ro("chunk_sequence", &TraceFrame::chunk_sequence)
        .def_ro("channel", &TraceFrame::channel)
        .def_prop_ro("passed", [](const TraceFrame& t) { return t.passed == 1; })
        .def_prop_ro("warn_only", [](const TraceFrame& t) { return t.warn_only == 1; })
        .def_prop_ro("latched", [](const TraceFrame& t) { return t.latched == 1; })
        .def_ro("verdict", &TraceFrame::verdict)
        .def_prop_ro("trace_id", [](const TraceFrame& t) { return std::string(t.trace_id.view()); })
        .def_prop_ro("rskill_id", [](const TraceFrame& t) { return std::string(t.rskill_id.view()); });
    module.def("decode_trace", [](const nb::bytes& payload) -> std::optional<TraceFrame> {
        if (payload.size() != sizeof(TraceFrame)) return std::nullopt;
        TraceFrame trace;
        std::memcpy(&trace, payload.data(), sizeof trace);
        return trace;
    }, "payload"_a);
}

}  // namespace

void bind_kernel_messages(nb::module_& module) {
    bind_action_chunk(module);
    bind_messages(module);
    bind_world_snapshot(module);
    bind_built_world(module);
    bind_safety_status(module);
    bind_verdict_frame(module);
    bind_input_frame(module);
    bind_trace_frame(module);
}
