# SPDX-License-Identifier: Apache-2.0
import math

import numpy as np
import pytest

import lastgate as lg
from lastgate.integrations.agent import AgentTools, ObjectSighting, Place, SpatialMemory
from lastgate.integrations.agent.answers import BLOCKED
from lastgate.planning.approach import line_of_sight
from unit.planning.approach.conftest import kitchen_cells
from unit.planning.skills.conftest import HOME, STEP_S, RecordingBody


@pytest.fixture(scope="module")
def panda_gate():
    return lg.Gate(lg.load_robot("franka_panda"), step_s=STEP_S)


def memory_of(*things, frame_id="map"):
    memory = SpatialMemory()
    for label, xyz in things:
        memory.remember(ObjectSighting(label=label, pose=lg.Pose6D(xyz=xyz, frame_id=frame_id), stamp_s=0.0))
    return memory


@pytest.fixture
def kitchen():
    return lg.OccupancyGridIndex(kitchen_cells(), 0.1, (0.0, 0.0))


# On the counter's southern edge, in the middle of the counter, and in free space.
MUG, KETTLE, SPHERE = ("mug", (2.0, 1.65, 0.9)), ("kettle", (2.0, 1.95, 0.9)), ("sphere", (3.0, 0.8, 0.1))


def test_w11_blocked_viewpoint_is_replaced_by_one_that_the_map_allows(panda_gate, kitchen):
    tools = AgentTools(memory_of(MUG), panda_gate, grid=kitchen, standoff_m=0.6)
    (found,) = tools.recall_object("mug").matches
    assert found.approach_note == "moved to the nearest free pose"
    x, y, yaw = found.approach_xy_yaw
    assert kitchen.is_free(x, y, inflation_m=0.25)
    assert line_of_sight(kitchen, (x, y), (2.0, 1.65))
    assert yaw == pytest.approx(math.atan2(1.65 - y, 2.0 - x))
    assert found.approach.pose.xyz[:2] == (x, y)


def test_w11_no_viewpoint_is_said_and_none_is_made_up(panda_gate, kitchen):
    tools = AgentTools(memory_of(KETTLE), panda_gate, grid=kitchen, standoff_m=0.6)
    (found,) = tools.recall_object("kettle").matches
    assert found.approach_note == BLOCKED == "approach BLOCKED on the occupancy grid"
    assert found.approach is None
    assert found.approach_xy_yaw is None
    assert found.pose.xyz == (2.0, 1.95, 0.9)


def test_w11_without_a_map_the_geometric_pose_passes_through(panda_gate):
    (found,) = AgentTools(memory_of(KETTLE), panda_gate, standoff_m=0.6).recall_object("kettle").matches
    assert found.approach.pose.xyz[:2] == pytest.approx((1.4, 1.95))
    assert found.approach_note == "by geometry alone: there is no map"


def test_free_viewpoint_is_left_as_it_is(panda_gate, kitchen):
    (found,) = (
        AgentTools(memory_of(SPHERE), panda_gate, grid=kitchen, standoff_m=0.6)
        .recall_object("sphere")
        .matches
    )
    assert found.approach.pose.xyz[:2] == pytest.approx((2.4, 0.8))
    assert "ideal" in found.approach_note


def test_thing_seen_in_another_frame_has_no_approach(panda_gate, kitchen):
    tools = AgentTools(memory_of(SPHERE, frame_id="odom"), panda_gate, grid=kitchen)
    (found,) = tools.recall_object("sphere").matches
    assert found.approach is None
    assert "`odom`" in found.approach_note


def test_thing_that_was_never_seen_is_an_error(panda_gate):
    with pytest.raises(lg.ROSObjectNotInMemory, match="`spoon` was never seen"):
        AgentTools(memory_of(SPHERE), panda_gate).recall_object("spoon")


def test_age_is_told_where_the_time_is_known(panda_gate):
    body = RecordingBody()
    body.time_s = 12.5
    assert (
        AgentTools(memory_of(SPHERE), panda_gate, body=body).recall_object("sphere").matches[0].age_s == 12.5
    )
    assert AgentTools(memory_of(SPHERE), panda_gate).recall_object("sphere").matches[0].age_s is None


def test_place_without_a_map_is_told_with_what_is_not_known(panda_gate):
    memory = memory_of()
    memory.name_place(Place(name="dock", pose=lg.Pose6D(xyz=(1, 2, 0), frame_id="map")))
    answer = AgentTools(memory, panda_gate).resolve_place("dock")
    assert answer.free is None
    assert "is unknown" in answer.note


@pytest.mark.parametrize(("xy", "free"), [((1.0, 1.0), True), ((2.0, 1.4), False), ((-5.0, 1.0), False)])
def test_place_is_told_free_where_the_map_says_so(panda_gate, kitchen, xy, free):
    memory = memory_of()
    memory.name_place(Place(name="dock", pose=lg.Pose6D(xyz=(*xy, 0.0), frame_id="map")))
    assert AgentTools(memory, panda_gate, grid=kitchen).resolve_place("dock").free is free


@pytest.mark.parametrize(
    "ask",
    [
        lambda tools: tools.navigate_to(1.0, 1.0, 0.0),
        lambda tools: tools.look_at((0.5, 0.0, 0.0), "wrist"),
        lambda tools: tools.execute("move-joints", {"positions": {"panda_joint1": 0.1}}),
        lambda tools: tools.locate_in_view("mug", "wrist"),
        lambda tools: tools.remember_object("mug", "wrist"),
    ],
)
def test_tools_without_a_robot_do_not_move_or_see(panda_gate, ask):
    with pytest.raises(lg.ROSConfigError, match="there is no robot"):
        ask(AgentTools(memory_of(), panda_gate))


def test_joints_are_moved_through_the_gate(panda_gate):
    body = RecordingBody()
    answer = AgentTools(memory_of(), panda_gate, body=body).execute(
        "move-joints", {"positions": {"panda_joint1": 0.3}}
    )
    assert answer.waypoints_through_gate == len(body.chunks) > 5
    assert answer.positions["panda_joint1"] == 0.3
    assert body.positions[1:].tolist() == HOME[1:].tolist()


def test_camera_is_turned_in_the_base_frame_of_a_robot_on_no_map(panda_gate):
    body = RecordingBody()
    answer = AgentTools(memory_of(), panda_gate, body=body).look_at((0.5, 0.2, 0.0), "wrist", 0.35)
    assert answer.distance_m == pytest.approx(0.35)
    assert answer.off_axis_rad < 1e-5
    assert answer.camera_pose.frame_id == ""
    assert math.dist(answer.camera_pose.xyz, (0.5, 0.2, 0.0)) == pytest.approx(0.35)
    assert answer.waypoints_through_gate == len(body.chunks)


def test_pose_of_a_link_is_reached(panda_gate):
    body = RecordingBody()
    wanted = panda_gate.link_poses(HOME + np.array([0.2, 0, 0, 0, 0, 0, 0]))["panda_hand"]
    answer = AgentTools(memory_of(), panda_gate, body=body).execute(
        "move-to-pose",
        {"link": "panda_hand", "xyz": wanted[:, 3].tolist(), "quat_xyzw": [1.0, 0.0, 0.0, 0.0]},
    )
    assert answer.skill == "move-to-pose"
    assert panda_gate.link_poses(body.positions)["panda_hand"][:, 3] == pytest.approx(wanted[:, 3], abs=1e-5)


@pytest.mark.parametrize(
    ("skill", "params", "why"),
    [
        ("grasp", {}, "no skill `grasp`; skills: move-joints, move-to-pose, look-at"),
        ("move-joints", {}, "takes positions, got nothing"),
        ("move-joints", {"positions": {"panda_joint1": 0.1}, "speed": 9}, "got positions, speed"),
        ("move-joints", {"positions": {"panda_joint1": 99.0}}, "panda_joint1"),
        ("move-joints", {"positions": {"panda_joint1": "fast"}}, "panda_joint1"),
        ("move-joints", [0.1], "must be a mapping"),
        ("move-to-pose", {"link": "panda_hand", "xyz": [0, 0], "quat_xyzw": [0, 0, 0, 1]}, "xyz"),
        ("move-to-pose", {"link": "panda_hand", "xyz": [0.4, 0, 0.4], "quat_xyzw": [0, 0, 0, 2]}, "length 1"),
        ("look-at", {"target_xyz": [0.5, 0, 0]}, "takes camera, target_xyz and may take standoff_m"),
        ("look-at", {"target_xyz": [0.5, 0, 0], "camera": "head"}, "its sensors: `wrist`"),
    ],
)
def test_execute_refuses_what_is_not_a_goal_of_its_skill(panda_gate, skill, params, why):
    body = RecordingBody()
    with pytest.raises(lg.ROSConfigError, match=why):
        AgentTools(memory_of(), panda_gate, body=body).execute(skill, params)
    assert body.chunks == []
