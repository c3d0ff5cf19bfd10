# SPDX-License-Identifier: Apache-2.0
"""What a caller must say about a thing the robot holds."""

from collections.abc import Sequence
from typing import Annotated, ClassVar, Self

from pydantic import BeforeValidator, ValidationError

from lastgate.contracts.schema import Name, Schema, XyzRpy, config_error_from, require_ordered
from lastgate.contracts.shapes import NO_OFFSET, AttachableShape


class AttachedShape(Schema):
    """One shape of an attached object, fixed to a link, and the links that may touch it."""

    subject_noun: ClassVar[str] = "attached object"
    subject_key: ClassVar[str] = "object_id"

    link: Name
    shape: AttachableShape
    object_id: Name
    origin_xyz_rpy: XyzRpy = NO_OFFSET
    touch_links: Annotated[tuple[Name, ...], BeforeValidator(require_ordered)] = ()

    @classmethod
    def of(
        cls,
        link: str,
        shape: AttachableShape,
        *,
        object_id: str,
        origin_xyz_rpy: Sequence[float],
        touch_links: Sequence[str],
    ) -> Self:
        """Returns the shape, or raises `ROSConfigError` with what is wrong with it."""
        try:
            return cls.model_validate(
                {
                    "link": link,
                    "shape": shape,
                    "object_id": object_id,
                    "origin_xyz_rpy": origin_xyz_rpy,
                    "touch_links": touch_links,
                }
            )
        except ValidationError as error:
            raise config_error_from(error, source="attach") from None
