# SPDX-License-Identifier: Apache-2.0
"""Writes a small rejected case as a pytest test that runs as it is."""

import base64
import math
import re
import zlib

import numpy as np

from lastgate.contracts import ControlMode, ROSConfigError
from lastgate.contracts.schema import Schema
from lastgate.gate import Gate
from lastgate.gate.verdict import Violation
from lastgate.robots import load_robot, robot_names
from lastgate.robots.convex_hulls_file import written_hulls
from lastgate.tools.telemetry.recording_file import said_by_skill
from lastgate.tools.telemetry.recording_reader import RecordedModel
from lastgate.tools.telemetry.shrink import SmallCase
from lastgate.world import NoWorld, Voxels

# A grid with more voxels than this that are not free is written packed.
_VOXELS_WRITTEN_MAX = 64


def pytest_text(case: SmallCase, violation: Violation, *, model: RecordedModel, origin: str) -> str:
    """Returns the source of a test module with one test: the case is rejected, by this rule, for this pair."""
    body = [
        *_gate_lines(model),
        *_attached_lines(case),
        f"chunk = lg.ActionChunk({_array(case.chunk.rows)}{_chunk_fields(case)})",
        f"state = {_state(case)}",
        *_world_lines(case),
        "",
        f"verdict = gate.check(chunk, state=state, world=world, now_s={_number(case.now_s)}{_options(case)})",
        "",
        "assert not verdict.accepted",
        "(violation,) = verdict.violations",
        f"assert violation.code == {str(violation.code)!r}",
        f"assert violation.subject == {violation.subject!r}",
        f"assert violation.against == {violation.against!r}",
    ]
    text = "\n".join(body)
    imports = [f"import {name}" for name in ("base64", "json", "zlib") if f"{name}." in text]
    imports += ["", "import numpy as np"] if imports else ["import numpy as np"]
    imports += ["", "import lastgate as lg"]
    doc = _one_line(f"Shrunk from {origin}: {violation}")
    lines = [f'"""{doc}"""', "", *imports, *_late_imports(text), "", "", f"def {_test_name(violation)}():"]
    lines += [f"    {line}".rstrip() for line in text.split("\n")]
    return "\n".join(lines) + "\n"


def _late_imports(text: str) -> list[str]:
    lines = []
    if "read_convex_hulls(" in text:
        lines.append("from lastgate.robots.convex_hulls_file import read_convex_hulls")
    return lines


def _one_line(text: str) -> str:
    # Names come from anywhere; a docstring ends at three quotes.
    return re.sub(r"\s+", " ", text).replace("\\", "\\\\").replace('"', "'")


def _test_name(violation: Violation) -> str:
    words = [str(violation.code), violation.subject]
    if violation.against:
        words += ["and", violation.against]
    name = re.sub(r"[^a-z0-9]+", "_", " ".join([*words, "is rejected"]).lower()).strip("_")
    return f"test_{name}"


def _gate_lines(model: RecordedModel) -> list[str]:
    """Returns lines that build the gate: of the robot library when it still has this model, else of the recorded
    text."""
    gate = model.gate()
    extra = "" if model.skill is None else f", skill={_call(model.skill, said_by_skill(model.skill))}"
    robot = model.robot.name
    try:
        known = robot in robot_names()
        same = (
            known
            and Gate(load_robot(robot), step_s=gate.step_s, skill=model.skill).model_digest == model.digest
        )
    except ROSConfigError:
        same = False
    if same:
        return [f'gate = lg.Gate(lg.load_robot("{robot}"), step_s={gate.step_s!r}{extra})']
    hulls = written_hulls(model.robot.loaded_hulls, comments=[])
    lines = [f"robot = lg.RobotDescription(**json.loads({_packed(model.robot.model_dump_json())}))"]
    if model.robot.convex_pieces is not None:
        lines.append(
            f'robot = robot.with_loaded_hulls(read_convex_hulls({_packed(hulls)}.decode(), source="the recording"))'
        )
    return [*lines, f"gate = lg.Gate.from_flat_config(robot, {_packed(model.flat_config)}.decode())"]


def _packed(text: str) -> str:
    return (
        f"zlib.decompress(base64.b85decode({base64.b85encode(zlib.compress(text.encode(), 9)).decode()!r}))"
    )


def _attached_lines(case: SmallCase) -> list[str]:
    return [
        f"gate.attach({held.link!r}, {_schema(held.shape)}, object_id={held.object_id!r}, "
        f"origin_xyz_rpy={held.origin_xyz_rpy!r}, touch_links={held.touch_links!r})"
        for _, held in case.held
    ]


def _chunk_fields(case: SmallCase) -> str:
    chunk = case.chunk
    fields = ""
    if chunk.mode != ControlMode.JOINT_POSITION:
        named = (
            f"lg.ControlMode.{chunk.mode.name}" if isinstance(chunk.mode, ControlMode) else int(chunk.mode)
        )
        fields += f", mode={named}"
    for name in ("ee_name", "frame_id"):
        if getattr(chunk, name):
            fields += f", {name}={getattr(chunk, name)!r}"
    return fields


def _state(case: SmallCase) -> str:
    state = case.state
    if state is None:
        return "None"
    fields = f"positions={_array(state.positions)}, stamp_s={_number(state.stamp_s)}"
    for name in ("velocities", "gripper_positions", "stamps_s"):
        if getattr(state, name) is not None:
            fields += f", {name}={_array(getattr(state, name))}"
    return f"lg.RobotState({fields})"


def _world_lines(case: SmallCase) -> list[str]:
    if case.world is None:
        return ["world = None"]
    if isinstance(case.world, NoWorld):
        return ["world = lg.NO_WORLD"]
    world = case.world
    lines: list[str] = []
    fields: list[str] = []
    if world.primitives is not None:
        fields.append(f"primitives=[{', '.join(_schema(primitive) for primitive in world.primitives)}]")
    if world.zones:
        fields.append(f"zones=[{', '.join(_schema(zone) for zone in world.zones)}]")
    if world.points is not None:
        points = world.points
        declared = "" if len(points) else ", declared_empty=True"
        fields.append(
            f"points=lg.Points(xyz={_array(points.xyz)}, stamp_s={_number(points.stamp_s)}{declared})"
        )
    if world.voxels is not None:
        lines += _voxel_lines(world.voxels)
        fields.append(_voxels(world.voxels))
    if world.frame_id:
        fields.append(f"frame_id={world.frame_id!r}")
    fields.append(f"stamp_s={_number(world.stamp_s)}")
    return [*lines, f"world = lg.World({', '.join(fields)})"]


def _voxel_lines(voxels: Voxels) -> list[str]:
    flat = voxels.message_occupancy()
    taken = np.flatnonzero(flat)
    if len(taken) > _VOXELS_WRITTEN_MAX:
        packed = base64.b85encode(zlib.compress(flat.tobytes(), 9)).decode()
        return [
            f"voxels = np.frombuffer(zlib.decompress(base64.b85decode({packed!r})), np.uint8)"
            f".reshape({voxels.occupancy.shape!r})"
        ]
    lines = [f"voxels = np.zeros({voxels.occupancy.shape!r}, np.uint8)"]
    return [*lines, *(f"voxels.reshape(-1)[{voxel}] = {flat[voxel]}" for voxel in taken.tolist())]


def _voxels(voxels: Voxels) -> str:
    origin = ", ".join(_number(value) for value in voxels.origin_xyz)
    return (
        f"voxels=lg.Voxels(occupancy=voxels, origin_xyz=({origin}), resolution_m={_number(voxels.resolution_m)}, "
        f"stamp_s={_number(voxels.stamp_s)}, unknown={voxels.unknown!r}, outside={voxels.outside!r})"
    )


def _options(case: SmallCase) -> str:
    options = ", recovery=True" if case.recovery else ""
    if case.contacts:
        options += f", declared_contacts=[{', '.join(_schema(contact) for contact in case.contacts)}]"
    return options


def _schema(value: Schema) -> str:
    """Returns a schema object as the call that makes it again."""
    return _call(value, value.model_dump(mode="json"))


def _call(value: Schema, fields: dict[str, object]) -> str:
    return f"lg.{type(value).__name__}(**{_plain(fields)})"


def _plain(value: object) -> str:
    if isinstance(value, dict):
        kept = {key: item for key, item in value.items() if item is not None}
        return "{" + ", ".join(f"{key!r}: {_plain(item)}" for key, item in kept.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_plain(item) for item in value) + "]"
    return repr(value)


def _number(value: float) -> str:
    return repr(float(value)) if math.isfinite(value) else f'float("{value}")'


def _array(values: np.ndarray) -> str:
    if not values.size:
        return f"np.empty({values.shape!r})"
    rows = values.tolist()
    if values.ndim == 1:
        return f"np.array([{', '.join(_number(value) for value in rows)}])"
    lines = [f"[{', '.join(_number(value) for value in row)}]" for row in rows]
    return f"np.array([{', '.join(lines)}])"


__all__ = ["pytest_text"]
