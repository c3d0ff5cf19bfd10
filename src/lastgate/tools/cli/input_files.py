# SPDX-License-Identifier: Apache-2.0
"""Reads chunk, state and world files. What cannot be read as meant is refused with the file and the line."""

import csv
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from lastgate.contracts import (
    ControlMode,
    RobotDescription,
    RobotFrames,
    ROSConfigError,
    WorldCollisionPrimitive,
    WorldState,
    config_error_from,
)
from lastgate.contracts.arrays import Float64
from lastgate.robots.bounded_yaml import require_bounded
from lastgate.tools.assets.closest_names import quote_closest

CHUNK_SUFFIXES = (".npy", ".npz", ".csv", ".json")
PROBLEMS_SHOWN = 8
# The gate takes at most 256 steps of at most 64 numbers; a thousand times that is no chunk by any reading.
FILE_BYTES_MAX = 128 * 1024 * 1024

_CHUNK_KEYS = ("rows", "mode", "ee_name", "frame_id")
# An ActionChunk as other programs print it. What the gate does not read may stand there too.
_WIRE_KEYS = ("flat", "horizon", "n_dof", "control_mode", "ee_name", "frame_id")
_WIRE_KEYS_UNREAD = ("header", "confidence", "rskill_id", "rskill_revision", "trace_id", "tick_index")
_STATE_KEYS = ("positions", "velocities", "gripper_positions", "stamp_s")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ChunkFile:
    """Contents of a chunk file; None where it says nothing."""

    rows: Float64
    mode: ControlMode | None = None
    ee_name: str | None = None
    frame_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StateFile:
    """Contents of a state file; None where it says nothing."""

    positions: Float64
    velocities: Float64 | None = None
    gripper_positions: Float64 | None = None
    stamp_s: float | None = None


def load_chunk(path: Path, *, joint_names: Sequence[str]) -> ChunkFile:
    """Reads a chunk from .npy, .npz, .csv or .json; numbers that fit into float64 without loss are converted.

    Raises:
        ROSConfigError: The file is missing, of another kind, or not a rectangle of numbers. NaN is let
            through: it is the gate that rejects it, with the joint and the step.
    """
    require_file(path)
    match path.suffix.lower():
        case ".npy":
            return ChunkFile(rows=_require_rows(_load_numpy(path), path))
        case ".npz":
            return ChunkFile(rows=_require_rows(_pick_array(_load_numpy(path), path), path))
        case ".csv":
            return ChunkFile(rows=_load_csv(path, joint_names=joint_names))
        case ".json":
            return _chunk_from_json(_load_json(path), path)
    raise ROSConfigError(
        f"{path}: a chunk file ends in {', '.join(CHUNK_SUFFIXES)}, this one in `{path.suffix}`\n\n"
        "hint: numpy.save('chunk.npy', rows) writes one"
    )


def load_state(path: Path, *, joint_names: Sequence[str]) -> StateFile:
    """Reads a measured state from .json, .yaml, .npy or .csv; anything else raises `ROSConfigError`."""
    require_file(path)
    suffix = path.suffix.lower()
    if suffix in (".npy", ".csv"):
        rows = _load_csv(path, joint_names=joint_names) if suffix == ".csv" else _load_numpy(path)
        positions = np.atleast_2d(_require_numbers(rows, path))
        if positions.ndim != 2 or len(positions) != 1:
            raise ROSConfigError(
                f"{path}: a state is one row of positions, this has the shape {positions.shape}"
            )
        return StateFile(positions=np.ascontiguousarray(positions[0]))
    document = _load_json(path) if suffix == ".json" else _load_yaml(path)
    if isinstance(document, list):
        document = {"positions": document}
    _require_keys(document, path, known=_STATE_KEYS, needed=("positions",), what="state")
    vectors = {
        key: _vector(document[key], path, key) for key in _STATE_KEYS[:3] if document.get(key) is not None
    }
    stamp_s = document.get("stamp_s")
    if stamp_s is not None and (isinstance(stamp_s, bool) or not isinstance(stamp_s, int | float)):
        raise ROSConfigError(f"{path}: `stamp_s` must be a number of seconds, got {stamp_s!r}")
    return StateFile(**vectors, stamp_s=None if stamp_s is None else float(stamp_s))  # pyright: ignore[reportArgumentType]


def load_world(path: Path, *, robot: RobotDescription) -> WorldState:
    """Reads a world by the `WorldState` schema from .json or .yaml; every problem raises `ROSConfigError`."""
    require_file(path)
    document = _load_json(path) if path.suffix.lower() == ".json" else _load_yaml(path)
    if not isinstance(document, dict):
        raise ROSConfigError(
            f"{path}: a world is a mapping with `collision_primitives`, this is a {type(document).__name__}"
        )
    try:
        world = WorldState(**document)
    except ValidationError as error:
        raise config_error_from(error, source=str(path)) from None
    except TypeError as error:
        raise ROSConfigError(f"{path}: {error}") from None
    if world.occupancy_grid is not None:
        raise ROSConfigError(
            f"{path}: `occupancy_grid` points at the topic `{world.occupancy_grid.data_topic}`, "
            "which a file does not carry\n\n"
            "hint: leave it out, and list what it shows under `collision_primitives`"
        )
    if "collision_primitives" not in world.model_fields_set:
        # As for `World`: an unfilled world does not mean that nothing is there.
        raise ROSConfigError(
            f"{path}: `collision_primitives` is missing\n\n"
            "hint: `collision_primitives: []` says that nothing is there"
        )
    return world.model_copy(
        update={"collision_primitives": _primitives_in_base(world.collision_primitives, robot, path)}
    )


def _primitives_in_base(
    primitives: tuple[WorldCollisionPrimitive, ...], robot: RobotDescription, path: Path
) -> tuple[WorldCollisionPrimitive, ...]:
    frames = RobotFrames.of(robot)
    for index, primitive in enumerate(primitives):
        problem = frames.problem(primitive.pose.frame_id)
        if problem is not None:
            name = primitive.object_id or f"collision_primitives[{index}]"
            raise ROSConfigError(f"{path}: obstacle `{name}` {problem}")
    return tuple(
        primitive.model_copy(update={"pose": frames.pose_in_base(primitive.pose)}) for primitive in primitives
    )


def require_file(path: Path) -> None:
    """Raises `ROSConfigError` unless the path is a file of a size worth reading."""
    if path.is_dir():
        raise ROSConfigError(f"{path}: this is a folder, a file is needed")
    if not path.is_file():
        folder = path.parent if path.parent.is_dir() else Path()
        near = [entry.name for entry in folder.iterdir() if entry.suffix == path.suffix]
        hint = f"\n\nhint: `{folder}` holds {quote_closest(path.name, near)}" if near else ""
        raise ROSConfigError(f"no such file: `{path}`{hint}")
    try:
        size = path.stat().st_size
        path.open("rb").close()
    except OSError as error:
        raise ROSConfigError(f"{path}: cannot be read: {error.strerror}") from None
    if size > FILE_BYTES_MAX:
        raise ROSConfigError(f"{path}: has {size} bytes, at most {FILE_BYTES_MAX} are read")


def load_document(path: Path) -> Any:
    """Reads .json or .yaml; text that is neither raises `ROSConfigError` with the line."""
    require_file(path)
    return _load_json(path) if path.suffix.lower() == ".json" else _load_yaml(path)


def _load_numpy(path: Path) -> Any:
    try:
        # Pickles are programs; a chunk is numbers.
        loaded = np.load(path, allow_pickle=False)
        return (
            {name: loaded[name] for name in loaded.files}
            if isinstance(loaded, np.lib.npyio.NpzFile)
            else loaded
        )
    except Exception as error:
        # NumPy takes whatever it does not know for a pickle, and says how to load one all the same.
        why = str(error).splitlines()[0].partition(" If you trust")[0]
        raise ROSConfigError(f"{path}: not a NumPy file of numbers: {why}") from None


def _pick_array(arrays: Any, path: Path) -> Any:
    if not isinstance(arrays, dict):
        return arrays
    if "rows" in arrays:
        return arrays["rows"]
    if len(arrays) == 1:
        return next(iter(arrays.values()))
    raise ROSConfigError(
        f"{path}: holds {', '.join(f'`{name}`' for name in arrays) or 'nothing'}; "
        "name the chunk's array `rows`"
    )


def _load_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=_without_repeats)
    except json.JSONDecodeError as error:
        raise ROSConfigError(f"{path}:{error.lineno}: not JSON: {error.msg}") from None
    except UnicodeDecodeError:
        raise ROSConfigError(f"{path}: not JSON: the file is not text") from None
    except ValueError as error:  # whole numbers of thousands of digits
        raise ROSConfigError(f"{path}: not JSON that can be read: {error}") from None
    except RecursionError:
        raise ROSConfigError(f"{path}: not JSON that can be read: nested too deeply") from None
    except KeyError as error:
        raise ROSConfigError(
            f"{path}: `{error.args[0]}` stands there twice; which of the two is meant?"
        ) from None


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Python keeps the last of two equal keys: half of a world's obstacles would go without a word."""
    kept: dict[str, Any] = {}
    for key, value in pairs:
        if key in kept:
            raise KeyError(key)
        kept[key] = value
    return kept


def _load_yaml(path: Path) -> Any:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        document = YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))
    except MarkedYAMLError as error:
        line = "" if error.problem_mark is None else f":{error.problem_mark.line + 1}"
        raise ROSConfigError(f"{path}{line}: not YAML: {error.problem or error.context}") from None
    except (YAMLError, ValueError, RecursionError) as error:
        raise ROSConfigError(f"{path}: not YAML: {str(error).splitlines()[0]}") from None
    require_bounded(document, path)
    return document


def _header_hint(header: Sequence[str], joint_names: Sequence[str]) -> str:
    if len(header) == 1 < len(joint_names):
        return "; columns are separated by commas"
    if sorted(header) == sorted(joint_names):
        return "; bring the columns into this order, the numbers along with the names"
    unknown = [name for name in header if name not in joint_names]
    missing = [name for name in joint_names if name not in header]
    said = (
        f"{kind}: {', '.join(names)}" for kind, names in (("unknown", unknown), ("missing", missing)) if names
    )
    return "".join(f"; {part}" for part in said)


def _load_csv(path: Path, *, joint_names: Sequence[str]) -> Float64:
    problems: list[str] = []
    rows: list[list[float]] = []
    try:
        lines = list(csv.reader(path.read_text(encoding="utf-8-sig").splitlines()))
    except (UnicodeDecodeError, csv.Error) as error:
        raise ROSConfigError(f"{path}: not CSV: {error}") from None
    numbered = [
        (number, cells) for number, cells in enumerate(lines, start=1) if any(cell.strip() for cell in cells)
    ]
    if numbered and not any(_number(cell) is not None for cell in numbered[0][1]):
        header = [cell.strip() for cell in numbered.pop(0)[1]]
        if header != list(joint_names):
            raise ROSConfigError(
                f"{path}:1: the columns are {', '.join(header)}; rows are read as {', '.join(joint_names)}"
                f"{_header_hint(header, joint_names)}"
            )
    for number, cells in numbered:
        values = [_number(cell) for cell in cells]
        for column, (cell, value) in enumerate(zip(cells, values, strict=True), start=1):
            if value is None:
                problems.append(f"{path}:{number}: column {column} is not a number: `{cell}`")
        width = len(numbered[0][1])
        if len(cells) != width:
            problems.append(f"{path}:{number}: {len(cells)} columns, the first row has {width}")
        rows.append([math.nan if value is None else value for value in values])
    if problems:
        more = (
            [f"{path}: {len(problems) - PROBLEMS_SHOWN} more problems"]
            if len(problems) > PROBLEMS_SHOWN
            else []
        )
        raise ROSConfigError("\n".join([*problems[:PROBLEMS_SHOWN], *more]))
    return np.array(rows, dtype=np.float64) if rows else np.empty((0, len(joint_names)))


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None


def _chunk_from_json(document: Any, path: Path) -> ChunkFile:
    if isinstance(document, list):
        document = {"rows": document}
    if isinstance(document, dict) and "flat" in document:
        document = _rows_of_message(document, path)
    _require_keys(document, path, known=_CHUNK_KEYS, needed=("rows",), what="chunk")
    for key in ("ee_name", "frame_id"):
        if document.get(key) is not None and not isinstance(document[key], str):
            raise ROSConfigError(f"{path}: `{key}` must be text, got {document[key]!r}")
    rows = document["rows"]
    if isinstance(rows, list) and all(isinstance(row, list) for row in rows):
        widths = {len(row) for row in rows}
        if len(widths) > 1:
            odd = next(index for index, row in enumerate(rows) if len(row) != len(rows[0]))
            raise ROSConfigError(
                f"{path}: step {odd} has {len(rows[odd])} numbers, step 0 has {len(rows[0])}"
            )
    return ChunkFile(
        rows=_require_rows(_to_array(rows, path, "rows"), path),
        mode=None if document.get("mode") is None else parse_mode(document["mode"], where=f"{path}: `mode`"),
        ee_name=document.get("ee_name"),
        frame_id=document.get("frame_id"),
    )


def _rows_of_message(document: dict[str, Any], path: Path) -> dict[str, Any]:
    needed = ("flat", "horizon", "n_dof", "control_mode")
    _require_keys(document, path, known=(*_WIRE_KEYS, *_WIRE_KEYS_UNREAD), needed=needed, what="chunk")
    flat, horizon, width = document["flat"], document["horizon"], document["n_dof"]
    for key, count in (("horizon", horizon), ("n_dof", width)):
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise ROSConfigError(f"{path}: `{key}` must be a whole number above 0, got {count!r}")
    if not isinstance(flat, list) or len(flat) != horizon * width:
        found = f"{len(flat)} numbers" if isinstance(flat, list) else repr(flat)
        raise ROSConfigError(
            f"{path}: `flat` needs `horizon` x `n_dof` = {horizon * width} numbers, got {found}"
        )
    return {
        "rows": [flat[first : first + width] for first in range(0, len(flat), width)],
        "mode": document["control_mode"],
        # An empty text on the wire is a name that was not given.
        **{key: document[key] or None for key in ("ee_name", "frame_id") if key in document},
    }


def parse_mode(word: object, *, where: str) -> ControlMode:
    """Returns a control mode by name or number; else raises `ROSConfigError` with the nearest names."""
    text = str(word).strip().upper().replace("-", "_")
    if text.isascii() and text.isdigit() and int(text) in set(ControlMode):
        return ControlMode(int(text))
    if text in ControlMode.__members__:
        return ControlMode[text]
    raise ROSConfigError(f"{where} is `{word}`; closest: {quote_closest(text, ControlMode.__members__)}")


def _require_keys(
    document: Any, path: Path, *, known: Sequence[str], needed: Sequence[str], what: str
) -> None:
    if not isinstance(document, dict):
        raise ROSConfigError(
            f"{path}: a {what} is a mapping or a list of numbers, this is a {type(document).__name__}"
        )
    problems = [
        f"{path}: unknown key `{key}`; known: {', '.join(known)}" for key in document if key not in known
    ]
    problems += [f"{path}: `{key}` is missing" for key in needed if document.get(key) is None]
    if problems:
        raise ROSConfigError("\n".join(problems))


def _to_array(values: Any, path: Path, name: str) -> Any:
    try:
        array = np.array(values)
    except ValueError:
        raise ROSConfigError(f"{path}: `{name}` is not a rectangle of numbers") from None
    if array.dtype == object and array.size:
        raise ROSConfigError(f"{path}: `{name}` holds something that is not a number (null counts)")
    return array


def _vector(values: Any, path: Path, name: str) -> Float64:
    array = _require_numbers(_to_array(values, path, name), path)
    if array.ndim != 1:
        raise ROSConfigError(f"{path}: `{name}` must be a list of numbers")
    return array


def _require_numbers(array: Any, path: Path) -> Float64:
    if not isinstance(array, np.ndarray) or not (
        array.size == 0 or np.can_cast(array.dtype, np.float64, "safe")
    ):
        raise ROSConfigError(
            f"{path}: holds {getattr(array, 'dtype', type(array).__name__)}, "
            "which is not a number that float64 can hold"
        )
    return np.ascontiguousarray(array, dtype=np.float64)


def _require_rows(array: Any, path: Path) -> Float64:
    rows = _require_numbers(array, path)
    if rows.ndim != 2:
        raise ROSConfigError(
            f"{path}: a chunk is steps x joints, this has the shape {rows.shape}"
            + ("\n\nhint: save `rows[np.newaxis, :]` for a single row" if rows.ndim == 1 else "")
        )
    return rows
