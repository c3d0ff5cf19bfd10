# SPDX-License-Identifier: Apache-2.0
"""What is whole at the beginning of a recording that was not closed, as a recording of its own."""

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lastgate.contracts import ROSConfigError
from lastgate.tools.telemetry.recording_file import LIBRARY, SALVAGED, recording_writer, require_mcap
from lastgate.tools.telemetry.recording_reader import read_recording


@dataclass(frozen=True, slots=True, kw_only=True)
class Salvaged:
    """The part of a file that is whole.

    Attributes:
        checks: How many verdicts the new file holds.
        lost_bytes: How much of the old file lies behind what is whole.
    """

    checks: int
    lost_bytes: int


def salvage(path: Path, to: Path) -> Salvaged:
    """Writes the beginning of a recording up to where it is cut off or damaged, as a whole one that says so.

    Nothing behind the first damage is taken: a recording that lost its middle would look like one in which nothing
    happened. Every block of the file has a checksum of its own, and one that does not agree is damage.

    Raises:
        ROSConfigError: The file is whole, is not one of ours, holds nothing whole, or cannot be read; or the new one
            exists or cannot be written.
    """
    require_mcap()
    from mcap.exceptions import McapError

    if to.exists():
        raise ROSConfigError(f"`{to}` exists, and a recording is not replaced")
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise ROSConfigError(f"cannot read `{path}`: {error.strerror}") from None
    if _is_whole(path):
        raise ROSConfigError(f"`{path}` is whole: `lastgate replay` reads it as it is")
    blocks = _whole_blocks(raw)
    try:
        _, header = next(blocks, (0, None))
    except McapError as error:
        raise ROSConfigError(f"`{path}` is not a recording: {error}") from None
    if header is None or not header.library.startswith(LIBRARY):
        raise ROSConfigError(f"`{path}` is not a recording of lastgate")
    try:
        end = _copy(header, blocks, to, lost_of=len(raw))
    except OSError as error:
        raise ROSConfigError(f"cannot write `{to}`: {error.strerror}") from None
    try:
        checks = len(read_recording(to).checks)
    except ROSConfigError:
        to.unlink(missing_ok=True)
        raise ROSConfigError(f"`{path}` is cut off before anything in it is whole") from None
    return Salvaged(checks=checks, lost_bytes=len(raw) - end)


def _is_whole(path: Path) -> bool:
    try:
        read_recording(path)
    except ROSConfigError:
        return False
    return True


def _whole_blocks(raw: bytes) -> Iterator[tuple[int, Any]]:
    """Yields where each record ends, and the record, up to the first that is not there whole.

    Raises:
        McapError: The file does not begin like one.
    """
    from mcap.exceptions import McapError
    from mcap.records import Header
    from mcap.stream_reader import StreamReader

    stream = io.BytesIO(raw)
    records = StreamReader(stream, emit_chunks=True).records
    try:
        first = next(records)
    except McapError:
        raise
    except Exception as error:  # whatever damaged bytes lead a decoder to
        raise McapError(str(error) or "it ends at once") from None
    if not isinstance(first, Header):
        raise McapError("it has no header")
    yield stream.tell(), first
    try:
        for record in records:
            yield stream.tell(), record
    except Exception:
        return


def _copy(header: Any, blocks: Iterator[tuple[int, Any]], to: Path, *, lost_of: int) -> int:
    """Writes the messages of whole chunks to a new file; returns where the last of them ended in the old one."""
    from mcap.records import Channel, Chunk, Message, Schema
    from mcap.stream_reader import breakup_chunk

    end = 0
    with to.open("wb") as stream:
        writer = recording_writer(stream)
        writer.start(profile=header.profile, library=header.library)
        schemas: dict[int, int] = {0: 0}
        channels: dict[int, int] = {}
        for ended_at, block in blocks:
            if not isinstance(block, Chunk):
                continue
            try:
                records = breakup_chunk(block, validate_crc=True)
            except Exception:
                break
            for record in records:
                if isinstance(record, Schema) and record.id not in schemas:
                    schemas[record.id] = writer.register_schema(
                        name=record.name, encoding=record.encoding, data=record.data
                    )
                elif isinstance(record, Channel) and record.id not in channels:
                    channels[record.id] = writer.register_channel(
                        topic=record.topic,
                        message_encoding=record.message_encoding,
                        schema_id=schemas[record.schema_id],
                        metadata=record.metadata,
                    )
                elif isinstance(record, Message):
                    writer.add_message(
                        channel_id=channels[record.channel_id],
                        log_time=record.log_time,
                        publish_time=record.publish_time,
                        sequence=record.sequence,
                        data=record.data,
                    )
            end = ended_at
        writer.add_metadata(SALVAGED, {"lost_bytes": str(lost_of - end)})
        writer.finish()
    return end
