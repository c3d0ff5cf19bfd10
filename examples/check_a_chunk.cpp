// SPDX-License-Identifier: Apache-2.0
// Checks one chunk of motion in C++: build a model, build a gate, ask it.
//
// The arm has two joints that turn in one plane, each carrying a sphere of 5 cm at the end of a metre
// of nothing. A pole of 2 cm stands between the measured state and the chunk's only step, where no
// step touches it; the gate finds it anyway, and says when.
//
// cmake -S . -B build/example -DLASTGATE_TESTS=ON && cmake --build build/example --target check_a_chunk
// build/example/core/tests/check_a_chunk
#include <cstdio>
#include <memory>

#include "lastgate/gate.hpp"

using namespace lastgate;

int main() {
    RobotModelSpec robot;
    robot.links.resize(3);
    for (std::int32_t link : {1, 2}) {
        LinkSpec& spec = robot.links[static_cast<std::size_t>(link)];
        spec.parent = link - 1;
        spec.kind = JointKind::revolute;
        spec.dof = link - 1;
        spec.origin_xyz = {link == 1 ? 0.0 : 1.0, 0.0, 0.0};
        robot.dofs.push_back({-3.0, 3.0, true});
        robot.volumes.push_back({link, 0.05, {1.0, 0.0, 0.0}, {1.0, 0.0, 0.0}});
    }

    GateConfig config;
    config.step_s = 1.0;
    config.velocity_max = {2.0, 2.0};
    config.state_age_s_max = 0.2;
    config.world_age_s_max = 0.5;
    config.enabled_modes.set(static_cast<std::size_t>(ControlMode::joint_position));
    Gate gate(std::make_shared<const RobotModel>(robot), config);  // allocates here, and never again

    PrimitiveSpec pole;
    pole.kind = PrimitiveKind::capsule;
    pole.radius_m = 0.02;
    pole.half_length_m = 1.0;
    pole.in_base.translation = {1.6, 1.2, 0.0};
    WorldSnapshot world;
    world.begin(1, 10.0, true);
    world.add(pole);

    const double measured[2] = {0.0, 0.0};
    const double row[2] = {1.2, 0.0};
    CheckRequest request;
    request.chunk = {static_cast<std::size_t>(ControlMode::joint_position), 1, 2, row, none, CartesianFrame::base};
    request.state.positions = measured;
    request.state.stamp_s = 10.0;
    request.state.given = true;
    request.world = &world;
    request.now_s = 10.0;

    const Verdict verdict = gate.check(request);
    std::printf("%s: obstacle %u, first contact not before %.3f of the way to step %u\n", verdict.accepted ? "accepted" : "rejected",
                verdict.violation.against, verdict.violation.first_contact_t, verdict.violation.row);
    return verdict.accepted == 0 && verdict.violation.code == ViolationCode::world_collision ? 0 : 1;
}
