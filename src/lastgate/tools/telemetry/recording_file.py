# SPDX-License-Identifier: Apache-2.0
"""Writes checks to an MCAP file."""

import contextlib
import hashlib
import json
import time
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from lastgate import _core
from lastgate.contracts import ROSConfigError, RSkillManifest
from lastgate.contracts.action import ActionChunk, RobotState
from lastgate.contracts.attached_shape import AttachedShape
from lastgate.contracts.extras import install_command
from lastgate.gate import Gate
from lastgate.gate.declared_contact import DeclaredContact
from lastgate.robots.convex_hulls_file import written_hulls
from lastgate.tools.telemetry.recording_chain import LINK_SCHEMA, LINK_SCHEMA_NAME, LINK_TOPIC, Chain, Linked
from lastgate.tools.telemetry.recording_messages import encode_message, full_name, new_message, schema_text
from lastgate.world import NoWorld, World

CHUNK_TOPIC = "/openral/candidate_action"
WORLD_TOPIC = "/lastgate/world"
CHECK_TOPIC = "/lastgate/check"
# For viewers other than lastgate: the measured state as other programs know it, to the nanosecond.
JOINT_TOPIC = "/joint_states"
MODEL_TOPIC = "/lastgate/model"
PROFILE = "ros2"
LIBRARY = "lastgate"
# Metadata of a file that was made of the beginning of another: how much of that was lost.
SALVAGED = "lastgate.salvaged"
# A verdict or two of an arm. What is not in a whole block is lost with the process; blocks of 1 MB would make files
# a sixth smaller.
_BLOCK_BYTES = 4 * 1024
# Blocks that a file has an index of: some 80,000 verdicts of an arm, for which it is kept in memory until the file is
# closed, about 2 kB each. A file of more has none, and readers go through it from the beginning.
BLOCKS_INDEXED_MAX = 8192
# Worlds that are not written again when they come back. A source makes them at 10 to 30 Hz, and a chunk is about the
# newest or one shortly before it.
WORLDS_KNOWN_MAX = 1024

_INDEX = "_Writer__chunk_indices"

WORLD_NOT_GIVEN, WORLD_RECORDED, WORLD_DECLARED_ABSENT, WORLD_NEVER_FILLED = range(4)

_MODEL_SCHEMA = {
    "type": "object",
    "properties": {
        "model_digest": {"type": "string"},
        "flat_config": {"type": "string"},
        "robot": {"type": "object"},
        "skill": {"type": ["object", "null"]},
        "convex_pieces": {"type": "string"},
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedInputs:
    """One verdict with everything it depended on, before it is written.

    Attributes:
        wall_ns: When it was decided, since 1970: where the message stands in the file.
        chunk: The ActionChunk message; empty when the chunk is larger than one can be.
        world: What the gate was given; or the messages a kernel made its world of, with the number it gave it.
        not_repeatable: Why the verdict cannot be repeated; empty when it can.
    """

    wall_ns: int
    chunk: bytes
    state: RobotState | None
    world: "World | NoWorld | KernelWorld | None"
    now_s: float
    recovery: bool
    held: tuple[tuple[int, AttachedShape], ...]
    contacts: tuple[DeclaredContact, ...]
    verdict: _core.Verdict
    duration_ns: int
    code: str
    sentence: str
    evidence_json: str
    certificate: bytes = b""
    not_repeatable: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelWorld:
    """The world that a kernel had: the messages it was made of, each with its type."""

    snapshot_id: int
    parts: tuple[tuple[int, bytes], ...]


def chunk_message(chunk: ActionChunk, *, stamp_s: float) -> bytes:
    """Returns a chunk as the message on the wire; nothing when it is larger than one can be."""
    stamp_s = stamp_s if abs(stamp_s) < 2**31 else 0.0  # NaN too: the stamp of a chunk decides nothing
    try:
        return _core.encode_action_chunk(
            chunk.rows,
            control_mode=int(chunk.mode),
            stamp_s=stamp_s,
            ee_name=chunk.ee_name,
            frame_id=chunk.frame_id,
            rskill_id=chunk.rskill_id,
            trace_id=chunk.trace_id,
        )
    except ValueError:
        return b""


def said_by_skill(skill: RSkillManifest) -> dict[str, Any]:
    """Returns a skill without what its envelope leaves unsaid: only what it says tightens the robot's."""
    fields = skill.model_dump(mode="json")
    if skill.envelope is not None:
        said = skill.envelope.model_fields_set
        fields["envelope"] = {name: value for name, value in fields["envelope"].items() if name in said}
    return fields


def require_mcap() -> None:
    """Raises `ROSConfigError` where the `record` extra is not installed."""
    try:
        import mcap  # noqa: F401
    except ModuleNotFoundError:
        raise ROSConfigError(f"recordings need `{install_command('record')}`") from None


def recording_writer(stream: BinaryIO) -> Any:
    """Returns a writer of files that hold a checksum of everything in them."""
    from mcap.writer import Writer

    writer = Writer(stream, chunk_size=_BLOCK_BYTES, enable_data_crcs=True)
    # The library keeps every block's index until the end, however long that takes, and offers no bound.
    if not isinstance(getattr(writer, _INDEX, None), list):
        raise ROSConfigError(
            "this version of mcap keeps its index elsewhere: install the version that lastgate names"
        )
    setattr(writer, _INDEX, _BlockIndex())
    return writer


class _BlockIndex(list[Any]):
    """The index of a file's blocks; over its bound it is empty, because half an index hides the other half."""

    is_over = False

    def append(self, block: Any) -> None:
        self.is_over = self.is_over or len(self) >= BLOCKS_INDEXED_MAX
        self.clear() if self.is_over else super().append(block)


class RecordingFile:
    """An MCAP file that checks of one gate are written to.

    Raises:
        ROSConfigError: The file cannot be written, or the `record` extra is not installed.
    """

    def __init__(self, path: Path, gate: Gate) -> None:
        require_mcap()
        self.path = path
        self._gate = gate
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._stream = path.open("wb")
        except OSError as error:
            raise ROSConfigError(f"cannot write `{path}`: {error.strerror}") from None
        self._writer: Any = recording_writer(self._stream)
        self._checks = 0
        self._broken = False
        self._chain = Chain()
        self._world_numbers: OrderedDict[str, int] = OrderedDict()
        self._worlds = 0
        # The world of the check before, its number in the file, and the digest of its message.
        self._latest_world: tuple[World | NoWorld | KernelWorld | None, int, str] = (None, 0, "")
        try:
            self._begin()
        except OSError as error:
            self._broken = True
            self.close()
            raise self._is_not_whole(error) from None

    def _begin(self) -> None:
        self._writer.start(profile=PROFILE, library=LIBRARY)
        self._channels = {
            topic: self._ros_channel(topic, name)
            for topic, name in (
                (CHUNK_TOPIC, "ActionChunk"),
                (WORLD_TOPIC, "WorldRecord"),
                (CHECK_TOPIC, "Check"),
                (JOINT_TOPIC, "JointState"),
            )
        }
        self._channels[LINK_TOPIC] = self._json_channel(LINK_TOPIC, LINK_SCHEMA_NAME, LINK_SCHEMA)
        self._write_model()
        self._stream.flush()

    @property
    def chain_head(self) -> str:
        """Last digest of the chain; written down elsewhere, it tells whether the file was rewritten."""
        return self._chain.head

    @property
    def checks(self) -> int:
        """Number of verdicts in the file."""
        return self._checks

    def write(self, inputs: RecordedInputs) -> None:
        """Writes one verdict, its chunk, and its world unless that is in the file already.

        Raises:
            ROSConfigError: The disk is full or gone; the file is not a recording any more.
        """
        try:
            self._write(inputs)
            self._stream.flush()  # to the system, which outlives this process
        except OSError as error:
            self._broken = True
            raise self._is_not_whole(error) from None
        self._checks += 1

    def _write(self, inputs: RecordedInputs) -> None:
        number = self._checks + 1
        kind, world_number, world_digest = self._write_world(inputs)
        state = inputs.state
        if inputs.chunk:
            self._add(CHUNK_TOPIC, inputs.wall_ns, inputs.chunk, number)
        joints = self._write_joints(inputs, number)
        reason = inputs.not_repeatable or (
            "" if inputs.chunk else "the chunk is larger than a message can be"
        )
        verdict = inputs.verdict
        held = [{"number": number, **shape.model_dump(mode="json")} for number, shape in inputs.held]
        message = new_message(
            "Check",
            number=number,
            model_digest=self._gate.model_digest,
            now_s=inputs.now_s,
            recovery=inputs.recovery,
            state_given=state is not None,
            positions=_numbers(None if state is None else state.positions),
            velocities_given=state is not None and state.velocities is not None,
            velocities=_numbers(None if state is None else state.velocities),
            gripper_given=state is not None and state.gripper_positions is not None,
            gripper_positions=_numbers(None if state is None else state.gripper_positions),
            stamps_given=state is not None and state.stamps_s is not None,
            stamps_s=_numbers(None if state is None else state.stamps_s),
            stamp_s=0.0 if state is None else state.stamp_s,
            world=kind,
            world_number=world_number,
            held_json=json.dumps(held, allow_nan=False),
            contacts_json=json.dumps([contact.model_dump(mode="json") for contact in inputs.contacts]),
            accepted=verdict.accepted,
            code=inputs.code,
            sentence=inputs.sentence,
            evidence_json=inputs.evidence_json,
            min_clearance_m=verdict.min_clearance_m if verdict.accepted else float("nan"),
            duration_us=inputs.duration_ns / 1000.0,
            not_repeatable=reason,
            verdict=np.frombuffer(verdict.to_bytes(), np.uint8),
            certificate=np.frombuffer(inputs.certificate, np.uint8),
        )
        payload = encode_message("Check", message)
        link = self._chain.add(
            Linked(
                number=number,
                wall_ns=inputs.wall_ns,
                chunk=inputs.chunk,
                joints=joints,
                check=payload,
                world_digest=world_digest,
            )
        )
        # First: a file that is cut off between the two has no verdict without its link.
        self._add(LINK_TOPIC, inputs.wall_ns, link.to_json(), number)
        self._add(CHECK_TOPIC, inputs.wall_ns, payload, number)

    def close(self) -> None:
        """Writes the index and closes the file; without it a reader cannot tell whether the file is whole.

        Raises:
            ROSConfigError: The disk is full or gone; said once.
        """
        try:
            if not self._broken:
                self._writer.finish()
            self._stream.close()
        except OSError as error:
            with contextlib.suppress(OSError):  # it keeps what it could not write, and tries once more
                self._stream.close()
            if not self._broken:
                self._broken = True
                raise self._is_not_whole(error) from None

    def _is_not_whole(self, error: OSError) -> ROSConfigError:
        return ROSConfigError(
            f"the recording `{self.path}` ends after {self._checks} verdicts and cannot be read: {error.strerror}"
        )

    def _ros_channel(self, topic: str, name: str) -> int:
        schema = self._writer.register_schema(
            name=full_name(name), encoding="ros2msg", data=schema_text(name).encode()
        )
        return self._writer.register_channel(topic=topic, message_encoding="cdr", schema_id=schema)

    def _json_channel(self, topic: str, name: str, schema: dict[str, Any]) -> int:
        number = self._writer.register_schema(
            name=name, encoding="jsonschema", data=json.dumps(schema).encode()
        )
        return self._writer.register_channel(topic=topic, message_encoding="json", schema_id=number)

    def _write_model(self) -> None:
        robot = self._gate.robot
        self._channels[MODEL_TOPIC] = self._json_channel(MODEL_TOPIC, "lastgate.Model", _MODEL_SCHEMA)
        model = {
            "model_digest": self._gate.model_digest,
            "flat_config": self._gate.flat_config,
            "robot": robot.model_dump(mode="json"),
            "skill": None if self._gate.skill is None else said_by_skill(self._gate.skill),
            "convex_pieces": written_hulls(robot.loaded_hulls, comments=[]),
        }
        payload = json.dumps(model).encode()
        self._chain.begin(payload)
        self._add(MODEL_TOPIC, time.time_ns(), payload, 1)

    def _write_joints(self, inputs: RecordedInputs, number: int) -> bytes:
        state = inputs.state
        names = list(self._gate.joint_names)
        if state is None or len(state.positions) != len(names) or not abs(state.stamp_s) < 2**31:
            return b""
        velocities = (
            state.velocities if state.velocities is not None and len(state.velocities) == len(names) else None
        )
        message = _core.encode_joint_state(
            names, positions=state.positions, velocities=velocities, stamp_s=state.stamp_s
        )
        self._add(JOINT_TOPIC, inputs.wall_ns, message, number)
        return message

    def _write_world(self, inputs: RecordedInputs) -> tuple[int, int, str]:
        world = inputs.world
        if world is None:
            return WORLD_NOT_GIVEN, 0, ""
        if isinstance(world, NoWorld):
            return WORLD_DECLARED_ABSENT, 0, ""
        if world is self._latest_world[0]:  # most checks are about the world of the check before
            return WORLD_RECORDED, *self._latest_world[1:]
        if isinstance(world, World):
            if not world.is_filled:
                return WORLD_NEVER_FILLED, 0, ""
            # What the check computed with, so that no second computation has to give the same bits.
            placed = self._gate.world_in_base(world)
            snapshot_id, parts = world.number, ((_core.MessageType.world_snapshot, placed.to_message()),)
        else:
            snapshot_id, parts = world.snapshot_id, world.parts
        message = new_message(
            "WorldRecord",
            snapshot_id=snapshot_id,
            base_frame=self._gate.robot.base_frame,
            parts=[
                new_message("WorldPart", type=kind, payload=np.frombuffer(payload, np.uint8))
                for kind, payload in parts
            ],
        )
        payload = encode_message("WorldRecord", message)
        key = hashlib.sha256(payload).hexdigest()
        if key not in self._world_numbers:
            if len(self._world_numbers) >= WORLDS_KNOWN_MAX:
                self._world_numbers.popitem(last=False)
            self._worlds += 1
            self._world_numbers[key] = self._worlds
            self._add(WORLD_TOPIC, inputs.wall_ns, payload, self._world_numbers[key])
        self._latest_world = world, self._world_numbers[key], key
        return WORLD_RECORDED, self._world_numbers[key], key

    def _add(self, topic: str, wall_ns: int, data: bytes, sequence: int) -> None:
        self._writer.add_message(
            channel_id=self._channels[topic],
            log_time=wall_ns,
            publish_time=wall_ns,
            sequence=sequence,
            data=data,
        )


def _numbers(values: np.ndarray | None) -> np.ndarray:
    return np.empty(0) if values is None else np.ascontiguousarray(values)
