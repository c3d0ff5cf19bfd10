// SPDX-License-Identifier: Apache-2.0
// Translation only: what an observer of a running kernel reads beside the rings. Nothing here writes or waits.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "client.hpp"
#include "messages.hpp"
#include "payload.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace lastgate;
using namespace lastgate::kernel;

namespace {

/// What others wrote may be anything; what is shown is text.
nb::object shown(std::string_view text) { return nb::steal<nb::object>(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace")); }

template <typename Number>
nb::bytes bytes_of(std::span<const Number> numbers) { return nb::bytes(numbers.data(), numbers.size_bytes()); }

nb::list texts_of(const std::vector<std::string_view>& texts) {
    nb::list list;
    for (const auto text : texts) list.append(shown(text));
    return list;
}

nb::list registrations_of(const std::array<RegistrationSlot, sources_max>& registrations, std::int64_t now_ns) {
    nb::list list;
    for (const RegistrationSlot& registration : registrations) {
        const std::string_view name = live_name(registration, now_ns);
        if (name.empty()) continue;
        nb::dict fields;
        fields["name"] = shown(name);
        fields["asserted"] = registration.asserted.load(std::memory_order_acquire) == 1;
        fields["acknowledged"] = registration.acknowledged.load(std::memory_order_acquire);
        fields["presses"] = registration.presses.load(std::memory_order_acquire);
        fields["reason"] = shown(text_of(registration.reason));
        list.append(fields);
    }
    return list;
}

nb::object read_status_block(const std::string& instance) {
    try {
        const StatusBlockView status_block = StatusBlockView::open(instance);
        const std::int64_t now_ns = monotonic_ns();
        nb::dict fields;
        fields["alive"] = status_block.is_alive(now_ns);
        fields["kernel_id"] = status_block->kernel_id;
        fields["robot"] = shown(text_of(status_block->robot));
        fields["model_digest"] = shown(text_of(status_block->model_digest));
        fields["warn_only"] = status_block->warn_only == 1;
        fields["state"] = status_block->state.load(std::memory_order_acquire);
        fields["latch_sequence"] = status_block->latch_sequence.load(std::memory_order_acquire);
        fields["sources"] = registrations_of(status_block->sources, now_ns);
        fields["actuators"] = registrations_of(status_block->actuators, now_ns);
        return fields;
    } catch (const std::runtime_error&) {
        return nb::none();
    }
}

nb::object decode_joint_state(const nb::bytes& payload) {
    std::vector<JointReading> joints(capacity::dofs_max);
    const auto state = read_joint_state(span_of(payload), joints);
    if (!state) return nb::none();
    nb::dict positions;
    for (std::size_t index = 0; index < state->count; ++index) positions[shown(joints[index].name)] = joints[index].position;
    nb::dict fields;
    fields["stamp_s"] = state->stamp.in_seconds();
    fields["positions"] = positions;
    return fields;
}

nb::object decode_failure_trigger(const nb::bytes& payload) {
    CdrReader reader(span_of(payload));
    nb::dict fields;
    const double seconds = reader.number<std::int32_t>();
    fields["stamp_s"] = seconds + 1e-9 * reader.number<std::uint32_t>();
    (void)reader.text();
    fields["kind"] = reader.number<std::uint8_t>();
    fields["severity"] = reader.number<std::uint8_t>();
    fields["evidence_json"] = shown(reader.text());
    fields["rskill_id"] = shown(reader.text());
    fields["trace_id"] = shown(reader.text());
    return reader.at_end() ? nb::object(fields) : nb::none();
}

nb::dict grid_of(const std::array<double, 3>& origin, double resolution, const std::array<std::uint32_t, 3>& size, std::span<const std::uint8_t> occupancy, double stamp_s) {
    nb::dict fields;
    fields["origin_xyz"] = nb::make_tuple(origin[0], origin[1], origin[2]);
    fields["resolution_m"] = resolution;
    fields["size_xyz"] = nb::make_tuple(size[0], size[1], size[2]);
    fields["occupancy"] = bytes_of(occupancy);
    fields["stamp_s"] = stamp_s;
    return fields;
}

nb::object decode_floor_map(const nb::bytes& world_snapshot) {
    const auto world = read_world_snapshot(span_of(world_snapshot));
    if (!world || !world->has_floor) return nb::none();
    const FloorMapMessage& floor = world->floor;
    nb::dict fields;
    fields["frame_id"] = shown(floor.frame_id);
    fields["stamp_s"] = floor.stamp_s;
    fields["origin_xy"] = nb::make_tuple(floor.origin_xy[0], floor.origin_xy[1]);
    fields["origin_yaw"] = floor.origin_yaw;
    fields["resolution_m"] = floor.resolution_m;
    fields["size"] = nb::make_tuple(floor.size[0], floor.size[1]);
    fields["window_first"] = nb::make_tuple(floor.window_first[0], floor.window_first[1]);
    fields["window_in_base"] = bytes_of(std::span<const double>(floor.window_in_base));
    fields["blocked_bits"] = bytes_of(floor.blocked_bits);
    return fields;
}

nb::object decode_world_collision(const nb::bytes& payload) {
    const auto world = read_world_collision(span_of(payload));
    if (!world) return nb::none();
    nb::dict fields;
    fields["stamp_s"] = world->stamp.in_seconds();
    fields["frame_id"] = shown(world->frame_id);
    fields["radius_m"] = bytes_of(std::span<const double>(world->radius));
    fields["half_length_m"] = bytes_of(std::span<const double>(world->half_length));
    fields["xyzrpy"] = bytes_of(std::span<const double>(world->origin_xyzrpy));
    fields["object_id"] = texts_of(world->object_id);
    return fields;
}

nb::object decode_occupancy_voxels(const nb::bytes& payload) {
    const auto grid = read_occupancy_voxels(span_of(payload));
    if (!grid) return nb::none();
    nb::dict fields = grid_of(grid->origin, grid->resolution, grid->size, grid->occupancy, grid->stamp.in_seconds());
    fields["frame_id"] = shown(grid->frame_id);
    return fields;
}

}  // namespace

void bind_kernel_watch(nb::module_& module) {
    module.def("read_status_block", &read_status_block, "instance"_a, nb::sig("def read_status_block(instance: str) -> dict | None"));
    module.def("decode_joint_state", &decode_joint_state, "payload"_a, nb::sig("def decode_joint_state(payload: bytes) -> dict | None"));
    module.def("decode_failure_trigger", &decode_failure_trigger, "payload"_a, nb::sig("def decode_failure_trigger(payload: bytes) -> dict | None"));
    module.def("decode_floor_map", &decode_floor_map, "world_snapshot"_a, nb::sig("def decode_floor_map(world_snapshot: bytes) -> dict | None"));
    module.def("decode_world_collision", &decode_world_collision, "payload"_a, nb::sig("def decode_world_collision(payload: bytes) -> dict | None"));
    module.def("decode_occupancy_voxels", &decode_occupancy_voxels, "payload"_a, nb::sig("def decode_occupancy_voxels(payload: bytes) -> dict | None"));
}
