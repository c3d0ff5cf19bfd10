# SPDX-License-Identifier: Apache-2.0
"""Where a robot's description files are, how they are lowered, and what they are wrong about."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar

from pydantic import Field, field_validator

from lastgate.contracts.asset_refs import file_spelling, modern_spelling, parse_asset_ref
from lastgate.contracts.schema import Name, Schema, Text, XyzRpy
from lastgate.contracts.shapes import NO_OFFSET


class Provenance(Schema):
    """The origin of a part of the manifest, and its licence."""

    what: Name
    source: Name
    licence: Name


class JointCorrection(Schema):
    """A joint that the description file gets wrong, and why: its type, axis, limits and mimic are not read."""

    subject_noun: ClassVar[str] = "corrected joint"
    subject_key: ClassVar[str] = "joint"

    joint: Name
    reason: Name


class DrawnWaiver(Schema):
    """A link, or an MJCF's body, that stays uncovered although the description draws it, and why."""

    subject_noun: ClassVar[str] = "drawn waiver"
    subject_key: ClassVar[str] = "link"

    link: Name
    reason: Name


class LoweringOptions(Schema):
    """The settings of lowering, so that the same manifest always gives the same volumes."""

    volumes_per_link_max: Annotated[int, Field(ge=1, le=64)] = 8
    # Convex hulls a concave link is cut into; more are tighter and slower.
    pieces_per_link_max: Annotated[int, Field(ge=1, le=128)] = 8
    # Links cut into as many hulls as stand here, with more vertices: for those that pass others by tenths of a
    # millimetre, or are hollow and reached into.
    fine_links: dict[Name, Annotated[int, Field(ge=1, le=128)]] = Field(default_factory=dict)
    # Check pairs that the SRDF disables although their meshes meet, wherever both links have convex hulls: volumes
    # alone would reject too much that is clear.
    check_contradicted: bool = False
    # Links whose visual shapes are covered too: they have no collision shapes, or only stand-ins.
    visual_links: tuple[Name, ...] = ()
    # Links, of the description where the manifest folds them into others, of which a drawn shape stays uncovered.
    drawn_waivers: tuple[DrawnWaiver, ...] = ()
    # Joints for which this manifest counts and not its URDF, which still says where they are.
    corrected_joints: tuple[JointCorrection, ...] = ()


class UrdfAsset(Schema):
    """The URDF, and where its root frame stands in the robot's base frame.

    Where the two differ, worlds must name the frame they are in: see `RobotFrames`.
    """

    ref: Text
    root_frame: Name | None = None
    # The pose of `root_frame` in `base_frame`.
    base_to_root_xyz_rpy: XyzRpy | None = None

    def _problems(self) -> list[str]:
        if (self.root_frame is None) == (self.base_to_root_xyz_rpy is None):
            return []
        return ["`root_frame` and `base_to_root_xyz_rpy` say one thing together: give both or neither"]

    @field_validator("ref")
    @classmethod
    def _require_urdf_ref(cls, ref: str) -> str:
        return str(parse_asset_ref(ref, "urdf"))


class MjcfMount(Schema):
    """A further MJCF whose bodies hang on a body of the robot: an arm on its base, a hand on its arm.

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
    """The references of the description files; the kind of a reference is the field it stands in."""

    urdf: UrdfAsset | None = None
    mjcf: Text | None = None
    # The pose of the MJCF's world in `base_frame`, where a body that stands still is the base.
    mjcf_base_to_world_xyz_rpy: XyzRpy | None = None
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
        problems = []
        if self.mjcf_mounts and self.mjcf is None:
            problems.append("`mjcf_mounts` needs an `mjcf` to mount on")
        if self.mjcf_base_to_world_xyz_rpy is not None and (self.mjcf is None or self.urdf is not None):
            problems.append("`mjcf_base_to_world_xyz_rpy` is for a robot that an `mjcf` alone describes")
        return problems


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
