# SPDX-License-Identifier: Apache-2.0
"""Certificates of accepted chunks, checked by a program that shares nothing with the core.

What is compared: the distances, motion bounds, required distances and pairs of the core, with those that the checker
works out again from the numbers in the file. `make certificates` runs ten thousand chunks instead of some.
"""

import ast
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from fixtures.analytic_robots import (
    NOW_S,
    at,
    capsule_on,
    gate_of,
    gripper_arm,
    planar_two_link,
    sliders,
    sphere,
    wall_beyond_x,
    world_of,
)

import lastgate as lg
from lastgate.certificate import checker as certificate_checker
from lastgate.certificate.checker import Refused, check_text
from lastgate.world import NoWorld

ROBOTS = ("franka_panda", "ur5", "so101_follower", "xarm7")
CHUNKS = int(os.environ.get("LASTGATE_CERTIFICATES", "240"))


def random_world(rng: np.random.Generator) -> lg.World | NoWorld:
    if rng.random() < 0.1:
        return lg.NO_WORLD
    found = []
    for _ in range(int(rng.integers(1, 14))):
        quat = rng.normal(size=4)
        pose = lg.Pose6D(xyz=tuple(rng.uniform(-0.9, 0.9, 3)), quat_xyzw=tuple(quat / np.linalg.norm(quat)))
        shape = [
            lg.SphereShape(radius_m=rng.uniform(0.02, 0.1)),
            lg.CapsuleShape(radius_m=rng.uniform(0.02, 0.06), length_m=rng.uniform(0.05, 0.4)),
            lg.BoxShape(size_xyz_m=tuple(rng.uniform(0.03, 0.25, 3))),
        ][rng.integers(3)]
        found.append(lg.WorldCollisionPrimitive(shape=shape, pose=pose))
    if rng.random() < 0.3:
        pose = lg.Pose6D(xyz=(0.0, 0.0, -0.8), quat_xyzw=(0.06, 0.0, 0.0, np.sqrt(1.0 - 0.06**2)))
        found.append(lg.WorldCollisionPrimitive(shape=lg.HalfSpaceShape(), pose=pose))
    cloud = rng.uniform(-0.9, 0.9, (int(rng.integers(1, 60)), 3)) if rng.random() < 0.3 else None
    return lg.World(primitives=found, points=cloud, stamp_s=0.0)


def draw(rng: np.random.Generator, gate: lg.Gate) -> tuple[lg.ActionChunk, lg.RobotState, lg.World | NoWorld]:
    joints = [joint for joint in gate.robot.actuated_joints if joint.name in gate.joint_names]
    limits = np.array([joint.position_limits or (-3.0, 3.0) for joint in joints])
    start = rng.uniform(*limits.T)
    steps = rng.uniform(-1, 1, (int(rng.integers(1, 17)), len(start))) * rng.choice([0.01, 0.05, 0.2])
    rows = np.clip(start + np.cumsum(steps, axis=0), *limits.T)
    fingers = None
    if gate.gripper_joint_names and rng.random() < 0.5:
        ends = [j.position_limits for j in gate.robot.actuated_joints if j.name in gate.gripper_joint_names]
        fingers = [rng.uniform(low, high) for low, high in ends]
    return (
        lg.ActionChunk(rows),
        lg.RobotState(positions=start, gripper_positions=fingers, stamp_s=0.0),
        random_world(rng),
    )


def hold_something(rng: np.random.Generator, gate: lg.Gate) -> None:
    """Every other time one or two shapes, of one object or two, at the end of the arm or somewhere on it."""
    for object_id in {held.object_id for held in gate.attached}:
        gate.detach(object_id)
    if rng.random() < 0.5:
        return
    links = [volume.link_name for volume in gate.robot.collision_geometry]
    for index in range(int(rng.integers(1, 3))):
        link = links[-1] if rng.random() < 0.7 else links[int(rng.integers(len(links)))]
        radius_m = float(rng.uniform(0.005, 0.03))
        sphere_shape = lg.SphereShape(radius_m=radius_m)
        rod = lg.CapsuleShape(radius_m=radius_m, length_m=float(rng.uniform(0.01, 0.2)))
        gate.attach(
            link,
            sphere_shape if rng.random() < 0.5 else rod,
            object_id=["cup", "lid"][index if rng.random() < 0.5 else 0],
            origin_xyz_rpy=(*rng.uniform(-0.05, 0.1, 3), *rng.uniform(-3, 3, 3)),
            touch_links=rng.choice(links, 3).tolist(),
        )


@pytest.mark.parametrize("name", ROBOTS)
def test_accepted_chunks_are_verified_by_a_program_that_shares_nothing(name: str) -> None:
    rng = np.random.default_rng([17, ROBOTS.index(name)])
    robot = lg.load_robot(name)
    margins = {"self_collision_margin_m": 0.004, "world_collision_margin_m": 0.01}
    zone = {"name": "post", "shape": {"shape": "sphere", "radius_m": 0.1}, "pose": {"xyz": (0.7, 0.5, 0.1)}}
    careful = robot.safety.model_copy(
        update={**margins, "no_go_zones": lg.SafetyEnvelope(no_go_zones=[zone]).no_go_zones}
    )
    gates = [lg.Gate(robot, step_s=0.5), lg.Gate(robot.model_copy(update={"safety": careful}), step_s=0.5)]
    verified = records = by_hulls = near = holding = clouds = 0
    for _ in range(60 * CHUNKS):
        if verified >= CHUNKS // len(ROBOTS):
            break
        gate = gates[int(rng.integers(2))]
        hold_something(rng, gate)
        chunk, state, world = draw(rng, gate)
        verdict = gate.check(chunk, state=state, world=world, now_s=0.0)
        if not verdict.accepted:
            continue
        certificate = gate.certify(chunk, state=state, world=world, now_s=0.0)
        report = check_text(certificate.to_json())
        assert report.row_count == len(chunk.rows)
        assert report.model_digest == gate.model_digest == verdict.model_digest
        assert report.checked_world == (world is not lg.NO_WORLD)
        assert report.least_spare_m > 0.0
        assert report.held_count == len(gate.attached)
        verified += 1
        holding += bool(gate.attached)
        clouds += bool(certificate.content["world"]["points_m"])
        records += report.record_count
        by_hulls += any(record[1] for record in certificate.content["records"])
        near += report.least_spare_m < 1e-3
    print(
        f"{name}: {verified} certificates, {records} records, {by_hulls} with hulls, {near} nearer than 1 mm, "
        f"{holding} holding something, {clouds} among points"
    )
    assert 0 < holding < verified
    assert 0 < clouds < verified
    assert verified == CHUNKS // len(ROBOTS)
    if robot.loaded_hulls:
        assert by_hulls > 0


# ---- Altered certificates --------------------------------------------------------------------------


def small_certificate() -> str:
    """Returns a certificate of two links with a cup held at their end, a pole, a wall and two points, and hulls."""
    manifest = planar_two_link(convex_pieces={"file": "convex_pieces.txt", "sha256": "0" * 64})
    # Two volumes, so that the first and last cube each stand apart from one of them.
    manifest["collision_geometry"] = [
        manifest["collision_geometry"][0],
        capsule_on("forearm", 0.06, 0.3, (0.35, 0.0, 0.0), (0.0, np.pi / 2, 0.0)),
        capsule_on("forearm", 0.06, 0.3, (0.7, 0.0, 0.0), (0.0, np.pi / 2, 0.0)),
    ]
    manifest["safety"] = {
        "no_go_zones": [
            {"name": "post", "shape": {"shape": "sphere", "radius_m": 0.2}, "pose": {"xyz": [-1.5, 0.0, 0.0]}}
        ]
    }
    from lastgate.contracts.convex_hulls import LinkHull

    # Three small cubes along the forearm.
    hulls = [
        LinkHull(
            "forearm",
            0.0,
            tuple((x + a, b, c) for a in (-0.03, 0.03) for b in (-0.03, 0.03) for c in (-0.03, 0.03)),
        )
        for x in (0.2, 0.5, 0.8)
    ]
    robot = lg.RobotDescription(**manifest).with_loaded_hulls(tuple(hulls))
    gate = lg.Gate(robot, step_s=0.1)
    gate.attach(
        "forearm", lg.SphereShape(radius_m=0.02), object_id="cup", origin_xyz_rpy=(1.0, 0, 0, 0, 0, 0)
    )
    chunk = lg.ActionChunk([[0.0, 0.002], [0.0, 0.004]])
    # The pole overlaps the capsules by 1.5 cm and leaves the cubes 1.5 cm.
    shapes = world_of(sphere((1.5, 0.145, 0.0), 0.1), wall_beyond_x(2.5)).primitives
    # The last point is inside a capsule and beside the cubes.
    cloud = np.array([[0.9, 0.4, 0.0], [0.0, -0.7, 0.1], [1.35, 0.05, 0.0]])
    world = lg.World(primitives=shapes, points=cloud, stamp_s=NOW_S)
    return gate.certify(chunk, state=at(0.0, 0.0), world=world, now_s=NOW_S).to_json()


@pytest.fixture(scope="module")
def honest() -> str:
    text = small_certificate()
    assert check_text(text).pair_count > 5
    assert any(record[1] for record in json.loads(text)["records"]), "no pair is certified by hulls"
    return text


def signed(content: dict) -> str:
    """Returns the content with a digest that fits it, as a forger would write it."""
    content = {key: value for key, value in content.items() if key != "digest"}
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return json.dumps({**content, "digest": hashlib.sha256(canonical.encode()).hexdigest()})


def numbers_in(value: object, path: tuple = ()) -> list[tuple]:
    if isinstance(value, bool):
        return []
    if isinstance(value, int | float):
        return [path]
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for key, item in items for found in numbers_in(item, (*path, key))]


def altered(content: dict, path: tuple, change: float) -> dict:
    copy = json.loads(json.dumps(content))
    at_ = copy
    for key in path[:-1]:
        at_ = at_[key]
    at_[path[-1]] += change
    return copy


def test_certificate_altered_in_any_number_is_refused(honest: str) -> None:
    content = json.loads(honest)
    places = numbers_in(content)
    assert len(places) > 150
    for path in places:
        value = content
        for key in path:
            value = value[key]
        with pytest.raises(Refused, match="digest"):
            check_text(json.dumps(altered(content, path, max(abs(value), 1e-9) * 1e-12 + 1e-15)))


def fields_in(value: object, path: tuple = ()) -> list[tuple]:
    """Returns the path of every entry of every object and list, at any depth."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for key, item in items for found in [(*path, key), *fields_in(item, (*path, key))]]


def test_certificate_altered_in_any_field_is_refused(honest: str) -> None:
    """Words and switches too, and fields that are left out or of another kind."""
    content = json.loads(honest)
    seen = set()
    for path in fields_in(content):
        for change in ("left out", "null", "word"):
            copy = json.loads(honest)
            holder = copy
            for key in path[:-1]:
                holder = holder[key]
            value = holder[path[-1]]
            if change == "left out":
                del holder[path[-1]]
            else:
                holder[path[-1]] = None if change == "null" and value is not None else f"{value} "
            seen.add(type(value))
            with pytest.raises(Refused):
                check_text(json.dumps(copy))
    assert seen >= {str, float, int, list}
    assert check_text(honest)


@pytest.mark.parametrize("change", [1e-6, -1e-6, 0.5, 1.0, -1.0])
def test_forged_record_is_refused_whatever_its_digest(honest: str, change: float) -> None:
    content = json.loads(honest)
    for path in numbers_in(content):
        if path[0] in ("records", "apart"):
            is_direction = path[0] == "apart" or "direction" in certificate_checker.RECORD_COLUMNS[path[2]]
            if is_direction and abs(change) < 1e-3:
                continue  # turned by a thousandth of a milliradian a slab is as wide: the record is still true
            with pytest.raises(Refused):
                check_text(signed(altered(content, path, change)))


def test_forged_world_uncertainty_and_model_are_refused(honest: str) -> None:
    content = json.loads(honest)
    for path in numbers_in(content["world"]["xyz_quat_xyzw"]):
        if path[1] >= 2 and content["world"]["kind"][path[0]] == 0:
            continue  # a sphere looks the same from all sides, and nothing here is above or below another
        if content["world"]["kind"][path[0]] == 3 and path[1] in (1, 2):
            continue  # a wall may slide along itself
        with pytest.raises(Refused):
            check_text(signed(altered(content, ("world", "xyz_quat_xyzw", *path), 0.01)))
    for index in range(len(content["uncertainty"])):
        with pytest.raises(Refused, match="half a range"):
            check_text(signed(altered(content, ("uncertainty", index), 0.01)))
    forged = json.loads(honest)
    forged["model"] = forged["model"].replace("self_collision_margin_m: 0.0", "self_collision_margin_m: -0.5")
    with pytest.raises(Refused, match="digest"):
        check_text(signed(forged))
    forged["model_digest"] = hashlib.sha256(forged["model"].encode()).hexdigest()
    with pytest.raises(Refused, match="margin"):
        check_text(signed(forged))
    forged["model"] = forged["model"].replace(
        "self_collision_margin_m: -0.5", "self_collision_margin_m: 0.001"
    )
    forged["model_digest"] = hashlib.sha256(forged["model"].encode()).hexdigest()
    with pytest.raises(Refused, match="required distance"):
        check_text(signed(forged))


def test_forged_attached_object_is_refused(honest: str) -> None:
    content = json.loads(honest)
    shown = check_text(honest).pair_count
    for path in numbers_in({key: content["held"][key] for key in ("ends_m", "radius_m", "link")}):
        if path[0] == "ends_m" and path[2] in (2, 5):
            continue  # everything here stands at one height, and turns about it
        with pytest.raises(Refused):
            check_text(signed(altered(content, ("held", *path), 1 if path[0] == "link" else 0.001)))
    detached = {key: [] for key in content["held"]}
    with pytest.raises(Refused):
        check_text(signed({**content, "held": detached}))
    every_link = {**content["held"], "touch_links": [[0, 1, 2]]}
    with pytest.raises(Refused, match="other pairs"):
        check_text(signed({**content, "held": every_link}))
    assert check_text(honest).pair_count == shown


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("object", [-1]),
        ("object", [True]),
        ("object", [0.0]),
        ("link", [99]),
        ("link", [-1]),
        ("link", [2.0]),
        ("touch_links", [[99]]),
        ("touch_links", [[0.5]]),
        ("touch_links", [2]),
        ("radius_m", [0.0]),
        ("radius_m", [-0.02]),
        ("radius_m", ["0.02"]),
        ("ends_m", [[1.0, 0.0, 0.0]]),
        ("ends_m", []),
    ],
)
def test_attached_object_that_makes_no_sense_is_refused(honest: str, key: str, value: object) -> None:
    content = json.loads(honest)
    content["held"][key] = value
    with pytest.raises(Refused, match=r"attached|number|link"):
        check_text(signed(content))


def test_attached_object_is_certified_against_links_obstacles_and_other_objects() -> None:
    gate = gate_of(planar_two_link())
    row, world = lg.ActionChunk([[0.31, 0.8]]), world_of(sphere((-1.5, 0.0, 0.0), 0.1))
    bare = check_text(gate.certify(row, state=at(0.3, 0.8), world=world, now_s=NOW_S).to_json())
    gate.attach(
        "forearm", lg.SphereShape(radius_m=0.02), object_id="cup", origin_xyz_rpy=(0.9, 0, 0, 0, 0, 0)
    )
    gate.attach(
        "upper_arm", lg.SphereShape(radius_m=0.02), object_id="lid", origin_xyz_rpy=(0.2, 0, 0, 0, 0, 0)
    )
    report = check_text(gate.certify(row, state=at(0.3, 0.8), world=world, now_s=NOW_S).to_json())
    # Cup and lid against each other, each against the sphere and against the other's link.
    assert (bare.held_count, report.held_count) == (0, 2)
    assert report.pair_count == bare.pair_count + 5
    assert "with 2 attached shapes in world" in str(report)


def test_path_that_runs_through_the_pole_does_not_fit_another_ones_records(honest: str) -> None:
    content = json.loads(honest)
    content["path"][1][1] += 0.4
    with pytest.raises(Refused):
        check_text(signed(content))


@pytest.mark.parametrize("kind", [0, 1, 2, 3])
def test_pair_that_is_left_out_is_missed(honest: str, kind: int) -> None:
    content = json.loads(honest)
    first = next(record for record in content["records"] if record[0] == kind)
    content["records"] = [
        r for r in content["records"] if (r[0], r[2], r[3]) != (first[0], first[2], first[3])
    ]
    with pytest.raises(Refused, match="other pairs"):
        check_text(signed(content))


def test_record_that_is_left_out_or_written_twice_is_found(honest: str) -> None:
    content = json.loads(honest)
    for index in range(len(content["records"])):
        without = {**content, "records": content["records"][:index] + content["records"][index + 1 :]}
        with pytest.raises(Refused):
            check_text(signed(without))
        twice = {**content, "records": [*content["records"], content["records"][index]]}
        with pytest.raises(Refused):
            check_text(signed(twice))


def test_obstacle_that_is_added_has_no_records(honest: str) -> None:
    content = json.loads(honest)
    for key in ("kind", "size_m", "xyz_quat_xyzw"):
        content["world"][key].append(content["world"][key][0])
    with pytest.raises(Refused, match="other pairs"):
        check_text(signed(content))


def with_points(content: dict, points: list[list[float]]) -> str:
    return signed({**content, "world": {**content["world"], "points_m": points}})


def test_point_that_is_moved_added_or_left_out_changes_the_distance(honest: str) -> None:
    content = json.loads(honest)
    points = content["world"]["points_m"]
    nearer = [[0.9, 0.399, 0.0], *points[1:]]
    for forged in (nearer, [*points, [0.9, 0.3, 0.0]], [*points[:2], [1.35, 0.049, 0.0]]):
        with pytest.raises(Refused, match="distance"):
            check_text(with_points(content, forged))
    for fewer in (points[:2], []):
        with pytest.raises(Refused, match=r"not of the pair|the other of a pair"):
            check_text(with_points(content, fewer))
    # Far behind everything it is no volume's nearest: the certificate stays true.
    far = with_points(content, [*points, [-50.0, 0.0, 0.0]])
    assert check_text(far).pair_count == check_text(honest).pair_count


def test_point_that_neither_hulls_nor_volume_certify_is_found(honest: str) -> None:
    content = json.loads(honest)
    *others, beside = content["world"]["points_m"]
    # The forearm turns away from the mirrored point, which is no volume's nearest: no distance in the file is wrong.
    with pytest.raises(Refused, match="neither by hulls nor by the volume"):
        check_text(with_points(content, [*others, beside, [1.35, -0.05, 0.0]]))


def test_cloud_has_no_direction(honest: str) -> None:
    content = json.loads(honest)
    column = certificate_checker.RECORD_COLUMNS.index("direction_x")
    record = next(record for record in content["records"] if record[0] == certificate_checker.POINTS)
    record[column] = 1.0
    with pytest.raises(Refused, match="all sides"):
        check_text(signed(content))


def test_world_that_no_source_observed_has_no_obstacles(honest: str) -> None:
    content = json.loads(honest)
    content["world"]["looked_at"] = False
    with pytest.raises(Refused, match="was not observed"):
        check_text(signed(content))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not JSON"),
        ("[]", "not a file"),
        ('{"format": "lastgate-certificate 1"}', "not a file"),
        ('{"format": "lastgate-certificate 2"}', "digest"),
        ('{"format": "lastgate-certificate 2", "path": [NaN]}', "holds NaN"),
        ('{"format": "lastgate-certificate 2", "format": "lastgate-certificate 2"}', "twice"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_file_that_is_no_certificate_is_refused(text: str, message: str) -> None:
    with pytest.raises(Refused, match=message):
        check_text(text)


@pytest.mark.parametrize("key", ["model", "path", "records", "apart", "uncertainty", "held", "world"])
@pytest.mark.parametrize("value", [None, "text", [], [[]], [["a"]], {"kind": []}, 3])
def test_part_of_another_type_is_refused_and_not_a_crash(honest: str, key: str, value: object) -> None:
    content = {**json.loads(honest), key: value}
    if key == "apart" and value in ([],):
        return  # nothing apart is a statement; whether it is true is evaluated elsewhere
    with pytest.raises(Refused):
        check_text(signed(content))


# ---- What gets none --------------------------------------------------------------------------------


def test_rejected_chunk_gets_no_certificate() -> None:
    gate = gate_of(sliders(0.0, 1.0), step_s=1.0)
    with pytest.raises(lg.ROSConfigError, match="rejected chunk has no certificate"):
        gate.certify(lg.ActionChunk([[0.95, 0.0]]), state=at(0.0, 0.0), world=lg.NO_WORLD, now_s=NOW_S)
    accepted = gate.certify(lg.ActionChunk([[0.5, 0.0]]), state=at(0.0, 0.0), world=lg.NO_WORLD, now_s=NOW_S)
    assert check_text(accepted.to_json()).pair_count == 1


def test_cartesian_rows_and_voxels_get_no_certificate() -> None:
    gate = gate_of(planar_two_link())
    stretched = at(0.3, 0.8)
    pose_row = lg.ActionChunk([[0.001, 0.0, 0.0, 0.0, 0.0, 0.0]], mode=lg.ControlMode.CARTESIAN_DELTA)
    assert gate.check(pose_row, state=stretched, world=lg.NO_WORLD, now_s=NOW_S).accepted
    with pytest.raises(lg.ROSConfigError, match="not straight in joint space"):
        gate.certify(pose_row, state=stretched, world=lg.NO_WORLD, now_s=NOW_S)
    row = lg.ActionChunk([[0.31, 0.8]])
    free = lg.Voxels(
        occupancy=np.zeros((8, 8, 8), dtype=np.uint8),
        origin_xyz=(-4.0, -4.0, -4.0),
        resolution_m=1.0,
        stamp_s=NOW_S,
    )
    with pytest.raises(lg.ROSConfigError, match="voxels"):
        gate.certify(row, state=stretched, world=lg.World(voxels=free, stamp_s=NOW_S), now_s=NOW_S)
    assert gate.certify(row, state=stretched, world=lg.NO_WORLD, now_s=NOW_S).record_count > 0


def test_gripper_that_no_sensor_measured_is_certified_anywhere_in_its_range() -> None:
    gate = gate_of(gripper_arm(allowed_collision_pairs=[]))
    # The finger is 6 cm of air from the hand, and may come no nearer than that wherever it stands.
    chunk, unknown = lg.ActionChunk([[0.1]]), at(0.1)
    certificate = gate.certify(chunk, state=unknown, world=world_of(sphere((0, 0.3, 0.1), 0.05)), now_s=NOW_S)
    assert max(certificate.content["uncertainty"]) == 0.02
    assert check_text(certificate.to_json()).pair_count == 3
    content = json.loads(certificate.to_json())
    content["uncertainty"] = [0.0, 0.0]
    with pytest.raises(Refused, match="required distance"):
        check_text(signed(content))


# ---- The checker stands alone ----------------------------------------------------------------------


def test_checker_imports_numpy_and_the_standard_library_only() -> None:
    tree = ast.parse(Path(certificate_checker.__file__).read_text(encoding="utf-8"))
    roots = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            roots |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            assert node.module is not None
            roots.add(node.module.partition(".")[0])
    assert roots - set(sys.stdlib_module_names) == {"numpy"}


def test_checker_runs_by_itself(honest: str, tmp_path: Path) -> None:
    alone = tmp_path / "certificate_checker.py"
    alone.write_text(Path(certificate_checker.__file__).read_text(encoding="utf-8"), encoding="utf-8")
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_text(honest, encoding="utf-8")
    bad.write_text(honest.replace("planar_two_link", "planar_two_lonk"), encoding="utf-8")

    def run(*files: object) -> subprocess.CompletedProcess[str]:
        # -P keeps the repository off the path; importing lastgate would need an installed one.
        command = [sys.executable, "-P", str(alone), *map(str, files)]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, cwd=tmp_path)

    assert run(good).returncode == 0
    assert run(good).stdout.startswith("verified: 2 steps of `planar_two_link`")
    assert (run(bad).returncode, run(tmp_path / "none").returncode, run().returncode) == (1, 2, 2)
    assert run(bad).stderr.startswith("refused: the digest is")
