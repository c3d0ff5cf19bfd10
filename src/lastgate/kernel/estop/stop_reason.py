# SPDX-License-Identifier: Apache-2.0
"""The reason of a stop, whatever the caller gave as one."""


def stop_reason(said: object) -> str:
    """Returns a reason that can be sent: what is no text, or no UTF-8, must not keep a caller from stopping."""
    return str(said).encode(errors="replace").decode()
