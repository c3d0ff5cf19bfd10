// SPDX-License-Identifier: Apache-2.0
// Translation only: the doors, rings, seats and stop bell of a running kernel.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "client.hpp"
#include "instance.hpp"
#include "messages.hpp"
#include "payload.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace lastgate;

namespace {

/// Types of what is handed in through the ring of chunks, by the words that Python uses.
MessageType question_of(const std::string& word) {
    if (word == "held_shape") return MessageType::held_shape;
    if (word == "let_go") return MessageType::let_go;
    if (word == "nav_goal") return MessageType::nav_goal;
    throw std::invalid_argument("no question `" + word + "`");
}

RingShape shape_of(const std::string& ring) {
    // One of the rings of a door: its name and the door's number.
    const std::size_t dot = ring.find('.');
    if (dot != std::string::npos && ring.size() == dot + 2 && ring[dot + 1] >= '0' && ring[dot + 1] < static_cast<char>('0' + doors_max)) {
        const std::string kind = ring.substr(0, dot);
        if (kind == "chunks") return chunk_ring;
        if (kind == "states") return state_ring;
        if (kind == "worlds") return world_ring;
        if (kind == "verdicts") return verdict_ring;
    }
    if (ring == "safe_actions") return chunk_ring;
    if (ring == "failures") return failure_ring;
    if (ring == "statuses") return status_ring;
    if (ring == "traces") return trace_ring;
    if (ring == "inputs") return input_ring;
    throw std::invalid_argument("no ring `" + ring + "`; there are safe_actions, failures, statuses, traces, inputs, and chunks.N, states.N, worlds.N, verdicts.N for every door");
}

Command command_of(const std::string& word) {
    if (word == "reset") return Command::reset;
    if (word == "activate") return Command::activate;
    if (word == "deactivate") return Command::deactivate;
    if (word == "shutdown") return Command::shutdown;
    if (word == "status") return Command::status;
    throw std::invalid_argument("no command `" + word + "`");
}

std::int64_t ns_of(double seconds) { return static_cast<std::int64_t>(seconds * 1e9); }

}  // namespace

void bind_kernel_doors(nb::module_& module) {
    module.def("remove_what_a_killed_kernel_left", &remove_what_a_killed_kernel_left, "instance"_a);
    nb::class_<DoorClient>(module, "DoorClient")
        .def(nb::init<const std::string&>(), "instance"_a)
        .def("submit", [](DoorClient& door, const nb::bytes& payload) { return door.submit(MessageType::action_chunk, span_of(payload)); }, "payload"_a)
        .def("submit_twist", [](DoorClient& door, const nb::bytes& payload) { return door.submit(MessageType::twist, span_of(payload)); }, "payload"_a)
        .def("submit_request", [](DoorClient& door, const nb::bytes& payload) { return door.submit(MessageType::chunk_request, span_of(payload)); }, "payload"_a)
        .def("ask", [](DoorClient& door, const std::string& word, const nb::bytes& payload, double timeout_s) -> std::optional<std::tuple<bool, std::uint32_t, std::string>> {
            const MessageType type = question_of(word);
            const auto bytes = span_of(payload);
            nb::gil_scoped_release released;
            const auto answer = door.ask(type, bytes, ns_of(timeout_s));
            if (!answer) return std::nullopt;
            return std::make_tuple(answer->success == 1, answer->number, std::string(answer->message.view()));
        }, "question"_a, "payload"_a, "timeout_s"_a)
        .def("observe", [](DoorClient& door, const nb::bytes& payload) { door.observe(span_of(payload)); }, "payload"_a)
        .def("publish_world", [](DoorClient& door, const nb::bytes& payload) { return door.publish_world(MessageType::world_snapshot, span_of(payload)); }, "payload"_a)
        .def("publish_wire_world", [](DoorClient& door, const std::tuple<std::string, nb::bytes>& message) {
            const auto& [type, payload] = message;
            if (type != "world_collision" && type != "occupancy_voxels") throw std::invalid_argument("no world message `" + type + "`");
            return door.publish_world(type == "world_collision" ? MessageType::world_collision : MessageType::occupancy_voxels, span_of(payload));
        }, "message"_a)
        .def("wait_world", [](DoorClient& door, std::uint64_t sequence, double timeout_s) {
            nb::gil_scoped_release released;
            return door.wait_world(sequence, ns_of(timeout_s));
        }, "sequence"_a, "timeout_s"_a)
        .def("wait_verdict", [](DoorClient& door, std::uint64_t sequence, double timeout_s, double spin_s) -> nb::object {
            std::optional<DoorClient::Answer> answer;
            {
                nb::gil_scoped_release released;
                answer = door.wait_verdict(sequence, ns_of(timeout_s), ns_of(spin_s));
            }
            if (!answer) return nb::none();
            nb::dict fields;
            fields["verdict"] = answer->frame.verdict;
            fields["passed"] = answer->frame.passed == 1;
            fields["latched"] = answer->frame.latched == 1;
            fields["latch_sequence"] = answer->frame.latch_sequence;
            fields["duration_s"] = static_cast<double>(answer->frame.duration_ns) * 1e-9;
            fields["safe_sequence"] = answer->frame.safe_sequence;
            fields["evidence"] = nb::cast(answer->evidence);
            return fields;
        }, "sequence"_a, "timeout_s"_a, "spin_s"_a, nb::sig("def wait_verdict(self, sequence: int, timeout_s: float, spin_s: float) -> dict | None"))
        .def("command", [](DoorClient& door, const std::string& word, double timeout_s) -> std::optional<std::tuple<bool, std::string>> {
            const Command command = command_of(word);
            nb::gil_scoped_release released;
            const auto answer = door.command(command, ns_of(timeout_s));
            if (!answer) return std::nullopt;
            return std::make_tuple(answer->success == 1, std::string(answer->message.view()));
        }, "command"_a, "timeout_s"_a)
        .def_prop_ro("kernel_is_alive", &DoorClient::kernel_is_alive)
        .def_prop_ro("kernel_id", [](const DoorClient& door) { return door.board().kernel_id; })
        .def_prop_ro("door", &DoorClient::door);

    nb::class_<RingReader>(module, "RingReader")
        .def("__init__", [](RingReader* self, const std::string& instance, const std::string& ring, bool from_newest) { new (self) RingReader(instance, ring, shape_of(ring), from_newest); }, "instance"_a, "ring"_a, "from_newest"_a = false)
        .def("read", [](RingReader& reader, double timeout_s) -> nb::object {
            std::optional<RingReader::Message> message;
            {
                nb::gil_scoped_release released;
                message = reader.read(ns_of(timeout_s));
            }
            if (!message) return nb::none();
            return nb::make_tuple(message->head.sequence, message->head.origin, static_cast<double>(message->head.written_ns) * 1e-9, nb::bytes(message->payload.data(), message->payload.size()));
        }, "timeout_s"_a, nb::sig("def read(self, timeout_s: float) -> tuple[int, int, float, bytes] | None"))
        .def("rewind", &RingReader::rewind)
        .def_prop_ro("last_type", [](const RingReader& reader) { return static_cast<std::uint32_t>(reader.last_type()); })
        .def_prop_ro("lost", &RingReader::lost);

    nb::class_<StopBell>(module, "StopBell")
        .def(nb::init<const std::string&>(), "instance"_a)
        .def("ring", &StopBell::ring)
        .def_prop_ro("kernel_is_alive", &StopBell::kernel_is_alive)
        .def_prop_ro("kernel_state", [](const StopBell& bell) { return bell.board().state.load(std::memory_order_acquire); });

    nb::class_<Seat>(module, "Seat")
        .def("__init__", [](Seat* self, const std::string& instance, const std::string& name, bool actuator, std::string_view holding) { new (self) Seat(instance, actuator ? Seat::Row::actuator : Seat::Row::source, name, holding); }, "instance"_a, "name"_a, "actuator"_a = false, "holding"_a = "")
        .def_prop_ro("is_mine", &Seat::is_mine)
        .def("beat", &Seat::beat)
        .def("press", [](Seat& seat, std::string_view reason, int kind, std::string_view evidence) { seat.press(reason, static_cast<FailureKind>(kind), evidence); }, "reason"_a, "kind"_a = static_cast<int>(FailureKind::human), "evidence"_a = "")
        .def("hold", [](Seat& seat, std::string_view reason) { seat.hold(reason); }, "reason"_a)
        .def("release", &Seat::release)
        .def("acknowledge", &Seat::acknowledge, "latch_sequence"_a)
        .def("leave", &Seat::leave)
        .def_prop_ro("kernel_is_alive", &Seat::kernel_is_alive)
        .def_prop_ro("kernel_id", [](const Seat& seat) { return seat.board().kernel_id; })
        .def_prop_ro("kernel_state", [](const Seat& seat) { return seat.board().state.load(std::memory_order_acquire); })
        .def_prop_ro("latch_sequence", [](const Seat& seat) { return seat.board().latch_sequence.load(std::memory_order_acquire); })
        .def_prop_ro("stopped_at", [](const Seat& seat) { return seat.board().stopped_at.load(std::memory_order_acquire); });

    module.def("kernel_is_alive", [](const std::string& instance) {
        try {
            return BoardView::open(instance).is_alive(monotonic_ns());
        } catch (const std::runtime_error&) {
            return false;
        }
    }, "instance"_a);
    module.def("kernel_n_dof", [](const std::string& instance) -> std::optional<std::uint32_t> {
        try {
            return BoardView::open(instance)->n_dof;
        } catch (const std::runtime_error&) {
            return std::nullopt;
        }
    }, "instance"_a);
    module.attr("DOORS_MAX") = doors_max;
}
