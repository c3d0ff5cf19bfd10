# SPDX-License-Identifier: Apache-2.0
"""Violations of limits in joint space, and of the gripper's range."""

from lastgate.contracts.enums import FailureKind
from lastgate.contracts.violation_codes import ViolationCode, ViolationEntry

JOINT_LIMIT_ENTRIES = (
    ViolationEntry(
        code=ViolationCode.joint_position_limit,
        kind=FailureKind.WORKSPACE,
        what_it_checks=(
            "That every joint stays inside `position_limits`: in the steps themselves; where steps are "
            "velocities, Cartesian or gripper commands, along the joint path they lead to; and in "
            "JOINT_TORQUE everywhere the speed limits allow within the horizon."
        ),
        why_it_matters=(
            "Beyond its range a joint meets its end stop, or a controller that faults under load."
        ),
        known_limits=(
            "Ranges that depend on other joints are not modelled. A continuous joint has the range of the "
            "core's arithmetic, 1e4 rad either way. A measured joint may rest 0.005 beyond its limit, in "
            "recovery 0.1; a commanded one may not."
        ),
        example="joint_position_limit: elbow at step 3 is 2.6100 rad, allowed -2.5000 to 2.5000 rad",
        what_to_do=(
            "Check the unit (rad, not degrees or normalised values) and the joint order, then the "
            "policy's training range. A measured position outside the range needs the recovery mode or a "
            "hand."
        ),
    ),
    ViolationEntry(
        code=ViolationCode.joint_velocity_limit,
        kind=FailureKind.WORKSPACE,
        what_it_checks=(
            "That every step needs at most `velocity_limit` times `max_joint_speed_factor`, from the "
            "measured position to step 0 and from each step to the next; in JOINT_VELOCITY also the step "
            "itself."
        ),
        why_it_matters="A jump between steps is a command for a speed that no limit in the steps would show.",
        known_limits=(
            "The speed between two steps is their difference over the step time; what a controller adds by "
            "interpolating differently is not seen. A gripper step is a target without a time and has no "
            "speed."
        ),
        example=(
            "joint_velocity_limit: wrist at step 0 is 9.4000 rad/s, allowed -2.6100 to 2.6100 rad/s, when "
            "step 0 is far from where the arm stands."
        ),
        what_to_do=(
            "Compare `step_s` with the rate at which steps are executed, start chunks from the measured "
            "state, and slow the motion down."
        ),
    ),
    ViolationEntry(
        code=ViolationCode.joint_torque_limit,
        kind=FailureKind.FORCE,
        what_it_checks=(
            "That every JOINT_TORQUE value is inside the joint's `effort_limit` and the envelope's "
            "`max_torque_nm`, or `max_force_n` for a prismatic joint."
        ),
        why_it_matters="Torque turns into speed and contact force with nothing in between.",
        known_limits=(
            "The torque that arises when a position controller meets an obstacle is not predicted."
        ),
        example="joint_torque_limit: shoulder at step 0 is 120.0000 Nm, allowed -87.0000 to 87.0000 Nm",
        what_to_do=(
            "Scale or saturate in the policy, where it is a decision; the gate does not edit commands."
        ),
    ),
    ViolationEntry(
        code=ViolationCode.joint_acceleration_limit,
        kind=FailureKind.WORKSPACE,
        what_it_checks=(
            "That the change of step velocity stays inside `acceleration_limit`, for robots that declare "
            "one for every joint."
        ),
        why_it_matters=(
            "Steps that are each slow enough can still ask for a jerk that the drive answers with a fault."
        ),
        known_limits=(
            "Without measured velocities the first step is not checked, and without declared limits "
            "nothing is; the verdict lists either."
        ),
        example="A chunk that reverses direction from one step to the next at full speed.",
        what_to_do="Smooth the chunk or blend it with the one before; give `velocities` in the state.",
    ),
    ViolationEntry(
        code=ViolationCode.gripper_range,
        kind=FailureKind.WORKSPACE,
        what_it_checks=(
            "That a GRIPPER_POSITION or COMPOSITE_MODE value is inside `gripper_min` to `gripper_max`, in "
            "units of the command channel, and a GRIPPER_BINARY value inside 0 to 1."
        ),
        why_it_matters="Outside the channel's range a driver may clamp, wrap around or fault.",
        known_limits=(
            "How hard and how fast the gripper closes is not checked. A binary command may mean either "
            "end, so the fingers are taken to be anywhere between."
        ),
        example="A policy that gives -1 for closed, to a gripper whose channel runs from 0 to 1.",
        what_to_do="Map the policy's output to the channel declared in the manifest's `end_effectors`.",
    ),
)
