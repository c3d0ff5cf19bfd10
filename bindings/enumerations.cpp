// SPDX-License-Identifier: Apache-2.0
// Translation only: every enumeration that crosses the boundary, under the names that C++ gives its values.
// `tests/conformance/test_enumerations.py` reads the headers and finds each value here.
#include <nanobind/nanobind.h>

#include "lastgate/gate.hpp"
#include "lastgate/gate_config.hpp"
#include "lastgate/planning.hpp"
#include "lastgate/verdict.hpp"
#include "naming.hpp"
#include "response.hpp"
#include "ring.hpp"
#include "simd/simd_tables.hpp"
#include "violation_table.hpp"

namespace nb = nanobind;
using namespace lastgate;
using namespace lastgate::detail;
using namespace lastgate::kernel;

namespace {

void bind_violation_enumerations(nb::module_& module) {
    nb::enum_<ViolationCode> codes(module, "ViolationCode", nb::is_arithmetic());
    for (const ViolationEntry& entry : violation_table) codes.value(entry.word.data(), entry.code);
    nb::enum_<SubjectKind>(module, "SubjectKind", nb::is_arithmetic())
        .value("nothing", SubjectKind::nothing)
        .value("dof", SubjectKind::dof)
        .value("link", SubjectKind::link)
        .value("effector", SubjectKind::effector)
        .value("element", SubjectKind::element)
        .value("attached", SubjectKind::attached);
    nb::enum_<AgainstKind>(module, "AgainstKind", nb::is_arithmetic())
        .value("nothing", AgainstKind::nothing)
        .value("link", AgainstKind::link)
        .value("primitive", AgainstKind::primitive)
        .value("zone", AgainstKind::zone)
        .value("voxel", AgainstKind::voxel)
        .value("point", AgainstKind::point)
        .value("attached", AgainstKind::attached)
        .value("keep_in_zone", AgainstKind::keep_in_zone)
        .value("floor", AgainstKind::floor);
    nb::enum_<CollisionKind>(module, "CollisionKind")
        .value("nothing", CollisionKind::nothing)
        .value("self", CollisionKind::self)
        .value("world", CollisionKind::world);
    nb::enum_<FailureKind>(module, "FailureKind", nb::is_arithmetic())
        .value("timeout", FailureKind::timeout)
        .value("force", FailureKind::force)
        .value("workspace", FailureKind::workspace)
        .value("controller", FailureKind::controller)
        .value("human", FailureKind::human)
        .value("collision", FailureKind::collision);
}

void bind_kernel_enumerations(nb::module_& module) {
    nb::enum_<OnViolation>(module, "OnViolation").value("estop", OnViolation::estop).value("hold", OnViolation::hold);
    nb::enum_<OnStale>(module, "OnStale").value("estop", OnStale::estop).value("stop", OnStale::stop).value("drop", OnStale::drop);
    nb::enum_<LifecycleState>(module, "LifecycleState", nb::is_arithmetic())
        .value("unconfigured", LifecycleState::unconfigured)
        .value("inactive", LifecycleState::inactive)
        .value("active", LifecycleState::active)
        .value("latched", LifecycleState::latched);
    nb::enum_<MessageType>(module, "MessageType", nb::is_arithmetic())
        .value("nothing", MessageType::nothing)
        .value("action_chunk", MessageType::action_chunk)
        .value("joint_state", MessageType::joint_state)
        .value("world_collision", MessageType::world_collision)
        .value("occupancy_voxels", MessageType::occupancy_voxels)
        .value("world_snapshot", MessageType::world_snapshot)
        .value("twist", MessageType::twist)
        .value("failure_trigger", MessageType::failure_trigger)
        .value("safety_status", MessageType::safety_status)
        .value("verdict", MessageType::verdict)
        .value("command", MessageType::command)
        .value("answer", MessageType::answer)
        .value("trace", MessageType::trace)
        .value("chunk_request", MessageType::chunk_request)
        .value("attached_shape", MessageType::attached_shape)
        .value("detach", MessageType::detach)
        .value("nav_goal", MessageType::nav_goal)
        .value("inputs", MessageType::inputs);
}

void bind_core_enumerations(nb::module_& module) {
    nb::enum_<ControlMode>(module, "ControlMode", nb::is_arithmetic())
        .value("joint_position", ControlMode::joint_position)
        .value("joint_velocity", ControlMode::joint_velocity)
        .value("joint_torque", ControlMode::joint_torque)
        .value("joint_trajectory", ControlMode::joint_trajectory)
        .value("cartesian_pose", ControlMode::cartesian_pose)
        .value("cartesian_delta", ControlMode::cartesian_delta)
        .value("cartesian_twist", ControlMode::cartesian_twist)
        .value("body_twist", ControlMode::body_twist)
        .value("foot_placement", ControlMode::foot_placement)
        .value("gripper_binary", ControlMode::gripper_binary)
        .value("gripper_position", ControlMode::gripper_position)
        .value("dex_hand_joint", ControlMode::dex_hand_joint)
        .value("composite_mode", ControlMode::composite_mode);
    nb::enum_<CartesianFrame>(module, "CartesianFrame").value("unknown", CartesianFrame::unknown).value("base", CartesianFrame::base).value("tool", CartesianFrame::tool);
    nb::enum_<SimdBuild>(module, "SimdBuild").value("generic", SimdBuild::generic).value("avx2", SimdBuild::avx2).value("neon", SimdBuild::neon);
    nb::enum_<StopKind>(module, "StopKind", nb::is_arithmetic()).value("path", StopKind::path).value("joint", StopKind::joint);
    nb::enum_<JointKind>(module, "JointKind", nb::is_arithmetic()).value("fixed", JointKind::fixed).value("revolute", JointKind::revolute).value("prismatic", JointKind::prismatic);
    nb::enum_<PrimitiveKind>(module, "PrimitiveKind", nb::is_arithmetic())
        .value("sphere", PrimitiveKind::sphere)
        .value("capsule", PrimitiveKind::capsule)
        .value("box", PrimitiveKind::box)
        .value("half_space", PrimitiveKind::half_space)
        .value("cylinder", PrimitiveKind::cylinder);
    nb::enum_<ObstacleSource>(module, "ObstacleSource")
        .value("nothing", ObstacleSource::nothing)
        .value("sphere", ObstacleSource::sphere)
        .value("primitive", ObstacleSource::primitive)
        .value("point", ObstacleSource::point)
        .value("voxel", ObstacleSource::voxel)
        .value("link", ObstacleSource::link);
    nb::enum_<CertificateKind>(module, "CertificateKind", nb::is_arithmetic())
        .value("self", CertificateKind::self)
        .value("world", CertificateKind::world)
        .value("zone", CertificateKind::zone)
        .value("points", CertificateKind::points);
    nb::enum_<Unchecked>(module, "Unchecked", nb::is_arithmetic())
        .value("world", Unchecked::world)
        .value("joint_acceleration", Unchecked::joint_acceleration)
        .value("initial_acceleration", Unchecked::initial_acceleration)
        .value("workspace_box", Unchecked::workspace_box)
        .value("ee_speed", Unchecked::ee_speed)
        .value("ee_acceleration", Unchecked::ee_acceleration)
        .value("gripper_state", Unchecked::gripper_state)
        .value("ee_angular_speed", Unchecked::ee_angular_speed)
        .value("floor_map", Unchecked::floor_map)
        .value("joint_velocities", Unchecked::joint_velocities)
        .value("stop", Unchecked::stop)
        .value("world_age", Unchecked::world_age)
        .value("unproved_volumes", Unchecked::unproved_volumes);
}

}  // namespace

void bind_enumerations(nb::module_& module) {
    bind_violation_enumerations(module);
    bind_kernel_enumerations(module);
    bind_core_enumerations(module);
}
