// SPDX-License-Identifier: Apache-2.0
// Translation only: the kernel's rules that Python asks without a kernel: latch, response and navigation goals.
#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "config.hpp"
#include "latch.hpp"
#include "nav_goal.hpp"
#include "response.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace lastgate;
using namespace lastgate::kernel;

namespace {

using NamedReason = std::tuple<std::string, std::string>;

std::vector<NamedReason> asserted_sources(const Latch& latch) {
    std::vector<NamedReason> sources;
    for (const Latch::Held& held : latch.held()) {
        if (held.asserted) sources.emplace_back(std::string(held.source.view()), std::string(held.reason.view()));
    }
    return sources;
}

std::vector<std::string> acknowledged_actuators(const Latch& latch) {
    std::vector<std::string> names;
    for (const Latch::Actuator& actuator : latch.actuators()) {
        if (actuator.acknowledged) names.emplace_back(actuator.name.view());
    }
    return names;
}

LatchRecord record_of(bool latched, std::uint32_t sequence, std::string_view source, std::string_view reason) {
    LatchRecord record;
    record.latched = latched;
    record.sequence = sequence;
    record.source.assign(source);
    record.reason.assign(reason);
    return record;
}

void bind_latch(nb::module_& module) {
    nb::class_<Latch>(module, "Latch")
        .def(nb::init<double>(), nb::kw_only(), "cooldown_s"_a)
        .def("require_actuator", &Latch::require_actuator, "name"_a)
        .def("restore", [](Latch& latch, bool latched, std::uint32_t sequence, std::string_view source, std::string_view reason) { latch.restore(record_of(latched, sequence, source, reason)); }, nb::kw_only(),
             "latched"_a, "sequence"_a, "source"_a, "reason"_a)
        .def("restore_source", &Latch::restore_source, nb::kw_only(), "source"_a, "reason"_a)
        .def("restore_acknowledgement", &Latch::restore_acknowledgement, "actuator"_a)
        .def("trip", &Latch::trip, nb::kw_only(), "source"_a, "reason"_a, "now_s"_a)
        .def("assert_source", &Latch::assert_source, nb::kw_only(), "source"_a, "reason"_a, "now_s"_a)
        .def("release_source", &Latch::release_source, "source"_a)
        .def("acknowledge", &Latch::acknowledge, nb::kw_only(), "actuator"_a, "sequence"_a)
        .def("reset", [](Latch& latch, double now_s) {
            const Latch::Reset reset = latch.reset(now_s);
            return std::make_tuple(reset.success, std::string(reset.message.view()));
        }, nb::kw_only(), "now_s"_a)
        .def_prop_ro("latched", &Latch::latched)
        .def_prop_ro("sequence", [](const Latch& latch) { return latch.record().sequence; })
        .def_prop_ro("source", [](const Latch& latch) { return std::string(latch.record().source.view()); })
        .def_prop_ro("reason", [](const Latch& latch) { return std::string(latch.record().reason.view()); })
        .def_prop_ro("asserted", &asserted_sources)
        .def_prop_ro("acknowledged", &acknowledged_actuators);
    module.attr("SOURCES_MAX") = sources_max;
    module.attr("REGISTRATION_NAME_BYTES_MAX") = registration_name_bytes_max;
}

}  // namespace

void bind_kernel_rules(nb::module_& module) {
    bind_latch(module);
    nb::class_<Response>(module, "Response")
        .def_ro("report", &Response::report)
        .def_ro("latch", &Response::latch)
        .def_ro("controlled_stop", &Response::controlled_stop);
    module.def("respond_to", [](ViolationCode code, OnViolation on_violation, OnStale on_stale) { return respond_to(entry_of(code).response, on_violation, on_stale); }, "code"_a, nb::kw_only(), "on_violation"_a, "on_stale"_a);
    module.def("evaluate_nav_goal", [](const KernelConfig& config, const FloorMapMessage* map, std::string_view frame_id, std::array<double, 3> xyz, std::array<double, 4> quat_xyzw, double now_s) {
        // The map is handed in here and now: it was held by no mailbox.
        const NavAnswer answer = evaluate_nav_goal({frame_id, xyz, quat_xyzw}, map, config.gate, config.robot_name, now_s, 0.0);
        return std::make_tuple(answer.ok, std::string(answer.reason.view()));
    }, "config"_a, "map"_a.none(), nb::kw_only(), "frame_id"_a, "xyz"_a, "quat_xyzw"_a, "now_s"_a);
}
