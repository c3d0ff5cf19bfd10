# SPDX-License-Identifier: Apache-2.0
"""A bracket behind a fixed joint against the link before its joint: Coal meets the shapes, the gate must reject."""

from pathlib import Path

import coal
import numpy as np
import pinocchio
import pytest

import lastgate as lg
from lastgate.tools.cli.app import run

URDF = Path(__file__).parents[1] / "fixtures" / "robots" / "bracket_arm.urdf"


@pytest.fixture(scope="module")
def added(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bracket")
    (folder / "arm.urdf").write_bytes(URDF.read_bytes())
    arguments = ["robot", "add", "arm", "--urdf", "file:arm.urdf", "-o", str(folder), "--samples", "200"]
    assert run(arguments) == 0
    return folder


def test_contacts_of_a_bracket_are_rejected_and_clear_states_accepted(added: Path) -> None:
    gate = lg.Gate(lg.load_robot(str(added / "robot.yaml")), step_s=0.1)
    model = pinocchio.buildModelFromUrdf(str(URDF))
    geometry = pinocchio.buildGeomFromUrdf(model, str(URDF), pinocchio.GeometryType.COLLISION)
    data, placed = model.createData(), geometry.createData()
    index = {item.name.rsplit("_", 1)[0]: number for number, item in enumerate(geometry.geometryObjects)}
    states = np.random.default_rng(12).uniform([-2.0, -2.9], [2.0, 2.9], (1000, 2))
    accepted = gate.check_batch(states, world=lg.NO_WORLD).accepted
    touching = np.zeros(len(states), dtype=bool)
    for row, q in enumerate(states):
        pinocchio.updateGeometryPlacements(model, data, geometry, placed, q)
        shapes = [geometry.geometryObjects[index[link]].geometry for link in ("camera", "upper")]
        poses = [
            coal.Transform3s(placed.oMg[index[link]].rotation, placed.oMg[index[link]].translation)
            for link in ("camera", "upper")
        ]
        touching[row] = coal.collide(
            shapes[0], poses[0], shapes[1], poses[1], coal.CollisionRequest(), coal.CollisionResult()
        )
    assert touching.sum() >= 20
    assert not (touching & accepted).any()
    assert (~touching & accepted).sum() >= 500


def test_report_prints_in_how_many_states_every_exempt_pair_meets(added: Path) -> None:
    robot = lg.load_robot(str(added / "robot.yaml"))
    report = (added / "arm_report.md").read_text()
    lines = [line for line in report.splitlines() if line.startswith("- `") and "meshes meet in" in line]
    assert len(lines) == len(robot.allowed_collision_pairs) > 0
