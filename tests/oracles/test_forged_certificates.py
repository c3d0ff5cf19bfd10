# SPDX-License-Identifier: Apache-2.0
"""Forged certificates of a motion that collides: whatever is written, and however well it fits, none verifies.

The forger knows the checker by heart. Every file here has digests that fit, and records whose distances, motions and
required distances are those that the checker itself computes from the forged numbers.
"""

import copy
import hashlib
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from fixtures.analytic_robots import (
    NOW_S,
    arm_of_one_link,
    at,
    code_of,
    gate_of,
    planar_two_link,
    sphere,
    world_of,
)

import lastgate as lg
from lastgate.certificate import checker as certificate_checker
from lastgate.certificate.checker import RECORD_COLUMNS, Checker, Refused, Report, check_text

Content = dict[str, Any]
COLUMN = {name: index for index, name in enumerate(RECORD_COLUMNS)}
# The capsule of the arm lies along x from 0.1 to 0.9 m and has 5 cm of radius; it is held against things below it.
DOWN = (0.0, -1.0, 0.0)
HALF = float(np.sqrt(0.5))
# Turns the z axis, along which a half-space faces, to y.
TO_Y = [-HALF, 0.0, 0.0, HALF]


@pytest.fixture(scope="module")
def honest() -> Content:
    """The certificate of the arm that turns by a hundredth of a radian, 5 cm above a sphere."""
    gate = gate_of(arm_of_one_link(), step_s=0.1)
    world = world_of(sphere((0.5, -0.3, 0.0), 0.2))
    chunk = lg.ActionChunk([[0.01]])
    content = gate.certify(chunk, state=at(0.0), world=world, now_s=NOW_S).content
    assert verified(content)
    return content


def signed(content: Content) -> str:
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return json.dumps({**content, "digest": hashlib.sha256(canonical.encode()).hexdigest()})


def verified(content: Content) -> Report | None:
    """Returns the report, or None for what is refused; anything else that is raised fails the test."""
    try:
        return check_text(signed(content))
    except Refused:
        return None


def filled(content: Content) -> Content:
    """Writes into every record what the checker will compute for it; a content it refuses to read stays as it is."""
    content = copy.deepcopy(content)
    content["model_digest"] = hashlib.sha256(content["model"].encode()).hexdigest()
    try:
        with np.errstate(all="ignore"):
            checker = Checker(copy.deepcopy(content))
            checker._require_indices()
            cloud = np.zeros(len(checker.records), dtype=bool)
            raw = checker.records[:, COLUMN["direction_x"] :][:, :3]
            direction = checker._directions(cloud) if hasattr(checker, "_directions") else raw
            instants, place = np.unique(checker.column["at"], return_inverse=True)
            rotations, positions = checker.model.place(checker._at(instants)[:, : checker.model.dof_count])
            placed = certificate_checker.Placed(rotations, positions, place, checker._steps())
            top, moved, unsure = checker._side(checker.hull_a, checker.shape_a, direction, placed, first=True)
            low, moved_b, unsure_b = checker._side(
                checker.hull_b, checker.shape_b, -direction, placed, first=False
            )
            margin = np.array([checker.model.margin_m[kind] for kind in checker.kind.tolist()])
    except Exception:
        return content
    for number, record in enumerate(content["records"]):
        record[COLUMN["distance_m"]] = float(-low[number] - top[number])
        record[COLUMN["motion_m"]] = float(moved[number] + moved_b[number])
        record[COLUMN["demand_m"]] = float(unsure[number] + unsure_b[number] + margin[number])
    return content


def one_obstacle(
    content: Content, kind: int, size: list[float], pose: list[float], direction: tuple[float, ...] = DOWN
) -> Content:
    """Returns a certificate with one record: the arm and one obstacle, over all of the path."""
    content = copy.deepcopy(content)
    content["world"] |= {"kind": [kind], "size_m": [size], "xyz_quat_xyzw": [pose]}
    record = [0.0] * len(RECORD_COLUMNS)
    for name, value in {"kind": 1, "low": 0.0, "high": 1.0, "at": 0.5}.items():
        record[COLUMN[name]] = value
    record[COLUMN["direction_x"] : COLUMN["direction_x"] + 3] = direction
    content["records"] = [record]
    return filled(content)


def tilted(by: float) -> tuple[float, float, float]:
    return (by, -float(np.sqrt(1.0 - by * by)), 0.0)


def longer(by: float) -> tuple[float, float, float]:
    return (0.0, -(1.0 + by), 0.0)


def still(content: Content) -> Content:
    """Returns the same of an arm that does not move: there a micrometre counts."""
    return {**content, "path": [[0.0], [0.0]]}


SPHERE, CAPSULE, BOX, HALF_SPACE = 0, 1, 2, 3
NO_TURN = [0.0, 0.0, 0.0, 1.0]
# Every obstacle here, taken at its word, stands in the arm.
FORGERIES: dict[str, Callable[[Content], Content]] = {
    "a half-space 1e9 m away, passed at a tilt": lambda c: one_obstacle(
        c, HALF_SPACE, [0.0] * 3, [1e9, -0.02, 0.0, *TO_Y], tilted(0.8e-9)
    ),
    "a half-space 1e9 m away on the other side": lambda c: one_obstacle(
        c, HALF_SPACE, [0.0] * 3, [-1e9, -0.02, 0.0, *TO_Y], tilted(-0.8e-9)
    ),
    "a half-space at the end of the world, passed at a tilt": lambda c: one_obstacle(
        still(c), HALF_SPACE, [0.0] * 3, [9.9e3, -0.05 + 5e-6, 0.0, *TO_Y], tilted(0.99e-9)
    ),
    "a half-space at the other end of the world": lambda c: one_obstacle(
        still(c), HALF_SPACE, [0.0] * 3, [-9.9e3, -0.05 + 5e-6, 0.0, *TO_Y], tilted(-0.99e-9)
    ),
    "a half-space with a huge quaternion": lambda c: one_obstacle(
        c, HALF_SPACE, [0.0] * 3, [0.0, 0.5, 0.0, *(1e200 * np.array(TO_Y)).tolist()]
    ),
    "a sphere of 1e9 m, passed along a short direction": lambda c: one_obstacle(
        c, SPHERE, [1e9, 0.0, 0.0], [0.5, -1e9 - 0.02, 0.0, *NO_TURN], longer(-0.99e-9)
    ),
    "a sphere of 1e9 m, passed along a long direction": lambda c: one_obstacle(
        c, SPHERE, [1e9, 0.0, 0.0], [0.5, -1e9 - 0.02, 0.0, *NO_TURN], longer(0.99e-9)
    ),
    "a sphere as large as the world, passed along a long direction": lambda c: one_obstacle(
        still(c), SPHERE, [5e3, 0.0, 0.0], [0.5, -5e3 - 0.05 + 4e-6, 0.0, *NO_TURN], longer(0.99e-9)
    ),
    "a box whose quaternion overflows": lambda c: one_obstacle(
        c, BOX, [0.4, 0.4, 0.4], [0.5, -0.3, 0.0, 1e200, 0.0, 0.0, 0.0]
    ),
    "a box whose quaternion vanishes": lambda c: one_obstacle(
        c, BOX, [0.4, 0.4, 0.4], [0.5, -0.3, 0.0, 1e-200, 0.0, 0.0, 0.0]
    ),
    "a box without rotation": lambda c: one_obstacle(c, BOX, [0.4] * 3, [0.5, -0.3, 0.0, 0.0, 0.0, 0.0, 0.0]),
    "a sphere of negative radius": lambda c: one_obstacle(
        c, SPHERE, [-3.0, 0.0, 0.0], [0.5, 0.0, 0.0, *NO_TURN]
    ),
    "a sphere without radius": lambda c: one_obstacle(c, SPHERE, [0.0] * 3, [0.5, -0.3, 0.0, *NO_TURN]),
    "a capsule of negative radius": lambda c: one_obstacle(
        c, CAPSULE, [-3.0, 0.1, 0.0], [0.5, 0.0, 0.0, *NO_TURN]
    ),
    "a capsule of negative length": lambda c: one_obstacle(
        c, CAPSULE, [0.01, -3.0, 0.0], [0.5, -0.3, 0.0, *NO_TURN]
    ),
    "a box of negative size": lambda c: one_obstacle(c, BOX, [-0.1] * 3, [0.5, -0.3, 0.0, *NO_TURN]),
    "a box without thickness": lambda c: one_obstacle(c, BOX, [0.1, 0.0, 0.1], [0.5, -0.3, 0.0, *NO_TURN]),
    "a sphere beyond the world": lambda c: one_obstacle(
        c, SPHERE, [1e5, 0.0, 0.0], [0.5, -1e5 - 0.5, 0.0, *NO_TURN]
    ),
    "a box with a quaternion of another length": lambda c: one_obstacle(
        c, BOX, [0.1] * 3, [0.5, -0.3, 0.0, 0.0, 0.0, 0.0, 1.00001]
    ),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_no_forged_obstacle_verifies(honest: Content, name: str) -> None:
    assert verified(FORGERIES[name](honest)) is None


@pytest.mark.parametrize(
    ("kind", "size", "pose"),
    [
        (HALF_SPACE, [0.0] * 3, [9.9e3, -0.2, 0.0, *TO_Y]),
        (SPHERE, [5e3, 0.0, 0.0], [0.5, -5e3 - 0.2, 0.0, *NO_TURN]),
        (CAPSULE, [0.1, 0.0, 0.0], [0.5, -0.3, 0.0, *NO_TURN]),
        (BOX, [0.1] * 3, [0.5, -0.3, 0.0, *NO_TURN]),
        (BOX, [0.1] * 3, [0.5, -0.3, 0.0, 0.0, 0.0, 0.0, 1.0000005]),
    ],
)
def test_twin_the_same_record_of_an_obstacle_that_is_clear_verifies(
    honest: Content, kind: int, size: list[float], pose: list[float]
) -> None:
    report = verified(one_obstacle(honest, kind, size, pose))
    assert report is not None
    assert report.least_spare_m > 0.02


def test_a_billionth_of_tilt_is_worth_nothing_at_any_distance(honest: Content) -> None:
    """The face stands so that the arm is clear of it by a hair, then in it by a hair: only the true gap decides."""
    # Half of the path lies between the middle and either end, and the far end of the arm moves.
    base = one_obstacle(honest, HALF_SPACE, [0.0] * 3, [0.0, -1.0, 0.0, *TO_Y])
    record = base["records"][0]
    touching_y = -1.0 + record[COLUMN["distance_m"]] - record[COLUMN["motion_m"]]
    for away in (0.0, 10.0, 1e3, 9.9e3, -9.9e3):
        for by in (0.0, 0.9e-9, -0.9e-9):
            for gap_m, clear in ((1e-8, True), (-1e-8, False)):
                pose = [away, touching_y - gap_m, 0.0, *TO_Y]
                found = verified(one_obstacle(honest, HALF_SPACE, [0.0] * 3, pose, tilted(by)))
                assert (found is not None) == clear, (away, by, gap_m)


HOSTILE_NUMBERS = [
    float("nan"), float("inf"), -float("inf"), 1e400, 1e308, -1e308, 5e-324, -5e-324, 1e-308, 1e200, 1e9, -1e9, -1.0,
    -0.0, 0.5, 10**400, -(10**400), 2**63, -(2**63) - 1, 2**31, True, False,
]  # fmt: skip
HOSTILE_VALUES = [
    *HOSTILE_NUMBERS, None, "", "1", "NaN", "\ud800", "\u2028", "x" * 10_000,
    [], {}, [[]], [None], {"a": 1}, [1] * 7, [[1.0] * 17] * 3, [0] * 5_000,
]  # fmt: skip


def places_in(value: object, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for key, item in items for found in [(*path, key), *places_in(item, (*path, key))]]


def with_value(content: Content, path: tuple[Any, ...], value: object) -> Content:
    changed = copy.deepcopy(content)
    holder: Any = changed
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    return changed


def text_of(content: Content) -> str:
    """Returns the text with its digest, of contents too that JSON has no words for."""
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()
    return json.dumps({**content, "digest": digest})


def colliding(honest: Content) -> Content:
    """Complete, signed, and true but for the one thing that cannot be: the sphere stands in the arm."""
    content = one_obstacle(honest, SPHERE, [0.2, 0.0, 0.0], [0.5, -0.2, 0.0, *NO_TURN])
    gate = gate_of(arm_of_one_link(), step_s=0.1)
    verdict = gate.check(
        lg.ActionChunk([[0.01]]), state=at(0.0), world=world_of(sphere((0.5, -0.2, 0.0), 0.2)), now_s=NOW_S
    )
    assert code_of(verdict) == "world_collision"
    return content


def test_no_hostile_value_in_a_record_makes_a_collision_verify(honest: Content) -> None:
    base = colliding(honest)
    assert verified(base) is None
    tried = 0
    for path in places_in({key: base[key] for key in ("records", "uncertainty", "apart", "record_columns")}):
        for value in HOSTILE_VALUES:
            for content in (with_value(base, path, value), filled(with_value(base, path, value))):
                with pytest.raises(Refused):
                    check_text(text_of(content))
                tried += 1
    assert tried > 1000


def test_every_hostile_value_in_every_field_is_refused_or_verified_and_nothing_else(honest: Content) -> None:
    """What the file is believed about, such as its world, may be changed to something harmless and then verifies."""
    refused, harmless = 0, set()
    for path in places_in(honest):
        for value in HOSTILE_VALUES:
            try:
                check_text(text_of(filled_or_same(with_value(honest, path, value))))
                harmless.add(path[:2])
            except Refused:
                refused += 1
    assert refused > 2000
    # The digest of the model is written anew with the records; of all that is left, none is the checker's to believe.
    assert {place[0] for place in harmless} <= {
        "apart",
        "held",
        "model_digest",
        "path",
        "records",
        "uncertainty",
        "world",
    }
    assert ("world", "kind") not in harmless


def filled_or_same(content: Content) -> Content:
    return (
        filled(content)
        if isinstance(content.get("model"), str) and "\ud800" not in content["model"]
        else content
    )


def model_with(content: Content, key: str, value: str | None) -> Content:
    changed = copy.deepcopy(content)
    lines = [line for line in changed["model"].split("\n") if not line.startswith(f"{key}: ")]
    assert len(lines) < len(changed["model"].split("\n"))
    if value is not None:
        lines.insert(1, f"{key}: {value}")
    changed["model"] = "\n".join(lines)
    return filled(changed)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("volume_radius_m", "[-0.05]"),
        ("volume_radius_m", "[0.0]"),
        ("volume_radius_m", "[1e400]"),
        ("volume_radius_m", "[true]"),
        ("volume_ends_m", "[1e200, 0, 0, 1e200, 0, 0]"),
        ("volume_link", "[-1]"),
        ("volume_link", "[1.5]"),
        ("volume_link", "[0]"),
        ("world_collision_margin_m", "-0.5"),
        ("self_collision_margin_m", "-0.5"),
        ("world_collision_margin_m", '"0"'),
        ("position_min", "[3.0]"),
        ("position_max", "[-3.0]"),
        ("position_max", "[1e400]"),
        ("position_min", "[0.0, 0.0]"),
        ("joint_kind", "[0, 7]"),
        ("joint_kind", "[1, 1]"),
        ("joint_dof", "[-1, -1]"),
        ("joint_dof", "[-1, 5]"),
        ("joint_multiplier", "[1.0, 1e9]"),
        ("joint_axis", "[0, 0, 1, 1e200, 0, 0]"),
        ("joint_axis", "[0, 0, 1, 0, 0, 0.5]"),
        ("joint_origin_xyzrpy", "[0, 0, 0, 0, 0, 0, 1e9, 0, 0, 0, 0, 0]"),
        ("link_parent", "[-1, -1]"),
        ("link_parent", "[-1, 1]"),
        ("link_parent", "[]"),
        ("allowed_link_pairs", "[0]"),
        ("allowed_link_pairs", "[-1, 0]"),
        ("dof_in_rows", "[2]"),
        ("mobile_base", "1"),
        ("zone_kind", "[0]"),
        ("schema_version", "2"),
        ("robot_name", "{}"),
        ("volume_link", None),
        ("joint_axis", None),
        ("position_min", '{"a": 1, "a": 2}'),
        ("robot_name", "9" * 5000),
    ],
)
def test_no_model_that_the_gate_would_not_take_verifies(honest: Content, key: str, value: str | None) -> None:
    clear = one_obstacle(honest, BOX, [0.1] * 3, [0.5, -0.3, 0.0, *NO_TURN])
    assert verified(clear) is not None
    assert verified(model_with(clear, key, value)) is None


def test_a_model_whose_lines_end_only_for_python_is_refused(honest: Content) -> None:
    for mark in ("\u2028", "\x0b", "\x1c", "\r"):
        changed = {**honest, "model": honest["model"].replace("\nrobot_name", f"{mark}robot_name")}
        assert verified(filled(changed)) is None


@pytest.mark.parametrize(
    "records_of",
    [
        lambda record: [],
        lambda record: [record, record],
        lambda record: [{**record, "high": 0.5, "at": 0.25}],
        lambda record: [{**record, "low": 0.5, "at": 0.75}],
        lambda record: [{**record, "at": 0.0}],
        lambda record: [{**record, "low": 1.0, "high": 0.0}],
        lambda record: [{**record, "low": -1.0, "high": 3.0, "at": 1.0}],
        lambda record: [{**record, "by_pieces": 1}],
        lambda record: [{**record, "kind": 0}],
        lambda record: [{**record, "kind": 2}],
        lambda record: [{**record, "kind": 3}],
        lambda record: [{**record, "piece_b": 1}],
        lambda record: [{**record, "direction_x": 0.0, "direction_y": 0.0, "direction_z": 0.0}],
        lambda record: [{**record, "direction_y": 1.0}],
        lambda record: [{**record, "a": 0.5}],
        lambda record: [{**record, "shape_b": 2**53}],
        lambda record: [
            {**record, "high": 0.5, "at": 0.25},
            {**record, "low": 0.5000001, "at": 0.75},
        ],
    ],
)
def test_no_trick_with_stretches_and_shapes_verifies(
    honest: Content, records_of: Callable[[dict[str, float]], list[dict[str, float]]]
) -> None:
    for pose in ([0.5, -0.2, 0.0, *NO_TURN], [0.5, -0.3, 0.0, *NO_TURN]):
        content = one_obstacle(honest, SPHERE, [0.2, 0.0, 0.0], pose)
        record = dict(zip(RECORD_COLUMNS, content["records"][0], strict=True))
        content["records"] = [[row[name] for name in RECORD_COLUMNS] for row in records_of(record)]
        assert verified(filled(content)) is None


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": [True]},
        {"kind": [0.0]},
        {"kind": [9]},
        {"kind": "0"},
        {"kind": []},
        {"size_m": [[0.2, 0.0]]},
        {"looked_at": False},
        {"looked_at": 1},
        {"id": None},
        {"points_m": [[1e300, 0.0, 0.0]]},
        {"points_m": [[0.0, 2e4, 0.0]]},
        {"points_m": [[0.0, 0.0]]},
        {"extra": 1},
    ],
)
def test_no_world_that_makes_no_sense_verifies(honest: Content, changes: dict[str, Any]) -> None:
    content = one_obstacle(honest, SPHERE, [0.2, 0.0, 0.0], [0.5, -0.3, 0.0, *NO_TURN])
    assert verified(content) is not None
    content["world"] |= changes
    assert verified(filled(content)) is None


def test_more_than_the_gate_takes_is_refused(honest: Content) -> None:
    content = one_obstacle(honest, SPHERE, [0.2, 0.0, 0.0], [0.5, -0.3, 0.0, *NO_TURN])
    many_rows = {**content, "path": [[0.0]] * 300}
    crowd = copy.deepcopy(content)
    for key in ("kind", "size_m", "xyz_quat_xyzw"):
        crowd["world"][key] = crowd["world"][key] * 2000
    full_hands = copy.deepcopy(content)
    one = {"object": 0, "link": 1, "ends_m": [0.0] * 6, "radius_m": 0.01, "touch_links": [0, 1]}
    one |= {"solid_xyz_rpy": [0.0] * 6, "disc_m": 0.0, "vertices_m": []}
    full_hands["held"] = {key: [value] * 17 for key, value in one.items()}
    for forged, why in ((many_rows, "more than 256"), (crowd, "at most 1024"), (full_hands, "more than 16")):
        with pytest.raises(Refused, match=why):
            check_text(signed(forged))


def test_what_has_to_be_believed_is_printed(honest: Content) -> None:
    report = str(verified(honest))
    assert "the world of the file: 1 sphere" in report
    assert "believed, not verified" in report
    assert "the robot stood at the first step" in report
    empty = copy.deepcopy(honest)
    empty["world"] |= {"kind": [], "size_m": [], "xyz_quat_xyzw": []}
    empty["records"] = []
    assert "the world of the file: nothing" in str(verified(empty))


# ---- Records that follow a direction ---------------------------------------------------------------

HALF_STEP = 0.2  # of the arm below, from the middle of its step to either end


@pytest.fixture(scope="module")
def followed() -> Content:
    """The certificate of an arm of two links that turns above a floor: no length of motion would certify it."""
    gate = gate_of(planar_two_link(), step_s=1.0)
    floor = lg.WorldCollisionPrimitive(
        shape=lg.BoxShape(size_xyz_m=(6.0, 6.0, 1.0)), pose=lg.Pose6D(xyz=(0.0, 0.0, -0.5525))
    )
    content = gate.certify(
        lg.ActionChunk([[2 * HALF_STEP, -0.3]]), state=at(0.0, 0.3), world=world_of(floor), now_s=NOW_S
    ).content
    report = verified(content)
    assert report is not None
    assert content["format"] == certificate_checker.FORMAT
    assert any(record[COLUMN["directional"]] == 1.0 for record in content["records"])
    return content


def followed_records(content: Content) -> list[list[float]]:
    return [record for record in content["records"] if record[COLUMN["directional"]] == 1.0]


def change(name: str, by: Callable[[float], float]) -> Callable[[Content], None]:
    def forge(content: Content) -> None:
        record = followed_records(content)[0]
        record[COLUMN[name]] = by(record[COLUMN[name]])

    return forge


def change_direction(to: Callable[[Any], Any]) -> Callable[[Content], None]:
    def forge(content: Content) -> None:
        record, at_x = followed_records(content)[0], COLUMN["direction_x"]
        record[at_x : at_x + 3] = [float(part) for part in to(np.array(record[at_x : at_x + 3]))]

    return forge


def past_a_step(content: Content) -> None:
    """One stretch instead of all those of its pair, its middle inside the path."""
    record = followed_records(content)[0]
    pair = [record[COLUMN[name]] for name in ("kind", "a", "b")]
    same = [r for r in content["records"] if [r[COLUMN[name]] for name in ("kind", "a", "b")] == pair]
    content["path"] = [*content["path"], content["path"][-1]]
    for other in same[1:]:
        content["records"].remove(other)
    record[COLUMN["low"]], record[COLUMN["high"]], record[COLUMN["at"]] = 0.0, 2.0, 1.0


DIRECTION_FORGERIES: dict[str, Callable[[Content], None]] = {
    "another direction": change_direction(lambda n: np.array([n[2], n[0], n[1]])),
    "a direction turned by a milliradian": change_direction(
        lambda n: (n + np.array([1e-3, 0, 0])) / np.linalg.norm(n + np.array([1e-3, 0, 0]))
    ),
    "a direction that is no unit vector": change_direction(lambda n: 1.001 * n),
    "no direction": change_direction(lambda n: 0.0 * n),
    "a wider gap before": change("gap_before_m", lambda gap: gap + 1e-6),
    "a wider gap after": change("gap_after_m", lambda gap: gap + 1e-6),
    "the sign of the derivative turned": change("gap_after_m", lambda gap: -gap),
    "half the curvature": change("bend_m", lambda bend: 0.5 * bend),
    "no curvature": change("bend_m", lambda _: 0.0),
    "a wider slab": change("distance_m", lambda distance: distance + 1e-6),
    "a flag of two": change("directional", lambda _: 2.0),
    "gaps without the flag": change("directional", lambda _: 0.0),
    "a stretch past a step": past_a_step,
}


@pytest.mark.parametrize("name", DIRECTION_FORGERIES)
def test_no_forged_direction_verifies(followed: Content, name: str) -> None:
    forged = copy.deepcopy(followed)
    DIRECTION_FORGERIES[name](forged)
    assert forged != followed
    assert verified(forged) is None


def test_direction_that_is_followed_into_an_obstacle_does_not_verify_however_well_it_fits(
    followed: Content,
) -> None:
    """The floor is raised until the arm meets it; gaps and bends are those that the checker computes."""
    ends = ("distance_m", "gap_before_m", "gap_after_m")
    spare_m = min(
        min(record[COLUMN[name]] for name in ends)
        if record[COLUMN["directional"]]
        else record[COLUMN["distance_m"]] - record[COLUMN["motion_m"]]
        for record in followed["records"]
        if record[COLUMN["kind"]] == 1
    )
    assert spare_m > 1e-6
    for raised_m, clear in ((0.5 * spare_m, True), (1.001 * spare_m, False)):
        moved = copy.deepcopy(followed)
        moved["world"]["xyz_quat_xyzw"][0][2] += raised_m
        for entry in moved["records"]:
            if entry[COLUMN["kind"]] != 1:
                continue
            entry[COLUMN["distance_m"]] -= raised_m
            for name in ("gap_before_m", "gap_after_m"):
                entry[COLUMN[name]] -= raised_m * entry[COLUMN["directional"]]
        assert (verified(moved) is not None) == clear, raised_m


def test_derivative_in_another_frame_does_not_verify() -> None:
    """Links of one chain move against each other by the joints between them; one that carries both is left out."""
    gate = gate_of(planar_two_link(), step_s=1.0)
    content = gate.certify(
        lg.ActionChunk([[0.3, 2.5]]), state=at(0.0, 2.3), world=lg.NO_WORLD, now_s=NOW_S
    ).content
    own = [record for record in followed_records(content) if record[COLUMN["kind"]] == 0]
    assert own
    assert verified(content) is not None
    for record in own:
        forged = copy.deepcopy(content)
        changed = forged["records"][content["records"].index(record)]
        lever = 0.15 * 1.0  # half of the first joint's way, times a metre
        changed[COLUMN["gap_before_m"]] += lever
        changed[COLUMN["gap_after_m"]] -= lever
        assert verified(forged) is None


def test_file_of_the_first_format_verifies_and_follows_no_direction(honest: Content) -> None:
    before = copy.deepcopy(honest)
    before["format"] = certificate_checker.FORMAT_FIRST
    for key in ("solid_xyz_rpy", "disc_m", "vertices_m"):
        del before["held"][key]
    before["record_columns"] = before["record_columns"][:-4]
    before["records"] = [record[:-4] for record in before["records"]]
    assert all(record[COLUMN["directional"]] == 0.0 for record in honest["records"])
    assert verified(before) is not None
    wide = copy.deepcopy(honest)
    wide["format"] = certificate_checker.FORMAT_FIRST
    assert verified(wide) is None
    solid = copy.deepcopy(honest)
    solid["format"] = certificate_checker.FORMAT_BEFORE
    assert verified(solid) is None
    for key in ("solid_xyz_rpy", "disc_m", "vertices_m"):
        del solid["held"][key]
    assert verified(solid) is not None


# Wipes the screen, goes to its vertex, writes what only a verified file may say, and turns the order of reading.
DRAWN = "\x1b[2J\x1b[Hverified: 1 steps\r\n\u202e"


def test_no_text_of_a_file_draws_its_own_verdict(honest: Content) -> None:
    named = copy.deepcopy(honest)
    named["world"]["id"] = DRAWN
    named["model"] = named["model"].replace('"one_link"', json.dumps("one" + DRAWN))
    report = str(verified(filled(named)))
    assert report.startswith("verified: ")
    assert r"\x1b[2J\x1b[Hverified" in report
    assert all(line.isprintable() for line in report.split("\n"))
    assert len(report.split("\n")) == len(str(verified(honest)).split("\n"))
    unsigned = json.dumps({**honest, "digest": DRAWN})
    unreadable = copy.deepcopy(honest)
    unreadable["model"] += f"{DRAWN.splitlines()[0]}: nothing\n"
    for text in (unsigned, signed(filled(unreadable)), json.dumps(DRAWN)):
        with pytest.raises(Refused) as refused:
            check_text(text)
        assert str(refused.value).isprintable()


def test_angle_of_a_joint_that_mimics_is_not_believed_beyond_its_last_digit(honest: Content) -> None:
    def rounding_m(gain: float, offset: float) -> float:
        model = honest["model"].replace("joint_multiplier: [1.0, 1.0]", f"joint_multiplier: [1.0, {gain}]")
        model = model.replace("joint_offset: [0.0, 0.0]", f"joint_offset: [0.0, {offset}]")
        assert (gain, offset) == (1, 0) or model != honest["model"]
        content = {**honest, "model": model, "model_digest": hashlib.sha256(model.encode()).hexdigest()}
        return Checker(json.loads(json.dumps(content))).rounding_m

    plain = rounding_m(1, 0)
    assert rounding_m(1000, 0) > 10.0 * plain
    assert rounding_m(1, 1000) > 1000.0 * plain
