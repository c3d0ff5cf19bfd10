# SPDX-License-Identifier: Apache-2.0
"""Limits and margins from recordings: what was seen, what follows from it, and how much of other episodes it covers.

Nothing is applied: what comes out is a diff for a person to read.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import ceil

import numpy as np

from lastgate.contracts import ROSConfigError
from lastgate.contracts.arrays import Float64
from lastgate.robots.kernel_config import capsule_ends
from lastgate.tools.audit.episode import Episode, EpisodeRef, UnreadableEpisodeError
from lastgate.tools.audit.job import OpenAudit
from lastgate.tools.audit.quantile_counter import QuantileCounter

QUANTILES = (0.5, 0.99, 0.999)
# Above what was seen, because the next episode is another one.
HEADROOM = 1.2
# Every so many episodes one is held out; nothing is proposed from it.
HOLD_OUT_EVERY = 5
# Rows of one episode whose links are placed: the displacement of links changes slowly.
PLACED_ROWS_MAX = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class JointProposal:
    """The motion of one joint as recorded, and the limits proposed for it.

    Attributes:
        tracking_error: Quantiles of the distance between a command and where the joint was one row later.
        velocity_limit: Proposed; never above the one that is declared.
        acceleration_limit: Proposed; never above the one that is declared, if one is.
    """

    joint: str
    tracking_error: dict[str, float] | None
    velocity_seen: float
    acceleration_seen: float
    velocity_declared: float | None
    acceleration_declared: float | None
    velocity_limit: float
    acceleration_limit: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """The share of the episodes held out that lies inside the proposal."""

    episodes: int
    rows: int
    velocity: float
    acceleration: float
    margin: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitsReport:
    """The whole proposal.

    Attributes:
        margin_m: Covers how far a link was from where it was commanded, for the share asked for; None without commands.
        unreadable: Episodes that could not be used, with the reason.
    """

    robot: str
    quantile: float
    episodes: int
    rows: int
    joints: list[JointProposal]
    margin_m: float | None
    coverage: Coverage
    unreadable: list[str]


@dataclass(slots=True)
class _Seen:
    error: QuantileCounter
    velocity: QuantileCounter
    acceleration: QuantileCounter
    displacement_m: QuantileCounter


def propose_limits(
    audit: OpenAudit,
    *,
    quantile: float = 0.999,
    on_progress: Callable[[str, float], None] = lambda stage, share: None,
) -> LimitsReport:
    """Reads four fifths of the episodes for the proposal and the rest for its coverage.

    Raises:
        ROSConfigError: Too few episodes, or none of them can be used.
    """
    if not 0.5 <= quantile < 1.0:
        raise ROSConfigError(f"`--quantile` lies between 0.5 and 1: `{quantile:g}`")
    held = [ref for index, ref in enumerate(audit.refs) if index % HOLD_OUT_EVERY == HOLD_OUT_EVERY - 1]
    if not held:
        raise ROSConfigError(
            f"{len(audit.refs)} episodes; at least {HOLD_OUT_EVERY} are needed to hold one out"
        )
    kept = [ref for ref in audit.refs if ref not in held]
    width = audit.examiner.gate.n_dof
    seen = _Seen(QuantileCounter(width), QuantileCounter(width), QuantileCounter(width), QuantileCounter(1))
    unreadable: list[str] = []
    used = rows = 0
    for done, motion in enumerate(_motions(audit, kept, unreadable), start=1):
        used, rows = used + 1, rows + len(motion.states)
        motion.count(seen)
        on_progress("episodes", done / len(audit.refs))
    if not seen.velocity.total:
        raise ROSConfigError(
            f"none of {len(kept)} episodes holds measured positions: {'; '.join(unreadable[:3])}"
        )
    joints = _joint_proposals(audit, seen, quantile)
    margin_m = None
    if seen.displacement_m.total:
        # In whole millimetres, upwards: margins are not measured more finely.
        margin_m = ceil(float(seen.displacement_m.quantile(quantile)[0]) * 1000.0) / 1000.0
    coverage = _coverage(audit, held, joints, margin_m, unreadable)
    return LimitsReport(
        robot=audit.examiner.gate.robot.name,
        quantile=quantile,
        episodes=used,
        rows=rows,
        joints=joints,
        margin_m=margin_m,
        coverage=coverage,
        unreadable=unreadable,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Motion:
    """One episode as positions measured and commanded, (T, n_dof)."""

    audit: OpenAudit
    states: Float64
    commands: Float64 | None

    @property
    def velocity(self) -> Float64:
        return np.diff(self.states, axis=0) / self.audit.step_s

    @property
    def acceleration(self) -> Float64:
        return np.diff(self.velocity, axis=0) / self.audit.step_s

    @property
    def error(self) -> Float64 | None:
        # A command is where the joint is to be one row later.
        return None if self.commands is None else self.states[1:] - self.commands[:-1]

    def displacement_m(self) -> Float64 | None:
        """Returns the largest distance of any volume from where it was commanded, (N, 1)."""
        if self.commands is None or len(self.states) < 2:
            return None
        every = max(1, ceil((len(self.states) - 1) / PLACED_ROWS_MAX))
        reached, wanted = self.states[1::every], self.commands[:-1:every]
        usable = np.isfinite(reached).all(axis=1) & np.isfinite(wanted).all(axis=1)
        if not usable.any():
            return None
        gate = self.audit.examiner.gate
        here = gate.link_poses_batch(np.ascontiguousarray(reached[usable]))
        there = gate.link_poses_batch(np.ascontiguousarray(wanted[usable]))
        largest = np.zeros(int(usable.sum()))
        for volume in gate.robot.collision_geometry:
            apart = here[volume.link_name] - there[volume.link_name]
            for end in np.array(capsule_ends(volume.shape, volume.origin_xyz_rpy)).reshape(-1, 3):
                largest = np.maximum(largest, np.linalg.norm(apart[:, :, :3] @ end + apart[:, :, 3], axis=1))
        return largest[:, np.newaxis]

    def count(self, seen: _Seen) -> None:
        seen.velocity.add(self.velocity)
        seen.acceleration.add(self.acceleration)
        if (error := self.error) is not None:
            seen.error.add(error)
        if (moved := self.displacement_m()) is not None:
            seen.displacement_m.add(moved)


def _motions(audit: OpenAudit, refs: list[EpisodeRef], unreadable: list[str]) -> Iterator[_Motion]:
    for ref in refs:
        try:
            episode = audit.dataset.read(ref)
            states, _ = audit.examiner.path_of(episode, "state")
            commands = _commands(audit, episode)
            if commands is not None and len(commands) != len(states):
                raise UnreadableEpisodeError(f"{len(commands)} rows commanded and {len(states)} measured")
            yield _Motion(audit, states, commands)
        except UnreadableEpisodeError as error:
            unreadable.append(f"{ref.name}: {error}")


def _commands(audit: OpenAudit, episode: Episode) -> Float64 | None:
    if episode.actions is None:
        return None
    path, _ = audit.examiner.path_of(episode, "action")
    return path[1:]


def _joint_proposals(audit: OpenAudit, seen: _Seen, quantile: float) -> list[JointProposal]:
    specs = {joint.name: joint for joint in audit.examiner.gate.robot.joints}
    errors = {f"{share:g}": seen.error.quantile(share) for share in (*QUANTILES, quantile)}
    speeds, pulls = seen.velocity.quantile(quantile), seen.acceleration.quantile(quantile)
    found = []
    for index, name in enumerate(audit.examiner.gate.joint_names):
        speed, pull = float(speeds[index]), float(pulls[index])
        declared = specs[name].velocity_limit, specs[name].acceleration_limit
        found.append(
            JointProposal(
                joint=name,
                tracking_error={share: float(values[index]) for share, values in errors.items()}
                if seen.error.total
                else None,
                velocity_seen=speed,
                acceleration_seen=pull,
                velocity_declared=declared[0],
                acceleration_declared=declared[1],
                velocity_limit=_proposed(speed, declared[0]),
                acceleration_limit=_proposed(pull, declared[1]),
            )
        )
    return found


def _proposed(seen: float, declared: float | None) -> float:
    """Returns what was seen with headroom, to three digits; recordings never loosen a declared limit."""
    wanted = float(f"{max(seen * HEADROOM, 1.0e-3):.3g}")
    return wanted if declared is None else min(wanted, declared)


def _coverage(
    audit: OpenAudit,
    held: list[EpisodeRef],
    joints: list[JointProposal],
    margin_m: float | None,
    unreadable: list[str],
) -> Coverage:
    speeds = np.array([joint.velocity_limit for joint in joints])
    pulls = np.array([joint.acceleration_limit for joint in joints])
    inside: dict[str, list[int]] = {"velocity": [0, 0], "acceleration": [0, 0], "margin": [0, 0]}
    episodes = rows = 0

    def count(what: str, sizes: Float64, limits: Float64) -> None:
        # Asked as "inside?": a NaN is not covered.
        inside[what][0] += int(np.all(sizes <= limits, axis=1).sum())
        inside[what][1] += len(sizes)

    for motion in _motions(audit, held, unreadable):
        episodes, rows = episodes + 1, rows + len(motion.states)
        count("velocity", np.abs(motion.velocity), speeds)
        count("acceleration", np.abs(motion.acceleration), pulls)
        moved = motion.displacement_m()
        if margin_m is not None and moved is not None:
            count("margin", moved, np.array([margin_m]))

    def share(what: str) -> float:
        return inside[what][0] / inside[what][1] if inside[what][1] else 0.0

    return Coverage(
        episodes=episodes,
        rows=rows,
        velocity=share("velocity"),
        acceleration=share("acceleration"),
        margin=share("margin") if margin_m is not None else None,
    )
