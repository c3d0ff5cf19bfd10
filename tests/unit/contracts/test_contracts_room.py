# SPDX-License-Identifier: Apache-2.0
import subprocess
import sys
from types import FunctionType

import pytest
from pydantic import BaseModel

from lastgate import contracts

# Everything here must work where only these two, and what they need, are installed.
ALLOWED = {
    "lastgate",
    "numpy",
    "pydantic",
    "pydantic_core",
    "annotated_types",
    "typing_extensions",
    "typing_inspection",
}


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


def test_importing_the_contracts_needs_numpy_and_pydantic_only():
    script = (
        "import sys; before = set(sys.modules); import lastgate.contracts, lastgate.estop;"
        "tops = {name.partition('.')[0] for name in set(sys.modules) - before};"
        "print(*sorted(top for top in tops if top not in sys.stdlib_module_names))"
    )
    printed = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout
    third_party = {name for name in printed.split() if not name.startswith("_")}
    assert "pydantic" in third_party
    assert third_party <= ALLOWED
