# SPDX-License-Identifier: Apache-2.0
"""What `ros2://robot_description` resolves to: a description that is published, not stored."""

from pathlib import PosixPath
from typing import NoReturn

from lastgate.contracts.asset_refs import LIVE_DESCRIPTION_REF
from lastgate.contracts.exceptions import ROSConfigError


class LiveDescription(PosixPath):
    """Stands for the description a running system publishes; is a Path because callers pass paths on.

    Its text is the reference itself. There is no file behind it: `exists()` is False, and opening it
    raises `ROSConfigError` with the sentence that says what to do. `None` would be shorter and would
    let a robot without a model pass for one whose model comes later.
    """

    def __new__(cls, *_parts: object) -> "LiveDescription":
        return super().__new__(cls, LIVE_DESCRIPTION_REF)

    def __str__(self) -> str:
        return LIVE_DESCRIPTION_REF

    def __repr__(self) -> str:
        return f"LiveDescription({LIVE_DESCRIPTION_REF!r})"

    def __fspath__(self) -> NoReturn:
        # pathlib takes a ValueError, which this is, for "no such file", so `exists()` can answer.
        raise ROSConfigError(
            f"`{LIVE_DESCRIPTION_REF}` is published by a running system and is not a file\n\n"
            "hint: save what the topic /robot_description carries, and refer to it as `file:<path>`"
        )
