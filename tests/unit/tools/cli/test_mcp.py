# SPDX-License-Identifier: Apache-2.0
import subprocess
import sys

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
def test_server_that_cannot_be_made_says_so_before_a_client_connects(lastgate, arguments, why):
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
def test_server_whose_parts_fail_ends_with_one_sentence(arguments, why):
    # A process of its own: a server that cannot start leaves its streams to the end of the process.
    said = subprocess.run(
        [sys.executable, "-m", "lastgate.tools.cli", "mcp", "--robot", "franka_panda", *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert said.returncode == 2
    assert said.stderr.startswith("error: ")
    assert why in said.stderr
    assert "Traceback" not in said.stderr
