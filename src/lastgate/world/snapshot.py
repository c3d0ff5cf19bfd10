# SPDX-License-Identifier: Apache-2.0
"""A world snapshot: built once, outside the control loop, and then read by checks without waiting or copying."""

import itertools
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from lastgate import _core
from lastgate.action import require_number
from lastgate.contracts import ROSConfigError, WorldCollisionPrimitive
from lastgate.kernel_config import SHAPE_KIND, shape_size_m

_snapshot_numbers = itertools.count(1)


class World:
    """Is the world at one time, in the robot's base frame.

    Args:
        primitives: The obstacles. None at all is a statement that the space is empty.
        stamp_s: When the source saw it; checks compare it with their `now_s`.
        frame_id: The frame the poses are in; empty means the robot's base frame, any other name makes
            the gate call this world unavailable.
        world_id: Shown in verdicts; `world-1`, `world-2`, … when not given.

    Raises:
        ROSConfigError: A primitive is not a `WorldCollisionPrimitive`, or its pose names another frame.
    """

    def __init__(
        self,
        *,
        primitives: Sequence[WorldCollisionPrimitive] = (),
        stamp_s: float,
        frame_id: str = "",
        world_id: str | None = None,
    ) -> None:
        self.primitives = tuple(primitives)
        self.stamp_s = require_number(stamp_s, name="stamp_s")
        self.frame_id = frame_id
        self.number = next(_snapshot_numbers)
        self.world_id = f"world-{self.number}" if world_id is None else world_id
        for index, primitive in enumerate(self.primitives):
            if not isinstance(primitive, WorldCollisionPrimitive):
                raise ROSConfigError(
                    f"primitives[{index}] is a {type(primitive).__name__}, expected a WorldCollisionPrimitive"
                )
            if primitive.pose.frame_id not in ("", frame_id):
                raise ROSConfigError(
                    f"primitives[{index}] ({self.object_name(index)}) is in frame `{primitive.pose.frame_id}`, the world "
                    f"is in {f'`{frame_id}`' if frame_id else 'the base frame'}: pass frame_id=`{primitive.pose.frame_id}` "
                    "if all of it is there"
                )
        self._kinds = np.array([SHAPE_KIND[p.shape.shape] for p in self.primitives], dtype=np.uint8)
        self._sizes = np.array([shape_size_m(p.shape) for p in self.primitives], dtype=np.float64).reshape(-1, 3)
        self._poses = np.array([(*p.pose.xyz, *p.pose.quat_xyzw) for p in self.primitives], dtype=np.float64).reshape(-1, 7)

    def object_name(self, index: int) -> str:
        """Returns the `object_id` of an obstacle, or `world_<index>` for one that has none."""
        return self.primitives[index].object_id or f"world_{index}"

    @cached_property
    def native(self) -> _core.WorldSnapshot:
        """Is the snapshot the core reads, said to be in the base frame; built on first use."""
        return self._build(in_base_frame=True)

    @cached_property
    def native_elsewhere(self) -> _core.WorldSnapshot:
        """Is the same snapshot for a robot whose base frame it is not in; every check calls it unavailable."""
        return self._build(in_base_frame=False)

    def _build(self, *, in_base_frame: bool) -> _core.WorldSnapshot:
        return _core.WorldSnapshot(
            self._kinds, self._sizes, self._poses, id=self.number, stamp_s=self.stamp_s, in_base_frame=in_base_frame
        )


class NoWorld:
    """Says aloud that nobody looked at the world: the robot is alone in a cage, or something else looks."""

    world_id = "no-world"
    frame_id = ""
    primitives: tuple[WorldCollisionPrimitive, ...] = ()

    def __repr__(self) -> str:
        return "NO_WORLD"

    @cached_property
    def native(self) -> _core.WorldSnapshot:
        """Is the snapshot by which the core knows that the world was left out on purpose."""
        return _core.WorldSnapshot.declared_absent()


NO_WORLD = NoWorld()
