# SPDX-License-Identifier: Apache-2.0
"""A shadow changes nothing, stops nothing, and its log says what a gate would have done."""

import json

import numpy as np
import pytest

import lastgate as lg
from lastgate.integrations.shadow import Shadow
from lastgate.integrations.shadow_log import read_log
from lastgate.tools.audit.shadow_report import report_shadow
from lastgate.tools.cli.app import run

START = np.array([0.0, -0.6, 0.0, -2.2, 0.0, 1.7, 0.785])
HAND_XYZ = lg.Gate(lg.load_robot("franka_panda"), step_s=0.02).link_poses(START)["panda_hand"][:, 3]


@pytest.fixture(scope="module")
def gate():
    return lg.Gate(lg.load_robot("franka_panda"), step_s=0.02)


def state(stamp_s=0.0):
    return lg.RobotState(positions=START, stamp_s=stamp_s, gripper_positions=[0.02])


def sphere(distance_m: float, stamp_s: float) -> lg.World:
    """Returns a world with a sphere so far below the lowest point of the hand's volumes."""
    x, y, z = HAND_XYZ
    shape = lg.SphereShape(shape="sphere", radius_m=0.02)
    return lg.World(
        primitives=[
            lg.WorldCollisionPrimitive(shape=shape, pose=lg.Pose6D(xyz=(x, y, z - 0.117 - distance_m)))
        ],
        stamp_s=stamp_s,
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_goes_in_comes_out_byte_for_byte(gate, tmp_path, dtype):
    rows = np.tile(START, (4, 1)).astype(dtype)
    rows[2, 1] = np.nan
    before = rows.tobytes()
    with Shadow(gate, tmp_path / "log") as shadow:
        out = shadow.observe(rows, state=state(), world=lg.NO_WORLD, now_s=0.0)
    assert out is rows
    assert out.tobytes() == before
    assert out.dtype == dtype
    assert (shadow.checked, shadow.would_have_refused) == (1, 1)


@pytest.mark.parametrize(
    "action",
    ["left a bit", None, np.zeros((2, 2, 2)), np.zeros((3, 5)), [[1.0], [2.0, 3.0]], np.empty((0, 7))],
)
def test_whatever_is_proposed_nothing_is_raised_and_it_is_returned(gate, tmp_path, action):
    with Shadow(gate, tmp_path / "log") as shadow:
        assert shadow.observe(action, state=state(), world=lg.NO_WORLD, now_s=0.0) is action
    assert shadow.undecided + shadow.would_have_refused == 1
    (check,) = read_log(tmp_path / "log")[1]
    assert check.code


@pytest.mark.parametrize(
    "action",
    [START + 1j, np.ma.array(START, mask=True), START.astype(bool), START.astype(str)],
    ids=lambda a: str(a.dtype),
)
def test_action_that_is_not_of_real_numbers_is_undecided_and_not_called_accepted(gate, tmp_path, action):
    with Shadow(gate, tmp_path / "log") as shadow:
        assert shadow.observe(action, state=state(), world=lg.NO_WORLD, now_s=0.0) is action
        shadow.observe(START.astype(np.float32), state=state(), world=lg.NO_WORLD, now_s=0.0)
    assert (shadow.undecided, shadow.checked) == (1, 1)


def test_full_disk_stops_nothing_and_is_counted(gate, tmp_path):
    class FullDisk:
        def write(self, text):
            raise OSError(28, "No space left on device")

    shadow = Shadow(gate, tmp_path / "log")
    shadow.close()
    shadow._file = FullDisk()
    rows = np.tile(START, (2, 1))
    assert shadow.observe(rows, state=state(), world=lg.NO_WORLD, now_s=0.0) is rows
    assert shadow.lost_lines == 1


def test_log_that_exists_is_not_written_over(gate, tmp_path):
    (tmp_path / "log").write_text("mine")
    with pytest.raises(lg.ROSConfigError, match="cannot begin the log"):
        Shadow(gate, tmp_path / "log")


def test_log_is_read_back_bit_for_bit_and_decides_the_same(gate, tmp_path):
    random = np.random.default_rng(1)
    rows = START + np.cumsum(random.normal(0.0, 0.004, (16, 7)), axis=0)
    world = sphere(0.05, 3.0)
    verdict = gate.check(lg.ActionChunk(rows), state=state(3.0), world=world, now_s=3.0)
    with Shadow(gate, tmp_path / "log") as shadow:
        shadow.observe(rows, state=state(3.0), world=world, now_s=3.0)
    (check,) = read_log(tmp_path / "log")[1]
    again = gate.check(check.chunk, state=check.state, world=check.world, now_s=check.now_s)
    assert check.chunk.rows.tobytes() == rows.tobytes()
    assert again.accepted == verdict.accepted
    assert repr(again.min_clearance_m) == repr(verdict.min_clearance_m)


def hour_of_proposals(gate, path):
    """Writes 61 proposals a minute apart: every tenth jumps, and the sphere under the hand comes nearer and nearer."""
    rows = np.tile(START, (2, 1))
    jump = rows.copy()
    jump[1, 0] += 0.3
    with Shadow(gate, path) as shadow:
        for number in range(60):
            now_s = 60.0 * number
            proposed = jump if number % 10 == 9 else rows
            world = sphere(0.05 - 0.0008 * number, now_s)
            shadow.observe(proposed, state=state(now_s), world=world, now_s=now_s)


def test_report_counts_per_hour_by_reason_and_sweeps_margins(gate, tmp_path, capsys):
    hour_of_proposals(gate, tmp_path / "log")
    report = report_shadow(tmp_path / "log", gate.robot, margins_m=(0.0, 0.01, 0.02))
    assert report.hours == pytest.approx(1.0)
    assert report.refused_by_reason["joint_velocity_limit"] == 6
    assert report.refused_per_hour["joint_velocity_limit"] == pytest.approx(6.0)
    refused = [row.refused for row in report.sweep]
    assert refused == sorted(refused)
    assert refused[0] < refused[1] < refused[2]
    assert report.sweep[0].near_contacts > 0
    assert [row.near_contacts for row in report.sweep[1:]] == [0, 0]
    assert run(["shadow", str(tmp_path / "log"), "--robot", "franka_panda", "--margins", "0,10"]) == 0
    assert "at 10 mm: " in capsys.readouterr().out
    assert run(["shadow", str(tmp_path / "log"), "--robot", "franka_panda", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["proposals"] == 60


def test_cloud_cannot_be_built_again_and_is_left_out_of_the_sweep(gate, tmp_path):
    with Shadow(gate, tmp_path / "log") as shadow:
        for now_s in (0.0, 1.0):
            cloud = lg.World(points=np.array([[2.0, 2.0, 2.0]]), stamp_s=now_s)
            shadow.observe(np.tile(START, (2, 1)), state=state(now_s), world=cloud, now_s=now_s)
    report = report_shadow(tmp_path / "log", gate.robot)
    assert report.left_out_of_sweep == 2
    assert report.refused == 0


@pytest.mark.parametrize("text", ["", "not json\n", "{}\n", '{"log": "lastgate-shadow", "version": 99}\n'])
def test_file_that_is_no_log_is_refused(tmp_path, text, capsys):
    (tmp_path / "log").write_text(text)
    assert run(["shadow", str(tmp_path / "log"), "--robot", "franka_panda"]) == 2
    assert capsys.readouterr().err.startswith("error: ")


def test_log_of_another_robot_or_of_a_moment_is_refused(gate, tmp_path):
    hour_of_proposals(gate, tmp_path / "log")
    with pytest.raises(lg.ROSConfigError, match="is of robot"):
        report_shadow(tmp_path / "log", lg.load_robot("ur5e"))
    lines = (tmp_path / "log").read_text().splitlines(keepends=True)
    (tmp_path / "short").write_text("".join(lines[:3]))
    with pytest.raises(lg.ROSConfigError, match="fewer than two"):
        report_shadow(tmp_path / "short", gate.robot)


def test_line_cut_off_at_the_end_is_left_out_and_one_in_the_middle_is_refused(gate, tmp_path):
    hour_of_proposals(gate, tmp_path / "log")
    lines = (tmp_path / "log").read_text().splitlines(keepends=True)
    (tmp_path / "cut").write_text("".join(lines)[:-20])
    assert report_shadow(tmp_path / "cut", gate.robot, margins_m=()).proposals == 59
    lines[6] = lines[6][: len(lines[6]) // 2] + "\n"
    (tmp_path / "torn").write_text("".join(lines))
    with pytest.raises(lg.ROSConfigError, match="torn:7"):
        report_shadow(tmp_path / "torn", gate.robot, margins_m=())
