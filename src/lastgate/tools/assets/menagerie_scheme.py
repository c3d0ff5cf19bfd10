# SPDX-License-Identifier: Apache-2.0
"""`menagerie:<model>`: a model of the mujoco-menagerie package, which downloads what it serves."""

import sys
from pathlib import Path

from lastgate.contracts.exceptions import ROSConfigError
from lastgate.tools.assets.closest_names import quote_all


def resolve_menagerie(model: str) -> Path:
    """Returns the MJCF of a robot alone, without the floor and lights of its scene.

    A model that is neither in `MENAGERIE_ROOT` nor in the cache says `Downloading <model> …` on stderr
    first. Raises `ROSConfigError` if the package is missing, for an unknown model (with those
    there are), and if the download does not succeed.
    """
    try:
        import mujoco_menagerie  # pyright: ignore[reportMissingImports] -- an asset package, not a dependency
    except ImportError as error:
        raise ROSConfigError(
            f"`menagerie:{model}` needs the package mujoco-menagerie, which is not installed\n\n"
            "hint: pip install mujoco-menagerie"
        ) from error
    known = mujoco_menagerie.names()
    if model not in known:
        raise ROSConfigError(f"menagerie has no model `{model}`; closest first: {quote_all(model, known)}")
    robot = mujoco_menagerie.get(model)
    cache = mujoco_menagerie.Cache()
    if cache.root is None and not cache.is_cached(robot):
        print(f"Downloading {model} …", file=sys.stderr, flush=True)
    try:
        path = robot.xml(robot.default_model, cache)
    except (mujoco_menagerie.MenagerieError, OSError) as error:
        raise ROSConfigError(
            f"`menagerie:{model}` is not available: {' '.join(str(error).split())}\n\n"
            "hint: run it once with a network connection, or set MENAGERIE_ROOT to a checkout of its models"
        ) from error
    if not path.is_file():
        raise ROSConfigError(f"`menagerie:{model}`: the model folder has no file `{path}`")
    return path
