# SPDX-License-Identifier: Apache-2.0
"""The gate: chunks in, verdicts out."""

from lastgate.gate.declared_contact import DeclaredContact
from lastgate.gate.gate import BatchVerdict, Gate, require_gate
from lastgate.gate.grasp import grasp, pose_of_held, release
from lastgate.gate.nav_goal import NavGoal
from lastgate.gate.proposals import Proposal, ProposalKind
from lastgate.gate.simd_choice import SIMD_VARIABLE, chosen_simd, simd_build
from lastgate.gate.stream import Stream
from lastgate.gate.verdict import Unchecked, Verdict, Violation

__all__ = [
    "SIMD_VARIABLE",
    "BatchVerdict",
    "DeclaredContact",
    "Gate",
    "NavGoal",
    "Proposal",
    "ProposalKind",
    "Stream",
    "Unchecked",
    "Verdict",
    "Violation",
    "chosen_simd",
    "grasp",
    "pose_of_held",
    "release",
    "require_gate",
    "simd_build",
]
