# SPDX-License-Identifier: Apache-2.0
"""Type checkers know every name that the contract promises, under the path that the contract gives it."""

import json
import subprocess
import sys
from pathlib import Path

SETTINGS = {
    "typeCheckingMode": "strict",
    # Three of the paths exist at run time only (contracts/renamed_modules.py); their types are in `lastgate-stubs`.
    "reportMissingModuleSource": False,
    "reportUnusedExpression": False,
}

# Each line uses what it imports, so that a name whose type is unknown is an error of strict checking.
PROGRAM = """
import numpy as np
import lastgate as lg
from lastgate.approach import (OccupancyGridIndex, compute_approach_viewpoint, compute_gaze_pose, line_of_sight,
                               look_at_quat, refine_approach_pose)
from lastgate.assets import resolve_asset
from lastgate.collision import (AllowedCollisionMatrix, CCDConfig, CollisionEnvironment, ContinuousCollisionDetector,
                                RobotSphereModel, SphereGenConfig, TwoTierCollisionChecker)

known: list[object] = [
    OccupancyGridIndex, compute_approach_viewpoint, compute_gaze_pose, line_of_sight, look_at_quat,
    refine_approach_pose, resolve_asset, AllowedCollisionMatrix, CCDConfig, CollisionEnvironment,
    ContinuousCollisionDetector, RobotSphereModel, SphereGenConfig, TwoTierCollisionChecker,
    lg.load_robot, lg.RobotDescription, lg.Gate, lg.RobotState, lg.World, lg.WorldCollisionPrimitive, lg.NO_WORLD,
    lg.ActionChunk, lg.ControlMode.JOINT_POSITION, lg.SafetyLatch, lg.KernelClient, lg.Verdict, lg.Pose6D,
]
gate = lg.Gate(lg.load_robot("franka_panda"), step_s=0.02)
count: int = gate.n_dof
rows = np.zeros((1, 7))
state = lg.RobotState(positions=rows[0], stamp_s=0.0)
accepted: bool = gate.check(lg.ActionChunk(rows), state=state, world=lg.NO_WORLD, now_s=0.0).accepted
"""


def errors_of(program: str, folder: Path) -> list[str]:
    """Returns what the type checker says of a program that stands outside of the repository."""
    (folder / "pyrightconfig.json").write_text(json.dumps(SETTINGS))
    (folder / "program.py").write_text(program)
    checker = Path(sys.executable).with_name("basedpyright")
    answer = subprocess.run(
        [checker, "--pythonpath", sys.executable, "--outputjson", "program.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    told = json.loads(answer.stdout)
    assert told["summary"]["filesAnalyzed"] == 1, answer.stderr
    return [one["message"] for one in told["generalDiagnostics"] if one["severity"] == "error"]


def test_every_name_of_the_contract_has_a_type(tmp_path):
    assert errors_of(PROGRAM, tmp_path) == []


def test_name_that_does_not_exist_is_an_error_under_a_moved_path(tmp_path):
    errors = errors_of("from lastgate.collision import Sphere\nprint(Sphere)\n", tmp_path)
    assert any('"Sphere" is unknown import symbol' in error for error in errors)
