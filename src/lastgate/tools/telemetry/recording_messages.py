# SPDX-License-Identifier: Apache-2.0
"""The messages a recording is made of: ROS CDR, with the .msg text as schema, so that other programs read it too."""

from functools import cache
from pathlib import Path
from typing import Any

from lastgate.contracts import ROSConfigError
from lastgate.contracts.extras import install_command

_FOLDER = Path(__file__).with_name("messages")
_PACKAGE_OF: dict[str, str] = {
    "ActionChunk": "openral_msgs",
    "WorldCollision": "openral_msgs",
    "OccupancyVoxels": "openral_msgs",
    "JointState": "sensor_msgs",
}


@cache
def _types() -> Any:
    try:
        from rosbags.typesys import Stores, get_types_from_msg, get_typestore
    except ModuleNotFoundError:
        raise ROSConfigError(f"recordings need `{install_command('record')}`") from None
    types = get_typestore(Stores.ROS2_JAZZY)
    for path in sorted(_FOLDER.glob("*.msg")):
        types.register(get_types_from_msg(path.read_text(encoding="utf-8"), full_name(path.stem)))
    return types


def full_name(name: str) -> str:
    """Returns a message's name with its package, as schemas carry it."""
    return f"{_PACKAGE_OF.get(name, 'lastgate_msgs')}/msg/{name}"


@cache
def schema_text(name: str) -> str:
    """Returns the .msg text of a message and of every message it is made of, as `ros2msg` schemas are written."""
    text, _ = _types().generate_msgdef(full_name(name), ros_version=2)
    return text


def new_message(name: str, **fields: Any) -> Any:
    """Returns a message; a field that is missing or unknown raises `TypeError`."""
    return _types().types[full_name(name)](**fields)


def encode_message(name: str, message: Any) -> bytes:
    """Returns a message as CDR."""
    return bytes(_types().serialize_cdr(message, full_name(name)))


def decode_message(name: str, payload: bytes) -> Any:
    """Returns the message that the bytes are.

    Raises:
        ROSConfigError: They are none.
    """
    try:
        return _types().deserialize_cdr(payload, full_name(name))
    except Exception as error:  # the decoder raises whatever the bytes lead it to
        raise ROSConfigError(f"a {name} message cannot be read: {error or type(error).__name__}") from None
