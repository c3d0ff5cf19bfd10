# SPDX-License-Identifier: Apache-2.0
"""Loads point clouds from PLY, PCD and NPY files.

Own small readers instead of a mesh library: those merge, reorder or silently drop vertices, and an obstacle that was
dropped while loading is not there for any check.
"""

import math
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import numpy as np

from lastgate.contracts import ROSConfigError
from lastgate.contracts.arrays import Float64
from lastgate.world.finite_numbers import as_float64
from lastgate.world.pcd_file import read_pcd
from lastgate.world.ply_file import read_ply
from lastgate.world.points import POINTS_MAX, Points
from lastgate.world.rigid_motion import moved, require_rigid_motion

# The widest point in use has some two hundred bytes; a larger file is not read into memory.
FILE_SIZE_MAX = 4 * 1024**3


def load_points(
    path: str | os.PathLike[str],
    *,
    stamp_s: float,
    frame_id: str,
    drop_invalid: bool = False,
    viewpoint: Literal["refuse", "apply", "ignore"] = "refuse",
) -> Points:
    """Returns the cloud of a `.ply`, `.pcd` or `.npy` file.

    Args:
        stamp_s: When it was seen; no such file says it.
        frame_id: The frame of its coordinates; empty means the robot's base frame.
        drop_invalid: Leaves out points that are not finite, and counts them; without it one of them is
            refused.
        viewpoint: What to do about a PCD file whose VIEWPOINT is not the identity: its points may be in
            the sensor's frame (`apply` places them by it) or not (`ignore`). The file does not say, so the
            caller must.

    Raises:
        ROSConfigError: Another kind of file, or one that is malformed, truncated or too long; with file
            and line or byte.
    """
    place = Path(path)
    if viewpoint not in ("refuse", "apply", "ignore"):
        raise ROSConfigError(f'viewpoint must be "refuse", "apply" or "ignore", got {viewpoint!r}')
    readers: dict[str, Callable[[bytes, Path], Float64]] = {".ply": read_ply, ".npy": _read_npy}
    if place.suffix.lower() not in (*readers, ".pcd"):
        raise ROSConfigError(f"{place}: clouds are read from .ply, .pcd and .npy files")
    content = _content(place)
    if place.suffix.lower() == ".pcd":
        xyz, pose = read_pcd(content, place)
        if pose is not None and viewpoint == "refuse":
            raise ROSConfigError(
                f"{place}: VIEWPOINT is not the identity, so its points may be in the sensor's frame: "
                'say viewpoint="apply" or viewpoint="ignore"'
            )
        if pose is not None and viewpoint == "apply":
            xyz = moved(xyz, require_rigid_motion(pose, name="VIEWPOINT"))
    else:
        xyz = readers[place.suffix.lower()](content, place)
    try:
        return Points.from_sensor(xyz, stamp_s=stamp_s, frame_id=frame_id, drop_invalid=drop_invalid)
    except ROSConfigError as error:
        raise ROSConfigError(f"{place}: {error}") from None


def _content(place: Path) -> bytes:
    try:
        size = place.stat().st_size
        if size > FILE_SIZE_MAX:
            raise ROSConfigError(f"{place}: has {size} bytes, at most {FILE_SIZE_MAX} are read")
        return place.read_bytes()
    except OSError as error:
        raise ROSConfigError(f"{place}: cannot be read: {error.strerror or error}") from None


# NumPy's own header reader evaluates the text with Python's parser and warns or raises all sorts of things
# about a damaged one; what a cloud's header looks like fits in one pattern.
_NPY_HEADER = re.compile(
    rb"\s*\{\s*'descr'\s*:\s*(?P<descr>'[^']*'|\[.*\])\s*,\s*'fortran_order'\s*:\s*(?P<fortran>True|False)\s*,"
    rb"\s*'shape'\s*:\s*\((?P<shape>[\d,\s]*)\)\s*,?\s*\}\s*\n?"
)
_NPY_NUMBER = re.compile(rb"'[<>|=]?(f[248]|[iu][1248])'")


def _read_npy(content: bytes, place: Path) -> Float64:
    if content[:6] != b"\x93NUMPY" or content[6:8] not in (b"\x01\x00", b"\x02\x00"):
        raise ROSConfigError(f"{place}: byte 0: is no NPY file of version 1 or 2")
    width = 2 if content[6] == 1 else 4
    start = 8 + width + int.from_bytes(content[8 : 8 + width], "little")
    header = _NPY_HEADER.fullmatch(content[8 + width : start]) if start <= len(content) else None
    if header is None:
        raise ROSConfigError(f"{place}: byte {8 + width}: the header is cut off or not one of NumPy")
    descr, shape_text = header["descr"], header["shape"].decode()
    shape = [
        int(word) for word in shape_text.split(",") if word.strip().isdigit() and len(word.strip()) <= 18
    ]
    if not _NPY_NUMBER.fullmatch(descr) or len(shape) not in (2, 3) or shape[-1] != 3:
        raise ROSConfigError(
            f"{place}: holds {descr.decode('ascii', errors='replace')[:80]} of shape ({shape_text[:80]}), "
            "expected real numbers (N, 3) or (H, W, 3)"
        )
    count = math.prod(shape)
    if count > 3 * POINTS_MAX:
        raise ROSConfigError(f"{place}: holds {count // 3} points, at most {POINTS_MAX} are read")
    dtype = np.dtype(descr[1:-1].decode())
    needed, held = count * dtype.itemsize, len(content) - start
    if needed != held:
        raise ROSConfigError(
            f"{place}: byte {start + min(needed, held)}: {needed} bytes of data are announced, {held} are "
            "there"
        )
    array = np.frombuffer(content, dtype=dtype, offset=start, count=count)
    ordered = array.reshape(shape, order="F" if header["fortran"] == b"True" else "C")
    return as_float64(ordered.reshape(-1, 3))
