# SPDX-License-Identifier: Apache-2.0
"""Holds a verdict to what sampling finds, on both sides of the promise.

Tolerances, each with its reason:
- MISSED_M: an accepted path may be sampled closer than its margin by what two double computations of a metre-
  sized robot can differ, with room: 1e-9 m.
- BAND_M: a rejection must come within 0.1 mm of a violation; that is the promise itself.
- SAME_M: what a verdict reports (distance, witness points) is recomputed at the instant it names: 1e-6 m.
"""

import itertools
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

import lastgate as lg
from oracles.brute_force import BruteForce
from oracles.numpy_distances import point_segment

Array = NDArray[np.float64]

MISSED_M = 1e-9
BAND_M = 1e-4
SAME_M = 1e-6

COLLISIONS = {lg.ViolationCode.self_collision: "self", lg.ViolationCode.world_collision: "world"}


def full_rows(gate: lg.Gate, rows: Array, grippers: Array) -> Array:
    """Returns rows with the gripper joints in their places, in the manifest's order."""
    names = [j.name for j in gate.robot.actuated_joints]
    wide = np.empty((len(rows), len(names)))
    wide[:, [names.index(name) for name in gate.joint_names]] = rows
    wide[:, [names.index(name) for name in gate.gripper_joint_names]] = grippers
    return wide


@dataclass
class Checker:
    """Counts what it has compared; every broken promise is an assertion."""

    counts: Counter[str] = field(default_factory=Counter)
    least_accepted_gap_m: float = np.inf
    widest_rejected_gap_m: float = -np.inf

    def accepted(self, verdict: lg.Verdict, brute: BruteForce, path: Array, case: str) -> None:
        """Holds an accepted path to every sample of every segment."""
        least_m = np.inf
        for start, end in itertools.pairwise(path):
            for kind in ("self", "world"):
                scan = brute.scan(kind, start, end)
                # The refined minimum is asked for where a missed collision could hide between two samples.
                gap_m = brute.refined_gap(kind, start, end, scan) if scan.gap_m < 5e-3 else scan.gap_m
                assert gap_m >= -MISSED_M, (
                    f"{case}: MISSED, {kind} pair {scan.pair} is {gap_m:.3e} m inside its margin"
                )
                least_m = min(least_m, gap_m)
            self.counts["segments accepted"] += 1
        self.least_accepted_gap_m = min(self.least_accepted_gap_m, least_m)
        assert verdict.min_clearance_m <= least_m + MISSED_M, (
            f"{case}: min_clearance_m {verdict.min_clearance_m} > {least_m}"
        )
        assert verdict.min_clearance_m >= 0.0, case
        self.counts["chunks accepted"] += 1
        self.counts["accepted within 1 mm"] += least_m < 1e-3

    def rejected(self, verdict: lg.Verdict, brute: BruteForce, path: Array, case: str) -> None:
        """Holds a rejection to the segment, pair, instant, distance and points it names."""
        (violation,) = verdict.violations
        if violation.code == lg.ViolationCode.budget_exceeded:
            self.counts["budget_exceeded"] += 1
            self._undecided(verdict, brute, path, case)
            return
        kind = COLLISIONS[violation.code]
        assert verdict.certified_rows <= violation.step, case
        for index in range(violation.step):
            earlier = brute.scan(kind, path[index], path[index + 1])
            assert earlier.gap_m >= -MISSED_M, (
                f"{case}: segment {index} violates, {violation.step} was reported"
            )
            self.counts["segments before a violation"] += 1
        start, end = path[violation.step], path[violation.step + 1]
        scan = brute.scan(kind, start, end)
        gap_m = scan.gap_m if scan.gap_m < BAND_M else brute.refined_gap(kind, start, end, scan)
        assert gap_m <= BAND_M, (
            f"{case}: FALSE REJECTION, nothing comes nearer than {gap_m:.3e} m beyond its margin"
        )
        self.widest_rejected_gap_m = max(self.widest_rejected_gap_m, gap_m)
        assert violation.first_contact_t <= scan.first_violation_t + 1e-12, (
            f"{case}: first contact is reported late"
        )
        self._reported_numbers(violation, brute, (start, end), kind, case)
        self.counts["segments rejected"] += 1
        self.counts[f"rejected {kind}"] += 1
        self.counts["rejected by less than 1 mm"] += gap_m > -1e-3
        self.counts["rejected inside the 0.1 mm band"] += gap_m > 0.0

    def _undecided(self, verdict: lg.Verdict, brute: BruteForce, path: Array, case: str) -> None:
        """Holds a spent budget to a path that skims along something so closely that it takes that many queries.

        An eighth of the budget: halving in time gives up a factor of two in width and of two in queries, and
        the motion bound of a bent arm another factor of two.
        """
        ends = itertools.pairwise(path)
        needed = max(brute.skimming(kind, *pair) for pair in ends for kind in ("self", "world"))
        print(f"{case}: budget spent, at least {needed:.0f} queries are needed")
        assert needed >= verdict.evaluations / 8, f"{case}: budget spent where {needed:.0f} queries might do"

    def _reported_numbers(
        self, violation: lg.Violation, brute: BruteForce, ends: tuple[Array, Array], kind: str, case: str
    ) -> None:
        assert violation.limit_min == brute.margin_m[kind], case
        a, b = brute.capsule_axes(brute.frames_at(*ends, np.array([violation.segment_t])))
        matches = []
        for pair in brute.self_pairs if kind == "self" else brute.world_pairs:
            i, j = pair
            other = brute.volumes[j].name if kind == "self" else brute.obstacles[j].name
            if {brute.volumes[i].name, other} == {violation.subject, violation.against}:
                matches.append((float(brute.distance(kind, pair, a, b)[0]), pair))
        assert matches, f"{case}: {violation.subject} / {violation.against} is no checked pair"
        near = [pair for distance, pair in matches if abs(distance - violation.value) < SAME_M]
        assert near, f"{case}: reported {violation.value}, recomputed {matches}"
        assert violation.value <= violation.limit_min + BAND_M, case
        witnesses = np.array(violation.witness_a), np.array(violation.witness_b)
        # A verdict may name the two volumes of a self pair in either order.
        orders = (witnesses, witnesses[::-1]) if kind == "self" else (witnesses,)
        assert any(
            _is_witnessed(brute, kind, pair, (a, b), order, value_m=violation.value)
            for pair in near
            for order in orders
        ), f"{case}: witness points {witnesses} do not lie on the surfaces"

    def summary(self, name: str) -> str:
        """Returns the counts in one line."""
        seen = ", ".join(f"{count} {what}" for what, count in sorted(self.counts.items()))
        return (
            f"{name}: {seen}; nearest accepted {self.least_accepted_gap_m:.2e} m, "
            f"farthest rejected {self.widest_rejected_gap_m:.2e} m"
        )

    @property
    def segments(self) -> int:
        """How many segments were sampled."""
        return sum(count for what, count in self.counts.items() if what.startswith("segments"))


def _is_witnessed(
    brute: BruteForce,
    kind: str,
    pair: tuple[int, int],
    capsule_axes: tuple[Array, Array],
    witnesses: tuple[Array, ...],
    *,
    value_m: float,
) -> bool:
    """Returns whether the points lie on the surfaces of the pair and are as far apart as reported."""
    (i, j), (a, b) = pair, capsule_axes
    first = brute.volumes[i]
    if kind == "self":
        solid_m = brute.volumes[j].radius_m
        second_m = float(point_segment(witnesses[1][None], a[j][0], b[j][0])[0])
    else:
        solid_m = brute.obstacles[j].radius_m
        second_m = float(brute.obstacles[j].axis_distance_of_point(witnesses[1][None])[0])
    if value_m + first.radius_m + solid_m < SAME_M:
        return True  # the capsule axes meet: every direction is as good as another
    apart_m = float(np.linalg.norm(witnesses[1] - witnesses[0]))
    first_m = float(point_segment(witnesses[0][None], a[i][0], b[i][0])[0])
    if value_m >= 0.0:
        return max(abs(apart_m - value_m), abs(first_m - first.radius_m), abs(second_m - solid_m)) < SAME_M
    # Overlapping: a surface point may be nearer to another part of its capsule axis, never farther than the radius.
    return (
        abs(apart_m + value_m) < SAME_M
        and first_m < first.radius_m + SAME_M
        and abs(second_m) < solid_m + SAME_M
    )
