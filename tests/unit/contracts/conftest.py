# SPDX-License-Identifier: Apache-2.0
"""A robot that a human can check on paper, as the dictionary a manifest is read into."""

from collections.abc import Callable
from typing import Any

import pytest
from fixtures.analytic_robots import joint as complete_joint
from pydantic import ValidationError

from lastgate.contracts import RobotDescription, describe_validation_error

Manifest = dict[str, Any]
NOT_FINITE = [float("nan"), float("inf"), float("-inf"), 1e309]


def joint(name: str, parent_link: str, child_link: str, **changes: Any) -> Manifest:
    """Returns a revolute joint that is complete, with `changes` on top; a change to None removes the key."""
    limits = {"position_limits": [-2.5, 2.5], "velocity_limit": 2.0}
    return complete_joint(name, parent_link, child_link, **{**limits, **changes})


@pytest.fixture
def manifest() -> Manifest:
    return {
        "name": "planar_two_link",
        "base_frame": "base",
        "joints": [joint("shoulder", "base", "upper_arm"), joint("elbow", "upper_arm", "forearm")],
        "collision_geometry": [
            {"link_name": "upper_arm", "shape": {"shape": "capsule", "radius_m": 0.05, "length_m": 0.2}},
            {"link_name": "forearm", "shape": {"shape": "sphere", "radius_m": 0.04}},
        ],
        "allowed_collision_pairs": [{"link_a": "upper_arm", "link_b": "forearm", "reason": "adjacent"}],
    }


@pytest.fixture
def problems_of(manifest: Manifest) -> Callable[..., list[str]]:
    """Returns the sentences with which the manifest is refused once some of its keys are changed."""

    def refuse(**changes: Any) -> list[str]:
        with pytest.raises(ValidationError) as refusal:
            RobotDescription(**{**manifest, **changes})
        return describe_validation_error(refusal.value)

    return refuse
