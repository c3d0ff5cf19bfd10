# SPDX-License-Identifier: Apache-2.0
"""Hostile XML is refused quickly, with its place; ordinary XML is read with its lines."""

import time
from pathlib import Path

import pytest

from lastgate.contracts.exceptions import ROSConfigError
from lastgate.tools.assets import resolve_asset
from lastgate.tools.assets.safe_xml import (
    DEPTH_MAX,
    ELEMENTS_MAX,
    FILE_BYTES_MAX,
    NAME_CHARACTERS_MAX,
    VALUE_CHARACTERS_MAX,
    load_xml,
    read_xml,
)

PANDA_REF = (
    "pkg:example-robot-data/cmeel.prefix/share/example-robot-data/robots/panda_description/urdf/panda.urdf"
)

ENTITY_BOMB = b"""<?xml version="1.0"?>
<!DOCTYPE robot [
 <!ENTITY a "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa">
 <!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">
 <!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">
 <!ENTITY d "&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;">
 <!ENTITY e "&d;&d;&d;&d;&d;&d;&d;&d;&d;&d;&d;&d;&d;&d;&d;&d;">
 <!ENTITY f "&e;&e;&e;&e;&e;&e;&e;&e;&e;&e;&e;&e;&e;&e;&e;&e;">
]>
<robot name="&f;"/>
"""


def test_elements_know_their_line():
    root = read_xml(b"<robot>\n <link name='a'/>\n <link name='b'/>\n</robot>", source="arm.urdf")
    assert [(link.get("name"), link.sourceline) for link in root.iter("link")] == [("a", 2), ("b", 3)]


def test_real_description_is_read():
    assert load_xml(resolve_asset(PANDA_REF, "urdf")).getroot().get("name") == "panda"


def test_prefix_that_is_not_bound_is_read():
    root = read_xml(b"<robot><drake:joint gear='1'/><link name='a'/></robot>", source="arm.urdf")
    assert [child.tag for child in root] == ["drake:joint", "link"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1"])
def test_declared_encoding_is_read(encoding: str):
    text = f"<?xml version='1.0' encoding='{encoding}'?><robot name='ä'/>"
    assert read_xml(text.encode(encoding), source="arm.urdf").get("name") == "ä"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_entity_bomb_is_refused_quickly_with_its_line(encoding: str):
    bomb = ENTITY_BOMB.decode().replace('"1.0"', f'"1.0" encoding="{encoding}"').encode(encoding)
    start_s = time.monotonic()
    with pytest.raises(ROSConfigError, match=r"^arm\.urdf:2: the file declares a document type"):
        read_xml(bomb, source="arm.urdf")
    assert time.monotonic() - start_s < 1.0


@pytest.mark.parametrize(
    "document_type",
    [
        b"<!DOCTYPE robot>",
        b"<!DOCTYPE robot SYSTEM 'file:///etc/passwd'>",
        b"<!DOCTYPE robot [<!ENTITY a SYSTEM '/etc/passwd'>]>",
    ],
)
def test_any_document_type_is_refused(document_type: bytes):
    with pytest.raises(ROSConfigError, match="declares a document type"):
        read_xml(document_type + b"<robot/>", source="arm.urdf")


def test_comment_that_mentions_a_document_type_is_read():
    assert read_xml(b"<robot><!-- <!DOCTYPE robot> --></robot>", source="arm.urdf").tag == "robot"


def test_name_of_two_hundred_megabytes_is_refused_quickly(tmp_path: Path):
    path = tmp_path / "arm.urdf"
    with path.open("wb") as file:
        file.write(b"<robot name='")
        for _ in range(200):
            file.write(b"a" * 1_000_000)
        file.write(b"'/>")
    start_s = time.monotonic()
    with pytest.raises(ROSConfigError, match=f"has 200000016 bytes, and {FILE_BYTES_MAX} is the limit"):
        load_xml(path)
    assert time.monotonic() - start_s < 1.0


@pytest.mark.parametrize(
    "template",
    [
        b"<robot name='%s'/>",
        b"<robot>\n<joint %s='1'/></robot>",
        b"<robot><%s/></robot>",
        b"<robot><mimic joint='%s'/></robot>",
    ],
)
def test_name_is_read_at_its_limit_and_refused_above_quickly(template: bytes):
    assert read_xml(template % (b"a" * NAME_CHARACTERS_MAX), source="arm.urdf").tag == "robot"
    for count in (NAME_CHARACTERS_MAX + 1, FILE_BYTES_MAX - 100):
        start_s = time.monotonic()
        with pytest.raises(ROSConfigError, match=rf"^arm\.urdf:\d: .* has {count} characters") as refusal:
            read_xml(template % (b"a" * count), source="arm.urdf")
        assert time.monotonic() - start_s < 5.0
        assert len(str(refusal.value)) < 200


def test_text_value_is_read_at_its_limit_and_refused_above():
    template = b"<robot><mesh filename='%s'/></robot>"
    assert read_xml(template % (b"a" * VALUE_CHARACTERS_MAX), source="arm.urdf").tag == "robot"
    with pytest.raises(ROSConfigError, match="`filename` of <mesh> has 4097 characters"):
        read_xml(template % (b"a" * (VALUE_CHARACTERS_MAX + 1)), source="arm.urdf")


def test_long_number_array_is_read():
    array = b"0.125 -1e-3 " * 10_000
    assert read_xml(b"<mujoco><mesh vertex='%s'/></mujoco>" % array, source="a.xml")[0].get("vertex")


def test_nesting_is_read_at_its_limit_and_refused_above():
    assert read_xml(b"<a>" * DEPTH_MAX + b"</a>" * DEPTH_MAX, source="a.xml").tag == "a"
    with pytest.raises(ROSConfigError, match=f"nested more than {DEPTH_MAX} deep"):
        read_xml(b"<a>" * (DEPTH_MAX + 1) + b"</a>" * (DEPTH_MAX + 1), source="a.xml")


def test_too_many_elements_are_refused():
    with pytest.raises(ROSConfigError, match=f"more than {ELEMENTS_MAX} elements"):
        read_xml(b"<a>" + b"<b/>" * ELEMENTS_MAX + b"</a>", source="a.xml")


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"<robot>\n<link name='a'>\n</robot>", 3),
        (b"<robot>\n<link name='a'/>", 2),
        (b"<robot a='1' a='2'/>", 1),
        (b"<robot/>\n<robot/>", 2),
        (b"", 1),
        (b" \n", 1),
        (b"solid stl", 1),
        (b"<robot>&nope;</robot>", 1),
        (b"<robot>\n\xff</robot>", 2),
        (b"<?xml version='1.0' encoding='no-such'?><robot/>", 1),
    ],
)
def test_what_is_not_well_formed_is_refused_with_its_line(data: bytes, line: int):
    with pytest.raises(ROSConfigError, match=rf"^arm\.urdf:{line}: "):
        read_xml(data, source="arm.urdf")


def test_missing_file_and_folder_are_refused(tmp_path: Path):
    with pytest.raises(ROSConfigError, match="cannot be read: No such file"):
        load_xml(tmp_path / "gone.urdf")
    with pytest.raises(ROSConfigError, match="cannot be read: Is a directory"):
        load_xml(tmp_path)


def test_device_is_refused():
    with pytest.raises(ROSConfigError, match="not a regular file"):
        load_xml(Path("/dev/zero"))
