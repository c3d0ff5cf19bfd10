# SPDX-License-Identifier: Apache-2.0
"""The SDK's own client against the tools of a simulated mobile arm in a flat."""

import asyncio
import math
import sys

import pytest
from mcp import Client, StdioServerParameters, stdio_client

import lastgate as lg
from lastgate.integrations.agent import AgentTools, SegmentationDetector, SpatialMemory
from lastgate.integrations.agent.server import LADDER, build_server
from lastgate.planning.approach.viewpoint import yaw_of
from lastgate.tools.demo.mobile_arm import (
    SimulatedMobileArm,
    furniture,
    map_of,
    mobile_robot,
    remember_the_flat,
    things,
)

LOOKING = {"recall_object", "resolve_place", "locate_in_view"}
MOVING = {"navigate_to", "look_at", "execute"}


class Flat:
    """Makes the tools, and keeps hold of the robot so that a test can see what it did."""

    def __init__(self):
        self.body = None

    def __call__(self, is_cancelled):
        gate = lg.Gate(mobile_robot(), step_s=0.02)
        memory = SpatialMemory()
        remember_the_flat(memory)
        self.body = SimulatedMobileArm(gate)
        return AgentTools(
            memory, gate, body=self.body, detector=SegmentationDetector(), is_cancelled=is_cancelled
        )


def talk(conversation, *, may_move=True):
    flat = Flat()

    async def run():
        async with Client(build_server(flat, may_move=may_move)) as client:
            return await conversation(client, flat)

    return asyncio.run(run())


def refusal(result):
    assert result.is_error
    return result.content[0].text


def test_tools_that_look_are_told_apart_from_those_that_move():
    async def conversation(client, _):
        return {tool.name: tool.annotations for tool in (await client.list_tools()).tools}

    annotations = talk(conversation)
    assert set(annotations) == LOOKING | MOVING | {"remember_object"}
    assert all(annotations[name].read_only_hint for name in LOOKING)
    assert not any(annotations[name].read_only_hint for name in MOVING)
    assert all(annotations[name].destructive_hint for name in MOVING)
    assert annotations["remember_object"].read_only_hint is False
    assert annotations["remember_object"].destructive_hint is False


def test_server_that_may_not_move_has_no_tool_that_does():
    async def conversation(client, flat):
        names = {tool.name for tool in (await client.list_tools()).tools}
        answer = await client.call_tool("navigate_to", {"x": 3.0, "y": 1.0, "yaw": 0.0})
        return names, answer.is_error, flat.body.executed

    names, refused, executed = talk(conversation, may_move=False)
    assert names & MOVING == set()
    assert refused
    assert executed == 0


def test_ladder_is_the_prompt_and_the_instructions():
    async def conversation(client, _):
        prompts = (await client.list_prompts()).prompts
        text = (await client.get_prompt("go_and_see", {"label": "red mug"})).messages[0].content.text
        return [prompt.name for prompt in prompts], text

    names, text = talk(conversation)
    assert names == ["go_and_see"]
    assert LADDER in text
    assert "red mug" in text
    steps = [
        text.index(name) for name in ("recall_object", "navigate_to", "look_at", "locate_in_view", "execute")
    ]
    assert steps == sorted(steps)


def test_whole_ladder_is_climbed_and_the_kettle_is_seen():
    async def climb(client, flat):
        (found,) = (await client.call_tool("recall_object", {"label": "kettle"})).structured_content[
            "matches"
        ]
        x, y, yaw = found["approach_xy_yaw"]
        assert found["approach_note"] == "moved to the nearest free pose"
        grid = map_of((*furniture(), *things()))
        assert grid.is_free(x, y, inflation_m=mobile_robot().footprint_radius)

        # Before it goes there, it does not see it.
        before = (
            await client.call_tool("locate_in_view", {"query": "kettle", "camera": "wrist"})
        ).structured_content
        assert before["found"] is False
        assert before["detections"] == []

        drive = (await client.call_tool("navigate_to", {"x": x, "y": y, "yaw": yaw})).structured_content
        here = flat.body.base_in_map()
        assert math.dist(here.xyz[:2], (x, y)) <= 0.04
        assert math.remainder(yaw_of(here) - yaw, 2 * math.pi) == pytest.approx(0.0, abs=0.04)
        assert drive["chunks_through_gate"] > 10

        target = found["pose"]["xyz"]
        gaze = (
            await client.call_tool("look_at", {"target_xyz": target, "camera": "wrist"})
        ).structured_content
        assert gaze["off_axis_rad"] < 1e-5
        assert gaze["waypoints_through_gate"] > 0
        assert gaze["camera_pose"]["frame_id"] == "map"
        assert math.dist(gaze["camera_pose"]["xyz"], target) == pytest.approx(gaze["distance_m"], abs=1e-6)

        located = (
            await client.call_tool("locate_in_view", {"query": "kettle", "camera": "wrist"})
        ).structured_content
        assert located["found"] is True
        (one,) = located["detections"]
        assert one["frame_id"] == "map"
        assert math.dist(one["xyz"], target) < 0.03
        assert max(abs(share) for share in one["off_centre"]) <= 0.02

        kept = await client.call_tool("remember_object", {"query": "kettle", "camera": "wrist"})
        assert not kept.is_error
        again = (await client.call_tool("recall_object", {"label": "kettle"})).structured_content["matches"]
        assert again[0]["stamp_s"] > found["stamp_s"]

        acted = await client.call_tool(
            "execute", {"skill": "move-joints", "goal_params": {"positions": {"torso_height": 0.2}}}
        )
        assert acted.structured_content["result"]["positions"]["torso_height"] == 0.2
        assert flat.body.holds == 0

    talk(climb)


def test_thing_in_a_closed_closet_is_blocked_and_the_base_does_not_go():
    async def conversation(client, flat):
        (found,) = (await client.call_tool("recall_object", {"label": "vase"})).structured_content["matches"]
        x, y, _ = found["pose"]["xyz"]
        there = await client.call_tool("navigate_to", {"x": x, "y": y, "yaw": 0.0})
        return found, refusal(there), flat.body.executed

    found, why, executed = talk(conversation)
    assert found["approach_note"] == "approach BLOCKED on the occupancy grid"
    assert found["approach"] is None
    assert "ROSPlanningError: the base cannot be sent there" in why
    assert executed == 0


def test_errors_are_told_with_their_kind_and_the_server_lives_on():
    async def conversation(client, _):
        never = refusal(await client.call_tool("recall_object", {"label": "spoon"}))
        camera = refusal(await client.call_tool("locate_in_view", {"query": "mug", "camera": "head"}))
        place = refusal(await client.call_tool("resolve_place", {"name": "cellar"}))
        nowhere = refusal(await client.call_tool("look_at", {"target_xyz": [1.0, 1.0], "camera": "wrist"}))
        kitchen = (await client.call_tool("resolve_place", {"name": "kitchen"})).structured_content
        return never, camera, place, nowhere, kitchen

    never, camera, place, nowhere, kitchen = talk(conversation)
    assert "ROSObjectNotInMemory: `spoon` was never seen" in never
    assert "its sensors: `wrist`" in camera
    assert "ROSObjectNotInMemory: no place is called `cellar`" in place
    assert "target_xyz" in nowhere
    assert kitchen["free"] is True


def test_call_that_is_taken_back_leaves_the_robot_holding():
    async def conversation(client, flat):
        going = asyncio.create_task(client.call_tool("navigate_to", {"x": 5.2, "y": 3.6, "yaw": 0.0}))
        while flat.body.executed < 20:
            await asyncio.sleep(0.01)
        going.cancel()
        with pytest.raises(asyncio.CancelledError):
            await going
        stopped_at = flat.body.executed
        # The next call is not cancelled with it.
        place = await client.call_tool("resolve_place", {"name": "start"})
        await asyncio.sleep(0.2)
        return stopped_at, flat.body.executed, flat.body.holds, place.is_error

    stopped_at, executed, holds, refused = talk(conversation)
    assert executed == stopped_at
    assert holds == 1
    assert not refused


def test_client_that_leaves_while_the_base_drives_leaves_it_holding():
    flat = Flat()

    async def run():
        async with Client(build_server(flat, may_move=True)) as client:
            going = asyncio.create_task(client.call_tool("navigate_to", {"x": 5.2, "y": 3.6, "yaw": 0.0}))
            while flat.body is None or flat.body.executed < 20:
                await asyncio.sleep(0.01)
        going.cancel()
        await asyncio.gather(going, return_exceptions=True)

    asyncio.run(run())
    stopped_at = flat.body.executed
    assert flat.body.holds == 1
    assert stopped_at < 500


def test_command_serves_over_stdio():
    command = StdioServerParameters(
        command=sys.executable,
        args=["-c", "from lastgate.tools.cli import main; main()", "mcp", "--simulate", "--read-only"],
    )

    async def run():
        async with Client(stdio_client(command)) as client:
            names = {tool.name for tool in (await client.list_tools()).tools}
            found = (await client.call_tool("recall_object", {"label": "vase"})).structured_content
            return names, found

    names, found = asyncio.run(run())
    assert names == LOOKING | {"remember_object"}
    assert found["matches"][0]["approach_note"] == "approach BLOCKED on the occupancy grid"
