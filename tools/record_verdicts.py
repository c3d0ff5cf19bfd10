# SPDX-License-Identifier: Apache-2.0
"""Records the verdicts of many random checks, or compares them with a recording, byte by byte.

A change of structure must leave every verdict as it was. Record before the change, compare after it:

    python tools/record_verdicts.py record build/verdicts.npz
    python tools/record_verdicts.py compare build/verdicts.npz

With `LASTGATE_SIMD=generic` before the second line it compares two SIMD builds (`make -C benchmarks verdicts`).

The cases are every robot of the library in every control mode it takes, among primitives, points, voxels and zones,
with attached spheres, recovery and declared contacts; and the random robots of tests/attack. A recording keeps a digest
of each verdict's bytes and of the joint path an accepted chunk runs along.
"""

import argparse
import hashlib
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import lastgate as lg
from lastgate.robots import robot_names

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from attack.generate import MODES, random_case
from attack.target import Unbuildable, verdict_of
from fixtures.library_poses import LIBRARY_POSES

NOW_S = 100.0
STEP_S = 0.05
SEED = 2026
# Random robots are made one per case, which takes a hundred times what a check of a loaded robot does.
RANDOM_ROBOT_SHARE = 0.01
# Cases of one robot that share a gate and its attached object; the world changes with each case.
BLOCK = 50
JOINT_MODES = (
    lg.ControlMode.JOINT_POSITION,
    lg.ControlMode.JOINT_TRAJECTORY,
    lg.ControlMode.JOINT_VELOCITY,
    lg.ControlMode.JOINT_TORQUE,
)


def pose(rng: np.random.Generator) -> lg.Pose6D:
    """Returns a place in reach of an arm, turned anyhow."""
    turn = rng.normal(size=4)
    place = (*rng.uniform(-0.9, 0.9, 2), rng.uniform(-0.2, 1.3))
    return lg.Pose6D(xyz=tuple(map(float, place)), quat_xyzw=tuple(map(float, turn / np.linalg.norm(turn))))


def random_world(rng: np.random.Generator) -> lg.World | Any:
    """Returns no world, or one of some kinds of obstacles."""
    if rng.random() < 0.15:
        return lg.NO_WORLD
    shapes = (
        lambda: lg.SphereShape(radius_m=rng.uniform(0.01, 0.15)),
        lambda: lg.CapsuleShape(radius_m=rng.uniform(0.01, 0.1), length_m=rng.uniform(0.05, 0.5)),
        lambda: lg.BoxShape(size_xyz_m=tuple(rng.uniform(0.01, 0.2, 3))),
    )
    primitives = [
        lg.WorldCollisionPrimitive(
            shape=shapes[rng.integers(3)](), pose=pose(rng), object_id=f"thing {index}"
        )
        for index in range(rng.integers(0, 12))
    ]
    points = voxels = None
    if rng.random() < 0.3:
        points = lg.Points(xyz=rng.uniform(-1.0, 1.0, (int(rng.integers(1, 300)), 3)), stamp_s=NOW_S)
    if rng.random() < 0.3:
        occupancy = (rng.random((24, 24, 24)) < 0.002).astype(np.uint8)
        voxels = lg.Voxels(
            occupancy=occupancy,
            origin_xyz=(-1.2, -1.2, -0.6),
            resolution_m=0.1,
            stamp_s=NOW_S,
            outside="free",
        )
    zones = [
        lg.Zone(name=f"zone {index}", shape=shapes[2](), pose=pose(rng))
        for index in range(rng.integers(0, 3) if rng.random() < 0.3 else 0)
    ]
    return lg.World(primitives=primitives, points=points, voxels=voxels, zones=zones, stamp_s=NOW_S)


class LibraryRobot:
    """One robot of the library, and random questions to its gate."""

    def __init__(self, name: str, rng: np.random.Generator) -> None:
        self._robot = lg.load_robot(name)
        self._rng = rng
        self._attached = False
        self.gate = lg.Gate(self._robot, step_s=STEP_S)
        self._joints = {joint.name: joint for joint in self._robot.actuated_joints}
        known = LIBRARY_POSES.get(name)
        home = {} if known is None else known.home
        self._home = np.array([home.get(joint, 0.0) for joint in self.gate.joint_names])
        limits = [self._joints[joint].position_limits or (-3.1, 3.1) for joint in self.gate.joint_names]
        self._low, self._high = np.array(limits).T
        speeds = [self._joints[joint].velocity_limit or 1.0 for joint in self.gate.joint_names]
        self._step = STEP_S * np.array(speeds)
        self._modes = [
            mode
            for mode in lg.ControlMode
            if mode != lg.ControlMode.FOOT_PLACEMENT
            and (self._robot.control_modes is None or mode in self._robot.control_modes)
        ]

    def hold_something(self) -> None:
        """Attaches a sphere to a random link, or detaches it."""
        if self._attached:
            self.gate.detach("cup")
        self._attached = False
        if self._rng.random() < 0.3:
            link = self.gate.link_names[self._rng.integers(len(self.gate.link_names))]
            shape = lg.SphereShape(radius_m=float(self._rng.uniform(0.005, 0.05)))
            place = [*self._rng.uniform(-0.1, 0.1, 3), 0.0, 0.0, 0.0]
            self.gate.attach(link, shape, object_id="cup", origin_xyz_rpy=place, touch_links=[link])
            self._attached = True

    def check(self) -> lg.Verdict:
        """Asks once."""
        rng = self._rng
        mode = (
            self._modes[rng.integers(len(self._modes))]
            if rng.random() < 0.7
            else lg.ControlMode.JOINT_POSITION
        )
        spread = rng.choice([0.02, 0.2, 1.0])
        start = self._home + spread * (rng.uniform(self._low, self._high) - self._home)
        start = np.clip(start, self._low, self._high)
        fingers = [
            np.clip(rng.uniform(-0.1, 0.1), *self._range(name)) for name in self.gate.gripper_joint_names
        ]
        state = lg.RobotState(
            positions=start,
            velocities=rng.uniform(-0.1, 0.1, len(start)) if rng.random() < 0.5 else None,
            gripper_positions=fingers if fingers and rng.random() < 0.7 else None,
            stamp_s=NOW_S,
        )
        chunk = lg.ActionChunk(
            self._rows(mode, start),
            mode=mode,
            ee_name=self.gate.effector_names[0] if self.gate.effector_names else "",
        )
        return self.gate.check(
            chunk,
            state=state,
            world=random_world(rng),
            now_s=NOW_S,
            recovery=bool(rng.random() < 0.15),
            declared_contacts=self._contacts() if rng.random() < 0.15 else (),
        )

    def _range(self, name: str) -> tuple[float, float]:
        return self._joints[name].position_limits or (-0.1, 0.1)

    def _contacts(self) -> list[lg.DeclaredContact]:
        """Lets a few links touch points, voxels and whatever else the region holds."""
        links = self._rng.choice(self.gate.link_names, size=min(3, len(self.gate.link_names)), replace=False)
        return [
            lg.DeclaredContact(
                name="meant",
                links=tuple(str(link) for link in links),
                points=True,
                voxels=True,
                region=lg.BoxShape(size_xyz_m=tuple(self._rng.uniform(0.1, 0.6, 3))),
                region_pose=pose(self._rng),
                expires_s=NOW_S + 10.0,
            )
        ]

    def _rows(self, mode: lg.ControlMode, start: np.ndarray) -> np.ndarray:
        """Returns the array of a chunk: smooth in joint modes, small in the others."""
        rng = self._rng
        count = int(rng.integers(1, 20))
        if mode in JOINT_MODES:
            pace = rng.uniform(-0.9, 0.9, len(start)) * rng.choice([0.05, 0.3, 1.0])
            if mode in (lg.ControlMode.JOINT_VELOCITY, lg.ControlMode.JOINT_TORQUE):
                return np.tile(pace * self._step / STEP_S, (count, 1))
            rows = start + np.arange(1, count + 1)[:, None] * pace * self._step
            return rows if rng.random() < 0.1 else np.clip(rows, self._low, self._high)
        width = mode.row_width(len(start))
        rows = rng.normal(0.0, rng.choice([0.001, 0.01, 0.1]), (count, width))
        if mode == lg.ControlMode.CARTESIAN_POSE:
            rows[:, :4] += [0.0, 0.0, 0.0, 1.0]
            rows[:, :4] /= np.linalg.norm(rows[:, :4], axis=1)[:, None]
        return rows


def digest_of(verdict: lg.Verdict) -> bytes:
    """Returns what must not change: the bytes of the verdict, and the joint path of an accepted chunk."""
    found = hashlib.blake2b(verdict.to_bytes(), digest_size=16)
    if verdict.accepted:
        found.update(np.ascontiguousarray(verdict.joint_rows).tobytes())
        if verdict.path is not None:
            found.update(np.ascontiguousarray(verdict.path).tobytes())
    return found.digest()


def library_verdicts(name: str, count: int) -> Iterator[tuple[str, lg.Verdict]]:
    """Yields labelled verdicts about one robot of the library."""
    robot = LibraryRobot(name, np.random.default_rng([SEED, *name.encode()]))
    for number in range(count):
        if number % BLOCK == 0:
            robot.hold_something()
        yield f"{name} {number}", robot.check()


def random_verdicts(count: int) -> Iterator[tuple[str, lg.Verdict]]:
    """Yields labelled verdicts about random robots, balanced over the modes."""
    for number in range(count):
        mode = MODES[number % len(MODES)]
        case, _resolved = random_case(SEED, number // len(MODES), mode)
        try:
            yield f"random {mode} {number}", verdict_of(case)
        except Unbuildable:
            continue


def run(count: int) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Returns labels, digests and acceptances of all cases."""
    names = robot_names()
    random_count = int(count * RANDOM_ROBOT_SHARE)
    each = -(-(count - random_count) // len(names))
    labels: list[str] = []
    digests: list[bytes] = []
    accepted: list[bool] = []
    told = Counter[str]()
    sources = [(name, library_verdicts(name, each)) for name in names]
    for name, verdicts in [*sources, ("random robots", random_verdicts(random_count))]:
        for label, verdict in verdicts:
            labels.append(label)
            digests.append(digest_of(verdict))
            accepted.append(verdict.accepted)
            told["accepted" if verdict.accepted else str(verdict.violations[0].code)] += 1
        print(f"{name}: {len(labels)} of {count} so far, {sum(accepted)} accepted", file=sys.stderr)
    for code, times in told.most_common():
        print(f"{times:8d} {code}")
    return labels, np.frombuffer(b"".join(digests), dtype="V16"), np.array(accepted)


def compare(path: Path, count: int) -> int:
    """Checks all cases of a recording again; returns how many verdicts differ."""
    with np.load(path) as recorded:
        before, labels_before = recorded["digests"], recorded["labels"]
        count = int(recorded["count"])
    labels, digests, _accepted = run(count)
    if list(labels_before) != labels:
        print("other cases than those of the recording: the robots or the generator changed")
        return max(len(labels), len(labels_before))
    different = np.flatnonzero(before != digests)
    for index in different[:20]:
        print(f"differs: {labels[index]}")
    print(f"{len(labels) - len(different)} of {len(labels)} verdicts are the same to the last byte")
    return len(different)


def main() -> int:
    """Records or compares, as the command line says."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("record", "compare"))
    parser.add_argument("path", type=Path)
    parser.add_argument("--checks", type=int, default=200_000, help="how many to record")
    arguments = parser.parse_args()
    if arguments.what == "compare":
        return 1 if compare(arguments.path, arguments.checks) else 0
    labels, digests, accepted = run(arguments.checks)
    arguments.path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(
        arguments.path, labels=np.array(labels), digests=digests, accepted=accepted, count=arguments.checks
    )
    print(f"{len(labels)} verdicts recorded, {int(accepted.sum())} accepted")
    return 0


if __name__ == "__main__":
    sys.exit(main())
