# SPDX-License-Identifier: Apache-2.0
"""The answer of the gate, in names and words. Python adds names to a verdict; it never changes one."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntFlag
from typing import Literal, NoReturn, Self

from lastgate import _core
from lastgate.contracts import (
    CATALOGUE,
    FailureEvidence,
    FailureKind,
    RejectedChunkError,
    ViolationCode,
    read_evidence,
    violation_code_of,
)
from lastgate.contracts.action import ActionChunk
from lastgate.contracts.arrays import Float64, immutable


class Unchecked(IntFlag):
    """Names what a verdict did not check, because nothing was declared or given for it."""

    WORLD = _core.Unchecked.world.value
    JOINT_ACCELERATION = _core.Unchecked.joint_acceleration.value
    INITIAL_ACCELERATION = _core.Unchecked.initial_acceleration.value
    WORKSPACE_BOX = _core.Unchecked.workspace_box.value
    EE_SPEED = _core.Unchecked.ee_speed.value
    EE_ACCELERATION = _core.Unchecked.ee_acceleration.value
    GRIPPER_STATE = _core.Unchecked.gripper_state.value
    EE_ANGULAR_SPEED = _core.Unchecked.ee_angular_speed.value
    FLOOR_MAP = _core.Unchecked.floor_map.value
    JOINT_VELOCITIES = _core.Unchecked.joint_velocities.value
    STOP = _core.Unchecked.stop.value
    WORLD_AGE = _core.Unchecked.world_age.value
    UNPROVED_VOLUMES = _core.Unchecked.unproved_volumes.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """The reason a chunk was rejected, with the numbers that prove it.

    Attributes:
        code: Which rule was broken; `lastgate explain CODE` says what it means.
        step: Step of the chunk, from 0, that breaks it or that the motion leads to; None where no step is to blame.
        subject: The joint, end effector, link or attached object, by name.
        against: The other link, the obstacle or the zone; empty where there is none.
        value: What the chunk asks for, in `unit`.
        limit_min, limit_max: What the rule allows.
        detail: What the numbers do not say.
        segment_t: Where between the previous step (0) and this one (1) `value` was found.
        first_contact_t: Not later than the first violating instant of that segment.
        witness_a, witness_b: The nearest points, in the base frame.
        collision_kind: `self` or `world` for a collision, None otherwise.
    """

    code: ViolationCode
    step: int | None
    subject: str
    against: str
    value: float
    limit_min: float
    limit_max: float
    unit: str
    detail: str
    segment_t: float | None = None
    first_contact_t: float | None = None
    witness_a: tuple[float, float, float] | None = None
    witness_b: tuple[float, float, float] | None = None
    world_id: str = ""
    world_age_s: float | None = None
    measured_xyz: tuple[float, float, float] | None = None
    box: tuple[tuple[float, float, float], tuple[float, float, float]] | None = None
    collision_kind: Literal["self", "world"] | None = None

    @property
    def kind(self) -> FailureKind:
        """Kind under which the violation is reported."""
        return CATALOGUE[self.code].kind

    @property
    def limit(self) -> float:
        """Bound that was crossed: the lower one when the value is below it, else the upper one."""
        return self.limit_min if self.value < self.limit_min else self.limit_max

    def __str__(self) -> str:
        return f"{self.code}: {self.sentence()}"

    def sentence(self) -> str:
        """Returns what happened in one sentence with both numbers."""
        return self._named().sentence()

    def evidence(self) -> FailureEvidence:
        """Returns the evidence a `FailureTrigger` carries for this violation."""
        return read_evidence(self._named().evidence_json())

    @classmethod
    def of(cls, named: _core.NamedViolation) -> Self:
        """Returns a violation as the core names it."""
        return cls(
            code=violation_code_of(named.code),
            step=named.step,
            subject=named.subject,
            against=named.against,
            value=named.value,
            limit_min=named.limit_min,
            limit_max=named.limit_max,
            unit=named.unit,
            detail=named.detail,
            segment_t=named.segment_t,
            first_contact_t=named.first_contact_t,
            witness_a=named.witness_a,
            witness_b=named.witness_b,
            world_id=named.world_id,
            world_age_s=named.world_age_s,
            measured_xyz=named.measured_xyz,
            box=named.box,
            collision_kind=_COLLISION_WORDS[named.collision_kind],
        )

    def _named(self) -> _core.NamedViolation:
        return _core.NamedViolation(
            code=_core.ViolationCode(self.code.number),
            step=self.step,
            subject=self.subject,
            against=self.against,
            value=self.value,
            limit_min=self.limit_min,
            limit_max=self.limit_max,
            unit=self.unit,
            detail=self.detail,
            segment_t=self.segment_t,
            witness_a=self.witness_a,
            witness_b=self.witness_b,
            world_id=self.world_id,
            world_age_s=self.world_age_s,
            measured_xyz=self.measured_xyz,
            box=self.box,
            collision_kind=_COLLISION_KINDS[self.collision_kind],
        )


_COLLISION_WORDS: dict[_core.CollisionKind, Literal["self", "world"] | None] = {
    _core.CollisionKind.nothing: None,
    _core.CollisionKind.self: "self",
    _core.CollisionKind.world: "world",
}
_COLLISION_KINDS = {word: kind for kind, word in _COLLISION_WORDS.items()}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CertifiedStop:
    """The declared stop from every instant of an accepted chunk, as `Verdict` gives it out."""

    time_s: float
    distance: Float64
    path: Float64


class Verdict:
    """The answer to one check.

    It has no truth value: read `accepted`. What may be executed is `verdict.chunk`, or `verdict.joint_rows` for a
    program that drives joints; both raise `RejectedChunkError` unless the chunk was accepted, and neither can be
    changed. No attribute can be set, and a verdict can neither be copied nor pickled: what drives a robot asks
    `Gate.claim`, which answers once for each.

    Attributes:
        world_id: The world it was checked in; empty without one.
        model_digest: SHA-256 of the flat config of the gate that decided.
        contacts_used: Names of the declared contacts without which this chunk would have been rejected.
        stop_time_s: The longest stop from any instant of an accepted chunk, from the moment it is asked for until the
            robot rests; None where no stop was certified, and on a verdict that a kernel sent.
        stop_distance: How far each joint of a step still travels at most in such a stop; None likewise.
    """

    __slots__ = (
        "__weakref__",
        "_chunk",
        "_joint_rows",
        "_native",
        "_path",
        "_stop_path",
        "_violation",
        "contacts_used",
        "model_digest",
        "stop_distance",
        "stop_time_s",
        "world_id",
    )

    world_id: str
    model_digest: str
    contacts_used: tuple[str, ...]
    stop_time_s: float | None
    stop_distance: Float64 | None

    def __init__(
        self,
        *,
        native: _core.Verdict,
        chunk: ActionChunk,
        violation: Violation | None,
        joint_rows: Float64,
        world_id: str,
        model_digest: str,
        contacts_used: tuple[str, ...] = (),
        path: Float64 | None = None,
        stop: CertifiedStop | None = None,
    ) -> None:
        if hasattr(self, "_native"):
            raise AttributeError("a Verdict is made once")
        put = object.__setattr__
        put(self, "_chunk", chunk)
        put(self, "_violation", violation)
        put(self, "_joint_rows", immutable(joint_rows))
        put(self, "_path", None if path is None else immutable(path))
        put(self, "_stop_path", None if stop is None else immutable(stop.path))
        put(self, "stop_time_s", None if stop is None else stop.time_s)
        put(self, "stop_distance", None if stop is None else immutable(stop.distance))
        put(self, "world_id", world_id)
        put(self, "model_digest", model_digest)
        put(self, "contacts_used", contacts_used)
        put(self, "_native", native)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Verdict cannot be changed: `{name}` cannot be set")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a Verdict cannot be changed: `{name}` cannot be deleted")

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a Verdict can neither be copied nor pickled: it counts once, where it was made")

    @property
    def accepted(self) -> bool:
        """True if every check was certified; the only answer that permits motion."""
        return self._native.accepted

    @property
    def chunk(self) -> ActionChunk:
        """The chunk that was checked, byte for byte; reading it on a rejection raises `RejectedChunkError`."""
        self._require_accepted()
        return self._chunk

    @property
    def joint_rows(self) -> Float64:
        """The checked motion as joint positions, (steps, n_dof), in every mode that moves joints; immutable.

        Empty on a verdict that a kernel sent. Reading it on a rejection raises `RejectedChunkError`.
        """
        self._require_accepted()
        return self._joint_rows

    @property
    def path(self) -> Float64 | None:
        """Every variable of the gate, as `Gate.link_poses_on_path` reads it: the measured state, then each step.

        With a running motion, what that still does comes before the steps.

        Immutable; None on a verdict that a kernel sent. Reading it on a rejection raises `RejectedChunkError`.
        """
        self._require_accepted()
        return self._path

    @property
    def stop_certified(self) -> bool:
        """True if the declared stop was certified from every instant of an accepted chunk."""
        return self._native.stop_certified

    @property
    def stop_path(self) -> Float64 | None:
        """What only a stop along the path may need: the last step, then on beyond it, every variable of the gate.

        Immutable; None where no stop was certified, and on a verdict that a kernel sent. Reading it on a rejection
        raises `RejectedChunkError`.
        """
        self._require_accepted()
        return self._stop_path

    def _require_accepted(self) -> None:
        if not self.accepted:
            raise RejectedChunkError(f"the chunk was rejected and must not be executed: {self._violation}")

    @property
    def violations(self) -> Sequence[Violation]:
        """First offender of the first failing stage, or nothing."""
        return () if self._violation is None else (self._violation,)

    @property
    def min_clearance_m(self) -> float:
        """Lower bound of the smallest distance minus margin over the path and its stop; NaN on a rejection."""
        return self._native.min_clearance_m if self.accepted else float("nan")

    @property
    def certified_rows(self) -> int:
        """Number of steps, from the first, that were certified clear; where a stop is declared, with theirs."""
        return self._native.certified_rows

    @property
    def stage(self) -> int:
        """Stage of the validation order that decided; 12 when all passed."""
        return self._native.stage

    @property
    def evaluations(self) -> int:
        """Number of configurations that were checked."""
        return self._native.evaluations

    @property
    def recovery(self) -> bool:
        """True if the chunk was accepted under the recovery rule."""
        return self._native.recovery

    @property
    def unchecked(self) -> Unchecked:
        """Names what was not checked."""
        return Unchecked(self._native.unchecked)

    @property
    def native(self) -> _core.Verdict:
        """The core's verdict, numbers only."""
        return self._native

    def to_bytes(self) -> bytes:
        """Returns the core's verdict as it is recorded and compared."""
        return self._native.to_bytes()

    def __bool__(self) -> bool:
        raise TypeError("a Verdict has no truth value; read verdict.accepted")

    def __repr__(self) -> str:
        return f"<Verdict {'accepted' if self.accepted else f'rejected: {self._violation}'}>"

    def explain(self) -> str:
        """Returns one paragraph that says what was decided, by which numbers, and what to do."""
        rows = len(self._chunk.rows)
        left_out = ", ".join(flag.name.lower() for flag in self.unchecked if flag.name)
        left_out = f" Not checked: {left_out}." if left_out else ""
        if self._violation is None:
            contact = (
                f" Declared contact used: {', '.join(self.contacts_used)}; there the margin was touching."
                if self.contacts_used
                else ""
            )
            return (
                f"Accepted: from the measured state through all {rows} steps every checked pair keeps at least "
                f"{self.min_clearance_m:.4f} m beyond its margin at every instant (world {self.world_id}, "
                f"{self.evaluations} configurations checked).{contact}{left_out}"
            )
        world = f"World {self.world_id}." if self.world_id else "No world was given."
        advice = CATALOGUE[self._violation.code].what_to_do
        prefix = (
            f" The first {self.certified_rows} of {rows} steps were certified clear."
            if self.certified_rows
            else ""
        )
        return (
            f"Rejected, {self._violation.code}: {self._violation.sentence()}.{prefix} "
            f"{world}{left_out} What to do: {advice}"
        )


def path_to_draw(verdict: Verdict) -> Float64 | None:
    """Returns the path of a verdict, also of a rejected one as far as there is one, for pictures of it.

    Nothing that moves a robot may call this, and a test lists the callers.
    """
    return verdict._path


def joint_rows_to_draw(verdict: Verdict) -> Float64:
    """Returns the joint steps of a verdict, also of a rejected one, with the same restriction as `path_to_draw`."""
    return verdict._joint_rows
