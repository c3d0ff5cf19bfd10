# SPDX-License-Identifier: Apache-2.0
"""A robot whose base stands elsewhere than the root of its description: which frame a world is in must be said."""

from pathlib import Path

import numpy as np
import pytest
from fixtures.analytic_robots import only_violation
from fixtures.root_frame_robot import BASE, ROOT, URDF, first_manifest, mounted_arm, mounted_gate

import lastgate as lg
from lastgate import _core
from lastgate.contracts import RobotFrames, Zone
from lastgate.tools.lowering.diagnostics import DescriptionError
from lastgate.tools.lowering.lower import read_description
from lastgate.tools.lowering.manifest_splice import read_manifest
from lastgate.world import OccupancyGridIndex
from lastgate.world.freshness import StampedTransform

STILL = lg.ActionChunk(np.zeros((2, 2)))
# The arm at zero lies along +x of the base; this point is on it, and this one well above it.
ON_THE_ARM, ABOVE_THE_ARM = np.array([0.3, 0.0, 0.2]), np.array([0.3, 0.0, 0.6])


def decided(world: lg.World, gate: lg.Gate | None = None) -> lg.Verdict:
    state = lg.RobotState(positions=np.zeros(2), stamp_s=1.0)
    return (gate or mounted_gate()).check(STILL, state=state, world=world, now_s=1.0)


def in_root(point: np.ndarray) -> np.ndarray:
    motion = np.array(RobotFrames.of(mounted_arm()).root_in_base)
    return motion[:, :3].T @ (point - motion[:, 3])


def sphere_at(point: np.ndarray, name: str = "cup") -> lg.WorldCollisionPrimitive:
    return lg.WorldCollisionPrimitive(
        shape=lg.contracts.SphereShape(radius_m=0.02),
        pose=lg.Pose6D(xyz=tuple(map(float, point))),
        object_id=name,
    )


def world_of(kind: str, point: np.ndarray, frame: str) -> lg.World:
    here = tuple(map(float, point))
    if kind == "primitives":
        return lg.World(primitives=[sphere_at(point)], stamp_s=1.0, frame_id=frame)
    if kind == "points":
        return lg.World(points=np.array([point]), stamp_s=1.0, frame_id=frame)
    zone = Zone(name="cup", shape=lg.contracts.SphereShape(radius_m=0.02), pose=lg.Pose6D(xyz=here))
    return lg.World(zones=[zone], stamp_s=1.0, frame_id=frame)


def test_lowering_keeps_where_the_root_stands() -> None:
    frames = RobotFrames.of(read_manifest(first_manifest(), source="mounted_arm"))
    assert (frames.base, frames.root) == (BASE, ROOT)
    # The base, seen from the root, as the file says it: up, turned by a quarter, then tilted.
    base_in_root = np.linalg.inv(np.vstack([frames.root_in_base, [0.0, 0.0, 0.0, 1.0]]))
    assert np.allclose(base_in_root[:3, 3], [0.3, -0.15, 0.91], atol=1e-9)
    assert np.allclose(base_in_root[:3, 0], [0.0, 1.0, 0.0], atol=1e-9)


def test_world_that_names_no_frame_is_rejected_with_both_frames() -> None:
    violation = only_violation(decided(lg.World(primitives=[], stamp_s=1.0)))
    assert violation.code == "world_unavailable"
    assert f"must name `{BASE}` or `{ROOT}`" in violation.sentence()
    with pytest.raises(lg.ROSConfigError, match=f"must name `{BASE}` or `{ROOT}`"):
        mounted_gate().check_batch(np.zeros((1, 2)), world=lg.World(primitives=[], stamp_s=1.0))


@pytest.mark.parametrize("frame", [BASE, ROOT])
@pytest.mark.parametrize("kind", ["primitives", "points", "zones"])
def test_either_frame_is_understood(kind: str, frame: str) -> None:
    placed = in_root if frame == ROOT else np.asarray
    touched = only_violation(decided(world_of(kind, placed(ON_THE_ARM), frame)))
    assert touched.code == "world_collision"
    assert np.allclose(touched.witness_b, ON_THE_ARM, atol=0.05)
    assert decided(world_of(kind, placed(ABOVE_THE_ARM), frame)).accepted


def test_numbers_of_one_frame_are_not_taken_for_those_of_the_other() -> None:
    assert decided(world_of("primitives", in_root(ON_THE_ARM), BASE)).accepted
    assert decided(world_of("primitives", ON_THE_ARM, ROOT)).accepted


def test_root_at_the_base_needs_no_name_and_understands_both() -> None:
    robot = mounted_arm()
    level = robot.assets.urdf.model_copy(update={"base_to_root_xyz_rpy": (0.0,) * 6})
    gate = lg.Gate(
        robot.model_copy(update={"assets": robot.assets.model_copy(update={"urdf": level})}), step_s=0.1
    )
    for frame in ("", BASE, ROOT):
        assert decided(world_of("primitives", ABOVE_THE_ARM, frame), gate).accepted
        assert not decided(world_of("primitives", ON_THE_ARM, frame), gate).accepted


def test_voxels_are_shifted_and_voxels_of_a_turned_frame_are_rejected_with_a_sentence() -> None:
    def grid(vertex: np.ndarray) -> lg.World:
        voxel_array = np.full((1, 1, 1), 1, dtype=np.uint8)
        at = tuple(map(float, vertex))
        voxels = lg.Voxels(
            occupancy=voxel_array, origin_xyz=at, resolution_m=0.05, stamp_s=1.0, outside="free"
        )
        return lg.World(voxels=voxels, stamp_s=1.0, frame_id=ROOT)

    violation = only_violation(decided(grid(in_root(ABOVE_THE_ARM))))
    assert violation.code == "world_unavailable"
    assert f"give the voxels in `{BASE}`" in violation.sentence()
    robot = mounted_arm()
    shifted = robot.assets.urdf.model_copy(update={"base_to_root_xyz_rpy": (0.1, 0.2, -0.9, 0.0, 0.0, 0.0)})
    gate = lg.Gate(
        robot.model_copy(update={"assets": robot.assets.model_copy(update={"urdf": shifted})}), step_s=0.1
    )
    origin = np.array([0.1, 0.2, -0.9])
    assert decided(grid(ABOVE_THE_ARM - origin), gate).accepted
    assert not decided(grid(ON_THE_ARM - origin), gate).accepted


def _floor_world(frame: str, blocked: bool) -> lg.World:
    motion = np.eye(4)[:3]
    motion[:, 3] = (-5.0, -5.0, 0.0)  # the vertex of a map that lies around the base, level with it
    if frame == ROOT:
        root = np.vstack([RobotFrames.of(mounted_arm()).root_in_base, [0.0, 0.0, 0.0, 1.0]])
        motion = (np.linalg.inv(root) @ np.vstack([motion, [0.0, 0.0, 0.0, 1.0]]))[:3]
    data = np.full((100, 100), 100 if blocked else 0, dtype=np.int8)
    grid = OccupancyGridIndex(data, 0.1, (0.0, 0.0), frame_id="map", stamp_s=1.0)
    placed = StampedTransform(child_in_parent=motion, parent_frame=frame, child_frame="map", stamp_s=1.0)
    floor = lg.FloorMap(grid=grid, map_in_base=placed, height_m=(0.1, 0.3), age_s_max=10.0)
    return lg.World(floor_map=floor, stamp_s=1.0, frame_id=frame)


@pytest.mark.parametrize("frame", [BASE, ROOT])
def test_occupancy_map_is_placed_from_either_frame(frame: str) -> None:
    assert not decided(_floor_world(frame, blocked=True)).accepted
    assert decided(_floor_world(frame, blocked=False)).accepted


def _from_message(world: lg.World) -> lg.World:
    """Returns what the kernel's own code makes of the message, for a gate to check."""
    frames = RobotFrames.of(mounted_arm())
    made = _core.world_of_messages(
        [(_core.MessageType.world_snapshot, world.to_message())],
        base_frame=frames.base,
        id=7,
        root_frame=frames.root,
        root_in_base_xyzrpy=list(frames.root_in_base_xyz_rpy),
    )
    told = lg.World(primitives=list(world.primitives), stamp_s=1.0, frame_id=BASE)
    told.native = made.native
    return told


@pytest.mark.parametrize("kind", ["primitives", "points", "zones", "floor"])
def test_kernel_reads_a_world_of_the_root_frame_as_the_gate_does(kind: str) -> None:
    for point in (ON_THE_ARM, ABOVE_THE_ARM):
        world = (
            _floor_world(ROOT, blocked=point is ON_THE_ARM)
            if kind == "floor"
            else world_of(kind, in_root(point), ROOT)
        )
        here, there = decided(world), decided(_from_message(world))
        assert here.accepted == there.accepted == (point is ABOVE_THE_ARM)
        if here.accepted:
            assert there.min_clearance_m == pytest.approx(here.min_clearance_m, abs=1e-9)


def test_kernel_rejects_a_world_that_names_no_frame() -> None:
    world = lg.World(primitives=[], stamp_s=1.0)
    violation = only_violation(decided(_from_message(world)))
    assert violation.code == "world_unavailable"
    assert decided(_from_message(lg.World(primitives=[], stamp_s=1.0, frame_id=ROOT))).accepted


def test_manifest_that_does_not_say_where_the_root_stands_is_refused_with_what_to_write(
    tmp_path: Path,
) -> None:
    (tmp_path / URDF.name).write_bytes(URDF.read_bytes())
    whole = read_manifest(first_manifest(), source="mounted_arm")
    silent = whole.assets.urdf.model_copy(update={"root_frame": None, "base_to_root_xyz_rpy": None})
    wrong = whole.assets.urdf.model_copy(update={"base_to_root_xyz_rpy": (0.0,) * 6})
    for urdf in (silent, wrong):
        robot = whole.model_copy(update={"assets": whole.assets.model_copy(update={"urdf": urdf})})
        with pytest.raises(DescriptionError, match=f"say `root_frame: {ROOT}` and `base_to_root_xyz_rpy"):
            read_description(robot, tmp_path)
    assert read_description(whole, tmp_path).frames.keys() == {"shoulder", "elbow"}


def test_zone_and_region_must_name_their_frame_too() -> None:
    robot = mounted_arm()
    point = in_root(ON_THE_ARM)

    def with_zone(frame: str) -> lg.Gate:
        zone = Zone(
            name="cabinet",
            shape=lg.contracts.SphereShape(radius_m=0.02),
            pose=lg.Pose6D(xyz=tuple(map(float, point)), frame_id=frame),
        )
        safety = robot.safety.model_copy(update={"no_go_zones": (zone,)})
        return lg.Gate(robot.model_copy(update={"safety": safety}), step_s=0.1)

    with pytest.raises(lg.ROSConfigError, match="zone `cabinet` names no frame"):
        with_zone("")
    state = lg.RobotState(positions=np.zeros(2), stamp_s=1.0)
    assert not with_zone(ROOT).check(STILL, state=state, world=lg.NO_WORLD, now_s=1.0).accepted
    assert with_zone(BASE).check(STILL, state=state, world=lg.NO_WORLD, now_s=1.0).accepted
    contact = lg.DeclaredContact(
        name="grasp",
        links=("lower",),
        objects=("cup",),
        region=lg.contracts.BoxShape(size_xyz_m=(0.1, 0.1, 0.1)),
        region_pose=lg.Pose6D(xyz=(0.0, 0.0, 0.0)),
        expires_s=9.0,
    )
    world = world_of("primitives", in_root(ABOVE_THE_ARM), ROOT)
    with pytest.raises(lg.ROSConfigError, match="the region of declared contact `grasp` names no frame"):
        mounted_gate().check(STILL, state=state, world=world, now_s=1.0, declared_contacts=[contact])
    named = contact.model_copy(update={"region_pose": lg.Pose6D(xyz=(0.0, 0.0, 0.0), frame_id=ROOT)})
    assert (
        mounted_gate().check(STILL, state=state, world=world, now_s=1.0, declared_contacts=[named]).accepted
    )


def test_certificate_of_a_world_in_the_root_frame_holds_its_obstacles_in_the_base_frame() -> None:
    gate = mounted_gate()
    state = lg.RobotState(positions=np.zeros(2), stamp_s=1.0)
    world = world_of("primitives", in_root(ABOVE_THE_ARM), ROOT)
    certificate = gate.certify(STILL, state=state, world=world, now_s=1.0)
    assert np.allclose(certificate.content["world"]["xyz_quat_xyzw"][0][:3], ABOVE_THE_ARM, atol=1e-9)


def test_root_frame_is_said_whole_or_not_at_all() -> None:
    for half in ({"root_frame": ROOT}, {"base_to_root_xyz_rpy": (0.0,) * 6}):
        with pytest.raises(ValueError, match="give both or neither"):
            lg.contracts.UrdfAsset(ref="file:arm.urdf", **half)


def test_point_cloud_is_moved_with_its_stamp() -> None:
    world = world_of("points", in_root(ABOVE_THE_ARM), ROOT)
    moved = mounted_gate().world_in_base(world)
    assert np.allclose(moved.points.xyz, [ABOVE_THE_ARM], atol=1e-9)
    assert (moved.points.stamp_s, moved.world_id, moved.frame_id) == (1.0, world.world_id, BASE)


def test_robot_add_show_and_report_say_where_the_root_stands(tmp_path: Path, capsys) -> None:
    from lastgate.tools.cli.app import run

    (tmp_path / URDF.name).write_bytes(URDF.read_bytes())
    arguments = ["robot", "add", "mounted_arm", "--urdf", f"file:{URDF.name}", "-o", str(tmp_path)]
    assert run([*arguments, "--samples", "100"]) == 0
    added = capsys.readouterr()
    assert run(["robot", "show", str(tmp_path / "robot.yaml")]) == 0
    shown = capsys.readouterr().out
    report = (tmp_path / "mounted_arm_report.md").read_text()
    frames = RobotFrames.of(lg.load_robot(str(tmp_path / "robot.yaml")))
    for text in (added.err, shown, report):
        assert frames.sentence in text
        assert f"a world must name its frame, `{BASE}` or `{ROOT}`" in text


def test_mjcf_body_that_stands_off_its_world_is_recorded(tmp_path: Path) -> None:
    from lastgate.tools.lowering.mjcf_model import compile_mjcf
    from lastgate.tools.lowering.mjcf_scaffold import manifest_from_mjcf

    def manifest(placed: str) -> str:
        path = tmp_path / "arm.xml"
        path.write_text(
            f'<mujoco><worldbody><body name="stand" {placed}><geom type="box" size=".05 .05 .05"/>'
            '<body name="arm" pos="0 0 .2"><joint name="turn" axis="0 0 1" range="-1 1" limited="true"/>'
            '<geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/></body></body></worldbody></mujoco>'
        )
        return manifest_from_mjcf(
            "arm", compile_mjcf(path), mjcf_ref="file:arm.xml", velocity_limits=["turn=1"]
        )

    lifted = RobotFrames.of(read_manifest(manifest('pos="0 0 .91"'), source="arm"))
    assert (lifted.base, lifted.root, lifted.must_be_named) == ("stand", "world", True)
    assert lifted.root_in_base_xyz_rpy == (0.0, 0.0, -0.91, 0.0, 0.0, 0.0)
    level = RobotFrames.of(read_manifest(manifest(""), source="arm"))
    assert (level.root, level.must_be_named) == ("world", False)
