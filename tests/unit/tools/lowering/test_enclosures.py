# SPDX-License-Identifier: Apache-2.0
"""What lies wholly inside a mesh is found, and what is outside, beside it or no mesh is not."""

import numpy as np
import pytest
import trimesh

from lastgate.tools.lowering.enclosures import Enclosures
from lastgate.tools.lowering.rigid import transform

SHELL, PEA = (np.array(trimesh.creation.box(extents=(side_m,) * 3).triangles) for side_m in (1.0, 0.1))
COUPLES = [(0, 1, ("pea", "shell"))]


def placed(x_m: float) -> np.ndarray:
    """Returns the shell turned and far away, and the pea so far along its x axis."""
    shell = transform((3.0, -2.0, 1.0), (0.4, -0.7, 2.0))
    return np.array([shell, shell @ transform((x_m, 0.0, 0.0), (1.0, 1.0, 1.0))])


@pytest.mark.parametrize(("x_m", "is_inside"), [(0.0, True), (0.35, True), (0.65, False), (5.0, False)])
def test_pea_is_inside_its_shell_or_not(x_m: float, is_inside: bool) -> None:
    for soups, couples in (([SHELL, PEA], COUPLES), ([SHELL, None], COUPLES)):
        assert Enclosures(soups, couples).pairs_at(placed(x_m)) == (
            {("pea", "shell")} if is_inside else set()
        )


def test_order_of_the_two_does_not_matter() -> None:
    assert Enclosures([SHELL, PEA], [(1, 0, ("pea", "shell"))]).pairs_at(placed(0.0)) == {("pea", "shell")}


def test_pair_that_is_named_is_left_out() -> None:
    assert Enclosures([SHELL, PEA], COUPLES).pairs_at(placed(0.0), besides={("pea", "shell")}) == set()


def test_what_is_no_mesh_encloses_nothing_and_no_couples_are_no_pairs() -> None:
    assert Enclosures([None, PEA], COUPLES).pairs_at(placed(0.35)) == set()
    assert Enclosures([SHELL, PEA], []).pairs_at(placed(0.0)) == set()


@pytest.mark.parametrize(("x_m", "is_inside"), [(0.0, True), (5.0, False)])
def test_part_far_from_the_first_vertex_and_parts_of_opposite_winding_are_found(
    x_m: float, is_inside: bool
) -> None:
    scattered = np.concatenate([PEA + np.array([30.0, 0.0, 0.0]), PEA])
    cancelled = np.concatenate([SHELL, 0.9 * SHELL[:, ::-1]])
    for soups in ([SHELL, scattered], [cancelled, PEA]):
        found = Enclosures(soups, COUPLES).pairs_at(placed(x_m))
        assert found == ({("pea", "shell")} if is_inside else set())
