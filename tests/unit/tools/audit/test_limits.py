# SPDX-License-Identifier: Apache-2.0
"""Proposed limits follow from what was seen, cover what was held out, never loosen, and are never applied."""

import json

import numpy as np
import pytest
from fixtures.recorded_datasets import job_for

from lastgate.contracts import RobotDescription, ROSConfigError
from lastgate.robots import find_manifest, load_robot, read_manifest
from lastgate.tools.audit.dataset_options import DatasetOptions
from lastgate.tools.audit.job import AuditJob, OpenAudit
from lastgate.tools.audit.limits import propose_limits
from lastgate.tools.audit.limits_diff import propose_diff
from lastgate.tools.audit.quantile_counter import QuantileCounter
from lastgate.tools.cli.app import run

STEP_S = 0.02
START = np.array([0.0, -0.6, 0.0, -2.2, 0.0, 1.7, 0.785])


def recordings(folder, *, episodes: int = 10, speed: float = 0.4, lag: float = 0.003):
    """Writes episodes in which joint 1 swings with a known speed and follows its command with a known error."""
    folder.mkdir()
    times_s = STEP_S * np.arange(500)
    for number in range(episodes):
        states = np.tile(START, (500, 1))
        states[:, 0] += speed * np.sin(times_s + number)
        commands = np.vstack([states[1:], states[-1:]])
        commands[:, 0] += lag
        np.savez(folder / f"{number:03d}.npz", action=commands, state=states)
    return AuditJob(dataset=str(folder), robot="franka_panda", source=DatasetOptions(step_s=STEP_S))


def test_known_motion_gives_the_known_numbers(tmp_path):
    report = propose_limits(OpenAudit(recordings(tmp_path / "d")))
    first, second = report.joints[:2]
    assert first.velocity_seen == pytest.approx(0.4, rel=0.02)
    assert first.acceleration_seen == pytest.approx(0.4, rel=0.02)
    assert first.velocity_limit == pytest.approx(0.48, rel=0.02)
    assert first.tracking_error["0.999"] == pytest.approx(0.003, rel=0.02)
    assert second.tracking_error["0.999"] == 0.0
    # The hand is about 0.55 m from the axis of joint 1.
    assert report.margin_m == pytest.approx(0.002, abs=0.0011)
    assert (report.coverage.episodes, report.episodes) == (2, 8)
    assert report.coverage.velocity == report.coverage.acceleration == report.coverage.margin == 1.0


def test_episode_held_out_that_is_faster_shows_as_a_gap(tmp_path):
    job = recordings(tmp_path / "d")
    path = tmp_path / "d" / "004.npz"  # the first that is held out
    with np.load(path) as arrays:
        fast = arrays["state"].copy()
        fast[:, 0] = 3.0 * fast[:, 0]
        np.savez(path, action=arrays["action"], state=fast)
    coverage = propose_limits(OpenAudit(job)).coverage
    assert 0.5 < coverage.velocity < 1.0
    assert coverage.margin < 1.0


def test_declared_limit_is_never_loosened(tmp_path):
    report = propose_limits(OpenAudit(recordings(tmp_path / "d", speed=2.5)))
    assert report.joints[0].velocity_seen > 2.175
    assert report.joints[0].velocity_limit == 2.175


def test_diff_is_of_a_manifest_that_is_valid_and_carries_the_numbers(tmp_path):
    report = propose_limits(OpenAudit(recordings(tmp_path / "d")))
    manifest = find_manifest("franka_panda")
    before = manifest.read_bytes()
    diff = propose_diff("franka_panda", report)
    assert manifest.read_bytes() == before
    (tmp_path / "robot.yaml").write_bytes(before)
    assert _apply(diff, tmp_path / "robot.yaml")
    robot = RobotDescription(**read_manifest(tmp_path / "robot.yaml"))
    limits = {joint.name: joint for joint in robot.joints}
    for joint in report.joints:
        assert limits[joint.joint].velocity_limit == pytest.approx(joint.velocity_limit, rel=1e-5)
        assert limits[joint.joint].acceleration_limit == pytest.approx(joint.acceleration_limit, rel=1e-5)
    assert robot.safety.self_collision_margin_m == report.margin_m
    assert robot.safety.world_collision_margin_m == report.margin_m
    assert (
        limits["panda_finger_joint1"].velocity_limit == load_robot("franka_panda").joints[-2].velocity_limit
    )


def _apply(diff: str, path) -> bool:
    """Applies a unified diff by hand: every removed and kept line must be there."""
    lines, out, at = path.read_text().splitlines(), [], 0
    for line in diff.splitlines()[2:]:
        if line.startswith("@@"):
            first = int(line.split()[1].split(",")[0][1:]) - 1
            out += lines[at:first]
            at = first
        elif line.startswith("+"):
            out.append(line[1:])
        else:
            assert lines[at] == line[1:]
            at += 1
            if line.startswith(" "):
                out.append(line[1:])
    path.write_text("\n".join(out + lines[at:]) + "\n")
    return True


def test_command_prints_the_coverage_and_writes_nothing(small, capsys):
    assert run(["limits", str(small), "--robot", "franka_panda"]) == 0
    out = capsys.readouterr().out
    assert "held out: 4 episodes" in out
    assert "+++ b/robot.yaml" in out
    assert run(["limits", str(small), "--robot", "franka_panda", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["coverage"]["episodes"] == 4


@pytest.mark.parametrize(
    ("episodes", "quantile", "says"), [(4, 0.99, "at least 5"), (5, 1.0, "between 0.5 and 1")]
)
def test_too_little_to_tell_is_refused(tmp_path, episodes, quantile, says):
    job = recordings(tmp_path / "d", episodes=episodes)
    with pytest.raises(ROSConfigError, match=says):
        propose_limits(OpenAudit(job), quantile=quantile)


def test_episode_with_more_commands_than_measurements_is_left_out_and_named(tmp_path):
    job = recordings(tmp_path / "d")
    path = tmp_path / "d" / "000.npz"
    with np.load(path) as arrays:
        np.savez(path, action=arrays["action"], state=arrays["state"][:10])
    report = propose_limits(OpenAudit(job))
    assert report.episodes == 7
    assert report.unreadable == ["000: 500 rows commanded and 10 measured"]


def test_recording_without_states_is_refused(small, tmp_path):
    folder = tmp_path / "d"
    folder.mkdir()
    for number in range(5):
        np.savez(folder / f"{number}.npz", action=np.tile(START, (9, 1)))
    job = job_for(small, dataset=folder, source=DatasetOptions(step_s=STEP_S))
    with pytest.raises(ROSConfigError, match="nothing was measured"):
        propose_limits(OpenAudit(job))


@pytest.mark.parametrize("share", [0.5, 0.9, 0.99, 0.999])
def test_counted_quantile_is_never_below_the_true_one_and_hardly_above(share):
    values = np.random.default_rng(1).lognormal(-3.0, 2.0, (20_000, 3))
    counter = QuantileCounter(3)
    for part in np.array_split(values, 7):
        counter.add(part)
    true = np.quantile(values, share, axis=0, method="inverted_cdf")
    assert (counter.quantile(share) >= true).all()
    assert (counter.quantile(share) <= 1.0121 * true).all()


def test_counter_leaves_out_what_is_no_number_and_knows_zero():
    counter = QuantileCounter(1)
    counter.add(np.array([[np.nan], [np.inf], [0.0], [-2.0]]))
    assert counter.total == 2
    assert counter.quantile(0.5)[0] <= 1e-7
    assert counter.quantile(1.0)[0] == 2.0
    assert QuantileCounter(2).quantile(0.99).tolist() == [0.0, 0.0]
