# SPDX-License-Identifier: Apache-2.0
"""What crosses between C++ and Python has a type and a name on both sides."""

import re
from pathlib import Path

STUB = (Path(__file__).parents[2] / "src" / "lastgate-stubs" / "_core.pyi").read_text(encoding="utf-8")
# `dict(shape=...)` describes an array.
UNTYPED = re.compile(r"\bdict\b(?!\()|\bAny\b")
SIGNATURE = re.compile(r"def (\w+)\((.*?)\) -> ", re.DOTALL)


def positional_arguments(signature: str) -> list[str]:
    """Returns the types of the arguments that may be given by position."""
    plain = re.sub(r"Annotated\[(NDArray\[[\w.]+\]), dict\(.*?\)\]", r"\1", signature)
    arguments = []
    for argument in re.split(r", (?![^\[]*\])", plain):
        if argument == "*":
            break
        if ": " in argument:
            arguments.append(argument.partition(": ")[2].partition(" = ")[0])
    return arguments


def test_no_untyped_dict_crosses_the_boundary():
    assert UNTYPED.findall(STUB) == []


def test_untyped_dict_would_be_seen():
    assert UNTYPED.findall("def decode(payload: bytes) -> dict | None: ...")
    assert UNTYPED.findall("def decode(payload: bytes) -> dict[str, Any]: ...")
    assert not UNTYPED.findall("Annotated[NDArray[numpy.float64], dict(shape=(None,))]")


def test_calls_with_many_arguments_take_them_by_keyword():
    found = {name: positional_arguments(arguments) for name, arguments in SIGNATURE.findall(STUB)}
    assert max(len(found[name]) for name in ("check", "check_edges", "encode_action_chunk")) <= 1
    assert {name: types for name, types in found.items() if len(types) > 5} == {}


def test_positional_arguments_are_counted_up_to_the_star():
    assert positional_arguments("self, rows: int, *, control_mode: int") == ["int"]
    assert positional_arguments("a: tuple[int, int], b: float = 0.0") == ["tuple[int, int]", "float"]
