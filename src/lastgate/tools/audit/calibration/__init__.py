# SPDX-License-Identifier: Apache-2.0
"""Whether zero, sign, unit, order and scale of recorded joints fit the manifest."""

from lastgate.tools.audit.calibration.check import CalibrationReport, JointAnswer, check_calibration
from lastgate.tools.audit.calibration.faults import Fault, Property
from lastgate.tools.audit.calibration.recording import RecordedMotion, load_motion

__all__ = [
    "CalibrationReport",
    "Fault",
    "JointAnswer",
    "Property",
    "RecordedMotion",
    "check_calibration",
    "load_motion",
]
