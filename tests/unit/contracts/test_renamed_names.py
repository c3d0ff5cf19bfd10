# SPDX-License-Identifier: Apache-2.0
"""Old names still work, and say what to write instead."""

from pathlib import Path

import numpy as np
import pytest
from fixtures.analytic_robots import planar_two_link

import lastgate as lg
from lastgate.gate import chosen_simd
from lastgate.planning.collision import CollisionEnvironment, RobotSphereModel

NAMES = (Path(__file__).parents[3] / "docs" / "reference" / "names.md").read_text(encoding="utf-8")


def test_old_name_of_a_class_is_the_class():
    with pytest.warns(DeprecationWarning, match=r"lastgate\.AttachedShape instead of lastgate\.HeldShape"):
        assert lg.HeldShape is lg.AttachedShape
    assert "HeldShape" not in lg.__all__


def test_name_that_never_was_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'HeldShapes'"):
        lg.HeldShapes  # noqa: B018 -- reading it is the test


def test_old_attributes_give_what_the_ones_of_today_give():
    robot = lg.RobotDescription(**planar_two_link())
    gate = lg.Gate(robot, step_s=0.02)
    with pytest.warns(DeprecationWarning, match="attached_shapes"):
        assert gate.held_shapes == gate.attached_shapes
    environment = CollisionEnvironment.build(
        np.array([[0.0, 0.0, 0.0, 0.1]]), 0.05, ((-1.0, -1.0, -1.0), (1.0, 1.0, 1.0))
    )
    with pytest.warns(DeprecationWarning, match="spheres"):
        assert (environment.balls == environment.spheres).all()
    model = RobotSphereModel.from_robot(robot)
    with pytest.warns(DeprecationWarning, match="spheres_in_links"):
        assert (model.balls_in_links == model.spheres_in_links).all()


def test_old_variable_chooses_the_build_and_the_one_of_today_counts_more(monkeypatch):
    monkeypatch.delenv("LASTGATE_SIMD", raising=False)
    monkeypatch.setenv("LASTGATE_LANES", "generic")
    with pytest.warns(DeprecationWarning, match="LASTGATE_SIMD"):
        assert chosen_simd() == "generic"
    monkeypatch.setenv("LASTGATE_LANES", "none")
    with (
        pytest.warns(DeprecationWarning, match="LASTGATE_SIMD"),
        pytest.raises(lg.ROSConfigError, match="LASTGATE_LANES=none"),
    ):
        chosen_simd()
    monkeypatch.setenv("LASTGATE_SIMD", "generic")
    assert chosen_simd() == "generic"


@pytest.mark.parametrize(
    "old", ["HeldShape", "held_shapes", "CollisionEnvironment.balls", "balls_in_links", "LASTGATE_LANES"]
)
def test_every_old_name_is_on_the_page(old):
    assert old in NAMES
