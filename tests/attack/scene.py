# SPDX-License-Identifier: Apache-2.0
"""What a case holds in space: volumes that move with links, and everything that they have to keep away from."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from attack.distances import inside_box, point_segment, segment_box, segment_segment
from attack.kinematics import Array, Tree, rotation_of_quaternion, rotation_of_rpy

# What lies off a grid or a map is solid at least this far.
BEYOND_M = 50.0


@dataclass(frozen=True)
class Volume:
    """A sphere or capsule on a link: the ends of its axis in the link's frame, and its radius."""

    link: int
    ends: Array
    radius_m: float
    object_id: str | None = None
    touches: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Element:
    """One thing of the world: a sphere, capsule, box, half-space, point or voxel.

    Attributes:
        source: `primitive`, `zone`, `no_go`, `point`, `voxel` or `floor`.
        rotation, xyz: Its pose in the base frame.
        size: Half sizes of a box; radius and half length of a sphere or capsule.
    """

    source: str
    shape: str
    rotation: Array
    xyz: Array
    size: Array
    object_id: str | None = None


def axis_ends(shape: dict[str, Any], xyz: Any, rotation: Array) -> Array:
    half = 0.5 * float(shape.get("length_m", 0.0)) * rotation[:, 2]
    return np.array([np.asarray(xyz, float) - half, np.asarray(xyz, float) + half])


def volumes_of(case: dict[str, Any], tree: Tree) -> list[Volume]:
    """Returns the volumes of the links and of attached objects; convex parts stand for the volumes of their links."""
    parts = case.get("hulls", ())
    in_parts = {part["link_name"] for part in parts}
    found = []
    for part in parts:
        vertices = np.array(part["vertices_m"], float)
        ends = vertices if len(vertices) == 2 else np.repeat(vertices, 2, axis=0)
        found.append(Volume(tree.links.index(part["link_name"]), ends, float(part["radius_m"])))
    for geometry in case["manifest"]["collision_geometry"]:
        if geometry["link_name"] in in_parts:
            continue
        x, y, z, *rpy = geometry["origin_xyz_rpy"]
        ends = axis_ends(geometry["shape"], (x, y, z), rotation_of_rpy(rpy))
        link = tree.links.index(geometry["link_name"])
        found.append(Volume(link, ends, float(geometry["shape"]["radius_m"])))
    for held in case.get("attachments", ()):
        x, y, z, *rpy = held["origin_xyz_rpy"]
        ends = axis_ends(held["shape"], (x, y, z), rotation_of_rpy(rpy))
        touches = frozenset(tree.links.index(name) for name in (held["link"], *held["touch_links"]))
        link = tree.links.index(held["link"])
        found.append(Volume(link, ends, float(held["shape"]["radius_m"]), held["object_id"], touches))
    return found


def self_pairs(case: dict[str, Any], tree: Tree, volumes: list[Volume]) -> Array:
    """Returns the pairs of volumes (P, 2) that are compared: on two bodies, and not exempt."""
    exempt = {
        frozenset((tree.links.index(pair["link_a"]), tree.links.index(pair["link_b"])))
        for pair in case["manifest"].get("allowed_collision_pairs", ())
    }
    pairs = []
    for i, first in enumerate(volumes):
        for j in range(i + 1, len(volumes)):
            second = volumes[j]
            if tree.body[first.link] == tree.body[second.link]:
                continue
            if first.object_id is None and second.object_id is None:
                checked = frozenset((first.link, second.link)) not in exempt
            elif first.object_id is not None and second.object_id is not None:
                checked = first.object_id != second.object_id
            else:
                held, other = (first, second) if first.object_id is not None else (second, first)
                checked = other.link not in held.touches
            if checked:
                pairs.append((i, j))
    return np.array(pairs, dtype=int).reshape(-1, 2)


def _placed(source: str, shape: dict[str, Any], pose: dict[str, Any], object_id: str | None) -> Element:
    rotation = rotation_of_quaternion(pose.get("quat_xyzw", (0.0, 0.0, 0.0, 1.0)))
    kind = shape["shape"]
    if kind == "box":
        size = 0.5 * np.array(shape["size_xyz_m"], float)
    else:
        size = np.array([shape.get("radius_m", 0.0), 0.5 * shape.get("length_m", 0.0), 0.0], float)
    return Element(source, kind, rotation, np.array(pose["xyz"], float), size, object_id)


def _box(source: str, low: Any, high: Any, rotation: Array, xyz: Array) -> Element:
    low, high = np.asarray(low, float), np.asarray(high, float)
    return Element(source, "box", rotation, xyz + rotation @ (0.5 * (low + high)), 0.5 * (high - low))


def _voxel_elements(voxels: dict[str, Any]) -> list[Element]:
    voxel_indices = np.array(voxels["occupancy"], dtype=np.uint8)
    edge, origin = float(voxels["resolution_m"]), np.array(voxels["origin_xyz"], float)
    solid = (voxel_indices != 0) & (voxel_indices != 255)
    if voxels.get("unknown", "occupied") == "occupied":
        solid |= voxel_indices == 255
    found = [
        _box("voxel", origin + edge * at[::-1], origin + edge * (at[::-1] + 1), np.eye(3), np.zeros(3))
        for at in np.argwhere(solid)
    ]
    if voxels.get("outside", "occupied") == "occupied":
        extent = edge * np.array(voxel_indices.shape[::-1], float)
        for axis in range(3):
            for side in (-1.0, 1.0):
                # Solid beyond a face: a half-space is everything at local z <= 0, so its z points inwards.
                inwards = np.zeros(3)
                inwards[axis] = -side
                across = np.roll(np.abs(inwards), 1)
                rotation = np.column_stack([across, np.cross(inwards, across), inwards])
                at = origin if side < 0 else origin + extent
                found.append(Element("voxel", "half_space", rotation, at, np.zeros(3)))
    return found


def floor_elements(floor: dict[str, Any], *, source: str = "floor") -> list[Element]:
    """Returns the blocked cells of a map and all around it, as columns between its heights."""
    data, edge = np.array(floor["data"]), float(floor["resolution_m"])
    yaw = float(floor["origin_yaw"])
    vertex = rotation_of_rpy((0.0, 0.0, yaw))
    in_base = np.array(floor["map_in_base"], float)
    rotation = in_base[:, :3] @ vertex
    at = in_base[:, :3] @ np.array([*floor["origin_xy"], 0.0]) + in_base[:, 3]
    low_z, high_z = floor["height_m"]
    rows, columns = data.shape
    found = []
    for row, column in np.argwhere((data < 0) | (data > 25)):
        low, high = (edge * column, edge * row, low_z), (edge * (column + 1), edge * (row + 1), high_z)
        found.append(_box(source, low, high, rotation, at))
    wide, deep = edge * columns, edge * rows
    for low, high in (
        ((-BEYOND_M, -BEYOND_M), (0.0, BEYOND_M)),
        ((wide, -BEYOND_M), (wide + BEYOND_M, BEYOND_M)),
        ((-BEYOND_M, -BEYOND_M), (BEYOND_M, 0.0)),
        ((-BEYOND_M, deep), (BEYOND_M, deep + BEYOND_M)),
    ):
        found.append(_box(source, (*low, low_z), (*high, high_z), rotation, at))
    return found


def elements_of(case: dict[str, Any]) -> list[Element]:
    """Returns everything that volumes keep away from; keep-in zones are not among them."""
    found = []
    for zone in case["manifest"].get("safety", {}).get("no_go_zones", ()):
        found.append(_placed("no_go", zone["shape"], zone["pose"], zone["name"]))
    world = case["world"]
    if world is None:
        return found
    for thing in world.get("primitives") or ():
        found.append(_placed("primitive", thing["shape"], thing["pose"], thing.get("object_id")))
    for zone in world.get("zones", ()):
        found.append(_placed("zone", zone["shape"], zone["pose"], zone["name"]))
    for xyz in world.get("points") or ():
        found.append(Element("point", "sphere", np.eye(3), np.array(xyz, float), np.zeros(3)))
    if world.get("voxels"):
        found += _voxel_elements(world["voxels"])
    if world.get("floor_map"):
        found += floor_elements(world["floor_map"])
    return found


class Surroundings:
    """Distances of many placed volumes from all elements at once."""

    def __init__(self, elements: list[Element]) -> None:
        order = [e for e in elements if e.shape in ("sphere", "capsule")]
        boxes = [e for e in elements if e.shape == "box"]
        planes = [e for e in elements if e.shape == "half_space"]
        self.elements = [*order, *boxes, *planes]
        self.round_count, self.box_count = len(order), len(boxes)
        axes = [
            np.array([e.xyz - e.size[1] * e.rotation[:, 2], e.xyz + e.size[1] * e.rotation[:, 2]])
            for e in order
        ]
        self._axes = np.array(axes).reshape(-1, 2, 3)
        self._radii = np.array([e.size[0] for e in order])
        self._box_turns = np.array([e.rotation for e in boxes]).reshape(-1, 3, 3)
        self._box_xyz = np.array([e.xyz for e in boxes]).reshape(-1, 3)
        self._box_half = np.array([e.size for e in boxes]).reshape(-1, 3)
        self._normals = np.array([e.rotation[:, 2] for e in planes]).reshape(-1, 3)
        self._plane_xyz = np.array([e.xyz for e in planes]).reshape(-1, 3)

    def distances(self, ends: Array, radii: Array, exact_below_m: float) -> Array:
        """Returns (S, V, E) distances of volumes (S, V, 2, 3); above `exact_below_m` they may be lower bounds."""
        a, b = ends[:, :, 0], ends[:, :, 1]
        parts = [
            self._from_axes(a, b),
            self._from_boxes(a, b, exact_below_m + radii),
            np.minimum(self._heights(a), self._heights(b)),
        ]
        return np.concatenate(parts, axis=2) - radii[None, :, None]

    def _from_axes(self, a: Array, b: Array) -> Array:
        if not self.round_count:
            return np.empty((*a.shape[:2], 0))
        c, d = self._axes[:, 0], self._axes[:, 1]
        if (c == d).all():
            found = point_segment(c, a[:, :, None], b[:, :, None])
        else:
            found = segment_segment(a[:, :, None], b[:, :, None], c, d)
        return found - self._radii

    def _from_boxes(self, a: Array, b: Array, exact_below: Array) -> Array:
        if not self.box_count:
            return np.empty((*a.shape[:2], 0))
        middle, reach = 0.5 * (a + b), 0.5 * np.linalg.norm(b - a, axis=-1)
        apart = np.linalg.norm(middle[:, :, None] - self._box_xyz, axis=-1)
        found = apart - reach[:, :, None] - np.linalg.norm(self._box_half, axis=-1)
        near = np.nonzero(found < exact_below[None, :, None])
        sample, volume, box = near
        turn, at = self._box_turns[box], self._box_xyz[box]
        local_a = np.einsum("nji,nj->ni", turn, a[sample, volume] - at)
        local_b = np.einsum("nji,nj->ni", turn, b[sample, volume] - at)
        found[near] = segment_box(local_a, local_b, self._box_half[box])
        return found

    def _heights(self, points: Array) -> Array:
        return np.einsum("svi,hi->svh", points, self._normals) - np.einsum(
            "hi,hi->h", self._plane_xyz, self._normals
        )


def depth_inside(zone: dict[str, Any], ends: Array, radii: Array) -> Array:
    """Returns (S, V): how deep volumes lie inside a keep-in zone; negative where they stick out."""
    element = _placed("keep_in", zone["shape"], zone["pose"], zone["name"])
    local = np.einsum("ji,svkj->svki", element.rotation, ends - element.xyz)
    if element.shape == "box":
        depth = inside_box(local[:, :, 0], local[:, :, 1], element.size)
    elif element.shape == "half_space":
        depth = -local[..., 2].max(axis=2)
    else:
        low, high = np.array([0.0, 0.0, -element.size[1]]), np.array([0.0, 0.0, element.size[1]])
        depth = element.size[0] - point_segment(local, low, high).max(axis=2)
    return depth - radii[None, :]


def region_depth(contact: dict[str, Any], ends: Array, radii: Array) -> Array:
    """Returns (S, V): how deep volumes lie inside the region of a declared contact."""
    zone = {"name": "", "shape": contact["region"], "pose": contact["region_pose"]}
    return depth_inside(zone, ends, radii)
