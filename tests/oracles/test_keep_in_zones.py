# SPDX-License-Identifier: Apache-2.0
"""Keep-in zones against sampling every segment 2,000 times.

Compared: the verdict with the depth of every moving volume inside every zone. Reference: NumPy on the definition of
each shape (slabs of a box, radius of a sphere, side of a plane), at both ends of each capsule axis. Tolerances as in
`sweep_checker.py`: accepted, no sample is out by more than 1e-9 m; rejected, some instant comes within 0.1 mm.
"""

import itertools

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import lastgate as lg
from oracles import library
from oracles.brute_force import SAMPLES, BruteForce
from oracles.sweep_cases import Held, Setup, jump, short_steps, turn
from oracles.sweep_checker import BAND_M, MISSED_M, SAME_M

CHUNKS = 60
MARGIN_M = 0.01
STICK = (Held("link3", lg.CapsuleShape(radius_m=0.01, length_m=0.3), (0.3, 0.0, 0.0, 0.0, 1.2, 0.0)),)


def depth_m(zone: lg.KeepInZone, points: np.ndarray) -> np.ndarray:
    """Returns how far points are inside a zone's surface; negative outside, where only the sign is exact."""
    rotation = Rotation.from_quat(zone.pose.quat_xyzw).as_matrix()
    local = (points - np.array(zone.pose.xyz)) @ rotation
    match zone.shape:
        case lg.BoxShape():
            return (np.array(zone.shape.size_xyz_m) / 2 - np.abs(local)).min(axis=-1)
        case lg.SphereShape():
            return zone.shape.radius_m - np.linalg.norm(local, axis=-1)
        case lg.HalfSpaceShape():
            return -local[..., 2]
    raise AssertionError(zone.shape)


class Zoned:
    """A robot whose gate keeps it inside zones that its paths graze."""

    def __init__(self, rng: np.random.Generator, setup: Setup, path: np.ndarray) -> None:
        self.setup, self.path = setup, path
        self.brute: BruteForce = setup.brute_without_world
        base = setup.kinematics.robot.base_frame
        self.moving = [
            i for i, v in enumerate(self.brute.volumes) if setup.kinematics.rigid_with[v.link] != base
        ]
        self.zones = self._draw(rng)
        robot = library.with_safety(
            setup.gate.robot, keep_in_zones=self.zones, world_collision_margin_m=MARGIN_M
        )
        self.gate = library.gate_of(robot)
        for held in setup.gate.attached:
            self.gate.attach(
                held.link,
                held.shape,
                object_id=held.object_id,
                origin_xyz_rpy=held.origin_xyz_rpy,
                touch_links=held.touch_links,
            )

    def gaps(self, zone: lg.KeepInZone, start: np.ndarray, end: np.ndarray, t: np.ndarray) -> np.ndarray:
        """Returns depth minus radius, (moving volumes, instants)."""
        a, b = self.brute.capsule_axes(self.brute.frames_at(start, end, t))
        radii = np.array([self.brute.volumes[i].radius_m for i in self.moving])
        return np.minimum(depth_m(zone, a), depth_m(zone, b))[self.moving] - radii[:, None]

    def least(self, start: np.ndarray, end: np.ndarray) -> float:
        """Returns the least depth minus margin over all zones, volumes and instants, refined."""
        t = np.linspace(0.0, 1.0, SAMPLES)
        best = np.inf
        for zone in self.zones:
            gaps = self.gaps(zone, start, end, t).min(axis=0)
            centre, width = t[gaps.argmin()], 1.0 / (SAMPLES - 1)
            fine = np.clip(np.linspace(centre - width, centre + width, 201), 0.0, 1.0)
            best = min(best, gaps.min(), self.gaps(zone, start, end, fine).min())
        return float(best) - MARGIN_M

    def _draw(self, rng: np.random.Generator) -> list[lg.KeepInZone]:
        """Returns one or two zones whose walls the path nearly touches, or just leaves."""
        ends = list(itertools.pairwise(self.path))
        t = np.linspace(0.0, 1.0, 60)
        zones = []
        for number in range(int(rng.integers(1, 3))):
            pose = {
                "xyz": (0.2 * rng.normal(size=3)).tolist(),
                "quat_xyzw": Rotation.random(random_state=rng).as_quat().tolist(),
            }
            gap_m = float(rng.choice([3e-3, 3e-4, 5e-5, -3e-4, -3e-3]))
            kind = rng.choice(["box", "sphere", "half_space"])
            # A zone of size zero tells how large one must be for the path to fit.
            if kind == "half_space":
                unit = lg.KeepInZone(name="u", shape={"shape": "half_space"}, pose=pose)
                out_m = max(-float(self.gaps(unit, *pair, t).min()) for pair in ends) + MARGIN_M + gap_m
                normal = Rotation.from_quat(pose["quat_xyzw"]).as_matrix()[:, 2]
                pose["xyz"] = (np.array(pose["xyz"]) + out_m * normal).tolist()
                shape = {"shape": "half_space"}
            elif kind == "sphere":
                unit = lg.KeepInZone(name="u", shape={"shape": "sphere", "radius_m": 1e-9}, pose=pose)
                out_m = max(-float(self.gaps(unit, *pair, t).min()) for pair in ends) + MARGIN_M + gap_m
                shape = {"shape": "sphere", "radius_m": out_m}
            else:
                unit = lg.KeepInZone(name="u", shape={"shape": "box", "size_xyz_m": [1e-9] * 3}, pose=pose)
                out_m = max(-float(self.gaps(unit, *pair, t).min()) for pair in ends) + MARGIN_M + gap_m
                shape = {"shape": "box", "size_xyz_m": [2 * out_m] * 3}
            zones.append(lg.KeepInZone(name=f"zone{number}", shape=shape, pose=pose))
        return zones


ROBOTS = {
    "one joint": (lambda: Setup(library.one_joint_arm()), (jump, turn, short_steps)),
    "planar 3R with a stick": (
        lambda: Setup(library.planar_arm((0.4, 0.3, 0.25)), held=STICK),
        (jump, short_steps),
    ),
    "scara": (lambda: Setup(library.scara()), (jump, short_steps)),
    "six joints": (lambda: Setup(library.six_joint_arm()), (jump, short_steps)),
}


@pytest.mark.parametrize("name", ROBOTS)
def test_no_way_out_of_a_zone_is_missed_and_none_is_invented(name):
    make_setup, paths = ROBOTS[name]
    setup = make_setup()
    accepted = rejected = 0
    for index in range(CHUNKS):
        rng = np.random.default_rng([20260613, list(ROBOTS).index(name), index])
        case = Zoned(rng, setup, paths[int(rng.integers(len(paths)))](rng, setup))
        rows, _ = setup.rows_of(case.path)
        state = lg.RobotState(positions=rows[0], stamp_s=0.0)
        verdict = case.gate.check(lg.ActionChunk(rows[1:]), state=state, world=lg.NO_WORLD, now_s=0.0)
        ends = list(itertools.pairwise(case.path))
        if verdict.accepted:
            accepted += 1
            least_m = min(case.least(*pair) for pair in ends)
            assert least_m >= -MISSED_M, f"{name} #{index}: MISSED by {-least_m:.3e} m"
            assert verdict.min_clearance_m <= least_m + MISSED_M
            continue
        (violation,) = verdict.violations
        if violation.code != "keep_in_zone":
            assert violation.code in ("self_collision", "budget_exceeded")
            continue
        rejected += 1
        assert all(case.least(*pair) >= -MISSED_M for pair in ends[: violation.step])
        assert case.least(*ends[violation.step]) <= BAND_M, f"{name} #{index}: FALSE REJECTION"
        zone = next(zone for zone in case.zones if zone.name == violation.against)
        gaps = case.gaps(zone, *ends[violation.step], np.array([violation.segment_t]))[:, 0]
        own = [
            gap
            for gap, i in zip(gaps, case.moving, strict=True)
            if case.brute.volumes[i].name == violation.subject
        ]
        if violation.value > 0.0:  # outside a box's vertex the reference knows only the sign
            assert min(abs(gap - violation.value) for gap in own) < SAME_M
        assert violation.value <= MARGIN_M + BAND_M
    print(f"{name}: {accepted} accepted, {rejected} rejected")
    assert accepted >= CHUNKS // 10
    assert rejected >= CHUNKS // 10
