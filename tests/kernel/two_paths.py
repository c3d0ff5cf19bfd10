# SPDX-License-Identifier: Apache-2.0
"""One robot behind both channels: the gate in this process and a kernel of its own, held to one answer."""

import re
import time

import numpy as np
import ros_messages as ros

import lastgate as lg
from lastgate import _core

# All that a verdict says but its ages, which are times, and the number of the snapshot, which each side counts.
_OF_VERDICT = (
    "accepted",
    "stage",
    "certified_rows",
    "min_clearance_m",
    "unchecked",
    "recovery",
    "contacts_used",
)
_OF_VIOLATION = (
    "code",
    "step",
    "subject",
    "against",
    "value",
    "limit_min",
    "limit_max",
    "unit",
    "segment_t",
    "witness_a",
    "witness_b",
)
# Ages are measured when somebody looks, so they differ between two who look one after the other.
_AGES = ("state_unavailable", "world_unavailable")
_AGE = re.compile(r"-?\d+\.\d+ s old")


def _is_same(a, b) -> bool:
    # A rejection has no clearance and a NaN may be what it is about: here NaN is NaN.
    return repr(a) == repr(b)


class TwoPaths:
    """Asks a `Gate` and a `KernelClient` of one robot the same, and requires the same answer."""

    def __init__(self, start_kernel, manifest, *, rate_hz: float = 10.0, **settings) -> None:
        settings = {"on_violation": "hold", "on_stale": "drop"} | settings
        self.kernel = start_kernel(manifest, rate_hz=rate_hz, **settings)
        self.gate = lg.Gate(self.kernel.robot, step_s=1.0 / rate_hz)
        self.passed = _core.RingReader(self.kernel.instance, "safe_actions")
        self.failures = _core.RingReader(self.kernel.instance, "failures")
        self.accepted = 0
        self.rejected = 0

    def check(
        self,
        rows,
        mode=lg.ControlMode.JOINT_POSITION,
        *,
        at=None,
        world=lg.NO_WORLD,
        recovery=False,
        declared_contacts=(),
    ) -> lg.Verdict:
        """Returns the verdict that both gave."""
        chunk = (
            rows if isinstance(rows, lg.ActionChunk) else lg.ActionChunk(np.asarray(rows, float), mode=mode)
        )
        now_s = time.time()
        positions = np.zeros(self.gate.n_dof) if at is None else np.asarray(at, dtype=np.float64)
        ours = self.gate.check(
            chunk,
            state=lg.RobotState(positions=positions, stamp_s=now_s),
            world=world,
            now_s=now_s,
            recovery=recovery,
            declared_contacts=declared_contacts,
        )
        self.kernel.publish_world(world)
        self.kernel.observe(positions, stamp_s=now_s)
        theirs = self.kernel.submit(chunk, recovery=recovery, declared_contacts=declared_contacts)
        self.require_same(ours, theirs, at_the_ring=_core.MessageType.action_chunk)
        return theirs

    def drive(self, twist, *, at=None, world=lg.NO_WORLD) -> lg.Verdict:
        """Returns the verdict on a twist, which the gate is asked about as a chunk of one row."""
        now_s = time.time()
        positions = np.zeros(self.gate.n_dof) if at is None else np.asarray(at, dtype=np.float64)
        chunk = lg.ActionChunk(np.array([twist], dtype=np.float64), mode=lg.ControlMode.BODY_TWIST)
        state = lg.RobotState(positions=positions, stamp_s=now_s)
        ours = self.gate.check(chunk, state=state, world=world, now_s=now_s)
        self.kernel.publish_world(world)
        self.kernel.observe(positions, stamp_s=now_s)
        theirs = self.kernel.submit_twist(twist)
        self.require_same(ours, theirs, at_the_ring=_core.MessageType.twist)
        return theirs

    def attach(self, *arguments, **options) -> None:
        """Makes both hold something."""
        self.gate.attach(*arguments, **options)
        self.kernel.attach(*arguments, **options)

    def detach(self, object_id: str) -> None:
        """Makes both let go."""
        self.gate.detach(object_id)
        self.kernel.detach(object_id)

    def require_same(self, ours: lg.Verdict, theirs: lg.Verdict, *, at_the_ring: int) -> None:
        """Requires one verdict, and of the kernel that it acted on it: passed, or reported with the same evidence."""
        for name in _OF_VERDICT:
            a, b = getattr(theirs, name), getattr(ours, name)
            assert _is_same(a, b), (name, theirs.explain(), ours.explain())
        message = self.passed.read(0.0)
        assert (message is not None) == ours.accepted
        if ours.accepted:
            self.accepted += 1
            assert self.passed.last_type == at_the_ring
            return
        self.rejected += 1
        (a,), (b,) = theirs.violations, ours.violations
        skipped = ("value",) if str(b.code) in _AGES else ()
        for name in _OF_VIOLATION:
            assert name in skipped or _is_same(getattr(a, name), getattr(b, name)), (name, theirs.explain())
        failure = self.failures.read(1.0)
        assert failure is not None
        said = ros.from_bytes(failure[3], "openral_msgs/msg/FailureTrigger")
        evidence = lg.read_evidence(said.evidence_json).model_dump(exclude={"world_age_s"})
        wanted = b.evidence().model_dump(exclude={"world_age_s"})
        if str(b.code) in _AGES:
            evidence["detail"], wanted["detail"] = (
                _AGE.sub("age", told["detail"]) for told in (evidence, wanted)
            )
        assert evidence == wanted
