# SPDX-License-Identifier: Apache-2.0
"""The proxy lets accepted chunks through byte for byte, and hands no actions on that were rejected."""

import asyncio
import contextlib
from typing import Any

import msgpack
import numpy as np
import pytest
import websockets
from fixtures.analytic_robots import gate_of, planar_two_link, sphere
from websockets.asyncio.client import connect
from websockets.asyncio.server import serve

import lastgate as lg
from lastgate.integrations.numpy_messages import pack, unpack
from lastgate.integrations.policy_proxy import (
    CLIENTS_MAX,
    MESSAGE_BYTES_MAX,
    REFUSAL_KEY,
    PolicyProxy,
    ProxyOptions,
)

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
            listening = await proxy.serve(port=0)
            async with listening, connect(f"ws://127.0.0.1:{listening.sockets[0].getsockname()[1]}") as robot:
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
    assert (proxy.accepted, proxy.rejected) == (1, 0)


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
def test_rejected_chunk_does_not_reach_the_robot(actions, code, step):
    proxy, _, _, (got,) = talk({"actions": actions, "server_timing": {"infer_ms": 12.5}})
    answer = unpack(got)
    assert "actions" not in answer
    assert answer[REFUSAL_KEY]["code"] == code
    assert answer[REFUSAL_KEY]["step"] == step
    assert answer["server_timing"] == {"infer_ms": 12.5}
    assert (proxy.accepted, proxy.rejected) == (0, 1)


REJECTED = jump()


@pytest.mark.parametrize(
    "copy",
    [
        REJECTED,
        REJECTED.tolist(),
        REJECTED.tobytes(),
        {"raw": REJECTED},
        {"deeper": {"raw": REJECTED.tolist()}},
        REJECTED[0, 0],
    ],
)
def test_rejected_actions_do_not_pass_under_another_name(copy):
    _, _, _, (got,) = talk({"actions": REJECTED, "again": copy, "model": "pi0"})
    answer = unpack(got)
    assert set(answer) == {"model", REFUSAL_KEY}


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
    assert proxy.rejected == 1


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


def test_world_is_asked_for_every_chunk_and_none_is_rejected():
    worlds = iter([lg.World(primitives=[sphere((0.5, 0.0, 0.0), 0.1)], stamp_s=5.0), lg.NO_WORLD, None])
    _, _, _, got = talk({"actions": STILL}, world=lambda: next(worlds), replies=3, now=lambda: 5.0)
    codes = [unpack(one).get(REFUSAL_KEY, {}).get("code") for one in got]
    assert codes == ["world_collision", None, "world_unavailable"]


WIDE = np.hstack([STILL, np.full((8, 1), 0.7, dtype=np.float32)])
NAMED = {"unchecked_columns": ("gripper",)}


@pytest.mark.parametrize("state", [np.zeros(2), np.zeros(3)])
def test_declared_columns_behind_the_joints_go_on_unchanged_and_are_announced(state):
    _, metadata, sent, (got,) = talk(
        {"actions": WIDE}, observation={"observation/state": state}, options=ProxyOptions(**NAMED)
    )
    assert got == sent
    assert metadata["lastgate"]["unchecked_columns"] == ["gripper"]


@pytest.mark.parametrize(
    ("actions", "state", "options", "says"),
    [
        (
            WIDE,
            np.zeros(2),
            {},
            "1 columns of actions stand behind the joints, and 0 are declared",
        ),
        (WIDE, np.zeros(2), {"unchecked_columns": ("a", "b")}, "1 columns of actions"),
        (STILL, np.zeros(2), NAMED, "0 columns of actions stand behind the joints, and 1 are declared"),
        (STILL, np.zeros(3), {}, "1 columns of the state"),
        (
            np.where(WIDE > 0.5, np.nan, WIDE),
            np.zeros(2),
            NAMED,
            "gripper at step 0 of actions is nan",
        ),
        (
            np.where(WIDE > 0.5, np.inf, WIDE),
            np.zeros(2),
            NAMED,
            "gripper at step 0 of actions is inf",
        ),
        (WIDE, np.array([0.0, 0.0, np.nan]), NAMED, "gripper at step 0 of the state is nan"),
        (WIDE, np.array([False, False]), NAMED, "the state holds true and false"),
        (WIDE.astype(bool), np.zeros(2), NAMED, "actions holds true and false"),
    ],
)
def test_columns_behind_the_joints_that_are_not_declared_or_not_finite_are_rejected(
    actions, state, options, says
):
    proxy, _, _, (got,) = talk(
        {"actions": actions}, observation={"observation/state": state}, options=ProxyOptions(**options)
    )
    answer = unpack(got)
    assert "actions" not in answer
    assert answer[REFUSAL_KEY]["code"] == "not_checked"
    assert says in answer[REFUSAL_KEY]["sentence"]
    assert (proxy.accepted, proxy.rejected) == (0, 1)


def test_rejected_reply_hands_on_no_other_array():
    _, _, _, (got,) = talk({"actions": jump(), "raw_actions": jump(), "plan": [[9.0, 9.0]], "model": "stub"})
    assert set(unpack(got)) == {"model", REFUSAL_KEY}


@pytest.mark.parametrize(
    "options",
    [
        {"unchecked_columns": "gripper"},
        {"unchecked_columns": ("",)},
        {"unchecked_columns": ("gripper",), "mode": lg.ControlMode.CARTESIAN_POSE},
    ],
)
def test_declaration_of_columns_that_makes_no_sense_is_refused(options):
    with pytest.raises(lg.ROSConfigError, match="unchecked_columns"):
        PolicyProxy(
            gate_of(planar_two_link()), world=lg.NO_WORLD, upstream="ws://x", options=ProxyOptions(**options)
        )


def test_slow_policy_makes_the_state_stale():
    times = iter([0.0, 0.5])
    _, _, _, (got,) = talk({"actions": STILL}, now=lambda: next(times))
    assert unpack(got)[REFUSAL_KEY]["code"] == "state_unavailable"


def test_server_that_is_not_there_closes_the_line_with_the_reason():
    async def run():
        gate = gate_of(planar_two_link(), step_s=STEP_S)
        proxy = PolicyProxy(gate, world=lg.NO_WORLD, upstream="ws://127.0.0.1:1")
        listening = await proxy.serve(port=0)
        async with listening, connect(f"ws://127.0.0.1:{listening.sockets[0].getsockname()[1]}") as robot:
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


# ---- Who may talk, and how much ----------------------------------------------------------------------------


async def _answered(message: bytes, **how: Any) -> bytes:
    """Returns what the proxy answers to one message of a client that connects as it is told."""

    async def policy(connection):
        await connection.send(pack({"policy": "stub"}))
        async for _ in connection:
            await connection.send(pack({"actions": STILL}))

    async with serve(policy, "127.0.0.1", 0, max_size=None) as server:
        upstream = f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        proxy = PolicyProxy(
            gate_of(planar_two_link(), step_s=STEP_S), world=lg.NO_WORLD, upstream=upstream, now=lambda: 0.0
        )
        async with await proxy.serve(port=0) as open_proxy:
            port = open_proxy.sockets[0].getsockname()[1]
            async with connect(f"ws://127.0.0.1:{port}", max_size=None, compression=None, **how) as robot:
                await robot.recv()
                await robot.send(message)
                answer = await robot.recv()
                assert isinstance(answer, bytes)
                return answer


OBSERVATION = {"observation/state": np.zeros(2)}


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "http://127.0.0.1:8000", "http://localhost", "null"]
)
def test_page_of_a_browser_drives_nothing_and_a_program_does(origin):
    with pytest.raises(websockets.InvalidStatus) as refused:
        asyncio.run(_answered(pack(OBSERVATION), origin=origin))
    assert refused.value.response.status_code == 403
    assert "actions" in unpack(asyncio.run(_answered(pack(OBSERVATION))))


def test_message_over_the_bound_ends_the_connection_and_one_under_it_is_answered(monkeypatch):
    assert MESSAGE_BYTES_MAX < 64 * 1024 * 1024
    most = 100_000
    monkeypatch.setattr("lastgate.integrations.policy_proxy.MESSAGE_BYTES_MAX", most)

    def of_size(size: int) -> bytes:
        padding = size - len(pack({**OBSERVATION, "image": b"\0" * 70_000})) + 70_000
        return pack({**OBSERVATION, "image": b"\0" * padding})

    assert len(of_size(most)) == most
    assert "actions" in unpack(asyncio.run(_answered(of_size(most))))
    with pytest.raises(websockets.ConnectionClosed) as ended:
        asyncio.run(_answered(of_size(most + 1)))
    assert ended.value.rcvd is not None
    assert ended.value.rcvd.code == 1009


def twice(first: bytes, second: bytes) -> bytes:
    """Returns a map of two keys and values that are packed already."""
    return b"\x82" + first + second


ACCEPTED = msgpack.packb("actions") + pack(STILL)
FAST = msgpack.packb("actions") + pack(np.full((8, 2), 3.5))


@pytest.mark.parametrize(
    "reply",
    [
        twice(FAST, ACCEPTED),
        twice(ACCEPTED, FAST),
        twice(ACCEPTED, ACCEPTED),
        twice(msgpack.packb(b"actions") + pack(np.full((8, 2), 3.5)), ACCEPTED),
    ],
)
def test_reply_with_a_key_that_stands_twice_is_refused(reply):
    proxy, _, _, (got,) = talk(reply)
    assert unpack(got)[REFUSAL_KEY]["code"] == "not_checked"
    assert "twice" in unpack(got)[REFUSAL_KEY]["sentence"]
    assert proxy.rejected == 1


def test_reply_with_two_keys_of_other_names_is_accepted():
    reply = twice(ACCEPTED, msgpack.packb("actions_raw") + pack(STILL))
    proxy, _, _, (got,) = talk(reply)
    assert got == reply
    assert proxy.accepted == 1


def test_observation_with_a_key_that_stands_twice_is_refused():
    state = msgpack.packb("observation/state")
    observation = twice(state + pack(np.full(2, 9.0)), state + pack(np.zeros(2)))
    _, _, _, (got,) = talk({"actions": STILL}, observation=observation)
    assert unpack(got)[REFUSAL_KEY]["code"] == "not_checked"


def test_one_client_too_many_is_sent_away_and_the_others_are_served():
    async def run():
        async def policy(connection):
            await connection.send(pack({"policy": "stub"}))
            async for _ in connection:
                await connection.send(pack({"actions": STILL}))

        async with serve(policy, "127.0.0.1", 0) as server, contextlib.AsyncExitStack() as clients:
            upstream = f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            gate = gate_of(planar_two_link(), step_s=STEP_S)
            open_proxy = await clients.enter_async_context(
                await PolicyProxy(gate, world=lg.NO_WORLD, upstream=upstream).serve(port=0)
            )
            address = f"ws://127.0.0.1:{open_proxy.sockets[0].getsockname()[1]}"
            robots = [await clients.enter_async_context(connect(address)) for _ in range(CLIENTS_MAX)]
            for robot in robots:
                await robot.recv()
            async with connect(address) as late:
                with pytest.raises(websockets.ConnectionClosed) as sent_away:
                    await late.recv()
            await robots[0].send(pack(OBSERVATION))
            return sent_away.value, unpack(await robots[0].recv())

    sent_away, answer = asyncio.run(run())
    assert sent_away.rcvd.code == 1013
    assert "actions" in answer
