# SPDX-License-Identifier: Apache-2.0
"""The peers that install from PyPI, on the same robot, volumes, exclusions and obstacles as the gate.

They answer less: whether single poses are free, nothing about the motion between them. What they cost for
that is the yardstick.
"""

import ctypes
import time
from collections.abc import Callable
from pathlib import Path

import coal
import mujoco
import numpy as np
import pinocchio as pin
from numpy.typing import NDArray
from scene import FINGERS, Scene

import lastgate as lg
from lastgate.kernel_config import capsule_ends

Float64 = NDArray[np.float64]

# A geom collides when the type of one meets the affinity of the other: obstacles ignore each other.
ROBOT_BITS = {"contype": 1, "conaffinity": 1}
OBSTACLE_BITS = {"contype": 2, "conaffinity": 1}


def quat_wxyz(rpy: tuple[float, ...]) -> list[float]:
    """Returns MuJoCo's quaternion of a URDF rotation."""
    x, y, z, w = pin.Quaternion(pin.rpy.rpyToMatrix(*rpy)).coeffs()
    return [w, x, y, z]


def mujoco_model(robot: lg.RobotDescription, world: lg.World) -> mujoco.MjModel:
    """Builds the robot and the obstacles with MjSpec: the same capsules, the same excluded pairs."""
    spec = mujoco.MjSpec()
    bodies = {robot.base_frame: spec.worldbody.add_body(name=robot.base_frame)}
    for joint in robot.joints:
        body = bodies[joint.parent_link].add_body(
            name=joint.child_link, pos=joint.origin_xyz, quat=quat_wxyz(joint.origin_rpy)
        )
        bodies[joint.child_link] = body
        if joint.is_moving:
            kind = (
                mujoco.mjtJoint.mjJNT_SLIDE
                if joint.joint_type == "prismatic"
                else mujoco.mjtJoint.mjJNT_HINGE
            )
            body.add_joint(name=joint.name, type=kind, axis=joint.axis_xyz)
            body.mass, body.inertia = 1.0, [0.1, 0.1, 0.1]
            body.explicitinertial = True
    for volume in robot.collision_geometry:
        ends = capsule_ends(volume.shape, volume.origin_xyz_rpy)
        bodies[volume.link_name].add_geom(
            type=mujoco.mjtGeom.mjGEOM_CAPSULE,
            size=[volume.shape.radius_m, 0, 0],
            fromto=list(ends),
            mass=0,
            **ROBOT_BITS,
        )
    for pair in robot.allowed_collision_pairs:
        spec.add_exclude(bodyname1=pair.link_a, bodyname2=pair.link_b)
    for primitive in world.primitives:
        x, y, z, w = primitive.pose.quat_xyzw
        match primitive.shape:
            case lg.SphereShape():
                kind, size = mujoco.mjtGeom.mjGEOM_SPHERE, [primitive.shape.radius_m, 0, 0]
            case lg.BoxShape():
                kind, size = mujoco.mjtGeom.mjGEOM_BOX, [edge / 2 for edge in primitive.shape.size_xyz_m]
        spec.worldbody.add_geom(
            type=kind, size=size, pos=primitive.pose.xyz, quat=[w, x, y, z], **OBSTACLE_BITS
        )
    return spec.compile()


class MujocoPeer:
    """Looks at single poses with mj_kinematics and mj_collision, in a compiled loop."""

    def __init__(self, scene: Scene, world: lg.World, loop_library: Path) -> None:
        self.model = mujoco_model(scene.robot, world)
        self.data = mujoco.MjData(self.model)
        mujoco.mj_forward(self.model, self.data)
        fingers = np.repeat(FINGERS, self.model.nq - scene.rows.shape[1])
        self.rows = np.ascontiguousarray(np.hstack([scene.rows, np.tile(fingers, (len(scene.rows), 1))]))
        library = next(Path(mujoco.__file__).parent.glob("libmujoco.so*"))
        self.functions = ctypes.CDLL(str(library))
        self.loop = ctypes.CDLL(str(loop_library)).time_poses
        if any(self.collides(row) for row in scene.rows):
            raise SystemExit("error: MuJoCo sees a contact in the collision-free scene")

    def collides(self, row: Float64) -> bool:
        """Returns whether the pose has a contact."""
        self.data.qpos[:] = np.append(row, self.rows[0, len(row) :])
        mujoco.mj_kinematics(self.model, self.data)
        mujoco.mj_collision(self.model, self.data)
        return self.data.ncon > 0

    def times_ns(self, rounds: int, *, collision: bool = True) -> Float64:
        """Returns nanoseconds for all rows, once per round; without `collision` forward kinematics alone."""
        out = np.empty(rounds)
        self.loop(
            self.functions.mj_kinematics,
            self.functions.mj_collision if collision else None,
            ctypes.c_void_p(self.model._address),
            ctypes.c_void_p(self.data._address),
            ctypes.c_void_p(self.data.qpos.ctypes.data),
            ctypes.c_void_p(self.rows.ctypes.data),
            ctypes.c_size_t(self.rows.shape[0]),
            ctypes.c_size_t(self.rows.shape[1]),
            ctypes.c_size_t(rounds),
            ctypes.c_void_p(out.ctypes.data),
        )
        return out


class PinocchioPeer:
    """Looks at single poses with Pinocchio and Coal, called from Python once per pose."""

    def __init__(self, scene: Scene, world: lg.World) -> None:
        self.model, self.geometry = pinocchio_model(scene.robot, world)
        self.data = self.model.createData()
        self.geometry_data = pin.GeometryData(self.geometry)
        fingers = np.repeat(FINGERS, self.model.nq - scene.rows.shape[1])
        self.rows = np.hstack([scene.rows, np.tile(fingers, (len(scene.rows), 1))])
        if any(self.collides(row) for row in self.rows):
            raise SystemExit("error: Pinocchio sees a contact in the collision-free scene")

    def collides(self, row: Float64) -> bool:
        """Returns whether any pair touches; stops at the first, which a free pose has not."""
        whole = row if len(row) == self.model.nq else np.append(row, self.rows[0, len(row) :])
        return pin.computeCollisions(self.model, self.data, self.geometry, self.geometry_data, whole, True)

    def times_ns(self, rounds: int) -> Float64:
        """Returns nanoseconds for all rows, once per round."""
        return python_times_ns(lambda: [self.collides(row) for row in self.rows], rounds)

    def kinematics_times_ns(self, rounds: int) -> Float64:
        """Returns nanoseconds of forward kinematics alone, for all rows."""
        return python_times_ns(
            lambda: [pin.forwardKinematics(self.model, self.data, row) for row in self.rows], rounds
        )


def require_agreement(scene: Scene, peers: dict[str, MujocoPeer | PinocchioPeer]) -> int:
    """Returns how many random poses everybody judged alike; raises SystemExit when somebody does not.

    A peer that is blind to some pair would be fast for the wrong reason. Poses within 1 mm of contact are
    left out: there, rounding may decide.
    """
    joints = [joint for joint in scene.robot.actuated_joints if joint.name in scene.gate.joint_names]
    limits = np.array([joint.position_limits for joint in joints])
    poses = np.random.default_rng(1).uniform(limits[:, 0], limits[:, 1], size=(1000, len(joints)))
    # Peers know the volumes, so they are compared with a gate that knows nothing else.
    volumes_alone = scene.robot.model_copy(update={"convex_pieces": None})
    gate = lg.Gate(volumes_alone, step_s=scene.gate.step_s)
    ours = gate.check_batch(poses, world=scene.worlds[0], gripper_positions=FINGERS)
    decided = np.abs(ours.clearance_m) > 1e-3
    if min(ours.accepted[decided].sum(), (~ours.accepted[decided]).sum()) < 50:
        raise SystemExit("error: the random poses are nearly all free or nearly all colliding")
    for name, peer in peers.items():
        theirs = np.array([not peer.collides(pose) for pose in poses])
        if (different := int((theirs != ours.accepted)[decided].sum())) > 0:
            raise SystemExit(
                f"error: {name} and the gate disagree about {different} of {decided.sum()} random poses"
            )
    return int(decided.sum())


def python_times_ns(work: Callable[[], object], rounds: int) -> Float64:
    """Returns how long each call of `work` took."""
    out = np.empty(rounds)
    for index in range(rounds):
        start = time.perf_counter_ns()
        work()
        out[index] = time.perf_counter_ns() - start
    return out


def pinocchio_model(robot: lg.RobotDescription, world: lg.World) -> tuple[pin.Model, pin.GeometryModel]:
    """Builds joints and capsules from the manifest; obstacles hang on the universe."""
    model = pin.Model()
    geometry = pin.GeometryModel()
    joints = {robot.base_frame: (0, pin.SE3.Identity())}
    for joint in robot.joints:
        parent, parent_in_joint = joints[joint.parent_link]
        placement = parent_in_joint * pin.SE3(
            pin.rpy.rpyToMatrix(*joint.origin_rpy), np.array(joint.origin_xyz)
        )
        if not joint.is_moving:
            joints[joint.child_link] = (parent, placement)
            continue
        axis = np.array(joint.axis_xyz)
        kind = (
            pin.JointModelPrismaticUnaligned
            if joint.joint_type == "prismatic"
            else pin.JointModelRevoluteUnaligned
        )
        index = model.addJoint(parent, kind(axis), placement, joint.name)
        joints[joint.child_link] = (index, pin.SE3.Identity())
    links = []
    for number, volume in enumerate(robot.collision_geometry):
        joint_index, link_in_joint = joints[volume.link_name]
        x, y, z, *rpy = volume.origin_xyz_rpy
        length_m = getattr(volume.shape, "length_m", 0.0)
        shape = (
            coal.Capsule(volume.shape.radius_m, length_m) if length_m else coal.Sphere(volume.shape.radius_m)
        )
        placement = link_in_joint * pin.SE3(pin.rpy.rpyToMatrix(*rpy), np.array([x, y, z]))
        geometry.addGeometryObject(pin.GeometryObject(f"volume {number}", joint_index, placement, shape))
        links.append((volume.link_name, joint_index))
    allowed = {frozenset((pair.link_a, pair.link_b)) for pair in robot.allowed_collision_pairs}
    for a, (link_a, joint_a) in enumerate(links):
        for b, (link_b, joint_b) in enumerate(links[:a]):
            if joint_a != joint_b and frozenset((link_a, link_b)) not in allowed:
                geometry.addCollisionPair(pin.CollisionPair(b, a))
    for number, primitive in enumerate(world.primitives):
        match primitive.shape:
            case lg.SphereShape():
                shape = coal.Sphere(primitive.shape.radius_m)
            case lg.BoxShape():
                shape = coal.Box(*primitive.shape.size_xyz_m)
        rotation = pin.Quaternion(np.array(primitive.pose.quat_xyzw)).toRotationMatrix()
        placement = pin.SE3(rotation, np.array(primitive.pose.xyz))
        index = geometry.addGeometryObject(pin.GeometryObject(f"obstacle {number}", 0, placement, shape))
        for volume_index, (_, joint_index) in enumerate(links):
            if joint_index != 0:
                geometry.addCollisionPair(pin.CollisionPair(volume_index, index))
    return model, geometry
