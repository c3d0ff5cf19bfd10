# SPDX-License-Identifier: Apache-2.0
"""Violations about the gate's own readiness and the shape of a request."""

from lastgate.contracts.enums import FailureKind
from lastgate.contracts.violation_codes import ViolationCode, ViolationEntry

REQUEST_ENTRIES = (
    ViolationEntry(
        code=ViolationCode.not_checked,
        kind=FailureKind.CONTROLLER,
        state="not_checked",
        what_it_checks="Nothing: no check ran, and a verdict that was not filled in rejects.",
        why_it_matters="Memory that was zeroed or never written must never read as permission to move.",
        known_limits="It says that the verdict is empty, not why it is.",
        example="A verdict read from a slot that the kernel has not written yet.",
        what_to_do=(
            "Hand the chunk to the gate and read the verdict it returns. If the gate itself returned "
            "this, report it with the recording: it is a defect of lastgate."
        ),
    ),
    ViolationEntry(
        code=ViolationCode.internal_fault,
        kind=FailureKind.CONTROLLER,
        state="internal_fault",
        what_it_checks=(
            "Beliefs of the code about itself, at the places where a wrong one could let a motion pass."
        ),
        why_it_matters="When one of them is false, no later answer of this gate can be relied on.",
        known_limits=(
            "Only beliefs that are written down as checks are noticed, and no check of this version gives "
            "this code."
        ),
        example="A check is reached with a joint count other than the robot model's.",
        what_to_do=(
            "Keep the recording, build a fresh gate, and report the case: it is a defect of lastgate."
        ),
    ),
    ViolationEntry(
        code=ViolationCode.envelope_unconfigured,
        kind=FailureKind.CONTROLLER,
        state="envelope_unconfigured",
        what_it_checks="That the kernel is active: configured, with every required e-stop source alive.",
        why_it_matters="A gate without limits could only guess, and one that nothing can stop must not move.",
        known_limits=(
            "It cannot tell a robot that was configured wrongly from the right one. Only the kernel "
            "process gives this code: a `Gate` that cannot be configured cannot be built."
        ),
        example="A chunk arrives while the kernel waits for a deadman that its envelope requires.",
        what_to_do=(
            "Start what the kernel waits for: `lastgate deadman --robot R`, or another required source. "
            "`lastgate status` says whether it is active."
        ),
    ),
    ViolationEntry(
        code=ViolationCode.estop_latched,
        kind=FailureKind.CONTROLLER,
        state="estop_latched",
        what_it_checks="That no emergency stop is latched.",
        why_it_matters="After a stop, motion starts again only when a person has asked for it.",
        known_limits=(
            "The latch stops what passes through the kernel process; a `Gate` alone has none. It does not "
            "cut power: that is what the hardware stop is for."
        ),
        example="A policy goes on streaming after one of its chunks was rejected.",
        what_to_do=(
            "`lastgate status` names the source and the reason. Remove the cause, release every source, "
            "then `lastgate reset`."
        ),
    ),
    ViolationEntry(
        code=ViolationCode.control_mode,
        kind=FailureKind.CONTROLLER,
        state="dim_mismatch",
        field="control_mode",
        what_it_checks="That the chunk's control mode is known and enabled for this robot.",
        why_it_matters="A mode whose limits are not declared has nothing it could be checked against.",
        known_limits="FOOT_PLACEMENT is always rejected: there is no model of footholds.",
        example="A CARTESIAN_DELTA chunk for a robot that declares no `max_cartesian_step_m`.",
        what_to_do=(
            "Declare the limits of the mode in the manifest's `safety`, and list the mode in "
            "`control_modes` if that list is present; or send a mode that is enabled."
        ),
    ),
    ViolationEntry(
        code=ViolationCode.ndof_mismatch,
        kind=FailureKind.CONTROLLER,
        state="ndof_mismatch",
        what_it_checks="That the chunk's `n_dof` is the step width its control mode requires.",
        why_it_matters=(
            "A step read with the wrong width moves every joint after the first by another one's number."
        ),
        known_limits=(
            "The right count in the wrong order cannot be seen here; `gate.joint_names` is the order."
        ),
        example="A step with a gripper column added to the joints of an arm whose model has no such joint.",
        what_to_do=(
            "Compare the policy's output with `gate.joint_names`; gripper, mimic and fixed joints have no "
            "column."
        ),
    ),
    ViolationEntry(
        code=ViolationCode.dim_mismatch,
        kind=FailureKind.CONTROLLER,
        state="dim_mismatch",
        field="flat",
        what_it_checks=(
            "That the chunk holds horizon x width numbers, and a horizon from one to the capacity."
        ),
        why_it_matters=(
            "A missing or extra number shifts every step after it; an endless horizon has no bound."
        ),
        known_limits="The capacity is fixed when the core is built.",
        example="A horizon of zero, or a `flat` array that was cut off by a message size limit.",
        what_to_do="Send whole steps. Split a horizon that is over the capacity into several chunks.",
    ),
    ViolationEntry(
        code=ViolationCode.nan_in_action,
        kind=FailureKind.CONTROLLER,
        state="nan_in_action",
        what_it_checks="That every number of the chunk is finite.",
        why_it_matters="NaN compares false with every limit, and a controller may turn it into any motion.",
        known_limits="A finite number that is nonsense is left to the limits.",
        example="A policy whose normalisation divided by a standard deviation of zero.",
        what_to_do=("Check the index in the evidence and at the policy's un-normalisation for that column."),
    ),
    ViolationEntry(
        code=ViolationCode.budget_exceeded,
        kind=FailureKind.CONTROLLER,
        state="budget_exceeded",
        what_it_checks="That the verdict was reached within the evaluation budget.",
        why_it_matters=(
            "A verdict that comes after the control cycle is no verdict, and an unfinished check has "
            "shown nothing."
        ),
        known_limits="The chunk may be harmless: it was not shown to be, within the budget.",
        example="A long jump past many obstacles at grazing distance, which needs very many subdivisions.",
        what_to_do=(
            "Send shorter or fewer steps, thin out the world outside the robot's reach, or give the "
            "gate a larger budget if the control cycle allows it."
        ),
    ),
)
