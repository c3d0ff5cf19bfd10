# SPDX-License-Identifier: Apache-2.0
"""An SRDF's claims are read with their reasons; names the robot does not have are refused."""

from pathlib import Path

import pytest

from lastgate.tools.lowering.diagnostics import DescriptionError
from lastgate.tools.lowering.srdf_reader import read_srdf

LINKS = frozenset({"a", "b", "c", "d"})


def write(folder: Path, body: str) -> Path:
    path = folder / "robot.srdf"
    path.write_text(f"<robot name='r'>\n{body}\n</robot>\n")
    return path


def test_disabled_pair_keeps_its_reason_in_either_order(tmp_path: Path) -> None:
    claims = read_srdf(write(tmp_path, '<disable_collisions link1="b" link2="a" reason="Never"/>'), LINKS)
    assert claims.reason("a", "b") == claims.reason("b", "a") == "Never"
    assert claims.reason("a", "c") is None


def test_default_off_link_is_disabled_except_for_enabled_pairs(tmp_path: Path) -> None:
    body = '<disable_default_collisions link="a"/><enable_collisions link1="a" link2="b"/>'
    claims = read_srdf(write(tmp_path, body), LINKS)
    assert claims.reason("a", "c") == "disable_default_collisions"
    assert claims.reason("a", "b") is None


def test_enabled_pair_wins_over_disabled(tmp_path: Path) -> None:
    body = '<disable_collisions link1="a" link2="b"/><enable_collisions link1="b" link2="a"/>'
    assert read_srdf(write(tmp_path, body), LINKS).reason("a", "b") is None


def test_all_unknown_links_are_reported_with_their_lines(tmp_path: Path) -> None:
    body = '<disable_collisions link1="a" link2="x"/>\n<disable_default_collisions link="y"/>\n'
    body += '<disable_collisions link1="c" link2="c"/>'
    with pytest.raises(DescriptionError) as refusal:
        read_srdf(write(tmp_path, body), LINKS)
    assert [diagnostic.line for diagnostic in refusal.value.diagnostics] == [2, 4, 3]
    assert "`x`" in str(refusal.value)
    assert "`y`" in str(refusal.value)
