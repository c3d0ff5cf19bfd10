# SPDX-License-Identifier: Apache-2.0
"""Touching that is meant: a grasp, a placement, a hand on a table."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import BeforeValidator, Field

from lastgate import _core
from lastgate.contracts import BoxShape, Pose6D, RobotFrames, ROSConfigError
from lastgate.contracts.schema import Finite, Flag, Name, NotNegative, Schema, require_ordered
from lastgate.robots.kernel_config import shape_size_m
from lastgate.world import NoWorld, World

Names = Annotated[tuple[Name, ...], BeforeValidator(require_ordered)]


class DeclaredContact(Schema):
    """Lets named links touch named obstacles, and press `depth_m` deep, inside a region, until it expires.

    The volume, or each convex hull that refines it, must lie inside the region whole; anywhere else, and after
    `expires_s`, the whole margin holds. What overlaps deeper is rejected. A declaration widens nothing for zones,
    for the robot against itself, or for an object that is not in the snapshot.

    Attributes:
        name: Shown by the verdict that used it.
        links: Links whose own volumes may touch.
        held_objects: Attached objects that may touch, as given to `Gate.attach`.
        objects: What they may touch, by `object_id`.
        voxels: They may touch whatever voxels the grid has there.
        points: They may touch whatever points the cloud has there.
        region, region_pose: A box in the robot's base frame, or in its root frame by that name.
        expires_s: On the clock of `now_s`. Steps that are executed later keep the whole margin.
        depth_m: How deep they may overlap, as the shortest way that would part them: what perception and a soft finger
            are off by. Volumes decide with spheres and capsules, hulls where the robot or the object has some; a depth
            is never taken for less than it is. Of voxels and points a hull may touch single ones and overlap none.
    """

    subject_noun: ClassVar[str] = "declared contact"

    name: Name
    links: Names = ()
    held_objects: Names = ()
    objects: Names = ()
    voxels: Flag = False
    points: Flag = False
    region: BoxShape
    region_pose: Pose6D
    expires_s: Finite
    depth_m: Annotated[NotNegative, Field(le=_core.CONTACT_DEPTH_M_MAX)] = 0.0

    def _problems(self) -> list[str]:
        problems = []
        if not self.links and not self.held_objects:
            problems.append("names nothing that may touch: give `links` or `held_objects`")
        if not (self.objects or self.voxels or self.points):
            problems.append("names nothing that may be touched: give `objects`, `voxels` or `points`")
        return problems


def contacts_of(contacts: object) -> tuple[Any, ...]:
    """Returns what was declared as a tuple: an iterator can be read once, and is asked for its length never.

    Raises:
        ROSConfigError: Nothing that one can go through.
    """
    if not isinstance(contacts, Iterable) or isinstance(contacts, DeclaredContact):
        raise ROSConfigError(
            f"declared_contacts is a {type(contacts).__name__}, expected a list of DeclaredContact"
        )
    return tuple(contacts)


def require_contacts(
    contacts: Sequence[DeclaredContact],
    *,
    link_names: Sequence[str],
    frames: RobotFrames,
    attachments: Mapping[str, int],
) -> None:
    """Refuses declarations that cannot be used by this robot, whatever the world.

    Raises:
        ROSConfigError: One is of another type or frame, two have one name, or one names a link or attached object
            that does not exist.
    """
    names: set[str] = set()
    for contact in contacts:
        if not isinstance(contact, DeclaredContact):
            raise ROSConfigError(
                f"declared_contacts holds a {type(contact).__name__}, expected a DeclaredContact"
            )
        who = f"declared contact `{contact.name}`"
        if contact.name in names:
            raise ROSConfigError(f"two declared contacts are called `{contact.name}`")
        names.add(contact.name)
        problem = frames.problem(contact.region_pose.frame_id)
        if problem is not None:
            raise ROSConfigError(f"the region of {who} {problem}")
        for wanted, known, noun in (
            (contact.links, link_names, "link"),
            (contact.held_objects, attachments, "attached object"),
        ):
            missing = [name for name in wanted if name not in known]
            if missing:
                raise ROSConfigError(
                    f"{who} names {noun} `{missing[0]}`, which does not exist; there are: "
                    f"{', '.join(known) or 'none'}"
                )


def native_contacts(
    contacts: Sequence[DeclaredContact],
    *,
    link_names: Sequence[str],
    frames: RobotFrames,
    attachments: Mapping[str, int],
    world: World | NoWorld | None,
) -> tuple[list[str], list[_core.DeclaredContact]]:
    """Returns the declarations that can matter in this world, by name and as the core reads them.

    Raises:
        ROSConfigError: As `require_contacts` says.
    """
    require_contacts(contacts, link_names=link_names, frames=frames, attachments=attachments)
    names: list[str] = []
    made: list[_core.DeclaredContact] = []
    for contact in contacts:
        obstacles = world.indices_of(contact.objects) if isinstance(world, World) else []
        if not obstacles and not contact.voxels and not contact.points:
            continue  # its object is not in this snapshot: the whole margin holds
        names.append(contact.name)
        made.append(
            _core.DeclaredContact(
                links=[link_names.index(name) for name in contact.links],
                held=[attachments[name] for name in contact.held_objects],
                obstacles=obstacles,
                voxels=contact.voxels,
                points=contact.points,
                region_size=np.array(shape_size_m(contact.region)),
                region_pose=np.array(_region_in_base(contact, frames)),
                expires_s=contact.expires_s,
                depth_m=contact.depth_m,
            )
        )
    return names, made


def _region_in_base(contact: DeclaredContact, frames: RobotFrames) -> tuple[float, ...]:
    pose = frames.pose_in_base(contact.region_pose)
    return (*pose.xyz, *pose.quat_xyzw)


def contact_request(
    chunk: bytes, *, recovery: bool, contacts: Sequence[DeclaredContact], frames: RobotFrames
) -> bytes:
    """Returns an ActionChunk's bytes with what came with it, as a kernel process reads them: by name."""
    return _core.encode_chunk_request(
        chunk,
        recovery=recovery,
        contacts=[
            (
                contact.links,
                contact.held_objects,
                contact.objects,
                contact.voxels,
                contact.points,
                shape_size_m(contact.region),
                _region_in_base(contact, frames),
                contact.expires_s,
                contact.depth_m,
            )
            for contact in contacts
        ],
    )
