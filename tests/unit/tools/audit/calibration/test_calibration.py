# SPDX-License-Identifier: Apache-2.0
"""Six robots, five seconds of varied motion, one planted fault each: found, or "cannot tell" of just that property.

Never "fits": that would be a wrong calibration called right. Clean recordings, noise included, are never called wrong.
"""

from dataclasses import replace

import numpy as np
import pytest
from fixtures.calibration_motions import (
    KINDS,
    clean_motion,
    clear_poses,
    faults_to_plant,
    gate_of,
    joints_that_carry,
    planted,
)

import lastgate as lg
from lastgate.tools.audit.calibration import Property, RecordedMotion, check_calibration

ROBOTS = ("franka_panda", "so101_follower", "ur5e", "xarm7", "sawyer", "widowx")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("robot", ROBOTS)
def test_planted_fault_is_found_or_cannot_be_told_and_never_fits(robot: str, kind: str):
    gate = gate_of(robot)
    motion = clean_motion(gate, 11, kind)
    # What is wrong with a joint is told by poses of a tool that it carries; fingers carry none.
    carrying = joints_that_carry(gate, motion.tool_link) if kind == "tool" else set()
    wrong, missed = [], []
    faults = faults_to_plant(gate)
    for fault in faults:
        report = check_calibration(gate, planted(motion, fault))
        if report.outcome == "fault":
            told = carrying and carrying.issuperset(fault.joints)
            if told and not any(f.kind is fault.kind for f in report.explanations):
                wrong.append(f"{fault.words}: explained as {[f.words for f in report.explanations]}")
            continue
        missed.append(fault)
        open_answers = [report.joints[gate.joint_names[index]][fault.kind] for index in fault.joints]
        if not any(answer.outcome == "cannot tell" and answer.reason for answer in open_answers):
            wrong.append(f"{fault.words}: {report.outcome}")
    print(f"{robot}, {kind}: {len(faults) - len(missed)} of {len(faults)} found, the others cannot be told")
    assert wrong == []
    if kind == "positions only":
        assert len(missed) < 0.7 * len(faults)
    elif kind == "driver":  # commands and positions differ by some degrees
        assert {fault.kind for fault in missed} <= {Property.ZERO}
    else:  # the zero of the last joint is another mounting of the tool, and fingers do not carry it
        last = max(carrying)
        assert [fault for fault in missed if carrying.issuperset(fault.joints)] == [
            fault for fault in missed if fault.kind is Property.ZERO and fault.joints == (last,)
        ]


def test_no_clean_recording_is_called_wrong():
    called = [
        f"{robot}, {kind}, seed {seed}: {report.contradiction}"
        for robot in ROBOTS
        for kind in KINDS
        for seed in range(12)
        if (
            report := check_calibration(gate_of(robot), clean_motion(gate_of(robot), seed, kind))
        ).contradiction
    ]
    assert len(ROBOTS) * len(KINDS) * 12 >= 200
    assert called == []


def test_arm_whose_tool_was_seen_fits_and_its_twin_with_one_mirrored_joint_does_not():
    gate = gate_of("franka_panda")
    motion = clean_motion(gate, 5, "tool")
    joints = check_calibration(gate, motion).joints
    open_answers = {
        (joint, kind)
        for joint, of in joints.items()
        for kind, answer in of.items()
        if answer.outcome != "fits"
    }
    # Where the tool is mounted is not known, so a turn of the last joint's zero is another mounting.
    assert open_answers == {("panda_joint7", Property.ZERO)}
    mirrored = motion.positions.copy()
    mirrored[:, 3] *= -1.0
    report = check_calibration(gate, replace(motion, positions=mirrored))
    assert report.outcome == "fault"
    assert [fault.words for fault in report.explanations] == ["panda_joint4 is mirrored"]
    assert report.joints["panda_joint4"][Property.SIGN].outcome == "fault"


def test_joint_that_stands_still_cannot_be_told():
    gate = gate_of("franka_panda")
    still = np.tile(clear_poses(gate, 1, np.random.default_rng(3)), (50, 1))
    report = check_calibration(gate, RecordedMotion(times_s=np.arange(50) * 0.1, positions=still))
    assert report.outcome == "cannot tell"
    assert "moves by 0.000 only" in report.joints["panda_joint1"][Property.SCALE].reason


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"positions": np.full((5, 7), np.nan)}, "not finite"),
        ({"times_s": np.zeros(5)}, "each later than the one before"),
        ({"tool": np.zeros((5, 4))}, "expected"),
        ({"velocities": np.zeros((4, 7))}, "velocities is"),
    ],
)
def test_recording_that_is_not_whole_is_refused(change: dict, words: str):
    whole = {"times_s": np.arange(5.0), "positions": np.zeros((5, 7))}
    RecordedMotion(**whole)
    with pytest.raises(lg.ROSConfigError, match=words):
        RecordedMotion(**{**whole, **change})
