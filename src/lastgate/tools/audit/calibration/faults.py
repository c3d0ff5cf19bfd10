# SPDX-License-Identifier: Apache-2.0
"""What can be wrong with a recorded joint, each with what undoes it: position = factor * recorded + offset."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import pi

import numpy as np

from lastgate.contracts import JointSpec
from lastgate.contracts.arrays import Float64

# Half, four fifths and their inverses: gears and half turns are wrong by such factors.
SCALES = (0.5, 0.8, 1.25, 2.0)
# A quarter turn is a horn that was mounted wrongly; fifteen degrees, a few of its teeth.
ZEROS_RAD = (-pi / 2, -pi / 12, pi / 12, pi / 2)
# Of a joint that slides; the grippers and lifts of the library travel from centimetres to a metre.
ZEROS_M = (-0.1, 0.1)


class Property(StrEnum):
    """What a calibration has to get right, joint by joint."""

    ZERO = "zero"
    SIGN = "sign"
    UNIT = "unit"
    ORDER = "order"
    SCALE = "scale"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One thing that is wrong with the numbers of one joint, of two neighbours, or (unit) of all.

    Attributes:
        joints: Places in the row; both where two are swapped, all where the whole recording is in another unit.
        factor: Undoes it together with `offset`: position = factor * recorded + offset.
        words: What a person reads.
    """

    kind: Property
    joints: tuple[int, ...]
    words: str
    factor: float = 1.0
    offset: float = 0.0

    def undo(self, recorded: Float64) -> Float64:
        """Returns the positions as they were, had this fault been in the recording."""
        positions = recorded.copy()
        columns = list(self.joints)
        if self.kind is Property.ORDER:
            positions[:, columns] = recorded[:, columns[::-1]]
        else:
            positions[:, columns] = self.factor * recorded[:, columns] + self.offset
        return positions


def faults_of(joints: Sequence[JointSpec]) -> Iterator[Fault]:
    """Yields every fault that is asked about."""
    for index, joint in enumerate(joints):
        name, slides = joint.name, joint.joint_type == "prismatic"
        yield Fault(kind=Property.SIGN, joints=(index,), factor=-1.0, words=f"{name} is mirrored")
        for offset in ZEROS_M if slides else ZEROS_RAD:
            yield zero_fault(joint, index, offset)
        for scale in SCALES:
            yield scale_fault(joint, index, scale)
        yield from _unit_faults((index,), joint.name, slides=slides)
        if index + 1 < len(joints):
            swapped = f"{name} and {joints[index + 1].name} are swapped"
            yield Fault(kind=Property.ORDER, joints=(index, index + 1), words=swapped)
    turning = tuple(index for index, joint in enumerate(joints) if joint.joint_type != "prismatic")
    if len(turning) > 1:
        yield from _unit_faults(turning, "every joint that turns", slides=False)


def zero_fault(joint: JointSpec, index: int, offset: float) -> Fault:
    """Returns the fault of a joint whose recorded zero is off; `offset` undoes it."""
    off = (
        f"{-offset * 1000.0:+.0f} mm"
        if joint.joint_type == "prismatic"
        else f"{np.degrees(-offset):+.0f} degrees"
    )
    return Fault(
        kind=Property.ZERO, joints=(index,), offset=offset, words=f"the zero of {joint.name} is {off} off"
    )


def scale_fault(joint: JointSpec, index: int, scale: float) -> Fault:
    """Returns the fault of a joint that is recorded `scale` times as large as it is."""
    words = f"{joint.name} is recorded {scale:.3g} times as large"
    return Fault(kind=Property.SCALE, joints=(index,), factor=1.0 / scale, words=words)


def _unit_faults(indices: tuple[int, ...], name: str, *, slides: bool) -> Iterator[Fault]:
    large, small, factor = ("millimetres", "metres", 1e-3) if slides else ("degrees", "radians", pi / 180.0)
    for recorded, taken, undone in ((large, small, factor), (small, large, 1.0 / factor)):
        words = f"{name} is in {recorded} and is read as {taken}"
        yield Fault(kind=Property.UNIT, joints=indices, factor=undone, words=words)
