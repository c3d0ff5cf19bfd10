# SPDX-License-Identifier: Apache-2.0
"""A robot of the library in MuJoCo, as its manifest and its hulls say, among solids: where it is put, what touches?

Every pair that the gate compares can touch, and no other: two links whose pair is allowed are excluded.
"""

import mujoco
import numpy as np
from numpy.typing import NDArray

import lastgate as lg
from lastgate.contracts import WorldCollisionPrimitive

Array = NDArray[np.float64]


def _numbers(values) -> str:
    return " ".join(f"{value:.9g}" for value in values)


def _pose(xyz_rpy) -> str:
    return f'pos="{_numbers(xyz_rpy[:3])}" euler="{_numbers(xyz_rpy[3:])}"'


class MujocoRobot:
    """Links of hulls, or of volumes where a link has none; joints are placed, not driven."""

    def __init__(self, robot: lg.RobotDescription, obstacles: list[WorldCollisionPrimitive]) -> None:
        self._joints = robot.actuated_joints
        self._mimics = [joint for joint in robot.joints if joint.mimic is not None]
        hulls: dict[str, list] = {}
        for hull in robot.loaded_hulls:
            hulls.setdefault(hull.link_name, []).append(hull)
        meshes: list[str] = []
        geoms: dict[str, list[str]] = {link: [] for link in robot.link_names}
        for link, parts in hulls.items():
            for hull in parts:
                # A solid of less than four points has no volume to put a mesh in.
                if len(hull.vertices_m) < 4:
                    continue
                name = f"hull{len(meshes)}"
                flat = _numbers(np.ravel(hull.vertices_m))
                meshes.append(f'<mesh name="{name}" vertex="{flat}" inertia="convex"/>')
                geoms[link].append(f'<geom type="mesh" mesh="{name}" mass="1"/>')
        for volume in robot.collision_geometry:
            if volume.link_name not in hulls:
                size = [volume.shape.radius_m]
                length = getattr(volume.shape, "length_m", 0.0)
                kind = "capsule" if length > 0.0 else "sphere"
                size += [length / 2.0] if length > 0.0 else []
                geoms[volume.link_name].append(
                    f'<geom type="{kind}" size="{_numbers(size)}" {_pose(volume.origin_xyz_rpy)} mass="1"/>'
                )
        below: dict[str, list] = {}
        for joint in robot.joints:
            below.setdefault(joint.parent_link, []).append(joint)

        def body(joint) -> str:
            kind = {"revolute": "hinge", "continuous": "hinge", "prismatic": "slide"}.get(joint.joint_type)
            axis = _numbers(joint.axis_xyz)
            moves = "" if kind is None else f'<joint name="{joint.name}" type="{kind}" axis="{axis}"/>'
            inside = "".join(geoms[joint.child_link])
            inside += "".join(body(each) for each in below.get(joint.child_link, ()))
            inertia = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
            place = _pose([*joint.origin_xyz, *joint.origin_rpy])
            return f'<body name="link {joint.child_link}" {place}>{inertia}{moves}{inside}</body>'

        base = "".join(geoms[robot.base_frame]) + "".join(body(joint) for joint in below[robot.base_frame])
        excluded = {pair.links for pair in robot.unchecked_pairs}
        excludes = "".join(f'<exclude body1="link {a}" body2="link {b}"/>' for a, b in sorted(excluded))
        self.model = mujoco.MjModel.from_xml_string(
            f"""<mujoco><compiler angle="radian" eulerseq="XYZ"/><option gravity="0 0 0"><flag filterparent="disable"/>
            </option><asset>{"".join(meshes)}</asset><worldbody><body name="link {robot.base_frame}">{base}</body>
            {"".join(_solid(each) for each in obstacles)}</worldbody><contact>{excludes}</contact></mujoco>"""
        )
        self.data = mujoco.MjData(self.model)
        self._qpos = {
            joint.name: int(self.model.joint(joint.name).qposadr[0])
            for joint in robot.joints
            if joint.is_moving
        }
        self._solids = {self.model.geom(each.object_id).id: each for each in obstacles}

    def move_solid(self, object_id: str, position: Array, radius: float) -> None:
        """Puts a sphere elsewhere, with another size."""
        geom = self.model.geom(object_id).id
        self.model.geom_pos[geom] = position
        self.model.geom_size[geom, 0] = self.model.geom_rbound[geom] = radius

    def place(self, positions: Array) -> None:
        """Puts the joints of steps and fingers, in the order of the manifest, and those that follow them."""
        for joint, position in zip(self._joints, positions, strict=True):
            self.data.qpos[self._qpos[joint.name]] = position
        for joint in self._mimics:
            leader = self.data.qpos[self._qpos[joint.mimic.joint]]
            self.data.qpos[self._qpos[joint.name]] = joint.mimic.multiplier * leader + joint.mimic.offset
        mujoco.mj_kinematics(self.model, self.data)

    def touches(self, positions: Array) -> bool:
        """Returns whether anything that the gate compares overlaps there."""
        self.place(positions)
        mujoco.mj_collision(self.model, self.data)
        return any(
            contact.dist < 0.0 and (self._moves(contact.geom[0]) or self._moves(contact.geom[1]))
            for contact in self.data.contact[: self.data.ncon]
        )

    def _moves(self, geom: int) -> bool:
        return int(self.model.body_weldid[self.model.geom_bodyid[geom]]) != 0

    def part(self, generator: np.random.Generator) -> int:
        """Returns a part of the robot that moves."""
        return int(generator.choice([geom for geom in range(self.model.ngeom) if self._moves(geom)]))

    def part_at(self, geom: int, positions: Array) -> tuple[Array, float]:
        """Returns the middle of a part when the joints are there, and how far the part reaches from it."""
        self.place(positions)
        return self.data.geom_xpos[geom].copy(), float(self.model.geom_rbound[geom])


def _solid(obstacle: WorldCollisionPrimitive) -> str:
    return (
        f'<geom name="{obstacle.object_id}" type="sphere" size="{obstacle.shape.radius_m:.9g}" '
        f'pos="{_numbers(obstacle.pose.xyz)}"/>'
    )
