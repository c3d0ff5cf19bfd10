// SPDX-License-Identifier: Apache-2.0
// Translation only: the messages that go through the channels of the kernel process.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "channels.hpp"
#include "evidence.hpp"
#include "messages.hpp"
#include "payload.hpp"
#include "requests.hpp"
#include "world_builder.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace lastgate;
using namespace lastgate::kernel;

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

nb::object decode_action_chunk(const nb::bytes& payload) {
    // Where the doubles are aligned, as the kernel keeps it.
    std::vector<std::uint64_t> memory((payload.size() + payload_offset + 7) / 8);
    auto* first = reinterpret_cast<std::byte*>(memory.data()) + payload_offset;
    std::memcpy(first, payload.data(), payload.size());
    const auto chunk = read_action_chunk({first, payload.size()});
    if (!chunk) return nb::none();
    nb::dict fields;
    fields["stamp_s"] = chunk->stamp.in_seconds();
    fields["control_mode"] = chunk->control_mode;
    fields["horizon"] = chunk->horizon;
    fields["flat"] = nb::cast(std::vector<double>(chunk->flat.begin(), chunk->flat.end()));
    fields["n_dof"] = chunk->n_dof;
    fields["ee_name"] = nb::cast(std::string(chunk->ee_name));
    fields["frame_id"] = nb::cast(std::string(chunk->frame_id));
    fields["confidence"] = chunk->confidence;
    fields["rskill_id"] = nb::cast(std::string(chunk->rskill_id));
    fields["rskill_revision"] = nb::cast(std::string(chunk->rskill_revision));
    fields["trace_id"] = nb::cast(std::string(chunk->trace_id));
    fields["tick_index"] = chunk->tick_index;
    return fields;
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
                                std::uint32_t obstacle_count, const FloorMapMessage* floor) {
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
    if (floor != nullptr) {
        world.has_floor = true;
        world.floor = *floor;
        room += floor->blocked_bits.size() + floor->frame_id.size() + 512;
    }
    return written(room, [&](std::span<std::byte> memory) { return write_world_snapshot(world, memory); });
}

using ContactTuple = std::tuple<std::vector<std::string>, std::vector<std::string>, std::vector<std::string>, bool, bool, std::array<double, 3>, std::array<double, 7>, double>;

nb::bytes encode_chunk_request(const nb::bytes& chunk, bool recovery, const std::vector<ContactTuple>& contacts) {
    std::size_t room = 128 + chunk.size();
    std::vector<NamedContact> named;
    const auto views_of = [&](const std::vector<std::string>& names) {
        for (const auto& name : names) room += name.size() + 16;
        return std::vector<std::string_view>(names.begin(), names.end());
    };
    for (const auto& [links, held_objects, objects, voxels, points, region_size, region_pose, expires_s] : contacts) {
        named.push_back({views_of(links), views_of(held_objects), views_of(objects), voxels, points, region_size, region_pose, expires_s});
        room += 192;
    }
    return written(room, [&](std::span<std::byte> memory) { return write_chunk_request(recovery, named, span_of(chunk), memory); });
}

nb::object decode_world_snapshot(const nb::bytes& payload) {
    const auto world = read_world_snapshot(span_of(payload));
    if (!world) return nb::none();
    nb::dict fields;
    fields["stamp_s"] = world->stamp_s;
    fields["frame_id"] = nb::cast(std::string(world->frame_id));
    fields["world_id"] = nb::cast(std::string(world->world_id));
    fields["declared_absent"] = world->declared_absent;
    fields["kinds"] = nb::bytes(reinterpret_cast<const char*>(world->kinds.data()), world->kinds.size());
    fields["sizes_m"] = nb::cast(world->sizes_m);
    fields["poses"] = nb::cast(world->xyz_quat_xyzw);
    fields["object_id"] = nb::cast(std::vector<std::string>(world->object_id.begin(), world->object_id.end()));
    fields["obstacle_count"] = world->obstacle_count;
    fields["points"] = world->has_points ? nb::object(nb::make_tuple(nb::bytes(reinterpret_cast<const char*>(world->points.data()), 8 * world->points.size()), world->points_stamp_s)) : nb::none();
    fields["voxels"] = world->has_voxels
                           ? nb::object(nb::make_tuple(nb::bytes(reinterpret_cast<const char*>(world->occupancy.data()), world->occupancy.size()), world->size, world->origin, world->resolution, world->unknown_is_free,
                                                       world->outside_is_free, world->voxels_stamp_s))
                           : nb::none();
    return fields;
}

/// The world that a kernel makes of these messages, by the code that the kernel makes it with.
nb::object world_of_messages(const std::vector<std::tuple<std::uint32_t, nb::bytes>>& messages, const std::string& base_frame, std::uint64_t id, const std::string& root_frame, std::array<double, 6> root_in_base_xyzrpy) {
    // Messages that complete no world take no number: the last one gets the number that is asked for.
    WorldBuilder builder({base_frame, root_frame, root_in_base_xyzrpy}, id - (messages.empty() ? 0 : messages.size() - 1));
    std::unique_ptr<NamedWorld> world;
    for (const auto& [type, payload] : messages) world = builder.take(static_cast<MessageType>(type), span_of(payload), {});
    if (!world) return nb::none();
    nb::dict fields;
    fields["native"] = nb::cast(new WorldSnapshot(std::move(world->snapshot)), nb::rv_policy::take_ownership);
    fields["world_id"] = nb::cast(world->names.world_id);
    fields["object_id"] = nb::cast(world->names.object_id);
    fields["obstacle_count"] = world->names.obstacle_count;
    return fields;
}

void bind_messages(nb::module_& module) {
    module.def("encode_action_chunk", &encode_action_chunk, "rows"_a.noconvert(), "control_mode"_a, "stamp_s"_a, "ee_name"_a, "frame_id"_a, "rskill_id"_a, "trace_id"_a, "tick_index"_a);
    module.def("decode_action_chunk", &decode_action_chunk, "payload"_a, nb::sig("def decode_action_chunk(payload: bytes) -> dict | None"));
    module.def("encode_joint_state", &encode_joint_state, "names"_a, "positions"_a.noconvert(), "velocities"_a.none(), "stamp_s"_a);
    module.def("encode_world_snapshot", &encode_world_snapshot, "stamp_s"_a, "frame_id"_a, "world_id"_a, "declared_absent"_a, "kinds"_a, "sizes_m"_a, "poses"_a, "object_id"_a, "points"_a.none(), "voxels"_a.none(), "obstacle_count"_a, "floor"_a.none());
    // Views: the caller keeps what a view was made of.
    nb::class_<FloorMapMessage>(module, "FloorMapMessage")
        .def("__init__", [](FloorMapMessage* self, std::string_view frame_id, double stamp_s, double age_s_max, double placed_stamp_s, std::array<double, 2> origin_xy, double origin_yaw, double resolution_m,
                            std::array<std::uint32_t, 2> size, std::array<std::uint32_t, 2> window_first, std::array<std::uint32_t, 2> window_end, Matrix window_in_base, double low_m, double high_m, const nb::bytes& blocked_bits) {
            if (window_in_base.shape(0) != 3 || window_in_base.shape(1) != 4) throw std::invalid_argument("a pose is 3 x 4");
            new (self) FloorMapMessage{frame_id, stamp_s, age_s_max, placed_stamp_s, origin_xy, origin_yaw, resolution_m, size, window_first, window_end, {}, low_m, high_m, {static_cast<const std::uint8_t*>(blocked_bits.data()), blocked_bits.size()}};
            std::copy_n(window_in_base.data(), 12, self->window_in_base.begin());
        }, nb::kw_only(), nb::keep_alive<1, 2>(), nb::keep_alive<1, 15>(), "frame_id"_a, "stamp_s"_a, "age_s_max"_a, "placed_stamp_s"_a, "origin_xy"_a, "origin_yaw"_a, "resolution_m"_a, "size"_a, "window_first"_a, "window_end"_a,
           "window_in_base"_a.noconvert(), "low_m"_a, "high_m"_a, "blocked_bits"_a);
    module.def("encode_chunk_request", &encode_chunk_request, "chunk"_a, "recovery"_a, "contacts"_a);
    module.def("encode_attached_shape", [](std::string_view object_id, std::string_view link, double radius_m, Vector ends, const std::vector<std::string>& touch_links) {
        if (ends.size() != 6) throw std::invalid_argument("a segment is six numbers");
        const std::vector<std::string_view> views(touch_links.begin(), touch_links.end());
        std::size_t room = 256 + object_id.size() + link.size();
        for (const auto& name : touch_links) room += name.size() + 16;
        return written(room, [&](std::span<std::byte> memory) { return write_attached_shape(object_id, link, radius_m, {ends.data(), ends.size()}, views, memory); });
    }, "object_id"_a, "link"_a, "radius_m"_a, "ends"_a.noconvert(), "touch_links"_a);
    module.def("encode_detach", [](std::string_view object_id) {
        return written(64 + object_id.size(), [&](std::span<std::byte> memory) { return write_detach(object_id, memory); });
    }, "object_id"_a);
    module.def("encode_nav_goal", [](std::string_view frame_id, std::array<double, 3> xyz, std::array<double, 4> quat_xyzw) {
        return written(128 + frame_id.size(), [&](std::span<std::byte> memory) { return write_nav_goal({frame_id, xyz, quat_xyzw}, memory); });
    }, "frame_id"_a, "xyz"_a, "quat_xyzw"_a);
    module.def("encode_twist", [](std::array<double, 6> twist) {
        return written(64, [&](std::span<std::byte> memory) { return write_twist(twist, memory); });
    }, "twist"_a);
    module.def("decode_twist", [](const nb::bytes& payload) { return read_twist(span_of(payload)); }, "payload"_a);
    module.def("read_safety_status", [](const nb::bytes& payload) -> nb::object {
        CdrReader reader(span_of(payload));
        nb::dict fields;
        const double seconds = reader.number<std::int32_t>();
        fields["stamp_s"] = seconds + 1e-9 * reader.number<std::uint32_t>();
        (void)reader.text();
        fields["state"] = reader.number<std::uint8_t>();
        fields["source"] = nb::cast(std::string(reader.text()));
        fields["reason"] = nb::cast(std::string(reader.text()));
        fields["sequence"] = reader.number<std::uint32_t>();
        fields["passed"] = reader.number<std::uint64_t>();
        fields["dropped"] = reader.number<std::uint64_t>();
        fields["model_digest"] = nb::cast(std::string(reader.text()));
        fields["world_id"] = nb::cast(std::string(reader.text()));
        return reader.at_end() ? nb::object(fields) : nb::none();
    }, "payload"_a, nb::sig("def read_safety_status(payload: bytes) -> dict | None"));
    module.def("decode_world_snapshot", &decode_world_snapshot, "payload"_a, nb::sig("def decode_world_snapshot(payload: bytes) -> dict | None"));
    module.def("world_of_messages", &world_of_messages, "messages"_a, "base_frame"_a, "id"_a, "root_frame"_a = "", "root_in_base_xyzrpy"_a = std::array<double, 6>{},
               nb::sig("def world_of_messages(messages: Sequence[tuple[int, bytes]], base_frame: str, id: int, root_frame: str = '', root_in_base_xyzrpy: Sequence[float] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)) -> dict | None"));
    module.attr("MESSAGE_ACTION_CHUNK") = static_cast<std::uint32_t>(MessageType::action_chunk);
    module.attr("MESSAGE_TWIST") = static_cast<std::uint32_t>(MessageType::twist);
    module.attr("MESSAGE_WORLD_COLLISION") = static_cast<std::uint32_t>(MessageType::world_collision);
    module.attr("MESSAGE_OCCUPANCY_VOXELS") = static_cast<std::uint32_t>(MessageType::occupancy_voxels);
    module.attr("MESSAGE_WORLD_SNAPSHOT") = static_cast<std::uint32_t>(MessageType::world_snapshot);
    module.attr("MESSAGE_VERDICT") = static_cast<std::uint32_t>(MessageType::verdict);
}

/// What the kernel itself writes into its rings, as it lies there.
void bind_frames(nb::module_& module) {
    module.def("decode_verdict", [](const nb::bytes& payload) -> nb::object {
        VerdictFrame frame;
        if (payload.size() < sizeof frame) return nb::none();
        std::memcpy(&frame, payload.data(), sizeof frame);
        if (payload.size() != sizeof frame + frame.evidence_bytes) return nb::none();
        nb::dict fields;
        fields["chunk_sequence"] = frame.chunk_sequence;
        fields["duration_s"] = static_cast<double>(frame.duration_ns) * 1e-9;
        fields["passed"] = frame.passed == 1;
        fields["latched"] = frame.latched == 1;
        fields["verdict"] = frame.verdict;
        fields["evidence"] = nb::bytes(static_cast<const char*>(payload.data()) + sizeof frame, frame.evidence_bytes);
        return fields;
    }, "payload"_a, nb::sig("def decode_verdict(payload: bytes) -> dict | None"));
    module.def("decode_inputs", [](const nb::bytes& payload) -> nb::object {
        InputFrame frame;
        if (payload.size() < sizeof frame) return nb::none();
        std::memcpy(&frame, payload.data(), sizeof frame);
        const std::size_t numbers = std::size_t{frame.position_count} + frame.stamp_count + frame.velocity_count + frame.gripper_count;
        if (payload.size() != sizeof frame + 8 * numbers + frame.chunk_bytes) return nb::none();
        const auto* at = static_cast<const char*>(payload.data()) + sizeof frame;
        const auto take = [&](std::uint32_t count) {
            std::vector<double> values(count);
            if (count > 0) std::memcpy(values.data(), at, 8 * std::size_t{count});
            at += 8 * std::size_t{count};
            return nb::cast(values);
        };
        nb::dict fields;
        fields["chunk_sequence"] = frame.chunk_sequence;
        fields["door"] = frame.channel;
        fields["state_given"] = frame.state_given == 1;
        fields["positions"] = take(frame.position_count);
        fields["stamps_s"] = take(frame.stamp_count);
        fields["velocities"] = take(frame.velocity_count);
        fields["gripper_positions"] = take(frame.gripper_count);
        fields["chunk_type"] = static_cast<std::uint32_t>(frame.chunk_type);
        fields["chunk"] = nb::bytes(at, frame.chunk_bytes);
        fields["recovery"] = frame.recovery == 1;
        fields["contact_count"] = frame.contact_count;
        fields["held_count"] = frame.held_count;
        fields["world_given"] = frame.world_given == 1;
        fields["stamp_s"] = frame.stamp_s;
        fields["now_s"] = frame.now_s;
        fields["world_held_s"] = frame.world_held_s;
        nb::list sources;
        for (const MessageSource& source : frame.world) {
            if (source.type != MessageType::nothing) sources.append(nb::make_tuple(static_cast<std::uint32_t>(source.type), source.channel, source.sequence));
        }
        fields["world_id"] = frame.world_id;
        fields["world"] = sources;
        fields["verdict"] = frame.found;
        return fields;
    }, "payload"_a, nb::sig("def decode_inputs(payload: bytes) -> dict | None"));
    module.def("decode_trace", [](const nb::bytes& payload) -> nb::object {
        if (payload.size() != sizeof(TraceFrame)) return nb::none();
        TraceFrame trace;
        std::memcpy(&trace, payload.data(), sizeof trace);
        nb::dict fields;
        fields["begun_wall_s"] = static_cast<double>(trace.begun_wall_ns) * 1e-9;
        fields["duration_s"] = static_cast<double>(trace.duration_ns) * 1e-9;
        fields["chunk_sequence"] = trace.chunk_sequence;
        fields["door"] = trace.channel;
        fields["passed"] = trace.passed == 1;
        fields["warn_only"] = trace.warn_only == 1;
        fields["latched"] = trace.latched == 1;
        fields["verdict"] = trace.verdict;
        fields["trace_id"] = nb::cast(std::string(trace.trace_id.view()));
        fields["rskill_id"] = nb::cast(std::string(trace.rskill_id.view()));
        return fields;
    }, "payload"_a, nb::sig("def decode_trace(payload: bytes) -> dict | None"));
}

}  // namespace

void bind_kernel_messages(nb::module_& module) {
    bind_messages(module);
    bind_frames(module);
}
