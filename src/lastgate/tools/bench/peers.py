# SPDX-License-Identifier: Apache-2.0
"""The peers that install from PyPI, on the same robot, volumes, exclusions and obstacles as the gate.

They answer less: whether single poses are free, nothing about the motion between them. What they cost for
that is the yardstick.
"""

from typing import Any

import numpy as np

from lastgate.contracts import BoxShape, RobotDescription, SphereShape
from lastgate.contracts.arrays import Float64
from lastgate.contracts.envelope import SafetyEnvelope
from lastgate.contracts.exceptions import ROSConfigError
from lastgate.gate import Gate
from lastgate.robots.kernel_config import capsule_ends
from lastgate.tools.bench.scene import Scene
from lastgate.world import World

# A geom collides when the type of one meets the affinity of the other: obstacles ignore each other.
_ROBOT_BITS = {"contype": 1, "conaffinity": 1}
_OBSTACLE_BITS = {"contype": 2, "conaffinity": 1}


class MujocoPeer:
    """Checks single poses with mj_kinematics and mj_collision.

    Raises:
        ImportError: MuJoCo is not installed.
        ROSConfigError: It sees a contact where there is none, so its time would say nothing.
    """

    def __init__(self, scene: Scene, world: World) -> None:
        import mujoco

        self._mujoco: Any = mujoco
        self.model = mujoco_model(scene.robot, world)
        self.data = mujoco.MjData(self.model)
        mujoco.mj_forward(self.model, self.data)
        self._scene = scene
        self._names = [self.model.joint(index).name for index in range(self.model.njnt)]
        self.rows = np.ascontiguousarray([_whole(scene, self._names, row) for row in scene.rows])
        if any(self.collides(row) for row in scene.rows):
            raise ROSConfigError("MuJoCo sees a contact in the collision-free scene")

    def collides(self, row: Float64) -> bool:
        """Returns whether the pose has a contact."""
        self.data.qpos[:] = _whole(self._scene, self._names, row)
        return self.contact_count() > 0

    def contact_count(self) -> int:
        """Returns the number of contacts at the pose that stands in the data."""
        self._mujoco.mj_kinematics(self.model, self.data)
        self._mujoco.mj_collision(self.model, self.data)
        return int(self.data.ncon)

    def look_at_rows(self) -> None:
        """Checks every step of the chunk, as a single pose."""
        for row in self.rows:
            self.data.qpos[:] = row
            self.contact_count()


class PinocchioPeer:
    """Checks single poses with Pinocchio and Coal, called from Python once per pose.

    Raises:
        ImportError: Pinocchio or Coal is not installed.
        ROSConfigError: It sees a contact where there is none, so its time would say nothing.
    """

    def __init__(self, scene: Scene, world: World) -> None:
        import pinocchio

        self._pin: Any = pinocchio
        self.model, self.geometry = pinocchio_model(scene.robot, world)
        self.data = self.model.createData()
        self.geometry_data = pinocchio.GeometryData(self.geometry)
        self._scene = scene
        self._names = list(self.model.names)[1:]
        self.rows = np.array([_whole(scene, self._names, row) for row in scene.rows])
        if any(self.collides(row) for row in scene.rows):
            raise ROSConfigError("Pinocchio sees a contact in the collision-free scene")

    def collides(self, row: Float64) -> bool:
        """Returns whether any pair touches; stops at the first, which a free pose has not."""
        return self._sample(_whole(self._scene, self._names, row))

    def _sample(self, whole: Float64) -> bool:
        return bool(
            self._pin.computeCollisions(self.model, self.data, self.geometry, self.geometry_data, whole, True)
        )

    def look_at_rows(self) -> None:
        """Checks every step of the chunk, as a single pose."""
        for row in self.rows:
            self._sample(row)

    def place_rows(self) -> None:
        """Runs forward kinematics alone, for every step."""
        for row in self.rows:
            self._pin.forwardKinematics(self.model, self.data, row)


def _whole(scene: Scene, names: list[str], row: Float64) -> Float64:
    """Returns a step as a peer takes it: a number for every joint that moves, fingers and followers too."""
    values = dict(zip(scene.gate.joint_names, row.tolist(), strict=True))
    values |= zip(scene.gate.gripper_joint_names, scene.fingers.tolist(), strict=True)
    for joint in scene.robot.joints:
        if joint.mimic is not None:
            values[joint.name] = joint.mimic.multiplier * values[joint.mimic.joint] + joint.mimic.offset
    return np.array([values[name] for name in names])


def require_agreement(
    scene: Scene, peers: dict[str, MujocoPeer | PinocchioPeer], *, of_each_min: int = 1
) -> int:
    """Returns how many random poses all checkers decided alike, at least `of_each_min` of them free and as many not.

    A peer that is blind to some pair would be fast for the wrong reason. Poses within 1 mm of contact are
    left out: there, rounding may decide.

    Raises:
        ROSConfigError: A checker decides about a pose otherwise, or the poses are too much alike to tell.
    """
    limits = {joint.name: joint.position_limits or (-np.pi, np.pi) for joint in scene.robot.actuated_joints}
    low, high = np.array([limits[name] for name in scene.gate.joint_names]).T
    poses = np.random.default_rng(1).uniform(low, high, size=(1000, len(low)))
    # Peers know the volumes and no margins, so they are compared with a gate that knows nothing else.
    no_margins = SafetyEnvelope(self_collision_margin_m=0.0, world_collision_margin_m=0.0)
    volumes_alone = scene.robot.model_copy(update={"convex_pieces": None, "safety": no_margins})
    gate = Gate(volumes_alone, step_s=scene.gate.step_s)
    ours = gate.check_batch(poses, world=scene.worlds[0], gripper_positions=scene.fingers)
    decided = np.abs(ours.clearance_m) > 1e-3
    if min(ours.accepted[decided].sum(), (~ours.accepted[decided]).sum()) < of_each_min:
        raise ROSConfigError("the random poses are nearly all free or nearly all colliding")
    for name, peer in peers.items():
        theirs = np.array([not peer.collides(pose) for pose in poses])
        if (different := int((theirs != ours.accepted)[decided].sum())) > 0:
            raise ROSConfigError(
                f"{name} and the gate disagree about {different} of {decided.sum()} random poses"
            )
    return int(decided.sum())


def mujoco_model(robot: RobotDescription, world: World) -> Any:
    """Builds the robot and the obstacles with MjSpec: the same capsules, the same excluded pairs."""
    import mujoco

    spec = mujoco.MjSpec()
    bodies = {robot.base_frame: spec.worldbody.add_body(name=_body_name(robot.base_frame))}
    for joint in robot.joints:
        body = bodies[joint.parent_link].add_body(
            name=_body_name(joint.child_link), pos=joint.origin_xyz, quat=_quat_wxyz(joint.origin_rpy)
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
        # MuJoCo refuses capsules as short as a sphere.
        ends = capsule_ends(volume.shape, volume.origin_xyz_rpy)
        kind, place = mujoco.mjtGeom.mjGEOM_CAPSULE, {"fromto": list(ends)}
        if isinstance(volume.shape, SphereShape):
            kind, place = mujoco.mjtGeom.mjGEOM_SPHERE, {"pos": list(ends[:3])}
        bodies[volume.link_name].add_geom(
            type=kind, size=[volume.shape.radius_m, 0, 0], mass=0, **place, **_ROBOT_BITS
        )
    for pair in robot.allowed_collision_pairs:
        spec.add_exclude(bodyname1=_body_name(pair.link_a), bodyname2=_body_name(pair.link_b))
    for primitive in world.primitives:
        x, y, z, w = primitive.pose.quat_xyzw
        match primitive.shape:
            case SphereShape():
                kind, size = mujoco.mjtGeom.mjGEOM_SPHERE, [primitive.shape.radius_m, 0, 0]
            case BoxShape():
                kind, size = mujoco.mjtGeom.mjGEOM_BOX, [edge / 2 for edge in primitive.shape.size_xyz_m]
            case _:
                raise ROSConfigError(f"no peer takes a {primitive.shape.shape}")
        spec.worldbody.add_geom(
            type=kind, size=size, pos=primitive.pose.xyz, quat=[w, x, y, z], **_OBSTACLE_BITS
        )
    return spec.compile()


def _body_name(link: str) -> str:
    """Returns a name that MuJoCo does not keep for itself, as it does `world`."""
    return f"link {link}"


def _quat_wxyz(rpy: tuple[float, ...]) -> list[float]:
    """Returns MuJoCo's quaternion of a URDF rotation: about x, then y, then z, all of them fixed."""
    (cr, cp, cy), (sr, sp, sy) = np.cos(np.array(rpy) / 2), np.sin(np.array(rpy) / 2)
    return [
        float(cr * cp * cy + sr * sp * sy),
        float(sr * cp * cy - cr * sp * sy),
        float(cr * sp * cy + sr * cp * sy),
        float(cr * cp * sy - sr * sp * cy),
    ]


def pinocchio_model(robot: RobotDescription, world: World) -> tuple[Any, Any]:
    """Builds joints and capsules from the manifest; obstacles hang on the universe."""
    import coal
    import pinocchio as pin

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
            case SphereShape():
                shape = coal.Sphere(primitive.shape.radius_m)
            case BoxShape():
                shape = coal.Box(*primitive.shape.size_xyz_m)
            case _:
                raise ROSConfigError(f"no peer takes a {primitive.shape.shape}")
        rotation = pin.Quaternion(np.array(primitive.pose.quat_xyzw)).toRotationMatrix()
        placement = pin.SE3(rotation, np.array(primitive.pose.xyz))
        index = geometry.addGeometryObject(pin.GeometryObject(f"obstacle {number}", 0, placement, shape))
        for volume_index, (_, joint_index) in enumerate(links):
            if joint_index != 0:
                geometry.addCollisionPair(pin.CollisionPair(volume_index, index))
    return model, geometry
