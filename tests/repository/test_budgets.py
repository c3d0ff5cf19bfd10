# SPDX-License-Identifier: Apache-2.0
"""What `make bench` says of a budget must follow from the times."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from budget_report import median_line, spread_line

LOUD = {"p50_us": 6.0, "p99_9_us": 60.0}
QUIET = {"p50_us": 4.0, "p99_9_us": 8.0}
NOTHING_LEFT = {"p50_us": None, "p99_9_us": None}


@pytest.mark.parametrize(
    ("found", "undisturbed", "met"),
    [
        (LOUD, QUIET, True),
        (QUIET, LOUD, False),
        (LOUD, None, False),
        (QUIET, None, True),
        (LOUD, NOTHING_LEFT, False),
        (QUIET, NOTHING_LEFT, True),
    ],
)
def test_median_is_that_of_undisturbed_calls_where_there_are_any(found, undisturbed, met):
    assert median_line(found, undisturbed, 5.0)[0] is met


def test_median_line_shows_both_numbers():
    assert median_line(LOUD, QUIET, 5.0)[1] == "median 4 µs undisturbed (6 of all calls), at most 5.0 µs"


@pytest.mark.parametrize(("undisturbed", "met"), [(QUIET, True), (LOUD, False), (NOTHING_LEFT, False)])
def test_spread_is_kept_only_where_undisturbed_calls_show_it(undisturbed, met):
    kept, text = spread_line(LOUD, undisturbed, 5.0)
    assert kept is met
    assert "10.0" in text, "the spread of all calls is always shown"


@pytest.mark.parametrize("additions", [QUIET, LOUD, NOTHING_LEFT, None])
def test_additions_are_shown_beside_the_spread_and_excuse_nothing(additions):
    kept, text = spread_line(LOUD, LOUD, 5.0, additions)
    assert kept is False
    shown = {id(QUIET): "2.0 for additions", id(LOUD): "10.0 for additions"}.get(id(additions))
    assert (shown in text) if shown else ("additions" not in text)
