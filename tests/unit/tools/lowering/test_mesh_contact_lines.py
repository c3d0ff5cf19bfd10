# SPDX-License-Identifier: Apache-2.0
"""A triangle that is a line makes no contact of its own: Coal answers wrongly about spheres far from one."""

import coal
import numpy as np
import pytest

from lastgate.tools.lowering.mesh_contact import mesh_shape

SQUARE = np.array([[[0, 0, 0], [1, 0, 0], [1, 1, 0]], [[0, 0, 0], [1, 1, 0], [0, 1, 0]]], dtype=float)
LINE = np.array([[[0, 0, 0], [1, 1, 0], [0.5, 0.5, 0]]], dtype=float)


@pytest.mark.parametrize(("height_m", "meets"), [(0.11, False), (0.09, True)])
def test_sphere_meets_the_square_and_not_the_line_that_is_drawn_along_it(height_m, meets):
    sphere, at = coal.Sphere(0.1), coal.Transform3s(np.eye(3), np.array([0.6, 0.4, height_m]))
    result = coal.CollisionResult()
    coal.collide(
        mesh_shape(np.concatenate([SQUARE, LINE])),
        coal.Transform3s.Identity(),
        sphere,
        at,
        coal.CollisionRequest(),
        result,
    )
    assert result.isCollision() == meets
