# SPDX-License-Identifier: Apache-2.0
"""How old data is, and how it comes into another frame.

What is made of several sources is as old as the oldest of them: one camera that died must not hide behind another that
still sends. A transform is a source too, so that a localiser that stopped ages everything it places.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from lastgate.contracts import Pose6D, ROSConfigError, ROSPerceptionStale
from lastgate.contracts.arrays import Float64
from lastgate.world.finite_numbers import require_finite, require_not_negative
from lastgate.world.grid_layout import require_frame
from lastgate.world.points import Points
from lastgate.world.rigid_motion import composed, inverse, moved, require_rigid_motion


def oldest_stamp_s(stamps_s: Sequence[float]) -> float:
    """Returns the stamp of what is made of all these; none at all, or one that is not finite, is refused."""
    if not len(stamps_s):
        raise ROSConfigError("no stamps: what has no source has no age")
    return min(require_finite(stamp, name=f"stamps_s[{index}]") for index, stamp in enumerate(stamps_s))


def require_fresh(*, name: str, stamp_s: float, now_s: float, age_s_max: float) -> None:
    """Raises `ROSPerceptionStale` unless `stamp_s` is at most `age_s_max` before `now_s`, and not after it.

    A stamp from the future means two clocks, and then no age is known.
    """
    stamp, now = require_finite(stamp_s, name=f"stamp_s of {name}"), require_finite(now_s, name="now_s")
    oldest = require_not_negative(age_s_max, name="age_s_max")
    if not 0.0 <= now - stamp <= oldest:
        raise ROSPerceptionStale(f"{name} is {now - stamp:.4f} s old, allowed 0.0000 to {oldest:.4f} s")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StampedTransform:
    """Places one frame in another, and says when that was measured.

    Attributes:
        child_in_parent: 3 x 4 matrix: turns coordinates of the child frame into coordinates of the parent
            frame.
        parent_frame: The frame that data comes into; empty means the robot's base frame.
        child_frame: The frame that data comes from.
        stamp_s: When it was measured; None only for what cannot move, see `fixed`.

    Raises:
        ROSConfigError: The matrix is not a rigid motion, a stamp is not finite, or both frames are the same.
    """

    child_in_parent: Float64
    parent_frame: str
    child_frame: str
    stamp_s: float | None

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "child_in_parent", require_rigid_motion(self.child_in_parent, name="child_in_parent")
        )
        if require_frame(self.parent_frame) == require_frame(self.child_frame):
            raise ROSConfigError(f"a transform from `{self.child_frame}` into itself places nothing")
        if self.stamp_s is not None:
            object.__setattr__(self, "stamp_s", require_finite(self.stamp_s, name="stamp_s"))

    @classmethod
    def of(
        cls,
        pose: Pose6D | Float64 | Sequence[Sequence[float]],
        *,
        parent_frame: str,
        child_frame: str,
        stamp_s: float,
    ) -> Self:
        """Returns a measured transform from a `Pose6D` or a 3 x 4 or 4 x 4 matrix."""
        return cls(
            child_in_parent=require_rigid_motion(pose, name="pose"),
            parent_frame=parent_frame,
            child_frame=child_frame,
            stamp_s=require_finite(stamp_s, name="stamp_s"),
        )

    @classmethod
    def fixed(
        cls, pose: Pose6D | Float64 | Sequence[Sequence[float]], *, parent_frame: str, child_frame: str
    ) -> Self:
        """Returns a transform that cannot change, like a camera screwed to the base; it never ages data."""
        return cls(
            child_in_parent=require_rigid_motion(pose, name="pose"),
            parent_frame=parent_frame,
            child_frame=child_frame,
            stamp_s=None,
        )

    def aged_stamp_s(self, stamp_s: float) -> float:
        """Returns the stamp of data of that stamp once this transform has placed it."""
        stamp = require_finite(stamp_s, name="stamp_s")
        return stamp if self.stamp_s is None else min(stamp, self.stamp_s)

    def inverted(self) -> Self:
        """Returns the same measurement, read from the other frame."""
        return type(self)(
            child_in_parent=inverse(self.child_in_parent),
            parent_frame=self.child_frame,
            child_frame=self.parent_frame,
            stamp_s=self.stamp_s,
        )

    def after(self, inner: "StampedTransform") -> Self:
        """Returns `inner` followed by this one, as old as the older; a gap between them is refused."""
        if inner.parent_frame != self.child_frame:
            raise ROSConfigError(
                f"the transform into `{inner.parent_frame}` cannot be followed by one from "
                f"`{self.child_frame}`"
            )
        stamps = [stamp for stamp in (self.stamp_s, inner.stamp_s) if stamp is not None]
        return type(self)(
            child_in_parent=composed(self.child_in_parent, inner.child_in_parent),
            parent_frame=self.parent_frame,
            child_frame=inner.child_frame,
            stamp_s=min(stamps) if stamps else None,
        )


def require_transform(
    transform: StampedTransform | None, *, into: str, from_frame: str, what: str
) -> Float64:
    """Returns the matrix from one frame into another; needed unless they are the same frame.

    Raises:
        ROSConfigError: The frames differ and no transform, or one between other frames, is given.
    """
    if transform is None:
        if from_frame != into:
            raise ROSConfigError(
                f"{what} is in frame `{from_frame}`, wanted in `{into}`: pass a StampedTransform from one "
                "into the other"
            )
        return np.eye(3, 4)
    if not isinstance(transform, StampedTransform):
        raise ROSConfigError(
            f"the transform is a {type(transform).__name__}, expected a StampedTransform with its own stamp"
        )
    if (transform.parent_frame, transform.child_frame) != (into, from_frame):
        raise ROSConfigError(
            f"{what} goes from `{from_frame}` into `{into}`, the transform given goes from "
            f"`{transform.child_frame}` "
            f"into `{transform.parent_frame}`"
        )
    return transform.child_in_parent


def points_in_frame(points: Points, transform: StampedTransform) -> Points:
    """Returns a cloud in the transform's parent frame, as old as the older; a wrong frame is refused."""
    motion = require_transform(
        transform, into=transform.parent_frame, from_frame=points.frame_id, what="the cloud"
    )
    return Points(
        xyz=moved(points.xyz, motion),
        stamp_s=transform.aged_stamp_s(points.stamp_s),
        frame_id=transform.parent_frame,
        dropped_count=points.dropped_count,
        declared_empty=points.declared_empty,
    )
