# SPDX-License-Identifier: Apache-2.0
"""Runs cases for a time, balanced over the modes, and counts what became of them."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from attack.generate import MODES, random_case
from attack.kinematics import Array
from attack.oracle import Findings, examine
from attack.shrink import shrunk
from attack.target import Answer, Unbuildable, ask

# A rejected motion that keeps this much of every promise was rejected for nothing: twice the resolution of the gate, in
# metres and as a share of a limit.
CLEAR_M, CLEAR_SHARE = 2.0e-4, 2.0e-3
# One that keeps this much must be accepted: a centimetre, and half of every speed.
PLAIN_M, PLAIN_SHARE = 0.01, 0.5
# A gate that rejects nearly everything in a mode shows nothing about it.
ACCEPTED_SHARE_MIN, GENERATED_MIN = 0.02, 60
# Promises about distances, by which a case counts as near a violation.
NEAR = ("self", "world", "keep-in", "footprint", "workspace")
SHARES = ("velocity", "acceleration", "speed", "turn", "torque", "step")


@dataclass
class Tally:
    """What became of the cases of one mode."""

    generated: int = 0
    unbuildable: int = 0
    accepted: int = 0
    examined: int = 0
    near: int = 0
    colliding_rejected: int = 0
    false_rejections: int = 0
    plain: int = 0
    plain_rejected: int = 0
    violations: int = 0


@dataclass(frozen=True)
class Hit:
    """An accepted violation, or a rejection of what is plainly clear."""

    mode: str
    number: int
    promise: str
    slack: float
    where: dict[str, Any]
    case: dict[str, Any]


@dataclass
class Campaign:
    """All cases of one seed.

    Attributes:
        gate: Answers a case; tests put a gate with a planted fault here.
    """

    seed: int
    gate: Callable[[dict[str, Any]], Answer] = ask
    modes: tuple[str, ...] = MODES
    tallies: dict[str, Tally] = field(default_factory=dict)
    hits: list[Hit] = field(default_factory=list)

    def run_cases(self, count: int) -> None:
        """Attacks as often as said, however long that takes."""
        self.tallies = {mode: Tally() for mode in self.modes}
        for _ in range(count):
            self.step()

    def run(self, *, seconds: float, on_progress: Callable[["Campaign", float], None] | None = None) -> None:
        """Attacks for a time; the order of the cases depends on the seed and the answers alone."""
        self.tallies = {mode: Tally() for mode in self.modes}
        started = time.monotonic()
        while (spent := time.monotonic() - started) < seconds:
            if on_progress is not None:
                on_progress(self, spent / seconds)
            self.step()

    def step(self) -> None:
        """Attacks once, in the mode that has the fewest accepted cases so far for what it was given."""
        mode = min(self.modes, key=lambda name: (self.tallies[name].examined, self.tallies[name].generated))
        tally = self.tallies[mode]
        number = tally.generated
        tally.generated += 1
        case, resolved = random_case(self.seed, number, mode)
        try:
            answer = self.gate(case)
        except Unbuildable:
            tally.unbuildable += 1
            return
        if answer.accepted:
            self._recheck(mode, number, case, answer)
        else:
            self._weigh_rejection(mode, number, case, answer, resolved)

    def _recheck(self, mode: str, number: int, case: dict[str, Any], answer: Answer) -> None:
        tally = self.tallies[mode]
        tally.accepted += 1
        found = examine(case, answer.joint_rows)
        tally.examined += 1
        tally.plain += is_plainly_clear(case, found, answer.joint_rows)
        nearest = min((f.slack for f in found.values() if f.promise.startswith(NEAR)), default=1.0)
        tally.near += nearest < 0.002
        broken = found.broken()
        tally.violations += bool(broken)
        for finding in broken:
            self.hits.append(Hit(mode, number, finding.promise, finding.slack, finding.where, case))

    def _weigh_rejection(
        self, mode: str, number: int, case: dict[str, Any], answer: Answer, resolved: Array | None
    ) -> None:
        tally = self.tallies[mode]
        found = examine(case, resolved, everything=True)
        tally.colliding_rejected += bool(found.broken())
        if mode == "JOINT_TORQUE" or not is_clear(found, CLEAR_M, CLEAR_SHARE):
            return
        tally.false_rejections += 1
        if is_plainly_clear(case, found, resolved):
            tally.plain += 1
            tally.plain_rejected += 1
            where = {"code": answer.code}
            self.hits.append(Hit(mode, number, "plainly clear and rejected", 0.0, where, case))

    def failures(self) -> list[str]:
        """Returns why the run has not shown what it is for; none is a pass."""
        found = [
            f"{hit.mode} {self.seed}/{hit.number}: {hit.promise}, {hit.slack:.3g} left, {hit.where}"
            for hit in self.hits
        ]
        for mode, tally in self.tallies.items():
            if tally.generated >= GENERATED_MIN and tally.accepted < ACCEPTED_SHARE_MIN * tally.generated:
                found.append(
                    f"{mode}: {tally.accepted} of {tally.generated} cases were accepted, too few to show anything"
                )
        return found

    def reproduction(self, hit: Hit, *, seconds: float = 10.0) -> dict[str, Any]:
        """Returns a small case that shows a hit again."""
        return shrunk(hit.case, lambda case: self.shows(case, hit), seconds=seconds)

    def shows(self, case: dict[str, Any], hit: Hit) -> bool:
        try:
            answer = self.gate(case)
        except Exception:
            return False
        if hit.promise == "plainly clear and rejected":
            return not answer.accepted and is_plainly_clear(case, examine(case, everything=True), None)
        if not answer.accepted:
            return False
        return any(finding.promise == hit.promise for finding in examine(case, answer.joint_rows).broken())


def _is_share(promise: str) -> bool:
    return any(word in promise for word in SHARES)


def is_clear(found: Findings, metres: float, share: float) -> bool:
    """Returns whether every promise is kept by more than a distance, or by more than a share of its limit."""
    needed = {
        "base leaves its plane": -1e-12,
        "finite": 0.5,
        "joint position": metres,
        "gripper range": -1e-12,
    }
    return all(
        finding.slack > needed.get(promise, share if _is_share(promise) else metres)
        for promise, finding in found.items()
        if not promise.startswith("tool reaches") and not promise.startswith("tool turns")
    )


def is_plainly_clear(case: dict[str, Any], found: Findings, resolved: Array | None) -> bool:
    """Returns whether a rejection would be a fault.

    The gate holds volumes against keep-in zones and the floor, not the convex parts inside them: where a robot has
    parts, its volumes must be clear too.
    """
    if not (must_accept(case) and is_clear(found, PLAIN_M, PLAIN_SHARE)):
        return False
    if not case.get("hulls"):
        return True
    volumes = {key: value for key, value in case.items() if key != "hulls"}
    return is_clear(examine(volumes, resolved, everything=True), PLAIN_M, PLAIN_SHARE)


def must_accept(case: dict[str, Any]) -> bool:
    """Returns whether a clear motion has to be accepted; not where the gate assumes more than the oracle samples."""
    unmeasured = case["state"].get("gripper_positions") is None and any(
        "gripper" in end for end in case["manifest"]["end_effectors"]
    )
    mode = case["chunk"]["mode"]
    return not (unmeasured or case["recovery"] or mode == "JOINT_TORQUE" or mode.startswith("CARTESIAN"))
