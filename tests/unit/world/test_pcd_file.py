# SPDX-License-Identifier: Apache-2.0
"""LZF data, instruction by instruction; whole PCD files are in test_cloud_files.py."""

import re

import pytest

from lastgate.contracts import ROSConfigError
from lastgate.world.pcd_file import unpack_lzf


@pytest.mark.parametrize(
    ("packed", "unpacked"),
    [
        (b"\x02abc", b"abc"),
        (b"\x00a\x20\x00", b"aaaa"),
        (b"\x00a\xe0\x01\x00", b"a" * 11),
        (b"\x02abc\x20\x02", b"abcabc"),
        (b"\x01ab\x40\x01", b"ababab"),
    ],
)
def test_lzf_instructions_unpack_to_what_they_say(tmp_path, packed, unpacked):
    assert unpack_lzf(packed, size=len(unpacked), place=tmp_path, start=0) == unpacked


@pytest.mark.parametrize(
    ("packed", "size", "sentence"),
    [
        (b"\x05abc", 6, "byte 104: the compressed data ends inside"),
        (b"\x00a\x20", 4, "byte 103: the compressed data ends inside"),
        (b"\x00a\xe0", 4, "byte 103: the compressed data ends inside"),
        (b"\x00a\x20\x05", 4, "byte 102: compressed data refers to 5 bytes before"),
        (b"\x02abc", 2, "byte 100: compressed data unpacks to more than 2"),
        (b"\x02abc", 4, "unpacks to 3 bytes, 4 are announced"),
        (b"", 4, "unpacks to 0 bytes"),
    ],
)
def test_damaged_lzf_is_refused_with_the_byte(tmp_path, packed, size, sentence):
    with pytest.raises(ROSConfigError, match=re.escape(sentence)):
        unpack_lzf(packed, size=size, place=tmp_path, start=100)
