# SPDX-License-Identifier: Apache-2.0
"""rosbag2 folders and MCAP files: one recording is one episode.

Commands are action chunks (`openral_msgs/ActionChunk`) or joint commands (`sensor_msgs/JointState`); what was measured
is `sensor_msgs/JointState`. The age of a state is the time from its header's stamp to the command.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from rosbags.highlevel import AnyReader, AnyReaderError
from rosbags.interfaces import Connection
from rosbags.rosbag2 import ReaderError
from rosbags.serde import SerdeError
from rosbags.typesys import Stores, TypesysError, get_typestore
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from lastgate import _core
from lastgate.contracts import ControlMode, ROSConfigError
from lastgate.contracts.arrays import Float64
from lastgate.tools.audit.dataset_options import DatasetOptions
from lastgate.tools.audit.datasets.file_bounds import DESCRIPTION_BYTES_MAX, is_inside, require_regular_file
from lastgate.tools.audit.episode import Episode, EpisodeRef, RecordedChunk, UnreadableEpisodeError

STATE_TOPIC = "/joint_states"
ACTION_TOPICS = ("/openral/candidate_action", "/joint_commands", "/joint_command", "/action")
_CHUNK_TYPE = "openral_msgs/msg/ActionChunk"
_JOINTS_TYPE = "sensor_msgs/msg/JointState"
_BAG_ERRORS = (AnyReaderError, ReaderError, SerdeError, TypesysError, OSError, ValueError, KeyError)


class BagDataset:
    """One recording, or a folder of them in the order of their names."""

    kind = "bag"
    robot_type = ""

    def __init__(self, folder: Path, names: list[str], options: DatasetOptions) -> None:
        self._folder = folder
        self._state_topic = options.state_key or STATE_TOPIC
        self._action_topics = (options.action_key,) if options.action_key else ACTION_TOPICS
        self.step_s = options.step_s
        if self.step_s is None:
            raise ROSConfigError("messages do not say how far rows are apart\n\nhint: `--rate-hz 50`")
        self.episodes = [EpisodeRef(number=number, name=name, file=name) for number, name in enumerate(names)]

    def read(self, ref: EpisodeRef) -> Episode:
        """Reads one recording."""
        _require_own_files(self._folder / ref.file, ref.file)
        try:
            with AnyReader(
                [self._folder / ref.file], default_typestore=get_typestore(Stores.ROS2_HUMBLE)
            ) as reader:
                return self._read(reader, ref)
        except UnreadableEpisodeError:
            raise
        except _BAG_ERRORS as error:
            raise UnreadableEpisodeError(f"{ref.file}: {error}") from None
        except Exception as error:  # damaged storage raises what its library likes
            raise UnreadableEpisodeError(f"{ref.file}: {type(error).__name__}: {error}") from None

    def _read(self, reader: AnyReader, ref: EpisodeRef) -> Episode:
        commands = [c for c in reader.connections if c.topic in self._action_topics]
        states = [c for c in reader.connections if c.topic == self._state_topic and c.msgtype == _JOINTS_TYPE]
        if len({c.topic for c in commands}) > 1:
            raise UnreadableEpisodeError(
                f"{ref.file}: commands on more than one topic: {', '.join(sorted({c.topic for c in commands}))}"
            )
        if not commands:
            raise UnreadableEpisodeError(
                f"{ref.file}: no commands on {' or '.join(self._action_topics)}; topics: "
                f"{', '.join(sorted({c.topic for c in reader.connections})) or 'none'}"
            )
        kind = commands[0].msgtype
        if kind == _CHUNK_TYPE:
            return self._read_chunks(reader, states, commands, ref)
        if kind == _JOINTS_TYPE:
            return self._read_rows(reader, states, commands, ref)
        raise UnreadableEpisodeError(f"{ref.file}: `{commands[0].topic}` carries {kind}, which is not read")

    def _read_chunks(
        self, reader: AnyReader, states: list[Connection], commands: list[Connection], ref: EpisodeRef
    ) -> Episode:
        chunks: list[RecordedChunk] = []
        names: tuple[str, ...] = ()
        latest: Float64 | None = None
        stamp_s = float("-inf")
        for connection, logged_s, raw in _messages(reader, [*states, *commands]):
            if connection.msgtype == _JOINTS_TYPE:
                message = reader.deserialize(raw, connection.msgtype)
                latest, stamp_s, names = _joints(message, names, ref)
                continue
            fields = _core.decode_action_chunk(raw)
            if fields is None or not fields.horizon or not fields.n_dof:
                raise UnreadableEpisodeError(f"{ref.file}: message {len(chunks)} is no action chunk")
            rows = np.array(fields.flat, dtype=np.float64)
            if rows.size != fields.horizon * fields.n_dof:
                raise UnreadableEpisodeError(f"{ref.file}: message {len(chunks)} is no table of numbers")
            number = int(fields.control_mode)
            chunks.append(
                RecordedChunk(
                    rows=rows.reshape(fields.horizon, fields.n_dof),
                    mode=ControlMode(number) if number in set(ControlMode) else number,
                    ee_name=fields.ee_name,
                    frame_id=fields.frame_id,
                    sent_s=logged_s,
                    state=latest,
                    state_stamp_s=stamp_s,
                )
            )
        if not chunks:
            raise UnreadableEpisodeError(f"{ref.file}: the episode has no chunks")
        return Episode(times_s=np.array([chunk.sent_s for chunk in chunks]), state_names=names, chunks=chunks)

    def _read_rows(
        self, reader: AnyReader, states: list[Connection], commands: list[Connection], ref: EpisodeRef
    ) -> Episode:
        rows: list[Float64] = []
        measured: list[Float64] = []
        times: list[float] = []
        stamps: list[float] = []
        names: tuple[str, ...] = ()
        state_names: tuple[str, ...] = ()
        latest: Float64 | None = None
        stamp_s = float("-inf")
        for connection, logged_s, raw in _messages(reader, [*states, *commands]):
            message = reader.deserialize(raw, connection.msgtype)
            if connection.topic == self._state_topic:
                latest, stamp_s, state_names = _joints(message, state_names, ref)
                continue
            row, _, names = _joints(message, names, ref)
            rows.append(row)
            times.append(logged_s)
            measured.append(row * np.nan if latest is None else latest)
            stamps.append(stamp_s)
        if not rows:
            raise UnreadableEpisodeError(f"{ref.file}: the episode has no rows")
        has_states = bool(states)
        return Episode(
            times_s=np.array(times),
            actions=np.array(rows),
            states=np.array(measured) if has_states else None,
            stamps_s=np.array(stamps) if has_states else None,
            action_names=names,
            state_names=state_names or names,
        )


def _require_own_files(recording: Path, name: str) -> None:
    """Refuses a recording whose files are no files, or lie outside it: its list may name any file of the machine."""
    if not recording.is_dir():
        require_regular_file(recording, name)
        return
    for path in sorted(recording.iterdir()):
        require_regular_file(path, f"{name}/{path.name}")
    listed = recording / "metadata.yaml"
    if listed.stat().st_size > DESCRIPTION_BYTES_MAX:
        raise UnreadableEpisodeError(
            f"{name}: its metadata.yaml is larger than {DESCRIPTION_BYTES_MAX:,} bytes"
        )
    try:
        information = YAML(typ="safe").load(listed.read_text(encoding="utf-8"))["rosbag2_bagfile_information"]
        files = [str(file) for file in information["relative_file_paths"]]
    except (YAMLError, OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise UnreadableEpisodeError(f"{name}: its metadata.yaml cannot be read: {error}") from None
    outside = [file for file in files if not is_inside(file)]
    if outside:
        raise UnreadableEpisodeError(f"{name}: `{outside[0]}` leads out of the recording")


def _messages(reader: AnyReader, connections: list[Connection]) -> Iterator[tuple[Connection, float, bytes]]:
    for connection, logged_ns, raw in reader.messages(connections=connections):
        yield connection, logged_ns * 1e-9, bytes(raw)


def _joints(message: Any, before: tuple[str, ...], ref: EpisodeRef) -> tuple[Float64, float, tuple[str, ...]]:
    names = tuple(message.name)
    if before and names != before:
        raise UnreadableEpisodeError(f"{ref.file}: the joints of a topic change from message to message")
    positions = np.asarray(message.position, dtype=np.float64)
    if len(positions) != len(names):
        raise UnreadableEpisodeError(f"{ref.file}: {len(names)} joint names and {len(positions)} positions")
    stamp = message.header.stamp
    return positions, stamp.sec + stamp.nanosec * 1e-9, names
