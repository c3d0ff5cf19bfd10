# SPDX-License-Identifier: Apache-2.0
"""Checks the certificate of an accepted chunk. Imports nothing of lastgate: kinematics, motion bounds and the list of
pairs are worked out again here, from the numbers in the file alone.

A certificate says of every pair, for every stretch of the path: at this instant a slab this wide separates the two,
and until the ends of the stretch they cannot come closer by more than this. Or: along the direction of the slab, held
fixed in the last link that carries both, the gap at the two ends is at least this, and nowhere less in between. Instead
of a slab, a volume among points has the distance of the nearest.

What has to be believed: the model, by its digest; that the robot stood at the path's first step; that fingers which
the file does not call uncertain were measured; the world and what the robot holds, as the file gives them, which is why
they are printed. Everything else in the file may have been written by an enemy.

One file on purpose: an auditor reads it from top to bottom, and it runs where only NumPy is installed.

Usage: python checker.py FILE. Exit 0 verified, 1 refused, 2 not readable.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

FORMAT = "lastgate-certificate 4"
# Files of the two formats before know no attached solids; records of the older have no direction that is followed.
FORMAT_BEFORE, FORMAT_FIRST = "lastgate-certificate 3", "lastgate-certificate 2"
RECORD_COLUMNS = [
    "kind",
    "by_pieces",
    "a",
    "b",
    "piece_a",
    "shape_a",
    "piece_b",
    "shape_b",
    "low",
    "high",
    "at",
    "direction_x",
    "direction_y",
    "direction_z",
    "distance_m",
    "motion_m",
    "demand_m",
    "directional",
    "gap_before_m",
    "gap_after_m",
    "bend_m",
]
DIRECTIONAL_COLUMNS = RECORD_COLUMNS[-4:]
APART_COLUMNS = ["volume", "piece", "direction_x", "direction_y", "direction_z"]
# Two programs place a robot of metres to within a few hundred roundings of each other; a nanometre is far above that,
# and far below anything a margin means.
SAME_M = 1e-9
# What a model and a world may be, as the gate takes them. Within these bounds, arithmetic on unit vectors is off by
# less than `_rounding_m` allows for; a shape beyond them could hide a metre in the last digits of a direction.
ROBOT_M_MAX, WORLD_M_MAX, JOINT_MAX, GAIN_MAX = 100.0, 1e4, 1e4, 1e3
ROWS_MAX, LINKS_MAX, VARIABLES_MAX, VOLUMES_MAX, HULLS_MAX, VERTICES_MAX = 256, 256, 64, 320, 768, 256
ATTACHED_MAX, OBSTACLES_MAX = 16, 1024
# A quaternion written with seven digits is this close to unit length. An axis and a direction are written in full.
UNIT_QUATERNION, UNIT_AXIS = 1e-6, 1e-5
# Vertices of the polygon around a disc, by which the motion of the disc is bounded.
DISC_VERTICES = 32
# No honest file is near this; a longer one would be a way to use up memory before anything is checked.
TEXT_MAX = 1 << 30
# How far the joints between two shapes may move, added up, from the instant of a directional record to either end:
# beyond it the rounding of the derivative has no bound here.
DIRECTIONAL_WAY_MAX = 1.0
# A joint may be measured this far outside its limits; motion bounds of the model hold up to there.
LIMIT_SLACK = 0.2
SELF, WORLD, ZONE, POINTS = 0, 1, 2, 3
SPHERE, CAPSULE, BOX, HALF_SPACE, CYLINDER = 0, 1, 2, 3, 4
FIXED, REVOLUTE, PRISMATIC = 0, 1, 2

Array = Any  # NumPy's arrays, without asking for its typing module


def shown(text: str) -> str:
    """Returns the text with what a terminal would obey written out: a file must not draw its own verdict."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text)


class Refused(Exception):
    """The certificate does not show what it claims."""

    def __init__(self, why: str) -> None:
        super().__init__(shown(why))


@dataclass(frozen=True)
class Report:
    """What was verified."""

    robot: str
    model_digest: str
    world_id: str
    checked_world: bool
    row_count: int
    held_count: int
    pair_count: int
    record_count: int
    least_spare_m: float
    world_content: str
    unmeasured_count: int

    def __str__(self) -> str:
        world = f"world `{shown(self.world_id)}`" if self.checked_world else "no world"
        held = (
            f" with {self.held_count} attached shape{'s' if self.held_count > 1 else ''}"
            if self.held_count
            else ""
        )
        return (
            f"verified: {self.row_count} steps of `{shown(self.robot)}`{held} in {world}; {self.pair_count} pairs, "
            f"{self.record_count} records, each with at least {self.least_spare_m:.6f} m to spare\n"
            f"  model {self.model_digest}\n"
            f"  the world of the file: {self.world_content}\n"
            f"  believed, not verified: that model and this world, that the robot stood at the first step, and that "
            f"{'the other' if self.unmeasured_count else 'all'} joints were measured"
            f"{f' ({self.unmeasured_count} were not)' if self.unmeasured_count else ''}"
        )


def require(condition: bool, why: str) -> None:
    """Raises `Refused` unless a condition holds; a NaN makes none hold."""
    if not condition:
        raise Refused(why)


# ---- Reading ---------------------------------------------------------------------------------------


def _no_constant(name: str) -> float:
    raise Refused(f"the file holds {name}")


def _no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = [key for key, _ in pairs]
    require(len(set(keys)) == len(keys), "a key is written twice")
    return dict(pairs)


def read(text: str) -> dict[str, Any]:
    """Returns the content of a certificate whose digest is right."""
    require(len(text) <= TEXT_MAX, f"the file is longer than {TEXT_MAX} characters")
    try:
        content = json.loads(text, parse_constant=_no_constant, object_pairs_hook=_no_twins)
    except (ValueError, RecursionError) as error:  # a whole number of thousands of digits is a ValueError
        raise Refused(f"not JSON: {error}") from None
    known = isinstance(content, dict) and content.get("format") in (FORMAT, FORMAT_BEFORE, FORMAT_FIRST)
    require(known, f"not a file of `{FORMAT}`")
    digest = content.pop("digest", None)
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    found = hashlib.sha256(canonical.encode("utf-8")).hexdigest()
    require(digest == found, f"the digest is {found}, the file says {digest}")
    keys = {
        "format", "model", "model_digest", "path", "uncertainty", "held", "world", "record_columns", "records",
        "apart_columns", "apart",
    }  # fmt: skip
    require(set(content) == keys, f"the file must hold {sorted(keys)}")
    before = content["format"] == FORMAT_FIRST
    columns = RECORD_COLUMNS[: -len(DIRECTIONAL_COLUMNS)] if before else RECORD_COLUMNS
    require(content["record_columns"] == columns, "the records have other columns")
    if before:
        whole = _table(content["records"], len(columns), "records").tolist()
        content["records"] = [[*record, *[0] * len(DIRECTIONAL_COLUMNS)] for record in whole]
    require(content["apart_columns"] == APART_COLUMNS, "the table `apart` has other columns")
    if content["format"] != FORMAT and isinstance(content["held"], dict):
        objects = content["held"].get("object")
        count = len(objects) if isinstance(objects, list) else 0
        none = {"solid_xyz_rpy": [0.0] * 6, "disc_m": 0.0, "vertices_m": list[Any]()}
        require(not set(none) & set(content["held"]), "what is held is not described")
        content["held"] |= {name: [value] * count for name, value in none.items()}
    return content


def _table(values: Any, columns: int, name: str) -> Array:
    """Returns rows of numbers as an array; anything else is refused."""
    rows = values.tolist() if isinstance(values, np.ndarray) else values
    require(isinstance(rows, list), f"{name} is not a table")
    for row in rows:
        is_row = isinstance(row, list) and len(row) == columns
        require(
            is_row and all(type(number) in (int, float) for number in row),
            f"{name} is not rows of {columns} numbers",
        )
    try:
        table = np.array(rows, dtype=np.float64).reshape(len(rows), columns)
    except OverflowError:
        raise Refused(f"{name} holds a number that is too large") from None
    require(bool(np.isfinite(table).all()), f"{name} holds numbers that are not finite")
    return table


def _within(values: Array, most: float, name: str) -> Array:
    """Returns numbers none of which is farther from zero than `most`."""
    require(bool((np.abs(values) <= most).all()), f"{name} is beyond {most:g}")
    return values


def _unit(vectors: Array, off_max: float, name: str) -> Array:
    """Returns (n, k) vectors of unit length exactly, of those that nearly are."""
    lengths = np.linalg.norm(_within(vectors, 2.0, name), axis=1)
    require(bool((np.abs(lengths - 1.0) <= off_max).all()), f"{name} is no unit vector")
    return vectors / lengths[:, None]


def _numbers(values: Any, count: int, name: str, *, low: float, high: float) -> Array:
    """Returns a list of so many numbers between two bounds."""
    require(isinstance(values, list) and len(values) == count, f"{name} is not {count} numbers")
    row = _table([values], count, name)[0]
    require(bool(((row >= low) & (row <= high)).all()), f"{name} is not between {low:g} and {high:g}")
    return row


def _whole(values: Any, name: str, *, low: int, high: int, most: int) -> list[int]:
    """Returns a list of at most `most` whole numbers, both bounds included."""
    require(isinstance(values, list) and len(values) <= most, f"{name} is not at most {most} numbers")
    require(all(type(value) is int for value in values), f"{name} is not whole numbers")
    require(all(low <= value <= high for value in values), f"{name} is not between {low} and {high}")
    return values


def _flat(values: Any, columns: int, name: str) -> Array:
    """Returns numbers that a model writes end to end as rows."""
    require(isinstance(values, list) and len(values) % columns == 0, f"{name} is not rows of {columns}")
    return _table([values[at : at + columns] for at in range(0, len(values), columns)], columns, name)


def _indices(column: Array, below: int, name: str) -> Array:
    whole = column.astype(np.int64)
    require(bool(((whole == column) & (whole >= 0) & (whole < below)).all()), f"{name} is not among {below}")
    return whole


# ---- Model -----------------------------------------------------------------------------------------


def _rotation_from_rpy(roll: float, pitch: float, yaw: float) -> Array:
    cr, sr, cp, sp, cy, sy = (
        math.cos(roll), math.sin(roll), math.cos(pitch), math.sin(pitch), math.cos(yaw), math.sin(yaw)
    )  # fmt: skip
    about_x = np.array([[1, 0, 0], [0, cr, -sr], [0, sr, cr]])
    about_y = np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]])
    about_z = np.array([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1]])
    return about_z @ about_y @ about_x


def _rotation_from_quaternion(quaternion: Array) -> Array:
    x, y, z, w = _unit(quaternion[None], UNIT_QUATERNION, "the quaternion of a pose")[0].tolist()
    return np.array(
        [
            [w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z],
        ]
    )


def _cross_matrix(axis: Array) -> Array:
    x, y, z = axis
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])


@dataclass(frozen=True)
class Shape:
    """Every point within `radius_m` of the hull of some vertices, in the frame of a link (or of the base, -1).

    Every vertex may stand for a disc of `disc_m` around it, square to `axis`; `bounding` are then points whose hull
    contains the shape.
    """

    link: int
    vertices: Array
    radius_m: float
    disc_m: float = 0.0
    axis: Array | None = None

    @property
    def bounding(self) -> Array:
        """Points whose convex hull contains the shape, radius apart: its vertices, or polygons around its discs."""
        if self.axis is None:
            return self.vertices
        helper = np.eye(3)[int(np.abs(self.axis).argmin())]
        side = np.cross(self.axis, helper)
        side = side / np.linalg.norm(side)
        angle = 2.0 * math.pi * np.arange(DISC_VERTICES) / DISC_VERTICES
        ring = np.cos(angle)[:, None] * side + np.sin(angle)[:, None] * np.cross(self.axis, side)
        ring = ring * (self.disc_m / math.cos(math.pi / DISC_VERTICES))
        return (self.vertices[:, None] + ring).reshape(-1, 3)

    def reach(self, directions: Array) -> Array:
        """Returns how far the shape reaches along each of (n, 3) vectors of its own frame."""
        reach = (directions @ self.vertices.T).max(axis=1) + self.radius_m
        if self.axis is None:
            return reach
        return reach + self.disc_m * np.linalg.norm(np.cross(self.axis, directions), axis=1)


class Model:
    """Links, joints and shapes as the file of a robot gives them: one `key: value` per line."""

    def __init__(self, text: str) -> None:
        values: dict[str, Any] = {}
        # Lines end where they do for the gate; Python would also end them at characters inside a text.
        for line in text.removesuffix("\n").split("\n"):
            key, colon, value = line.partition(": ")
            require(bool(colon) and key not in values, "the model is not one `key: value` per line")
            try:
                values[key] = json.loads(value, parse_constant=_no_constant, object_pairs_hook=_no_twins)
            except (ValueError, RecursionError):
                raise Refused(f"the model has an unreadable `{key}`") from None
        require(values.get("schema_version") == 1, "the model is of another version")
        try:
            self._take(values)
        except (KeyError, TypeError, IndexError) as error:
            raise Refused(f"the model is incomplete: {error!r}") from None

    def _take(self, values: dict[str, Any]) -> None:
        require(isinstance(values["robot_name"], str), "the robot has no name")
        self.robot = values["robot_name"]
        self._take_joints(values)
        margins = [values["self_collision_margin_m"], values["world_collision_margin_m"]]
        own, world = _numbers(margins, 2, "a margin", low=0.0, high=ROBOT_M_MAX).tolist()
        self.margin_m = {SELF: own, WORLD: world, ZONE: world, POINTS: world}
        # Per link the links whose joints move it, the first of the chain first.
        self.movers: list[tuple[int, ...]] = [()]
        for link in range(1, len(self.parent)):
            own = (link,) if self.kind[link] != FIXED else ()
            self.movers.append(self.movers[self.parent[link]] + own)
        self._take_shapes(values)
        last = len(self.parent) - 1
        ends = _whole(
            values["allowed_link_pairs"], "allowed_link_pairs", low=0, high=last, most=2 * LINKS_MAX**2
        )
        require(len(ends) % 2 == 0, "allowed_link_pairs is not pairs")
        self.allowed = {frozenset(ends[at : at + 2]) for at in range(0, len(ends), 2)}
        self.zones = obstacles_of(
            values["zone_kind"],
            _flat(values["zone_size_m"], 3, "zone_size_m"),
            _flat(values["zone_xyz_quat_xyzw"], 7, "zone_xyz_quat_xyzw"),
        )
        self.volume_reach = [self.reach(shape) for shape in self.volumes]
        self.hull_reach = [self.reach(shape) for shape in self.hulls]

    def _take_joints(self, values: dict[str, Any]) -> None:
        self.parent = _whole(values["link_parent"], "link_parent", low=-1, high=LINKS_MAX, most=LINKS_MAX)
        count = len(self.parent)
        require(count > 0 and self.parent[0] == -1, "the links do not fit together")
        require(
            all(0 <= self.parent[link] < link for link in range(1, count)), "a link stands before its parent"
        )
        limits = values["position_min"]
        require(
            isinstance(limits, list) and len(limits) <= VARIABLES_MAX, "position_min is no list of limits"
        )
        self.dof_count = len(limits)
        self.position_min = _numbers(limits, self.dof_count, "position_min", low=-JOINT_MAX, high=JOINT_MAX)
        self.position_max = _numbers(
            values["position_max"], self.dof_count, "position_max", low=-JOINT_MAX, high=JOINT_MAX
        )
        require(bool((self.position_min < self.position_max).all()), "the limits of a joint are not ordered")
        flags = _whole(values["dof_in_rows"], "dof_in_rows", low=0, high=1, most=self.dof_count)
        self.kind = _whole(values["joint_kind"], "joint_kind", low=FIXED, high=PRISMATIC, most=count)
        self.dof = _whole(values["joint_dof"], "joint_dof", low=-1, high=self.dof_count - 1, most=count)
        fits = len(flags) == self.dof_count and len(self.kind) == len(self.dof) == count
        require(fits and self.kind[0] == FIXED, "the joints do not fit together")
        require(
            all(dof >= 0 for kind, dof in zip(self.kind, self.dof, strict=True) if kind != FIXED),
            "a joint moves by no degree of freedom",
        )
        self.in_rows = [flag == 1 for flag in flags]
        self.multiplier = _numbers(
            values["joint_multiplier"], count, "joint_multiplier", low=-GAIN_MAX, high=GAIN_MAX
        )
        self.offset = _numbers(values["joint_offset"], count, "joint_offset", low=-JOINT_MAX, high=JOINT_MAX)
        origins = _within(
            _flat(values["joint_origin_xyzrpy"], 6, "joint_origin_xyzrpy"), ROBOT_M_MAX, "an origin"
        )
        axes = _flat(values["joint_axis"], 3, "joint_axis")
        require(len(origins) == len(axes) == count, "the links do not fit together")
        self.origin_xyz = origins[:, :3]
        self.origin_rotation = [_rotation_from_rpy(*rpy) for rpy in origins[:, 3:]]
        self.axis = _unit(axes, UNIT_AXIS, "a joint axis")
        require(type(values["mobile_base"]) is bool, "it is not said whether the base moves")
        self.base_columns = 3 if values["mobile_base"] else 0

    def _take_shapes(self, values: dict[str, Any]) -> None:
        last = len(self.parent) - 1
        links = _whole(values["volume_link"], "volume_link", low=0, high=last, most=VOLUMES_MAX)
        ends = _within(_flat(values["volume_ends_m"], 6, "volume_ends_m"), ROBOT_M_MAX, "the end of a volume")
        radii = _numbers(values["volume_radius_m"], len(links), "volume_radius_m", low=0.0, high=ROBOT_M_MAX)
        require(len(ends) == len(links) and bool((radii > 0.0).all()), "a volume has no size")
        self.volumes = [
            Shape(link, ends[index].reshape(2, 3), float(radii[index])) for index, link in enumerate(links)
        ]
        self.hulls: list[Shape] = []
        if "piece_link" not in values:
            return
        links = _whole(values["piece_link"], "piece_link", low=0, high=last, most=HULLS_MAX)
        vertices = _within(
            _flat(values["piece_corners_m"], 3, "piece_corners_m"), ROBOT_M_MAX, "a vertex of a hull"
        )
        radii = _numbers(values["piece_radius_m"], len(links), "piece_radius_m", low=0.0, high=ROBOT_M_MAX)
        counts = _whole(
            values["piece_corner_count"], "piece_corner_count", low=1, high=VERTICES_MAX, most=HULLS_MAX
        )
        require(
            len(counts) == len(links) and sum(counts) == len(vertices),
            "the vertices of the hulls do not add up",
        )
        at = 0
        for link, radius, number in zip(links, radii, counts, strict=True):
            self.hulls.append(Shape(link, vertices[at : at + number], float(radius)))
            at += number

    def place(self, configurations: Array) -> tuple[list[Array], list[Array]]:
        """Returns, per link, rotations (n, 3, 3) and positions (n, 3) at every configuration."""
        count = len(configurations)
        rotations = [np.broadcast_to(np.eye(3), (count, 3, 3))]
        positions = [np.zeros((count, 3))]
        for link in range(1, len(self.parent)):
            up_r, up_p = rotations[self.parent[link]], positions[self.parent[link]]
            rotation = up_r @ self.origin_rotation[link]
            position = up_p + up_r @ self.origin_xyz[link]
            if self.kind[link] != FIXED:
                value = self.multiplier[link] * configurations[:, self.dof[link]] + self.offset[link]
                axis = self.axis[link]
                if self.kind[link] == REVOLUTE:
                    k = _cross_matrix(axis)
                    sine, cosine = np.sin(value)[:, None, None], np.cos(value)[:, None, None]
                    rotation = rotation @ (np.eye(3) + sine * k + (1.0 - cosine) * (k @ k))
                else:
                    position = position + value[:, None] * (rotation @ axis)
            rotations.append(rotation)
            positions.append(position)
        return rotations, positions

    def reach(self, shape: Shape) -> dict[int, float]:
        """Returns, per joint above a shape, how far any of its vertices can be from that joint's axis.

        A vertex is followed up the chain as a sphere that holds wherever the joints passed so far can put it.
        """
        found: dict[int, float] = {}
        for vertex in shape.bounding:
            centre, radius, link = vertex, 0.0, shape.link
            while link > 0:
                if self.kind[link] != FIXED:
                    low = self.position_min[self.dof[link]] - LIMIT_SLACK
                    high = self.position_max[self.dof[link]] + LIMIT_SLACK
                    gain = abs(self.multiplier[link])
                    middle = self.multiplier[link] * 0.5 * (low + high) + self.offset[link]
                    half = gain * 0.5 * (high - low)
                    axis = self.axis[link]
                    if self.kind[link] == REVOLUTE:
                        along = (centre @ axis) * axis
                        across = centre - along
                        distance = float(np.linalg.norm(across))
                        found[link] = max(found.get(link, 0.0), gain * (distance + radius))
                        if half < math.pi / 2:
                            turned = math.cos(middle) * across + math.sin(middle) * np.cross(axis, across)
                            centre, radius = (
                                along + math.cos(half) * turned,
                                radius + distance * math.sin(half),
                            )
                        else:
                            centre, radius = along, radius + distance
                    else:
                        found[link] = max(found.get(link, 0.0), gain)
                        centre, radius = centre + middle * axis, radius + half
                centre = self.origin_rotation[link] @ centre + self.origin_xyz[link]
                link = self.parent[link]
        return found

    def checked_volume_pairs(self) -> set[frozenset[int]]:
        """Returns the pairs of volumes that move against each other and may not touch."""
        pairs = set()
        for i, first in enumerate(self.volumes):
            for j in range(i):
                second = self.volumes[j]
                moves = self.movers[first.link] != self.movers[second.link]
                if moves and frozenset((first.link, second.link)) not in self.allowed:
                    pairs.add(frozenset((i, j)))
        return pairs


@dataclass(frozen=True)
class Held:
    """One shape of an attached object, the links that it may touch, and the solid inside the shape, if it is one."""

    number: int
    shape: Shape
    touch_links: frozenset[int]
    solid: Shape | None = None


def attached_of(content: Any, link_count: int) -> list[Held]:
    """Returns the attached shapes; those of one object have the same number."""
    keys = {"object", "link", "ends_m", "radius_m", "touch_links", "solid_xyz_rpy", "disc_m", "vertices_m"}
    require(isinstance(content, dict) and set(content) == keys, "what is held is not described")
    require(all(isinstance(values, list) for values in content.values()), "what is held is not described")
    require(
        len({len(values) for values in content.values()}) == 1, "an attached shape is not described whole"
    )
    require(len(content["object"]) <= ATTACHED_MAX, f"more than {ATTACHED_MAX} shapes are attached")
    ends = _within(
        _table(content["ends_m"], 6, "the ends of attached shapes"), ROBOT_M_MAX, "an attached shape"
    )
    radii = _numbers(
        content["radius_m"], len(ends), "the radii of attached shapes", low=0.0, high=ROBOT_M_MAX
    )
    found = []
    for index, (number, link, touch) in enumerate(
        zip(content["object"], content["link"], content["touch_links"], strict=True)
    ):
        require(type(number) is int and number >= 0, "an attached object has no number")
        is_list = isinstance(touch, list) and all(type(other) is int for other in touch)
        require(
            is_list and type(link) is int and all(0 <= other < link_count for other in [link, *touch]),
            "an attached shape names a link that does not exist",
        )
        require(radii[index] > 0.0, "an attached shape has no size")
        shape = Shape(link, ends[index].reshape(2, 3), float(radii[index]))
        solid = _solid_of(content, index, shape)
        found.append(Held(number, shape, frozenset(touch), solid))
    return found


def _solid_of(content: Any, index: int, cover: Shape) -> Shape | None:
    """Returns the solid that an attached shape stands for and contains; None where the shape is all there is."""
    rows = content["vertices_m"][index]
    require(isinstance(rows, list) and len(rows) <= VERTICES_MAX, "a solid has too many vertices")
    if not rows:
        return None
    vertices = _within(_table(rows, 3, "the vertices of a solid"), ROBOT_M_MAX, "a vertex of a solid")
    pose = _numbers(content["solid_xyz_rpy"][index], 6, "the pose of a solid", low=-JOINT_MAX, high=JOINT_MAX)
    _within(pose[:3], ROBOT_M_MAX, "the place of a solid")
    (disc_m,) = _numbers([content["disc_m"][index]], 1, "the disc of a solid", low=0.0, high=ROBOT_M_MAX)
    rotation = _rotation_from_rpy(*pose[3:].tolist())
    axis = rotation[:, 2] if disc_m > 0.0 else None
    solid = Shape(cover.link, vertices @ rotation.T + pose[:3], 0.0, float(disc_m), axis)
    start, end = cover.vertices
    along = end - start
    length2 = float(along @ along)
    away = solid.bounding - start
    share = np.clip(away @ along / length2, 0.0, 1.0) if length2 > 0.0 else np.zeros(len(away))
    far = np.linalg.norm(away - share[:, None] * along, axis=1)
    require(bool((far <= cover.radius_m + SAME_M).all()), "a solid is not inside its volume")
    return solid


@functools.lru_cache(maxsize=8)
def model_of(text: str) -> Model:
    """Returns the model of a text; many certificates speak of the same robot."""
    return Model(text)


@dataclass(frozen=True)
class Obstacle:
    """A shape of the world; `outward` is the normal of a half-space, whose vertex is a point of its face.

    Every vertex of a cylinder stands for a disc of `disc_m` around it, square to `axis`.
    """

    vertices: Array
    radius_m: float
    outward: Array | None = None
    disc_m: float = 0.0
    axis: Array | None = None

    def reach(self, directions: Array) -> Array:
        """Returns how far the shape reaches along each of (n, 3) unit vectors."""
        reach = (directions @ self.vertices.T).max(axis=1) + self.radius_m
        if self.axis is None:
            return reach
        return reach + self.disc_m * np.linalg.norm(np.cross(self.axis, directions), axis=1)


def obstacles_of(kinds: Any, sizes: Any, poses: Any) -> list[Obstacle]:
    """Returns obstacles from three sizes (radius; radius and half length; half extents) and a pose each."""
    kinds = _whole(kinds, "the kinds of obstacles", low=SPHERE, high=CYLINDER, most=OBSTACLES_MAX)
    sizes = _within(_table(sizes, 3, "sizes"), WORLD_M_MAX, "the size of an obstacle")
    poses = _table(poses, 7, "poses")
    _within(poses[:, :3], WORLD_M_MAX, "the place of an obstacle")
    require(len(kinds) == len(sizes) == len(poses), "the obstacles do not have one size and one pose each")
    found = []
    for kind, size, pose in zip(kinds, sizes, poses, strict=True):
        rotation, at = _rotation_from_quaternion(pose[3:]), pose[:3]
        # Ends and vertices are a little off by rounding: `_rounding_m` allows for it.
        if kind == SPHERE:
            require(size[0] > 0.0, "a sphere has no size")
            found.append(Obstacle(at[None], float(size[0])))
        elif kind == CAPSULE:
            require(size[0] > 0.0 and size[1] >= 0.0, "a capsule has no size")
            half = size[1] * rotation[:, 2]
            found.append(Obstacle(np.stack([at - half, at + half]), float(size[0])))
        elif kind == BOX:
            require(bool((size > 0.0).all()), "a box has no size")
            signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
            found.append(Obstacle((signs * size) @ rotation.T + at, 0.0))
        elif kind == CYLINDER:
            require(bool((size[:2] > 0.0).all()), "a cylinder has no size")
            half = size[1] * rotation[:, 2]
            ends = np.stack([at - half, at + half])
            found.append(Obstacle(ends, 0.0, disc_m=float(size[0]), axis=rotation[:, 2]))
        else:
            found.append(Obstacle(at[None], 0.0, rotation[:, 2]))
    return found


def content_of_world(kinds: list[int], point_count: int) -> str:
    """Returns what a world consists of, in words."""
    names = {SPHERE: "sphere", CAPSULE: "capsule", BOX: "box", HALF_SPACE: "half-space", CYLINDER: "cylinder"}
    counts = [(kinds.count(kind), name) for kind, name in names.items()] + [(point_count, "point")]
    said = [f"{count} {name}{'es' if name == 'box' else 's'}" for count, name in counts if count > 1]
    said += [f"1 {name}" for count, name in counts if count == 1]
    return ", ".join(said) or "nothing"


# ---- Checking --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Placed:
    """The links at every instant that some record names, which of them each names, and how far joints stray from it."""

    rotations: list[Array]
    positions: list[Array]
    place: Array
    step: Array


class Checker:
    """One certificate, read and taken apart."""

    def __init__(self, content: dict[str, Any]) -> None:
        require(isinstance(content["model"], str), "the model is not text")
        found = hashlib.sha256(content["model"].encode("utf-8")).hexdigest()
        require(content["model_digest"] == found, "the model is not the one whose digest is given")
        self.digest = found
        self.model = model_of(content["model"])
        columns = self.model.dof_count + self.model.base_columns
        self.path = _table(content["path"], columns, "path")
        require(2 <= len(self.path) <= ROWS_MAX + 1, f"the path has no steps, or more than {ROWS_MAX}")
        self.uncertainty = _numbers(content["uncertainty"], columns, "uncertainty", low=0.0, high=JOINT_MAX)
        self._require_path()
        self._take_attached(attached_of(content["held"], len(self.model.parent)))
        world = content["world"]
        require(
            isinstance(world, dict)
            and set(world) == {"id", "looked_at", "kind", "size_m", "xyz_quat_xyzw", "points_m"},
            "the world is not described",
        )
        require(
            isinstance(world["looked_at"], bool) and isinstance(world["id"], str),
            "the world is not described",
        )
        self.world_id, self.is_checked = world["id"], world["looked_at"]
        self.obstacles = obstacles_of(world["kind"], world["size_m"], world["xyz_quat_xyzw"])
        self.points = _within(_table(world["points_m"], 3, "points_m"), WORLD_M_MAX, "a point")
        self.world_content = (
            content_of_world(world["kind"], len(self.points)) if self.is_checked else "not observed"
        )
        require(
            self.is_checked or not (self.obstacles or len(self.points)),
            "the world was not observed, and yet it has obstacles",
        )
        self.records = _table(content["records"], len(RECORD_COLUMNS), "records")
        self.column = {name: self.records[:, index] for index, name in enumerate(RECORD_COLUMNS)}
        self.apart = _table(content["apart"], len(APART_COLUMNS), "apart")
        # Of stretches that hulls certify among points: a record, and the points that the hulls are certified against.
        self.left_to_volumes: list[tuple[int, list[int]]] = []
        self.rounding_m = self._rounding_m()

    def _rounding_m(self) -> float:
        """Returns how far a width computed here may be from the true one.

        A coordinate is a sum of a few dozen products of coordinates with numbers up to one, and a joint angle is
        known to its last digit only: 64 roundings of the largest coordinate, per radian of the largest angle, which a
        joint that mimics another may have beyond what the path says.
        """
        robot_m = sum(float(np.linalg.norm(xyz)) for xyz in self.model.origin_xyz)
        shapes = [*self.volumes, *self.hulls, *self.obstacles, *self.model.zones]
        shape_m = max((float(np.abs(shape.vertices).max()) + shape.radius_m for shape in shapes), default=0.0)
        shape_m += max((one.disc_m for one in [*self.hulls, *self.obstacles, *self.model.zones]), default=0.0)
        point_m = float(np.abs(self.points).max()) if len(self.points) else 0.0
        model = self.model
        gain = max(1.0, float(np.abs(model.multiplier).max()))
        moved = gain * float(np.abs(self.path).max()) + float(np.abs(model.offset).max())
        extent_m = robot_m + shape_m + point_m + moved
        return 64 * float(np.finfo(np.float64).eps) * extent_m * (1.0 + moved)

    def _take_attached(self, held: list[Held]) -> None:
        """What is held counts as volumes after those of the robot."""
        model = self.model
        self.held = held
        shapes = [one.shape for one in held]
        self.volumes = [*model.volumes, *shapes]
        self.volume_reach = [*model.volume_reach, *(model.reach(shape) for shape in shapes)]
        # A solid counts as a hull after those of the robot; a place without one is taken by the shape itself.
        solids = [one.solid or one.shape for one in held]
        self.hulls = [*model.hulls, *solids]
        self.hull_reach = [*model.hull_reach, *(model.reach(solid) for solid in solids)]
        # Which volumes the joint of which link moves.
        self.carried = np.zeros((len(self.volumes), len(model.parent)), dtype=bool)
        for index, shape in enumerate(self.volumes):
            self.carried[index, list(model.movers[shape.link])] = True

    def _checked_volume_pairs(self) -> set[frozenset[int]]:
        """Returns the pairs of volumes that move against each other and may not touch.

        What is held has no share in what its link may touch, and no object is held against itself.
        """
        model, own = self.model, len(self.model.volumes)
        pairs = model.checked_volume_pairs()
        for index, held in enumerate(self.held):
            for j in range(own + index):
                other = self.volumes[j]
                may_touch = (
                    other.link in held.touch_links if j < own else self.held[j - own].number == held.number
                )
                if not may_touch and model.movers[held.shape.link] != model.movers[other.link]:
                    pairs.add(frozenset((own + index, j)))
        return pairs

    def _require_path(self) -> None:
        model = self.model
        joints = self.path[:, : model.dof_count]
        inside = (joints >= model.position_min - LIMIT_SLACK) & (joints <= model.position_max + LIMIT_SLACK)
        require(bool(inside.all()), "the path leaves the joint limits for which motion is bounded")
        require(not self.path[:, model.dof_count :].any(), "the base moves, which records do not speak for")
        require(not self.uncertainty[model.dof_count :].any(), "the base is uncertain")
        for dof in range(model.dof_count):
            width = self.uncertainty[dof]
            if width == 0.0:
                continue
            # A gripper that was not measured stands in the middle of its range and may be anywhere in it.
            middle = 0.5 * (model.position_min[dof] + model.position_max[dof])
            half = 0.5 * (model.position_max[dof] - model.position_min[dof])
            still = bool((np.abs(self.path[:, dof] - middle) <= 1e-12).all())
            require(
                not model.in_rows[dof] and still and abs(width - half) <= 1e-12,
                "an uncertainty is not half a range",
            )

    def _at(self, instants: Array) -> Array:
        """Returns the configurations at instants counted in steps."""
        last = len(self.path) - 1
        row = np.minimum(np.floor(instants).astype(np.int64), last - 1)
        share = (instants - row)[:, None]
        return self.path[row] + share * (self.path[row + 1] - self.path[row])

    def check(self) -> Report:
        """Verifies every record and that together they leave nothing out."""
        self._require_indices()
        self._require_complete(self._hulls_met())
        spare = self._require_true()
        return Report(
            robot=self.model.robot,
            model_digest=self.digest,
            world_id=self.world_id,
            checked_world=self.is_checked,
            row_count=len(self.path) - 1,
            held_count=len(self.held),
            pair_count=self.pair_count,
            record_count=len(self.records),
            least_spare_m=float(spare.min()) if len(spare) else math.inf,
            world_content=self.world_content,
            unmeasured_count=int((self.uncertainty > 0.0).sum()),
        )

    def _require_indices(self) -> None:
        column, volumes = self.column, len(self.volumes)
        self.kind = _indices(column["kind"], 4, "a kind")
        self.by_hulls = _indices(column["by_pieces"], 2, "a flag")
        self.a = _indices(column["a"], volumes, "a volume")
        clouds = min(len(self.points), 1)
        others = {SELF: volumes, WORLD: len(self.obstacles), ZONE: len(self.model.zones), POINTS: clouds}
        self.b = column["b"].astype(np.int64)
        for kind, below in others.items():
            _indices(column["b"][self.kind == kind], below, "the other of a pair")
        self.hull_a = _indices(column["piece_a"], 2, "a flag")
        self.hull_b = _indices(column["piece_b"], 2, "a flag")
        self.directional = _indices(column["directional"], 2, "a flag") == 1
        shapes = (self.volumes, self.hulls, self.obstacles, self.model.zones, self.points)
        most = max(len(kind) for kind in shapes)
        self.shape_a = _indices(column["shape_a"], most, "a shape")
        self.shape_b = _indices(column["shape_b"], most, "a shape")

    def _hulls_met(self) -> list[list[int]]:
        """Returns per volume the hulls of its link but those that the table shows apart from it."""
        model = self.model
        volume = _indices(self.apart[:, 0], len(model.volumes), "a volume")
        hull = _indices(self.apart[:, 1], len(model.hulls), "a hull")
        directions = _unit(self.apart[:, 2:], SAME_M, "a direction")
        excused = set()
        for i, j, direction in zip(volume.tolist(), hull.tolist(), directions, strict=True):
            first, second = model.volumes[i], model.hulls[j]
            require(first.link == second.link, "a hull is apart from a volume of another link")
            require((i, j) not in excused, "a hull is apart from a volume twice")
            gap = (second.vertices @ direction).min() - (first.vertices @ direction).max()
            require(
                bool(gap > first.radius_m + second.radius_m + self.rounding_m),
                "a hull is said to be apart from a volume it meets",
            )
            excused.add((i, j))
        return [
            [j for j, shape in enumerate(model.hulls) if shape.link == own.link and (index, j) not in excused]
            for index, own in enumerate(model.volumes)
        ] + [[] if one.solid is None else [len(model.hulls) + at] for at, one in enumerate(self.held)]

    def _require_complete(self, hulls_met: list[list[int]]) -> None:
        """Every pair that must be certified is, from first to last instant, by everything that has to certify it."""
        model = self.model
        moving = [index for index, shape in enumerate(self.volumes) if model.movers[shape.link]]
        wanted: set[tuple[int, int, int]] = set()
        for pair in self._checked_volume_pairs():
            high, low = max(pair), min(pair)
            wanted.add((SELF, low, high))
        for kind, others in ((WORLD, self.obstacles), (ZONE, model.zones)):
            wanted |= {(kind, index, other) for index in moving for other in range(len(others))}
        if len(self.points):
            wanted |= {(POINTS, index, 0) for index in moving}
        groups: dict[tuple[int, int, int], dict[tuple[float, float, float, int], list[int]]] = {}
        for number in range(len(self.records)):
            kind, a, b = int(self.kind[number]), int(self.a[number]), int(self.b[number])
            pair = (kind, min(a, b), max(a, b)) if kind == SELF else (kind, a, b)
            stretch = (
                float(self.column["low"][number]),
                float(self.column["high"][number]),
                float(self.column["at"][number]),
                int(self.by_hulls[number]),
            )
            groups.setdefault(pair, {}).setdefault(stretch, []).append(number)
        require(set(groups) == wanted, "the records speak of other pairs than the model and the world have")
        self.pair_count = len(wanted)
        end = float(len(self.path) - 1)
        for pair, stretches in groups.items():
            reached = 0.0
            for stretch in sorted(stretches):
                low, high, at, by_hulls = stretch
                require(low == reached and low < high, f"a stretch of the path is missing for {pair}")
                require(
                    at == 0.5 * (low + high), f"an instant is not in the middle of its stretch for {pair}"
                )
                reached = high
                self._require_shapes(pair, stretches[stretch], hulls_met, by_hulls=bool(by_hulls))
            require(reached == end, f"the end of the path is missing for {pair}")

    def _require_shapes(
        self, pair: tuple[int, int, int], numbers: list[int], hulls_met: list[list[int]], *, by_hulls: bool
    ) -> None:
        kind = pair[0]
        if kind == POINTS and by_hulls:
            self._require_hulls_among_points(pair, numbers, hulls_met[pair[1]])
            return
        found = []
        expected: set[tuple[int, int, int, int]] = set()
        for number in numbers:
            a, b = int(self.a[number]), int(self.b[number])
            hulls_a = hulls_met[a] if by_hulls else []
            hulls_b = hulls_met[b] if by_hulls and kind == SELF else []
            expected = {
                (int(bool(hulls_a)), i, int(bool(hulls_b)), j)
                for i in (hulls_a or [a])
                for j in (hulls_b or [b])
            }
            require(
                not by_hulls or bool(hulls_a or hulls_b), f"the pair {pair} has no hulls to be certified by"
            )
            certified = (
                int(self.hull_a[number]),
                int(self.shape_a[number]),
                int(self.hull_b[number]),
                int(self.shape_b[number]),
            )
            require(certified in expected, f"a record certifies a shape that is not of the pair {pair}")
            require(
                (a, b) == (int(self.a[numbers[0]]), int(self.b[numbers[0]])),
                "one pair is named in two orders",
            )
            found.append(certified)
        require(
            len(found) == len(set(found)) == len(expected), f"not every shape of the pair {pair} is certified"
        )

    def _require_hulls_among_points(
        self, pair: tuple[int, int, int], numbers: list[int], hulls: list[int]
    ) -> None:
        """Some points are certified by every hull; the volume must certify the others, which `_require_true` checks."""
        certified = [(int(self.shape_a[number]), int(self.shape_b[number])) for number in numbers]
        points = {point for _, point in certified}
        require(
            bool(self.hull_a[numbers].all())
            and not self.hull_b[numbers].any()
            and max(points) < len(self.points),
            f"a record certifies a shape that is not of the pair {pair}",
        )
        require(
            len(certified) == len(set(certified))
            and set(certified) == {(i, j) for i in hulls for j in points},
            f"not every shape of the pair {pair} is certified",
        )
        self.left_to_volumes.append((numbers[0], sorted(points)))

    def _steps(self) -> Array:
        """Returns (records, variables): how far each variable strays from the instant of its record."""
        low, high, at = (self.column[name] for name in ("low", "high", "at"))
        middle = self._at(at)
        step = np.maximum(np.abs(self._at(low) - middle), np.abs(self._at(high) - middle))
        for row in range(len(self.path)):
            within = (low <= row) & (row <= high)
            step[within] = np.maximum(step[within], np.abs(self.path[row] - middle[within]))
        return step

    def _require_true(self) -> Array:
        """Every slab is as wide, and every motion as small, as its record says."""
        claimed = self.column["distance_m"]
        cloud = (self.kind == POINTS) & (self.hull_a == 0)
        direction = self._directions(cloud)
        instants, place = np.unique(self.column["at"], return_inverse=True)
        rotations, positions = self.model.place(self._at(instants)[:, : self.model.dof_count])
        placed = Placed(rotations, positions, place, self._steps())
        top, moved, unsure = self._side(self.hull_a, self.shape_a, direction, placed, first=True)
        bottom, moved_b, unsure_b = self._side(self.hull_b, self.shape_b, -direction, placed, first=False)
        width = -bottom - top
        width[cloud] = [
            self._distances_from_points(number, placed).min() for number in np.flatnonzero(cloud).tolist()
        ]
        motion, required = moved + moved_b, unsure + unsure_b
        for kind, margin_m in self.model.margin_m.items():
            required[self.kind == kind] += margin_m
        require(bool((np.abs(width - claimed) <= SAME_M).all()), "a distance is not what it is said to be")
        require(
            bool((np.abs(motion - self.column["motion_m"]) <= SAME_M).all()),
            "a motion is not what it is said to be",
        )
        require(
            bool((np.abs(required - self.column["demand_m"]) <= SAME_M).all()),
            "a required distance is not what it is said to be",
        )
        for number, by_hulls in self.left_to_volumes:
            link, reach = self.volumes[self.a[number]].link, self.volume_reach[self.a[number]]
            moved_m, unsure_m = self._motion(np.array([number]), link, reach, placed.step)
            others = np.delete(self._distances_from_points(number, placed), by_hulls)
            needed_m = float(moved_m[0] + unsure_m[0]) + self.model.margin_m[POINTS]
            require(
                bool((others > needed_m + self.rounding_m).all()),
                "a point is certified neither by hulls nor by the volume",
            )
        spare = width - required - motion - self.rounding_m
        chosen = self.directional
        least = np.minimum(width[chosen], self._least_gap(direction, placed, (top, bottom)))
        # The first derivative is rounded like a width, and over at most one radian.
        spare[chosen] = least - required[chosen] - 2.0 * self.rounding_m
        require(bool((spare > 0.0).all()), "a pair can come closer than its margin")
        return spare

    def _least_gap(self, direction: Array, placed: Placed, sides: tuple[Array, Array]) -> Array:
        """Returns, per directional record, the lesser of its gaps at the two ends of its stretch.

        Every vertex moves on with the velocity it has at the instant, and its second derivative, which is bounded all
        along, takes half of itself: the gap at an end is at least the least of these sums. Between the instant and
        an end the bound is concave, so it is nowhere less than at one of the two.
        """
        low, high, at = (self.column[name] for name in ("low", "high", "at"))
        chosen = self.directional
        others = self.records[~chosen][:, RECORD_COLUMNS.index("gap_before_m") :]
        require(not others.any(), "a record that follows no direction has gaps at its ends")
        require(
            bool((high[chosen] <= np.floor(low[chosen]) + 1.0).all()), "a direction is followed past a step"
        )
        cloud = (self.kind == POINTS) & (self.hull_a == 0)
        require(not (chosen & cloud).any(), "a cloud lies on all sides, and yet a direction is followed")
        least = np.full(int(chosen.sum()), np.inf)
        middle = self._at(at)
        for name, end in (("gap_before_m", low), ("gap_after_m", high)):
            way = self._at(end) - middle
            top, bend = self._side_moved(direction, placed, way, sides[0], first=True)
            bottom, bend_b = self._side_moved(-direction, placed, way, sides[1], first=False)
            bent = 0.5 * (bend + bend_b)[chosen]
            gap = (-bottom - top)[chosen] - bent
            same = np.abs(gap - self.column[name][chosen]) <= SAME_M
            require(bool(same.all()), "a gap at an end is not what it is said to be")
            same = np.abs(bent - self.column["bend_m"][chosen]) <= SAME_M
            require(bool(same.all()), "a bend is not what it is said to be")
            least = np.minimum(least, gap)
        return least

    def _side_moved(
        self, direction: Array, placed: Placed, way: Array, still: Array, *, first: bool
    ) -> tuple[Array, Array]:
        """Returns how far one side of the directional records reaches once moved to first order, and its curvature."""
        reaches, bend = still.copy(), np.zeros(len(still))
        is_hull, shape = (self.hull_a, self.shape_a) if first else (self.hull_b, self.shape_b)
        body = self.directional & (np.ones(len(still), dtype=bool) if first else self.kind == SELF)
        for flag, shapes, reach in (
            (0, self.volumes, self.volume_reach),
            (1, self.hulls, self.hull_reach),
        ):
            for index, own in enumerate(shapes):
                chosen = np.flatnonzero(body & (is_hull == flag) & (shape == index))
                if not len(chosen):
                    continue
                at, link = placed.place[chosen], own.link
                vertices = np.einsum("nij,cj->nci", placed.rotations[link][at], own.vertices)
                vertices = vertices + placed.positions[link][at][:, None]
                along = np.einsum("ni,nci->nc", direction[chosen], vertices)
                turned, total = np.zeros(len(chosen)), np.zeros(len(chosen))
                tilted = direction[chosen].copy()
                for joint, between in self._movers_between(chosen, link):
                    moved = np.where(between, way[chosen, self.model.dof[joint]], 0.0)
                    rate = self.model.multiplier[joint] * moved
                    axis = placed.rotations[joint][at] @ self.model.axis[joint]
                    if self.model.kind[joint] == REVOLUTE:
                        lever = vertices - placed.positions[joint][at][:, None]
                        speed = np.einsum("ni,nci->nc", direction[chosen], np.cross(axis[:, None], lever))
                        turn = np.abs(rate)
                        tilted = tilted + rate[:, None] * np.cross(direction[chosen], axis)
                    else:
                        speed = np.einsum("ni,ni->n", direction[chosen], axis)[:, None]
                        turn = np.zeros(len(chosen))
                    along = along + rate[:, None] * speed
                    bend[chosen] += np.abs(moved) * reach[index][joint] * (turn + 2.0 * turned)
                    turned, total = turned + turn, total + np.abs(rate)
                require(
                    bool((total <= DIRECTIONAL_WAY_MAX).all()),
                    "a direction is followed through too wide a turn",
                )
                reaches[chosen] = along.max(axis=1) + own.radius_m
                if own.axis is not None:
                    disc_axis = placed.rotations[link][at] @ own.axis
                    reaches[chosen] += own.disc_m * np.linalg.norm(np.cross(disc_axis, tilted), axis=1)
        return reaches, bend

    def _movers_between(self, chosen: Array, link: int) -> list[tuple[int, Array]]:
        """Returns the joints that move a link, root first, and in which records its pair does not share them."""
        own = self.kind[chosen] == SELF
        a, b = self.a[chosen], np.where(own, self.b[chosen], 0)
        return [
            (mover, ~(own & self.carried[a, mover] & self.carried[b, mover]))
            for mover in self.model.movers[link]
        ]

    def _directions(self, cloud: Array) -> Array:
        """Returns the direction of every record, of unit length to the last digit; zero for a volume among a cloud.

        Across a half-space it is the normal of its face and not what the file says: the face may be far from the point
        that gives its place, and there a turn by a billionth is worth millimetres.
        """
        direction = self.records[:, RECORD_COLUMNS.index("direction_x") :][:, :3].copy()
        require(not direction[cloud].any(), "a cloud lies on all sides, and yet it has a direction")
        direction[~cloud] = _unit(direction[~cloud], SAME_M, "a direction")
        for kind, obstacles in ((WORLD, self.obstacles), (ZONE, self.model.zones)):
            for index, obstacle in enumerate(obstacles):
                if obstacle.outward is None:
                    continue
                chosen = (self.kind == kind) & (self.b == index)
                off = np.abs(direction[chosen] + obstacle.outward)
                require(bool((off <= SAME_M).all()), "a half-space is passed on another side than its face")
                direction[chosen] = -obstacle.outward
        return direction

    def _side(
        self, is_hull: Array, shape: Array, direction: Array, placed: Placed, *, first: bool
    ) -> tuple[Array, Array, Array]:
        """Returns how far one side of every record reaches along a direction, moves, and is uncertain."""
        count = len(self.records)
        reaches, moved, unsure = np.full(count, np.nan), np.zeros(count), np.zeros(count)
        body = np.ones(count, dtype=bool) if first else self.kind == SELF
        for flag, shapes, reach in (
            (0, self.volumes, self.volume_reach),
            (1, self.hulls, self.hull_reach),
        ):
            for index, own in enumerate(shapes):
                chosen = np.flatnonzero(body & (is_hull == flag) & (shape == index))
                if not len(chosen):
                    continue
                at = placed.place[chosen]
                local = np.einsum("nij,ni->nj", placed.rotations[own.link][at], direction[chosen])
                along = np.einsum("ni,ni->n", direction[chosen], placed.positions[own.link][at])
                reaches[chosen] = own.reach(local) + along
                moved[chosen], unsure[chosen] = self._motion(chosen, own.link, reach[index], placed.step)
        for kind, obstacles in ((WORLD, self.obstacles), (ZONE, self.model.zones)):
            for index, obstacle in enumerate(obstacles if not first else []):
                chosen = np.flatnonzero((self.kind == kind) & (is_hull == 0) & (shape == index))
                if not len(chosen):
                    continue
                reaches[chosen] = obstacle.reach(direction[chosen])
        if not first:
            chosen = np.flatnonzero(self.kind == POINTS)
            reaches[chosen] = np.einsum("ni,ni->n", direction[chosen], self.points[shape[chosen]])
        require(bool(np.isfinite(reaches).all()), "a record certifies a shape that does not exist")
        return reaches, moved, unsure

    def _distances_from_points(self, number: int, placed: Placed) -> Array:
        """Returns how far the volume of a record is from every point of the cloud."""
        own, at = self.volumes[self.a[number]], placed.place[number]
        rotation, position = placed.rotations[own.link][at], placed.positions[own.link][at]
        start, end = own.vertices @ rotation.T + position
        along, away = end - start, self.points - start
        length2 = float(along @ along)
        share = np.clip(away @ along / length2, 0.0, 1.0) if length2 > 0.0 else np.zeros(len(away))
        return np.linalg.norm(away - share[:, None] * along, axis=1) - own.radius_m

    def _motion(self, chosen: Array, link: int, reach: dict[int, float], step: Array) -> tuple[Array, Array]:
        """Returns what joints that do not carry both of a pair move of one of them, and leave uncertain."""
        moved, unsure = np.zeros(len(chosen)), np.zeros(len(chosen))
        for mover, between in self._movers_between(chosen, link):
            dof = self.model.dof[mover]
            moved += np.where(between, step[chosen, dof] * reach[mover], 0.0)
            unsure += np.where(between, self.uncertainty[dof] * reach[mover], 0.0)
        return moved, unsure


def check_text(text: str) -> Report:
    """Verifies the text of a certificate.

    Raises:
        Refused: It does not show what it claims, with the first reason found. Nothing else is raised.
    """
    try:
        # What overflows or has no value shows nothing.
        with np.errstate(over="raise", invalid="raise", divide="raise"):
            return Checker(read(text)).check()
    except Refused:
        raise
    except Exception as error:
        # Every way to stumble over a text is a reason not to believe it.
        raise Refused(f"it cannot be worked out: {type(error).__name__}: {error}") from None


def main(arguments: list[str]) -> int:
    """Verifies one file and says so."""
    if len(arguments) != 1:
        print("usage: checker.py FILE", file=sys.stderr)
        return 2
    try:
        with open(arguments[0], encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    try:
        print(check_text(text))
    except Refused as error:
        print(f"refused: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
