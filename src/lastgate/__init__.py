# SPDX-License-Identifier: Apache-2.0
"""The last gate between anything that proposes robot motion and the motors.

import lastgate as lg

gate = lg.Gate(lg.load_robot("franka_panda"), step_s=0.02)
verdict = gate.check(lg.ActionChunk(rows), state=state, world=world, now_s=now)
"""

from lastgate import contracts
from lastgate.certificate import Certificate
from lastgate.contracts import *  # noqa: F403 -- every schema of the contract is importable from here
from lastgate.contracts.action import ActionChunk, RobotState, RunningMotion
from lastgate.contracts.attached_shape import AttachedShape
from lastgate.contracts.renamed_modules import find_under_old_paths
from lastgate.contracts.renamed_names import getattr_of_renamed
from lastgate.gate import BatchVerdict, Gate
from lastgate.gate.declared_contact import DeclaredContact
from lastgate.gate.grasp import grasp, pose_of_held, release
from lastgate.gate.nav_goal import NavGoal
from lastgate.gate.proposals import Proposal
from lastgate.gate.stream import Stream
from lastgate.gate.verdict import Unchecked, Verdict, Violation
from lastgate.kernel.client import KernelClient, KernelState, KernelStatus
from lastgate.kernel.estop import SafetyLatch
from lastgate.kernel.process import KernelSettings
from lastgate.robots import load_robot, robot_names
from lastgate.world import NO_WORLD, FloorMap, OccupancyGridIndex, Points, Voxels, World

__version__ = "0.1.0"

find_under_old_paths()

__getattr__ = getattr_of_renamed(__name__)

__all__ = [  # noqa: PLE0604 -- the contract names are strings of another module
    "NO_WORLD",
    "ActionChunk",
    "AttachedShape",
    "BatchVerdict",
    "Certificate",
    "DeclaredContact",
    "FloorMap",
    "Gate",
    "KernelClient",
    "KernelSettings",
    "KernelState",
    "KernelStatus",
    "NavGoal",
    "OccupancyGridIndex",
    "Points",
    "Proposal",
    "RobotState",
    "RunningMotion",
    "SafetyLatch",
    "Stream",
    "Unchecked",
    "Verdict",
    "Violation",
    "Voxels",
    "World",
    "__version__",
    "grasp",
    "load_robot",
    "pose_of_held",
    "release",
    "robot_names",
    *contracts.__all__,
]
