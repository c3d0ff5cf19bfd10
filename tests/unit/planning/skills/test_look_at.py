# SPDX-License-Identifier: Apache-2.0
import math

import numpy as np
import pytest

import lastgate as lg
from lastgate.planning.skills import find_camera, look_at, plan_look_at
from lastgate.world.rigid_motion import composed
from unit.planning.skills.conftest import TABLE, RecordingBody, box, world_of

TARGET = (0.55, 0.2, 0.0)


def planned(planner, at_home, world, **changes):
    arguments = {"camera": "wrist", "target_xyz": TARGET, "standoff_m": None} | changes
    return plan_look_at(planner, state=at_home, world=world, now_s=0.0, **arguments)


def optical_at(gate, configuration):
    mounted = find_camera(gate.robot, "wrist")
    return composed(gate.link_poses(configuration)[mounted.link], mounted.optical_in_link)


def off_axis(optical, target):
    view = np.subtract(target, optical[:, 3])
    return math.acos(min(1.0, float(optical[:, 2] @ view / np.linalg.norm(view))))


def test_camera_that_need_not_move_only_turns(gate, planner, at_home):
    plan = planned(planner, at_home, world_of(TABLE))
    before, after = optical_at(gate, at_home.positions), optical_at(gate, plan.trajectory.end)
    assert after[:, 3] == pytest.approx(before[:, 3], abs=1e-5)
    assert off_axis(before, TARGET) > 0.2
    assert off_axis(after, TARGET) < 1e-5
    assert plan.eyes_tried == 1


@pytest.mark.parametrize("standoff_m", [0.25, 0.4])
def test_standoff_is_kept(gate, planner, at_home, standoff_m):
    plan = planned(planner, at_home, world_of(TABLE), standoff_m=standoff_m)
    after = optical_at(gate, plan.trajectory.end)
    assert math.dist(after[:, 3], TARGET) == pytest.approx(standoff_m, abs=1e-5)
    assert off_axis(after, TARGET) < 1e-5
    assert plan.off_axis_rad == pytest.approx(off_axis(after, TARGET), abs=1e-5)


def test_camera_goes_elsewhere_when_something_hides_the_target(gate, planner, at_home):
    eye = optical_at(gate, at_home.positions)[:, 3]
    between = tuple(0.5 * (eye + TARGET))
    world = world_of(TABLE, box("shade", between, (0.06, 0.06, 0.06)))
    plan = planned(planner, at_home, world)
    assert plan.eyes_tried > 1
    after = optical_at(gate, plan.trajectory.end)
    assert off_axis(after, TARGET) < 1e-5
    assert math.dist(after[:, 3], eye) > 0.02


def test_camera_goes_elsewhere_when_the_arm_has_no_way_to_turn_in_place(planner, at_home, monkeypatch):
    plan_to = type(planner).plan_to
    asked = []

    def first_refused(self, configurations, **arguments):
        asked.append(len(configurations))
        if len(asked) == 1:
            raise lg.ROSPlanningError("no way to the goal")
        return plan_to(self, configurations, **arguments)

    monkeypatch.setattr(type(planner), "plan_to", first_refused)
    plan = planned(planner, at_home, world_of(TABLE))
    assert asked[0] == 1
    assert asked[1] > 1
    assert plan.off_axis_rad < 1e-5
    # And where there is no way at all, that is what is said.
    monkeypatch.setattr(
        type(planner),
        "plan_to",
        lambda *_, **__: (_ for _ in ()).throw(lg.ROSPlanningError("no way to the goal")),
    )
    with pytest.raises(lg.ROSPlanningError, match=r"cannot look at .*: no way to the goal"):
        planned(planner, at_home, world_of(TABLE))


def test_target_under_a_dome_is_refused_and_the_message_counts(planner, at_home):
    dome = [box("roof", (0.55, 0.2, 0.15), (0.3, 0.3, 0.01))]
    for name, x, y, size in (
        ("west", 0.4, 0.2, (0.01, 0.3, 0.15)),
        ("east", 0.7, 0.2, (0.01, 0.3, 0.15)),
        ("south", 0.55, 0.05, (0.3, 0.01, 0.15)),
        ("north", 0.55, 0.35, (0.3, 0.01, 0.15)),
    ):
        dome.append(box(name, (x, y, 0.075), size))
    with pytest.raises(
        lg.ROSPlanningError, match=r"of (\d+) places to look from, something hides the target from \1"
    ):
        planned(planner, at_home, world_of(TABLE, *dome), standoff_m=0.3)


def test_target_out_of_reach_is_refused_at_its_standoff(planner, at_home):
    with pytest.raises(lg.ROSPlanningError, match="no posture of the arm"):
        planned(planner, at_home, lg.NO_WORLD, target_xyz=(3.0, 0.0, 0.0), standoff_m=0.3)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"camera": "head"}, "its sensors: `wrist`"),
        ({"target_xyz": (math.nan, 0.0, 0.0)}, "target_xyz"),
        ({"target_xyz": (True, 0.0, 0.0)}, "target_xyz"),
        ({"standoff_m": 0.0}, "standoff_m"),
        ({"standoff_m": -1.0}, "standoff_m"),
        ({"standoff_m": math.inf}, "standoff_m"),
    ],
)
def test_request_that_makes_no_sense_is_refused(planner, at_home, changes, why):
    with pytest.raises(lg.ROSConfigError, match=why):
        planned(planner, at_home, lg.NO_WORLD, **changes)


def test_motion_ends_with_the_camera_on_the_target(gate, planner):
    body = RecordingBody(world_of(TABLE))
    plan, replay = look_at(planner, body, camera="wrist", target_xyz=TARGET, standoff_m=0.3)
    assert replay.waypoints == len(body.chunks) == len(plan.trajectory.rows)
    assert off_axis(optical_at(gate, body.positions), TARGET) < 1e-5


def test_nothing_moves_when_there_is_no_plan(planner):
    body = RecordingBody()
    with pytest.raises(lg.ROSPlanningError):
        look_at(planner, body, camera="wrist", target_xyz=(3.0, 0.0, 0.0), standoff_m=0.3)
    assert (body.chunks, body.holds) == ([], 0)
