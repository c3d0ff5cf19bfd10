# SPDX-License-Identifier: Apache-2.0
"""Where a robot's description files are, how they are lowered, and what they are wrong about."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar

from pydantic import Field, field_validator

from lastgate.contracts.asset_refs import file_spelling, modern_spelling, parse_asset_ref
from lastgate.contracts.schema import Name, Schema, Text, XyzRpy
from lastgate.contracts.shapes import NO_OFFSET


class Provenance(Schema):
    """Says where a part of the manifest comes from and under which licence."""

    what: Name
    source: Name
    licence: Name


class JointCorrection(Schema):
    """Says that a description file is wrong about a joint, and why: its type, axis, limits and mimic are not read."""

    subject_noun: ClassVar[str] = "corrected joint"
    subject_key: ClassVar[str] = "joint"

    joint: Name
    reason: Name


class LoweringOptions(Schema):
    """Says how the volumes are made, so that the same manifest always gives the same ones."""

    volumes_per_link_max: Annotated[int, Field(ge=1, le=64)] = 8
    # Convex pieces a concave link is cut into; more are tighter and slower.
    pieces_per_link_max: Annotated[int, Field(ge=1, le=128)] = 8
    # Links cut into as many pieces as stand here, with more corners: for those that pass others by tenths of a
    # millimetre, or are hollow and reached into.
    fine_links: dict[Name, Annotated[int, Field(ge=1, le=128)]] = Field(default_factory=dict)
    # Check pairs that the SRDF disables although their meshes meet, wherever both links have convex pieces: volumes
    # alone would refuse too much that is clear.
    check_contradicted: bool = False
    # Links whose visual shapes are covered too: they have no collision shapes, or only stand-ins.
    visual_links: tuple[Name, ...] = ()
    # Joints for which this manifest counts and not its URDF, which still says where they are.
    corrected_joints: tuple[JointCorrection, ...] = ()


class UrdfAsset(Schema):
    """Is the URDF, and how its root frame sits on the robot's base."""

    ref: Text
    root_frame: Name | None = None
    base_to_root_xyz_rpy: XyzRpy | None = None

    @field_validator("ref")
    @classmethod
    def _require_urdf_ref(cls, ref: str) -> str:
        return str(parse_asset_ref(ref, "urdf"))


class MjcfMount(Schema):
    """Is a further MJCF whose bodies hang on a body of the robot: an arm on its base, a hand on its arm.

    Names of the mounted file are spelled with the prefix, and later mounts see them so.
    """

    ref: Text
    on_body: Name
    prefix: Name
    xyz_rpy: XyzRpy = NO_OFFSET

    @field_validator("ref")
    @classmethod
    def _require_mjcf_ref(cls, ref: str) -> str:
        return str(parse_asset_ref(ref, "mjcf"))


class AssetRefs(Schema):
    """Says where the description files come from; the kind of a reference is the field it stands in."""

    urdf: UrdfAsset | None = None
    mjcf: Text | None = None
    mjcf_mounts: tuple[MjcfMount, ...] = ()
    srdf: Text | None = None

    @field_validator("urdf", mode="before")
    @classmethod
    def _require_urdf_block(cls, urdf: object) -> object:
        if isinstance(urdf, str):
            raise ValueError(f"write `urdf: {{ref: {_modern_ref(urdf)}}}`")
        return urdf

    @field_validator("mjcf")
    @classmethod
    def _require_mjcf_ref(cls, ref: str | None) -> str | None:
        return None if ref is None else str(parse_asset_ref(ref, "mjcf"))

    @field_validator("srdf")
    @classmethod
    def _require_srdf_ref(cls, ref: str | None) -> str | None:
        return None if ref is None else str(parse_asset_ref(ref, "srdf"))

    def _problems(self) -> list[str]:
        if self.mjcf_mounts and self.mjcf is None:
            return ["`mjcf_mounts` needs an `mjcf` to mount on"]
        return []


def _modern_ref(value: object) -> str:
    if not isinstance(value, str) or not value:
        return "file:<relpath>"
    return modern_spelling(value) or (value if ":" in value else file_spelling(value))


def _renamed_sim(value: object) -> str:
    uri = value.get("mjcf_uri") if isinstance(value, Mapping) else None
    return f"`sim.mjcf_uri` is now spelled `assets: {{mjcf: {_modern_ref(uri)}}}`"


# Keys of older manifests, each with the sentence that says how it is spelled today.
RENAMED_KEYS: Mapping[str, Callable[[Any], str]] = {
    "urdf_path": lambda v: f"`urdf_path` is now spelled `assets: {{urdf: {{ref: {_modern_ref(v)}}}}}`",
    "srdf_path": lambda v: f"`srdf_path` is now spelled `assets: {{srdf: {_modern_ref(v)}}}`",
    "sim": _renamed_sim,
    "urdf_root_frame": lambda v: f"`urdf_root_frame` is now spelled `assets: {{urdf: {{root_frame: {v}}}}}`",
    "static_base_to_urdf_root_xyz_rpy": lambda v: (
        f"`static_base_to_urdf_root_xyz_rpy` is now spelled `assets: {{urdf: {{base_to_root_xyz_rpy: {v}}}}}`"
    ),
}
