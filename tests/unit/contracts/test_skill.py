# SPDX-License-Identifier: Apache-2.0
import pytest
from pydantic import ValidationError

from lastgate.contracts import RSkillManifest


def test_a_skill_without_an_envelope_is_accepted():
    skill = RSkillManifest(name="pick", version="1.2.0")
    assert skill.envelope is None


def test_an_envelope_remembers_which_fields_were_written_down():
    skill = RSkillManifest(name="pick", version="1.2.0", envelope={"max_force_n": 20})
    assert skill.envelope.model_fields_set == {"max_force_n"}


@pytest.mark.parametrize("version", ["", "1", "1.2", "v1.2.3", "1.2.3 ", "one", 1.0, None])
def test_a_version_that_is_not_three_numbers_is_refused(version):
    with pytest.raises(ValidationError, match="skill `pick`: `version`"):
        RSkillManifest(name="pick", version=version)


@pytest.mark.parametrize("version", ["0.0.1", "1.2.3-rc.1", "1.2.3+build.7"])
def test_a_version_of_three_numbers_is_accepted(version):
    assert RSkillManifest(name="pick", version=version).version == version


@pytest.mark.parametrize("schema_version", [0, 2, "1", True, None])
def test_another_schema_version_is_refused(schema_version):
    with pytest.raises(ValidationError, match="reads schema version 1"):
        RSkillManifest(schema_version=schema_version, name="pick", version="1.0.0")


def test_a_goal_schema_with_a_number_that_json_cannot_hold_is_refused():
    with pytest.raises(ValidationError, match="must be a finite number, got inf"):
        RSkillManifest(name="p", version="1.0.0", goal_params_schema={"a": [{"maximum": float("inf")}]})


def test_a_goal_schema_is_kept_as_it_is():
    schema = {"type": "object", "properties": {"target_xyz": {"type": "array", "minItems": 3}}}
    assert RSkillManifest(name="p", version="1.0.0", goal_params_schema=schema).goal_params_schema == schema


def test_an_unknown_key_is_refused():
    with pytest.raises(ValidationError, match="unknown key `envelop`; did you mean `envelope`"):
        RSkillManifest(name="pick", version="1.0.0", envelop={})
