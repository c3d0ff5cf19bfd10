# SPDX-License-Identifier: Apache-2.0
"""The tools over the Model Context Protocol; those that look things up and those that move are told apart.

A gate, a graphics context and an SQLite file belong to one thread, and a robot does one thing at a time: every call
runs on one thread of the server's own, one after the other. A client that takes a call back makes the robot hold.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar

from lastgate.contracts import ROSConfigError, ROSError
from lastgate.contracts.extras import install_command
from lastgate.integrations.agent.answers import (
    DriveAnswer,
    GazeAnswer,
    LocateAnswer,
    MotionAnswer,
    PlaceAnswer,
    RecallAnswer,
)
from lastgate.integrations.agent.tools import AgentTools

try:
    import anyio
    from mcp.server.mcpserver import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
    from mcp_types import ToolAnnotations
except ModuleNotFoundError:
    raise ROSConfigError(f"the tool server needs the MCP SDK: {install_command('agent')}") from None

_Answer = TypeVar("_Answer")
MakeTools = Callable[[Callable[[], bool]], AgentTools]

LADDER = """\
To go and see a thing, climb this ladder, and go on only when a step succeeded:
1. recall_object: where was it seen? Take the approach pose of the first match. If it says "approach BLOCKED on the \
occupancy grid", there is no place to stand: try the next match, or tell the user. Never make up a pose.
2. navigate_to: drive to approach_xy_yaw, the x, y and yaw of that pose.
3. look_at: turn a camera to the thing's position.
4. locate_in_view: is it really there? Memory may be old. If it is not in view, say so; do not act on memory alone.
5. execute: act, with the position that locate_in_view measured.
Every motion crosses a gate that rejects what it cannot certify. A rejection is not a failure of the tool: the \
robot holds, and the message says what is in the way. Do not repeat a rejected motion unchanged."""

_LOOKS_UP = ToolAnnotations(read_only_hint=True, open_world_hint=False)
_REMEMBERS = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
_MOVES = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=True
)


class _Worker:
    """Owns the thread that everything runs on."""

    def __init__(self, make_tools: MakeTools) -> None:
        self._make_tools = make_tools
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="lastgate-tools")
        # Of the call that runs at the moment.
        self._cancelled = threading.Event()
        self._tools: AgentTools | None = None

    async def start(self) -> None:
        await asyncio.wrap_future(self._thread.submit(self._make))

    def _make(self) -> None:
        self._tools = self._make_tools(self._is_cancelled)

    def _is_cancelled(self) -> bool:
        return self._cancelled.is_set()

    async def stop(self) -> None:
        self._cancelled.set()
        with anyio.CancelScope(shield=True):
            await asyncio.wrap_future(self._thread.submit(self._close))
        self._thread.shutdown()

    def _close(self) -> None:
        if self._tools is None:
            return
        for part in (self._tools.body, self._tools.memory):
            close = getattr(part, "close", None)
            if close is not None:
                close()

    async def ask(self, question: Callable[[AgentTools], _Answer]) -> _Answer:
        """Runs a question on the thread; an error of ours becomes the message that the agent reads."""
        cancelled = threading.Event()
        running = self._thread.submit(self._answer, question, cancelled)
        answer = asyncio.wrap_future(running)
        try:
            return await asyncio.shield(answer)
        except asyncio.CancelledError:
            # Before its next chunk the robot is told to hold; the client that took the call back waits until it does.
            cancelled.set()
            if not running.cancel():
                with anyio.CancelScope(shield=True), suppress(Exception):
                    await answer
            raise
        except ROSError as error:
            raise ToolError(f"{type(error).__name__}: {error}") from error

    def _answer(self, question: Callable[[AgentTools], _Answer], cancelled: threading.Event) -> _Answer:
        if self._tools is None:
            raise ROSConfigError("the tools are not ready")
        self._cancelled = cancelled
        return question(self._tools)


def build_server(make_tools: MakeTools, *, may_move: bool) -> "MCPServer[Any]":
    """Returns a server of the tools.

    Args:
        make_tools: Called once, on the server's thread, with what tells whether the present motion was taken back.
        may_move: False leaves out every tool that moves the robot.
    """
    worker = _Worker(make_tools)

    @asynccontextmanager
    async def running(_: "MCPServer[Any]") -> AsyncIterator[None]:
        await worker.start()
        try:
            yield
        finally:
            await worker.stop()

    server: MCPServer[Any] = MCPServer("lastgate", instructions=LADDER, lifespan=running, log_level="WARNING")
    _add_tools_that_look_up(server, worker)
    if may_move:
        _add_tools_that_move(server, worker)

    @server.prompt(description="How to go and see a thing: recall, navigate, look at, locate, act.")
    def go_and_see(label: str) -> str:
        return f"{LADDER}\n\nThe thing to go and see: {label}"

    return server


def _add_tools_that_look_up(server: "MCPServer[Any]", worker: _Worker) -> None:
    @server.tool(annotations=_LOOKS_UP)
    async def recall_object(label: str, limit: int = 3) -> RecallAnswer:
        """Says where a thing was last seen, and from which pose on the map it can be seen, or that this is blocked."""
        return await worker.ask(lambda tools: tools.recall_object(label, limit))

    @server.tool(annotations=_LOOKS_UP)
    async def resolve_place(name: str) -> PlaceAnswer:
        """Says where a named place is on the map, and whether the base may stand there."""
        return await worker.ask(lambda tools: tools.resolve_place(name))

    @server.tool(annotations=_LOOKS_UP)
    async def locate_in_view(query: str, camera: str) -> LocateAnswer:
        """Looks for a thing in what a camera sees at this moment; moves nothing."""
        return await worker.ask(lambda tools: tools.locate_in_view(query, camera))

    @server.tool(annotations=_REMEMBERS)
    async def remember_object(query: str, camera: str) -> LocateAnswer:
        """Looks for a thing in what a camera sees, and keeps where it is in memory; moves nothing."""
        return await worker.ask(lambda tools: tools.remember_object(query, camera))


def _add_tools_that_move(server: "MCPServer[Any]", worker: _Worker) -> None:
    @server.tool(annotations=_MOVES)
    async def navigate_to(x: float, y: float, yaw: float) -> DriveAnswer:
        """MOVES the base to a pose on the map, in metres and radians, through the gate."""
        return await worker.ask(lambda tools: tools.navigate_to(x, y, yaw))

    @server.tool(annotations=_MOVES)
    async def look_at(target_xyz: list[float], camera: str, standoff_m: float | None = None) -> GazeAnswer:
        """MOVES the arm so that a camera looks at a point on the map, through the gate."""
        return await worker.ask(lambda tools: tools.look_at(target_xyz, camera, standoff_m))

    @server.tool(annotations=_MOVES)
    async def execute(skill: str, goal_params: dict[str, Any]) -> MotionAnswer | GazeAnswer:
        """MOVES by a skill, through the gate: move-joints {positions}, move-to-pose {link, xyz, quat_xyzw} in the base
        frame, look-at {target_xyz, camera, standoff_m?}.
        """
        return await worker.ask(lambda tools: tools.execute(skill, goal_params))
