# SPDX-License-Identifier: Apache-2.0
import gc
import os
import sys
import warnings
from pathlib import Path

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


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--body", "json:loads"), "`--body json:loads` failed: TypeError"),
        (("--detector", "json:loads"), "`--detector json:loads` failed: TypeError"),
        (("--memory", "no/such/folder/seen.db"), "not a memory that can be used"),
    ],
)
def test_server_whose_parts_fail_ends_with_one_sentence(lastgate, arguments, why, monkeypatch):
    with Path(os.devnull).open() as nobody:
        monkeypatch.setattr(sys, "stdin", nobody)
        said = lastgate("mcp", "--robot", "franka_panda", *arguments)
    with warnings.catch_warnings(action="ignore"):
        gc.collect()  # the server's own streams stay open when it cannot start; the process would end here
    assert said.code == 2
    assert said.err.startswith("error: ")
    assert why in said.err
    assert "Traceback" not in said.err
