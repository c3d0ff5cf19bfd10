# SPDX-License-Identifier: Apache-2.0
"""From a manifest and its description files to volumes, allowed pairs and joint frames, with proofs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from threadpoolctl import threadpool_limits

from lastgate.contracts.exceptions import ROSConfigError
from lastgate.contracts.robot import AllowedCollisionPair, JointSpec, RobotDescription
from lastgate.contracts.shapes import CapsuleShape, LinkCollisionGeometry, SphereShape
from lastgate.tools.assets.live_description import LiveDescription
from lastgate.tools.assets.resolver import resolve_asset
from lastgate.tools.lowering.allowed_pairs import (
    PairSorting,
    allow_junctions,
    keep_waived,
    prove_neighbours,
    sort_by_structure,
    verify_srdf,
    waive_fingers,
)
from lastgate.tools.lowering.corrected_urdf import corrected_joints
from lastgate.tools.lowering.diagnostics import DescriptionError, Diagnostic, LoweringError
from lastgate.tools.lowering.drawn import drawn_outside, drawn_shapes
from lastgate.tools.lowering.fit import LinkCover, fit_link
from lastgate.tools.lowering.joint_frames import JointFrame, fold_links, lower_joint_frames
from lastgate.tools.lowering.kinematics import KinematicTree
from lastgate.tools.lowering.mesh_contact import LinkMeshes
from lastgate.tools.lowering.prove import Containment, prove_containment
from lastgate.tools.lowering.refine import Refinement
from lastgate.tools.lowering.shapes import LinkShapes, SourceShape
from lastgate.tools.lowering.srdf_reader import SrdfClaims, read_srdf
from lastgate.tools.lowering.sweep import SWEEP_SAMPLES, SWEEP_SEED, Pair, Sweep
from lastgate.tools.lowering.urdf_model import UrdfModel
from lastgate.tools.lowering.urdf_reader import read_urdf
from lastgate.tools.lowering.volumes import Volume

if TYPE_CHECKING:
    from lastgate.tools.lowering.mjcf_model import MjcfModel

# Volumes are refined on more states than the pinned 2000 (which are the first of these): greedy choices on
# 2000 states fit those states and reject half as many again on fresh ones.
_REFINE_SAMPLES = 6000
# Volumes a link gets for its form alone, before the sweep says where more are needed.
_FORM_VOLUMES_MAX = 2
_FORM_GAIN_MIN = 0.15

Progress = Callable[[str, float], None]


@dataclass
class Description:
    """What the files of a robot say, in terms of the manifest's links."""

    source: str  # srdf, sampling or mjcf
    shapes: dict[str, LinkShapes]
    frames: dict[str, JointFrame]
    claims: SrdfClaims | None
    excluded: frozenset[Pair] = frozenset()


@dataclass
class LoweredRobot:
    """Everything the manifest takes over, and what the report tells."""

    robot: RobotDescription
    source: str
    frames: dict[str, JointFrame]
    shapes: dict[str, LinkShapes]
    geometry: list[LinkCollisionGeometry]
    pairs: list[AllowedCollisionPair]
    proofs: list[Containment] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    drawn_outside_m: dict[str, float] | None = None


def _silent(_stage: str, _share: float) -> None:
    return None


def read_description(robot: RobotDescription, manifest_dir: Path) -> Description:
    """Reads the files a manifest names; names that do not match and uncovered links are refused."""
    if robot.assets.urdf is None:
        if robot.assets.mjcf is None:
            raise ROSConfigError(
                f"robot `{robot.name}` names neither a URDF nor an MJCF: nothing to lower from"
            )
        return _described_by_mjcf(robot, manifest_dir)
    path = resolve_asset(robot.assets.urdf.ref, "urdf", manifest_dir)
    if isinstance(path, LiveDescription):
        raise ROSConfigError(
            f"robot `{robot.name}`: a live description cannot be lowered; vendor its URDF first"
        )
    urdf = read_urdf(
        path,
        visual_links=frozenset(robot.lowering.visual_links),
        corrected=corrected_joints(robot),
        left_out=frozenset(waiver.link for waiver in robot.lowering.drawn_waivers)
        | frozenset(waiver.link for waiver in robot.coverage_waivers),
    )
    frames, problems = lower_joint_frames(robot, urdf)
    folded, more = fold_links(robot, urdf)
    by_link = folded.shapes_by_link(urdf)
    problems += more + _uncovered(robot, by_link, urdf)
    problems += _idle_waivers(robot, path, urdf.visual_links)
    if problems:
        raise DescriptionError(problems)
    claims = None
    if robot.assets.srdf is not None:
        claims = read_srdf(resolve_asset(robot.assets.srdf, "srdf", manifest_dir), frozenset(urdf.links))
    shapes = {link: LinkShapes.of(link, by_link[link]) for link in robot.link_names if link in by_link}
    return Description("srdf" if claims is not None else "sampling", shapes, frames, claims)


def _described_by_mjcf(robot: RobotDescription, manifest_dir: Path) -> Description:
    from lastgate.tools.lowering.mjcf_model import read_mjcf
    from lastgate.tools.lowering.mjcf_reader import described_by_mjcf

    model = read_mjcf(robot, manifest_dir)
    shapes, frames, excluded, problems = described_by_mjcf(robot, model)
    problems += _uncovered(robot, shapes, model)
    problems += _idle_waivers(robot, model.path, {model.body_name(body) for body in range(model.model.nbody)})
    if problems:
        raise DescriptionError(problems)
    links = {link: LinkShapes.of(link, shapes[link]) for link in robot.link_names if link in shapes}
    return Description("mjcf", links, frames, None, excluded)


def _idle_waivers(robot: RobotDescription, path: Path, drawn: set[str]) -> list[Diagnostic]:
    """Returns a problem per waiver of something that is not drawn: it would hide a misspelt name."""
    return [
        Diagnostic(
            str(path), None, f"`lowering.drawn_waivers` names `{waiver.link}`, of which nothing is drawn"
        )
        for waiver in robot.lowering.drawn_waivers
        if waiver.link not in drawn
    ]


def _uncovered(
    robot: RobotDescription, shapes: dict[str, list[SourceShape]], model: UrdfModel | MjcfModel
) -> list[Diagnostic]:
    """Returns a problem per link that moves, has no shape and no waiver."""
    waived = {waiver.link for waiver in robot.coverage_waivers}
    lines: dict[str, int] = {}
    visual: set[str] | None = None  # an MJCF does not tell what is meant to be seen only
    if isinstance(model, UrdfModel):
        lines = {joint.name: joint.line for joint in model.joints}
        visual = model.visual_links
    problems: list[Diagnostic] = []
    for joint in robot.joints:
        link = joint.child_link
        if not joint.is_moving or link in shapes or link in waived:
            continue
        waive = f"`coverage_waivers` with the reason (`robot add --waive '{link}=REASON'`)"
        remedy = f" and no visual shape either: if it is no body, name it in {waive}"
        if visual is None or link in visual:
            remedy = (
                f": cover its visual shape by naming it in `lowering.visual_links` (`robot add --visual {link}`), "
                f"or name it in {waive}"
            )
        problems.append(
            Diagnostic(
                str(model.path),
                lines.get(joint.name),
                f"link `{link}` moves with joint `{joint.name}` and has no collision shape{remedy}",
            )
        )
    return problems


def joints_with_frames(robot: RobotDescription, frames: dict[str, JointFrame]) -> tuple[JointSpec, ...]:
    """Returns the manifest's joints with the lowered frames in place."""
    return tuple(
        joint.model_copy(update=_frame_fields(joint, frames[joint.name])) if joint.name in frames else joint
        for joint in robot.joints
    )


def _frame_fields(joint: JointSpec, frame: JointFrame) -> dict[str, object]:
    fields: dict[str, object] = {"origin_xyz": frame.xyz, "origin_rpy": frame.rpy}
    if joint.is_moving:
        fields["axis_xyz"] = frame.axis
    return fields


# Sums that BLAS splits over threads depend on their number, and a descent turns the last bit into another volume:
# one thread gives the same bytes on any number of cores.
@threadpool_limits.wrap(limits=1)
def lower_robot(robot: RobotDescription, manifest_dir: Path, *, progress: Progress = _silent) -> LoweredRobot:
    """Lowers a robot completely; raises with every problem of its files, or when a proof fails."""
    progress("reading the description", 0.0)
    description = read_description(robot, manifest_dir)
    tree = KinematicTree.of(robot.base_frame, joints_with_frames(robot, description.frames))
    shapes = description.shapes
    volumes_max = robot.lowering.volumes_per_link_max
    covers: dict[str, LinkCover] = {}
    for index, (link, link_shapes) in enumerate(shapes.items()):
        progress(f"fitting {link}", 0.05 + 0.35 * index / len(shapes))
        covers[link] = fit_link(
            link_shapes, volumes_max=min(volumes_max, _FORM_VOLUMES_MAX), gain_min=_FORM_GAIN_MIN
        )
    progress("preparing the meshes", 0.40)
    meshes = LinkMeshes(shapes)
    sweep = Sweep(tree, meshes, tree.samples(_REFINE_SAMPLES, SWEEP_SEED))
    sorting = _sorted_by_proof(robot, description, sweep, progress)
    Refinement(sweep, covers, sorting.checked, volumes_max).run(
        progress=lambda rate: progress(f"refining: {100.0 * rate:.2f} % falsely rejected", 0.60)
    )
    volumes = {link: cover.volumes for link, cover in covers.items()}
    progress("verifying exemptions on the meshes", 0.85)
    verify_srdf(sorting, sweep, volumes)
    allow_junctions(sorting, sweep, tree, meshes, volumes)
    geometry = [_entry(link, volume) for link in shapes for volume in volumes[link]]
    progress("proving containment", 0.92)
    proofs = prove_geometry(shapes, geometry)
    progress("measuring what is drawn", 0.97)
    drawn, unread = drawn_shapes(robot, manifest_dir)
    progress("done", 1.0)
    return LoweredRobot(
        robot,
        description.source,
        description.frames,
        shapes,
        geometry,
        _written(sorting),
        proofs,
        [*sorting.notes, *(f"what is drawn was not measured: {problem}" for problem in unread)],
        drawn_outside(drawn, geometry),
    )


@threadpool_limits.wrap(limits=1)
def sort_pairs_of_manifest(
    robot: RobotDescription, manifest_dir: Path, *, progress: Progress = _silent
) -> LoweredRobot:
    """Sorts the pairs for the volumes a manifest already carries, which stay as they are."""
    progress("reading the description", 0.0)
    description = read_description(robot, manifest_dir)
    tree = KinematicTree.of(robot.base_frame, robot.joints)
    volumes: dict[str, list[Volume]] = {}
    for entry in robot.collision_geometry:
        volumes.setdefault(entry.link_name, []).append(_volume(entry))
    bare = [link for link in description.shapes if link not in volumes]
    if bare:
        raise LoweringError(
            f"robot `{robot.name}` has no volumes on "
            + ", ".join(f"`{link}`" for link in bare)
            + ": lower them first"
        )
    meshes = LinkMeshes(description.shapes)
    sweep = Sweep(tree, meshes, tree.samples(SWEEP_SAMPLES, SWEEP_SEED))
    sorting = _sorted_by_proof(robot, description, sweep, progress)
    progress("verifying exemptions on the meshes", 0.85)
    verify_srdf(sorting, sweep, volumes)
    allow_junctions(sorting, sweep, tree, meshes, volumes)
    progress("done", 1.0)
    return LoweredRobot(
        robot,
        description.source,
        description.frames,
        description.shapes,
        list(robot.collision_geometry),
        _written(sorting),
        [],
        sorting.notes,
    )


def _sorted_by_proof(
    robot: RobotDescription, description: Description, sweep: Sweep, progress: Progress
) -> PairSorting:
    sorting = sort_by_structure(sweep.tree, list(description.shapes), description.claims)
    keep_waived(sorting, robot)
    waive_fingers(sorting, robot)
    for pair in sorted(description.excluded):
        if pair in sorting.checked:
            sorting.notes.append(
                f"`{pair[0]}` / `{pair[1]}`: the MJCF excludes the pair, which proves nothing: still checked"
            )
    progress("proving neighbours apart", 0.45)
    prove_neighbours(sorting, sweep, description.shapes, joints_max=2)
    return sorting


def _written(sorting: PairSorting) -> list[AllowedCollisionPair]:
    return [sorting.allowed[pair] for pair in sorted(sorting.allowed)]


def prove_geometry(shapes: dict[str, LinkShapes], geometry: list[LinkCollisionGeometry]) -> list[Containment]:
    """Proves every link on the written numbers; raises LoweringError naming each that is not contained."""
    proofs = [
        prove_containment(link_shapes, [volume for volume in geometry if volume.link_name == link])
        for link, link_shapes in shapes.items()
    ]
    failed = [proof for proof in proofs if not proof.proved]
    if failed:
        raise LoweringError(
            "\n".join(
                f"link `{proof.link}`: its volumes leave {proof.outside_m:.6f} m uncovered "
                f"near {proof.worst_point}"
                for proof in failed
            )
        )
    return proofs


def _entry(link: str, volume: Volume) -> LinkCollisionGeometry:
    shape = (
        SphereShape(radius_m=volume.radius_m)
        if volume.length_m == 0.0
        else CapsuleShape(radius_m=volume.radius_m, length_m=volume.length_m)
    )
    return LinkCollisionGeometry(link_name=link, shape=shape, origin_xyz_rpy=(*volume.xyz, *volume.rpy))


def _volume(entry: LinkCollisionGeometry) -> Volume:
    x, y, z, roll, pitch, yaw = entry.origin_xyz_rpy
    length_m = entry.shape.length_m if isinstance(entry.shape, CapsuleShape) else 0.0
    return Volume(entry.shape.radius_m, length_m, (x, y, z), (roll, pitch, yaw))
