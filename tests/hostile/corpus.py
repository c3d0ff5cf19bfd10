# SPDX-License-Identifier: Apache-2.0
"""Hostile inputs by reader and name: bytes, or a function that fills a folder and returns what is to be read."""

import gzip
import json
import os
import struct
from collections.abc import Callable
from pathlib import Path

import msgpack
import numpy as np
from fixtures.analytic_robots import stacked

from lastgate import _core

Maker = Callable[[Path], Path]
HUGE = 10**12


# ---- Page ---------------------------------------------------------------------------------------


def _field(number: int, payload: bytes) -> bytes:
    """Returns one length-delimited field of a protobuf message."""
    return _varint(number << 3 | 2) + _varint(len(payload)) + payload


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _nested_values(depth: int) -> bytes:
    """Returns an attribute whose value is an array of arrays of arrays."""
    value = b""
    for _ in range(depth):
        value = _field(5, _field(1, value))
    span = _field(9, _field(1, b"k") + _field(2, value))
    return _field(1, _field(2, _field(2, span)))


def _many_spans(count: int) -> bytes:
    return _field(1, _field(2, _field(2, b"") * count))


OTLP: dict[str, bytes] = {
    "empty.pb": b"",
    "noise.pb": bytes(range(256)) * 8,
    "length_beyond_the_end.pb": b"\x0a\xff\xff\xff\xff\x7f",
    "endless_varint.pb": b"\x0a" + b"\xff" * 64,
    "groups_within_groups.pb": b"\x0b" * 50_000,
    "arrays_within_arrays.pb": _nested_values(400),
    "million_empty_spans.pb": _many_spans(1_000_000),
    "million_empty_spans.pb.gz": gzip.compress(_many_spans(4_000_000)),
    "zeros_that_unpack_large.pb.gz": gzip.compress(b"\0" * (64 * 1024 * 1024)),
    "gzip_of_gzip.pb.gz": gzip.compress(gzip.compress(b"\0" * 10_000_000)),
    "gzip_cut_off.pb.gz": gzip.compress(b"abc" * 1000)[:30],
    "no_gzip_at_all.pb.gz": b"\x1f\x8b" + b"\0" * 40,
    "deep.json": b"[" * 200_000,
    "deep_objects.json": b'{"resourceSpans":' * 20_000,
    "huge_number.json": b'{"resourceSpans":[{"scopeSpans":[{"spans":[{"startTimeUnixNano":'
    + b"9" * 100_000
    + b"}]}]}]}",
    "surrogates.json": b'{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"\\ud800"}]}]}]}',
    "not_utf8.json": b'{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"\xff\xfe"}]}]}]}',
    "wrong_types.json": b'{"resourceSpans":{"scopeSpans":7}}',
    "duplicate_keys.json": b'{"resourceSpans":[],"resourceSpans":[{}]}',
    "million_spans.json": b'{"resourceSpans":[{"scopeSpans":[{"spans":[' + b"{}," * 1_000_000 + b"{}]}]}]}",
}


def _frame(opcode: int, length: int, payload: bytes = b"", *, mask: bool = True) -> bytes:
    head = bytes([0x80 | opcode, (0x80 if mask else 0) | 127]) + struct.pack(">Q", length)
    return head + (b"\0\0\0\0" if mask else b"") + payload


_UPGRADE = (
    b"GET /live HTTP/1.1\r\nHost: HOST\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)
_POST = b"POST /v1/traces HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/x-protobuf\r\n"

HTTP: dict[str, bytes] = {
    "noise": bytes(range(256)) * 16,
    "endless_header": b"GET / HTTP/1.1\r\nHost: HOST\r\nX: " + b"a" * 2_000_000,
    "hundred_thousand_headers": b"GET / HTTP/1.1\r\nHost: HOST\r\n" + b"a: b\r\n" * 100_000 + b"\r\n",
    "negative_length": _POST + b"Content-Length: -1\r\n\r\n",
    "huge_length": _POST + b"Content-Length: 99999999999999999999\r\n\r\nabc",
    "two_lengths": _POST + b"Content-Length: 3\r\nContent-Length: 5\r\n\r\nabcde",
    "length_and_chunks": _POST + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunk_of_huge_size": _POST + b"Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFF\r\nabc",
    "null_in_path": b"GET /\0/../../etc/passwd HTTP/1.1\r\nHost: HOST\r\n\r\n",
    "dots_in_path": b"GET /page/..%2f..%2f..%2fetc%2fpasswd HTTP/1.1\r\nHost: HOST\r\n\r\n",
    "thousand_in_one": b"GET /api/status HTTP/1.1\r\nHost: HOST\r\n\r\n" * 1000,
    "button_with_noise": b"POST /api/estop HTTP/1.1\r\nHost: HOST\r\nContent-Length: 5\r\n\r\n[[[[[",
    "socket_frame_of_exabytes": _UPGRADE + _frame(1, 2**63 - 1, b"abc"),
    "socket_frame_without_mask": _UPGRADE + _frame(1, 3, b"abc", mask=False),
    "socket_unknown_opcode": _UPGRADE + _frame(0xB, 0),
    "socket_half_a_frame": _UPGRADE + b"\x81",
    "socket_endless_fragments": _UPGRADE + (b"\x01\x80\0\0\0\0" + b"\x00\x80\0\0\0\0" * 20_000),
    "socket_pings": _UPGRADE + b"\x89\x80\0\0\0\0" * 20_000,
}

# ---- Policy proxy -------------------------------------------------------------------------------


def _array(**fields: object) -> bytes:
    given = {b"__ndarray__": True, b"data": b"\0" * 16, b"dtype": "<f8", b"shape": [2]} | {
        key.encode(): value for key, value in fields.items()
    }
    return msgpack.packb({"actions": given})


PROXY: dict[str, bytes] = {
    "empty": b"",
    "noise": bytes(range(256)) * 8,
    "list_of_four_billion": b"\xdd\xff\xff\xff\xff",
    "map_of_four_billion": b"\xdf\xff\xff\xff\xff",
    "text_of_four_gigabytes": b"\xdb\xff\xff\xff\xff" + b"a" * 100,
    "lists_within_lists": b"\x91" * 200_000,
    "maps_within_maps": b"\x81\xa1a" * 100_000,
    "extension": msgpack.packb(msgpack.ExtType(5, b"code")),
    "timestamp_far_away": b"\xc7\x0c\xff" + b"\xff" * 12,
    "not_utf8": b"\xa2\xff\xfe",
    "two_messages": msgpack.packb({}) * 2,
    "array_of_objects": _array(dtype="|O"),
    "array_of_void": _array(dtype="|V1000000000"),
    "array_of_records": _array(dtype="f8,f8"),
    "array_of_nested_type": _array(dtype="(1000000000,)f8"),
    "array_with_long_type": _array(dtype="f8," * 100_000),
    "array_without_type": _array(dtype=None),
    "array_with_type_of_number": _array(dtype=7),
    "array_of_huge_shape": _array(shape=[HUGE, HUGE]),
    "array_of_negative_shape": _array(shape=[-1, -1]),
    "array_of_empty_and_huge": _array(data=b"", shape=[0, HUGE]),
    "array_with_many_dimensions": _array(data=b"\0" * 8, shape=[1] * 100_000),
    "array_with_shape_of_text": _array(shape="22"),
    "array_with_data_of_text": _array(data="abc"),
    "array_with_data_cut_off": _array(data=b"\0" * 7),
    "scalar_of_text": msgpack.packb({b"__npgeneric__": True, b"data": "x" * 1000, b"dtype": "<f8"}),
    "scalar_of_list": msgpack.packb({b"__npgeneric__": True, b"data": [0] * 1000, b"dtype": "<f8"}),
    "duplicate_keys": b"\x82\xa7actions\x01\xa7actions\x02",
    "key_that_is_a_list": b"\x81\x91\x01\x01",
    "complex_numbers": _array(dtype="<c16"),
}

# ---- Manifests and configurations ---------------------------------------------------------------


def _laughs(levels: int) -> bytes:
    lines = ["a0: &a0 [ha, ha, ha, ha, ha, ha, ha, ha, ha]"]
    for level in range(1, levels):
        lines.append(f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]")
    return ("\n".join(lines) + f"\nname: *a{levels - 1}\njoints: *a{levels - 1}\n").encode()


def _manifest(**changes: object) -> bytes:
    return json.dumps({**stacked(3), **changes}).encode()


MANIFESTS: dict[str, bytes] = {
    "empty": b"",
    "noise": bytes(range(256)),
    "not_utf8": b"name: \xff\xfe\n",
    "null_bytes": b"name: a\0b\n",
    "tabs": b"name:\tx\n\tjoints: []\n",
    "nine_to_the_ninth": _laughs(9),
    "alias_of_itself": b"name: x\njoints: &a [*a]\n",
    "mapping_of_itself": b"&a\nname: x\nsafety: *a\n",
    "deep_lists": b"joints: " + b"[" * 800,
    "deep_mappings": b"{a: " * 800,
    "object_of_python": b"!!python/object/apply:os.system ['true']\n",
    "unknown_tag": b"name: !bomb x\n",
    "duplicate_keys": b"name: a\nname: b\nbase_frame: base\njoints: []\n",
    "merge_of_itself": b"a: &a\n  <<: *a\n",
    "huge_integer": _manifest(schema_version=1).replace(b"0.03", b"9" * 5_000, 1),
    "exponent_beyond_doubles": _manifest().replace(b"0.03", b"1e999999999", 1),
    "not_a_number": _manifest().replace(b"0.03", b".nan", 1),
    "infinite": _manifest().replace(b"0.03", b"-.inf", 1),
    "sexagesimal": _manifest().replace(b"0.03", b"190:20:30", 1),
    "text_for_a_number": _manifest().replace(b"0.03", b'"0.03"', 1),
    "yes_for_a_number": _manifest().replace(b"0.03", b"yes", 1),
    "many_joints": _manifest(joints=stacked(3)["joints"] * 100),
    "long_name": _manifest(name="x" * 1_000_000),
    "name_that_moves_the_cursor": _manifest(name="\x1b[2J\x1b[H"),
    "hulls_outside": _manifest(convex_pieces={"file": "../../etc/passwd", "sha256": "0" * 64}),
    "hulls_missing": _manifest(convex_pieces={"file": "none.txt", "sha256": "0" * 64}),
    "list_at_the_top": b"- 1\n- 2\n",
    "two_documents": b"name: a\n---\nname: b\n",
}

WORLD_FILES: dict[str, bytes] = {
    "empty.yaml": b"",
    "nine_to_the_ninth.yaml": _laughs(9).replace(b"joints:", b"collision_primitives:"),
    "alias_of_itself.yaml": b"collision_primitives: &a [*a]\n",
    "deep.yaml": b"collision_primitives: " + b"[" * 800,
    "huge_integer.yaml": b"stamp_s: " + b"9" * 5_000,
    "deep.json": b'{"collision_primitives": ' + b"[" * 100_000,
    "huge_integer.json": b'{"stamp_s": ' + b"9" * 5_000 + b"}",
    "not_a_number.json": b'{"stamp_s": NaN}',
    "duplicate_keys.json": b'{"collision_primitives": [], "collision_primitives": []}',
    "list.json": b"[]",
}


def npy_header(shape: str, descr: str = "'<f8'") -> bytes:
    """Returns what a NumPy file begins with, whatever follows."""
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()


CHUNK_FILES: dict[str, bytes] = {
    "trillion_rows.npy": npy_header("(1000000000000, 3)"),
    "negative_rows.npy": npy_header("(-1, 3)"),
    "objects.npy": npy_header("(1, 3)", "'|O'") + b"cos\nsystem\n(S'true'\ntR.",
    "noise.npy": b"\x93NUMPY" + bytes(range(256)),
    "noise.npz": b"PK\x03\x04" + bytes(range(256)),
    "deep.json": b"[" * 100_000,
    "huge_integer.json": b"[[" + b"9" * 5_000 + b", 0, 0]]",
    "noise.csv": bytes(range(256)) * 16,
    "huge_numbers.csv": b"1e999,1e999,1e999\n",
    "one_long_line.csv": b"1," * 1_000_000,
    "uneven.csv": b"1,2,3\n1,2\n",
}

_FLAT = b'schema_version: 1\nrobot_name: "x"\nbase_frame: "base"\nstep_s: 0.1\n'
FLAT_CONFIGS: dict[str, bytes] = {
    "empty": b"",
    "noise": bytes(range(256)),
    "only_a_version": b"schema_version: 1\n",
    "version_of_the_future": b"schema_version: 999999999999999999999\n",
    "unknown_key": _FLAT + b"bomb: 1\n",
    "duplicate_key": _FLAT + b"step_s: 0.2\n",
    "endless_list": _FLAT + b"velocity_max: [" + b"1," * 500_000,
    "deep_list": _FLAT + b"velocity_max: " + b"[" * 100_000,
    "text_that_does_not_end": b'schema_version: 1\nrobot_name: "' + b"a" * 1_000_000,
    "number_of_many_digits": _FLAT.replace(b"0.1", b"9" * 100_000),
    "hexadecimal": _FLAT.replace(b"0.1", b"0x1p-3"),
    "not_a_number": _FLAT.replace(b"0.1", b"nan"),
    "links_beyond_the_robot": _FLAT + b"link_parent: [-1, 4000000000]\n",
    "null_bytes": _FLAT + b"\0\0\0\0",
    "alias": _FLAT + b"a: &a [1]\nb: *a\n",
}

# ---- Latches ------------------------------------------------------------------------------------

STORED_LATCHES: dict[str, bytes] = {
    "empty": b"",
    "noise": bytes(range(256)),
    "clear_without_digest": b'{"schema_version": 1, "latched": false}',
    "list": b"[]",
    "deep": b"[" * 200_000,
    "true": b"true",
    "huge_sequence": b'{"latched": false, "sequence": ' + b"9" * 10_000 + b"}",
    "nan": b'{"latched": false, "sequence": NaN}',
    "duplicate_keys": b'{"latched": true, "latched": false}',
    "long_text": b'"' + b"a" * 5_000_000 + b'"',
}


def _written(name: str, data: bytes) -> Maker:
    def make(folder: Path) -> Path:
        path = folder / name
        path.write_bytes(data)
        return path

    return make


def _as_folder(folder: Path) -> Path:
    path = folder / "latch"
    path.mkdir()
    return path


def _as_fifo(folder: Path) -> Path:
    path = folder / "latch"
    os.mkfifo(path)
    return path


def _as_link(folder: Path) -> Path:
    (folder / "elsewhere").write_bytes(b"precious")
    path = folder / "latch"
    path.symlink_to(folder / "elsewhere")
    return path


def _as_device(folder: Path) -> Path:
    path = folder / "latch"
    path.symlink_to("/dev/zero")
    return path


LATCH_FILES: dict[str, Maker] = {
    "empty": _written("latch", b""),
    "one_byte_short": _written("latch", b"\0" * 255),
    "one_byte_long": _written("latch", b"\0" * 257),
    "zeros": _written("latch", b"\0" * 256),
    "ones": _written("latch", b"\xff" * 256),
    "large": _written("latch", b"\0" * 4_000_000),
    "folder": _as_folder,
    "fifo": _as_fifo,
    "link_elsewhere": _as_link,
    "endless_device": _as_device,
}

# ---- Frames of DDS ------------------------------------------------------------------------------

_CHUNK = _core.encode_action_chunk(
    np.zeros((3, 3)),
    control_mode=0,
    stamp_s=1.5,
    ee_name="hand",
    frame_id="base",
    rskill_id="pick",
    trace_id="00-ab",
    tick_index=3,
)
_WORLD = _core.encode_world_snapshot(
    stamp_s=1.0,
    frame_id="",
    world_id="world",
    declared_absent=False,
    kinds=np.zeros(1, dtype=np.uint8),
    sizes_m=np.full((1, 3), 0.1),
    poses=np.array([[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]]),
    object_id=["thing"],
    points=(np.zeros((2, 3)), 1.0),
    voxels=None,
    obstacle_count=1,
    floor=None,
)
_TWIST = _core.encode_twist([0.0] * 6)

CDR: dict[str, bytes] = {
    "empty": b"",
    "encapsulation_alone": b"\0\1\0\0",
    "unknown_encapsulation": b"\x7f\x7f\0\0" + _CHUNK[4:],
    "parameter_list": b"\0\3\0\0" + _CHUNK[4:],
    "second_version": b"\0\7\0\0" + _CHUNK[4:],
    "big_endian_that_is_little": b"\0\0\0\0" + _CHUNK[4:],
    "all_lengths_huge": b"\0\1\0\0" + b"\xff" * 400,
    "text_without_end": b"\0\1\0\0" + b"\0" * 8 + b"\x10\0\0\0" + b"a" * 16,
    "zeros": b"\0\1\0\0" + b"\0" * 4096,
    "noise": bytes(range(256)) * 16,
    "large": b"\0\1\0\0" + b"\0" * 4_000_000,
}
CDR_FRAMES: dict[str, bytes] = {"action_chunk": _CHUNK, "world_snapshot": _WORLD, "twist": _TWIST}
