# SPDX-License-Identifier: Apache-2.0
"""Touching that a skill means to do, and the links that may ever mean it."""

from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field

from lastgate.contracts.exceptions import ROSConfigError
from lastgate.contracts.robot import RobotDescription
from lastgate.contracts.schema import Flag, Name, NotNegative, Positive, Schema, require_ordered
from lastgate.contracts.shapes import BoxShape, Pose6D

Phase = Literal["approach", "grasp", "carry", "place", "push"]
PHASES: tuple[Phase, ...] = ("approach", "grasp", "carry", "place", "push")

# What a camera, a calibration and a soft finger are off by together; the core holds every contact to the same.
DEPTH_M_MAX = 0.05

_Names = Annotated[tuple[Name, ...], BeforeValidator(require_ordered)]


class ContactRegion(Schema):
    """A box in the robot's base frame, or in its root frame by that name, that everything which touches lies inside."""

    shape: BoxShape
    pose: Pose6D


class SkillContact(Schema):
    """Which links may touch which objects, in which phase of a skill, and how deep.

    Attributes:
        links: Links whose volumes may touch: fingers and hand, nothing else of the robot.
        carried_objects: Whatever the robot holds may touch as well.
        objects: What they may touch, by `object_id`; `cup*` is every object whose name begins with `cup`.
        voxels, points: They may touch whatever the grid or the cloud shows.
        phase: Only chunks that are checked with this `phase=` may use it.
        depth_m: How deep they may overlap; see `DeclaredContact`.
        region: Where; None is anywhere.
        expires_s: For how long, from the first check that names the phase.
    """

    subject_noun: ClassVar[str] = "contact"
    subject_key: ClassVar[str] = "phase"

    links: _Names = ()
    carried_objects: Flag = False
    objects: _Names = ()
    voxels: Flag = False
    points: Flag = False
    phase: Phase
    depth_m: Annotated[NotNegative, Field(le=DEPTH_M_MAX)] = 0.0
    region: ContactRegion | None = None
    expires_s: Positive

    def _problems(self) -> list[str]:
        problems = []
        if not self.links and not self.carried_objects:
            problems.append("names nothing that may touch: give `links` or `carried_objects`")
        if not (self.objects or self.voxels or self.points):
            problems.append("names nothing that may be touched: give `objects`, `voxels` or `points`")
        for name in self.objects:
            if name == "*" or "*" in name[:-1]:
                problems.append(
                    f"`{name}` is no class of objects: a class is a beginning and one `*`, such as `cup*`"
                )
        return problems

    def touches(self, object_id: str) -> bool:
        """Returns whether an object is one of those that may be touched."""
        return any(
            object_id.startswith(name[:-1]) if name.endswith("*") else object_id == name
            for name in self.objects
        )


def touching_links(robot: RobotDescription) -> tuple[str, ...]:
    """Returns the links that a skill may let touch: hands, fingers, and what is fixed to or moved by them.

    A hand is the link of an end effector, or the link that carries the joints of its gripper.
    """
    gripper = {joint.name for end in robot.end_effectors if end.gripper for joint in end.gripper.joints}
    found = {end.link for end in robot.end_effectors}
    found |= {joint.parent_link for joint in robot.joints if joint.name in gripper}
    for _ in robot.joints:
        found |= {joint.child_link for joint in robot.joints if joint.parent_link in found}
    order = [joint.child_link for joint in robot.joints]
    return tuple(sorted(found, key=lambda link: order.index(link) if link in order else -1))


def require_skill_contacts(robot: RobotDescription, contacts: tuple[SkillContact, ...]) -> None:
    """Refuses contacts of links that are neither hand nor finger.

    Raises:
        ROSConfigError: The contact names another link of this robot, or one that it does not have.
    """
    allowed = touching_links(robot)
    for contact in contacts:
        for link in contact.links:
            if link not in allowed:
                raise ROSConfigError(
                    f"a contact of phase `{contact.phase}` names link `{link}`, which is neither hand nor finger of "
                    f"`{robot.name}`: a skill may only let these touch: {', '.join(allowed) or 'none'}"
                )
