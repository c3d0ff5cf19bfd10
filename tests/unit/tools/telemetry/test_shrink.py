# SPDX-License-Identifier: Apache-2.0
"""A refused case is made as small as it gets, and comes out as a test that runs."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from fixtures.analytic_robots import NOW_S as PAPER_NOW_S
from fixtures.analytic_robots import at, gate_of, planar_two_link, sphere, world_of
from fixtures.rejected_chunks import DOWN, HOME, NOW_S, REJECTIONS, case, gate_with, obstacle, towards

import lastgate as lg
from lastgate.tools.telemetry.recorder import Recorder
from lastgate.tools.telemetry.recording_reader import Recording, read_recording
from lastgate.tools.telemetry.shrink import SmallCase, WorldParts, shrink
from lastgate.tools.telemetry.shrunk_test import pytest_text


def recording_of(path: Path, gate: lg.Gate, chunk, state, world, *, now_s: float = NOW_S) -> Recording:
    with Recorder(gate, path, in_background=False) as recorder:
        recorder.check(chunk, state=state, world=world, now_s=now_s)
    return read_recording(path)


def shrunk(recording: Recording) -> tuple[SmallCase, lg.Violation]:
    check = recording.checks[0]
    return shrink(check, recording.models[check.model_digest].gate())


def text_of(recording: Recording) -> str:
    small, violation = shrunk(recording)
    model = recording.models[recording.checks[0].model_digest]
    return pytest_text(small, violation, model=model, origin="box.mcap#1")


def run_pytest(*files: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *map(str, files)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


# Every way in which a test is written: limits, pairs, obstacles, voxels, points, no state, no world, another mode.
SHRUNK_AND_RUN = [
    "joint_position_limit",
    "self_collision",
    "world_half_space",
    "world_voxel",
    "world_point",
    "nan_in_action",
    "state_unavailable",
    "world_unavailable",
    "cartesian_step",
]


def test_every_refusal_comes_out_as_a_test_that_passes_and_notices_an_acceptance(tmp_path: Path):
    """All in one run of pytest; then their twins, in which the rule is no longer broken."""
    twins = 0
    for name in SHRUNK_AND_RUN:
        rejected = REJECTIONS[name]()
        path = tmp_path / f"{name}.mcap"
        text = text_of(recording_of(path, rejected.gate, rejected.chunk, rejected.state, rejected.world))
        (tmp_path / f"test_{name}.py").write_text(text)
    outcome = run_pytest(*tmp_path.glob("test_*.py"))
    assert f"{len(SHRUNK_AND_RUN)} passed" in outcome.stdout, outcome.stdout

    for path in tmp_path.glob("test_*.py"):
        text = path.read_text()
        begin = text.index("chunk = lg.ActionChunk(")
        line = text[begin : text.index("\n", begin)]
        still = f"chunk = lg.ActionChunk(np.array([{HOME.tolist()}]))"
        state = f"state = lg.RobotState(positions=np.array({HOME.tolist()}), stamp_s={NOW_S})"
        begin = text.index("state = ")
        state_line = text[begin : text.index("\n", begin)]
        text = (
            text.replace(line, still)
            .replace(state_line, state)
            .replace("world = None", "world = lg.NO_WORLD")
        )
        path.write_text(text)
        twins += 1
    outcome = run_pytest(*tmp_path.glob("test_*.py"))
    assert f"{twins} failed" in outcome.stdout, outcome.stdout


def test_of_many_obstacles_the_one_to_blame_is_left(tmp_path: Path):
    rng = np.random.default_rng(3)
    crowd = [
        obstacle(f"far{k}", {"shape": "sphere", "radius_m": 0.05}, *rng.uniform([-2, -2, 1.5], [-1, 2, 2]))
        for k in range(40)
    ]
    pole = obstacle("pole", {"shape": "capsule", "radius_m": 0.02, "length_m": 0.8}, 0.5, 0.0, 0.2)
    points = lg.Points(xyz=rng.uniform([-2, -2, 1.5], [-1, 2, 2], (500, 3)), stamp_s=NOW_S)
    world = lg.World(primitives=[*crowd[:20], pole, *crowd[20:]], points=points, stamp_s=NOW_S)
    state = lg.RobotState(
        positions=HOME, stamp_s=NOW_S, velocities=np.zeros(7), gripper_positions=np.array([0.02])
    )
    recording = recording_of(tmp_path / "box.mcap", gate_with(), lg.ActionChunk(DOWN), state, world)
    small, violation = shrunk(recording)
    assert violation.against == "pole"
    assert isinstance(small.world, WorldParts)
    assert [p.object_id for p in small.world.primitives or ()] == ["pole"]
    assert small.world.points is None
    assert small.chunk.rows.shape == (1, 7)
    assert small.state is not None
    assert small.state.velocities is None


@pytest.mark.parametrize("name", ["world_voxel", "world_unknown_voxel", "world_point"])
def test_of_many_voxels_or_points_one_is_left(name: str, tmp_path: Path):
    rejected = REJECTIONS[name]()
    recording = recording_of(
        tmp_path / "box.mcap", rejected.gate, rejected.chunk, rejected.state, rejected.world
    )
    small, _ = shrunk(recording)
    assert isinstance(small.world, WorldParts)
    if name == "world_point":
        assert len(small.world.points or ()) == 1
    else:
        assert small.world.voxels is not None
        assert np.count_nonzero(small.world.voxels.occupancy) == 1


def test_world_that_is_not_needed_is_left_out(tmp_path: Path):
    rejected = REJECTIONS["self_collision"]()
    world = REJECTIONS["world_point"]().world
    far = lg.World(points=world.points.xyz + 5.0, stamp_s=NOW_S)
    small, _ = shrunk(recording_of(tmp_path / "box.mcap", rejected.gate, rejected.chunk, rejected.state, far))
    assert small.world is lg.NO_WORLD


def test_robot_of_ones_own_goes_into_the_test(tmp_path: Path):
    gate = gate_of(planar_two_link())
    gate.attach(
        "forearm", lg.SphereShape(radius_m=0.2), object_id="cup", origin_xyz_rpy=(1.0, 0, 0, 0, 0, 0.0)
    )
    wall = world_of(sphere((2.0, 0.3, 0.0), 0.05, 'wall "quoted"'))
    chunk = lg.ActionChunk(np.array([[0.05, 0.0], [0.1, 0.0]]))
    recording = recording_of(tmp_path / "box.mcap", gate, chunk, at(0.0, 0.0), wall, now_s=PAPER_NOW_S)
    text = text_of(recording)
    path = tmp_path / "test_own.py"
    path.write_text(text)
    outcome = run_pytest(path)
    assert "1 passed" in outcome.stdout, outcome.stdout
    assert "from_flat_config" in text


def test_accepted_check_cannot_be_shrunk(tmp_path: Path):
    accepted = case(towards(j1=0.1))
    recording = recording_of(
        tmp_path / "box.mcap", accepted.gate, accepted.chunk, accepted.state, accepted.world
    )
    with pytest.raises(lg.ROSConfigError, match="was accepted"):
        shrunk(recording)


def test_budget_of_tries_is_kept_and_the_case_still_refused(tmp_path: Path):
    rejected = REJECTIONS["world_point"]()
    recording = recording_of(
        tmp_path / "box.mcap", rejected.gate, rejected.chunk, rejected.state, rejected.world
    )
    check = recording.checks[0]
    gate = recording.models[check.model_digest].gate()
    small, violation = shrink(check, gate, tries_max=3)
    assert violation.code == "world_collision"
    assert not small.check(gate).accepted
