# SPDX-License-Identifier: Apache-2.0
import pytest

import lastgate as lg
from lastgate.integrations.agent.tools import _PARAMETERS
from lastgate.planning.skills import load_skill_manifest
from lastgate.planning.skills.manifests import GOAL_BUILDERS


def test_look_at_takes_a_target_a_camera_and_perhaps_a_standoff():
    schema = load_skill_manifest("look_at").goal_params_schema
    assert set(schema["properties"]) == {"target_xyz", "camera", "standoff_m"}
    assert schema["required"] == ["target_xyz", "camera"]
    assert schema["additionalProperties"] is False


@pytest.mark.parametrize("builder", GOAL_BUILDERS)
def test_manifest_says_what_the_tool_takes(builder):
    manifest = load_skill_manifest(builder)
    assert manifest.goal_builder == builder
    needed, optional = _PARAMETERS[manifest.name]
    assert set(manifest.goal_params_schema["required"]) == needed
    assert set(manifest.goal_params_schema["properties"]) == needed | optional


def test_skill_that_is_not_there_is_refused():
    with pytest.raises(lg.ROSConfigError, match="joint, pose, look_at"):
        load_skill_manifest("grasp")


def test_another_goal_builder_is_refused():
    with pytest.raises(ValueError, match="goal_builder"):
        lg.RSkillManifest(name="x", version="1.0.0", goal_builder="grasp")
