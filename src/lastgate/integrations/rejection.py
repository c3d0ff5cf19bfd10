# SPDX-License-Identifier: Apache-2.0
"""What a wrapper says when nothing moves: an event with the numbers, not an exception, unless one is asked for."""

from dataclasses import dataclass, replace

import numpy as np

from lastgate import _core
from lastgate.contracts import RejectedChunkError
from lastgate.contracts.action import ActionChunk
from lastgate.contracts.renamed_names import getattr_of_renamed
from lastgate.gate import Gate
from lastgate.gate.verdict import Verdict, Violation

__getattr__ = getattr_of_renamed(__name__)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rejection:
    """One chunk that the gate rejected.

    Attributes:
        number: Which chunk of the loop it was, from 1.
        now_s: When, on the clock of the loop.
    """

    number: int
    now_s: float
    verdict: Verdict

    @property
    def violation(self) -> Violation:
        """Reason of the rejection, with its numbers."""
        return self.verdict.violations[0]

    @property
    def accepted(self) -> bool:
        """Always False, so that a caller may read it of a verdict and of a rejection alike."""
        return False

    @property
    def code(self) -> str:
        """Code of the rule that was broken; `lastgate explain CODE` says what it means."""
        return str(self.violation.code)

    @property
    def sentence(self) -> str:
        """One sentence about what happened, with both numbers."""
        return self.violation.sentence()

    def raised(self) -> RejectedChunkError:
        """Returns the exception for loops that ask for one."""
        return RejectedChunkError(f"{self.code}: {self.sentence}")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NotExecuted:
    """One chunk that the gate accepted and that cannot be executed as it was checked.

    Attributes:
        number: Which chunk of the loop it was, from 1.
        now_s: When, on the clock of the loop.
        sentence: What is not as it was checked.
    """

    number: int
    now_s: float
    verdict: Verdict
    sentence: str

    @property
    def accepted(self) -> bool:
        """False: nothing of the chunk is executed."""
        return False

    @property
    def code(self) -> str:
        """The word `not_executed`, which is no rule of the gate."""
        return "not_executed"

    def raised(self) -> RejectedChunkError:
        """Returns the exception for loops that ask for one."""
        return RejectedChunkError(f"{self.code}: {self.sentence}")


def unchecked_verdict(gate: Gate, why: str) -> Verdict:
    """Returns the rejection of an action that cannot be given to the gate: a verdict that no check filled in."""
    chunk = ActionChunk(np.full((1, gate.n_dof), np.nan))
    native = _core.Verdict()
    violation = replace(gate.name_violation(native, chunk=chunk, world=None), detail=why)
    return Verdict(
        native=native,
        chunk=chunk,
        violation=violation,
        joint_rows=np.empty((0, gate.n_dof)),
        world_id="",
        model_digest=gate.model_digest,
    )
