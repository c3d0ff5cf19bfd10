# SPDX-License-Identifier: Apache-2.0
from typing import ClassVar

import pytest
from pydantic import ValidationError

from lastgate.contracts import ROSConfigError, SphereShape, config_error_from, describe_validation_error
from lastgate.contracts.schema import Finite, Name, Schema


class Cup(Schema):
    subject_noun: ClassVar[str] = "cup"

    name: Name
    height_m: Finite
    width_m: Finite = 0.1

    def _problems(self):
        return [] if self.height_m > self.width_m else ["is wider than high", "cannot be stacked"]


class Tray(Schema):
    cups: tuple[Cup, ...] = ()


def refusal_of(schema, **values):
    with pytest.raises(ValidationError) as refusal:
        schema(**values)
    return refusal.value


def test_every_problem_of_an_object_comes_in_one_error_and_names_it():
    error = refusal_of(Cup, name="mug", height_m="tall", widht_m=1)
    assert describe_validation_error(error) == [
        "cup `mug`: `height_m` must be a valid number, got 'tall'",
        "cup `mug`: unknown key `widht_m`; did you mean `width_m`?",
    ]


def test_problems_of_the_whole_are_found_once_the_fields_are_accepted():
    error = refusal_of(Tray, cups=[{"name": "mug", "height_m": 0.05}])
    assert describe_validation_error(error) == [
        "cup `mug`: is wider than high",
        "cup `mug`: cannot be stacked",
    ]


def test_the_error_keeps_the_place_of_each_problem():
    error = refusal_of(Tray, cups=[{"name": "mug", "height_m": 1}, {"name": "pot"}])
    assert [problem["loc"] for problem in error.errors()] == [("cups", 1, "height_m")]
    assert "cup `pot`: `height_m` is missing" in str(error)


def test_a_key_that_resembles_nothing_lists_the_known_keys():
    error = refusal_of(Tray, zzz=1)
    assert describe_validation_error(error) == ["unknown key `zzz`; known keys: `cups`"]


def test_a_brace_in_a_name_is_printed_as_it_is():
    assert "cup `{mug}`" in str(refusal_of(Cup, name="{mug}"))


def test_an_object_without_a_name_is_addressed_by_its_noun():
    assert describe_validation_error(refusal_of(Cup, height_m=1.0)) == ["cup: `name` is missing"]


@pytest.mark.parametrize("data", [None, 7, "mug", [1]])
def test_something_that_is_no_mapping_is_refused(data):
    with pytest.raises(ValidationError):
        Cup.model_validate(data)


@pytest.mark.parametrize("value", [True, "1.0", b"1", None, [1.0], 10**400, 1j])
def test_only_numbers_are_numbers(value):
    with pytest.raises(ValidationError, match="height_m"):
        Cup(name="mug", height_m=value)


def test_a_whole_number_is_read_as_a_plain_float():
    class RememberedFloat(float):
        """Stands for the float subclasses that YAML readers keep the spelling in."""

    for value in (1, RememberedFloat(1.0)):
        assert type(Cup(name="mug", height_m=value).height_m) is float


def test_a_config_error_begins_every_line_with_its_source():
    error = config_error_from(refusal_of(SphereShape, radius_m=0, colour="red"), source="robot.yaml")
    assert isinstance(error, ROSConfigError)
    assert str(error).splitlines() == [
        "robot.yaml: `radius_m` must be greater than 0, got 0",
        "robot.yaml: unknown key `colour`; known keys: `shape`, `radius_m`",
    ]
