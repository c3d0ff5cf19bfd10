# SPDX-License-Identifier: Apache-2.0
"""Violations of limits on the end effector and on the base."""

from lastgate.contracts.enums import FailureKind
from lastgate.contracts.violation_codes import ViolationCode, ViolationEntry

TOOL_LIMIT_ENTRIES = (
    ViolationEntry(
        code=ViolationCode.cartesian_step,
        kind=FailureKind.WORKSPACE,
        what_it_checks="That the translation of one CARTESIAN_DELTA step is at most `max_cartesian_step_m`.",
        why_it_matters="One wrong number in a Cartesian step moves the whole arm.",
        known_limits=(
            "It bounds one step; the sum over a chunk is bounded by the workspace box and the speeds, "
            "where they are declared. How far a CARTESIAN_POSE step leads is bounded by the joint speeds."
        ),
        example="A CARTESIAN_DELTA step in millimetres for a robot that reads metres.",
        what_to_do="Check the unit and the frame, then split the motion into more steps.",
    ),
    ViolationEntry(
        code=ViolationCode.cartesian_rotation_step,
        kind=FailureKind.WORKSPACE,
        what_it_checks="That the rotation of one CARTESIAN_DELTA step is at most `max_cartesian_step_rad`.",
        why_it_matters="A large rotation about the tool swings everything the tool carries.",
        known_limits=(
            "The angle is the length of the step's rotation vector. How far a CARTESIAN_POSE step turns is "
            "bounded by the joint speeds."
        ),
        example="Roll, pitch and yaw in degrees where a rotation vector in radians is read.",
        what_to_do="Send rotation vectors in radians and split large rotations into more steps.",
    ),
    ViolationEntry(
        code=ViolationCode.ee_speed,
        kind=FailureKind.FORCE,
        what_it_checks=(
            "That no tool point moves faster than `max_ee_speed_m_s`: in CARTESIAN_TWIST steps, and by "
            "forward kinematics from step to step in the joint and Cartesian modes."
        ),
        why_it_matters="The energy of a contact grows with the square of the speed.",
        known_limits=(
            "Only tool points of declared end effectors are checked; an elbow may be faster. Between "
            "two steps it is the straight distance over the step time, in parts where the joints turn by more "
            "than half a radian together, so a tool on an arc is a little faster than what is compared. "
            "JOINT_TORQUE and BODY_TWIST have no tool speeds, and their verdicts list that."
        ),
        example="ee_speed: gripper at step 4 is 0.8000 m/s, allowed 0.0000 to 0.5000 m/s",
        what_to_do=(
            "Slow the chunk down. A skill may ask for less speed than the robot allows, never for more."
        ),
    ),
    ViolationEntry(
        code=ViolationCode.ee_angular_speed,
        kind=FailureKind.FORCE,
        what_it_checks=(
            "That no end effector turns faster than `max_ee_angular_speed_rad_s`: in CARTESIAN_TWIST "
            "steps, and by forward kinematics from step to step in the joint and Cartesian modes."
        ),
        why_it_matters="A long object in the gripper turns a slow wrist into a fast tip.",
        known_limits=(
            "Between two steps it is the smallest angle between the two orientations over the step time, in parts "
            "where the joints turn by more than half a radian together. "
            "The speed of a carried object's tip is not computed; attach the object so that its volume is "
            "checked for contact."
        ),
        example="A CARTESIAN_TWIST step with its angular part in degrees per second.",
        what_to_do="Check the unit, then slow the rotation down.",
    ),
    ViolationEntry(
        code=ViolationCode.ee_acceleration,
        kind=FailureKind.FORCE,
        what_it_checks="That the change of tool velocity along the path is at most `max_ee_accel_m_s2`.",
        why_it_matters=(
            "A sudden start or stop of the tool throws what it holds and shakes what carries it."
        ),
        known_limits=(
            "It is the difference of step velocities over the step time; what happens within a step is up "
            "to the controller. Without measured velocities the first step is not checked, and the "
            "verdict lists it."
        ),
        example="A chunk that goes from rest to full tool speed in its first step.",
        what_to_do=(
            "Ramp the motion up over several steps and start each chunk with the velocity of the last one."
        ),
    ),
    ViolationEntry(
        code=ViolationCode.base_linear_speed,
        kind=FailureKind.FORCE,
        what_it_checks=(
            "That a BODY_TWIST step moves the base at most at `max_base_linear_speed_m_s`, and along the "
            "floor only."
        ),
        why_it_matters="The base carries the weight of the whole robot into a contact.",
        known_limits="The commanded speed is evaluated, not the speed the floor lets the wheels reach.",
        example="A teleoperation stick that was mapped without a scale.",
        what_to_do="Scale the command at its source.",
    ),
    ViolationEntry(
        code=ViolationCode.base_angular_speed,
        kind=FailureKind.FORCE,
        what_it_checks=(
            "That a BODY_TWIST step turns the base at most at `max_base_angular_speed_rad_s`, and about "
            "the vertical only."
        ),
        why_it_matters="A turning base sweeps an outstretched arm through the room.",
        known_limits="The commanded rate is evaluated, not the measured one.",
        example="A turn rate in degrees per second.",
        what_to_do="Check the unit, scale the command, and fold the arm before turning.",
    ),
    ViolationEntry(
        code=ViolationCode.workspace_box,
        kind=FailureKind.WORKSPACE,
        what_it_checks=(
            "That the tool point stays inside the workspace box of the base frame: in CARTESIAN_POSE "
            "steps, and at every instant of the joint path in every mode but BODY_TWIST, which carries the "
            "box along."
        ),
        why_it_matters="The box is the space that people were told the tool stays in.",
        known_limits=(
            "Only tool points are kept inside; an elbow may leave the box. Use no-go zones to keep every "
            "link out of a volume. A path that moves to within 0.1 mm of the wall is rejected."
        ),
        example="workspace_box: the tool of gripper is 0.0200 m outside the workspace box at step 7",
        what_to_do=(
            "Check in which frame the target is given, then move the task into the box or the box to the "
            "task, in the robot's manifest."
        ),
    ),
    ViolationEntry(
        code=ViolationCode.quaternion_norm,
        kind=FailureKind.WORKSPACE,
        what_it_checks="That the quaternion of a CARTESIAN_POSE step has unit length, to 0.001.",
        why_it_matters=(
            "A quaternion off unit length has no one meaning: two programs normalise it to two poses, or "
            "scale the arm."
        ),
        known_limits="A unit quaternion in the order w x y z is read as x y z w without a complaint.",
        example="A step of zeros, or a step that has the position first and the quaternion after it.",
        what_to_do="Send x y z w, then x y z; normalise after interpolating.",
    ),
    ViolationEntry(
        code=ViolationCode.cartesian_frame,
        kind=FailureKind.CONTROLLER,
        state="cartesian_frame",
        what_it_checks=(
            "That a Cartesian chunk names an end effector of the robot and a frame in which its steps can "
            "be read, and a gripper chunk the end effector whose gripper it moves."
        ),
        why_it_matters="The same numbers in another frame are another motion.",
        known_limits="It cannot tell that a known frame is not the one that was meant.",
        example="An `ee_name` of a left arm on a robot that declares only one gripper.",
        what_to_do=(
            "Use the names of the manifest's `end_effectors`, and steps in the base frame or, except for "
            "poses, in the axes of that end effector. With one end effector the name may be left out."
        ),
    ),
    ViolationEntry(
        code=ViolationCode.cartesian_unreachable,
        kind=FailureKind.WORKSPACE,
        what_it_checks=(
            "That a joint path is found which follows the Cartesian steps from the measured state to 1 cm and, "
            "with six joints or more, to 0.1 rad, and that no step turns the tool by half a turn or more; what "
            "remains, and the declared deviation, are added to every margin."
        ),
        why_it_matters=(
            "Where the arm cannot follow, what it does instead is up to its controller and was not checked."
        ),
        known_limits=(
            "The path is found step by step from the measured state; a pose that only another arm "
            "configuration reaches counts as unreachable. With fewer than six joints orientation is followed as "
            "far as the arm can, and what remains of it is not bounded. Half a turn has two ways around, and a "
            "step does not say which."
        ),
        example="A delta along the tool axis of an arm that is already stretched out.",
        what_to_do=(
            "Stay away from singular poses, turn in several steps, or plan in joint space and send joint steps."
        ),
    ),
)
