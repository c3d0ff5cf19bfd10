# SPDX-License-Identifier: Apache-2.0
"""Numbers that travel on the wire; a value is never renumbered and never reused."""

from enum import IntEnum

from lastgate.contracts.exceptions import ROSConfigError


class ControlMode(IntEnum):
    """The meaning of the columns of a chunk."""

    JOINT_POSITION = 0
    JOINT_VELOCITY = 1
    JOINT_TORQUE = 2
    JOINT_TRAJECTORY = 3
    CARTESIAN_POSE = 4
    CARTESIAN_DELTA = 5
    CARTESIAN_TWIST = 6
    BODY_TWIST = 7
    FOOT_PLACEMENT = 8
    GRIPPER_BINARY = 9
    GRIPPER_POSITION = 10
    DEX_HAND_JOINT = 11
    COMPOSITE_MODE = 12

    @property
    def is_joint_mode(self) -> bool:
        """True if a step holds one number per joint."""
        return self in _JOINT_MODES

    def row_width(self, n_dof: int) -> int:
        """Returns how many numbers one step holds on a robot with `n_dof` joints.

        Raises:
            ROSConfigError: The mode has no step layout (FOOT_PLACEMENT), or `n_dof` is not a whole number of
                at least one while the mode needs it.
        """
        if self.is_joint_mode:
            if isinstance(n_dof, bool) or not isinstance(n_dof, int) or n_dof < 1:
                raise ROSConfigError(f"a {self.name} step needs at least one joint, got n_dof {n_dof!r}")
            return n_dof
        width = _FIXED_ROW_WIDTHS.get(self)
        if width is None:
            raise ROSConfigError(f"{self.name} has no step layout: the gate rejects this mode")
        return width


_JOINT_MODES = frozenset(
    {
        ControlMode.JOINT_POSITION,
        ControlMode.JOINT_VELOCITY,
        ControlMode.JOINT_TORQUE,
        ControlMode.JOINT_TRAJECTORY,
        ControlMode.DEX_HAND_JOINT,
    }
)

_FIXED_ROW_WIDTHS = {
    ControlMode.CARTESIAN_POSE: 7,  # quaternion x y z w, then x y z
    ControlMode.CARTESIAN_DELTA: 6,  # linear, then rotation vector
    ControlMode.CARTESIAN_TWIST: 6,  # linear, then angular
    ControlMode.BODY_TWIST: 6,
    ControlMode.GRIPPER_BINARY: 1,
    ControlMode.GRIPPER_POSITION: 1,
    ControlMode.COMPOSITE_MODE: 1,
}


class FailureKind(IntEnum):
    """The kind of failure that a `FailureTrigger` reports."""

    TIMEOUT = 0
    FORCE = 1
    WORKSPACE = 2
    PERCEPTION = 3
    CRITIC = 4
    CONTROLLER = 5
    SELFVERIFY = 6
    HUMAN = 7
    WAM = 8
    REASONER_TIMEOUT = 9
    COLLISION = 10
    SUPPRESSED_SUMMARY = 254


class Severity(IntEnum):
    """The severity of a `FailureTrigger`; of a rejected chunk it is always ABORT."""

    INFO = 0
    WARN = 1
    FAIL = 2
    ABORT = 3
