// SPDX-License-Identifier: Apache-2.0
// Translation only: what an observer of a running kernel reads beside the rings. Nothing here writes or waits.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "client.hpp"
#include "known_numbers.hpp"
#include "messages.hpp"
#include "payload.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace lastgate;
using namespace lastgate::kernel;
using namespace lastgate::bindings;

namespace {

/// What others wrote may be anything; what is shown is text.
std::string shown(std::string_view text) {
    const nb::object decoded = nb::steal<nb::object>(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
    return nb::cast<std::string>(decoded);
}

std::vector<std::string> shown(const std::vector<std::string_view>& texts) {
    std::vector<std::string> all;
    for (const auto text : texts) all.push_back(shown(text));
    return all;
}

template <typename Numbers>
nb::bytes bytes_of(const Numbers& numbers) { return nb::bytes(numbers.data(), numbers.size() * sizeof(numbers[0])); }

/// A registration as it was when the status block was read.
struct RegistrationState {
    std::string name;
    bool asserted = false;
    std::uint32_t acknowledged = 0;
    std::uint32_t presses = 0;
    std::string reason;
};

struct StatusBlockState {
    bool alive = false;
    std::uint64_t kernel_id = 0;
    std::string robot, model_digest;
    bool warn_only = false;
    LifecycleState state = LifecycleState::unconfigured;
    std::uint32_t latch_sequence = 0;
    std::vector<RegistrationState> sources, actuators;
};

std::vector<RegistrationState> registrations_of(const std::array<RegistrationSlot, sources_max>& registrations, std::int64_t now_ns) {
    std::vector<RegistrationState> all;
    for (const RegistrationSlot& registration : registrations) {
        const std::string_view name = live_name(registration, now_ns);
        if (name.empty()) continue;
        all.push_back({shown(name), registration.asserted.load(std::memory_order_acquire) == 1, registration.acknowledged.load(std::memory_order_acquire),
                       registration.presses.load(std::memory_order_acquire), shown(text_of(registration.reason))});
    }
    return all;
}

std::optional<StatusBlockState> read_status_block(const std::string& instance) {
    try {
        const StatusBlockView status_block = StatusBlockView::open(instance);
        const std::int64_t now_ns = monotonic_ns();
        StatusBlockState state;
        state.alive = status_block.is_alive(now_ns);
        state.kernel_id = status_block->kernel_id;
        state.robot = shown(text_of(status_block->robot));
        state.model_digest = shown(text_of(status_block->model_digest));
        state.warn_only = status_block->warn_only == 1;
        state.state = known(static_cast<LifecycleState>(status_block->state.load(std::memory_order_acquire)));
        state.latch_sequence = status_block->latch_sequence.load(std::memory_order_acquire);
        state.sources = registrations_of(status_block->sources, now_ns);
        state.actuators = registrations_of(status_block->actuators, now_ns);
        return state;
    } catch (const std::runtime_error&) {
        return std::nullopt;
    }
}

void bind_status_block(nb::module_& module) {
    nb::class_<RegistrationState>(module, "RegistrationState")
        .def_ro("name", &RegistrationState::name)
        .def_ro("asserted", &RegistrationState::asserted)
        .def_ro("acknowledged", &RegistrationState::acknowledged)
        .def_ro("presses", &RegistrationState::presses)
        .def_ro("reason", &RegistrationState::reason);
    nb::class_<StatusBlockState>(module, "StatusBlockState")
        .def_ro("alive", &StatusBlockState::alive)
        .def_ro("kernel_id", &StatusBlockState::kernel_id)
        .def_ro("robot", &StatusBlockState::robot)
        .def_ro("model_digest", &StatusBlockState::model_digest)
        .def_ro("warn_only", &StatusBlockState::warn_only)
        .def_ro("state", &StatusBlockState::state)
        .def_ro("latch_sequence", &StatusBlockState::latch_sequence)
        .def_ro("sources", &StatusBlockState::sources)
        .def_ro("actuators", &StatusBlockState::actuators);
    module.def("read_status_block", &read_status_block, "instance"_a);
}

struct OwnedJointState {
    double stamp_s = 0.0;
    std::vector<std::string> names;
    std::vector<double> positions;
};

std::optional<OwnedJointState> decode_joint_state(const nb::bytes& payload) {
    std::vector<JointReading> joints(capacity::dofs_max);
    const auto state = read_joint_state(span_of(payload), joints);
    if (!state) return std::nullopt;
    OwnedJointState owned{state->stamp.in_seconds(), {}, {}};
    for (std::size_t index = 0; index < state->count; ++index) {
        owned.names.push_back(shown(joints[index].name));
        owned.positions.push_back(joints[index].position);
    }
    return owned;
}

struct OwnedFailure {
    double stamp_s = 0.0;
    std::uint8_t kind = 0;
    std::uint8_t severity = 0;
    std::string evidence_json, rskill_id, trace_id;
};

std::optional<OwnedFailure> decode_failure_trigger(const nb::bytes& payload) {
    CdrReader reader(span_of(payload));
    OwnedFailure failure;
    const double seconds = reader.number<std::int32_t>();
    failure.stamp_s = seconds + 1e-9 * reader.number<std::uint32_t>();
    (void)reader.text();
    failure.kind = reader.number<std::uint8_t>();
    failure.severity = reader.number<std::uint8_t>();
    failure.evidence_json = shown(reader.text());
    failure.rskill_id = shown(reader.text());
    failure.trace_id = shown(reader.text());
    return reader.at_end() ? std::optional(failure) : std::nullopt;
}

void bind_reports(nb::module_& module) {
    nb::class_<OwnedJointState>(module, "JointStateMessage")
        .def_ro("stamp_s", &OwnedJointState::stamp_s)
        .def_ro("names", &OwnedJointState::names)
        .def_ro("positions", &OwnedJointState::positions);
    // Of a FailureTrigger of any program: its kind may be one that the kernel does not give.
    nb::class_<OwnedFailure>(module, "FailureTriggerMessage")
        .def_ro("stamp_s", &OwnedFailure::stamp_s)
        .def_ro("kind", &OwnedFailure::kind)
        .def_ro("severity", &OwnedFailure::severity)
        .def_ro("evidence_json", &OwnedFailure::evidence_json)
        .def_ro("rskill_id", &OwnedFailure::rskill_id)
        .def_ro("trace_id", &OwnedFailure::trace_id);
    module.def("decode_joint_state", &decode_joint_state, "payload"_a);
    module.def("decode_failure_trigger", &decode_failure_trigger, "payload"_a);
}

/// Both have views of the bytes they were read from, which are kept beside them.
void bind_worlds(nb::module_& module) {
    nb::class_<WorldCollisionMessage>(module, "WorldCollisionMessage")
        .def_prop_ro("stamp_s", [](const WorldCollisionMessage& w) { return w.stamp.in_seconds(); })
        .def_prop_ro("frame_id", [](const WorldCollisionMessage& w) { return shown(w.frame_id); })
        .def_prop_ro("radius_m", [](const WorldCollisionMessage& w) { return bytes_of(w.radius); })
        .def_prop_ro("half_length_m", [](const WorldCollisionMessage& w) { return bytes_of(w.half_length); })
        .def_prop_ro("xyzrpy", [](const WorldCollisionMessage& w) { return bytes_of(w.origin_xyzrpy); })
        .def_prop_ro("object_id", [](const WorldCollisionMessage& w) { return shown(w.object_id); });
    nb::class_<OccupancyVoxelsMessage>(module, "OccupancyVoxelsMessage")
        .def_prop_ro("stamp_s", [](const OccupancyVoxelsMessage& v) { return v.stamp.in_seconds(); })
        .def_prop_ro("frame_id", [](const OccupancyVoxelsMessage& v) { return shown(v.frame_id); })
        .def_prop_ro("origin_xyz", [](const OccupancyVoxelsMessage& v) { return std::make_tuple(v.origin[0], v.origin[1], v.origin[2]); })
        .def_ro("resolution_m", &OccupancyVoxelsMessage::resolution)
        .def_prop_ro("size_xyz", [](const OccupancyVoxelsMessage& v) { return std::make_tuple(v.size[0], v.size[1], v.size[2]); })
        .def_prop_ro("occupancy", [](const OccupancyVoxelsMessage& v) { return bytes_of(v.occupancy); });
    module.def("decode_world_collision", [](const nb::bytes& payload) { return read_world_collision(span_of(payload)); }, "payload"_a, nb::keep_alive<0, 1>());
    module.def("decode_occupancy_voxels", [](const nb::bytes& payload) { return read_occupancy_voxels(span_of(payload)); }, "payload"_a, nb::keep_alive<0, 1>());
}

}  // namespace

void bind_kernel_watch(nb::module_& module) {
    bind_status_block(module);
    bind_reports(module);
    bind_worlds(module);
}
