# SPDX-License-Identifier: Apache-2.0
"""Every set of triangles is contained in its volumes, whatever its form and however many volumes it gets."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lastgate.tools.lowering.fit import fit_link
from lastgate.tools.lowering.lower import _entry
from lastgate.tools.lowering.prove import prove_containment
from lastgate.tools.lowering.shapes import LinkShapes, SourceShape

coordinates = st.floats(-0.5, 0.5, allow_nan=False, width=32)
vertex = st.tuples(coordinates, coordinates, coordinates)
triangle = st.tuples(vertex, vertex, vertex)


@settings(max_examples=25, deadline=None)
@given(triangles=st.lists(triangle, min_size=1, max_size=12), volumes_max=st.integers(1, 5))
def test_any_triangles_are_contained_in_their_volumes(triangles: list, volumes_max: int) -> None:
    soup = np.array(triangles, dtype=np.float64)
    shapes = LinkShapes.of("any", [SourceShape("mesh", np.eye(4), (), soup)])
    volumes = [
        _entry("any", volume) for volume in fit_link(shapes, volumes_max=volumes_max, gain_min=0.0).volumes
    ]
    assert len(volumes) <= volumes_max
    assert prove_containment(shapes, volumes).proved
