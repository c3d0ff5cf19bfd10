# SPDX-License-Identifier: Apache-2.0
"""Joint frames as composites at the zero configuration, and where links the manifest does not list go."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lastgate.contracts.joints import JointSpec
from lastgate.contracts.robot import RobotDescription
from lastgate.contracts.robot_frames import RobotFrames
from lastgate.tools.lowering.diagnostics import Diagnostic
from lastgate.tools.lowering.rigid import inverse, rpy_from_rotation, transform
from lastgate.tools.lowering.shapes import SourceShape
from lastgate.tools.lowering.urdf_model import UrdfJoint, UrdfModel

Array = NDArray[np.float64]

# Written digits: composites agree with an independent engine to 1e-9, so twelve decimals keep three in hand.
_DECIMALS = 12
# A fixed step after a moving joint may shift its child along the axis, not off it: off-axis, the child's own
# origin would not lie on the line it turns about.
_OFF_AXIS_MAX_M = 1e-9
# Twelve written decimals of a root's pose, turned and shifted once.
_ROOT_TOLERANCE = 1e-9


@dataclass(frozen=True)
class JointFrame:
    """The lowered pose of a joint in its parent link, and its axis in the child's frame."""

    xyz: tuple[float, float, float]
    rpy: tuple[float, float, float]
    axis: tuple[float, float, float]


@dataclass(frozen=True)
class FoldedLinks:
    """Per URDF link the manifest link that carries its shapes, and its pose there."""

    carrier: dict[str, tuple[str, Array]]

    def shapes_by_link(self, urdf: UrdfModel) -> dict[str, list[SourceShape]]:
        """Returns the shapes per manifest link, those of folded links included."""
        found: dict[str, list[SourceShape]] = {}
        for link, shapes in urdf.collisions.items():
            if link in self.carrier:
                owner, pose = self.carrier[link]
                found.setdefault(owner, []).extend(shape.moved(pose) for shape in shapes)
        return {link: shapes for link, shapes in found.items() if shapes}


def lower_joint_frames(
    robot: RobotDescription, urdf: UrdfModel
) -> tuple[dict[str, JointFrame], list[Diagnostic]]:
    """Returns the frame of each manifest joint the URDF knows, and every name that does not match.

    A joint whose child link carries a waiver may be unknown to the URDF (a synthetic gripper): it keeps the
    numbers the manifest gives.
    """
    problems: list[Diagnostic] = []
    frames: dict[str, JointFrame] = {}
    waived = {waiver.link for waiver in robot.coverage_waivers}
    base_link, base_pose = _anchor(robot, urdf, problems)
    listed = {joint.name: joint for joint in robot.joints}
    for joint in urdf.joints:
        if joint.is_moving and joint.name not in listed and joint.child not in waived:
            problems.append(
                Diagnostic(
                    str(urdf.path),
                    joint.line,
                    f"joint `{joint.name}` moves `{joint.child}` but robot `{robot.name}` does not list it",
                )
            )
    for spec in robot.joints:
        parent = base_link if spec.parent_link == robot.base_frame else spec.parent_link
        if spec.parent_link not in (*urdf.links, robot.base_frame) or spec.child_link not in urdf.links:
            if spec.child_link not in waived:
                missing = [link for link in (spec.parent_link, spec.child_link) if link not in urdf.links]
                problems.append(
                    Diagnostic(
                        str(urdf.path),
                        None,
                        f"joint `{spec.name}` of robot `{robot.name}`: the URDF has no link "
                        + ", ".join(f"`{link}`" for link in missing),
                    )
                )
            continue
        path = _path_of_joint(spec, urdf, parent, problems)
        if path is None:
            continue
        pose = base_pose if spec.parent_link == robot.base_frame else np.eye(4)
        frame = _frame(path, pose, spec.name, urdf, problems)
        if frame is not None:
            frames[spec.name] = frame
    return frames, problems


def _path_of_joint(
    spec: JointSpec, urdf: UrdfModel, parent: str, problems: list[Diagnostic]
) -> list[UrdfJoint] | None:
    """Returns the URDF's joints between the two links of a manifest's joint; None, and why, where they do not fit."""
    path = _path(urdf, parent, spec.child_link)
    moving = [joint for joint in path or () if joint.joint_type != "fixed"]
    wanted = [] if spec.joint_type == "fixed" else [spec.name]
    line: int | None = None
    if path is None:
        why = f"joint `{spec.name}`: in the URDF, link `{spec.child_link}` is not below link `{spec.parent_link}`"
    elif [joint.name for joint in moving] != wanted:
        line = path[0].line if path else None
        why = (
            f"joint `{spec.name}` ({spec.joint_type}): between `{spec.parent_link}` and `{spec.child_link}` the URDF "
            f"moves {', '.join(f'`{joint.name}`' for joint in moving) or 'nothing'}"
        )
    elif moving and moving[0].joint_type != spec.joint_type:
        line = moving[0].line
        why = (
            f"joint `{spec.name}` is {spec.joint_type} in the manifest and {moving[0].joint_type} in the URDF"
        )
    else:
        return path
    problems.append(Diagnostic(str(urdf.path), line, why))
    return None


def fold_links(robot: RobotDescription, urdf: UrdfModel) -> tuple[FoldedLinks, list[Diagnostic]]:
    """Returns which manifest link carries each URDF link; shapes that nothing carries are a problem."""
    problems: list[Diagnostic] = []
    manifest_links = set(robot.link_names)
    waived = {waiver.link for waiver in robot.coverage_waivers}
    base_link, base_pose = _anchor(robot, urdf, [])
    carrier: dict[str, tuple[str, Array]] = {base_link: (robot.base_frame, base_pose)}
    above = {joint.child: joint for joint in urdf.joints}
    # Links above the base are rigid with it as long as only fixed joints lie between.
    pose, link = base_pose, base_link
    while link in above and above[link].joint_type == "fixed":
        pose = pose @ inverse(above[link].origin)
        link = above[link].parent
        carrier[link] = (robot.base_frame, pose)
    for joint in urdf.joints:
        if joint.child in carrier:
            continue
        if joint.child in manifest_links:
            carrier[joint.child] = (joint.child, np.eye(4))
        elif joint.joint_type == "fixed" and joint.parent in carrier:
            owner, pose = carrier[joint.parent]
            carrier[joint.child] = (owner, pose @ joint.origin)
    for link, shapes in urdf.collisions.items():
        if shapes and link not in carrier and not _is_below_waived(link, above, waived):
            problems.append(
                Diagnostic(
                    str(urdf.path),
                    None,
                    f"link `{link}` has collision shapes and no link of robot `{robot.name}` carries them",
                )
            )
    return FoldedLinks(carrier), problems


def _is_below_waived(link: str, above: dict[str, UrdfJoint], waived: set[str]) -> bool:
    while link not in waived:
        if link not in above:
            return False
        link = above[link].parent
    return True


def _anchor(robot: RobotDescription, urdf: UrdfModel, problems: list[Diagnostic]) -> tuple[str, Array]:
    """Returns the URDF link at the base frame and its pose in it."""
    asset = robot.assets.urdf
    if robot.base_frame in urdf.links:
        problems += _root_problems(robot, urdf)
        return robot.base_frame, np.eye(4)
    root = (asset.root_frame if asset is not None else None) or urdf.root
    if root not in urdf.links:
        problems.append(
            Diagnostic(str(urdf.path), None, f"the URDF has no link `{root}` (assets.urdf.root_frame)")
        )
        root = urdf.root
    offset = asset.base_to_root_xyz_rpy if asset is not None else None
    if offset is None:
        problems.append(
            Diagnostic(
                str(urdf.path),
                None,
                f"the URDF has no link `{robot.base_frame}` (base_frame): give assets.urdf.root_frame and "
                "base_to_root_xyz_rpy",
            )
        )
        return root, np.eye(4)
    return root, transform(offset[:3], offset[3:])


def frames_above(urdf: UrdfModel, base: str) -> dict[str, Array]:
    """Returns the pose in `base` of every link that only fixed joints hold it to, from its parent up to the root."""
    above = {joint.child: joint for joint in urdf.joints}
    found: dict[str, Array] = {}
    pose, link = np.eye(4), base
    while link in above and above[link].joint_type == "fixed":
        pose = pose @ inverse(above[link].origin)
        link = above[link].parent
        found[link] = pose
    return found


def written_pose(pose: Array) -> tuple[float, ...]:
    """Returns a pose as `xyz_rpy` in the decimals the manifest carries."""
    return (*written_vector(pose[:3, 3]), *written_vector(np.array(rpy_from_rotation(pose[:3, :3]))))


def _root_problems(robot: RobotDescription, urdf: UrdfModel) -> list[Diagnostic]:
    """Returns what the manifest does not say, or says wrongly, about where the URDF's root stands in its base."""
    above = frames_above(urdf, robot.base_frame)
    frames = RobotFrames.of(robot)
    root = frames.root or urdf.root
    if root == robot.base_frame:
        return []
    if root not in above:
        # A root that a moving joint carries the base from stands nowhere fixed; naming it is wrong, silence is right.
        text = f"`assets.urdf.root_frame` is `{root}`, which no chain of fixed joints holds above `{robot.base_frame}`"
        return [Diagnostic(str(urdf.path), None, text)] if frames.root else []
    stands = np.eye(4)
    stands[:3] = frames.root_in_base
    if np.abs(stands - above[root]).max() <= _ROOT_TOLERANCE:
        return []
    numbers = ", ".join(repr(number) for number in written_pose(above[root]))
    return [
        Diagnostic(
            str(urdf.path),
            None,
            f"its root `{root}` stands elsewhere than `{robot.base_frame}`, and worlds in it would be taken wrongly: "
            f"say `root_frame: {root}` and `base_to_root_xyz_rpy: [{numbers}]` under `assets.urdf`",
        )
    ]


def _path(urdf: UrdfModel, parent: str, child: str) -> list[UrdfJoint] | None:
    above = {joint.child: joint for joint in urdf.joints}
    path: list[UrdfJoint] = []
    link = child
    while link != parent:
        if link not in above:
            return None
        path.append(above[link])
        link = above[link].parent
    return path[::-1]


def _frame(
    path: list[UrdfJoint], base_pose: Array, name: str, urdf: UrdfModel, problems: list[Diagnostic]
) -> JointFrame | None:
    moving = next((index for index, joint in enumerate(path) if joint.joint_type != "fixed"), None)
    axis = np.array([0.0, 0.0, 1.0])
    if moving is not None:
        after = np.eye(4)
        for joint in path[moving + 1 :]:
            after = after @ joint.origin
        axis_in_joint = np.array(path[moving].axis)
        off_axis = after[:3, 3] - axis_in_joint * float(axis_in_joint @ after[:3, 3])
        if path[moving].joint_type != "prismatic" and float(np.linalg.norm(off_axis)) > _OFF_AXIS_MAX_M:
            problems.append(
                Diagnostic(
                    str(urdf.path),
                    path[moving].line,
                    f"joint `{name}`: a fixed joint below it moves `{path[-1].child}` off its axis by "
                    f"{float(np.linalg.norm(off_axis)):.4f} m; name `{path[moving].child}` as the child link",
                )
            )
            return None
        axis = after[:3, :3].T @ axis_in_joint
    if len(path) == 1 and np.array_equal(base_pose, np.eye(4)):
        # A single joint is taken over in the file's own digits.
        return JointFrame(path[0].xyz, path[0].rpy, written_vector(axis))
    pose = base_pose
    for joint in path:
        pose = pose @ joint.origin
    return JointFrame(
        written_vector(pose[:3, 3]),
        written_vector(np.array(rpy_from_rotation(pose[:3, :3]))),
        written_vector(axis),
    )


def written_vector(vector: Array) -> tuple[float, float, float]:
    """Returns a vector in the decimals the manifest carries, never minus zero."""
    x, y, z = (round(float(component), _DECIMALS) + 0.0 for component in vector)
    return x, y, z
