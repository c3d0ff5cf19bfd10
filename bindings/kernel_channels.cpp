// SPDX-License-Identifier: Apache-2.0
// Translation only: the channels, rings, registrations and stop event of a running kernel.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "client.hpp"
#include "entry_guard.hpp"
#include "instance.hpp"
#include "known_numbers.hpp"
#include "messages.hpp"
#include "payload.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace lastgate;
using namespace lastgate::kernel;
using namespace lastgate::bindings;

namespace {

/// Types of what is handed in through the ring of chunks, by the words that Python uses.
MessageType question_of(const std::string& word) {
    if (word == "attached_shape") return MessageType::attached_shape;
    if (word == "detach") return MessageType::detach;
    if (word == "nav_goal") return MessageType::nav_goal;
    throw std::invalid_argument("no question `" + word + "`");
}

RingShape shape_of(const std::string& ring) {
    // One of the rings of a channel: its name and the channel's number.
    const std::size_t dot = ring.find('.');
    if (dot != std::string::npos && ring.size() == dot + 2 && ring[dot + 1] >= '0' && ring[dot + 1] < static_cast<char>('0' + channels_max)) {
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
    throw std::invalid_argument("no ring `" + ring + "`; there are safe_actions, failures, statuses, traces, inputs, and chunks.N, states.N, worlds.N, verdicts.N for every channel");
}

Command command_of(const std::string& word) {
    if (word == "reset") return Command::reset;
    if (word == "activate") return Command::activate;
    if (word == "deactivate") return Command::deactivate;
    if (word == "shutdown") return Command::shutdown;
    if (word == "status") return Command::status;
    throw std::invalid_argument("no command `" + word + "`");
}

/// What asks and waits shares one place to read answers into, and the ring of chunks. States and worlds have rings of their
/// own, written under the interpreter's lock: they may come from other threads.
using GuardedClient = Guarded<ChannelClient>;
constexpr const char* channel_name = "this kernel client";
using GuardedReader = Guarded<RingReader>;
constexpr const char* reader_name = "this ring reader";

std::uint64_t submitted(GuardedClient& channel, MessageType type, const nb::bytes& payload) {
    const Alone alone(channel.entry, channel_name);
    return channel.submit(type, span_of(payload));
}

std::int64_t ns_of(double seconds) { return static_cast<std::int64_t>(seconds * 1e9); }

}  // namespace

void bind_kernel_channels(nb::module_& module) {
    module.def("memory_folder", &SharedMemory::folder, "user"_a = "");
    module.def("remove_what_a_killed_kernel_left", &remove_what_a_killed_kernel_left, "instance"_a);
    nb::class_<GuardedClient>(module, "ChannelClient")
        .def(nb::init<const std::string&>(), "instance"_a)
        .def("submit", [](GuardedClient& channel, const nb::bytes& payload) { return submitted(channel, MessageType::action_chunk, payload); }, "payload"_a)
        .def("submit_twist", [](GuardedClient& channel, const nb::bytes& payload) { return submitted(channel, MessageType::twist, payload); }, "payload"_a)
        .def("submit_request", [](GuardedClient& channel, const nb::bytes& payload) { return submitted(channel, MessageType::chunk_request, payload); }, "payload"_a)
        .def("ask", [](GuardedClient& channel, const std::string& word, const nb::bytes& payload, double timeout_s) -> std::optional<std::tuple<bool, std::uint32_t, std::string>> {
            const MessageType type = question_of(word);
            const auto bytes = span_of(payload);
            const Alone alone(channel.entry, channel_name);
            nb::gil_scoped_release released;
            const auto answer = channel.ask(type, bytes, ns_of(timeout_s));
            if (!answer) return std::nullopt;
            return std::make_tuple(answer->success == 1, answer->number, std::string(answer->message.view()));
        }, "question"_a, "payload"_a, "timeout_s"_a)
        .def("observe", [](GuardedClient& channel, const nb::bytes& payload) { channel.observe(span_of(payload)); }, "payload"_a)
        .def("publish_world", [](GuardedClient& channel, const nb::bytes& payload) { return channel.publish_world(MessageType::world_snapshot, span_of(payload)); }, "payload"_a)
        .def("publish_wire_world", [](GuardedClient& channel, const std::tuple<std::string, nb::bytes>& message) {
            const auto& [type, payload] = message;
            if (type != "world_collision" && type != "occupancy_voxels") throw std::invalid_argument("no world message `" + type + "`");
            return channel.publish_world(type == "world_collision" ? MessageType::world_collision : MessageType::occupancy_voxels, span_of(payload));
        }, "message"_a)
        .def("wait_world", [](GuardedClient& channel, std::uint64_t sequence, double timeout_s) {
            nb::gil_scoped_release released;
            return channel.wait_world(sequence, ns_of(timeout_s));
        }, "sequence"_a, "timeout_s"_a)
        .def("wait_verdict", [](GuardedClient& channel, std::uint64_t sequence, double timeout_s, double spin_s) {
            const Alone alone(channel.entry, channel_name);
            nb::gil_scoped_release released;
            return channel.wait_verdict(sequence, ns_of(timeout_s), ns_of(spin_s));
        }, "sequence"_a, nb::kw_only(), "timeout_s"_a, "spin_s"_a = 0.0)
        .def("command", [](GuardedClient& channel, const std::string& word, double timeout_s) -> std::optional<std::tuple<bool, std::string>> {
            const Command command = command_of(word);
            const Alone alone(channel.entry, channel_name);
            nb::gil_scoped_release released;
            const auto answer = channel.command(command, ns_of(timeout_s));
            if (!answer) return std::nullopt;
            return std::make_tuple(answer->success == 1, std::string(answer->message.view()));
        }, "command"_a, "timeout_s"_a)
        .def_prop_ro("kernel_is_alive", [](const GuardedClient& channel) { return channel.kernel_is_alive(); })
        .def_prop_ro("kernel_id", [](const GuardedClient& channel) { return channel.status_block().kernel_id; })
        .def_prop_ro("channel", [](const GuardedClient& channel) { return channel.channel(); });

    nb::class_<GuardedReader>(module, "RingReader")
        .def("__init__", [](GuardedReader* self, const std::string& instance, const std::string& ring, bool from_newest) { new (self) GuardedReader(instance, ring, shape_of(ring), from_newest); }, "instance"_a, "ring"_a, "from_newest"_a = false)
        .def("read", [](GuardedReader& reader, double timeout_s) -> nb::object {
            std::optional<RingReader::Message> message;
            {
                const Alone alone(reader.entry, reader_name);
                nb::gil_scoped_release released;
                message = reader.read(ns_of(timeout_s));
            }
            if (!message) return nb::none();
            return nb::make_tuple(message->head.sequence, message->head.origin, static_cast<double>(message->head.written_ns) * 1e-9, nb::bytes(message->payload.data(), message->payload.size()));
        }, "timeout_s"_a, nb::sig("def read(self, timeout_s: float) -> tuple[int, int, float, bytes] | None"))
        .def("rewind", [](GuardedReader& reader) {
            const Alone alone(reader.entry, reader_name);
            reader.rewind();
        })
        .def_prop_ro("last_type", [](const GuardedReader& reader) { return known(reader.last_type()); })
        .def_prop_ro("lost", [](const GuardedReader& reader) { return reader.lost(); });

    nb::class_<StopEvent>(module, "StopEvent")
        .def(nb::init<const std::string&>(), "instance"_a)
        .def("signal", &StopEvent::signal)
        .def_prop_ro("kernel_is_alive", &StopEvent::kernel_is_alive)
        .def_prop_ro("latch_is_kept", [](const StopEvent& event) { return event.status_block().latch_kept.load(std::memory_order_acquire) == 1; })
        .def_prop_ro("kernel_state", [](const StopEvent& event) { return known(static_cast<LifecycleState>(event.status_block().state.load(std::memory_order_acquire))); });

    nb::class_<Registration>(module, "Registration")
        .def("__init__", [](Registration* self, const std::string& instance, const std::string& name, bool actuator, std::string_view holding) { new (self) Registration(instance, actuator ? Registration::Row::actuator : Registration::Row::source, name, holding); }, "instance"_a, "name"_a, "actuator"_a = false, "holding"_a = "")
        .def_prop_ro("is_mine", &Registration::is_mine)
        .def("beat", &Registration::beat)
        .def("press", [](Registration& registration, std::string_view reason, FailureKind kind, std::string_view evidence) { registration.press(reason, kind, evidence); }, "reason"_a, "kind"_a = FailureKind::human, "evidence"_a = "")
        .def("hold", [](Registration& registration, std::string_view reason) { registration.hold(reason); }, "reason"_a)
        .def("release", &Registration::release)
        .def("acknowledge", &Registration::acknowledge, "latch_sequence"_a)
        .def("leave", &Registration::leave)
        .def_prop_ro("kernel_is_alive", &Registration::kernel_is_alive)
        .def_prop_ro("kernel_id", [](const Registration& registration) { return registration.status_block().kernel_id; })
        .def_prop_ro("kernel_state", [](const Registration& registration) { return known(registration.kernel_state()); })
        .def_prop_ro("latch_sequence", [](const Registration& registration) { return registration.status_block().latch_sequence.load(std::memory_order_acquire); })
        .def_prop_ro("stopped_at", [](const Registration& registration) { return registration.status_block().stopped_at.load(std::memory_order_acquire); });

    module.def("kernel_is_alive", [](const std::string& instance) {
        try {
            return StatusBlockView::open(instance).is_alive(monotonic_ns());
        } catch (const std::runtime_error&) {
            return false;
        }
    }, "instance"_a);
    module.def("kernel_n_dof", [](const std::string& instance) -> std::optional<std::uint32_t> {
        try {
            return StatusBlockView::open(instance)->n_dof;
        } catch (const std::runtime_error&) {
            return std::nullopt;
        }
    }, "instance"_a);
    module.attr("CHANNELS_MAX") = channels_max;
}
