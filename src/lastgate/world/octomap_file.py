# SPDX-License-Identifier: Apache-2.0
"""Reads OctoMap's binary tree files (`.bt`) into leaves."""

import math
import os
from array import array
from functools import cache
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from lastgate.contracts import ROSConfigError
from lastgate.world.finite_numbers import COORDINATE_M_MAX, as_float64
from lastgate.world.octree_leaves import OctreeLeaves
from lastgate.world.voxels import FREE, OCCUPIED, UNKNOWN

FIRST_LINE = b"# Octomap OcTree binary file"

# OctoMap's trees have this depth and no other: 2**16 finest voxels along each axis, the origin in the middle.
TREE_DEPTH = 16
KEYS = 2**TREE_DEPTH

# A header is six short lines; comments may be added, a megabyte of them is not a header.
HEADER_SIZE_MAX = 64 * 1024

# A node may bring seven unknown leaves with it: the worst tree of this many takes some 2 GiB to read.
NODES_MAX = 2 * 1024 * 1024

# Trees whose binary form is the same as that of `OcTree`: only colours and counts are left out of it.
TREE_TYPES = ("OcTree", "ColorOcTree")

# Codes of a child, two bits each, as the file has them.
_UNKNOWN, _FREE, _OCCUPIED, _INNER = range(4)


def load_octomap(
    path: str | os.PathLike[str], *, stamp_s: float, frame_id: str, nodes_max: int = NODES_MAX
) -> OctreeLeaves:
    """Returns every leaf of a `.bt` file and, as unknown leaves, everything in its bounds that has no node.

    Args:
        stamp_s: When the map was made; the file does not say.
        frame_id: The frame of the map; the file does not say. Empty means the robot's base frame.
        nodes_max: More nodes than this are refused before they are read.

    Raises:
        ROSConfigError: Not such a file, of another tree type, truncated, longer than its tree, deeper
            than 16 levels, or with another number of nodes than it says. The message holds the file and the
            byte.
    """
    place = Path(path)
    try:
        with place.open("rb") as stream:
            node_count, resolution_m = _read_header(stream, place)
            if node_count > nodes_max:
                raise ROSConfigError(
                    f"{place}: the tree has {node_count} nodes, at most {nodes_max} are read"
                )
            start = stream.tell()
            # A tree has fewer inner nodes than nodes, and each takes two bytes: more is not its data.
            content = stream.read(2 * node_count + 3)
    except OSError as error:
        raise ROSConfigError(f"{place}: cannot be read: {error.strerror or error}") from None
    places, codes = _read_tree(content, node_count=node_count, start=start, place=place)
    return _leaves(places, codes, resolution_m=resolution_m, stamp_s=stamp_s, frame_id=frame_id)


def _read_header(stream: BinaryIO, place: Path) -> tuple[int, float]:
    head = stream.read(HEADER_SIZE_MAX)
    if not head.startswith(FIRST_LINE):
        hint = (
            ": it is a full tree (.ot), convert it with OctoMap's `convert_octree`"
            if head.startswith(b"# Octomap OcTree file")
            else ""
        )
        raise ROSConfigError(f"{place}: byte 0: does not begin with `{FIRST_LINE.decode()}`{hint}")
    fields: dict[str, tuple[str, int]] = {}
    offset = 0
    while True:
        end = head.find(b"\n", offset)
        if end < 0:
            raise ROSConfigError(
                f"{place}: byte {offset}: the header has no `data` line within {len(head)} bytes"
            )
        line, at = head[offset:end].decode("ascii", errors="replace").rstrip("\r"), offset
        offset = end + 1
        if line == "data":
            break
        if line.startswith("#") or not line.strip():
            continue
        key, _, value = line.partition(" ")
        if key not in ("id", "size", "res") or key in fields:
            raise ROSConfigError(
                f"{place}: byte {at}: header line `{line[:80]}` is not one of id, size, res, data, each once"
            )
        fields[key] = (value.strip(), at)
    stream.seek(offset)
    for key in ("id", "size", "res"):
        if key not in fields:
            raise ROSConfigError(f"{place}: byte {offset}: the header has no `{key}` line")
    tree_type, at = fields["id"]
    if tree_type not in TREE_TYPES:
        raise ROSConfigError(
            f"{place}: byte {at}: tree type `{tree_type[:80]}` is not read, only {', '.join(TREE_TYPES)}"
        )
    size, at = fields["size"]
    if not size.isascii() or not size.isdigit() or len(size) > 18:
        raise ROSConfigError(f"{place}: byte {at}: size `{size[:80]}` is not a number of nodes")
    res, at = fields["res"]
    try:
        resolution_m = float(res)
    except ValueError:
        resolution_m = math.nan
    if not 0.0 < resolution_m * KEYS / 2 <= COORDINATE_M_MAX:
        raise ROSConfigError(f"{place}: byte {at}: res `{res[:80]}` is not a voxel size in metres")
    return int(size), resolution_m


def _read_tree(
    content: bytes, *, node_count: int, start: int, place: Path
) -> tuple[NDArray[np.int64], NDArray[np.uint16]]:
    """Returns place (see `_packed`) and code of every inner node, which the stream holds depth first."""
    places, codes = array("q"), array("H")
    if node_count == 0:
        if content:
            raise ROSConfigError(
                f"{place}: byte {start}: the tree has no nodes, but there are bytes after the header"
            )
        return np.empty(0, np.int64), np.empty(0, np.uint16)
    # The inner nodes still to be read, the next one last.
    waiting = [_packed(0, 0, 0, 0)]
    offset, counted = 0, 1
    while waiting:
        node = waiting.pop()
        if offset + 2 > len(content):
            raise ROSConfigError(
                f"{place}: byte {start + len(content)}: the file ends inside the tree, {len(waiting) + 1} "
                "nodes are still to come"
            )
        code = content[offset] | content[offset + 1] << 8
        places.append(node)
        codes.append(code)
        child_count, inner = _children(code)
        # OctoMap never writes this, and reads it as free space of any size: it can only be damage.
        if not child_count and offset:
            raise ROSConfigError(
                f"{place}: byte {start + offset}: a node claims to have children and has none"
            )
        counted += child_count
        if counted > node_count:
            raise ROSConfigError(
                f"{place}: byte {start + offset}: the tree has more nodes than the {node_count} its "
                "header says"
            )
        if inner:
            level = node & 31
            if level + 1 == TREE_DEPTH:
                raise ROSConfigError(
                    f"{place}: byte {start + offset}: a node at depth {TREE_DEPTH} claims to have children"
                )
            half = KEYS >> (level + 1)
            waiting.extend(node + 1 + half * _SIDE_STEP[child] for child in inner)
        offset += 2
    if counted != node_count:
        raise ROSConfigError(
            f"{place}: byte {start + offset}: the tree ends after {counted} nodes, its header says "
            f"{node_count}"
        )
    if offset != len(content):
        raise ROSConfigError(f"{place}: byte {start + offset}: the tree is complete, but the file goes on")
    return np.frombuffer(places, np.int64), np.frombuffer(codes, np.uint16)


def _packed(x: int, y: int, z: int, level: int) -> int:
    """Returns the lowest key of a node and its depth in one number, so that a million take megabytes."""
    return x << 37 | y << 21 | z << 5 | level


# What one half-width along the axes of a child adds to a packed place.
_SIDE_STEP = [_packed(child & 1, child >> 1 & 1, child >> 2, 0) for child in range(8)]


@cache
def _children(code: int) -> tuple[int, tuple[int, ...]]:
    """Returns how many children a code has, and which are inner nodes, the one read next last."""
    kinds = [code >> 2 * child & 3 for child in range(8)]
    return sum(kind != _UNKNOWN for kind in kinds), tuple(
        child for child in range(7, -1, -1) if kinds[child] == _INNER
    )


def _leaves(
    places: NDArray[np.int64],
    codes: NDArray[np.uint16],
    *,
    resolution_m: float,
    stamp_s: float,
    frame_id: str,
) -> OctreeLeaves:
    kinds = (codes[:, None] >> np.arange(0, 16, 2, dtype=np.uint16) & 3).astype(np.uint8)
    vertices = np.column_stack([places >> 37, places >> 21 & 0xFFFF, places >> 5 & 0xFFFF]).astype(np.int32)
    half = (KEYS >> ((places & 31) + 1)).astype(np.int32)
    # Only the root can be without children here: a map of one leaf, which OctoMap reads as occupied.
    childless = codes == 0
    parent, which = np.nonzero((kinds != _INNER) & ~childless[:, None])
    sides = np.column_stack([which & 1, which >> 1 & 1, which >> 2]).astype(np.int32)
    keys = np.concatenate([vertices[parent] + sides * half[parent, None], vertices[childless]])
    widths = np.concatenate([half[parent], 2 * half[childless]])
    found = np.concatenate([kinds[parent, which], np.full(childless.sum(), _OCCUPIED, np.uint8)])
    if not len(codes):
        keys, widths, found = np.zeros((1, 3)), np.array([KEYS]), np.array([_UNKNOWN])
    edge_m = KEYS / 2 * resolution_m
    return OctreeLeaves(
        centres_xyz=(keys - KEYS / 2 + widths[:, None] / 2) * resolution_m,
        sizes_m=as_float64(widths * resolution_m),
        states=np.array([UNKNOWN, FREE, OCCUPIED], dtype=np.uint8)[found],
        stamp_s=stamp_s,
        frame_id=frame_id,
        tiled_xyz=((-edge_m, -edge_m, -edge_m), (edge_m, edge_m, edge_m)),
    )
