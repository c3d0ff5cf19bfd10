# SPDX-License-Identifier: Apache-2.0
"""Writes recordings anew with changes, every checksum right, as a program that forges would."""

from collections.abc import Callable, Iterator
from pathlib import Path

from lastgate.tools.telemetry.recording_file import recording_writer

LINK_TOPIC = "/lastgate/link"
Message = tuple[str, int, int, bytes]  # topic, time, sequence, data
Change = Callable[[Message], Iterator[Message]]


def rewritten(path: Path, to: Path, change: Change) -> Path:
    """Writes a recording anew, message by message, with checksums that are right."""
    from mcap.reader import make_reader

    with path.open("rb") as source, to.open("wb") as target:
        reader = make_reader(source)
        header = reader.get_header()
        writer = recording_writer(target)
        writer.start(profile=header.profile, library=header.library)
        channels: dict[str, int] = {}
        for schema, channel, message in reader.iter_messages(log_time_order=False):
            if channel.topic not in channels:
                number = writer.register_schema(name=schema.name, encoding=schema.encoding, data=schema.data)
                channels[channel.topic] = writer.register_channel(
                    topic=channel.topic, message_encoding=channel.message_encoding, schema_id=number
                )
            told = (channel.topic, message.log_time, message.sequence, message.data)
            for topic, time_ns, sequence, data in change(told):
                writer.add_message(
                    channel_id=channels[topic],
                    log_time=time_ns,
                    publish_time=time_ns,
                    sequence=sequence,
                    data=data,
                )
        writer.finish()
    return to


def unchanged(message: Message) -> Iterator[Message]:
    yield message


def unbound(change: Change) -> Change:
    """Does the same to a recording without links, as older versions wrote them."""
    return lambda message: iter([]) if message[0] == LINK_TOPIC else change(message)
