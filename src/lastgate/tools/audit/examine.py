# SPDX-License-Identifier: Apache-2.0
"""One episode through the gate."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from lastgate.contracts import RobotDescription, RSkillManifest, ViolationCode
from lastgate.contracts.action import ActionChunk, RobotState
from lastgate.contracts.arrays import Float64
from lastgate.gate import Gate
from lastgate.gate.verdict import Unchecked, Verdict, Violation
from lastgate.robots.kernel_config import EVALUATIONS_MAX
from lastgate.tools.audit.columns import Columns, match_columns
from lastgate.tools.audit.episode import Episode, RecordedChunk, UnreadableEpisodeError
from lastgate.tools.audit.findings import EpisodeResult, RowViolation, merge_rows
from lastgate.tools.audit.joint_units import DEGREES, SI, JointUnits, units_of
from lastgate.tools.audit.value_ranges import require_values_fit
from lastgate.tools.audit.walk import PathWalker, Walk
from lastgate.world import NoWorld, World

# A chunk of an audit is as long as sixteen of the usual 16 rows, and may take as many queries.
AUDIT_EVALUATIONS_MAX = 16 * EVALUATIONS_MAX

AuditPath = Literal["action", "state", "both"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExamineOptions:
    """Options of the examination of an episode.

    Attributes:
        path: The commands, what was measured, or both.
        horizon: Rows after which a policy observed again: chunks then start at the measured state. None: one path.
        units: Unit of each joint by name, under the empty name that of all others; see `parse_units`.
        columns: Columns of the joints, where the recording does not tell.
        joint_map: Joint of each column, by its name or number, where the recording does not tell.
    """

    path: AuditPath = "action"
    horizon: int | None = None
    units: tuple[tuple[str, str], ...] = ()
    columns: tuple[int, ...] | None = None
    joint_map: tuple[tuple[str, str], ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ChunkMoment:
    """One recorded chunk with the inputs and the answer of the gate."""

    chunk: ActionChunk
    state: RobotState | None
    world: World | NoWorld
    verdict: Verdict


class Examiner:
    """The gate that every episode of a dataset goes through.

    Raises:
        ROSConfigError: The robot cannot be armed.
    """

    def __init__(
        self,
        robot: RobotDescription,
        *,
        step_s: float,
        world: World | NoWorld,
        options: ExamineOptions | None = None,
        skill: RSkillManifest | None = None,
    ) -> None:
        self.gate = Gate(robot, step_s=step_s, skill=skill, evaluations_max=AUDIT_EVALUATIONS_MAX)
        self.world = world
        self._options = options or ExamineOptions()
        self._walker = PathWalker(self.gate, world)
        self._specs = {joint.name: joint for joint in robot.joints}
        self._joint_units = self._units_of(self.gate.joint_names)
        self._gripper_units = self._units_of(self.gate.gripper_joint_names)

    def _units_of(self, names: tuple[str, ...]) -> JointUnits:
        return units_of(self.gate, names, self._options.units)

    def examine(self, episode: Episode, result: EpisodeResult) -> None:
        """Fills in a result; `UnreadableEpisodeError` says why an episode cannot be checked."""
        if episode.chunks:
            self._examine_chunks(episode, result)
            return
        _require_equal_lengths(episode)
        self._note_columns(episode, result)
        wanted = ("action", "state") if self._options.path == "both" else (self._options.path,)
        for path in wanted:
            if path == "action":
                self._examine_actions(episode, result)
            else:
                self._examine_states(episode, result)

    # ---- Paths ---------------------------------------------------------------------------------------

    def path_of(self, episode: Episode, path: str) -> tuple[Float64, Float64 | None]:
        """Returns a path of an episode and where the gripper stands along it; row 0 is where the path starts."""
        if path == "state":
            if episode.states is None:
                raise UnreadableEpisodeError("nothing was measured in this recording")
            self._require_values_fit(episode.states, episode.state_names)
            return self._pick(episode.states, episode.state_names)
        if episode.actions is None:
            raise UnreadableEpisodeError("nothing was commanded in this recording: use `--path state`")
        self._require_values_fit(episode.actions, episode.action_names)
        rows, gripper = self._pick(episode.actions, episode.action_names)
        start, start_gripper = rows[:1], None if gripper is None else gripper[:1]
        if episode.states is not None and len(episode.states):
            start, measured = self._pick(episode.states[:1], episode.state_names)
            start_gripper = measured if gripper is not None and measured is not None else start_gripper
        whole = None if gripper is None or start_gripper is None else np.vstack([start_gripper, gripper])
        return np.vstack([start, rows]), whole

    def _examine_actions(self, episode: Episode, result: EpisodeResult) -> None:
        path, gripper = self.path_of(episode, "action")
        if len(path) < 2:
            raise UnreadableEpisodeError("the episode has no rows")
        result.rows += len(path) - 1
        if episode.states is None:
            result.unchecked = sorted({*result.unchecked, "measured_to_row_0"})
        found: list[RowViolation] = []
        if self._options.horizon is None:
            self._take(self._walker.walk(path, gripper=gripper), result, found, shift=-1)
        else:
            self._examine_by_horizon(episode, path, gripper, result, found)
        found += self._stale_rows(episode, path[1:], result)
        result.findings += merge_rows("action", found)

    def _examine_by_horizon(
        self,
        episode: Episode,
        path: Float64,
        gripper: Float64 | None,
        result: EpisodeResult,
        found: list[RowViolation],
    ) -> None:
        if episode.states is None:
            raise UnreadableEpisodeError("chunks start at the measured state, and nothing was measured here")
        measured, _ = self._pick(episode.states, episode.state_names)
        assert self._options.horizon is not None
        for first in range(0, len(path) - 1, self._options.horizon):
            # One row more than the chunk: the way into the next one is part of the recording too.
            last = min(first + self._options.horizon + 1, len(path) - 1)
            chunk = np.vstack([measured[first], path[first + 1 : last + 1]])
            fingers = None if gripper is None else gripper[first : last + 1]
            self._take(self._walker.walk(chunk, gripper=fingers), result, found, shift=first - 1)

    def _examine_states(self, episode: Episode, result: EpisodeResult) -> None:
        path, gripper = self.path_of(episode, "state")
        if not len(path):
            raise UnreadableEpisodeError("the episode has no rows")
        result.rows += len(path)
        found: list[RowViolation] = []
        self._take(self._walker.walk(path, gripper=gripper), result, found, shift=0)
        result.findings += merge_rows("state", found)

    def _take(self, walk: Walk, result: EpisodeResult, found: list[RowViolation], *, shift: int) -> None:
        found += [RowViolation(one.row + shift, one.violation) for one in walk.found]
        result.cut_off |= walk.cut_off
        _note_clearance(result, walk.min_clearance_m)
        _note_unchecked(result, walk.unchecked)

    # ---- Age -----------------------------------------------------------------------------------------

    def _stale_rows(self, episode: Episode, rows: Float64, result: EpisodeResult) -> list[RowViolation]:
        """Returns the rows whose state was too old when they were commanded, as the gate evaluates age."""
        if episode.stamps_s is None:
            result.unchecked = sorted({*result.unchecked, "state_age"})
            return []
        ages_s = episode.times_s - episode.stamps_s
        standing = next((row for row in rows if np.isfinite(row).all()), None)
        if standing is None:
            return []

        def rejection(age_s: float) -> Violation | None:
            # Only the age is asked about here, so any configuration will do.
            now_s = self.world.stamp_s if isinstance(self.world, World) else 0.0
            state = RobotState(positions=standing.copy(), stamp_s=now_s - age_s)
            verdict = self.gate.check(
                ActionChunk(standing[np.newaxis]), state=state, world=self.world, now_s=now_s
            )
            for violation in verdict.violations:
                if violation.code == ViolationCode.state_unavailable:
                    return violation
            return None

        # Too old or not is a matter of order, so few have to be asked about.
        rejected = ~np.isfinite(ages_s)
        for side in ((ages_s >= 0.0) & ~rejected, (ages_s < 0.0) & ~rejected):
            rejected[side] = _rejected(ages_s[side], rejection)
        asked = ((int(row), rejection(float(ages_s[row]))) for row in np.flatnonzero(rejected))
        return [RowViolation(row, violation) for row, violation in asked if violation is not None]

    # ---- Recorded chunks -----------------------------------------------------------------------------

    def _examine_chunks(self, episode: Episode, result: EpisodeResult) -> None:
        if any(unit != SI for _, unit in self._options.units):
            raise UnreadableEpisodeError(
                "chunks of a policy are in radians: leave out `--degrees` and `--units`"
            )
        found: list[RowViolation] = []
        for first_row, moment in self.chunk_moments(episode):
            verdict = moment.verdict
            if verdict.accepted:
                _note_clearance(result, verdict.min_clearance_m)
            else:
                violation = verdict.violations[0]
                found.append(RowViolation(first_row + (violation.step or 0), violation))
            if verdict.stage > 8:
                _note_unchecked(result, verdict.unchecked)
            result.rows += len(moment.chunk.rows)
        result.findings += merge_rows("chunk", found)

    def chunk_moments(self, episode: Episode) -> Iterator[tuple[int, "ChunkMoment"]]:
        """Checks every recorded chunk; yields each with the row of the episode that it begins at."""
        first_row = 0
        for recorded in episode.chunks:
            chunk = ActionChunk(
                recorded.rows, mode=recorded.mode, ee_name=recorded.ee_name, frame_id=recorded.frame_id
            )
            state, world = self._state_of(recorded, episode), self._world_at(recorded.sent_s)
            verdict = self.gate.check(chunk, state=state, world=world, now_s=recorded.sent_s)
            yield first_row, ChunkMoment(chunk=chunk, state=state, world=world, verdict=verdict)
            first_row += len(recorded.rows)

    def _state_of(self, chunk: RecordedChunk, episode: Episode) -> RobotState | None:
        if chunk.state is None:
            return None
        joints, gripper = self._pick(chunk.state[np.newaxis], episode.state_names)
        return RobotState(
            positions=joints[0],
            gripper_positions=None if gripper is None else gripper[0],
            stamp_s=chunk.state_stamp_s,
        )

    def _world_at(self, now_s: float) -> World | NoWorld:
        if not isinstance(self.world, World):
            return self.world
        return World(
            primitives=self.world.primitives,
            stamp_s=now_s,
            frame_id=self.world.frame_id,
            world_id=self.world.world_id,
        )

    # ---- Columns -------------------------------------------------------------------------------------

    def _columns(self, table: Float64, names: tuple[str, ...]) -> Columns:
        return match_columns(
            table.shape[1],
            names,
            joint_names=self.gate.joint_names,
            gripper_names=self.gate.gripper_joint_names,
            chosen=self._options.columns,
            joint_map=None if self._options.joint_map is None else dict(self._options.joint_map),
        )

    def _pick(self, table: Float64, names: tuple[str, ...]) -> tuple[Float64, Float64 | None]:
        return self._columns(table, names).pick(
            table, joint_units=self._joint_units, gripper_units=self._gripper_units
        )

    def _require_values_fit(self, table: Float64, names: tuple[str, ...]) -> None:
        columns = self._columns(table, names)
        require_values_fit(
            table[:, columns.joints],
            joints=[self._specs[name] for name in self.gate.joint_names],
            units=self._joint_units,
            degrees=units_of(self.gate, self.gate.joint_names, [("", DEGREES)]),
            by_count=columns.by_count,
        )

    def _note_columns(self, episode: Episode, result: EpisodeResult) -> None:
        """Writes down what the columns leave open: joints told by count alone, and columns that are no joint."""
        unchecked = set(result.unchecked)
        for table, names in ((episode.actions, episode.action_names), (episode.states, episode.state_names)):
            if table is None:
                continue
            columns = self._columns(table, names)
            unchecked |= {"column_names"} if columns.by_count else set()
            unchecked |= {f"column {name}" for name in columns.others}
        result.unchecked = sorted(unchecked)


def _require_equal_lengths(episode: Episode) -> None:
    """Refuses a recording whose tables have different numbers of rows: which of them belong together is unknown."""
    tables = {
        "actions": episode.actions,
        "states": episode.states,
        "times": episode.times_s,
        "stamps": episode.stamps_s,
    }
    counts = {name: len(table) for name, table in tables.items() if table is not None}
    if len(set(counts.values())) > 1:
        spelled = ", ".join(f"{count} {name}" for name, count in counts.items())
        raise UnreadableEpisodeError(f"rows that do not belong together: {spelled}")


def _rejected(ages_s: Float64, rejection: Callable[[float], Violation | None]) -> np.ndarray:
    """Returns which ages, all of one sign, are rejected: with one, all that are farther from zero are."""
    ordered = np.unique(np.abs(ages_s))
    sign = -1.0 if (ages_s < 0.0).any() else 1.0
    low, high = 0, len(ordered)  # those below `low` are accepted, those from `high` on rejected
    while low < high:
        middle = (low + high) // 2
        if rejection(sign * float(ordered[middle])) is None:
            low = middle + 1
        else:
            high = middle
    return np.abs(ages_s) >= (ordered[high] if high < len(ordered) else np.inf)


def _note_clearance(result: EpisodeResult, clearance_m: float | None) -> None:
    if clearance_m is not None and (result.min_clearance_m is None or clearance_m < result.min_clearance_m):
        result.min_clearance_m = clearance_m


def _note_unchecked(result: EpisodeResult, unchecked: Unchecked) -> None:
    names = {flag.name.lower() for flag in unchecked if flag.name}
    result.unchecked = sorted({*result.unchecked, *names})


__all__ = ["AuditPath", "ChunkMoment", "ExamineOptions", "Examiner"]
