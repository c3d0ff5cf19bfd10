# SPDX-License-Identifier: Apache-2.0
"""Worlds in the root frame of a URDF against Pinocchio and Coal, which know no other frame."""

import coal
import numpy as np
import pinocchio
import pytest
from fixtures.root_frame_robot import BASE, ROOT, URDF, mounted_gate

import lastgate as lg

STATES = 400
OBSTACLES = 6


class CoalScene:
    """The robot's own shapes in the root frame, and what else stands there."""

    def __init__(self) -> None:
        self.model = pinocchio.buildModelFromUrdf(str(URDF))
        self.data = self.model.createData()
        self.geometry = pinocchio.buildGeomFromUrdf(self.model, str(URDF), pinocchio.GeometryType.COLLISION)
        self.placed = self.geometry.createData()

    def touches(self, q: np.ndarray, things: list[tuple[object, coal.Transform3s]]) -> bool:
        pinocchio.updateGeometryPlacements(self.model, self.data, self.geometry, self.placed, q)
        for index, item in enumerate(self.geometry.geometryObjects):
            pose = self.placed.oMg[index]
            here = coal.Transform3s(pose.rotation, pose.translation)
            for shape, there in things:
                if coal.collide(
                    item.geometry, here, shape, there, coal.CollisionRequest(), coal.CollisionResult()
                ):
                    return True
        return False

    def base_in_root(self) -> pinocchio.SE3:
        pinocchio.framesForwardKinematics(self.model, self.data, pinocchio.neutral(self.model))
        return self.data.oMf[self.model.getFrameId(BASE)].copy()

    def pose_near_a_link(self, q: np.ndarray, rng: np.random.Generator) -> pinocchio.SE3:
        """Returns a turned pose within a few centimetres of the middle of a moving link at one state."""
        pinocchio.updateGeometryPlacements(self.model, self.data, self.geometry, self.placed, q)
        middle = self.placed.oMg[int(rng.integers(1, 3))].translation
        turn = pinocchio.Quaternion(*rng.normal(size=4)).normalized()
        return pinocchio.SE3(turn.matrix(), middle + rng.normal(scale=0.02, size=3))


def _primitive(shape: lg.contracts.WorldShape, pose: pinocchio.SE3) -> lg.WorldCollisionPrimitive:
    quat = pinocchio.Quaternion(pose.rotation).coeffs()
    return lg.WorldCollisionPrimitive(
        shape=shape,
        pose=lg.Pose6D(xyz=tuple(map(float, pose.translation)), quat_xyzw=tuple(map(float, quat))),
    )


@pytest.mark.parametrize("kind", ["obstacles", "points"])
@pytest.mark.parametrize("frame", [ROOT, BASE])
def test_no_contact_is_missed_in_either_frame(frame: str, kind: str) -> None:
    rng = np.random.default_rng(9)
    scene, gate = CoalScene(), mounted_gate()
    into_frame = scene.base_in_root().inverse() if frame == BASE else pinocchio.SE3.Identity()
    lower, upper = (
        np.array(side)
        for side in zip(*(joint.position_limits for joint in gate.robot.actuated_joints), strict=True)
    )
    contacts = missed = clear_and_accepted = 0
    for _ in range(10):
        states = rng.uniform(lower, upper, (STATES // 10, gate.n_dof))
        poses = [scene.pose_near_a_link(q, rng) for q in states[:OBSTACLES]]
        sizes = rng.uniform(0.02, 0.12, (OBSTACLES, 3))
        if kind == "points":
            things = [(coal.Sphere(1e-6), coal.Transform3s(p.rotation, p.translation)) for p in poses]
            cloud = np.array([into_frame.act(p.translation) for p in poses])
            world = lg.World(points=cloud, stamp_s=0.0, frame_id=frame)
        else:
            things = [
                (coal.Box(*map(float, size)), coal.Transform3s(p.rotation, p.translation))
                for size, p in zip(sizes, poses, strict=True)
            ]
            boxes = [
                _primitive(lg.contracts.BoxShape(size_xyz_m=tuple(map(float, size))), into_frame * p)
                for size, p in zip(sizes, poses, strict=True)
            ]
            world = lg.World(primitives=boxes, stamp_s=0.0, frame_id=frame)
        accepted = gate.check_batch(states, world=world).accepted
        touching = np.array([scene.touches(q, things) for q in states])
        contacts += int(touching.sum())
        missed += int((touching & accepted).sum())
        clear_and_accepted += int((~touching & accepted).sum())
    assert contacts >= (20 if kind == "points" else 60)
    assert missed == 0
    assert clear_and_accepted >= STATES // 4
