# SPDX-License-Identifier: Apache-2.0
"""Takes away from a rejected case whatever is not needed for the rejection."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from lastgate.contracts import ControlMode, ROSConfigError, WorldCollisionPrimitive, Zone
from lastgate.contracts.action import ActionChunk, RobotState
from lastgate.contracts.arrays import Float64
from lastgate.contracts.attached_shape import AttachedShape
from lastgate.gate import Gate
from lastgate.gate.declared_contact import DeclaredContact
from lastgate.gate.verdict import Verdict, Violation
from lastgate.tools.telemetry.recording_reader import RecordedCheck
from lastgate.world import NO_WORLD, NoWorld, Points, Voxels, World

# Checks one case may take: a few seconds at the price of a world each.
TRIES_MAX = 4000

_POSITION_ROWS = {ControlMode.JOINT_POSITION, ControlMode.JOINT_TRAJECTORY, ControlMode.DEX_HAND_JOINT}


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldParts:
    """A world taken apart; None for a list that was not given."""

    primitives: tuple[WorldCollisionPrimitive, ...] | None
    zones: tuple[Zone, ...]
    voxels: Voxels | None
    points: Points | None
    stamp_s: float
    frame_id: str
    world_id: str

    def world(self) -> World:
        """Returns the world that the parts make."""
        return World(
            primitives=self.primitives,
            zones=self.zones,
            voxels=self.voxels,
            points=self.points,
            stamp_s=self.stamp_s,
            frame_id=self.frame_id,
            world_id=self.world_id,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallCase:
    """A rejected case; `shrink` makes it smaller."""

    chunk: ActionChunk
    state: RobotState | None
    world: WorldParts | NoWorld | None
    now_s: float
    recovery: bool
    held: tuple[tuple[int, AttachedShape], ...]
    contacts: tuple[DeclaredContact, ...]

    def check(self, gate: Gate) -> Verdict:
        """Asks the gate about it."""
        if gate.attached_shapes != self.held:
            gate.hold(self.held)
        world = self.world.world() if isinstance(self.world, WorldParts) else self.world
        return gate.check(
            self.chunk,
            state=self.state,
            world=world,
            now_s=self.now_s,
            recovery=self.recovery,
            declared_contacts=self.contacts,
        )


def shrink(check: RecordedCheck, gate: Gate, *, tries_max: int = TRIES_MAX) -> tuple[SmallCase, Violation]:
    """Returns the smallest case found that is rejected by the same rule for the same pair, and its violation.

    Raises:
        ROSConfigError: The check was accepted, cannot be repeated, or depends on an occupancy map.
    """
    if check.accepted:
        raise ROSConfigError(f"check {check.number} was accepted: there is nothing to shrink")
    verdict = check.run(gate)
    case = _case_of(check)
    return _Shrinker(gate, verdict.violations[0], tries_max).smallest(case)


def _case_of(check: RecordedCheck) -> SmallCase:
    assert check.chunk is not None  # `run` has refused it otherwise
    world: WorldParts | NoWorld | None = None
    if isinstance(check.world, NoWorld):
        world = NO_WORLD
    elif check.world is not None:
        obstacles = check.world.obstacles
        world = WorldParts(
            primitives=obstacles if check.world.is_filled else None,
            zones=tuple(
                Zone(name=zone.object_id or "zone", shape=zone.shape, pose=zone.pose)
                for zone in check.world.primitives[len(obstacles) :]
            ),
            voxels=check.world.voxels,
            points=check.world.points,
            stamp_s=check.world.stamp_s,
            frame_id=check.world.frame_id,
            world_id=check.world.world_id,
        )
    return SmallCase(
        chunk=check.chunk,
        state=check.state,
        world=world,
        now_s=check.now_s,
        recovery=check.recovery,
        held=check.held,
        contacts=check.contacts,
    )


class _Shrinker:
    def __init__(self, gate: Gate, wanted: Violation, tries_max: int) -> None:
        self._gate = gate
        self._wanted = wanted
        self._tries_left = tries_max

    def smallest(self, case: SmallCase) -> tuple[SmallCase, Violation]:
        if self._rejection(case) is None:
            raise ROSConfigError(
                "the case is not rejected once it is taken apart: an occupancy map cannot be shrunk"
            )
        for step in (
            self._without_world,
            self._with_few_obstacles,
            self._with_few_points,
            self._with_few_voxels,
            self._without_extras,
            self._with_few_rows,
            self._with_round_numbers,
        ):
            case = step(case)
        violation = self._rejection(case, counted=False)
        assert violation is not None  # every step keeps it
        return case, violation

    def _rejection(self, case: SmallCase, *, counted: bool = True) -> Violation | None:
        """Returns the violation if the case is still rejected by the same rule for the same pair."""
        if counted:
            if self._tries_left <= 0:
                return None
            self._tries_left -= 1
        try:
            verdict = case.check(self._gate)
        except ROSConfigError:
            return None
        if verdict.accepted:
            return None
        found, wanted = verdict.violations[0], self._wanted
        same = (found.code, found.subject, _kind_of(found.against)) == (
            wanted.code,
            wanted.subject,
            _kind_of(wanted.against),
        )
        return found if same else None

    def _first(self, case: SmallCase, *smaller: SmallCase) -> SmallCase:
        return next((candidate for candidate in smaller if self._rejection(candidate) is not None), case)

    def _without_world(self, case: SmallCase) -> SmallCase:
        if not isinstance(case.world, WorldParts):
            return case
        case = self._first(case, replace(case, world=NO_WORLD))
        for name in ("voxels", "points", "zones"):
            if isinstance(case.world, WorldParts):
                nothing = () if name == "zones" else None
                case = self._first(case, replace(case, world=replace(case.world, **{name: nothing})))
        return case

    def _with_few_obstacles(self, case: SmallCase) -> SmallCase:
        if not isinstance(case.world, WorldParts) or not case.world.primitives:
            return case
        world = case.world
        blamed = [p for p in world.primitives or () if p.object_id == self._wanted.against]

        def with_these(kept: Sequence[WorldCollisionPrimitive]) -> SmallCase:
            return replace(case, world=replace(world, primitives=tuple(kept)))

        for guess in ([], blamed):
            if self._rejection(with_these(guess)) is not None:
                return with_these(guess)
        return with_these(self._fewest(world.primitives or (), with_these))

    def _with_few_points(self, case: SmallCase) -> SmallCase:
        if not isinstance(case.world, WorldParts) or case.world.points is None:
            return case
        world, cloud = case.world, case.world.points

        def with_these(kept: Sequence[int]) -> SmallCase:
            chosen = np.zeros(len(cloud), dtype=bool)
            chosen[list(kept)] = True
            return replace(case, world=replace(world, points=cloud.keeping(chosen)))

        blamed = _index_in(self._wanted.against, "point_")
        if blamed is not None and self._rejection(with_these([blamed])) is not None:
            return with_these([blamed])
        return with_these(self._fewest(range(len(cloud)), with_these))

    def _with_few_voxels(self, case: SmallCase) -> SmallCase:
        if not isinstance(case.world, WorldParts) or case.world.voxels is None:
            return case
        world, grid = case.world, case.world.voxels
        case = self._first(case, replace(case, world=replace(world, voxels=replace(grid, outside="free"))))
        assert isinstance(case.world, WorldParts)
        world, grid = case.world, case.world.voxels
        assert grid is not None
        flat = grid.message_occupancy()

        def with_these(kept: Sequence[int]) -> SmallCase:
            voxel_indices = np.zeros_like(flat)
            voxel_indices[list(kept)] = flat[list(kept)]
            occupancy = voxel_indices.reshape(grid.occupancy.shape)
            return replace(case, world=replace(world, voxels=replace(grid, occupancy=occupancy)))

        blamed = _index_in(self._wanted.against, "voxel_")
        if blamed is not None and self._rejection(with_these([blamed])) is not None:
            return with_these([blamed])
        return with_these(self._fewest(np.flatnonzero(flat).tolist(), with_these))

    def _without_extras(self, case: SmallCase) -> SmallCase:
        case = self._first(case, replace(case, held=()))
        case = self._first(case, replace(case, contacts=()))
        case = self._first(case, replace(case, recovery=False))
        for name in ("velocities", "gripper_positions", "stamps_s"):
            if case.state is not None and getattr(case.state, name) is not None:
                case = self._first(case, replace(case, state=replace(case.state, **{name: None})))
        return case

    def _with_few_rows(self, case: SmallCase) -> SmallCase:
        chunk = case.chunk
        step = self._wanted.step
        if step is not None:
            case = self._first(case, replace(case, chunk=replace(chunk, rows=chunk.rows[: step + 1])))
        rows = case.chunk.rows
        if case.chunk.mode in _POSITION_ROWS and case.state is not None and len(rows) > 1:
            # The robot might as well have stood where the step before the last leads it.
            at_row = replace(case.state, positions=rows[-2])
            case = self._first(case, replace(case, chunk=replace(case.chunk, rows=rows[-1:]), state=at_row))
        rows = case.chunk.rows

        def with_these(kept: Sequence[int]) -> SmallCase:
            return replace(case, chunk=replace(case.chunk, rows=np.ascontiguousarray(rows[list(kept)])))

        return with_these(self._fewest(range(len(rows)), with_these))

    def _with_round_numbers(self, case: SmallCase) -> SmallCase:
        def rounded(values: Float64, digits: int) -> Float64:
            return np.round(values, digits) + 0.0

        for digits in range(1, 9):
            rows = rounded(case.chunk.rows, digits)
            smaller = replace(case, chunk=replace(case.chunk, rows=rows))
            if case.state is not None:
                smaller = replace(
                    smaller, state=replace(case.state, positions=rounded(case.state.positions, digits))
                )
            if self._rejection(smaller) is not None:
                return smaller
        return case

    def _fewest(self, items: Sequence, with_these: Callable[[Sequence], SmallCase]) -> list:
        """Returns items of which none can be left out, by trying to leave out ever smaller parts of them."""
        kept = list(items)
        part = max(len(kept) // 2, 1)
        while kept:
            begin = 0
            while begin < len(kept):
                fewer = kept[:begin] + kept[begin + part :]
                if self._rejection(with_these(fewer)) is not None:
                    kept = fewer
                else:
                    begin += part
            if part == 1:
                break
            part = max(part // 2, 1)
        return kept


def _kind_of(against: str) -> str:
    """Returns a name without its number: a voxel or point has another once others are gone."""
    for prefix in ("voxel_", "point_", "world_"):
        if _index_in(against, prefix) is not None:
            return prefix
    return against


def _index_in(name: str, prefix: str) -> int | None:
    number = name.removeprefix(prefix)
    return int(number) if name.startswith(prefix) and number.isascii() and number.isdigit() else None
