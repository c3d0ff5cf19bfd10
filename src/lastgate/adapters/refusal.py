# SPDX-License-Identifier: Apache-2.0
"""What a wrapper says when the gate refused: an event with the numbers, not an exception, unless one is asked for."""

from dataclasses import dataclass

from lastgate.contracts import RejectedChunkError
from lastgate.verdict import Verdict, Violation


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Refusal:
    """Is one chunk that was not let through.

    Attributes:
        number: Which chunk of the loop it was, from 1.
        now_s: When, on the clock of the loop.
    """

    number: int
    now_s: float
    verdict: Verdict

    @property
    def violation(self) -> Violation:
        """Is the reason, with its numbers."""
        return self.verdict.violations[0]

    @property
    def accepted(self) -> bool:
        """Is False: whoever gets a verdict or a refusal may ask both."""
        return False

    @property
    def code(self) -> str:
        """Is the rule that was broken; `lastgate explain CODE` says what it means."""
        return str(self.violation.code)

    @property
    def sentence(self) -> str:
        """Is what happened, in one sentence with both numbers."""
        return self.violation.sentence()

    def raised(self) -> RejectedChunkError:
        """Returns the exception for loops that ask for one."""
        return RejectedChunkError(f"{self.code}: {self.sentence}")
