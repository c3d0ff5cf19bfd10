# SPDX-License-Identifier: Apache-2.0
"""Lets an obstacle appear in the way of a motion that was accepted: is it stopped for, wherever it could have been?

The motion is checked again when the new world arrives (`lastgate.gate.recheck`), and stopped if that rejects it.
`python -m stops.pop_up --episodes 10000` prints the counts.
"""

import argparse
import json
from dataclasses import asdict, dataclass

import numpy as np

import lastgate as lg
from lastgate.gate.recheck import recheck
from stops.cut_stream import OBSTACLE, ROBOTS, STEP_S, TICK_S, Stage


@dataclass
class PopUps:
    """What became of the episodes in which the motion had been accepted without the obstacle."""

    episodes: int = 0
    stopped: int = 0
    went_on: int = 0
    contacts: int = 0
    contacts_avoidable: int = 0
    contacts_without_recheck: int = 0


def episode(stage: Stage, counts: PopUps) -> bool:
    """Runs one episode, if the motion is accepted while nothing is in its way."""
    start = stage.start()
    path = np.vstack([start, stage.chunk(start)])
    columns = stage.columns
    fingers = [stage.names.index(name) for name in stage.gate.gripper_joint_names]
    gripper = start[fingers] if fingers else None

    def measured(place, stamp_s):
        positions = np.ascontiguousarray(place[columns])
        return lg.RobotState(positions=positions, gripper_positions=gripper, stamp_s=stamp_s)

    rows = np.ascontiguousarray(path[1:, columns])
    verdict = stage.gate.check(
        lg.ActionChunk(rows),
        state=measured(start, 0.0),
        world=lg.World(primitives=[], stamp_s=0.0),
        now_s=0.0,
    )
    if not verdict.accepted:
        return False
    end_s = len(rows) * STEP_S
    # A tick at which the driver hears of it; the last one would only repeat the end of the stream.
    appears_s = TICK_S * int(stage.random.integers(1, round(end_s / TICK_S)))
    world = stage.world_near(path, stage.law, stamp_s=appears_s)
    place = np.array([np.interp(appears_s, STEP_S * np.arange(len(path)), column) for column in path.T])
    if stage.mujoco.touches(place):
        return False  # it appeared inside the robot
    running = lg.RunningMotion(rows, started_s=0.0, start=np.ascontiguousarray(path[0, columns]))
    again = recheck(stage.gate, running, state=measured(place, appears_s), world=world, now_s=appears_s)
    # The oracle simulates both: what a stop from this moment touches, and what going on to the end touches.
    stopping, _ = stage.cut(path, "e-stop", appears_s / end_s)
    going_on = stage.sweep(path, appears_s) or stage.cut(path, "stream ends", 1.0)[0]
    touched = going_on if again.accepted else stopping
    counts.episodes += 1
    counts.stopped += not again.accepted
    counts.went_on += again.accepted
    counts.contacts += touched
    counts.contacts_avoidable += touched and not stopping
    counts.contacts_without_recheck += going_on
    return True


def run(episodes: int, *, seed: int) -> PopUps:
    """Runs so many episodes with the robots by turns."""
    generator = np.random.default_rng(seed)
    stages = [Stage(name, generator) for name in ROBOTS]
    counts, turn = PopUps(), 0
    while counts.episodes < episodes:
        episode(stages[turn % len(stages)], counts)
        turn += 1
        stages[(turn - 1) % len(stages)].mujoco.move_solid(OBSTACLE, np.full(3, 50.0), 0.05)
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    counts = run(arguments.episodes, seed=arguments.seed)
    print(json.dumps(asdict(counts), indent=2))
    raise SystemExit(bool(counts.contacts_avoidable))


if __name__ == "__main__":
    main()
