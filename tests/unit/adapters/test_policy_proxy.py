# SPDX-License-Identifier: Apache-2.0
"""The proxy lets accepted chunks through byte for byte, and hands no actions on that were refused."""

import asyncio
from typing import Any

import msgpack
import numpy as np
import pytest
import websockets
from paper_robots import ball, gate_of, planar_two_link
from websockets.asyncio.client import connect
from websockets.asyncio.server import serve

import lastgate as lg
from lastgate.adapters.numpy_messages import pack, unpack
from lastgate.adapters.policy_proxy import REFUSAL_KEY, PolicyProxy, ProxyOptions

STEP_S = 0.1
STILL = np.zeros((8, 2), dtype=np.float32)


def talk(reply: Any, *, observation: Any = None, world: Any = lg.NO_WORLD, replies: int = 1, **arguments):
    """Returns the proxy, what it says first, the bytes the server sent and those that the robot's side got."""
    sent = [reply if isinstance(reply, str | bytes) else pack(reply)]

    async def policy(connection):
        await connection.send(pack({"policy": "stub"}))
        async for _ in connection:
            await connection.send(sent[0])

    async def run():
        got = []
        async with serve(policy, "127.0.0.1", 0) as server:
            upstream = f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            gate = gate_of(planar_two_link(), step_s=STEP_S)
            proxy = PolicyProxy(gate, world=world, upstream=upstream, **arguments)
            door = await proxy.serve(port=0)
            async with door, connect(f"ws://127.0.0.1:{door.sockets[0].getsockname()[1]}") as robot:
                metadata = unpack(await robot.recv())
                for _ in range(replies):
                    await robot.send(
                        observation
                        if isinstance(observation, bytes)
                        else pack(observation or {"observation/state": np.zeros(2)})
                    )
                    got.append(await robot.recv())
        return proxy, metadata, sent[0], got

    return asyncio.run(run())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_accepted_chunk_goes_on_byte_for_byte(dtype):
    reply = {"actions": STILL.astype(dtype), "server_timing": {"infer_ms": 12.5}}
    proxy, metadata, sent, (got,) = talk(reply)
    assert got == sent
    assert metadata == {"policy": "stub", "lastgate": {"robot": "planar_two_link"}}
    assert (proxy.accepted, proxy.refused) == (1, 0)


def jump() -> np.ndarray:
    rows = STILL.copy()
    rows[4:, 1] = 2.0
    return rows


@pytest.mark.parametrize(
    ("actions", "code", "step"),
    [
        (np.where(np.arange(16).reshape(8, 2) == 5, np.nan, STILL), "nan_in_action", 2),
        (np.full((8, 2), 3.5), "joint_position_limit", 0),
        (jump(), "joint_velocity_limit", 4),
        (np.zeros((8, 1)), "ndof_mismatch", None),
        (np.zeros((300, 2)), "dim_mismatch", None),
        (np.zeros((0, 2)), "dim_mismatch", None),
    ],
)
def test_refused_chunk_does_not_reach_the_robot(actions, code, step):
    proxy, _, _, (got,) = talk({"actions": actions, "server_timing": {"infer_ms": 12.5}})
    answer = unpack(got)
    assert "actions" not in answer
    assert answer[REFUSAL_KEY]["code"] == code
    assert answer[REFUSAL_KEY]["step"] == step
    assert answer["server_timing"] == {"infer_ms": 12.5}
    assert (proxy.accepted, proxy.refused) == (0, 1)


@pytest.mark.parametrize(
    "reply",
    [
        {"no_actions": 1},
        {"actions": "left"},
        {"actions": np.zeros(2)},
        {"actions": np.zeros((2, 2, 2))},
        {"actions": [[0.0, "x"]]},
        b"\xc1 not msgpack",
        msgpack.packb([1, 2, 3]),
    ],
)
def test_reply_that_cannot_be_read_is_refused(reply):
    proxy, _, _, (got,) = talk(reply)
    assert unpack(got)[REFUSAL_KEY]["code"] == "not_checked"
    assert "actions" not in unpack(got)
    assert proxy.refused == 1


@pytest.mark.parametrize(
    "observation",
    [
        {"observation/state": np.full(2, np.nan)},
        {"observation/state": np.zeros(1)},
        {"somewhere_else": np.zeros(2)},
        {"observation/state": np.zeros((1, 2))},
        b"\xc1",
    ],
)
def test_observation_without_a_usable_state_is_refused(observation):
    _, _, _, (got,) = talk({"actions": STILL}, observation=observation)
    assert unpack(got)[REFUSAL_KEY]["code"] in ("state_unavailable", "not_checked")


def test_fault_of_the_server_is_told_in_its_own_words_and_the_line_stays_open():
    _, _, _, got = talk("Traceback: out of memory", replies=2)
    assert got == ["Traceback: out of memory"] * 2


def test_world_is_asked_for_every_chunk_and_none_is_refused():
    worlds = iter([lg.World(primitives=[ball((0.5, 0.0, 0.0), 0.1)], stamp_s=5.0), lg.NO_WORLD, None])
    _, _, _, got = talk({"actions": STILL}, world=lambda: next(worlds), replies=3, now=lambda: 5.0)
    codes = [unpack(one).get(REFUSAL_KEY, {}).get("code") for one in got]
    assert codes == ["world_collision", None, "world_unavailable"]


def test_gripper_columns_behind_the_joints_go_on_unchanged():
    wide = np.hstack([STILL, np.full((8, 1), 0.7, dtype=np.float32)])
    _, _, sent, (got,) = talk(
        {"actions": wide}, observation={"s": np.zeros(3)}, options=ProxyOptions(state_key="s")
    )
    assert got == sent


def test_slow_policy_makes_the_state_stale():
    times = iter([0.0, 0.5])
    _, _, _, (got,) = talk({"actions": STILL}, now=lambda: next(times))
    assert unpack(got)[REFUSAL_KEY]["code"] == "state_unavailable"


def test_server_that_is_not_there_closes_the_line_with_the_reason():
    async def run():
        gate = gate_of(planar_two_link(), step_s=STEP_S)
        proxy = PolicyProxy(gate, world=lg.NO_WORLD, upstream="ws://127.0.0.1:1")
        door = await proxy.serve(port=0)
        async with door, connect(f"ws://127.0.0.1:{door.sockets[0].getsockname()[1]}") as robot:
            await robot.recv()

    with pytest.raises(websockets.ConnectionClosedError, match="policy server cannot be used"):
        asyncio.run(run())


def test_joint_columns_that_are_not_the_robots_are_refused():
    with pytest.raises(lg.ROSConfigError, match="has 2 joints"):
        PolicyProxy(
            gate_of(planar_two_link()),
            world=lg.NO_WORLD,
            upstream="ws://x",
            options=ProxyOptions(joint_columns=3),
        )


# ---- Messages --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        np.arange(6, dtype=np.uint8).reshape(2, 3),
        np.float32(1.5),
        np.array(True),
        np.empty((0, 7)),
        {"a": [1, "b"]},
    ],
)
def test_message_is_read_back_as_it_was(value):
    back = unpack(pack({"value": value}))["value"]
    assert np.array_equal(back, value) if not isinstance(value, dict) else back == value
    if isinstance(value, np.ndarray):
        assert back.dtype == value.dtype


@pytest.mark.parametrize("value", [np.array([object()]), np.array([1j]), object()])
def test_what_is_no_number_is_not_sent(value):
    with pytest.raises(ValueError, match=r"not sent|cannot be sent"):
        pack(value)


def test_array_of_objects_is_not_read():
    evil = msgpack.packb({b"__ndarray__": True, b"data": b"", b"dtype": "|O", b"shape": [0]})
    with pytest.raises(ValueError, match="not read"):
        unpack(evil)
