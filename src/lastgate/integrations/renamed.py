# SPDX-License-Identifier: Apache-2.0
"""Deprecated spellings of arguments and attributes, each kept for one release with a warning."""

import functools
import warnings
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from lastgate.contracts import ROSConfigError

P = ParamSpec("P")
R = TypeVar("R")


def renamed_arguments(**today: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Returns a decorator that takes the deprecated keywords for the names given, and warns.

    Raises:
        ROSConfigError: When called, if both spellings of an argument are given.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            for deprecated, name in today.items():
                if deprecated in kwargs:
                    if name in kwargs:
                        raise ROSConfigError(f"`{deprecated}` is `{name}`: give one of them")
                    _warn(deprecated, name)
                    kwargs[name] = kwargs.pop(deprecated)
            return function(*args, **kwargs)

        return call

    return decorate


def renamed_attribute(deprecated: str, name: str) -> Any:
    """Returns a property that reads an attribute under its deprecated name, and warns."""

    def read(owner: object) -> Any:
        _warn(deprecated, name)
        return getattr(owner, name)

    return property(read, doc=f"Deprecated alias of `{name}`.")


def _warn(deprecated: str, name: str) -> None:
    warnings.warn(f"`{deprecated}` is `{name}`", DeprecationWarning, stacklevel=3)
