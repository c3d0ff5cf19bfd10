# SPDX-License-Identifier: Apache-2.0
"""A policy that streams chunks between reach poses and sometimes proposes what it should not.

It knows nothing of the gate. Whether one of its collision chunks really collides is asked of MuJoCo,
which has the meshes, so the labels that the summary counts by are not the gate's own opinion.
"""

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from lastgate.contracts import ROSPlanningError
from lastgate.contracts.arrays import Float64
from lastgate.tools.demo.panda_scene import PandaScene

STEP_S = 0.02
ROWS = 16
# Below half of the slowest joint's limit: the way from a lagging measured state to step 0 is longer than
# a step.
CRUISE_SPEED_RAD_S = 1.0
STALE_S = 0.5


class Fault(StrEnum):
    """Names what is wrong with a proposal; a good one has none."""

    NONE = "none"
    INTO_OBSTACLE = "into_obstacle"
    BETWEEN_ROWS = "between_rows"
    SELF_COLLISION = "self_collision"
    JOINT_LIMIT = "joint_limit"
    TOO_FAST = "too_fast"
    NAN = "nan"
    WRONG_WIDTH = "wrong_width"
    STALE_STATE = "stale_state"


ANYWHERE = (Fault.JOINT_LIMIT, Fault.TOO_FAST, Fault.NAN, Fault.WRONG_WIDTH, Fault.STALE_STATE)
COLLISION_FAULTS = frozenset({Fault.INTO_OBSTACLE, Fault.BETWEEN_ROWS, Fault.SELF_COLLISION})

FAULT_MEANS = {
    Fault.INTO_OBSTACLE: "drives into something on the table, at an ordinary speed",
    Fault.BETWEEN_ROWS: "every step is free of contact; the fingers cross the antenna between two steps",
    Fault.SELF_COLLISION: "folds the hand into the shoulder",
    Fault.JOINT_LIMIT: "pushes a joint past its stop",
    Fault.TOO_FAST: "jumps in the middle of a chunk",
    Fault.NAN: "one number is NaN or infinite",
    Fault.WRONG_WIDTH: "a gripper column too many, or a joint too few",
    Fault.STALE_STATE: "was computed from an observation of half a second ago",
}

# Where the hand reaches for; every straight joint path between neighbours of the tour is free.
POSES: dict[str, tuple[float, ...]] = {
    "home": (0.0, -0.6, 0.0, -2.2, 0.0, 1.7, 0.785),
    "tuck": (0.077, -0.759, 0.141, -2.725, 0.422, 1.468, 1.327),
    "antenna": (0.55, 0.7132, 0.0, -1.4272, 0.0, 2.1404, 2.357),
    "book": (0.554, 0.114, 0.0, -2.416, 0.0, 2.53, 1.571),
    "front": (0.104, -0.161, 0.0, -2.329, 0.0, 2.168, 0.785),
    "bottle": (-0.503, -0.273, 0.0, -2.364, 0.0, 2.091, 0.785),
    "sphere": (-0.862, 0.15, 0.0, -2.175, 0.0, 2.325, 0.785),
    "right": (-0.54, 0.348, 0.0, -2.097, 0.0, 2.445, 0.785),
}
TOUR = ("home", "tuck", "book", "antenna", "book", "front", "bottle", "sphere", "right", "sphere")
NEAR_OBSTACLES = ("antenna", "book", "bottle", "sphere", "right")
# Folding on from `tuck` in this direction brings the hand to the shoulder.
FOLD_DIRECTION = (0.12, -0.248, 0.22, -0.817, 0.657, -0.361, 0.844)
# At `antenna`, the base joint swings by this many steps at this speed and crosses the antenna in one of them.
SWING_ROWS = 8
SWING_STEP_RAD = 0.0434


@dataclass(frozen=True, slots=True, eq=False)
class Proposal:
    """One chunk with its planted fault, as its author knows it.

    Attributes:
        rows: What goes to the gate.
        fault: The author's own label.
        state_age_s: How old the observation is that comes with it.
    """

    rows: Float64
    fault: Fault = Fault.NONE
    state_age_s: float = 0.0


class Policy:
    """Proposes chunks along a tour of reach poses and plants faults among them.

    Args:
        scene: Is asked, by geometry alone, whether a planted collision collides.
        seed: The same seed proposes the same chunks.
        fault_share: How often, on the way, a proposal is a planted fault.
        quota: Of all proposals, how many are planted faults, at stops and on the way; None plants at every stop.
    """

    def __init__(
        self, scene: PandaScene, *, seed: int, fault_share: float = 0.15, quota: float | None = None
    ) -> None:
        self._scene = scene
        self._random = np.random.default_rng(seed)
        self._fault_share = fault_share
        self._quota = quota
        self._proposed = 0
        self._planted: Counter[Fault] = Counter()
        self._limits = scene.model.jnt_range[: len(scene.arm_joints)].copy()
        self._stop_index = 0
        self._elapsed_s = 0.0
        self._start = np.array(POSES[TOUR[0]])
        self._intends_fault_here = True
        self._into_obstacle = {name: self._find_obstacle_direction(name) for name in NEAR_OBSTACLES}
        self._swing_phase = self._find_hidden_swing()
        tuck = np.array(POSES["tuck"])
        if not scene.contacts_along(tuck, self._fold(tuck), samples_per_row=1).robot_robot:
            raise ROSPlanningError("folding on from `tuck` does not bring the arm into itself")

    @property
    def start(self) -> Float64:
        """Configuration at which the tour begins."""
        return np.array(POSES[TOUR[self._first_stop]])

    _first_stop = 0

    def restart(self, *, seed: int, first_stop: int) -> None:
        """Begins another tour, at another stop."""
        self._random = np.random.default_rng(seed)
        self._planted.clear()
        self._proposed = 0
        self._first_stop = self._stop_index = first_stop % len(TOUR)
        self._intends_fault_here = True
        self._restart_leg(self.start)

    def _may_plant(self) -> bool:
        return self._quota is None or self._planted.total() < self._quota * self._proposed

    def propose(self, commanded: Float64) -> Proposal:
        """Returns the next chunk, from where the servos were last sent."""
        self._proposed += 1
        arrived = self._elapsed_s >= self._leg_duration_s()
        if arrived and self._intends_fault_here and self._may_plant():
            # Once per stop, and then on: a policy that insisted on its mistake would never move again.
            self._intends_fault_here = False
            return self._plant(self._rarest(self._faults_at_stop()), commanded)
        if arrived:
            self._begin_leg(commanded)
        good = self._rows_ahead()
        # What the stops leave of the quota is planted on the way.
        share = self._fault_share if self._quota is None else 0.5
        if self._random.random() < share and self._may_plant():
            return self._plant(self._rarest(ANYWHERE), commanded, good=good)
        return Proposal(good)

    def notice_executed(self, proposal: Proposal, *, rows: int, commanded: Float64) -> None:
        """Moves on along the leg; after a planted chunk was executed, starts again from where it led."""
        if proposal.fault == Fault.NONE:
            self._elapsed_s += rows * STEP_S
        else:
            self._restart_leg(commanded)

    def notice_rejected(self, commanded: Float64) -> None:
        """Starts the leg again from rest, because the arm was held."""
        self._restart_leg(commanded)

    def _restart_leg(self, commanded: Float64) -> None:
        self._start = commanded.copy()
        self._elapsed_s = 0.0

    def _begin_leg(self, commanded: Float64) -> None:
        self._stop_index = (self._stop_index + 1) % len(TOUR)
        self._intends_fault_here = True
        self._restart_leg(commanded)

    def _goal(self) -> Float64:
        return np.array(POSES[TOUR[self._stop_index]])

    def _leg_duration_s(self) -> float:
        # The steepest point of the quintic below is 15/8 of its mean speed.
        return 1.875 * float(np.abs(self._goal() - self._start).max()) / CRUISE_SPEED_RAD_S

    def _rows_ahead(self) -> Float64:
        duration_s = max(self._leg_duration_s(), STEP_S)
        times_s = self._elapsed_s + STEP_S * np.arange(1, ROWS + 1)
        share = np.clip(times_s / duration_s, 0.0, 1.0)[:, np.newaxis]
        smooth = share**3 * (10.0 - 15.0 * share + 6.0 * share**2)
        return self._start + smooth * (self._goal() - self._start)

    # ---- Faults ------------------------------------------------------------------------------------

    def _faults_at_stop(self) -> tuple[Fault, ...]:
        stop = TOUR[self._stop_index]
        if stop == "antenna":
            return (Fault.BETWEEN_ROWS, Fault.INTO_OBSTACLE)
        if stop == "tuck":
            return (Fault.SELF_COLLISION,)
        return (Fault.INTO_OBSTACLE,) if stop in NEAR_OBSTACLES else ANYWHERE

    def _rarest(self, faults: tuple[Fault, ...]) -> Fault:
        fewest = min(self._planted[fault] for fault in faults)
        return next(fault for fault in faults if self._planted[fault] == fewest)

    def _plant(self, fault: Fault, commanded: Float64, *, good: Float64 | None = None) -> Proposal:
        self._planted[fault] += 1
        rows = np.tile(commanded, (ROWS, 1)) if good is None else good.copy()
        joint = int(self._random.integers(rows.shape[1]))
        row = int(self._random.integers(ROWS))
        match fault:
            case Fault.INTO_OBSTACLE:
                rows = _straight(commanded, self._into_obstacle[TOUR[self._stop_index]])
            case Fault.BETWEEN_ROWS:
                rows = _swing(commanded, phase=self._swing_phase)
            case Fault.SELF_COLLISION:
                rows = self._fold(commanded)
            case Fault.JOINT_LIMIT:
                lower, upper = self._limits[joint]
                beyond = upper + 0.1 if self._random.random() < 0.5 else lower - 0.1
                rows[:, joint] = np.linspace(rows[0, joint], beyond, ROWS)
            case Fault.TOO_FAST:
                # Towards the middle of the range, so that the speed is the only thing that is wrong.
                jump = -0.3 if rows[row, joint] > self._limits[joint].mean() else 0.3
                rows[row:, joint] += jump
            case Fault.NAN:
                rows[row, joint] = self._random.choice([np.nan, np.inf, -np.inf])
            case Fault.WRONG_WIDTH:
                widened = np.column_stack([rows, np.full(ROWS, 0.04)])
                rows = widened if self._random.random() < 0.5 else np.ascontiguousarray(rows[:, :-1])
            case Fault.STALE_STATE:
                return Proposal(rows, fault, state_age_s=STALE_S)
        return Proposal(rows, fault)

    def _fold(self, start: Float64) -> Float64:
        """Returns steps that fold the arm into itself, inside the limits: nothing else is wrong with them."""
        return np.clip(_straight(start, np.array(FOLD_DIRECTION)), *self._limits.T)

    def _find_obstacle_direction(self, stop: str) -> Float64:
        """Returns a joint to turn, and which way, so that MuJoCo finds the arm running into something."""
        start = np.array(POSES[stop])
        directions = np.vstack([np.eye(len(start)), -np.eye(len(start))])
        for direction in self._random.permutation(directions):
            rows = _straight(start, direction)
            inside = bool(np.all((self._limits[:, 0] <= rows) & (rows <= self._limits[:, 1])))
            if inside and self._scene.contacts_along(start, rows, samples_per_row=1).robot_world:
                return direction
        raise ROSPlanningError(f"no single joint leads into an obstacle from `{stop}`")

    def _find_hidden_swing(self) -> float:
        """Returns the phase at which MuJoCo finds no contact at any step and one between two steps."""
        start = np.array(POSES["antenna"])
        for phase in np.linspace(0.05, 1.0, 20):
            rows = _swing(start, phase=float(phase))
            if any(self._scene.contacts_at(row) for row in rows):
                continue
            if self._scene.contacts_along(start, rows, samples_per_row=16).robot_world:
                return float(phase)
        raise ROSPlanningError("no swing crosses the antenna between two steps")


def _straight(start: Float64, direction: Float64) -> Float64:
    """Returns steps that go straight, slowly enough that no speed limit is to blame."""
    step = 0.03 * direction / np.abs(direction).max()
    return start + step * np.arange(1, ROWS + 1)[:, np.newaxis]


def _swing(start: Float64, *, phase: float) -> Float64:
    """Returns steps in which the base joint swings and stops; `phase` is the length of the first step."""
    turned = SWING_STEP_RAD * (phase + np.minimum(np.arange(ROWS), SWING_ROWS - 1))
    rows = np.tile(start, (ROWS, 1))
    rows[:, 0] -= turned
    return rows
