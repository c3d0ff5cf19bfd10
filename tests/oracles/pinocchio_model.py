# SPDX-License-Identifier: Apache-2.0
"""Pinocchio models of a manifest or a URDF, driven in the manifest's joint order, mimics resolved here."""

from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np
import pinocchio
from numpy.typing import NDArray

import lastgate as lg

Array = NDArray[np.float64]


def urdf_text(robot: lg.RobotDescription) -> str:
    """Returns the joints of a manifest as URDF, without inertia and without shapes."""
    lines = [f"<robot name={quoteattr(robot.name)}>"]
    lines += [f"<link name={quoteattr(link)}/>" for link in robot.link_names]
    for j in robot.joints:
        lines += [
            f'<joint name="{j.name}" type="{j.joint_type}">',
            f'<origin xyz="{_numbers(j.origin_xyz)}" rpy="{_numbers(j.origin_rpy)}"/>',
            f'<parent link="{j.parent_link}"/><child link="{j.child_link}"/>',
            f'<axis xyz="{_numbers(j.axis_xyz)}"/>',
        ]
        lower, upper = j.position_limits or (-1e4, 1e4)
        if j.is_moving:
            lines.append(f'<limit lower="{lower!r}" upper="{upper!r}" velocity="1" effort="1"/>')
        if j.mimic:
            gains = f'multiplier="{j.mimic.multiplier!r}" offset="{j.mimic.offset!r}"'
            lines.append(f'<mimic joint="{j.mimic.joint}" {gains}/>')
        lines.append("</joint>")
    return "\n".join([*lines, "</robot>"])


def _numbers(values: Sequence[float]) -> str:
    return " ".join(repr(float(value)) for value in values)


def random_configurations(
    robot: lg.RobotDescription, rng: np.random.Generator, count: int, *, turns: float = 2.0
) -> Array:
    """Returns configurations inside the limits; continuous joints go round `turns` times either way."""
    limits = [j.position_limits or (-turns * 2 * np.pi, turns * 2 * np.pi) for j in robot.actuated_joints]
    return rng.uniform([low for low, _ in limits], [high for _, high in limits], (count, len(limits)))


class PinocchioRobot:
    """Asks Pinocchio where links are."""

    def __init__(self, model: pinocchio.Model, robot: lg.RobotDescription) -> None:
        self.model, self.data = model, model.createData()
        columns = {j.name: index for index, j in enumerate(robot.actuated_joints)}
        self._drive: list[tuple[pinocchio.JointModel, int, float, float]] = []
        for j in robot.joints:
            if not j.is_moving:
                continue
            column = columns[j.mimic.joint if j.mimic else j.name]
            multiplier, offset = (j.mimic.multiplier, j.mimic.offset) if j.mimic else (1.0, 0.0)
            self._drive.append((model.joints[model.getJointId(j.name)], column, multiplier, offset))
        self.links = {link: model.getFrameId(link) for link in robot.link_names if model.existFrame(link)}

    @classmethod
    def of_description(cls, robot: lg.RobotDescription) -> "PinocchioRobot":
        """Returns the robot as Pinocchio reads it from URDF text made of the manifest."""
        return cls(pinocchio.buildModelFromXML(urdf_text(robot)), robot)

    @classmethod
    def of_urdf(cls, path: Path, robot: lg.RobotDescription) -> "PinocchioRobot":
        """Returns the robot as Pinocchio reads it from the vendor's own file."""
        return cls(pinocchio.buildModelFromUrdf(str(path)), robot)

    def place(self, configuration: Array) -> None:
        """Puts the robot at one configuration."""
        q = np.zeros(self.model.nq)
        for joint, column, multiplier, offset in self._drive:
            value = multiplier * configuration[column] + offset
            # Pinocchio keeps a continuous joint as cosine and sine.
            q[joint.idx_q : joint.idx_q + joint.nq] = (
                [value] if joint.nq == 1 else [np.cos(value), np.sin(value)]
            )
        pinocchio.framesForwardKinematics(self.model, self.data, q)

    def link_poses(self, configuration: Array) -> dict[str, Array]:
        """Returns each link's 3 x 4 pose."""
        self.place(configuration)
        return {link: self.data.oMf[frame].homogeneous[:3] for link, frame in self.links.items()}
