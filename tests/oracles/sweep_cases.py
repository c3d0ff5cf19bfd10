# SPDX-License-Identifier: Apache-2.0
"""Random paths and worlds for the sweep oracle: short steps, jumps, whole turns, swaps, grazing obstacles."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import lastgate as lg
from oracles.brute_force import BruteForce, Volume, volume_of
from oracles.library import gate_of, with_safety
from oracles.numpy_kinematics import Kinematics
from oracles.pinocchio_model import random_configurations
from oracles.scenes import grazing_gap_m, grazing_obstacle, random_obstacle
from oracles.sweep_checker import full_rows

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Held:
    """Something the robot holds while a family runs."""

    link: str
    shape: lg.SphereShape | lg.CapsuleShape
    xyz_rpy: tuple[float, ...]
    touch: tuple[str, ...] = ()


class Setup:
    """One robot behind one gate, with its margins and what it holds."""

    def __init__(
        self,
        robot: lg.RobotDescription,
        *,
        self_margin_m: float = 0.0,
        world_margin_m: float = 0.0,
        held: Sequence[Held] = (),
        seed: int = 0,
    ) -> None:
        robot = with_safety(
            robot, self_collision_margin_m=self_margin_m, world_collision_margin_m=world_margin_m
        )
        self.gate = gate_of(robot)
        self.kinematics = Kinematics(robot)
        self.margins = {"self_margin_m": self_margin_m, "world_margin_m": world_margin_m}
        self.held: list[Volume] = []
        for number, item in enumerate(held):
            self.gate.attach(
                item.link,
                item.shape,
                object_id=f"held{number}",
                origin_xyz_rpy=item.xyz_rpy,
                touch_links=item.touch,
            )
            touch = frozenset({item.link, *item.touch})
            self.held.append(
                volume_of(f"held{number}", item.link, item.shape, item.xyz_rpy, held=True, touch=touch)
            )
        self.brute_without_world = self.brute(())
        self.reach_m = _reach_m(self)
        self.clear = self._clear_configurations(seed)

    def brute(self, primitives: Sequence[lg.WorldCollisionPrimitive]) -> BruteForce:
        """Returns the slow program for this robot in a world."""
        return BruteForce(self.kinematics, primitives, held=self.held, **self.margins)

    def _clear_configurations(self, seed: int) -> Array:
        """Full configurations free of self-collision: paths that begin in one say more than paths that
        cannot.
        """
        rng = np.random.default_rng([99, seed])
        found = random_configurations(self.gate.robot, rng, 600, turns=1.0)
        brute = self.brute_without_world
        a, b = brute.capsule_axes(self.kinematics.frames(found))
        gaps = [brute.distance("self", pair, a, b) - brute.margin_m["self"] for pair in brute.self_pairs]
        clear = found[np.min(gaps, axis=0) > 0.0] if gaps else found
        assert len(clear) >= 10, "the robot is almost always in collision with itself"
        return clear

    def rows_of(self, full: Array) -> tuple[Array, Array]:
        """Returns the row part and the gripper part of full configurations."""
        names = [j.name for j in self.gate.robot.actuated_joints]
        rows = full[:, [names.index(name) for name in self.gate.joint_names]]
        return np.ascontiguousarray(rows), np.ascontiguousarray(
            full[:, [names.index(n) for n in self.gate.gripper_joint_names]]
        )


def _reach_m(setup: Setup) -> float:
    configurations = random_configurations(setup.gate.robot, np.random.default_rng(5), 300, turns=1.0)
    a, b = setup.brute_without_world.capsule_axes(setup.kinematics.frames(configurations))
    return float(np.abs(np.concatenate([a, b])).max())


@dataclass(frozen=True)
class Case:
    """One chunk in one world."""

    setup: Setup
    path: Array  # full configurations, the measured one first
    primitives: tuple[lg.WorldCollisionPrimitive, ...]

    def check(self, *, rows: int | None = None) -> lg.Verdict:
        """Asks the gate about the first rows of the path, or all."""
        path, grippers = self.setup.rows_of(self.path)
        state = lg.RobotState(
            positions=path[0], gripper_positions=grippers[0] if grippers.size else None, stamp_s=0.0
        )
        world = lg.World(primitives=self.primitives, stamp_s=0.0) if self.primitives else lg.NO_WORLD
        return self.setup.gate.check(lg.ActionChunk(path[1:][:rows]), state=state, world=world, now_s=0.0)


PathMaker = Callable[[np.random.Generator, Setup], Array]


def _walk(rng: np.random.Generator, setup: Setup, step: float) -> Array:
    rows = int(rng.choice([1, 1, 1, 2, 4]))
    start = setup.clear[rng.integers(len(setup.clear))]
    lower, upper = setup.kinematics.lower, setup.kinematics.upper
    path = [start]
    for _ in range(rows):
        path.append(np.clip(path[-1] + rng.uniform(-step, step, len(start)), lower, upper))
    return np.array(path)


def short_steps(rng: np.random.Generator, setup: Setup) -> Array:
    """Returns one to four rows of up to 0.15 rad or m per joint."""
    return _walk(rng, setup, 0.15)


def jump(rng: np.random.Generator, setup: Setup) -> Array:
    """Returns one segment between two configurations that have nothing to do with each other."""
    return setup.clear[rng.integers(len(setup.clear), size=2)]


def turn(rng: np.random.Generator, setup: Setup) -> Array:
    """Returns a half or a whole turn of every joint that can go round, the others nearly still."""
    start = setup.clear[rng.integers(len(setup.clear))]
    end = start + rng.uniform(-0.02, 0.02, len(start))
    endless = setup.kinematics.upper - setup.kinematics.lower > 12.0
    end[endless] = start[endless] + rng.choice([-2 * np.pi, -np.pi, np.pi, 2 * np.pi], int(endless.sum()))
    return np.clip(np.array([start, end]), setup.kinematics.lower, setup.kinematics.upper)


def swap(rng: np.random.Generator, setup: Setup) -> Array:
    """Returns two mirrored arms that change places: each goes to the mirror image of where the other was."""
    start = setup.clear[rng.integers(len(setup.clear))].copy()
    left, right = start[1:4].copy(), start[4:7].copy()
    mirror = np.array([-1.0, -1.0, 1.0])
    end = np.concatenate([-start[:1], mirror * right, mirror * left])
    return np.array([start, end])


def make_case(
    rng: np.random.Generator,
    setup: Setup,
    make_path: PathMaker,
    *,
    grazing: float,
    clutter: float,
    draws: int,
) -> Case:
    """Returns a path with, mostly, an obstacle that grazes it, and sometimes others anywhere.

    Deep collisions are easy to find and take nothing to refuse, so a case that forty samples already see
    colliding by more than 3 mm is drawn again, `draws` times in all.
    """
    for _ in range(draws):
        case = _draw_case(rng, setup, make_path, grazing=grazing, clutter=clutter)
        brute = setup.brute(case.primitives)
        ends = list(zip(case.path[:-1], case.path[1:], strict=True))
        if draws > 1 and all(
            brute.scan(kind, *pair, samples=40).gap_m > -3e-3 for pair in ends for kind in ("self", "world")
        ):
            break
    return case


def _draw_case(
    rng: np.random.Generator, setup: Setup, make_path: PathMaker, *, grazing: float, clutter: float
) -> Case:
    full = make_path(rng, setup)
    if setup.gate.gripper_joint_names:  # grippers stand still in joint modes
        rows, grippers = setup.rows_of(full)
        full = full_rows(setup.gate, rows, np.broadcast_to(grippers[:1], grippers.shape))
    obstacles = []
    if rng.random() < grazing:
        segment = int(rng.integers(len(full) - 1))
        found = grazing_obstacle(
            rng,
            setup.kinematics,
            setup.brute_without_world,
            full[segment],
            full[segment + 1],
            gap_m=grazing_gap_m(rng),
        )
        obstacles += [found] if found else []
    while rng.random() < clutter:
        obstacles.append(random_obstacle(rng, reach_m=setup.reach_m))
    return Case(setup, full, tuple(obstacles))
