# SPDX-License-Identifier: Apache-2.0
"""Reads a YAML file that a stranger may have written: what it says may not grow beyond what its bytes are."""

from pathlib import Path
from typing import Any

from lastgate.contracts import ROSConfigError

# Twenty times the largest manifest that ships.
BYTES_MAX = 1024 * 1024
# Values and keys, counted as often as aliases repeat them: what is read later walks through each of them. A mebibyte of
# numbers without aliases has fewer.
VALUES_MAX = 500_000
# A manifest needs six levels; parsers of lists within lists run out of stack at some hundreds.
DEPTH_MAX = 64


def load_bounded_yaml(path: Path) -> Any:
    """Returns the content of a YAML file; with duplicate keys, too large, too deep or self-containing it is refused.

    Raises:
        ROSConfigError: The file cannot be read, is no YAML, or is beyond a bound; the message names it.
    """
    try:
        from ruamel.yaml import YAML
        from ruamel.yaml.error import YAMLError
    except ModuleNotFoundError:
        raise ROSConfigError("reading a robot.yaml needs ruamel.yaml: pip install ruamel.yaml") from None
    with path.open("rb") as file:
        data = file.read(BYTES_MAX + 1)
    if len(data) > BYTES_MAX:
        raise ROSConfigError(f"{path}: larger than {BYTES_MAX} bytes")
    try:
        document = YAML(typ="safe", pure=True).load(data.decode("utf-8"))
    except (YAMLError, ValueError) as error:
        raise ROSConfigError(f"{path}: not a YAML file: {error}") from None
    except RecursionError:
        raise ROSConfigError(
            f"{path}: lists or mappings within each other, deeper than {DEPTH_MAX} levels"
        ) from None
    require_bounded(document, path)
    return document


def require_bounded(document: Any, path: Path) -> None:
    """Walks through the document as its readers will, and refuses it before they have to."""
    open_values = [(document, 0)]
    count = 0
    while open_values:
        value, depth = open_values.pop()
        count += 1
        if depth > DEPTH_MAX:
            raise ROSConfigError(
                f"{path}: lists or mappings within each other, deeper than {DEPTH_MAX} levels"
            )
        if count > VALUES_MAX:
            raise ROSConfigError(f"{path}: its aliases stand for more than {VALUES_MAX} values")
        if isinstance(value, dict):
            open_values += [(inner, depth + 1) for pair in value.items() for inner in pair]
        elif isinstance(value, list | tuple | set):
            open_values += [(inner, depth + 1) for inner in value]
