# SPDX-License-Identifier: Apache-2.0
"""The way out of contact: joint motion along which every distance grows that is too small where the robot stands.

The distances are those of the gate itself, found by its retreat rule. Each joint is moved a little to see what that
does to each of them; a perceptron (Rosenblatt 1958) turns these rates into one direction along which all grow, if
there is one. The gate's own check decides about the motion.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lastgate.contracts.action import ActionChunk, RobotState
from lastgate.contracts.arrays import Float64
from lastgate.gate.proposals import Proposal
from lastgate.gate.time_stretch import StepLimits
from lastgate.gate.verdict import Verdict

# Pairs that are too near at one configuration, and how far their volumes and hulls are apart.
Pairs = dict[tuple[int, int, int], tuple[float, float]]

# The retreat rule allows a quarter of the speed limits; a little less, for rounding.
SPEED_SHARE = 0.24
# How far a joint is moved to see what it does: far above rounding, and small against a link.
PROBE = 1e-3
# Steps of one retreat, longest first: the direction is only right near where it was found.
STEP_COUNTS = (16, 8, 4, 2, 1)
PERCEPTRON_ROUNDS = 200
# A direction is good enough once every distance grows by this share of what it could at best. Rates change along the
# way, and which share leads farthest is not known beforehand.
GROWTH_SHARES = (0.3, 0.1, 0.03, 0.01)


@dataclass(frozen=True, slots=True)
class RetreatSearch:
    """What a search needs of the gate.

    Attributes:
        decide: Asks the gate about a chunk from a state, under the retreat rule.
        pairs: The pairs that the gate's last check under the retreat rule found too near.
    """

    decide: Callable[[ActionChunk, RobotState], Verdict]
    pairs: Callable[[], list[tuple[int, int, int, float, float]]]
    limits: StepLimits


def propose_retreat(search: RetreatSearch, state: RobotState) -> Proposal | None:
    """Returns a motion out of contact, or None: nothing is too near here, or no way was found along which all grow."""
    here = state.positions
    if here is None or len(here) != len(search.limits.low) or not np.isfinite(here).all():
        return None
    near = _pairs_at(search, state, here)
    if not near:
        return None
    step = np.minimum(
        SPEED_SHARE * search.limits.velocity * search.limits.step_s,
        np.inf
        if search.limits.acceleration is None
        else 0.9 * search.limits.acceleration * search.limits.step_s**2,
    )
    directions = _directions(search, state, near, step)
    for count in STEP_COUNTS:
        for direction in directions:
            along = np.arange(1, count + 1)[:, np.newaxis] * (direction * step)
            rows = np.clip(here + along, search.limits.low, search.limits.high)
            chunk = ActionChunk(rows)
            verdict = search.decide(chunk, state)
            if verdict.accepted and verdict.recovery:
                return Proposal(kind="retreat", chunk=chunk, verdict=verdict)
    return None


def _pairs_at(search: RetreatSearch, state: RobotState, positions: Float64) -> Pairs:
    """Returns the pairs that are too near at a configuration: those that standing still there would have to leave."""
    inside = np.clip(positions, search.limits.low, search.limits.high)
    there = RobotState(
        positions=inside,
        stamp_s=state.stamp_s,
        gripper_positions=state.gripper_positions,
        stamps_s=state.stamps_s,
    )
    verdict = search.decide(ActionChunk(inside[np.newaxis]), there)
    if verdict.accepted or verdict.stage < 10:
        return {}
    return {(kind, a, b): (volumes, hulls) for kind, a, b, volumes, hulls in search.pairs()}


def _directions(search: RetreatSearch, state: RobotState, near: Pairs, step: Float64) -> list[Float64]:
    """Returns directions to try, in shares of the largest step of each joint: the best first, then single joints."""
    assert state.positions is not None
    rates = _rates(search, state, near, step)
    blocked = _blocked(search, state.positions)
    best = [_grows_all(rates, blocked=blocked, share=share) for share in GROWTH_SHARES]
    found = [direction for direction in best if direction is not None]
    middle = 0.5 * (search.limits.low + search.limits.high) - state.positions
    largest = float(np.abs(middle / step).max())
    if np.isfinite(largest) and largest > 0.0:
        found.append(middle / step / largest)
    order = np.argsort(-np.abs(rates.min(axis=0)))
    for joint in order:
        for sign in (1.0, -1.0):
            direction = np.zeros(len(step))
            direction[joint] = sign
            found.append(direction)
    return found


def _rates(search: RetreatSearch, state: RobotState, near: Pairs, step: Float64) -> Float64:
    """Returns how fast each distance grows with each joint, one row per distance, per largest step of the joint."""
    assert state.positions is not None
    names = list(near)
    volumes = np.zeros((len(names), len(step)))
    hulls = np.zeros((len(names), len(step)))
    for joint in range(len(step)):
        # Towards the middle of the range, so that the probe itself is a place where the robot may stand.
        sign = (
            1.0
            if state.positions[joint] < 0.5 * (search.limits.low[joint] + search.limits.high[joint])
            else -1.0
        )
        moved = np.clip(state.positions, search.limits.low, search.limits.high)
        moved[joint] += sign * PROBE
        there = _pairs_at(search, state, moved)
        for row, name in enumerate(names):
            before, after = near[name], there.get(name)
            # A pair that is not among them any more has left its margin.
            volumes[row, joint] = sign * (after[0] - before[0] if after else PROBE)
            known = after is not None and np.isfinite([before[1], after[1]]).all()
            hulls[row, joint] = sign * (after[1] - before[1]) if after is not None and known else 0.0
    both = np.concatenate([volumes, hulls]) / PROBE * step
    return both[np.abs(both).max(axis=1) > 1e-9]


def _blocked(search: RetreatSearch, positions: Float64) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Returns which joints stand at the lower and which at the upper end of their range."""
    return positions <= search.limits.low + PROBE, positions >= search.limits.high - PROBE


def _grows_all(
    rates: Float64, *, blocked: tuple[NDArray[np.bool_], NDArray[np.bool_]], share: float
) -> Float64 | None:
    """Returns a direction, largest share 1, along which all rows grow, or None if none was found."""
    if not len(rates):
        return None
    unit = rates / np.linalg.norm(rates, axis=1)[:, np.newaxis]
    direction = unit.sum(axis=0)
    for _ in range(PERCEPTRON_ROUNDS):
        direction[blocked[0]] = np.maximum(direction[blocked[0]], 0.0)
        direction[blocked[1]] = np.minimum(direction[blocked[1]], 0.0)
        length = float(np.linalg.norm(direction))
        growth = unit @ direction
        worst = int(growth.argmin())
        if length > 0.0 and growth[worst] >= share * length:
            return direction / np.abs(direction).max()
        direction = direction + unit[worst]
    return None
