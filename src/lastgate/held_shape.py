# SPDX-License-Identifier: Apache-2.0
"""What a caller must say about a thing the robot holds."""

from typing import Annotated, ClassVar

from pydantic import BeforeValidator

from lastgate.contracts.schema import Name, Schema, XyzRpy, require_ordered
from lastgate.contracts.shapes import NO_OFFSET, CollisionShape


class HeldShape(Schema):
    """Is one sphere or capsule of a held object, fixed to a link, and the links that may touch it."""

    subject_noun: ClassVar[str] = "held object"
    subject_key: ClassVar[str] = "object_id"

    link: Name
    shape: CollisionShape
    object_id: Name
    origin_xyz_rpy: XyzRpy = NO_OFFSET
    touch_links: Annotated[tuple[Name, ...], BeforeValidator(require_ordered)] = ()
