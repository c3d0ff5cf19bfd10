# SPDX-License-Identifier: Apache-2.0
"""A proxy before a policy server: speaks as openpi's client and server do, and checks each chunk on its way back.

    robot's client  <->  this proxy  <->  policy server

A chunk that is accepted goes on byte for byte as the server sent it. For one that is rejected, the robot's side gets a
message without actions and with the rejection, so that it cannot execute what was not let through by mistake.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import websockets
from numpy.typing import NDArray
from websockets.asyncio.client import connect
from websockets.asyncio.server import Server, ServerConnection, serve

from lastgate.contracts import ControlMode, ROSConfigError
from lastgate.contracts.action import ActionChunk, RobotState
from lastgate.contracts.renamed_names import with_old_attributes
from lastgate.gate import Gate, require_gate
from lastgate.gate.verdict import Verdict
from lastgate.integrations.numpy_messages import pack, unpack
from lastgate.integrations.plain_numbers import plain_array
from lastgate.world import NoWorld, World

ACTIONS_KEY = "actions"
REFUSAL_KEY = "lastgate_refusal"
# Observations carry a few camera images: eight of 1280 x 720 in three colours are 22 MB.
MESSAGE_BYTES_MAX = 32 * 1024 * 1024
# One robot has one client; the rest is for those that come back before their last connection is known to be gone.
CLIENTS_MAX = 4
# Code of the protocol for a client that may not come in at the moment.
_TRY_AGAIN_LATER = 1013
# Code of the protocol for a fault of the server's side.
_INTERNAL_ERROR = 1011


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyOptions:
    """Layout of the messages of a policy.

    Attributes:
        state_key: Where the observation holds the measured positions, in the order of the gate's joints, with or
            without the unchecked columns behind them.
        mode: What a step of the actions means.
        joint_columns: How many leading columns of state and actions are joints.
        unchecked_columns: The names of all columns behind the joints, such as `("gripper",)`. They pass on as finite
            numbers that no check covers; without their names, such actions are rejected.
    """

    state_key: str = "observation/state"
    mode: ControlMode = ControlMode.JOINT_POSITION
    joint_columns: int | None = None
    unchecked_columns: tuple[str, ...] = ()


@with_old_attributes
class PolicyProxy:
    """Serves on one address what a policy server on another one answers, less what the gate rejects.

    Args:
        gate: Decides; one proxy has one gate, so its answers are made one after the other.
        world: The obstacles, or a function that is asked before every check.
        upstream: The policy server, `ws://host:port`.
        now: The clock of worlds' stamps. The state is stamped when the observation arrives here.

    Attributes:
        accepted: Chunks that went on.
        rejected: Chunks that did not.
    """

    def __init__(
        self,
        gate: Gate,
        *,
        world: World | NoWorld | Callable[[], World | NoWorld | None],
        upstream: str,
        options: ProxyOptions | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        require_gate(gate)
        self._gate = gate
        self._world = world
        self._upstream = upstream
        self._options = options or ProxyOptions()
        self._now = now
        self._columns = gate.n_dof if self._options.joint_columns is None else self._options.joint_columns
        if self._columns != gate.n_dof:
            raise ROSConfigError(
                f"joint_columns is {self._columns}, robot `{gate.robot.name}` has {gate.n_dof} joints"
            )
        names = self._options.unchecked_columns
        if isinstance(names, str) or not all(isinstance(name, str) and name for name in names):
            raise ROSConfigError(f"unchecked_columns is {names!r}, expected names: ('gripper',)")
        if names and self._options.mode not in _JOINT_MODES:
            raise ROSConfigError(
                f"unchecked_columns stand behind joints, and {self._options.mode.name} has none"
            )
        self.accepted = 0
        self.rejected = 0
        self._clients = 0

    async def serve(self, host: str = "127.0.0.1", port: int = 8000) -> Server:
        """Begins to serve; the server's own metadata goes on, with what stands before it."""
        # A client of a robot sends no `Origin`. Browsers do, for every page, and no page may drive a robot.
        return await serve(
            self._answer, host, port, max_size=MESSAGE_BYTES_MAX, compression=None, origins=[None]
        )

    async def _answer(self, robot: ServerConnection) -> None:
        if self._clients >= CLIENTS_MAX:
            await robot.close(_TRY_AGAIN_LATER, f"{CLIENTS_MAX} clients are served already")
            return
        self._clients += 1
        try:
            await self._serve_client(robot)
        finally:
            self._clients -= 1

    async def _serve_client(self, robot: ServerConnection) -> None:
        try:
            # A key that the robot's side shows is for the policy server.
            key = robot.request.headers.get("Authorization") if robot.request is not None else None
            headers = {"Authorization": key} if key else None
            async with connect(
                self._upstream, max_size=MESSAGE_BYTES_MAX, compression=None, additional_headers=headers
            ) as policy:
                metadata = unpack(_bytes(await policy.recv()))
                await robot.send(pack({**metadata, "lastgate": self._introduction()}))
                async for message in robot:
                    arrived_s = self._now()
                    await policy.send(message)
                    reply = await policy.recv()
                    if isinstance(reply, str):
                        # The server tells its own faults in words; the robot's client raises on them.
                        await robot.send(reply)
                        continue
                    await robot.send(self._evaluated(_bytes(message), reply, arrived_s))
        except (OSError, ValueError, websockets.WebSocketException) as error:
            await robot.close(_INTERNAL_ERROR, f"the policy server cannot be used: {error}"[:120])

    def _introduction(self) -> dict[str, Any]:
        names = list(self._options.unchecked_columns)
        return {"robot": self._gate.robot.name} | ({"unchecked_columns": names} if names else {})

    def _evaluated(self, observation: bytes, reply: bytes, arrived_s: float) -> bytes:
        """Returns the reply itself, or the rejection that takes its place."""
        try:
            fields = unpack(reply)
            verdict = self.check(unpack(observation), fields, arrived_s)
        except (ValueError, TypeError, KeyError, AttributeError, ROSConfigError) as error:
            # What cannot be read cannot be certified.
            self.rejected += 1
            return pack({REFUSAL_KEY: {"code": "not_checked", "sentence": str(error), "step": None}})
        if verdict.accepted:
            self.accepted += 1
            return reply
        self.rejected += 1
        violation = verdict.violations[0]
        others = {
            key: value for key, value in fields.items() if key != ACTIONS_KEY and _holds_no_steps(value)
        }
        rejection = {"code": str(violation.code), "sentence": violation.sentence(), "step": violation.step}
        return pack({**others, REFUSAL_KEY: rejection})

    def check(self, observation: dict[str, Any], reply: dict[str, Any], arrived_s: float) -> Verdict:
        """Decides about the actions of a reply to an observation.

        Raises:
            ROSConfigError: An action or a state that is no table of numbers.
        """
        actions = plain_array(reply[ACTIONS_KEY], name="actions")
        measured = plain_array(observation[self._options.state_key], name="the state")
        if actions.ndim != 2 or measured.ndim != 1:
            raise ROSConfigError(f"actions have {actions.ndim} dimensions and the state {measured.ndim}")
        width = self._columns if self._options.mode in _JOINT_MODES else actions.shape[1]
        self._require_columns(actions[:, width:], name="actions")
        self._require_columns(measured[np.newaxis, self._columns :], name="the state")
        world = self._world() if callable(self._world) else self._world
        state = RobotState(
            positions=np.ascontiguousarray(measured[: self._columns], dtype=np.float64), stamp_s=arrived_s
        )
        rows = np.ascontiguousarray(actions[:, :width], dtype=np.float64)
        return self._gate.check(
            ActionChunk(rows, mode=self._options.mode), state=state, world=world, now_s=self._now()
        )

    def _require_columns(self, behind: NDArray[Any], *, name: str) -> None:
        """Raises `ROSConfigError` unless the columns behind the joints are those declared, and finite; or none."""
        names = self._options.unchecked_columns
        is_action = name == "actions"
        if behind.shape[1] != len(names) and (behind.shape[1] or (is_action and len(names))):
            raise ROSConfigError(
                f"{behind.shape[1]} columns of {name} stand behind the joints, and {len(names)} are declared: "
                "name each in `unchecked_columns`"
            )
        odd = np.argwhere(~np.isfinite(behind))
        if len(odd):
            step, column = (int(number) for number in odd[0])
            raise ROSConfigError(f"{names[column]} at step {step} of {name} is {behind[step, column]}")


_JOINT_MODES = (
    ControlMode.JOINT_POSITION,
    ControlMode.JOINT_TRAJECTORY,
    ControlMode.JOINT_VELOCITY,
    ControlMode.DEX_HAND_JOINT,
)


def _bytes(message: str | bytes) -> bytes:
    if isinstance(message, str):
        raise ValueError(f"words instead of a message: {message[:80]}")
    return message


def _holds_no_steps(value: object) -> bool:
    """Returns whether a value is text, a number or a mapping of such: all else may be the rejected actions again."""
    if isinstance(value, dict):
        return all(_holds_no_steps(part) for part in value.values())
    return value is None or isinstance(value, str | bool | int | float)
