# SPDX-License-Identifier: Apache-2.0
"""Prints the error rates of the robot library at the end of a run, also when several processes measured them.

Up here, because the process that prints collects no tests and loads the settings of no folder below.
"""

import pytest

# Tests of the robot library record their rates under this name.
RATES = "error_rates"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    rows = sorted(
        str(value)
        for report in terminalreporter.getreports("passed") + terminalreporter.getreports("failed")
        for key, value in report.user_properties
        if key == RATES
    )
    if rows:
        terminalreporter.section("the robot library against its meshes")
        terminalreporter.write_line(
            f"{'robot':<16} {'states':>7} {'missed':>7} {'hidden':>7} {'clear':>7} {'false':>9} {'by gate':>9}"
        )
        for row in rows:
            terminalreporter.write_line(row)
