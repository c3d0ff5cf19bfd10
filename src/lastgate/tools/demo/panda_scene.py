# SPDX-License-Identifier: Apache-2.0
# MuJoCo and lxml are native modules without type information.
# pyright: reportAttributeAccessIssue=false
"""A Franka Panda over a cluttered table, in MuJoCo, and the same table as the gate sees it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np
from lxml import etree

from lastgate.contracts import (
    BoxShape,
    CapsuleShape,
    CylinderShape,
    HalfSpaceShape,
    Pose6D,
    RobotDescription,
    ROSConfigError,
    SphereShape,
    WorldCollisionPrimitive,
    WorldShape,
)
from lastgate.contracts.arrays import Float64
from lastgate.planning.skills.camera import find_camera
from lastgate.tools.assets import resolve_asset
from lastgate.tools.assets.mesh_uri import resolve_mesh_uri
from lastgate.tools.assets.safe_xml import load_xml
from lastgate.tools.demo.scene_camera import add_mounted_camera

TIMESTEP_S = 0.002

# Position servos, as stiff as the time step carries. A servo that damps absolute speed lags behind its
# target by damping / stiffness, here 10 ms: half a control step, so that "measured to step 0" stays a
# small step.
SERVO_STIFFNESS = (40000.0, 40000.0, 30000.0, 30000.0, 10000.0, 10000.0, 5000.0)
SERVO_LAG_S = 0.010
# The rotors and gears that a URDF leaves out; the Panda's are about this large and keep stiff servos stable.
ROTOR_INERTIA_KG_M2 = 0.1
FINGER_OPENING_M = 0.02
FINGER_STIFFNESS_N_M = 1000.0
FINGER_DAMPING_N_S_M = 20.0

_STANDING = (0.0, 0.0, 0.0, 1.0)
_COLOURS = (
    (0.55, 0.42, 0.30, 1.0),
    (0.35, 0.50, 0.65, 1.0),
    (0.75, 0.45, 0.25, 1.0),
    (0.45, 0.60, 0.40, 1.0),
)
_MARKER_COLOUR = (0.85, 0.10, 0.15, 1.0)


def _obstacle(object_id: str, shape: WorldShape, *xyz: float) -> WorldCollisionPrimitive:
    x, y, z = xyz
    return WorldCollisionPrimitive(
        shape=shape, pose=Pose6D(xyz=(x, y, z), quat_xyzw=_STANDING), object_id=object_id
    )


def table_world() -> tuple[WorldCollisionPrimitive, ...]:
    """Returns the obstacles, in the robot's base frame: the one list both MuJoCo and the gate are given."""
    return (
        _obstacle("floor", HalfSpaceShape(shape="half_space"), 0.0, 0.0, -0.75),
        _obstacle("table", BoxShape(shape="box", size_xyz_m=(0.80, 1.60, 0.04)), 0.65, 0.0, -0.02),
        _obstacle("crate", BoxShape(shape="box", size_xyz_m=(0.24, 0.20, 0.16)), 0.52, 0.62, 0.08),
        _obstacle("book", BoxShape(shape="box", size_xyz_m=(0.22, 0.16, 0.05)), 0.42, 0.26, 0.025),
        _obstacle("shelf_left", BoxShape(shape="box", size_xyz_m=(0.24, 0.02, 0.50)), 0.74, -0.16, 0.25),
        _obstacle("shelf_right", BoxShape(shape="box", size_xyz_m=(0.24, 0.02, 0.50)), 0.74, -0.64, 0.25),
        _obstacle("shelf_top", BoxShape(shape="box", size_xyz_m=(0.24, 0.50, 0.02)), 0.74, -0.40, 0.51),
        _obstacle("pole", CapsuleShape(shape="capsule", radius_m=0.02, length_m=0.60), 0.62, 0.0, 0.32),
        _obstacle("antenna", CapsuleShape(shape="capsule", radius_m=0.002, length_m=0.20), 0.71, 0.22, 0.10),
        _obstacle("bottle", CapsuleShape(shape="capsule", radius_m=0.035, length_m=0.14), 0.40, -0.22, 0.105),
        _obstacle("sphere", SphereShape(shape="sphere", radius_m=0.06), 0.36, -0.45, 0.06),
        _obstacle("lamp", SphereShape(shape="sphere", radius_m=0.08), 0.30, 0.60, 0.62),
    )


@dataclass(frozen=True, slots=True)
class Contacts:
    """The contacts that MuJoCo found at one instant, as pairs of names."""

    robot_world: frozenset[tuple[str, str]]
    robot_robot: frozenset[tuple[str, str]]

    def __bool__(self) -> bool:
        return bool(self.robot_world or self.robot_robot)


class PandaScene:
    """The simulated arm and table.

    Args:
        robot: Names the description file, the joints and their effort limits.
        obstacles: What stands around the arm.
        markers: What is seen only: nothing can touch it.

    Raises:
        ROSConfigError: The description or one of its meshes cannot be found.
    """

    def __init__(
        self,
        robot: RobotDescription,
        obstacles: Sequence[WorldCollisionPrimitive],
        *,
        markers: Sequence[WorldCollisionPrimitive] = (),
    ) -> None:
        self.arm_joints = tuple(j.name for j in robot.actuated_joints if j.joint_type == "revolute")
        self.finger_joints = tuple(j.name for j in robot.joints if j.joint_type == "prismatic")
        self.model = _compile(robot, obstacles, markers, self.arm_joints, self.finger_joints)
        self.data = mujoco.MjData(self.model)
        self._arm_qpos = [self.model.joint(name).qposadr[0] for name in self.arm_joints]
        self._arm_qvel = [self.model.joint(name).dofadr[0] for name in self.arm_joints]
        self._finger_qpos = [self.model.joint(name).qposadr[0] for name in self.finger_joints]
        geom_count = self.model.ngeom
        self._is_robot = self.model.geom_bodyid[:geom_count] > 0
        self._geom_names = [self._name_geom(index) for index in range(geom_count)]
        self._replay_data = mujoco.MjData(self.model)

    def _name_geom(self, index: int) -> str:
        body = int(self.model.geom_bodyid[index])
        return self.model.geom(index).name if body == 0 else self.model.body(body).name

    def reset(self, positions: Float64) -> None:
        """Puts the arm at rest at a configuration, at time 0."""
        mujoco.mj_resetData(self.model, self.data)
        self._place(self.data, positions)
        self.command(positions)
        mujoco.mj_forward(self.model, self.data)

    def command(self, positions: Float64) -> None:
        """Hands the servos their targets; the fingers keep theirs."""
        self.data.ctrl[: len(positions)] = positions
        self.data.ctrl[len(positions) :] = FINGER_OPENING_M

    def step(self) -> None:
        """Simulates one time step."""
        mujoco.mj_step(self.model, self.data)

    @property
    def time_s(self) -> float:
        """Simulated time."""
        return float(self.data.time)

    @property
    def positions(self) -> Float64:
        """Measured positions of the arm."""
        return self.data.qpos[self._arm_qpos].copy()

    @property
    def velocities(self) -> Float64:
        """Measured velocities of the arm."""
        return self.data.qvel[self._arm_qvel].copy()

    @property
    def finger_positions(self) -> Float64:
        """Position of the first finger; the second one mirrors it."""
        return self.data.qpos[self._finger_qpos[:1]].copy()

    def contacts(self) -> Contacts:
        """Returns what touches now; only links joined by one joint are left out, by MuJoCo itself."""
        return self._contacts_of(self.data)

    def _contacts_of(self, data: mujoco.MjData) -> Contacts:
        robot_world, robot_robot = set(), set()
        # Asked before the list is made, which costs more than a time step.
        for contact in data.contact[: data.ncon] if data.ncon else ():
            first, second = int(contact.geom[0]), int(contact.geom[1])
            names = (self._geom_names[first], self._geom_names[second])
            if self._is_robot[first] and self._is_robot[second]:
                robot_robot.add((min(names), max(names)))
            elif self._is_robot[first] or self._is_robot[second]:
                robot_world.add(names if self._is_robot[first] else names[::-1])
        return Contacts(frozenset(robot_world), frozenset(robot_robot))

    def contacts_at(self, positions: Float64) -> Contacts:
        """Returns what would touch at a configuration, by geometry alone; the simulation is not disturbed."""
        self._place(self._replay_data, positions)
        mujoco.mj_kinematics(self.model, self._replay_data)
        mujoco.mj_collision(self.model, self._replay_data)
        return self._contacts_of(self._replay_data)

    def contacts_along(self, start: Float64, rows: Float64, *, samples_per_row: int) -> Contacts:
        """Returns what would touch from `start` through `rows`, checked so many times per step."""
        robot_world: frozenset[tuple[str, str]] = frozenset()
        robot_robot: frozenset[tuple[str, str]] = frozenset()
        before = start
        for row in rows:
            for sample in range(1, samples_per_row + 1):
                found = self.contacts_at(before + (row - before) * (sample / samples_per_row))
                robot_world |= found.robot_world
                robot_robot |= found.robot_robot
            before = row
        return Contacts(robot_world, robot_robot)

    def _place(self, data: mujoco.MjData, positions: Float64) -> None:
        data.qpos[self._arm_qpos] = positions
        data.qpos[self._finger_qpos] = FINGER_OPENING_M


def _compile(
    robot: RobotDescription,
    obstacles: Sequence[WorldCollisionPrimitive],
    markers: Sequence[WorldCollisionPrimitive],
    arm_joints: Sequence[str],
    finger_joints: Sequence[str],
) -> mujoco.MjModel:
    spec = mujoco.MjSpec.from_string(_urdf_for_mujoco(robot))
    # Read from a URDF, MuJoCo would leave out what cannot be touched, and with it the markers.
    spec.compiler.discardvisual = False
    spec.option.timestep = TIMESTEP_S
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    for body in spec.bodies:
        # The Panda's own controller carries its weight; so the servos only have to track.
        body.gravcomp = 1.0
    limits = {joint.name: joint.effort_limit for joint in robot.joints}
    for name, stiffness in zip(arm_joints, SERVO_STIFFNESS, strict=True):
        spec.joint(name).armature = ROTOR_INERTIA_KG_M2
        _add_servo(spec, name, stiffness, stiffness * SERVO_LAG_S, effort_limit=limits[name])
    for name in finger_joints:
        _add_servo(spec, name, FINGER_STIFFNESS_N_M, FINGER_DAMPING_N_S_M, effort_limit=limits[name])
    for index, obstacle in enumerate(obstacles):
        add_obstacle(spec, obstacle, colour=_COLOURS[index % len(_COLOURS)])
    for marker in markers:
        add_obstacle(spec, marker, colour=_MARKER_COLOUR, touchable=False)
    for sensor in robot.sensors:
        if sensor.kind in ("camera", "depth_camera"):
            add_mounted_camera(spec, find_camera(robot, sensor.name))
    spec.worldbody.add_light(pos=[0.5, -1.0, 2.5], dir=[0.0, 0.4, -1.0])
    return spec.compile()


def _urdf_for_mujoco(robot: RobotDescription) -> str:
    """Returns the description with collision geometry only, every mesh by its full path."""
    if robot.assets.urdf is None:
        raise ROSConfigError(f"robot `{robot.name}` names no URDF, so there is nothing to simulate")
    path = Path(resolve_asset(robot.assets.urdf.ref, "urdf"))
    root = load_xml(path).getroot()
    for visual in root.findall("link/visual"):
        visual.getparent().remove(visual)  # pyright: ignore[reportOptionalMemberAccess]
    for mesh in root.iter("mesh"):
        mesh.set("filename", str(resolve_mesh_uri(mesh.get("filename", ""), path)))
    options = etree.SubElement(root, "mujoco")
    etree.SubElement(options, "compiler", strippath="false", fusestatic="false", balanceinertia="true")
    return etree.tostring(root, encoding="unicode")


def _add_servo(
    spec: mujoco.MjSpec, joint: str, stiffness: float, damping: float, *, effort_limit: float | None
) -> None:
    servo = spec.add_actuator(name=f"{joint}_servo", target=joint, trntype=mujoco.mjtTrn.mjTRN_JOINT)
    servo.set_to_position(kp=stiffness, kv=damping)
    if effort_limit is not None:
        servo.forcelimited = True
        servo.forcerange = [-effort_limit, effort_limit]


def add_obstacle(
    spec: mujoco.MjSpec,
    obstacle: WorldCollisionPrimitive,
    *,
    colour: tuple[float, ...],
    touchable: bool = True,
) -> None:
    """Adds a thing to a scene that is still being made, under its own name."""
    x, y, z, w = obstacle.pose.quat_xyzw
    shape = obstacle.shape
    match shape:
        case SphereShape():
            kind, size = mujoco.mjtGeom.mjGEOM_SPHERE, (shape.radius_m, 0.0, 0.0)
        case CapsuleShape():
            kind, size = mujoco.mjtGeom.mjGEOM_CAPSULE, (shape.radius_m, shape.length_m / 2, 0.0)
        case CylinderShape():
            kind, size = mujoco.mjtGeom.mjGEOM_CYLINDER, (shape.radius_m, shape.length_m / 2, 0.0)
        case BoxShape():
            kind, size = mujoco.mjtGeom.mjGEOM_BOX, tuple(edge / 2 for edge in shape.size_xyz_m)
        case HalfSpaceShape():
            kind, size = mujoco.mjtGeom.mjGEOM_PLANE, (3.0, 3.0, 0.1)
    spec.worldbody.add_geom(
        name=obstacle.object_id or "",
        type=kind,
        size=size,
        pos=obstacle.pose.xyz,
        quat=(w, x, y, z),
        rgba=colour,
        contype=int(touchable),
        conaffinity=int(touchable),
    )


def home_configuration() -> Float64:
    """Returns the pose the arm starts from: upright, elbow bent, hand down."""
    return np.array([0.0, -0.60, 0.0, -2.20, 0.0, 1.70, 0.785])
