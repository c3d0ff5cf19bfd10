# SPDX-License-Identifier: Apache-2.0
"""What a recorded episode is, whatever file it came from."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from lastgate.contracts import ControlMode
from lastgate.contracts.arrays import Float64


class UnreadableEpisodeError(Exception):
    """Reason why one episode cannot be audited; the audit goes on with the next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeRef:
    """Points at one episode; small enough to be sent to another machine.

    Attributes:
        number: Its place in the dataset.
        name: What its dataset calls it.
        file: Where it lies, relative to the dataset's folder.
        rows: First row inside the file and the one after the last; None where the file is the episode.
        key: Inside the file, for formats that name episodes.
        trouble: Why it cannot be read, where the list of episodes already tells.
    """

    number: int
    name: str
    file: str
    rows: tuple[int, int] | None = None
    key: str = ""
    trouble: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RecordedChunk:
    """One chunk as a policy sent it, with the state that was known then.

    Attributes:
        sent_s: When it was sent.
        state: One per column of the recording, or None when none had been measured.
        state_stamp_s: When that was measured.
    """

    rows: Float64
    mode: ControlMode | int
    ee_name: str
    frame_id: str
    sent_s: float
    state: Float64 | None
    state_stamp_s: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Episode:
    """One episode in memory: a row per control step, or the chunks of a policy.

    Attributes:
        times_s: When each row was commanded; what follows has one entry per row.
        actions: (T, columns), or None where nothing was commanded.
        states: (T, columns) as measured when the row was commanded, or None.
        stamps_s: When each state was measured, on the clock of `times_s`; None where the recording does not say.
        action_names: What the columns of the actions are called; empty where the recording does not say.
        state_names: The same for the states.
        velocities: (T, columns of the states) as a driver reported them, or None.
        tool_poses: (T, 3 or 7) of a point on the robot, measured by something else than its joints, or None.
        chunks: Instead of actions, where the recording holds chunks; columns are then those of the gate.
    """

    times_s: Float64
    actions: Float64 | None = None
    states: Float64 | None = None
    stamps_s: Float64 | None = None
    action_names: tuple[str, ...] = ()
    state_names: tuple[str, ...] = ()
    velocities: Float64 | None = None
    tool_poses: Float64 | None = None
    chunks: Sequence[RecordedChunk] = field(default=())


class Dataset(Protocol):
    """A folder or file of episodes.

    Attributes:
        robot_type: Robot that the dataset says it is of; empty where it does not say.
        step_s: Time from one row to the next.
    """

    kind: str
    robot_type: str
    step_s: float | None
    episodes: list[EpisodeRef]

    def read(self, ref: EpisodeRef) -> Episode:
        """Returns one episode; `UnreadableEpisodeError` says why it cannot."""
        ...
