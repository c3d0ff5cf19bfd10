# SPDX-License-Identifier: Apache-2.0
"""The log of a shadow gate: one JSON object per line, numbers written so that they are read back bit for bit."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lastgate.contracts import ROSConfigError, WorldState
from lastgate.contracts.action import ActionChunk, RobotState
from lastgate.contracts.arrays import Float64
from lastgate.gate.verdict import Verdict
from lastgate.world import NO_WORLD, NoWorld, World

# Written first; a reader that does not know the number reads nothing.
LOG_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LoggedCheck:
    """One proposal as the shadow gate saw it.

    Attributes:
        code: Why it would have been rejected; empty if it would not, `undecided` where the gate could not be asked.
        world_is_whole: The world can be built again from the log; a cloud or a grid cannot.
    """

    now_s: float
    chunk: ActionChunk | None
    state: RobotState | None
    world: World | NoWorld | None
    world_is_whole: bool
    code: str
    sentence: str


def head_line(*, robot: str, step_s: float, model_digest: str) -> str:
    """Returns the first line of a log."""
    return json.dumps(
        {
            "log": "lastgate-shadow",
            "version": LOG_VERSION,
            "robot": robot,
            "step_s": step_s,
            "model": model_digest,
        }
    )


def world_line(world: World, number: int) -> str:
    """Returns the line that later lines refer to by `number`."""
    plain = world.voxels is None and world.points is None and world.floor_map is None
    state = WorldState(collision_primitives=world.primitives) if plain else None
    return json.dumps(
        {
            "world": number,
            "id": world.world_id,
            "frame_id": world.frame_id,
            "stamp_s": world.stamp_s,
            "state": None if state is None else state.model_dump(mode="json"),
        }
    )


def check_line(
    chunk: ActionChunk | None,
    state: RobotState | None,
    world: int | str | None,
    now_s: float,
    *,
    verdict: Verdict | None,
    trouble: str,
) -> str:
    """Returns the line of one proposal; `world` is the number of its line, `none` for `NO_WORLD`, None for no world."""
    rejected = verdict is not None and not verdict.accepted
    return json.dumps(
        {
            "now_s": now_s,
            "rows": None if chunk is None else chunk.rows.tolist(),
            "width": 0 if chunk is None else chunk.rows.shape[1],
            "mode": 0 if chunk is None else int(chunk.mode),
            "ee": "" if chunk is None else chunk.ee_name,
            "frame": "" if chunk is None else chunk.frame_id,
            "state": None if state is None else _state_fields(state),
            "world": world,
            "code": "undecided" if verdict is None else str(verdict.violations[0].code) if rejected else "",
            "sentence": trouble if verdict is None else verdict.violations[0].sentence() if rejected else "",
        }
    )


def read_log(path: Path) -> tuple[dict[str, Any], Iterator[LoggedCheck]]:
    """Returns the head of a log and its proposals, read one by one.

    A last line that was cut off is left out; anything else that is no line of a log is refused.

    Raises:
        ROSConfigError: Not a log, of another version, or damaged.
    """
    try:
        with path.open(encoding="utf-8") as file:
            head = json.loads(file.readline())
    except OSError as error:
        raise ROSConfigError(f"cannot read `{path}`: {error.strerror}") from None
    except ValueError:
        head = None
    if not isinstance(head, dict) or head.get("log") != "lastgate-shadow":
        raise ROSConfigError(f"{path}: not the log of a shadow gate")
    if head.get("version") != LOG_VERSION:
        raise ROSConfigError(f"{path}: version {head.get('version')}, this lastgate reads {LOG_VERSION}")
    return head, _read_checks(path)


def _read_checks(path: Path) -> Iterator[LoggedCheck]:
    worlds: dict[int, dict[str, Any]] = {}
    with path.open(encoding="utf-8") as file:
        next(file)
        for number, line in enumerate(file, start=2):
            if not line.endswith("\n"):
                return  # the writer died here
            try:
                fields = json.loads(line)
                if "rows" in fields:
                    yield _check(fields, worlds)
                else:
                    worlds[int(fields["world"])] = fields
            except (ValueError, KeyError, TypeError, ROSConfigError) as error:
                raise ROSConfigError(f"{path}:{number}: not a line of a log: {error}") from None


def _check(fields: dict[str, Any], worlds: dict[int, dict[str, Any]]) -> LoggedCheck:
    rows = fields["rows"]
    chunk = None
    if rows is not None:
        chunk = ActionChunk(
            np.array(rows, dtype=np.float64).reshape(len(rows), fields["width"]),
            mode=fields["mode"],
            ee_name=fields["ee"],
            frame_id=fields["frame"],
        )
    world, whole = _world(fields["world"], worlds)
    return LoggedCheck(
        now_s=float(fields["now_s"]),
        chunk=chunk,
        state=None if fields["state"] is None else _state(fields["state"]),
        world=world,
        world_is_whole=whole,
        code=fields["code"],
        sentence=fields["sentence"],
    )


def _world(named: int | str | None, worlds: dict[int, dict[str, Any]]) -> tuple[World | NoWorld | None, bool]:
    if named is None:
        return None, True
    if named == "none":
        return NO_WORLD, True
    fields = worlds[int(named)]
    if fields["state"] is None:
        return None, False
    state = WorldState(**fields["state"])
    return (
        World(
            primitives=state.collision_primitives,
            stamp_s=fields["stamp_s"],
            frame_id=fields["frame_id"],
            world_id=fields["id"],
        ),
        True,
    )


def _state_fields(state: RobotState) -> dict[str, Any]:
    def listed(values: Float64 | None) -> list[float] | None:
        return None if values is None else values.tolist()

    return {
        "positions": listed(state.positions),
        "velocities": listed(state.velocities),
        "gripper_positions": listed(state.gripper_positions),
        "stamps_s": listed(state.stamps_s),
        "stamp_s": state.stamp_s,
    }


def _state(fields: dict[str, Any]) -> RobotState:
    def array(name: str) -> Float64 | None:
        return None if fields[name] is None else np.array(fields[name], dtype=np.float64)

    return RobotState(
        positions=np.array(fields["positions"], dtype=np.float64),
        velocities=array("velocities"),
        gripper_positions=array("gripper_positions"),
        stamps_s=array("stamps_s"),
        stamp_s=float(fields["stamp_s"]),
    )
