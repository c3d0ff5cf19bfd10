# SPDX-License-Identifier: Apache-2.0
"""Closed-form distances against Coal, and against eighty digits where Coal's own tolerance ends.

What is reported where shapes overlap: distance of the axes minus radii. For spheres, capsules and half-spaces that
is the depth, negative; for a box the distance is 0 as soon as the capsule axis touches it, so the report is
-radius at most and does not grow with the depth. Signs always agree.

Tolerances: 1e-6 m against Coal where separated (its iterative solver stops at 1e-8 of the squared length;
metre-sized shapes). 1e-9 m above the true distance, never more: that is `tolerance::rounding_m`, which the
sweep adds to every required distance, so a distance that overshoots less cannot let anything through.
"""

import coal
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from lastgate import _core
from oracles.exact_distances import exact_box, exact_half_space, exact_segments
from oracles.numpy_distances import point_segment
from oracles.segment_families import SEGMENT_FAMILIES, segment_near_box

SPHERE, CAPSULE, BOX, HALF_SPACE = 0, 1, 2, 3
AGREE_M = 1e-6
OVERSHOOT_M = 1e-9
BLOCK = 1000  # obstacles per snapshot


def _random_quat(rng):
    quat = rng.normal(size=4)
    quat /= np.linalg.norm(quat)
    if rng.random() < 0.3:  # quarter turns: faces and axes line up
        quat = Rotation.from_euler("xyz", rng.integers(0, 4, 3) * np.pi / 2).as_quat()
    return quat


def _coal_capsule(a, b, radius):
    length = float(np.linalg.norm(b - a))
    if length == 0.0:
        return coal.Sphere(radius), coal.Transform3s(np.eye(3), (a + b) / 2)
    z = (b - a) / length
    x = np.cross(z, [1.0, 0.0, 0.0] if abs(z[0]) < 0.7 else [0.0, 1.0, 0.0])
    x /= np.linalg.norm(x)
    return coal.Capsule(radius, length), coal.Transform3s(
        np.column_stack([x, np.cross(z, x), z]), (a + b) / 2
    )


def _coal_request():
    request = coal.DistanceRequest()
    request.gjk_tolerance = 1e-9
    request.gjk_max_iterations = 512
    return request


def _coal_obstacle(kind, size, xyz, quat):
    turn = coal.Transform3s(Rotation.from_quat(quat).as_matrix(), xyz)
    match kind:
        case 0:
            return coal.Sphere(size[0]), turn
        case 1:
            return coal.Capsule(size[0], 2 * size[1]), turn
        case 2:
            return coal.Box(*(2 * size)), turn
        case _:
            return coal.Halfspace(np.array([0.0, 0.0, 1.0]), 0.0), turn


def _true_distance(pair):
    """To eighty digits; the obstacle's axis is rounded like any caller's would be."""
    kind, a, b, radius, size, xyz, quat = pair
    if kind == BOX:
        return exact_box(a, b, size, xyz, quat) - radius
    if kind == HALF_SPACE:
        return exact_half_space(a, b, xyz, quat) - radius
    axis = size[1] * Rotation.from_quat(quat).as_matrix()[:, 2] if kind == CAPSULE else np.zeros(3)
    return exact_segments(a, b, xyz - axis, xyz + axis) - radius - size[0]


def _draw_pair(rng):
    """One robot volume and one obstacle, mostly near each other."""
    kind = int(rng.integers(4))
    scale = 10.0 ** rng.uniform(-3, 1) if rng.random() < 0.2 else 1.0
    xyz, quat = scale * rng.uniform(-1, 1, 3), _random_quat(rng)
    size = scale * np.array(
        {
            0: [rng.uniform(0.01, 0.5), 0, 0],
            1: [rng.uniform(0.01, 0.3), rng.choice([0, rng.uniform(0, 0.8)]), 0],
            2: rng.uniform(0.01, 0.6, 3),
            3: [0, 0, 0],
        }[kind]
    )
    radius = scale * float(rng.uniform(0.001, 0.2))
    family = rng.choice(["free", "parallel", "box feature", "end to end"], p=[0.55, 0.15, 0.2, 0.1])
    turn = Rotation.from_quat(quat)
    if family == "box feature":
        half = size if kind == BOX else scale * rng.uniform(0.05, 0.5, 3)
        a, b = (turn.apply(end) + xyz for end in segment_near_box(rng, half))
    elif family == "parallel":
        a = xyz + scale * rng.uniform(-1, 1, 3)
        b = a + turn.apply([0, 0, scale * rng.uniform(-1, 1)])
    elif family == "end to end":
        a = xyz + turn.apply([0, 0, size[1] + scale * rng.uniform(0, 0.6)])
        b = a + turn.apply([0, 0, scale * rng.uniform(0, 0.5)])
    else:
        a = xyz + scale * rng.uniform(-1.5, 1.5, 3)
        b = a + scale * float(rng.choice([0.0, 1.0])) * rng.uniform(-1, 1, 3)
    return kind, a, b, radius, size, xyz, quat


PAIRS = 100_000


def test_robot_volumes_are_as_far_from_obstacles_as_coal_says():
    rng = np.random.default_rng(20260610)
    request = _coal_request()
    counts = dict.fromkeys(["compared", "overlapping", "settled by 80 digits", "coal was off"], 0)
    worst_m = 0.0
    for _ in range(PAIRS // BLOCK):
        pairs = [_draw_pair(rng) for _ in range(BLOCK)]
        world = _core.WorldSnapshot(
            np.array([p[0] for p in pairs], dtype=np.uint8),
            np.array([p[4] for p in pairs]),
            np.array([[*p[5], *p[6]] for p in pairs]),
            id=1,
            stamp_s=0.0,
            in_base_frame=True,
        )
        assert world.usable
        for index, pair in enumerate(pairs):
            kind, a, b, radius, size, xyz, quat = pair
            ours = world.distance(index, np.concatenate([a, b]))[0] - radius
            theirs = coal.distance(
                *_coal_capsule(a, b, radius),
                *_coal_obstacle(kind, size, xyz, quat),
                request,
                coal.DistanceResult(),
            )
            counts["compared"] += 1
            counts["overlapping"] += ours < 0.0
            if min(ours, theirs) > 0.0 and abs(ours - theirs) <= AGREE_M:
                worst_m = max(worst_m, abs(ours - theirs))
                continue
            if max(ours, theirs) < -AGREE_M:
                continue  # both say overlap; what the depth means is in the docstring
            # They disagree, or touch: the eighty digits decide.
            true = _true_distance(pair)
            counts["settled by 80 digits"] += 1
            counts["coal was off"] += abs(theirs - true) > AGREE_M
            assert abs(ours - true) <= OVERSHOOT_M, f"ours {ours!r}, coal {theirs!r}, true {true!r}: {pair}"
    print(counts, f"worst disagreement where separated {worst_m:.1e} m")
    assert counts["compared"] == PAIRS
    assert counts["overlapping"] > 10_000
    assert counts["compared"] - counts["overlapping"] > 30_000
    # Were most pairs settled elsewhere, nothing would have been compared with Coal.
    assert counts["settled by 80 digits"] < 0.05 * PAIRS


PER_FAMILY = 1000


@pytest.mark.parametrize("family", SEGMENT_FAMILIES)
def test_segment_distance_is_the_true_one(family):
    rng = np.random.default_rng([20260610, len(family)])
    over_m, under_m = 0.0, 0.0
    for index in range(PER_FAMILY):
        a, b, c, d = SEGMENT_FAMILIES[family](rng)
        ours, on_first, on_second = _core.distance_segments(np.concatenate([a, b]), np.concatenate([c, d]))
        true = exact_segments(a, b, c, d)
        scale = max(1.0, float(np.abs([a, b, c, d]).max()))
        over_m, under_m = max(over_m, (ours - true)), max(under_m, (true - ours))
        assert ours - true <= OVERSHOOT_M, f"#{index}: {ours!r} > {true!r} for {(a, b, c, d)}"
        # Below the truth only by rounding, which grows with the coordinates.
        assert true - ours <= 1e-14 * scale, f"#{index}: {ours!r} < {true!r} for {(a, b, c, d)}"
        on_first, on_second = np.array(on_first), np.array(on_second)
        assert abs(float(np.linalg.norm(on_first - on_second)) - ours) <= 1e-12 * scale
        assert point_segment(on_first[None], a, b)[0] <= 1e-12 * scale
        assert point_segment(on_second[None], c, d)[0] <= 1e-12 * scale
    print(f"{family}: {PER_FAMILY} pairs, at most {over_m:.1e} m above and {under_m:.1e} m below the truth")


@pytest.mark.parametrize("turned", [False, True], ids=["axis-aligned", "turned"])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 100.0])
def test_box_distance_is_the_true_one(turned, scale):
    rng = np.random.default_rng([7, int(turned), int(scale)])
    over_m, under_m, met = 0.0, 0.0, 0
    for index in range(600):
        half = scale * rng.uniform(0.02, 1, 3)
        xyz = scale * rng.uniform(-1, 1, 3) if turned else np.zeros(3)
        quat = _random_quat(rng) if turned else np.array([0.0, 0.0, 0.0, 1.0])
        turn = Rotation.from_quat(quat)
        a, b = (turn.apply(end) + xyz for end in segment_near_box(rng, half))
        world = _core.WorldSnapshot(
            np.array([BOX], dtype=np.uint8),
            half[None],
            np.concatenate([xyz, quat])[None],
            id=1,
            stamp_s=0.0,
            in_base_frame=True,
        )
        ours = world.distance(0, np.concatenate([a, b]))[0]
        true = exact_box(a, b, half, xyz, quat)
        met += true == 0.0
        over_m, under_m = max(over_m, ours - true), max(under_m, true - ours)
        assert ours - true <= OVERSHOOT_M, f"#{index}: {ours!r} > {true!r} for {(a, b, half, xyz, quat)}"
        assert true - ours <= 1e-14 * max(scale, 1.0) * 10, (
            f"#{index}: {ours!r} < {true!r} for {(a, b, half, xyz, quat)}"
        )
    print(f"box, scale {scale}: at most {over_m:.1e} m above and {under_m:.1e} m below the truth, {met} meet")
    assert 50 < met < 550


def test_axis_inside_a_box_is_reported_as_its_radius_deep_and_no_deeper():
    world = _core.WorldSnapshot(
        np.array([BOX], dtype=np.uint8),
        np.array([[1.0, 1.0, 1.0]]),
        np.array([[0.0, 0, 0, 0, 0, 0, 1]]),
        id=1,
        stamp_s=0.0,
        in_base_frame=True,
    )
    for depth_m in (0.0, 1e-9, 0.1, 0.9):
        end = np.array([0.0, 0.0, 1.0 - depth_m])
        assert world.distance(0, np.concatenate([end, end + np.array([0.0, 0.0, 1.0])]))[0] == 0.0
