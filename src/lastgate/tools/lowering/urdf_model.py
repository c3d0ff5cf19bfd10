# SPDX-License-Identifier: Apache-2.0
"""What a URDF says, after it was read without a single complaint."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lastgate.tools.lowering.diagnostics import Diagnostic
from lastgate.tools.lowering.shapes import SourceShape

Array = NDArray[np.float64]

JOINT_TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")
BOUNDED_TYPES = ("revolute", "prismatic")
MOVING_TYPES = ("revolute", "continuous", "prismatic")


@dataclass(frozen=True)
class UrdfMimic:
    """A joint that follows another."""

    joint: str
    multiplier: float
    offset: float


@dataclass(frozen=True)
class UrdfJoint:
    """One joint of a URDF; the origin is its pose in the parent link."""

    name: str
    joint_type: str
    parent: str
    child: str
    origin: Array
    xyz: tuple[float, float, float]
    rpy: tuple[float, float, float]
    axis: tuple[float, float, float]
    limits: tuple[float, float] | None
    velocity: float | None
    effort: float | None
    mimic: UrdfMimic | None
    line: int

    @property
    def is_moving(self) -> bool:
        """True if the joint has one degree of freedom."""
        return self.joint_type in MOVING_TYPES


@dataclass
class UrdfModel:
    """A URDF that was read without a single complaint."""

    path: Path
    name: str
    root: str
    links: list[str]
    joints: list[UrdfJoint]
    collisions: dict[str, list[SourceShape]] = field(default_factory=dict)
    visual_links: set[str] = field(default_factory=set)
    # What is drawn per link, if it was asked for, and the files of it that could not be read.
    drawn: dict[str, list[SourceShape]] = field(default_factory=dict)
    unread: list[Diagnostic] = field(default_factory=list)
