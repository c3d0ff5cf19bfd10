# SPDX-License-Identifier: Apache-2.0
"""Which pairs of names may touch: links of a robot, and links and objects of the world."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from lastgate.contracts import RobotDescription, ROSConfigError

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True, eq=False)
class ResolvedPairs:
    """The matrix for the links of one robot, by index.

    Attributes:
        allowed: bool (links, links), symmetric, true on its diagonal.
        elsewhere: Pairs that name something the robot does not have, such as objects; nothing is dropped.
    """

    allowed: NDArray[np.bool_]
    elsewhere: tuple[Pair, ...]

    def is_allowed(self, a: int, b: int) -> bool:
        """Says whether two links may touch; an index that the robot does not have may not."""
        count = len(self.allowed)
        return bool(0 <= a < count and 0 <= b < count and self.allowed[a, b])

    @property
    def checked_pairs(self) -> tuple[tuple[int, int], ...]:
        """Every pair of links that is left to check, the smaller index first."""
        rows, columns = np.nonzero(np.triu(~self.allowed, k=1))
        return tuple((int(a), int(b)) for a, b in zip(rows, columns, strict=True))


class AllowedCollisionMatrix:
    """A set of unordered pairs of names that may touch; what is not in it may not."""

    def __init__(self, pairs: Sequence[Pair] = ()) -> None:
        self._pairs: set[Pair] = set()
        for a, b in pairs:
            self.allow(a, b)

    @classmethod
    def from_robot(cls, robot: RobotDescription) -> Self:
        """Returns the links that a joint connects and the pairs that the gate of this robot leaves out.

        A pair that the description allows and the gate checks all the same, by hulls, is not among them: a planner
        that let it touch would find clear what the gate rejects.
        """
        if not isinstance(robot, RobotDescription):
            raise ROSConfigError(
                f"robot is a {type(robot).__name__}, expected a RobotDescription: pass `lg.load_robot(...)`"
            )
        connected = [(joint.parent_link, joint.child_link) for joint in robot.joints]
        return cls([*connected, *(pair.links for pair in robot.unchecked_pairs)])

    def allow(self, a: str, b: str) -> None:
        """Lets two names touch, in either order; saying it again changes nothing."""
        self._pairs.add(_pair(a, b))

    def disallow(self, a: str, b: str) -> None:
        """Takes it back; a pair that was not allowed stays so."""
        self._pairs.discard(_pair(a, b))

    def is_allowed(self, a: str, b: str) -> bool:
        """Says whether two names may touch; a name may touch itself."""
        return a == b or _pair(a, b) in self._pairs

    def merge(self, other: "AllowedCollisionMatrix") -> "AllowedCollisionMatrix":
        """Returns what either of them allows; both stay as they are."""
        if not isinstance(other, AllowedCollisionMatrix):
            raise ROSConfigError(f"other is a {type(other).__name__}, expected an AllowedCollisionMatrix")
        return AllowedCollisionMatrix([*self.allowed_pairs, *other.allowed_pairs])

    @property
    def allowed_pairs(self) -> tuple[Pair, ...]:
        """Every pair, in alphabetical order."""
        return tuple(sorted(self._pairs))

    def __len__(self) -> int:
        return len(self._pairs)

    def touched_by(self, name: str) -> frozenset[str]:
        """Returns all that `name` may touch: links and objects alike."""
        return frozenset(b if a == name else a for a, b in self._pairs if name in (a, b))

    def resolve(self, link_names: Sequence[str]) -> ResolvedPairs:
        """Returns the pairs by the index of each link; what is no link of these is listed in `elsewhere`."""
        index = {name: at for at, name in enumerate(link_names)}
        if len(index) != len(link_names):
            raise ROSConfigError("a link is named twice, so its index is not known")
        allowed = np.eye(len(link_names), dtype=np.bool_)
        elsewhere = []
        for a, b in self.allowed_pairs:
            if a in index and b in index:
                allowed[index[a], index[b]] = allowed[index[b], index[a]] = True
            else:
                elsewhere.append((a, b))
        allowed.flags.writeable = False
        return ResolvedPairs(allowed, tuple(elsewhere))


def _pair(a: str, b: str) -> Pair:
    for name in (a, b):
        if not isinstance(name, str) or not name:
            raise ROSConfigError(f"a pair is made of two names, got {a!r} and {b!r}")
    if a == b:
        raise ROSConfigError(f"`{a}` with itself is no pair: a link is never compared with itself")
    first, second = sorted((a, b))
    return first, second
