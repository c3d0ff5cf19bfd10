# SPDX-License-Identifier: Apache-2.0
"""Makes episodes: walks over a roadmap, with faults planted at known rows."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

import numpy as np

from lastgate.contracts import ROSPlanningError
from lastgate.contracts.arrays import Float64
from lastgate.tools.audit.fault_labels import FaultLabel, PlantedFault
from lastgate.tools.audit.synth.roadmap import Roadmap, position_limits_of, speeds_of

LEGS_PER_EPISODE = 2
# Measured positions trail the commands by a row, with the noise of an encoder.
STATE_NOISE = 1.0e-4
# Well beyond the age that any envelope allows by default (0.2 s).
STALE_S = 0.5
# A jump is this many times what the speed limit allows in a row.
JUMP_FACTOR = 2.0


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SyntheticEpisode:
    """One episode as it is written.

    Attributes:
        actions: (T, n_dof + gripper joints) commands.
        states: The same shape, measured when the command was given.
        stamps_s: When each state was measured; the command of row t is given at t / fps.
    """

    number: int
    actions: Float64
    states: Float64
    stamps_s: Float64
    labels: tuple[FaultLabel, ...]


def spread_faults(*, episodes: int, faults: int, seed: int) -> list[list[PlantedFault]]:
    """Returns which faults each episode gets: all kinds equally often, episodes as evenly as the counts allow."""
    random = np.random.default_rng([seed, 1])
    kinds = list(PlantedFault)
    planted: list[list[PlantedFault]] = [[] for _ in range(episodes)]
    order = random.permutation(episodes)
    for number in range(faults):
        planted[int(order[number % episodes])].append(kinds[number % len(kinds)])
    return planted


def make_episodes(roadmap: Roadmap, *, episodes: int, faults: int, seed: int) -> Iterator[SyntheticEpisode]:
    """Yields the episodes one by one; each depends on the seed and its own number only."""
    for number, kinds in enumerate(spread_faults(episodes=episodes, faults=faults, seed=seed)):
        yield _EpisodeMaker(roadmap, number=number, seed=seed).make(kinds)


class _EpisodeMaker:
    def __init__(self, roadmap: Roadmap, *, number: int, seed: int) -> None:
        self._map = roadmap
        self._number = number
        self._random = np.random.default_rng([seed, 2, number])
        self._usable = [index for index, others in enumerate(roadmap.neighbours) if others]
        self._here = int(self._random.choice(self._usable))
        self._rows: list[Float64] = []
        self._count = 0
        self._labels: list[FaultLabel] = []
        self._stale: list[tuple[int, int]] = []
        self._poison: list[tuple[int, int, float]] = []

    def make(self, kinds: list[PlantedFault]) -> SyntheticEpisode:
        start = self._map.poses[self._here]
        for _ in range(max(0, LEGS_PER_EPISODE - len(kinds))):
            self._walk_one_leg()
        for kind in kinds:
            if kind in self._map.detours:
                self._take_detour(kind)
            else:
                self._spoil_a_leg(kind)
        commands = np.vstack(self._rows)
        step_s = self._map.gate.step_s
        states = np.vstack([start, commands[:-1]])
        states = states + self._random.normal(0.0, STATE_NOISE, states.shape)
        stamps_s = step_s * np.arange(len(commands), dtype=np.float64)
        for first, count in self._stale:
            states[first : first + count] = states[first - 1]
            stamps_s[first : first + count] = stamps_s[first - 1]
        gripper = np.tile(self._map.gripper, (len(commands), 1))
        for row, joint, value in self._poison:
            commands[row, joint] = value
        return SyntheticEpisode(
            number=self._number,
            actions=np.hstack([commands, gripper]),
            states=np.hstack([states, gripper]),
            stamps_s=stamps_s,
            labels=tuple(self._labels),
        )

    def _append(self, rows: Float64) -> int:
        first = self._count
        self._rows.append(rows)
        self._count += len(rows)
        return first

    def _walk_one_leg(self) -> tuple[int, Float64]:
        goal = int(self._random.choice(self._map.neighbours[self._here]))
        rows = self._map.leg(self._here, goal)
        # Rests long enough at its end that a stale observation fits in.
        rest = np.tile(self._map.poses[goal], (ceil(2 * STALE_S / self._map.gate.step_s), 1))
        self._here = goal
        rows = np.vstack([rows, rest])
        return self._append(rows), rows

    def _take_detour(self, kind: PlantedFault) -> None:
        choices = self._map.detours[kind]
        detour = choices[int(self._random.integers(len(choices)))]
        for pose in self._map.route(self._here, detour.start):
            self._append(self._map.leg(self._here, pose))
            self._here = pose
        if not self._rows:
            self._append(self._map.poses[[self._here]])
        first = self._append(detour.rows)
        self._here = detour.end
        self._label(kind, first + detour.first_row, first + detour.last_row)
        self._append(np.tile(self._map.poses[self._here], (2, 1)))

    def _spoil_a_leg(self, kind: PlantedFault) -> None:
        first, rows = self._walk_one_leg()
        row = int(self._random.integers(1, len(rows) - 2))
        match kind:
            case PlantedFault.NAN:
                joint = int(self._random.integers(rows.shape[1]))
                value = float(self._random.choice([np.nan, np.inf, -np.inf]))
                self._poison.append((first + row, joint, value))
                self._label(kind, first + row, first + row)
            case PlantedFault.JUMP:
                joint, shift = self._jump_at(rows[row])
                rows[row, joint] += shift
                self._label(kind, first + row, first + row)
            case PlantedFault.STALE_STATE:
                count = ceil(STALE_S / self._map.gate.step_s) + 1
                row = 1 + int(self._random.integers(max(1, len(rows) - count - 2)))
                self._stale.append((first + row, count))
                self._label(kind, first + row, first + row + count - 1)
            case _:
                raise AssertionError(f"{kind} is a detour")

    def _jump_at(self, row: Float64) -> tuple[int, float]:
        """Returns a joint and how far it jumps, towards the middle of its range and inside of it."""
        limits = position_limits_of(self._map.gate)
        jump = JUMP_FACTOR * speeds_of(self._map.gate) * self._map.gate.step_s
        towards = np.where(row < limits.mean(axis=1), 1.0, -1.0)
        room = np.where(towards > 0, limits[:, 1] - row, row - limits[:, 0])
        fitting = np.flatnonzero(jump < room)
        if not len(fitting):
            raise ROSPlanningError(
                "no joint can jump inside its range at this rate\n\nhint: raise the rate: `--fps 60`"
            )
        joint = int(self._random.choice(fitting))
        return joint, float(towards[joint] * jump[joint])

    def _label(self, fault: PlantedFault, first_row: int, last_row: int) -> None:
        self._labels.append(
            FaultLabel(episode=self._number, first_row=first_row, last_row=last_row, fault=fault)
        )
