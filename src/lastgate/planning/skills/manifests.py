# SPDX-License-Identifier: Apache-2.0
"""The manifests of the skills that come with lastgate."""

from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from lastgate.contracts import ROSConfigError, RSkillManifest, config_error_from
from lastgate.robots import read_manifest

GoalBuilder = Literal["joint", "pose", "look_at"]
GOAL_BUILDERS: tuple[GoalBuilder, ...] = ("joint", "pose", "look_at")


def load_skill_manifest(goal_builder: GoalBuilder) -> RSkillManifest:
    """Returns the manifest of the skill that uses a goal builder; an unknown one raises `ROSConfigError`."""
    if goal_builder not in GOAL_BUILDERS:
        raise ROSConfigError(f"goal_builder is {goal_builder!r}, there are {', '.join(GOAL_BUILDERS)}")
    path = Path(__file__).with_name(f"{goal_builder}.yaml")
    try:
        return RSkillManifest.model_validate(read_manifest(path))
    except ValidationError as error:
        raise config_error_from(error, source=str(path)) from None
