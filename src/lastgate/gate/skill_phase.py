# SPDX-License-Identifier: Apache-2.0
"""The contacts that a skill declares, as declared contacts of one check."""

from collections.abc import Collection
from typing import get_args

from lastgate.contracts import BoxShape, Pose6D, RobotDescription, ROSConfigError, RSkillManifest
from lastgate.contracts.skill_contact import Phase, SkillContact, require_skill_contacts
from lastgate.gate.declared_contact import DeclaredContact
from lastgate.world import NoWorld, World

# A box that every robot lies inside, for a contact that may be anywhere.
_ANYWHERE_M = 1e3


class SkillPhase:
    """Follows the phase that a skill is in; the contacts of a phase expire from the first check that names it.

    Args:
        robot: Whose links the contacts name.
        skill: None, or one without contacts, has nothing to declare in any phase.

    Raises:
        ROSConfigError: A contact names a link that is neither hand nor finger.
    """

    def __init__(self, robot: RobotDescription, skill: RSkillManifest | None) -> None:
        self._contacts: tuple[SkillContact, ...] = () if skill is None else skill.contacts
        require_skill_contacts(robot, self._contacts)
        self._phase: str | None = None
        self._since_s = 0.0

    def enter(self, phase: str | None, now_s: float) -> None:
        """Notes the phase of a check; another one than before begins now.

        Raises:
            ROSConfigError: There is no such phase.
        """
        if phase is not None and phase not in get_args(Phase):
            raise ROSConfigError(f"phase must be one of {', '.join(get_args(Phase))} or None, got {phase!r}")
        if phase != self._phase:
            self._phase, self._since_s = phase, now_s

    def contacts(self, world: World | NoWorld | None, held: Collection[str]) -> tuple[DeclaredContact, ...]:
        """Returns what the skill declares in its phase, for the objects of a world and what is held."""
        if self._phase is None:
            return ()
        ids = [] if world is None else [one.object_id for one in world.primitives if one.object_id]
        made = []
        for number, contact in enumerate(self._contacts):
            objects = tuple(dict.fromkeys(name for name in ids if contact.touches(name)))
            carried = tuple(held) if contact.carried_objects else ()
            touches_nothing = not (objects or contact.voxels or contact.points)
            if contact.phase != self._phase or touches_nothing or not (contact.links or carried):
                continue
            anywhere = BoxShape(size_xyz_m=(_ANYWHERE_M, _ANYWHERE_M, _ANYWHERE_M))
            made.append(
                DeclaredContact(
                    name=f"{contact.phase} {number}",
                    links=contact.links,
                    held_objects=carried,
                    objects=objects,
                    voxels=contact.voxels,
                    points=contact.points,
                    region=anywhere if contact.region is None else contact.region.shape,
                    region_pose=Pose6D(xyz=(0.0, 0.0, 0.0))
                    if contact.region is None
                    else contact.region.pose,
                    expires_s=self._since_s + contact.expires_s,
                    depth_m=contact.depth_m,
                )
            )
        return tuple(made)
