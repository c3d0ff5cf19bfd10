# SPDX-License-Identifier: Apache-2.0
import pytest


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ((), "`--robot` is missing"),
        (("--robot", "pnada"), "unknown robot"),
        (("--simulate", "--robot", "franka_panda"), "brings its own robot"),
        (("--robot", "franka_panda", "--body", "nowhere"), "is MODULE:FUNCTION"),
        (("--robot", "franka_panda", "--body", "no_such_module:make"), "no_such_module"),
        (("--robot", "franka_panda", "--body", "json:make_body"), "no function `make_body`"),
        (("--robot", "franka_panda", "--detector", "json:__doc__"), "no function `__doc__`"),
    ],
)
def test_server_that_cannot_be_made_says_so_before_anybody_connects(lastgate, arguments, why):
    said = lastgate("mcp", *arguments)
    assert said.code == 2
    assert why in said.err
    assert said.out == ""
