# SPDX-License-Identifier: Apache-2.0
"""The convex hulls of a robot's links: where they are kept, and what one is."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from lastgate.contracts.schema import Schema
from lastgate.contracts.shapes import LinkCollisionGeometry

_Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class ConvexHullsFile(Schema):
    """Names the file beside the manifest that holds the hulls, and the digest it must have.

    A pair whose volumes overlap is clear where the hulls are. So hulls may only stand for the volumes that were
    lowered with them, by `volumes_sha256`: they would overrule a volume that a person adds, and know nothing of it.
    """

    file: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]+$")]
    sha256: _Digest
    volumes_sha256: _Digest | None = None


def volumes_digest(volumes: Sequence[LinkCollisionGeometry]) -> str:
    """Returns the SHA-256 of some volumes in their order."""
    text = json.dumps([volume.model_dump(mode="json") for volume in volumes], sort_keys=True)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


@dataclass(frozen=True)
class LinkHull:
    """Every point within `radius_m` of the convex hull of `vertices_m`, in the frame of its link."""

    link_name: str
    radius_m: float
    vertices_m: tuple[tuple[float, float, float], ...]
