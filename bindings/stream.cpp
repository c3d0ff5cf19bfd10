// SPDX-License-Identifier: Apache-2.0
// Steps one at a time: translation only.
#include "arrays.hpp"
#include "guarded_gate.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace lastgate;
using namespace lastgate::bindings;

namespace {

/// A stream works in the memory of its gate, and is entered as that gate is.
struct GatedStream {
    GuardedGate& gate;
    Stream stream;

    GatedStream(GuardedGate& of, ControlMode mode) : gate(of), stream(of, mode) {}
};

}  // namespace

void bind_stream(nb::module_& module) {
    nb::class_<GatedStream>(module, "Stream")
        .def("__init__", [](GatedStream* self, GuardedGate& gate, std::uint8_t control_mode) {
            const Alone alone(gate.entry, gate_name);
            new (self) GatedStream(gate, static_cast<ControlMode>(control_mode));
        }, "gate"_a, nb::kw_only(), "control_mode"_a, nb::keep_alive<1, 2>())
        .def("begin", [](GatedStream& self, Vector positions, std::optional<Vector> velocities) {
            const Alone alone(self.gate.entry, gate_name);
            StateView measured;
            measured.positions = span_of(positions);
            measured.velocities = span_of(velocities);
            measured.given = true;
            self.stream.begin(measured);
        }, "positions"_a.noconvert(), nb::kw_only(), "velocities"_a.noconvert().none())
        .def("step", [](GatedStream& self, Vector row, std::optional<Vector> gripper_positions, const WorldSnapshot* world, double state_stamp_s, double now_s) {
            const Alone alone(self.gate.entry, gate_name);
            return self.stream.step({span_of(row), world, span_of(gripper_positions), state_stamp_s, now_s, 0.0});
        }, "row"_a.noconvert(), "gripper_positions"_a.noconvert().none(), "world"_a.none(), "state_stamp_s"_a, "now_s"_a)
        .def_prop_ro("full_checks", [](const GatedStream& self) { return self.stream.full_checks(); });
}
