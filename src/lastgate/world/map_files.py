# SPDX-License-Identifier: Apache-2.0
"""Reads the file pair that map_server writes: a .yaml with the numbers, and a .pgm or .png with the cells."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lastgate.contracts import ROSConfigError
from lastgate.contracts.extras import install_command
from lastgate.world.finite_numbers import require_finite, require_positive

UNKNOWN_CELL = -1
_KEYS = {"image", "resolution", "origin", "negate", "occupied_thresh", "free_thresh", "mode"}
_NEEDED = ("image", "resolution", "origin", "negate", "occupied_thresh", "free_thresh")
_MODES = ("trinary", "scale", "raw")


@dataclass(frozen=True, slots=True, kw_only=True)
class MapFiles:
    """The contents of a file pair: the arguments of an `OccupancyGridIndex`."""

    data: NDArray[np.int8]
    resolution_m: float
    origin_xy: tuple[float, float]
    origin_yaw: float


def read_map_files(path: Path) -> MapFiles:
    """Returns the map of a .yaml file and the image it names.

    A pixel that is not opaque is unknown, whatever its shade.

    Raises:
        ROSConfigError: A file is missing or cannot be read, a key is unknown or missing, or a number makes no
            sense.
    """
    values = _read_yaml(path)
    unknown, missing = sorted(set(values) - _KEYS), [key for key in _NEEDED if key not in values]
    if unknown or missing:
        wrong = [f"unknown key `{key}`" for key in unknown] + [f"`{key}` is missing" for key in missing]
        raise ROSConfigError(f"{path}: {'; '.join(wrong)}")
    mode = values.get("mode", "trinary")
    if mode not in _MODES:
        raise ROSConfigError(f"{path}: mode is {mode!r}, expected one of {', '.join(_MODES)}")
    negate = values["negate"]
    if negate not in (0, 1):  # False and True are the same numbers
        raise ROSConfigError(f"{path}: negate is {negate!r}, expected 0 or 1")
    origin = values["origin"]
    if not isinstance(origin, list) or len(origin) != 3:
        raise ROSConfigError(f"{path}: origin is {origin!r}, expected [x, y, yaw]")
    x, y, yaw = (require_finite(number, name=f"{path}: origin") for number in origin)
    occupied = _require_share(values["occupied_thresh"], name=f"{path}: occupied_thresh")
    free = _require_share(values["free_thresh"], name=f"{path}: free_thresh")
    if not free < occupied:
        raise ROSConfigError(f"{path}: free_thresh {free:g} must be below occupied_thresh {occupied:g}")
    if not isinstance(values["image"], str) or not values["image"]:
        raise ROSConfigError(f"{path}: image is {values['image']!r}, expected the name of a file")
    shade, opaque = _read_image(path.parent / values["image"])
    dark = shade if negate else 1.0 - shade
    return MapFiles(
        # An image begins at its upper edge, a map at its origin.
        data=np.flipud(_cells(dark, shade, opaque, mode=mode, free=free, occupied=occupied)).copy(),
        resolution_m=require_positive(values["resolution"], name=f"{path}: resolution"),
        origin_xy=(x, y),
        origin_yaw=yaw,
    )


def _cells(
    dark: np.ndarray, shade: np.ndarray, opaque: np.ndarray, *, mode: str, free: float, occupied: float
) -> NDArray[np.int8]:
    if mode == "raw":
        percent = np.rint(shade * 255.0)
        cells = np.where(percent <= 100, percent, UNKNOWN_CELL)
    else:
        between = np.rint((dark - free) / (occupied - free) * 100.0) if mode == "scale" else UNKNOWN_CELL
        cells = np.where(dark > occupied, 100, np.where(dark < free, 0, between))
    return np.where(opaque, cells, UNKNOWN_CELL).astype(np.int8)


def _require_share(value: object, *, name: str) -> float:
    number = require_finite(value, name=name)
    if not 0.0 <= number <= 1.0:
        raise ROSConfigError(f"{name} must be from 0 to 1, got {number!r}")
    return number


def _read_yaml(path: Path) -> dict[str, Any]:
    try:
        from ruamel.yaml import YAML
        from ruamel.yaml.error import YAMLError
    except ModuleNotFoundError:
        raise ROSConfigError(f"a map file needs `{install_command('approach')}`") from None
    try:
        values = YAML(typ="safe").load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ROSConfigError(f"map `{path}` cannot be read: {error.strerror}") from None
    except (YAMLError, UnicodeDecodeError):
        raise ROSConfigError(
            f"map `{path}` is not YAML: name the .yaml file of the pair, not its image"
        ) from None
    if not isinstance(values, dict):
        raise ROSConfigError(f"map `{path}` holds no keys: expected image, resolution, origin, …")
    return values


def _read_image(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Returns the shade of each pixel, 0 black to 1 white, and whether it is opaque."""
    try:
        from PIL import Image, UnidentifiedImageError
    except ModuleNotFoundError:
        raise ROSConfigError(f"a map file needs `{install_command('approach')}`") from None
    try:
        with Image.open(path) as image:
            image.load()
            mode, deep = image.mode, np.asarray(image)
            plain = image if mode in ("L", "I;16", "I") else image.convert("RGBA")
            pixels = np.asarray(plain)
    except UnidentifiedImageError:
        raise ROSConfigError(f"map image `{path}` is not an image that can be read") from None
    except OSError as error:
        raise ROSConfigError(f"map image `{path}` cannot be read: {error.strerror or error}") from None
    except Image.DecompressionBombError as error:
        raise ROSConfigError(f"map image `{path}` is too large: {error}") from None
    if mode in ("I;16", "I"):
        return deep.astype(np.float64) / 65535.0, np.ones(deep.shape, dtype=bool)
    if mode == "L":
        return pixels.astype(np.float64) / 255.0, np.ones(pixels.shape, dtype=bool)
    return pixels[:, :, :3].astype(np.float64).mean(axis=2) / 255.0, pixels[:, :, 3] == 255
