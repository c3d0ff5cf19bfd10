# SPDX-License-Identifier: Apache-2.0
"""Seconds of recorded motion, of one .npz file or of a dataset, in the order and unit that they are taken for."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lastgate.contracts import ROSConfigError
from lastgate.contracts.arrays import Float64
from lastgate.gate import Gate
from lastgate.tools.audit.columns import match_columns
from lastgate.tools.audit.dataset_options import DatasetOptions
from lastgate.tools.audit.datasets import open_dataset
from lastgate.tools.audit.datasets.npz import NpzFile
from lastgate.tools.audit.episode import Episode, UnreadableEpisodeError
from lastgate.tools.audit.joint_units import JointUnits, units_of

# Ten seconds at 50 Hz say what an hour says, in a second; a longer recording is thinned evenly.
ROWS_MAX = 500
ROWS_MIN = 10


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RecordedMotion:
    """One robot's motion as it was recorded; every array has one row per instant.

    Attributes:
        times_s: When the positions were measured.
        positions: (N, n_dof) as measured, finite.
        commands: (N, n_dof) as commanded at the same instants; None where not recorded.
        velocities: (N, n_dof) as the driver reports them, not differences of the positions.
        tool: (N, 3) or (N, 7): x y z, and a quaternion x y z w, of a point fixed to `tool_link`, in the robot's base
            frame, measured by what does not read these positions: the robot's own controller, a camera, a tracker.
        tool_link: Link that carries it.
    """

    times_s: Float64
    positions: Float64
    commands: Float64 | None = None
    velocities: Float64 | None = None
    tool: Float64 | None = None
    tool_link: str = ""

    def __post_init__(self) -> None:
        count, width = self.positions.shape
        shapes = {"commands": self.commands, "velocities": self.velocities}
        for name, table in shapes.items():
            if table is not None and table.shape != (count, width):
                raise ROSConfigError(f"{name} is {table.shape} and the positions are {(count, width)}")
        if self.times_s.shape != (count,) or not (np.diff(self.times_s) > 0.0).all():
            raise ROSConfigError("the recording needs one time per row, each later than the one before")
        if self.tool is not None and self.tool.shape not in ((count, 3), (count, 7)):
            raise ROSConfigError(f"the tool is {self.tool.shape}, expected {(count, 3)} or {(count, 7)}")
        tables = (self.times_s, self.positions, self.commands, self.velocities, self.tool)
        if not all(table is None or np.isfinite(table).all() for table in tables):
            raise ROSConfigError("the recording holds a number that is not finite")


def load_motion(
    path: Path,
    gate: Gate,
    *,
    options: DatasetOptions,
    units: tuple[tuple[str, str], ...] = (),
    joint_map: tuple[tuple[str, str], ...] | None = None,
    tool_link: str = "",
) -> RecordedMotion:
    """Reads one .npz file, or the first episode of a dataset that holds measured positions.

    Raises:
        ROSConfigError: Nothing there can be used; the reason is in it.
    """
    is_log = path.is_file() and path.suffix == ".npz"
    dataset = NpzFile(path, options) if is_log else open_dataset(path, options)
    troubles: list[str] = []
    for ref in dataset.episodes:
        try:
            episode = dataset.read(ref)
            return _motion(episode, gate, units=units, joint_map=joint_map, tool_link=tool_link)
        except UnreadableEpisodeError as error:
            troubles.append(f"{ref.name}: {error}")
    raise ROSConfigError(
        f"{path}: no episode can be used: {'; '.join(troubles[:3]) or 'there is none'}\n\n"
        "hint: an .npz file with `state`, (T, joints) as measured, and if there are any `action`, `velocity`, "
        "`tool_pose` (T, 7: x y z and a quaternion x y z w) and `timestamp`; or a dataset that `lastgate audit` reads"
    )


def _motion(
    episode: Episode,
    gate: Gate,
    *,
    units: tuple[tuple[str, str], ...],
    joint_map: tuple[tuple[str, str], ...] | None,
    tool_link: str,
) -> RecordedMotion:
    if episode.states is None:
        raise UnreadableEpisodeError("holds no measured positions")
    said = units_of(gate, gate.joint_names, units)
    chosen = None if joint_map is None else dict(joint_map)
    states = _joints(episode.states, episode.state_names, gate, said, chosen)
    commands = None
    if episode.actions is not None and len(episode.actions) == len(states):
        try:
            commands = _joints(episode.actions, episode.action_names, gate, said, chosen)
        except UnreadableEpisodeError:
            commands = None  # actions of another kind than positions of the joints
    speeds = episode.velocities
    if speeds is not None:
        rates = JointUnits(said.factor, np.zeros_like(said.offset))
        speeds = _joints(speeds, episode.state_names, gate, rates, chosen)
    times = episode.times_s if episode.stamps_s is None else episode.stamps_s
    tables = [states, commands, speeds, episode.tool_poses]
    if any(table is not None and len(table) != len(times) for table in tables):
        raise UnreadableEpisodeError(f"{len(times)} times and another number of rows")
    usable = np.isfinite(times) & np.isfinite(states).all(axis=1)
    for table in tables[1:]:
        usable &= True if table is None else np.isfinite(table).all(axis=1)
    usable[1:] &= np.diff(times) > 0.0
    rows = np.flatnonzero(usable)
    if len(rows) < ROWS_MIN:
        raise UnreadableEpisodeError(f"{len(rows)} rows can be used, at least {ROWS_MIN} are needed")
    rows = rows[np.linspace(0, len(rows) - 1, min(len(rows), ROWS_MAX)).round().astype(int)]
    picked = [None if table is None else np.ascontiguousarray(table[rows]) for table in tables]
    assert picked[0] is not None
    return RecordedMotion(
        times_s=times[rows],
        positions=picked[0],
        commands=picked[1],
        velocities=picked[2],
        tool=picked[3],
        tool_link=tool_link or _tool_link(gate),
    )


def _joints(
    table: Float64,
    names: tuple[str, ...],
    gate: Gate,
    units: JointUnits,
    joint_map: dict[str, str] | None,
) -> Float64:
    columns = match_columns(
        table.shape[1],
        names,
        joint_names=gate.joint_names,
        gripper_names=gate.gripper_joint_names,
        joint_map=joint_map,
    )
    return units.apply(np.ascontiguousarray(table[:, columns.joints]))


def _tool_link(gate: Gate) -> str:
    effectors = gate.robot.end_effectors
    return effectors[0].link if effectors else gate.link_names[-1]
