# SPDX-License-Identifier: Apache-2.0
"""Planted faults are as many as asked for, where the labels say, and real: MuJoCo, which has the meshes, says so."""

from collections import Counter

import numpy as np
import pytest
from fixtures.recorded_datasets import EPISODES, FAULTS, episodes_of

from lastgate.contracts import ROSConfigError, ROSPlanningError
from lastgate.robots import load_robot
from lastgate.tools.audit.fault_labels import (
    FaultLabel,
    PlantedFault,
    read_labels,
    score_findings,
    write_labels,
)
from lastgate.tools.audit.synth.dataset import write_dataset
from lastgate.tools.audit.synth.episodes import spread_faults
from lastgate.tools.audit.synth.roadmap import build_roadmap
from lastgate.tools.demo.panda_scene import PandaScene


def test_exactly_as_many_faults_as_asked_for(small):
    labels = read_labels(small)
    assert len(labels) == FAULTS
    assert Counter(label.fault for label in labels) == dict.fromkeys(PlantedFault, 2)
    lengths = [len(episode.actions) for episode in episodes_of(small)]
    assert len(lengths) == EPISODES
    assert all(0 < label.first_row <= label.last_row < lengths[label.episode] for label in labels)


@pytest.mark.parametrize(("episodes", "faults"), [(1, 0), (3, 7), (100, 20), (5, 5)])
def test_faults_are_spread_evenly(episodes, faults):
    planted = spread_faults(episodes=episodes, faults=faults, seed=1)
    counts = [len(kinds) for kinds in planted]
    assert sum(counts) == faults
    assert max(counts) - min(counts) <= 1


def test_same_seed_writes_the_same_bytes_and_another_one_does_not(tmp_path):
    robot = load_robot("franka_panda")
    for name, seed in (("a", 5), ("b", 5), ("c", 6)):
        write_dataset(robot, tmp_path / name, episodes=2, faults=2, seed=seed, fps=30.0)
    data = [(tmp_path / n / "data" / "chunk-000" / "file-000.parquet").read_bytes() for n in "abc"]
    assert data[0] == data[1]
    assert data[0] != data[2]


def test_folder_with_something_in_it_is_refused(tmp_path):
    (tmp_path / "mine.txt").write_text("keep me")
    with pytest.raises(ROSConfigError, match="not empty"):
        write_dataset(load_robot("franka_panda"), tmp_path, episodes=1, faults=0, seed=1)


@pytest.mark.parametrize(("episodes", "faults"), [(0, 0), (-1, 0), (1, -1)])
def test_senseless_counts_are_refused(tmp_path, episodes, faults):
    with pytest.raises(ROSConfigError, match="at least one episode"):
        write_dataset(load_robot("franka_panda"), tmp_path / "x", episodes=episodes, faults=faults, seed=1)


def test_robot_whose_links_always_pass_closely_is_refused_with_the_distance():
    """The upper arm of ur10e turns 3 to 5 mm above its base."""
    with pytest.raises(ROSPlanningError, match="in no random pose do its links keep 5 mm"):
        build_roadmap(load_robot("ur10e"), step_s=1.0 / 30.0, seed=3)


# ---- Held against the meshes ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def roadmap():
    return build_roadmap(load_robot("franka_panda"), step_s=1.0 / 30.0, seed=3)


@pytest.fixture(scope="module")
def scene(roadmap):
    return PandaScene(load_robot("franka_panda"), roadmap.obstacles)


def test_clean_legs_touch_nothing_in_mujoco(roadmap, scene):
    legs = [(a, b) for a, others in enumerate(roadmap.neighbours) for b in others if a < b]
    assert len(legs) >= 40
    for a, b in legs[::5]:
        rows = roadmap.leg(a, b)[::4]
        assert not scene.contacts_along(roadmap.poses[a], rows, samples_per_row=4), (a, b)


def test_planted_contact_between_steps_is_at_no_step_and_is_between_two(roadmap, scene):
    for detour in roadmap.detours[PlantedFault.WORLD_BETWEEN_ROWS]:
        start = roadmap.poses[detour.start]
        assert not any(scene.contacts_at(row) for row in (start, *detour.rows))
        assert scene.contacts_along(start, detour.rows, samples_per_row=32).robot_world


def test_planted_self_collision_touches_in_mujoco_and_the_way_there_does_not(roadmap, scene):
    for detour in roadmap.detours[PlantedFault.SELF_COLLISION]:
        touching = [bool(scene.contacts_at(row).robot_robot) for row in detour.rows]
        assert any(touching[detour.first_row : detour.last_row + 1])
        assert not any(touching[: detour.first_row])


def test_planted_limit_is_beyond_the_limit_in_the_labelled_rows_only(roadmap, scene):
    upper = scene.model.jnt_range[: len(scene.arm_joints), 1]
    for detour in roadmap.detours[PlantedFault.LIMIT]:
        beyond = np.flatnonzero((detour.rows > upper).any(axis=1))
        assert (beyond[0], beyond[-1]) == (detour.first_row, detour.last_row)


# ---- Labels ----------------------------------------------------------------------------------------------


def label(episode=0, first_row=5, last_row=6, fault=PlantedFault.LIMIT):
    return FaultLabel(episode=episode, first_row=first_row, last_row=last_row, fault=fault)


def test_finding_in_the_labelled_rows_answers_the_label():
    score = score_findings([label()], [(0, 5, 7, "joint_position_limit")])
    assert (score.found, score.invented) == (1, 0)


@pytest.mark.parametrize(
    "finding",
    [
        (1, 5, 6, "joint_position_limit"),
        (0, 5, 6, "joint_velocity_limit"),
        (0, 9, 12, "joint_position_limit"),
        (0, 0, 3, "joint_position_limit"),
    ],
)
def test_finding_elsewhere_is_invented_and_the_label_missed(finding):
    score = score_findings([label()], [finding])
    assert (score.found, score.invented) == (0, 1)
    assert score.missed == (label(),)


def test_second_finding_for_one_label_is_invented():
    finding = (0, 5, 6, "joint_position_limit")
    assert score_findings([label()], [finding, finding]).invented == 1


def test_labels_survive_the_file_and_a_broken_line_is_refused(tmp_path):
    write_labels([label()], tmp_path)
    assert read_labels(tmp_path) == (label(),)
    (tmp_path / "meta" / "faults.jsonl").write_text('{"episode": 1}\n')
    with pytest.raises(ROSConfigError, match=r"faults\.jsonl:1"):
        read_labels(tmp_path)
    assert read_labels(tmp_path / "meta") is None
