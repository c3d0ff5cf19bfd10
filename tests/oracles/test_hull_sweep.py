# SPDX-License-Identifier: Apache-2.0
"""The promise of the sweep, both sides, where convex hulls decide.

Accepted: no sample of the hulls is closer than its margin. Rejected: some instant of the hulls, not of the volumes
around them, comes within 0.1 mm of it. The tolerances are those of `sweep_checker.py`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pytest

import lastgate as lg
from lastgate.contracts.convex_hulls import LinkHull
from oracles import library
from oracles.hull_cases import FAT_M, HULLS_FILE, HullChecker, HullSetup
from oracles.numpy_distances import point_box
from oracles.numpy_kinematics import Kinematics
from oracles.sweep_cases import PathMaker, jump, make_case, short_steps, turn


def _margins(robot: lg.RobotDescription) -> list[HullSetup]:
    return [HullSetup(robot), HullSetup(robot, self_margin_m=0.004, world_margin_m=0.01, seed=1)]


@dataclass(frozen=True)
class Family:
    """A kind of motion on a kind of robot, and how many chunks of it are evaluated."""

    setups: Callable[[], Sequence[HullSetup]]
    paths: tuple[PathMaker, ...]
    chunks: int


FAMILIES = {
    "one joint": Family(lambda: _margins(library.one_joint_arm()), (turn, jump, short_steps), 120),
    "planar 3R": Family(
        lambda: _margins(library.planar_arm((0.4, 0.3, 0.25))), (jump, turn, short_steps), 120
    ),
    "scara": Family(lambda: _margins(library.scara()), (jump, turn, short_steps), 100),
    "six joints": Family(lambda: _margins(library.six_joint_arm()), (jump, short_steps), 60),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_hulls_miss_no_violation_and_invent_none(name: str) -> None:
    family, checker = FAMILIES[name], HullChecker()
    setups = family.setups()
    refined = 0
    for index in range(family.chunks):
        rng = np.random.default_rng([20261116, list(FAMILIES).index(name), index])
        setup = setups[index % len(setups)]
        path = family.paths[int(rng.integers(len(family.paths)))]
        case = make_case(rng, setup, path, grazing=0.85, clutter=0.15, draws=4)
        verdict = case.check()
        brute = setup.brute(case.primitives)
        checker.thick = setup.brute_of_volumes(case.primitives)
        label = f"{name} #{index}"
        if verdict.accepted:
            checker.accepted(verdict, brute, case.path, label)
            ends = list(zip(case.path[:-1], case.path[1:], strict=True))
            kinds = ("self", "world")
            refined += any(
                checker.thick.scan(kind, *pair, samples=60).gap_m < 0.0 for pair in ends for kind in kinds
            )
        else:
            checker.rejected(verdict, brute, case.path, label)
    print(f"{checker.summary(name)}; {refined} accepted although their volumes touch")
    rejected = checker.counts["rejected self"] + checker.counts["rejected world"]
    assert checker.counts["chunks accepted"] >= 0.1 * family.chunks
    assert rejected >= 0.1 * family.chunks
    # Otherwise the volumes decided everything and nothing was said about hulls.
    assert refined >= 0.05 * family.chunks
    assert (
        checker.counts["rejected inside the 0.1 mm band"] + checker.counts["rejected by less than 1 mm"] > 0
    )
    assert checker.counts["budget_exceeded"] <= 0.02 * family.chunks


HALF_M = np.array([0.12, 0.03, 0.02])


def _boxed_arm(margin_m: float) -> lg.RobotDescription:
    """Returns the six-joint arm whose last three links are boxes inside fat capsules."""
    robot = library.six_joint_arm()
    links = [geometry.link_name for geometry in robot.collision_geometry][-3:]
    vertices = tuple(
        (float(a * HALF_M[0]), float(b * HALF_M[1]), float(c * HALF_M[2]))
        for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)
    )  # fmt: skip
    around = {"shape": "sphere", "radius_m": float(np.linalg.norm(HALF_M)) + FAT_M}
    volumes = [{"link_name": link, "shape": around, "origin_xyz_rpy": [0.0] * 6} for link in links]
    bare = [
        {"link": joint.child_link, "reason": "left out"}
        for joint in robot.joints
        if joint.child_link not in links
    ]
    pairs = [
        {"link_a": a, "link_b": b, "reason": "proved-never"}
        for index, a in enumerate(links)
        for b in links[index + 1 :]
    ]
    named = lg.RobotDescription(
        **{
            **robot.model_dump(),
            "collision_geometry": volumes,
            "coverage_waivers": bare,
            "allowed_collision_pairs": pairs,
            "convex_pieces": HULLS_FILE,
        }
    )
    named = named.with_loaded_hulls(tuple(LinkHull(link, 0.0, vertices) for link in dict.fromkeys(links)))
    return library.with_safety(named, world_collision_margin_m=margin_m)


def _gap_m(kinematics: Kinematics, rows: np.ndarray, links: list[str], spheres: np.ndarray) -> np.ndarray:
    """Returns, per configuration, how far the nearest box is from the nearest sphere."""
    frames = kinematics.frames(rows)
    least = np.full(len(rows), np.inf)
    for link in links:
        origin = frames.place(link, np.zeros(3))
        axes = np.stack([frames.place(link, axis) - origin for axis in np.eye(3)], axis=-1)
        for sphere in spheres:
            local = np.einsum("nij,ni->nj", axes, sphere[:3] - origin)
            least = np.minimum(least, point_box(local, HALF_M) - sphere[3])
    return least


@pytest.mark.parametrize("margin_m", [0.0, 0.01])
def test_boxes_among_spheres_miss_no_violation_and_invent_none(margin_m: float) -> None:
    robot = _boxed_arm(margin_m)
    gate = lg.Gate(robot, step_s=1.0)
    kinematics = Kinematics(robot)
    links = list(dict.fromkeys(hull.link_name for hull in robot.loaded_hulls))
    rng = np.random.default_rng([3, int(margin_m * 1000)])
    counts = {"accepted": 0, "rejected": 0, "band": 0}
    for _ in range(90):
        start = rng.uniform(-2.0, 2.0, gate.n_dof)
        end = start + rng.uniform(-0.6, 0.6, gate.n_dof)
        t = np.linspace(0.0, 1.0, 2000)[:, None]
        path = start + t * (end - start)
        middle = kinematics.frames(path[[int(rng.integers(2000))]]).place(
            links[-1], rng.uniform(-0.3, 0.3, 3)
        )[0]
        sphere = np.array([[*middle, rng.uniform(0.01, 0.06)]])
        # Grown until it grazes: what is left to decide is a fraction of a millimetre.
        sphere[0, 3] = max(
            sphere[0, 3]
            + float(_gap_m(kinematics, path, links, sphere).min())
            - margin_m
            - rng.normal(0.0, 5e-4),
            0.005,
        )
        gaps = _gap_m(kinematics, path, links, sphere) - margin_m
        around = int(gaps.argmin())
        fine = np.clip(np.linspace(t[max(around - 1, 0)], t[min(around + 1, 1999)], 4000), 0.0, 1.0)
        gap_m = float((_gap_m(kinematics, start + fine * (end - start), links, sphere) - margin_m).min())
        shape = lg.SphereShape(radius_m=float(sphere[0, 3]))
        obstacle = lg.WorldCollisionPrimitive(shape=shape, pose=lg.Pose6D(xyz=tuple(sphere[0, :3])))
        verdict = gate.check(
            lg.ActionChunk(end[None]),
            state=lg.RobotState(positions=start, stamp_s=0.0),
            world=lg.World(primitives=[obstacle], stamp_s=0.0),
            now_s=0.0,
        )
        if verdict.accepted:
            counts["accepted"] += 1
            assert gap_m >= -1e-9
        else:
            (violation,) = verdict.violations
            if violation.code == lg.ViolationCode.budget_exceeded:
                continue
            assert violation.code == lg.ViolationCode.world_collision, violation.sentence()
            counts["rejected"] += 1
            counts["band"] += gap_m > 0.0
            assert gap_m <= 1e-4
    print(counts)
    assert min(counts["accepted"], counts["rejected"]) >= 20
