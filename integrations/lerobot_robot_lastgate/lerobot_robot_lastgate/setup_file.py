# SPDX-License-Identifier: Apache-2.0
"""The YAML file of a setup: world, what is mounted on links, units that the robot does not say."""

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from lastgate import CapsuleShape, ROSConfigError, SphereShape, WorldCollisionPrimitive
from lastgate.robots.bounded_yaml import load_bounded_yaml

UnitName = Literal["si", "degrees", "percent"]


class Attached(BaseModel):
    """One thing that moves with a link."""

    model_config = ConfigDict(extra="forbid")

    link: str
    object_id: str
    shape: SphereShape | CapsuleShape = Field(discriminator="shape")
    origin_xyz_rpy: tuple[float, float, float, float, float, float] = (0.0,) * 6
    touch_links: tuple[str, ...] = ()


class Setup(BaseModel):
    """The whole file; a world that is left out was not observed."""

    model_config = ConfigDict(extra="forbid")

    world: tuple[WorldCollisionPrimitive, ...] | None = None
    attached: tuple[Attached, ...] = ()
    units: dict[str, UnitName] = {}
    unchecked_keys: tuple[str, ...] = ()


def load_setup(path: Path | None) -> Setup:
    """Returns the file, or an empty one; every problem raises `ROSConfigError`."""
    if path is None:
        return Setup()
    if not path.is_file():
        raise ROSConfigError(f"{path}: no such file")
    try:
        return Setup(**(load_bounded_yaml(path) or {}))
    except (ValidationError, TypeError) as error:
        raise ROSConfigError(f"{path}: {error}") from None
