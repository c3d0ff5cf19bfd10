# SPDX-License-Identifier: Apache-2.0
"""Holds every fault against the evidence: what is refuted is not there, what alone explains the recording is."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from lastgate.contracts import ROSConfigError
from lastgate.gate import Gate
from lastgate.tools.audit.calibration.evidence import MOTION_MIN, TOOL_ERROR_M, TOOL_ERROR_RAD, Evidence
from lastgate.tools.audit.calibration.faults import Fault, Property, faults_of, scale_fault, zero_fault
from lastgate.tools.audit.calibration.recording import RecordedMotion

Outcome = Literal["fits", "fault", "cannot tell"]
# Factors and offsets that are tried where the tool was seen, fine enough that the next search starts beside the answer.
SCALES_TRIED = tuple(float(scale) for scale in np.geomspace(0.4, 2.5, 24))
ZEROS_TRIED_RAD = tuple(float(zero) for zero in np.linspace(-np.pi, np.pi, 36, endpoint=False))
ZEROS_TRIED_M = tuple(float(zero) for zero in np.linspace(-0.3, 0.3, 25))
SEARCH_ROWS = 60
SEARCH_HALVINGS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class JointAnswer:
    """One property of one joint, with the reason."""

    outcome: Outcome
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationReport:
    """What a recording says about a calibration.

    Attributes:
        contradiction: What speaks against the recording as it is read; empty where nothing does.
        explanations: Single faults, each of which would explain the whole recording; empty where nothing is wrong, or
            where no single one would.
        joints: Answers by joint and property.
    """

    robot: str
    rows: int
    seconds: float
    contradiction: str
    explanations: tuple[Fault, ...]
    joints: dict[str, dict[Property, JointAnswer]]

    @property
    def outcome(self) -> Outcome:
        """A fault where something contradicts; fits only if every property of every joint does."""
        if self.contradiction:
            return "fault"
        answers = [answer for joint in self.joints.values() for answer in joint.values()]
        return "fits" if all(answer.outcome == "fits" for answer in answers) else "cannot tell"


def check_calibration(gate: Gate, motion: RecordedMotion) -> CalibrationReport:
    """Says per joint whether zero, sign, unit, order and scale of a recording fit the manifest.

    Raises:
        ROSConfigError: The recording has another number of joints than the robot, or a tool on a link it does not have.
    """
    if motion.positions.shape[1] != gate.n_dof:
        raise ROSConfigError(
            f"the recording has {motion.positions.shape[1]} joints and robot `{gate.robot.name}` {gate.n_dof}"
        )
    if motion.tool is not None and motion.tool_link not in gate.link_names:
        raise ROSConfigError(f"robot `{gate.robot.name}` has no link `{motion.tool_link}` to carry the tool")
    evidence = Evidence(gate, motion)
    contradiction = evidence.against(motion.positions) or evidence.driver_against(motion.positions) or ""
    faults = list(faults_of(evidence.joints))
    refuted = {fault: evidence.against(fault.undo(motion.positions)) for fault in faults}
    if contradiction:
        explanations = _explanations(evidence, [fault for fault in faults if refuted[fault] is None])
        answers = _answers_of_a_fault(evidence, explanations)
    else:
        explanations = ()
        answers = _answers(evidence, refuted)
    return CalibrationReport(
        robot=gate.robot.name,
        rows=len(motion.positions),
        seconds=float(motion.times_s[-1] - motion.times_s[0]),
        contradiction=contradiction,
        explanations=explanations,
        joints=answers,
    )


def _answers(evidence: Evidence, refuted: dict[Fault, str | None]) -> dict[str, dict[Property, JointAnswer]]:
    answers: dict[str, dict[Property, JointAnswer]] = {}
    for index, joint in enumerate(evidence.joints):
        moved = float(np.ptp(evidence.motion.positions[:, index]))
        of_joint: dict[Property, JointAnswer] = {}
        for kind in Property:
            asked = {
                fault: reason
                for fault, reason in refuted.items()
                if fault.kind is kind and index in fault.joints
            }
            possible = [fault for fault, reason in asked.items() if reason is None]
            if possible:
                of_joint[kind] = JointAnswer(
                    outcome="cannot tell", reason=_why_open(evidence, possible[0], moved)
                )
            else:
                said = next(
                    (reason for reason in asked.values() if reason), "there is no neighbour to swap with"
                )
                of_joint[kind] = JointAnswer(outcome="fits", reason=f"otherwise {said}")
        answers[joint.name] = of_joint
    return answers


def _why_open(evidence: Evidence, fault: Fault, moved: float) -> str:
    if moved < MOTION_MIN:
        return f"the joint moves by {moved:.3f} only"
    lacking = (
        f"and the tool on `{evidence.motion.tool_link}` would be where it was seen"
        if evidence.motion.tool is not None
        else "and no tool pose was recorded"
    )
    return f"if {fault.words}, it is inside its limits all the same and meets nothing, {lacking}"


def _answers_of_a_fault(
    evidence: Evidence, explanations: tuple[Fault, ...]
) -> dict[str, dict[Property, JointAnswer]]:
    answers: dict[str, dict[Property, JointAnswer]] = {}
    alone = len({(fault.kind, fault.joints) for fault in explanations}) == 1
    for index, joint in enumerate(evidence.joints):
        of_joint: dict[Property, JointAnswer] = {}
        for kind in Property:
            mine = [fault for fault in explanations if fault.kind is kind and index in fault.joints]
            if mine:
                said = (
                    f"{mine[0].words}{'' if alone else ': one of several that would explain the recording'}"
                )
                of_joint[kind] = JointAnswer(outcome="fault" if alone else "cannot tell", reason=said)
            else:
                of_joint[kind] = JointAnswer(
                    outcome="cannot tell", reason="something in this recording is wrong; repair that first"
                )
        answers[joint.name] = of_joint
    return answers


def _explanations(evidence: Evidence, possible: list[Fault]) -> tuple[Fault, ...]:
    """Returns the faults that explain everything; where the tool was seen, scale and zero are fitted to it."""
    explaining = [fault for fault in possible if _explains(evidence, fault)]
    if evidence.motion.tool is not None and not explaining:
        explaining = [fault for fault in _fitted_to_the_tool(evidence) if _explains(evidence, fault)]
    units = [fault for fault in explaining if fault.kind is Property.UNIT]
    if units and any(fault.kind is Property.SCALE for fault in explaining):
        # A factor of 57 is a unit, not a gear.
        named = {fault.joints for fault in units}
        explaining = [f for f in explaining if f.kind is not Property.SCALE or f.joints not in named]
    return tuple(explaining)


def _explains(evidence: Evidence, fault: Fault) -> bool:
    positions = fault.undo(evidence.motion.positions)
    return evidence.against(positions) is None and evidence.driver_against(positions) is None


def _fitted_to_the_tool(evidence: Evidence) -> Iterator[Fault]:
    """Yields, joint by joint, the scale and the zero that bring the recorded tool nearest."""
    motion = evidence.motion
    assert motion.tool is not None
    rows = (
        np.linspace(0, len(motion.positions) - 1, min(SEARCH_ROWS, len(motion.positions))).round().astype(int)
    )
    few = RecordedMotion(
        times_s=motion.times_s[rows],
        positions=motion.positions[rows],
        tool=motion.tool[rows],
        tool_link=motion.tool_link,
    )
    thinned = Evidence(evidence.gate, few)
    for index, joint in enumerate(evidence.joints):
        zeros = ZEROS_TRIED_M if joint.joint_type == "prismatic" else ZEROS_TRIED_RAD
        yield scale_fault(
            joint, index, _nearest(thinned, lambda s, j=joint, i=index: scale_fault(j, i, s), SCALES_TRIED)
        )
        yield zero_fault(
            joint, index, _nearest(thinned, lambda z, j=joint, i=index: zero_fault(j, i, z), zeros)
        )


def _nearest(evidence: Evidence, fault_of: Callable[[float], Fault], tried: tuple[float, ...]) -> float:
    """Returns the number whose fault leaves the smallest error of the tool: best of a grid, then halved around it."""

    def error(number: float) -> float:
        error_m, error_rad = evidence.tool_error(fault_of(number).undo(evidence.motion.positions))
        return max(error_m / TOOL_ERROR_M, error_rad / TOOL_ERROR_RAD)

    best = min(tried, key=error)
    place = tried.index(best)
    width = abs(tried[min(place + 1, len(tried) - 1)] - tried[max(place - 1, 0)]) / 2.0
    for _ in range(SEARCH_HALVINGS):
        width /= 2.0
        best = min((best - width, best, best + width), key=error)
    return best
