# SPDX-License-Identifier: Apache-2.0
"""Codes in test names are requirements, and every requirement has a test or says why not."""

import re

import pytest
from test_files import ROOT, load_tool

requirements = load_tool("generate_requirements")
LISTED = {code for _, table in requirements.sentences().values() for code in table}
CARRIED = set(requirements.tests_by_code())


def test_every_code_in_a_test_name_is_listed():
    assert sorted(CARRIED - LISTED) == []


def test_every_listed_requirement_has_a_test_or_a_reason():
    assert sorted(LISTED - CARRIED - set(requirements.elsewhere())) == []


def test_reasons_are_only_for_what_no_test_name_carries():
    assert sorted(set(requirements.elsewhere()) - LISTED) == []
    assert sorted(set(requirements.elsewhere()) & CARRIED) == []


def test_codes_of_a_letter_have_no_gaps():
    for letter, (_, table) in requirements.sentences().items():
        assert list(table) == [f"{letter}{number:02}" for number in range(1, len(table) + 1)]


def test_every_planning_case_in_a_test_name_is_in_the_index():
    cases, absent = requirements.planning_cases()
    names = [name for names in requirements.test_functions().values() for name in names]
    numbers = {int(found[1]) for name in names if (found := re.match(r"test_case_(\d+)_", name))}
    assert len(numbers) >= 40
    assert numbers <= cases.keys() - absent.keys()


def test_page_is_what_the_list_and_the_tests_say():
    assert (ROOT / "docs" / "requirements.md").read_text(encoding="utf-8") == requirements.page(), (
        "run `make generate`"
    )


@pytest.mark.parametrize(
    ("name", "codes"),
    [
        ("test_k10_k11_arm_passes", ["k10", "k11"]),
        ("test_m01_m02_x28_deadman", ["m01", "m02", "x28"]),
        ("test_gate_is_built", []),
    ],
)
def test_codes_are_read_from_a_name(name, codes):
    found = requirements.CODES.match(name)
    assert (requirements.CODE.findall(found[1]) if found else []) == codes
