# SPDX-License-Identifier: Apache-2.0
"""Shapes, and the poses they stand in."""

import math
from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field, field_validator

from lastgate.contracts.schema import (
    Name,
    NotNegative,
    Positive,
    Quaternion,
    Schema,
    Text,
    Vector3,
    XyzRpy,
    require_ordered,
)

# A quaternion written with seven digits is this close to unit length; one further off was not normalised.
QUATERNION_NORM_TOLERANCE = 1e-6

NO_OFFSET = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


class Pose6D(Schema):
    """Places something: a position in metres and a quaternion, x y z w; one off unit length is refused.

    An empty `frame_id` means the robot's base frame.
    """

    xyz: Vector3
    quat_xyzw: Quaternion = (0.0, 0.0, 0.0, 1.0)
    frame_id: Text = ""

    @field_validator("quat_xyzw")
    @classmethod
    def _require_unit(cls, quaternion: Quaternion) -> Quaternion:
        norm = math.hypot(*quaternion)
        if not abs(norm - 1.0) <= QUATERNION_NORM_TOLERANCE:
            raise ValueError(f"must have length 1 to {QUATERNION_NORM_TOLERANCE:g}, its length is {norm:.7g}")
        return quaternion


class SphereShape(Schema):
    """A sphere around the origin of its pose."""

    shape: Literal["sphere"] = "sphere"
    radius_m: Positive


class CapsuleShape(Schema):
    """Every point within `radius_m` of a segment of `length_m` on the local z axis, centred on the origin.

    `length_m` is the cylinder part: from tip to tip the capsule measures `length_m + 2 * radius_m`.
    """

    shape: Literal["capsule"] = "capsule"
    radius_m: Positive
    length_m: NotNegative


class CylinderShape(Schema):
    """A solid cylinder with flat ends around the local z axis, centred on the origin.

    `length_m` is all of it, from end to end.
    """

    shape: Literal["cylinder"] = "cylinder"
    radius_m: Positive
    length_m: Positive


class BoxShape(Schema):
    """A box centred on the origin of its pose; the sizes are full edge lengths."""

    shape: Literal["box"] = "box"
    size_xyz_m: Annotated[tuple[Positive, Positive, Positive], BeforeValidator(require_ordered)]


class HalfSpaceShape(Schema):
    """The half-space at local z <= 0: a floor, a wall or a ceiling, by its pose."""

    shape: Literal["half_space"] = "half_space"


class HullShape(Schema):
    """The convex hull of some vertices in the frame of its pose; at least four, and at most 256."""

    shape: Literal["hull"] = "hull"
    vertices_m: Annotated[
        tuple[Vector3, ...], Field(min_length=4, max_length=256), BeforeValidator(require_ordered)
    ]


# A link is made of what the core moves; the world may also hold what only stands still.
CollisionShape = Annotated[SphereShape | CapsuleShape, Field(discriminator="shape")]
WorldShape = Annotated[
    SphereShape | CapsuleShape | BoxShape | HalfSpaceShape | CylinderShape, Field(discriminator="shape")
]

# What a robot may hold: also solids with flat sides.
AttachableShape = Annotated[
    SphereShape | CapsuleShape | BoxShape | CylinderShape | HullShape, Field(discriminator="shape")
]


class LinkCollisionGeometry(Schema):
    """One volume that stands for a part of a link; a link may have several."""

    subject_noun: ClassVar[str] = "link"
    subject_key: ClassVar[str] = "link_name"

    link_name: Name
    shape: CollisionShape
    origin_xyz_rpy: XyzRpy = NO_OFFSET


class Zone(Schema):
    """A named volume that no part of the robot may enter."""

    subject_noun: ClassVar[str] = "zone"

    name: Name
    shape: WorldShape
    pose: Pose6D


class KeepInZone(Schema):
    """A named shape that links of the robot, and what they hold, may not leave; several zones all hold.

    A half-space keeps everything at local z <= 0. Without `links` the zone is about every link that a joint
    carries; links that are named stay inside whether a joint carries them or not.
    """

    subject_noun: ClassVar[str] = "keep-in zone"

    name: Name
    shape: WorldShape
    pose: Pose6D
    links: Annotated[tuple[Name, ...], BeforeValidator(require_ordered)] = ()
