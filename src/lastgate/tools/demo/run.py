# SPDX-License-Identifier: Apache-2.0
"""Runs the simulation with the gate between policy and servos, and counts what happened."""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from lastgate.contracts import RSkillManifest, SafetyEnvelope
from lastgate.contracts.action import ActionChunk, RobotState
from lastgate.contracts.arrays import Float64
from lastgate.gate import Gate
from lastgate.gate.verdict import Verdict
from lastgate.integrations.mujoco_hal import MujocoHal
from lastgate.robots import load_robot
from lastgate.tools.demo.panda_scene import TIMESTEP_S, PandaScene, table_world
from lastgate.tools.demo.policy import COLLISION_FAULTS, STEP_S, Fault, Policy, Proposal
from lastgate.tools.telemetry.recorder import Recorder
from lastgate.tools.telemetry.rejection_report import RejectionReport, rejection_report
from lastgate.world import World

ROBOT = "franka_panda"
# Control steps the arm is held after a rejection: the time the policy takes to answer again.
STEPS_HELD = 5
# Both margins cover what the servos add on their own: the arm follows its target with a lag and a small
# error.
MARGIN_M = 0.01
CONTACT_SAMPLES_PER_ROW = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """One proposal and its outcome.

    Attributes:
        touches: For planted collisions and rejected good chunks: what MuJoCo finds touching along the steps,
            gate or no gate; None where it was not asked.
    """

    number: int
    time_s: float
    fault: Fault
    accepted: bool
    code: str
    sentence: str
    clearance_m: float | None
    evaluations: int
    check_us: float
    touches: tuple[str, ...] | None


@dataclass(slots=True)
class Record:
    """The counts of a run; every number of the report is computed from here."""

    gated: bool
    seed: int
    decisions: list[Decision] = field(default_factory=list)
    simulated_s: float = 0.0
    wall_s: float = 0.0
    contact_steps: int = 0
    robot_world: dict[str, float] = field(default_factory=dict)
    robot_robot: dict[str, float] = field(default_factory=dict)
    max_tracking_error_rad: float = 0.0
    joint_travel_rad: float = 0.0
    # The first rejection of each planted fault and code, ready to be drawn.
    cards: dict[tuple[str, str], RejectionReport] = field(default_factory=dict)


class Watcher(Protocol):
    """An observer that is told what happens while it happens, and may stop the arm; it cannot change a verdict."""

    @property
    def latched(self) -> bool:
        """True from a press of stop until a reset."""
        ...

    def note_state(self, state: RobotState) -> None:
        """Takes note of every measured state."""

    def note_check(
        self, verdict: Verdict, *, chunk: ActionChunk, state: RobotState, world: World, check_us: float
    ) -> None:
        """Takes note of every verdict."""


class Simulation:
    """The whole loop: policy, gate, servos.

    Args:
        seed: The same seed gives the same run.
        gated: False executes whatever the servos can take, so that a test can see what the gate prevents.
        quota: Of all proposals, how many are faulty; None plants one at every stop.
        black_box: Where every verdict is recorded with all that it depended on; None records nothing.

    Raises:
        ROSConfigError: The robot or its description cannot be loaded.
    """

    def __init__(
        self, *, seed: int = 1, gated: bool = True, quota: float | None = None, black_box: Path | None = None
    ) -> None:
        robot = load_robot(ROBOT)
        self._obstacles = table_world()
        self.scene = PandaScene(robot, self._obstacles)
        self.policy = Policy(self.scene, seed=seed, quota=quota)
        margins = SafetyEnvelope(self_collision_margin_m=MARGIN_M, world_collision_margin_m=MARGIN_M)
        skill = RSkillManifest(name="demo-reach", version="1.0.0", envelope=margins)
        self.gate = Gate(robot, step_s=STEP_S, skill=skill)
        self._recorder = None if black_box is None else Recorder(self.gate, black_box)
        self._check = self.gate.check if self._recorder is None else self._recorder.check
        self.record = Record(gated=gated, seed=seed)
        self.watcher: Watcher | None = None
        self._commanded = self.policy.start
        self._observed: deque[RobotState] = deque(maxlen=200)
        self._touching: frozenset[tuple[str, str]] = frozenset()
        self.scene.reset(self._commanded)
        self.hal = MujocoHal(self.scene.model, self.scene.data, self.gate)
        self._observe()

    def restart(self, *, seed: int, first_stop: int) -> None:
        """Begins another episode, at rest at another stop of the tour."""
        self.policy.restart(seed=seed, first_stop=first_stop)
        self.record = Record(gated=self.record.gated, seed=seed)
        self._commanded = self.policy.start
        self._observed.clear()
        self.scene.reset(self._commanded)
        self.hal.reset()
        self._observe()

    def run(
        self,
        seconds: float,
        *,
        on_decision: Callable[[Decision], None] = lambda _: None,
        on_control_step: Callable[[float], bool] = lambda _: True,
    ) -> Record:
        """Simulates so many seconds; `on_control_step` gets the time and returns False to stop early."""
        begin = time.perf_counter()
        going = True
        while going and self.scene.time_s < seconds - STEP_S / 2:
            if self._is_stopped():
                self._control_step(self._commanded)
                going = on_control_step(self.scene.time_s)
                continue
            proposal = self.policy.propose(self._commanded)
            decision, verdict = self._decide(proposal)
            self.record.decisions.append(decision)
            on_decision(decision)
            executes = self.hal.take(verdict).accepted if self.record.gated else self._is_executable(proposal)
            for target in proposal.rows if executes else [self._commanded] * STEPS_HELD:
                self._control_step(target)
                self.record.wall_s = time.perf_counter() - begin
                going = on_control_step(self.scene.time_s)
                if not going or self.scene.time_s >= seconds - STEP_S / 2:
                    break
                if self._is_stopped():
                    executes = False
                    break
            if executes:
                self.policy.notice_executed(proposal, rows=len(proposal.rows), commanded=self._commanded)
            else:
                self.policy.notice_rejected(self._commanded)
        return self.record

    def _is_stopped(self) -> bool:
        """Returns whether an observer pressed stop, and stops the arm if so."""
        if self.watcher is None or not self.watcher.latched:
            return False
        self.hal.estop()
        return True

    def _decide(self, proposal: Proposal) -> tuple[Decision, Verdict]:
        state = self._state_of_age(proposal.state_age_s)
        world = World(primitives=self._obstacles, stamp_s=self.scene.time_s, world_id="table")
        # Taken in here, where perception would do it, so that the time below is of the check alone.
        _ = world.native
        chunk = ActionChunk(proposal.rows, rskill_id="demo-reach")
        before_ns = time.perf_counter_ns()
        verdict = self._check(chunk, state=state, world=world, now_s=self.scene.time_s)
        check_us = (time.perf_counter_ns() - before_ns) / 1000.0
        if self.watcher is not None:
            self.watcher.note_check(verdict, chunk=chunk, state=state, world=world, check_us=check_us)
        if not verdict.accepted:
            self._keep_card(proposal, verdict, chunk=chunk, state=state, world=world)
        decision = Decision(
            number=len(self.record.decisions) + 1,
            time_s=self.scene.time_s,
            fault=proposal.fault,
            accepted=verdict.accepted,
            code="" if verdict.accepted else str(verdict.violations[0].code),
            sentence="" if verdict.accepted else verdict.violations[0].sentence(),
            clearance_m=verdict.min_clearance_m if verdict.accepted else None,
            evaluations=verdict.evaluations,
            check_us=check_us,
            touches=self._ask_mujoco(proposal, verdict),
        )
        return decision, verdict

    def _keep_card(
        self, proposal: Proposal, verdict: Verdict, *, chunk: ActionChunk, state: RobotState, world: World
    ) -> None:
        key = (proposal.fault.value, str(verdict.violations[0].code))
        if key not in self.record.cards:
            self.record.cards[key] = rejection_report(
                self.gate, verdict, chunk=chunk, state=state, world=world
            )

    def close(self) -> None:
        """Ends the black box, if there is one."""
        if self._recorder is not None:
            self._recorder.close()

    def _ask_mujoco(self, proposal: Proposal, verdict: Verdict) -> tuple[str, ...] | None:
        rejected_good = proposal.fault == Fault.NONE and not verdict.accepted
        if proposal.fault not in COLLISION_FAULTS and not rejected_good:
            return None
        found = self.scene.contacts_along(
            self.scene.positions, proposal.rows, samples_per_row=CONTACT_SAMPLES_PER_ROW
        )
        return tuple(sorted(f"{a} / {b}" for a, b in found.robot_world | found.robot_robot))

    def _is_executable(self, proposal: Proposal) -> bool:
        # Without a gate, the servo interface itself still takes seven finite numbers only.
        return proposal.rows.shape[1] == len(self._commanded) and bool(np.isfinite(proposal.rows).all())

    def _control_step(self, target: Float64) -> None:
        """Simulates one step; without a gate the servos are sent to the target, whatever it is."""
        start = self._commanded
        substeps = round(STEP_S / TIMESTEP_S)
        before = self.scene.positions
        for substep in range(1, substeps + 1):
            if self.record.gated:
                self.hal.tick()
            else:
                self.scene.command(start + (target - start) * (substep / substeps))
            self.scene.step()
            self._count_contacts()
        self._commanded = self.hal.set_point if self.record.gated else target.copy()
        self._observe()
        after = self.scene.positions
        error = float(np.abs(after - target).max())
        self.record.max_tracking_error_rad = max(self.record.max_tracking_error_rad, error)
        self.record.joint_travel_rad += float(np.abs(after - before).sum())
        self.record.simulated_s = self.scene.time_s

    def _count_contacts(self) -> None:
        found = self.scene.contacts()
        if found:
            self.record.contact_steps += 1
        for pairs, table in (
            (found.robot_world, self.record.robot_world),
            (found.robot_robot, self.record.robot_robot),
        ):
            for a, b in pairs:
                table.setdefault(f"{a} / {b}", self.scene.time_s)

    def _observe(self) -> None:
        self._observed.append(
            RobotState(
                positions=self.scene.positions,
                velocities=self.scene.velocities,
                gripper_positions=self.scene.finger_positions,
                stamp_s=self.scene.time_s,
            )
        )
        if self.watcher is not None:
            self.watcher.note_state(self._observed[-1])

    def _state_of_age(self, age_s: float) -> RobotState:
        wanted_s = self.scene.time_s - age_s
        newest = self._observed[-1]
        if age_s == 0.0:
            return newest
        old = next(
            (state for state in reversed(self._observed) if state.stamp_s <= wanted_s), self._observed[0]
        )
        # In the first moments no observation is old enough; its stamp is then what makes it stale.
        return RobotState(
            positions=old.positions,
            velocities=old.velocities,
            gripper_positions=old.gripper_positions,
            stamp_s=wanted_s,
        )


def summarize(record: Record) -> dict[str, Any]:
    """Returns the numbers of a run, computed from its record alone."""
    decisions = record.decisions
    good = [d for d in decisions if d.fault == Fault.NONE]
    planted = [d for d in decisions if d.fault != Fault.NONE]
    rejected = [d for d in decisions if not d.accepted]
    times_us = np.array([d.check_us for d in decisions] or [0.0])
    clearances = [d.clearance_m for d in decisions if d.clearance_m is not None]
    collisions = [d for d in planted if d.fault in COLLISION_FAULTS]
    return {
        "gated": record.gated,
        "seed": record.seed,
        "simulated_s": round(record.simulated_s, 3),
        "wall_s": round(record.wall_s, 3),
        "chunks": len(decisions),
        "accepted": len(decisions) - len(rejected),
        "refused": len(rejected),
        "refused_by_reason": _count(d.code for d in rejected),
        "planted": len(planted),
        "planted_refused": sum(not d.accepted for d in planted),
        "planted_accepted": sum(d.accepted for d in planted),
        "planted_by_kind": {
            fault.value: {
                "proposed": sum(d.fault == fault for d in planted),
                "refused": sum(d.fault == fault and not d.accepted for d in planted),
                "reasons": _count(d.code for d in planted if d.fault == fault and not d.accepted),
            }
            for fault in Fault
            if fault != Fault.NONE
        },
        "planted_collisions": len(collisions),
        "planted_collisions_that_touch_in_mujoco": sum(bool(d.touches) for d in collisions),
        "good": len(good),
        "good_refused": sum(not d.accepted for d in good),
        "good_refused_that_touch_in_mujoco": sum(bool(d.touches) for d in good if not d.accepted),
        "contacts_robot_world": len(record.robot_world),
        "contacts_robot_robot": len(record.robot_robot),
        "contact_steps": record.contact_steps,
        "first_contact_s": {**record.robot_world, **record.robot_robot},
        "smallest_clearance_m": min(clearances) if clearances else None,
        "max_tracking_error_rad": record.max_tracking_error_rad,
        "joint_travel_rad": record.joint_travel_rad,
        "check_us": {
            "p50": float(np.percentile(times_us, 50)),
            "p99": float(np.percentile(times_us, 99)),
            "worst": float(times_us.max()),
        },
    }


def is_clean(summary: dict[str, Any]) -> bool:
    """Returns whether every planted chunk was rejected, no good one was, and MuJoCo saw no contact."""
    contacts = summary["contacts_robot_world"] + summary["contacts_robot_robot"]
    return contacts == 0 and summary["planted_accepted"] == 0 and summary["good_refused"] == 0


def _count(words: Any) -> dict[str, int]:
    counted: dict[str, int] = {}
    for word in words:
        counted[word] = counted.get(word, 0) + 1
    return dict(sorted(counted.items(), key=lambda item: (-item[1], item[0])))
