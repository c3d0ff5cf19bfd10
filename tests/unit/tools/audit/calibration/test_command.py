# SPDX-License-Identifier: Apache-2.0
"""`lastgate calibrate check` from files: what it prints and its three exit codes."""

import json
from pathlib import Path

import numpy as np
import pytest
from fixtures.calibration_motions import clean_motion, gate_of

from lastgate.tools.cli.app import run


def write_log(folder: Path, *, kind: str = "tool", mirror: int | None = None, factor: float = 1.0) -> Path:
    gate = gate_of("franka_panda")
    motion = clean_motion(gate, 5, kind)
    positions = motion.positions * factor
    if mirror is not None:
        positions[:, mirror] *= -1.0
    arrays = {"state": positions, "timestamp": motion.times_s, "names": np.array(gate.joint_names)}
    if motion.tool is not None:
        arrays["tool_pose"] = motion.tool
    if motion.velocities is not None:
        arrays |= {"velocity": motion.velocities, "action": motion.commands}
    np.savez(folder / "motion.npz", **arrays)
    return folder / "motion.npz"


def check(log: Path, *more: str) -> int:
    return run(["calibrate", "check", str(log), "--robot", "franka_panda", *more])


def test_mirrored_joint_is_found_and_exits_with_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert check(write_log(tmp_path, mirror=3)) == 1
    assert "would explain it: panda_joint4 is mirrored" in capsys.readouterr().out


def test_degrees_read_as_radians_are_found_and_as_degrees_are_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    log = write_log(tmp_path, factor=180.0 / np.pi)
    assert check(log) == 1
    assert "every joint that turns is in degrees and is read as radians" in capsys.readouterr().out
    assert check(log, "--degrees") == 2  # the zero of the last joint stays open
    assert "fault" not in capsys.readouterr().out


def test_positions_alone_cannot_tell_and_exit_with_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert check(write_log(tmp_path, kind="positions only"), "--json") == 2
    said = capsys.readouterr()
    answer = json.loads(said.out)
    assert answer["outcome"] == "cannot tell"
    assert "no tool pose was recorded" in answer["joints"]["panda_joint1"]["sign"]["reason"]
    assert "tool_pose" in said.err


def test_driver_whose_velocity_turns_the_other_way_is_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    log = write_log(tmp_path, kind="driver", mirror=0)
    assert check(log) == 1
    assert (
        "the reported velocity of panda_joint1 is -1 times what its positions do" in capsys.readouterr().out
    )
    assert check(write_log(tmp_path, kind="driver")) == 2


def test_log_without_positions_is_refused_with_what_is_needed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    np.savez(tmp_path / "empty.npz", timestamp=np.arange(20.0))
    assert check(tmp_path / "empty.npz") == 2
    assert "hint: an .npz file with `state`" in capsys.readouterr().err
    assert check(tmp_path / "missing.npz") == 2


def test_log_without_times_needs_a_rate(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    np.savez(tmp_path / "still.npz", state=np.tile([0.0, -0.6, 0.0, -2.2, 0.0, 1.7, 0.785], (20, 1)))
    assert check(tmp_path / "still.npz") == 2
    assert "--rate-hz" in capsys.readouterr().err
    assert check(tmp_path / "still.npz", "--rate-hz", "50") == 2
    assert "cannot tell" in capsys.readouterr().out
