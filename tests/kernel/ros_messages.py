# SPDX-License-Identifier: Apache-2.0
"""The messages of the contract through a codec that is not ours: rosbags reads the .msg files and writes CDR."""

from functools import cache
from pathlib import Path

import numpy as np
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

MESSAGES = Path(__file__).parents[2] / "ros2" / "openral_msgs" / "msg"


@cache
def store():
    """Returns a type store that knows ROS 2's own messages and ours."""
    types = get_typestore(Stores.ROS2_JAZZY)
    for path in sorted(MESSAGES.glob("*.msg")):
        types.register(get_types_from_msg(path.read_text(), f"openral_msgs/msg/{path.stem}"))
    return types


def make(kind: str, /, **fields):
    """Returns one message of a type."""
    return store().types[kind](**fields)


def header(stamp_s: float = 0.0, frame_id: str = ""):
    """Returns a std_msgs/Header."""
    whole = int(np.floor(stamp_s))
    stamp = make("builtin_interfaces/msg/Time", sec=whole, nanosec=int((stamp_s - whole) * 1e9))
    return make("std_msgs/msg/Header", stamp=stamp, frame_id=frame_id)


def to_bytes(message, *, little_endian: bool = True) -> bytes:
    """Returns the CDR of a message."""
    return bytes(store().serialize_cdr(message, message.__msgtype__, little_endian=little_endian))


def from_bytes(payload: bytes, name: str):
    """Returns the message that the bytes are."""
    return store().deserialize_cdr(payload, name)


def action_chunk(rows, **fields):
    """Returns an ActionChunk with every field set."""
    values = {
        "header": header(1.5, "world"),
        "control_mode": 0,
        "horizon": len(rows),
        "flat": np.ascontiguousarray(rows, dtype=np.float64).ravel(),
        "n_dof": rows.shape[1],
        "ee_name": "",
        "frame_id": "",
        "confidence": 0.5,
        "rskill_id": "pick",
        "rskill_revision": "r1",
        "trace_id": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "tick_index": 7,
    }
    return make("openral_msgs/msg/ActionChunk", **{**values, **fields})
