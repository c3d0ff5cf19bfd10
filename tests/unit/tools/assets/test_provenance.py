# SPDX-License-Identifier: Apache-2.0
"""A header says where a file came from, is well-formed XML, and disturbs nothing below it."""

from importlib.metadata import distribution
from pathlib import Path

import pytest

from lastgate.tools.assets.provenance import (
    insert_header,
    licence_near,
    licence_of_distribution,
    recognise_licence,
    render_header,
)
from lastgate.tools.assets.safe_xml import read_xml

BSD_START = "Redistribution and use in source and binary\n forms, with or without modification"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Apache License\n   Version 2.0, January 2004", "Apache-2.0"),
        (f"{BSD_START} ... used to endorse or promote products", "BSD-3-Clause"),
        (BSD_START, "BSD-2-Clause"),
        ("GNU GENERAL PUBLIC LICENSE\nVersion 3, 29 June 2007", "GPL-3.0"),
        ("Permission is hereby granted, free of charge, ... The above copyright notice", "MIT"),
        ("All rights reserved.", None),
        ("", None),
    ],
)
def test_licence_text_is_named_or_not_guessed(text: str, name: str | None):
    assert recognise_licence(text) == name


def test_nearest_licence_file_is_named(tmp_path: Path):
    urdf = tmp_path / "robots" / "arm" / "urdf" / "arm.urdf"
    urdf.parent.mkdir(parents=True)
    (tmp_path / "LICENSE").write_text("Apache License Version 2.0")
    assert licence_near(urdf, tmp_path) == "Apache-2.0 (LICENSE)"
    (tmp_path / "robots" / "arm" / "LICENSE.txt").write_text("mine alone")
    assert licence_near(urdf, tmp_path) == "not recognised, read the file (robots/arm/LICENSE.txt)"


def test_licence_above_the_root_is_not_taken(tmp_path: Path):
    (tmp_path / "LICENSE").write_text("Apache License Version 2.0")
    (tmp_path / "inside").mkdir()
    assert licence_near(tmp_path / "inside" / "arm.urdf", tmp_path / "inside") is None


def test_licence_of_a_real_distribution_is_read():
    assert "BSD" in (licence_of_distribution(distribution("example-robot-data")) or "")


@pytest.mark.parametrize("value", ["a--b", "---", "ends-", "<robot>", "ü & co", "]]>"])
def test_header_is_well_formed_whatever_it_quotes(value: str):
    header = render_header([("upstream", value), ("licence", value)], newline="\n")
    root = read_xml(
        insert_header(b"<?xml version='1.0'?>\n<robot/>", header, newline="\n"), source="arm.urdf"
    )
    assert root.tag == "robot"


@pytest.mark.parametrize(
    ("data", "at"),
    [
        (b"<?xml version='1.0'?>\r\n<robot/>", len(b"<?xml version='1.0'?>")),
        (b"\xef\xbb\xbf<?xml version='1.0'?><robot/>", len(b"\xef\xbb\xbf<?xml version='1.0'?>")),
        (b"<robot/>", 0),
        (b"\xef\xbb\xbf<robot/>", 3),
        (b"<?xml-stylesheet href='a'?><robot/>", 0),
    ],
)
def test_header_follows_the_declaration_and_keeps_every_byte(data: bytes, at: int):
    header = render_header([("robot", "arm")], newline="\n")
    result = insert_header(data, header, newline="\n")
    inserted = len(result) - len(data)
    assert result[:at] + result[at + inserted :] == data
    assert header.encode() in result
    assert read_xml(result, source="arm.urdf").tag == "robot"
