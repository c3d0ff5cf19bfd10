# SPDX-License-Identifier: Apache-2.0
from types import FunctionType

import pytest
from pydantic import BaseModel

from lastgate import contracts


def test_every_exported_name_exists_once_and_what_has_a_body_is_documented():
    assert len(set(contracts.__all__)) == len(contracts.__all__)
    for name in contracts.__all__:
        exported = getattr(contracts, name)
        if isinstance(exported, type | FunctionType):
            assert exported.__doc__, name


@pytest.mark.parametrize(
    "schema",
    [value for value in vars(contracts).values() if isinstance(value, type) and issubclass(value, BaseModel)],
)
def test_every_schema_is_strict_frozen_and_finite(schema):
    assert schema.model_config["extra"] == "forbid"
    assert schema.model_config["frozen"] is True
    assert schema.model_config["allow_inf_nan"] is False
