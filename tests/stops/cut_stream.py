# SPDX-License-Identifier: Apache-2.0
"""Cuts the stream of accepted chunks anywhere, near obstacles: does the robot come to rest where that was certified?

The driver is the one that real arms have (`DriverLogic`, with the declared stop); the arm follows it exactly, and
MuJoCo says what touches. Each chunk is checked twice: by the gate of the robot, and by one that knows of no stop.
`python -m stops.cut_stream --cuts 100000 --log FILE` goes on where the file ends.
"""

import argparse
import json
import time
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import lastgate as lg
from lastgate.contracts import ControlMode, Pose6D, SphereShape, WorldCollisionPrimitive
from lastgate.integrations.declared_stop import StopLaw
from lastgate.integrations.driver import AcceptedChunk, DriverLogic
from lastgate.kernel.client import KernelState
from stops.declared import with_stop
from stops.mujoco_robot import MujocoRobot

Array = NDArray[np.float64]

# An arm with a tool, two arms, the upper body of a humanoid, SO-101, an arm on a mobile base.
ROBOTS = ("franka_panda", "openarm", "h1", "so101_follower", "panda_mobile")
CUTS = ("stream ends", "e-stop", "kernel killed", "state stale")
STEP_S, TICK_S = 0.02, 0.004
# Joints of a humanoid that stand while it works with its upper body.
STANDING = ("hip", "leg", "knee", "ankle")
OBSTACLE = "obstacle"
# Numbers of the driver and of the gate are added up in another order.
ROUNDING = 1e-6


@dataclass(frozen=True)
class Cut:
    """One cut: what was cut where, whether the gate had certified the stop, and how it ended."""

    robot: str
    kind: str
    phase: float
    certified: bool
    touched: bool
    beyond: float  # How much farther a joint went than certified; negative where it stayed within.


class Stage:
    """One robot, its gate with and without the declared stop, and the same robot in MuJoCo."""

    def __init__(self, name: str, generator: np.random.Generator) -> None:
        robot = with_stop(lg.load_robot(name))
        self.name, self.random = name, generator
        self.law = StopLaw.of(robot)
        self.gate = lg.Gate(robot, step_s=STEP_S)
        self.bare_gate = lg.Gate(robot.model_copy(update={"stop": None}), step_s=STEP_S)
        self.mujoco = MujocoRobot(robot, [_sphere((50.0, 50.0, 50.0), 0.05)])
        self.names = [joint.name for joint in robot.actuated_joints]
        self.columns = [self.names.index(joint) for joint in self.gate.joint_names]
        specs = {joint.name: joint for joint in robot.joints}
        limits = [specs[name].position_limits or (-np.pi, np.pi) for name in self.names]
        self.low, self.high = np.array(limits).T
        self.speed = np.array([specs[name].velocity_limit for name in self.names])
        stands = [any(word in name for word in STANDING) for name in self.names]
        in_steps = [name in self.gate.joint_names for name in self.names]
        self.moves = np.array(in_steps) & ~np.array(stands)

    def start(self) -> Array:
        """Returns a configuration that touches nothing; what does not move is at zero, fingers half open."""
        self.mujoco.move_solid(OBSTACLE, np.full(3, 50.0), 0.05)
        middle = np.clip(0.0, self.low, self.high)
        for _ in range(200):
            span = self.random.uniform(0.2, 0.8, len(self.names))
            found = np.where(self.moves, self.low + span * (self.high - self.low), middle)
            fingers = [name not in self.gate.joint_names for name in self.names]
            found = np.where(fingers, 0.5 * (self.low + self.high), found)
            if not self.mujoco.touches(found):
                return found
        raise RuntimeError(f"{self.name}: no clear configuration")

    def chunk(self, start: Array) -> Array:
        """Returns rows that go on with a velocity which turns slowly, up to the limits."""
        steps = int(self.random.integers(4, 17))
        share = self.random.uniform(-1.0, 1.0, (2, len(self.names))) * self.random.uniform(0.2, 0.7)
        blend = np.linspace(0.0, 1.0, steps)[:, None]
        velocities = (
            ((1.0 - blend) * share[0] + blend * (0.7 * share[0] + 0.3 * share[1])) * self.speed * self.moves
        )
        return start + np.cumsum(velocities * STEP_S, axis=0)

    def world_near(self, path: Array, law: StopLaw, *, stamp_s: float = 0.0) -> lg.World:
        """Returns a sphere ahead of some part of the robot: within its way, or within what a stop still needs."""
        velocity = (path[-1] - path[-2]) / STEP_S
        ahead_s = law.reaction_s + 0.5 * float((np.abs(velocity[self.columns]) / law.deceleration).max())
        geom = self.mujoco.part(self.random)
        before, reach = self.mujoco.part_at(geom, path[-1])
        place = path[-1] + self.random.uniform(0.0, 1.3) * ahead_s * velocity
        after, _ = self.mujoco.part_at(geom, np.clip(place, self.low, self.high))
        way = after - before
        ahead = way / max(float(np.linalg.norm(way)), 1e-9) + self.random.normal(scale=0.5, size=3)
        radius = self.random.uniform(0.03, 0.08)
        apart = reach * self.random.uniform(0.0, 1.0) + radius + self.random.uniform(-0.02, 0.03)
        centre = after + ahead / np.linalg.norm(ahead) * apart
        self.mujoco.move_solid(OBSTACLE, centre, radius)
        return lg.World(primitives=[_sphere(tuple(centre), radius)], stamp_s=stamp_s)

    def cut(self, path: Array, kind: str, phase: float) -> tuple[bool, Array]:
        """Returns whether anything touches after a cut, and how far the joints go from there."""
        rows = path[1:, self.columns]
        logic = DriverLogic(step_s=STEP_S, law=self.law)
        logic.take(
            AcceptedChunk(sequence=1, origin=0, rows=rows, mode=ControlMode.JOINT_POSITION, arrived_s=0.0)
        )
        end_s = len(rows) * STEP_S
        cut_s = end_s if kind == "stream ends" else phase * end_s
        follower = Follower(path[0, self.columns])
        touched, asked_at, tick = False, None, 0
        while True:
            now_s = tick * TICK_S
            how = {"kernel_alive": True, "state": KernelState.ACTIVE, "stopped_at": 0}
            if now_s >= cut_s:
                how |= {
                    "stream ends": {},
                    "e-stop": {"state": KernelState.LATCHED},
                    "kernel killed": {"kernel_alive": False},
                    "state stale": {"stopped_at": 1},
                }[kind]
            found = logic.row_at(now_s=now_s, measured=path[0, self.columns], **how)
            if found is not None:
                follower.lead(found[0], now_s)
            else:
                # Where the robot was when the stop was asked for.
                asked_at = follower.at(now_s) if asked_at is None else asked_at
                braking = logic.braking()
                if braking is None:
                    return touched, np.abs(follower.at(now_s) - asked_at)
                follower.follow(braking[0], now_s)
                touched = touched or self.mujoco.touches(self._whole(path[0], follower.at(now_s)))
            tick += 1

    def sweep(self, path: Array, from_s: float) -> bool:
        """Returns whether the way from a moment to the last step touches anything."""
        times = np.arange(from_s, (len(path) - 1) * STEP_S, TICK_S / 2.0)
        grid = STEP_S * np.arange(len(path))
        places = np.stack([np.interp(times, grid, column) for column in path.T], axis=1)
        return any(self.mujoco.touches(place) for place in places)

    def _whole(self, start: Array, row: Array) -> Array:
        whole = start.copy()
        whole[self.columns] = row
        return whole


class Follower:
    """A controller that goes straight from step to step within their time, and follows what brakes as it comes."""

    def __init__(self, start: Array) -> None:
        self._from = self._to = start
        self._since_s = -1.0

    def lead(self, row: Array, now_s: float) -> None:
        if not np.array_equal(row, self._to):
            self._from, self._to, self._since_s = self.at(now_s), row, now_s

    def follow(self, point: Array, now_s: float) -> None:
        # Until the last step is reached the way there goes on.
        if now_s - self._since_s >= STEP_S - 1e-9:
            self._from = self._to = point

    def at(self, now_s: float) -> Array:
        share = min((now_s - self._since_s) / STEP_S, 1.0)
        return self._from + share * (self._to - self._from)


def _sphere(xyz: tuple[float, float, float], radius: float) -> WorldCollisionPrimitive:
    return WorldCollisionPrimitive(
        shape=SphereShape(shape="sphere", radius_m=radius), pose=Pose6D(xyz=xyz), object_id=OBSTACLE
    )


def cuts_of_one_chunk(stage: Stage, *, cuts: int) -> tuple[list[Cut], Counter]:
    """Checks one random chunk near an obstacle twice, and cuts it where either gate accepted it."""
    start = stage.start()
    path = np.vstack([start, stage.chunk(start)])
    world = stage.world_near(path, stage.law)
    fingers = [stage.names.index(name) for name in stage.gate.gripper_joint_names]
    state = lg.RobotState(
        positions=np.ascontiguousarray(start[stage.columns]),
        gripper_positions=start[fingers] if fingers else None,
        stamp_s=0.0,
    )
    rows = lg.ActionChunk(np.ascontiguousarray(path[1:, stage.columns]))
    bare = stage.bare_gate.check(rows, state=state, world=world, now_s=0.0)
    verdict = stage.gate.check(rows, state=state, world=world, now_s=0.0)
    counts = Counter(chunks=1, clear=int(bare.accepted), accepted=int(verdict.accepted))
    assert bare.accepted or not verdict.accepted, "a gate that checks more accepted more"
    if not bare.accepted:
        return [], counts
    done = []
    for index in range(cuts):
        kind = CUTS[index % len(CUTS)]
        phase = float(stage.random.uniform())
        touched, gone = stage.cut(path, kind, phase)
        beyond = -np.inf
        if verdict.accepted:
            assert verdict.stop_certified
            beyond = float((gone - verdict.stop_distance).max())
        done.append(Cut(stage.name, kind, phase, verdict.accepted, touched, beyond))
    return done, counts


@dataclass
class Tally:
    """What was counted; the words are those of the report."""

    cuts: int = 0
    certified: int = 0
    contacts_certified: int = 0
    beyond_certified: int = 0
    contacts_without_check: int = 0
    chunks: int = 0
    clear: int = 0
    accepted: int = 0
    farthest_beyond: float = -np.inf

    def add(self, cut: Cut) -> None:
        self.cuts += 1
        self.contacts_without_check += cut.touched
        if cut.certified:
            self.certified += 1
            self.contacts_certified += cut.touched
            self.beyond_certified += cut.beyond > ROUNDING
            self.farthest_beyond = max(self.farthest_beyond, cut.beyond)


def run(cuts: int, *, seed: int, tally: Tally, progress=None) -> Tally:
    """Cuts chunks of the robots by turns until so many certified cuts were made."""
    generator = np.random.default_rng(seed)
    stages = [Stage(name, generator) for name in ROBOTS]
    turn = 0
    while tally.certified < cuts:
        done, counts = cuts_of_one_chunk(stages[turn % len(stages)], cuts=8)
        for cut in done:
            tally.add(cut)
        tally.chunks += counts["chunks"]
        tally.clear += counts["clear"]
        tally.accepted += counts["accepted"]
        turn += 1
        if progress is not None:
            progress(tally)
    return tally


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--cuts", type=int, default=100_000, help="Certified cuts to make, those of the log included."
    )
    parser.add_argument("--log", type=Path, default=Path("build/stops.json"))
    arguments = parser.parse_args()
    saved = json.loads(arguments.log.read_text()) if arguments.log.is_file() else {"rounds": 0, "tally": {}}
    tally, last_s = Tally(**saved["tally"]), time.monotonic()
    while tally.certified < arguments.cuts:
        # A round is what an interruption may lose; each has a seed of its own.
        run(min(tally.certified + 1000, arguments.cuts), seed=saved["rounds"], tally=tally)
        saved = {"rounds": saved["rounds"] + 1, "tally": asdict(tally)}
        arguments.log.parent.mkdir(parents=True, exist_ok=True)
        arguments.log.write_text(json.dumps(saved))
        print(f"{tally.certified} of {arguments.cuts} cuts, {time.monotonic() - last_s:.0f} s", flush=True)
    print(json.dumps(asdict(tally), indent=2))
    raise SystemExit(bool(tally.contacts_certified or tally.beyond_certified))


if __name__ == "__main__":
    main()
