# SPDX-License-Identifier: Apache-2.0
"""Gates with planted faults, which an attack has to notice."""

from collections.abc import Callable
from typing import Any

from attack.target import Answer, ask

Gate = Callable[[dict[str, Any]], Answer]


def that_accepts(*codes: str) -> Gate:
    """Returns a gate that lets through what it should reject under some codes, such as `world_collision`."""

    def gate(case: dict[str, Any]) -> Answer:
        answer = ask(case)
        if answer.accepted or answer.code not in codes:
            return answer
        return Answer(True, "", None)

    return gate


def that_rejects_everything(case: dict[str, Any]) -> Answer:
    return Answer(False, "budget_exceeded", None)
