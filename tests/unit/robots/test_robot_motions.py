# SPDX-License-Identifier: Apache-2.0
"""Robots drawn by hand move where they can, and are stopped where they would hit themselves or leave their box.

No meshes exist to show which poses meet (tests/fixtures/library_poses.py has those), so the ways were chosen by
checking the drawing; who hits whom is written down, so that a manifest that loses the contact fails here.
"""

from dataclasses import dataclass

import numpy as np
import pytest

import lastgate as lg
from lastgate.gate.coverage import uncovered_links

STEP_S = 0.2
ROWS = 200  # slow enough for every limit: the longest way below takes 40 s


@dataclass(frozen=True)
class Ways:
    """A resting pose, a short way that is free, and a way that is not, with who meets."""

    home: list[float]
    free: list[float]
    blocked: list[float]
    meets: tuple[str, str]


WAYS = {
    "rizon4": Ways(
        [0.0, -0.698, 0.0, 1.57, 0.0, 0.698, 0.0],
        [0.4, -0.5, 0.2, 1.4, 0.2, 0.8, 0.5],
        [0.0, -1.9, 0.0, 2.0, -1.7, 0.698, 0.0],
        ("base_link", "link5"),
    ),
    "google_robot": Ways(
        [-0.784, 1.338, 1.849, 1.657, 0.442, -0.961, -1.875],
        [-0.6, 1.2, 1.7, 1.5, 0.3, -0.8, -1.5],
        [-0.784, 3.0, 1.849, 1.657, 0.7, 0.4, -1.875],
        ("base_link", "link_elbow"),
    ),
}


def verdict_on(gate: lg.Gate, home: list[float], target: list[float]) -> lg.Verdict:
    start, end = np.array(home), np.array(target)
    rows = start + (end - start) * np.linspace(0.0, 1.0, ROWS + 1)[1:, None]
    return gate.check(
        lg.ActionChunk(np.ascontiguousarray(rows), mode=lg.ControlMode.JOINT_POSITION),
        state=lg.RobotState(positions=start, stamp_s=0.0),
        world=lg.NO_WORLD,
        now_s=0.0,
    )


@pytest.mark.parametrize("name", sorted(WAYS))
def test_free_way_is_accepted(name):
    gate = lg.Gate(lg.load_robot(name), step_s=STEP_S)
    verdict = verdict_on(gate, WAYS[name].home, WAYS[name].free)
    assert verdict.accepted, str(verdict)


@pytest.mark.parametrize("name", sorted(WAYS))
def test_way_into_itself_is_rejected_with_the_links_that_meet(name):
    gate = lg.Gate(lg.load_robot(name), step_s=STEP_S)
    verdict = verdict_on(gate, WAYS[name].home, WAYS[name].blocked)
    assert not verdict.accepted
    violation = verdict.violations[0]
    assert violation.code == "self_collision"
    assert all(link in str(violation) for link in WAYS[name].meets), str(violation)


def test_pusher_crosses_its_square():
    gate = lg.Gate(lg.load_robot("pusht_2d"), step_s=STEP_S)
    assert verdict_on(gate, [0.02, 0.02], [0.49, 0.49]).accepted


@pytest.mark.parametrize("target", [[0.02, 0.4981], [0.0149, 0.02], [0.02, float("nan")]])
def test_pusher_that_would_leave_its_square_is_rejected(target):
    gate = lg.Gate(lg.load_robot("pusht_2d"), step_s=STEP_S)
    assert not verdict_on(gate, [0.02, 0.02], target).accepted


def test_pusher_is_stopped_at_a_block_and_passes_beside_it():
    gate = lg.Gate(lg.load_robot("pusht_2d"), step_s=STEP_S)
    block = {
        "shape": {"shape": "sphere", "radius_m": 0.03},
        "pose": {"xyz": (0.25, 0.25, 0.0)},
        "object_id": "t",
    }
    world = lg.World(primitives=[lg.WorldCollisionPrimitive(**block)], stamp_s=0.0)
    for y, free in ((0.25, False), (0.2, True)):
        rows = np.stack([np.linspace(0.02, 0.45, ROWS), np.full(ROWS, y)], axis=1)
        verdict = gate.check(
            lg.ActionChunk(rows, mode=lg.ControlMode.JOINT_POSITION),
            state=lg.RobotState(positions=rows[0].copy(), stamp_s=0.0),
            world=world,
            now_s=0.0,
        )
        assert verdict.accepted == free, str(verdict)


# A manifest that is not lowered yet has no volumes; tests/unit/robots/test_robots.py shows that no gate arms with it.
LOWERED = [name for name in lg.robot_names() if lg.load_robot(name).collision_geometry]


@pytest.mark.parametrize("name", LOWERED)
def test_every_moving_link_is_covered_or_waived_with_a_reason(name):
    robot = lg.load_robot(name)
    assert uncovered_links(robot) == []
    assert all(len(waiver.reason.split()) >= 3 for waiver in robot.coverage_waivers)
    covered = {volume.link_name for volume in robot.collision_geometry}
    assert not covered & {waiver.link for waiver in robot.coverage_waivers}, "a waiver that is not needed"


@pytest.mark.parametrize(
    ("name", "ref"), [("rizon4", "menagerie:flexiv_rizon4"), ("google_robot", "menagerie:google_robot")]
)
def test_robot_drawn_by_hand_says_so_and_names_the_file_that_is_missing(name, ref, monkeypatch):
    import sys

    from lastgate.tools.assets import resolve_asset

    robot = lg.load_robot(name)
    assert robot.assets.mjcf == ref
    assert any("by hand" in entry.source for entry in robot.provenance)
    assert "GENERATED" not in lg.robots.find_manifest(name).read_text(encoding="utf-8")
    monkeypatch.setitem(sys.modules, "mujoco_menagerie", None)  # as where the package is not installed
    with pytest.raises(lg.ROSConfigError, match=f"`{ref}` needs the package mujoco-menagerie"):
        resolve_asset(ref, "mjcf", lg.robots.find_manifest(name).parent)
