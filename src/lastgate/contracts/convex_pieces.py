# SPDX-License-Identifier: Apache-2.0
"""The convex pieces of a robot's links: where they are kept, and what one is."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from lastgate.contracts.schema import Schema


class ConvexPiecesFile(Schema):
    """Names the file beside the manifest that holds the pieces, and the digest it must have."""

    file: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]+$")]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


@dataclass(frozen=True)
class ConvexPiece:
    """Every point within `radius_m` of the convex hull of `corners_m`, in the frame of its link."""

    link_name: str
    radius_m: float
    corners_m: tuple[tuple[float, float, float], ...]
