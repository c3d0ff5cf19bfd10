# SPDX-License-Identifier: Apache-2.0
"""What is known of the world: obstacles, a map, and places to look from."""

from typing import Annotated, ClassVar

from pydantic import Field

from lastgate.contracts.schema import Finite, Name, Positive, Schema, Vector3
from lastgate.contracts.shapes import Pose6D, WorldShape

GridSize = Annotated[int, Field(strict=True, ge=1)]


class WorldCollisionPrimitive(Schema):
    """One obstacle."""

    subject_noun: ClassVar[str] = "object"
    subject_key: ClassVar[str] = "object_id"

    shape: WorldShape
    pose: Pose6D
    object_id: Name | None = None


class OccupancyGridRef(Schema):
    """Points at a 2-D occupancy grid that a topic carries; a grid without cells is refused."""

    frame_id: Name
    resolution_m: Positive
    width: GridSize
    height: GridSize
    origin: Pose6D
    data_topic: Name


class WorldState(Schema):
    """The knowledge of perception at one time; `stamp_s` is when it was measured, not when it arrived."""

    collision_primitives: tuple[WorldCollisionPrimitive, ...] = ()
    occupancy_grid: OccupancyGridRef | None = None
    stamp_s: Finite | None = None


class ApproachViewpoint(Schema):
    """A pose from which a camera sees a target at a standoff."""

    pose: Pose6D
    standoff_m: Positive
    target_xyz: Vector3 | None = None
    camera_frame: Name | None = None
