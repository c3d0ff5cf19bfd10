# SPDX-License-Identifier: Apache-2.0
"""Violations of the distance between volumes, and of the rules for getting out of a contact."""

from lastgate.contracts.enums import FailureKind
from lastgate.contracts.violation_codes import ViolationCode, ViolationEntry

COLLISION_ENTRIES = (
    ViolationEntry(
        code=ViolationCode.self_collision,
        kind=FailureKind.COLLISION,
        what_it_checks=(
            "That every two links which are not an allowed pair, and whatever the robot holds, stay more "
            "than `self_collision_margin_m` apart, at every instant from the measured state through the "
            "last step. Touching counts as contact."
        ),
        why_it_matters=(
            "A robot that hits itself breaks itself, and between two harmless steps there can be a blow."
        ),
        known_limits=(
            "The volumes are larger than the links, so a close pass can be rejected that would have been "
            "clear; `lastgate robot report` shows by how much. Joints are taken to move straight from step "
            "to step. What cannot be told from contact by 0.1 mm is rejected."
        ),
        example=(
            "self_collision: forearm / hand are -0.0124 m apart on the way to step 11, 62% of the "
            "segment, and must stay more than 0.0000 m apart"
        ),
        what_to_do=(
            "The verdict names the pair, the step and the place between steps. If the links were clear in "
            "truth, lower the robot with tighter volumes; allow a pair only with a reason."
        ),
    ),
    ViolationEntry(
        code=ViolationCode.world_collision,
        kind=FailureKind.COLLISION,
        what_it_checks=(
            "That every link that can move, and whatever the robot holds, stays more than "
            "`world_collision_margin_m` away from every obstacle, occupied or unknown cell and point of "
            "the world and from every no-go zone, at every instant from the measured state through the "
            "last step. Touching counts as contact."
        ),
        why_it_matters="It is the contact that the gate exists to reject.",
        known_limits=(
            "Obstacles stand still while a chunk is checked. What no sensor saw is not in the world. "
            "Links that no joint carries are not compared: a robot stands on something. A base that may "
            "drive carries them."
        ),
        example=(
            "world_collision: hand / shelf are -0.0031 m apart at step 5, and must stay more than 0.0200 "
            "m apart"
        ),
        what_to_do=(
            "The verdict names the link, the object, the distance and the snapshot. If the object is "
            "meant to be touched, attach it to the gripper; if the robot sees itself, take it out of the "
            "snapshot."
        ),
    ),
    ViolationEntry(
        code=ViolationCode.recovery_not_growing,
        kind=FailureKind.COLLISION,
        what_it_checks=(
            "In recovery, that no distance which is already too small gets smaller than it was measured, "
            "or smaller than at the step before, at the next step or on the way there, until it has left its "
            "margin, and that each ends larger than it began. Convex pieces come no closer, and no deeper, "
            "than they have been."
        ),
        why_it_matters="Out of a contact there is one good direction, and it is away.",
        known_limits=(
            "A robot wedged between two things may have no motion along which both distances grow; then "
            "it needs a hand. So does one whose core line lies inside a box or a cell, because the depth "
            "in there is not measured. Convex pieces without a radius that overlap a box, a cell or each other "
            "have no depth either: until they are apart, only the volumes around them are held to move away. "
            "A torque has no direction, so JOINT_TORQUE cannot recover. No-go zones give no exemption, and "
            "fingers that were not measured get none."
        ),
        example="A retreat that first presses deeper to get around an edge.",
        what_to_do=(
            "Retreat along the line between the witness points that the verdict gives, in short chunks."
        ),
    ),
    ViolationEntry(
        code=ViolationCode.recovery_speed,
        kind=FailureKind.WORKSPACE,
        what_it_checks=(
            "In recovery, that joints and the base use at most a quarter of their speed limits, whether "
            "or not something is in contact."
        ),
        why_it_matters="In contact, a wrong guess about the direction must stay a small one.",
        known_limits="It bounds speed, not force. A gripper step is a target without a time and has no speed.",
        example="A policy that goes on at its usual pace after the measured pose was found in contact.",
        what_to_do="Slow the retreat down; the verdict gives the speed that is allowed.",
    ),
    ViolationEntry(
        code=ViolationCode.keep_in_zone,
        kind=FailureKind.COLLISION,
        what_it_checks=(
            "That every link that can move (or every link the zone names), and whatever it holds, stays "
            "inside each keep-in zone, `world_collision_margin_m` away from its surface, at every instant "
            "from the measured state through the last step, whatever the world says. Touching counts as "
            "leaving."
        ),
        why_it_matters=(
            "The workspace box is about the tool alone; an elbow through the window of the cell is about "
            "the rest of the arm."
        ),
        known_limits=(
            "The volumes are larger than the links. A zone stands in the base frame: a base that drives "
            "takes it along from chunk to chunk. Recovery gives no exemption."
        ),
        example=(
            "keep_in_zone: elbow is 0.0132 m outside keep-in zone cell on the way to step 3, 40% of the "
            "segment, and must stay more than 0.0000 m inside"
        ),
        what_to_do=(
            "The verdict names the link, the zone and the place. Bring the arm back by hand if it stands "
            "outside, or move the zone if it is drawn too tightly."
        ),
    ),
)
