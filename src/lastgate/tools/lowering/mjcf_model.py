# SPDX-License-Identifier: Apache-2.0
"""An MJCF as MuJoCo compiles it, put together from several files where the robot is sold in parts."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from lastgate.contracts.exceptions import ROSConfigError
from lastgate.contracts.robot import RobotDescription
from lastgate.contracts.robot_files import MjcfMount
from lastgate.tools.assets.file_scheme import resolve_links
from lastgate.tools.assets.mesh_uri import own_package
from lastgate.tools.assets.resolver import resolve_asset
from lastgate.tools.assets.safe_xml import load_xml
from lastgate.tools.lowering.diagnostics import DescriptionError, Diagnostic

Array = NDArray[np.float64]

WORLD = 0


@dataclass(frozen=True)
class MjcfModel:
    """A compiled MJCF, the file it came from, and per mesh the reference pose its vertices are written in."""

    path: Path
    model: Any
    mesh_assets: dict[str, tuple[Array, Array]] = field(default_factory=dict)

    def body_name(self, body: int) -> str:
        """Returns the name of a body."""
        return str(self.model.body(body).name)

    def pose_at_zero(self, body: int) -> Array:
        """Returns a body's pose in the world with every joint at zero."""
        pose = np.eye(4)
        while body != WORLD:
            pose = pose_of(self.model.body_pos[body], self.model.body_quat[body]) @ pose
            body = int(self.model.body_parentid[body])
        return pose

    def upwards(self, body: int) -> Iterator[int]:
        """Yields a body and everything above it, the world last."""
        while body != WORLD:
            yield body
            body = int(self.model.body_parentid[body])
        yield WORLD


def read_mjcf(robot: RobotDescription, manifest_dir: Path | None) -> MjcfModel:
    """Compiles the MJCF of a robot with what is mounted on it; raises DescriptionError in MuJoCo's own words."""
    if robot.assets.mjcf is None:
        raise ROSConfigError(f"robot `{robot.name}` names no MJCF")
    path = resolve_asset(robot.assets.mjcf, "mjcf", manifest_dir)
    mounts = [(mount, resolve_asset(mount.ref, "mjcf", manifest_dir)) for mount in robot.assets.mjcf_mounts]
    return compile_mjcf(path, mounts)


def compile_mjcf(path: Path, mounts: Sequence[tuple[MjcfMount, Path]] = ()) -> MjcfModel:
    """Compiles an MJCF file with others mounted on it."""
    for file in (path, *(mounted for _, mounted in mounts)):
        load_xml(file)
    current = path
    try:
        with _quiet():
            spec = _sound_spec(path)
            for mount, mounted in mounts:
                current = mounted
                _attach(spec, mount, mounted)
            model = spec.compile()
            references = {
                str(mesh.name): (np.array(mesh.refpos), np.array(mesh.refquat)) for mesh in spec.meshes
            }
            return MjcfModel(path, model, references)
    except ValueError as error:
        raise DescriptionError(
            [Diagnostic(str(current), None, f"MuJoCo cannot compile it: {error}")]
        ) from error


def _attach(spec: Any, mount: MjcfMount, path: Path) -> None:
    body = spec.body(mount.on_body)
    if body is None:
        raise DescriptionError(
            [Diagnostic(str(path), None, f"nothing has a body `{mount.on_body}` to mount it on")]
        )
    *xyz, roll, pitch, yaw = mount.xyz_rpy
    quaternion = np.empty(4)
    # Turns about fixed axes in the order x, y, z: the convention of every rpy in a manifest.
    mujoco.mju_euler2Quat(quaternion, np.array([roll, pitch, yaw]), "XYZ")
    frame = body.add_frame(pos=xyz, quat=quaternion)
    spec.attach(_sound_spec(path), frame=frame, prefix=mount.prefix)


def _sound_spec(path: Path) -> Any:
    """Returns the parsed file; raises for what MuJoCo lets pass: ranges in the wrong order and files far away.

    It takes a range in the wrong order for no range at all, and reads any file a name leads to.
    """
    includes = [element.get("file", "") for element in load_xml(path).getroot().iter("include")]
    spec = mujoco.MjSpec.from_file(str(path))
    problems = []
    for joint in spec.joints:
        lower, upper = (float(end) for end in joint.range)
        if (lower, upper) != (0.0, 0.0) and not lower < upper:
            problems.append(
                f"joint `{joint.name}`: range must have lower < upper, got {lower:.4f} and {upper:.4f}"
            )
    folder, root = path.resolve().parent, own_package(path)
    named = [(name, folder / name) for name in includes]
    named += [(mesh.file, folder / spec.meshdir / mesh.file) for mesh in spec.meshes if mesh.file]
    for name, file in named:
        if not resolve_links(file).is_relative_to(root):
            problems.append(f"`{name}` lies outside the folder of the description, `{root}`: copy it there")
    if problems:
        raise DescriptionError([Diagnostic(str(path), None, problem) for problem in problems])
    return spec


@contextmanager
def _quiet() -> Iterator[None]:
    """Keeps MuJoCo from writing its warnings into a file of the working folder, and onto the terminal.

    They are about saving and simulating the model; what makes it another robot is an error.
    """
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda _text: None)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        mujoco.set_mju_user_warning(before)


def collides(model: Any, geom: int) -> bool:
    """Returns whether a geom takes part in contacts; one that does not is only drawn."""
    return bool(model.geom_contype[geom] or model.geom_conaffinity[geom])


def bodies_only_drawn(model: Any, robot: RobotDescription) -> set[int]:
    """Returns the bodies that are fixed to others and only drawn: what is drawn of them is covered.

    One that moves by a joint of its own is for the manifest to name; waived ones stay bare.
    """
    waived = {waiver.link for waiver in (*robot.coverage_waivers, *robot.lowering.drawn_waivers)}
    solid = {int(model.geom_bodyid[geom]) for geom in range(model.ngeom) if collides(model, geom)}
    return {
        body
        for body in range(1, model.nbody)
        if body not in solid
        and int(model.body_jntnum[body]) == 0
        and str(model.body(body).name) not in waived
    }


def pose_of(position: Any, quaternion_wxyz: Any) -> Array:
    """Returns a 4 by 4 pose from MuJoCo's position and quaternion."""
    turn = np.empty(9)
    mujoco.mju_quat2Mat(turn, np.asarray(quaternion_wxyz, dtype=np.float64))
    pose = np.eye(4)
    pose[:3, :3] = turn.reshape(3, 3)
    pose[:3, 3] = position
    return pose
