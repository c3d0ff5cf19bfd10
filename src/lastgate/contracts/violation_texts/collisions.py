# SPDX-License-Identifier: Apache-2.0
"""Violations of the distance between volumes, and of the rules for getting out of a contact."""

from lastgate.contracts.enums import FailureKind
from lastgate.contracts.violation_codes import ViolationCode, ViolationEntry

COLLISION_ENTRIES = (
    ViolationEntry(
        code=ViolationCode.self_collision,
        kind=FailureKind.COLLISION,
        what_it_checks=(
            "That every two links which are not an allowed pair keep `self_collision_margin_m`, at every "
            "instant from the measured state through the last row."
        ),
        why_it_matters=(
            "A robot that hits itself breaks itself, and between two harmless rows there can be a blow."
        ),
        known_limits=(
            "The volumes are larger than the links, so a close pass can be rejected that would have been "
            "clear; `lastgate robot report` shows by how much. Joints are taken to move straight from row "
            "to row."
        ),
        example="self_collision: forearm / hand at step 11 is -0.0124 m, limit 0.0000 m",
        what_to_do=(
            "The verdict names the pair, the row and the place between rows. If the links were clear in "
            "truth, lower the robot with tighter volumes; allow a pair only with a reason."
        ),
    ),
    ViolationEntry(
        code=ViolationCode.world_collision,
        kind=FailureKind.COLLISION,
        what_it_checks=(
            "That every link keeps `world_collision_margin_m` from every obstacle, occupied or unknown "
            "cell, point and no-go zone, at every instant from the measured state through the last row."
        ),
        why_it_matters="It is the contact that the gate exists to refuse.",
        known_limits=(
            "Obstacles stand still while a chunk is checked. What no sensor saw is not in the world."
        ),
        example="world_collision: hand / shelf at step 5 is -0.0031 m, limit 0.0200 m",
        what_to_do=(
            "The verdict names the link, the object, the distance and the snapshot. If the object is meant "
            "to be touched, attach it to the gripper; if the robot sees itself, filter it from the cloud."
        ),
    ),
    ViolationEntry(
        code=ViolationCode.recovery_not_growing,
        kind=FailureKind.COLLISION,
        what_it_checks=(
            "In recovery, that every distance which is already too small grows along the whole path."
        ),
        why_it_matters="Out of a contact there is one good direction, and it is away.",
        known_limits=(
            "A robot wedged between two things may have no motion along which both distances grow; then it "
            "needs a hand."
        ),
        example="A retreat that first presses deeper to get around an edge.",
        what_to_do=(
            "Retreat along the line between the witness points that the verdict gives, in short chunks."
        ),
    ),
    ViolationEntry(
        code=ViolationCode.recovery_speed,
        kind=FailureKind.WORKSPACE,
        what_it_checks="In recovery, that joints stay below the reduced speed of that mode.",
        why_it_matters="In contact, a wrong guess about the direction must stay a small one.",
        known_limits="It bounds speed, not force.",
        example="A policy that goes on at its usual pace after the measured pose was found in contact.",
        what_to_do="Slow the retreat down; the verdict gives the speed that is allowed.",
    ),
)
