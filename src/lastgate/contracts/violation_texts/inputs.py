# SPDX-License-Identifier: Apache-2.0
"""Violations about what the gate must know besides the chunk: the measured state and the world."""

from lastgate.contracts.enums import FailureKind
from lastgate.contracts.violation_codes import ViolationCode, ViolationEntry

INPUT_ENTRIES = (
    ViolationEntry(
        code=ViolationCode.state_unavailable,
        kind=FailureKind.CONTROLLER,
        state="state_unavailable",
        what_it_checks=(
            "That every joint has a measured position which is finite, not older than `state_age_s_max` "
            "by the time it was measured, and not from the future; velocities and gripper positions, "
            "where they are given, are complete and finite too."
        ),
        why_it_matters=(
            "Every path starts where the robot stands. From a wrong start, the first step is unchecked."
        ),
        known_limits=(
            "A sensor that repeats its last value with a fresh stamp looks alive. Stamps up to 5 ms ahead "
            "are taken for the disagreement of two clocks."
        ),
        example="A joint-state message that holds only the gripper, while the arm's driver has stopped.",
        what_to_do=(
            "The evidence names the joint. Check its driver, the joint names, and that both machines have "
            "the same clock."
        ),
    ),
    ViolationEntry(
        code=ViolationCode.world_unavailable,
        kind=FailureKind.CONTROLLER,
        state="world_unavailable",
        what_it_checks=(
            "That a world snapshot is present, finite, in the right frame and not older than "
            "`world_age_s_max`, by the time it was measured."
        ),
        why_it_matters="An old world shows where people were, not where they are.",
        known_limits="What no sensor saw is in no snapshot, however fresh.",
        example="A republished obstacle list whose source stamp stopped moving.",
        what_to_do=(
            "Check the producer and its stamps. A robot that is alone in a cage says `lg.NO_WORLD`, and "
            "the verdict records that the world was not observed."
        ),
    ),
    ViolationEntry(
        code=ViolationCode.world_overflow,
        kind=FailureKind.CONTROLLER,
        state="world_overflow",
        what_it_checks="That the obstacles fit the capacity of the gate.",
        why_it_matters="Dropping the obstacles that do not fit would drop the one that matters.",
        known_limits="The capacity is fixed when the core is built.",
        example="A segmentation that turns one shelf into thousands of small boxes.",
        what_to_do=("Merge obstacles, or leave out those beyond the robot's reach."),
    ),
    ViolationEntry(
        code=ViolationCode.voxel_unavailable,
        kind=FailureKind.CONTROLLER,
        state="voxel_unavailable",
        what_it_checks=(
            "That the voxel grid is present, has cells, is in the right frame and not older than "
            "`world_age_s_max`, by the time it was measured."
        ),
        why_it_matters=(
            "A grid that is missing, empty or old knows nothing about where the arm is about to go."
        ),
        known_limits=(
            "Cells that are unknown count as occupied unless the snapshot says otherwise in words."
        ),
        example="A grid of zero cells, or one in the map frame while the gate reads the base frame.",
        what_to_do="Check the mapping node, its frame and its stamps.",
    ),
    ViolationEntry(
        code=ViolationCode.voxel_overflow,
        kind=FailureKind.CONTROLLER,
        state="voxel_overflow",
        what_it_checks=(
            "That the voxel grid fits the capacity of the gate and its size is the product it claims."
        ),
        why_it_matters="Reading part of a grid would leave a part of the room unchecked.",
        known_limits="The capacity is fixed when the core is built.",
        example="A grid whose resolution was halved, and so has eight times the cells.",
        what_to_do="Crop the grid to the robot's reach or choose a coarser resolution.",
    ),
    ViolationEntry(
        code=ViolationCode.declared_contact,
        kind=FailureKind.CONTROLLER,
        state="declared_contact",
        what_it_checks=(
            "That every declared contact names links, attached objects and obstacles that exist, has a region of "
            "finite size and a finite expiry, and that there are not more than the gate has room for."
        ),
        why_it_matters="A permission that cannot be read must not be guessed, and not be dropped silently.",
        known_limits=(
            "A contact that has expired is no error: the whole margin holds again, and so it does for an "
            "object that is no longer in the snapshot."
        ),
        example="Nine contacts at once, or a region whose rotation is not one.",
        what_to_do="Declare the contact again, for what is there, and as small as the task allows.",
    ),
)
