# SPDX-License-Identifier: Apache-2.0
"""Reads a recording. A file that is cut off, damaged or of another program is refused whole, in words."""

import dataclasses
import hashlib
import io
import json
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import TypeAdapter, ValidationError

from lastgate import _core
from lastgate.contracts import RobotDescription, RobotFrames, ROSConfigError, RSkillManifest
from lastgate.contracts.action import ActionChunk, RobotState
from lastgate.contracts.attached_shape import AttachedShape
from lastgate.gate import Gate
from lastgate.gate.declared_contact import DeclaredContact
from lastgate.gate.verdict import Verdict
from lastgate.robots.convex_hulls_file import read_convex_hulls
from lastgate.tools.telemetry.recorded_world import recorded_world
from lastgate.tools.telemetry.recording_chain import LINK_TOPIC, Chain, Link, Linked, fault_of
from lastgate.tools.telemetry.recording_file import (
    CHECK_TOPIC,
    CHUNK_TOPIC,
    JOINT_TOPIC,
    LIBRARY,
    MODEL_TOPIC,
    SALVAGED,
    WORLD_DECLARED_ABSENT,
    WORLD_NEVER_FILLED,
    WORLD_NOT_GIVEN,
    WORLD_RECORDED,
    WORLD_TOPIC,
    require_mcap,
)
from lastgate.tools.telemetry.recording_messages import decode_message
from lastgate.world import NO_WORLD, NoWorld, World

_MAGIC = b"\x89MCAP0\r\n"
# MCAP's last record and the one before the index: opcode, length, offsets, checksum.
_FOOTER = struct.Struct("<BQQQI")
_DATA_END = struct.Struct("<BQI")

_CONTACTS: TypeAdapter[list[DeclaredContact]] = TypeAdapter(list[DeclaredContact])


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedModel:
    """The inputs that a gate was built from."""

    digest: str
    flat_config: str
    robot: RobotDescription
    skill: RSkillManifest | None

    def gate(self) -> Gate:
        """Returns a gate of this model, with the SIMD build that `LASTGATE_SIMD` asks for."""
        return Gate.from_flat_config(self.robot, self.flat_config)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedCheck:
    """One verdict and what it depended on, as the gate is given it again.

    Attributes:
        number: Where in the file, from 1.
        verdict: The core's bytes, as they were.
        not_repeatable: Why it cannot be run again; empty when it can.
        fault: What is wrong with its link in the chain; empty when nothing is, or when the file has no chain.
    """

    number: int
    model_digest: str
    chunk: ActionChunk | None
    state: RobotState | None
    world: World | NoWorld | None
    now_s: float
    recovery: bool
    held: tuple[tuple[int, AttachedShape], ...]
    contacts: tuple[DeclaredContact, ...]
    accepted: bool
    code: str
    sentence: str
    evidence_json: str
    min_clearance_m: float
    duration_us: float
    verdict: bytes
    certificate: bytes
    not_repeatable: str
    fault: str

    def run(self, gate: Gate) -> Verdict:
        """Asks a gate of the same model again.

        Raises:
            ROSConfigError: The verdict cannot be repeated, or what was recorded cannot be handed to the gate.
        """
        if self.not_repeatable or self.chunk is None:
            raise ROSConfigError(f"check {self.number} cannot be repeated: {self.not_repeatable}")
        if gate.attached_shapes != self.held:
            gate.hold(self.held)
        return gate.check(
            self.chunk,
            state=self.state,
            world=self.world,
            now_s=self.now_s,
            recovery=self.recovery,
            declared_contacts=self.contacts,
        )


@dataclass(slots=True)
class Recording:
    """A whole file.

    Attributes:
        salvaged: It is the beginning of another, whose end is lost.
        bound: Its verdicts are bound to their inputs and to each other. Recordings of older versions are not.
        chain_head: The last digest of the chain, worked out from what the file holds; empty without one.
        missing: Numbers of the checks whose link is there while they are not.
    """

    models: dict[str, RecordedModel] = field(default_factory=dict)
    checks: list[RecordedCheck] = field(default_factory=list)
    salvaged: bool = False
    bound: bool = False
    chain_head: str = ""
    missing: list[int] = field(default_factory=list)

    def check(self, number: int) -> RecordedCheck:
        """Returns one check by its number; a number the file does not have raises `ROSConfigError`."""
        found = next((check for check in self.checks if check.number == number), None)
        if found is None:
            held = f"{self.checks[0].number} to {self.checks[-1].number}" if self.checks else "none"
            raise ROSConfigError(f"the recording has no check {number}; it has {held}")
        return found


def read_recording(path: Path) -> Recording:
    """Reads a recording whole.

    Raises:
        ROSConfigError: The file cannot be read, is cut off or damaged, or is not one of ours.
    """
    require_mcap()
    from mcap.exceptions import McapError
    from mcap.reader import make_reader

    reading = _Reading()
    try:
        raw = path.read_bytes()
        reader = make_reader(io.BytesIO(raw), validate_crcs=True)
        header = reader.get_header()
        if not header.library.startswith(LIBRARY):
            raise ROSConfigError(f"`{path}` is not a recording of lastgate: `{header.library}` wrote it")
        _require_whole(raw)
        for _, channel, message in reader.iter_messages(log_time_order=False):
            reading.take(channel.topic, message.sequence, message.data, message.log_time)
        reading.recording.salvaged = any(found.name == SALVAGED for found in reader.iter_metadata())
        reading.end()
    except OSError as error:
        raise ROSConfigError(f"cannot read `{path}`: {error.strerror}") from None
    except McapError as error:
        raise ROSConfigError(f"`{path}` is not a whole MCAP file: {error}") from None
    except ROSConfigError as error:
        text = str(error)
        joint = " " if text.startswith("is ") else ": "
        raise ROSConfigError(text if str(path) in text else f"`{path}`{joint}{text}") from None
    except Exception as error:  # whatever damaged bytes lead a decoder to
        raise ROSConfigError(f"`{path}` is damaged: {error or type(error).__name__}") from None
    if not reading.recording.models:
        raise ROSConfigError(f"`{path}` is not a recording of lastgate: it names no model")
    return reading.recording


def _require_whole(raw: bytes) -> None:
    """Holds the file to both of its checksums: one over everything, up to the index, and one over the index.

    The reader compares only those of chunks; a topic whose name is damaged in the index would be passed over.
    """
    end = len(raw) - len(_MAGIC)
    footer = end - _FOOTER.size
    opcode, length, index, _, index_checksum = _FOOTER.unpack_from(raw, footer) if footer > 0 else (0,) * 5
    if raw[end:] != _MAGIC or (opcode, length) != (0x02, 20):
        raise ROSConfigError(
            "is cut off: it does not end like a recording\n\n"
            "hint: `lastgate salvage` makes a recording of what is whole at its beginning"
        )
    data_end = index - _DATA_END.size
    if not 0 < data_end < footer:
        raise ROSConfigError("is cut off: it has no index")
    opcode, length, data_checksum = _DATA_END.unpack_from(raw, data_end)
    if (opcode, length) != (0x0F, 4) or 0 in (data_checksum, index_checksum):
        raise ROSConfigError("is damaged: it has no checksums")
    if zlib.crc32(raw[:data_end]) != data_checksum or zlib.crc32(raw[index : end - 4]) != index_checksum:
        raise ROSConfigError("is damaged: its checksums do not agree with its bytes")


class _Reading:
    def __init__(self) -> None:
        self.recording = Recording()
        self._chunks: dict[int, ActionChunk] = {}
        self._chain = Chain()
        self._links: dict[int, Link] = {}
        # What links speak for, by the number of the check or of the world.
        self._chunk_bytes: dict[int, bytes] = {}
        self._joint_bytes: dict[int, bytes] = {}
        self._world_digests: dict[int, str] = {}
        self._wall_ns = 0
        # As recorded; the model of a check says which frames its world may be in.
        self._world_parts: dict[int, tuple[int, list[tuple[int, bytes]]]] = {}
        self._worlds: dict[tuple[int, RobotFrames], World] = {}
        self._takers: dict[str, Callable[[int, bytes], None]] = {
            MODEL_TOPIC: self._take_model,
            CHUNK_TOPIC: self._take_chunk,
            WORLD_TOPIC: self._take_world,
            JOINT_TOPIC: self._joint_bytes.__setitem__,
            LINK_TOPIC: self._take_link,
            CHECK_TOPIC: self._take_check,
        }

    def take(self, topic: str, sequence: int, data: bytes, wall_ns: int) -> None:
        taker = self._takers.get(topic)
        if taker is not None:  # other programs may have merged other topics into the file
            self._wall_ns = wall_ns
            taker(sequence, data)

    def end(self) -> None:
        """Takes stock when everything was read."""
        recording = self.recording
        if not recording.bound:
            recording.checks = [dataclasses.replace(check, fault="") for check in recording.checks]
            return
        recording.chain_head = self._chain.head
        # The end of a salvaged file may lie between a link and its verdict.
        last = recording.checks[-1].number if recording.checks else 0
        recording.missing = sorted(
            number for number in self._links if not (recording.salvaged and number == last + 1)
        )

    def _take_link(self, sequence: int, data: bytes) -> None:
        self.recording.bound = True
        if sequence in self._links:
            raise ROSConfigError(f"check {sequence} has two links")
        self._links[sequence] = Link.from_json(data)

    def _take_model(self, _: int, data: bytes) -> None:
        told = json.loads(data)
        self._chain.begin(data)
        digest = hashlib.sha256(told["flat_config"].encode()).hexdigest()
        if digest != told["model_digest"]:
            raise ROSConfigError("the model has another digest than the file says")
        try:
            robot = RobotDescription.model_validate(told["robot"])
        except ValidationError as error:
            raise ROSConfigError(
                f"the robot of the recording cannot be read: {error.errors()[0]['msg']}"
            ) from None
        if robot.convex_pieces is not None:
            hulls = read_convex_hulls(told["convex_pieces"], source="the recording")
            robot = robot.with_loaded_hulls(hulls)
        self.recording.models[digest] = RecordedModel(
            digest=digest,
            flat_config=told["flat_config"],
            robot=robot,
            skill=None if told["skill"] is None else RSkillManifest.model_validate(told["skill"]),
        )

    def _take_chunk(self, sequence: int, data: bytes) -> None:
        self._chunk_bytes[sequence] = data
        told = _core.decode_action_chunk(data)
        if told is None:
            raise ROSConfigError(f"chunk {sequence} cannot be read")
        rows = np.array(told.flat, dtype=np.float64)
        if rows.size != told.horizon * told.n_dof:
            return  # a kernel rejected it for that; no array could say it, and its check says so
        rows = rows.reshape(told.horizon, told.n_dof)
        self._chunks[sequence] = ActionChunk(
            rows,
            mode=told.control_mode,
            ee_name=told.ee_name,
            frame_id=told.frame_id,
            rskill_id=told.rskill_id,
            trace_id=told.trace_id,
        )

    def _take_world(self, sequence: int, data: bytes) -> None:
        self._world_digests[sequence] = hashlib.sha256(data).hexdigest()
        told = decode_message("WorldRecord", data)
        parts = [(int(part.type), part.payload.tobytes()) for part in told.parts]
        self._world_parts[sequence] = (int(told.snapshot_id), parts)

    def _take_check(self, _: int, data: bytes) -> None:
        told = decode_message("Check", data)
        if told.model_digest not in self.recording.models:
            raise ROSConfigError(f"check {told.number} is about a model that the file does not hold")
        chunk = self._chunks.pop(told.number, None)
        if chunk is None and not told.not_repeatable:
            raise ROSConfigError(f"check {told.number} has no chunk")
        held = [
            (int(item.pop("number")), AttachedShape.model_validate(item))
            for item in json.loads(told.held_json)
        ]
        self.recording.checks.append(
            RecordedCheck(
                number=int(told.number),
                model_digest=told.model_digest,
                chunk=chunk,
                state=_state_of(told),
                world=self._world_of(told),
                now_s=told.now_s,
                recovery=told.recovery,
                held=tuple(held),
                contacts=tuple(_CONTACTS.validate_json(told.contacts_json)),
                accepted=told.accepted,
                code=told.code,
                sentence=told.sentence,
                evidence_json=told.evidence_json,
                min_clearance_m=told.min_clearance_m,
                duration_us=told.duration_us,
                verdict=told.verdict.tobytes(),
                certificate=told.certificate.tobytes(),
                not_repeatable=told.not_repeatable,
                fault=self._fault_of(int(told.number), int(told.world_number), data),
            )
        )

    def _fault_of(self, number: int, world_number: int, data: bytes) -> str:
        expected = self._chain.add(
            Linked(
                number=number,
                wall_ns=self._wall_ns,
                chunk=self._chunk_bytes.pop(number, b""),
                joints=self._joint_bytes.pop(number, b""),
                check=data,
                world_digest=self._world_digests.get(world_number, ""),
            )
        )
        found = self._links.pop(number, None)
        if found is not None:
            # The next one is held to what this one says it was, so that one change is one fault.
            self._chain.head = found.digest
        return fault_of(found, expected)

    def _world_of(self, told: Any) -> World | NoWorld | None:
        match told.world:
            case n if n == WORLD_NOT_GIVEN:
                return None
            case n if n == WORLD_DECLARED_ABSENT:
                return NO_WORLD
            case n if n == WORLD_NEVER_FILLED:
                return World(stamp_s=0.0)
            case n if n == WORLD_RECORDED and told.world_number in self._world_parts:
                frames = RobotFrames.of(self.recording.models[told.model_digest].robot)
                key = (told.world_number, frames)
                if key not in self._worlds:
                    snapshot_id, parts = self._world_parts[told.world_number]
                    self._worlds[key] = recorded_world(parts, frames=frames, snapshot_id=snapshot_id)
                return self._worlds[key]
        raise ROSConfigError(f"check {told.number} is about a world that the file does not hold")


def _state_of(told: Any) -> RobotState | None:
    if not told.state_given:
        return None
    return RobotState(
        positions=told.positions,
        stamp_s=told.stamp_s,
        velocities=told.velocities if told.velocities_given else None,
        gripper_positions=told.gripper_positions if told.gripper_given else None,
        stamps_s=told.stamps_s if told.stamps_given else None,
    )
