# SPDX-License-Identifier: Apache-2.0
"""Reads .stl, .obj and .dae by code that shares nothing with trimesh and pycollada: a second opinion on a mesh.

Strict and plain: what is not understood raises ValueError, because a part that is left out makes a robot smaller.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
from lxml import etree
from numpy.typing import NDArray

Array = NDArray[np.float64]

_STL_HEADER = 84
_STL_RECORD = np.dtype([("normal", "<f4", 3), ("vertices", "<f4", (3, 3)), ("rest", "<u2")])
_ASCII_VERTEX = re.compile(rb"vertex\s+(\S+)\s+(\S+)\s+(\S+)", re.IGNORECASE)
# Curves and surfaces of the format that are no polygons: leaving them out would lose a part.
_OBJ_FREE_FORM = frozenset({"curv", "curv2", "surf", "cstype", "deg", "call"})
# A scene nests nodes a few levels deep; one that contains itself has no end.
_NODES_DEEP_MAX = 64


def read_again(path: Path) -> Array:
    """Returns the triangles (n, 3, 3) as the file has them; raises ValueError for what is not understood."""
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise ValueError(f"the format `{path.suffix}` has no second reader")
    return reader(path)


def _read_stl(path: Path) -> Array:
    data = path.read_bytes()
    count = int.from_bytes(data[80:_STL_HEADER], "little")
    if len(data) >= _STL_HEADER + count * _STL_RECORD.itemsize and len(data) >= _STL_HEADER:
        records = np.frombuffer(data, dtype=_STL_RECORD, count=count, offset=_STL_HEADER)
        return records["vertices"].astype(np.float64)
    vertices = np.array([[float(word) for word in found] for found in _ASCII_VERTEX.findall(data)])
    if len(vertices) % 3:
        raise ValueError(f"{len(vertices)} vertices do not make triangles")
    return vertices.reshape(-1, 3, 3)


def _read_obj(path: Path) -> Array:
    vertices: list[list[float]] = []
    faces: list[tuple[int, int, int]] = []
    text = path.read_text(encoding="utf-8", errors="replace").replace("\\\r\n", " ").replace("\\\n", " ")
    for line in text.splitlines():
        words = line.split("#", 1)[0].split()
        if not words:
            continue
        if words[0] == "v":
            vertices.append([float(word) for word in words[1:4]])
        elif words[0] == "f":
            found = [_obj_index(word, len(vertices)) for word in words[1:]]
            faces += [(found[0], found[k], found[k + 1]) for k in range(1, len(found) - 1)]
        elif words[0] in _OBJ_FREE_FORM:
            raise ValueError(f"`{words[0]}` is a free form, which is not read")
    if not faces:
        return np.empty((0, 3, 3))
    index = np.array(faces)
    if index.min() < 0 or index.max() >= len(vertices):
        raise ValueError("a face names a vertex that the file does not have")
    return np.array(vertices, dtype=np.float64)[index]


def _obj_index(word: str, known: int) -> int:
    number = int(word.split("/", 1)[0])
    if number == 0:
        raise ValueError("a face names vertex 0; they are counted from 1")
    return number - 1 if number > 0 else known + number


class _Collada:
    """One .dae file: its elements by id, and the triangles of its scene."""

    def __init__(self, path: Path) -> None:
        parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=True)
        try:
            self._root = etree.fromstring(path.read_bytes(), parser)
        except etree.XMLSyntaxError as error:
            raise ValueError(str(error)) from error
        for element in self._root.iter():
            if isinstance(element.tag, str):
                element.tag = etree.QName(element).localname
        self._by_id = {element.get("id"): element for element in self._root.iter() if element.get("id")}
        self._geometries: dict[str, Array] = {}

    def _named(self, url: str | None, *, within: etree._Element | None = None) -> etree._Element:
        name = (url or "").removeprefix("#")
        # Ids should be unique in a file; where they are not, a mesh means the sources of its own.
        own = () if within is None else (e for e in within.iter() if e.get("id") == name)
        found = next(iter(own), self._by_id.get(name))
        if found is None:
            raise ValueError(f"nothing in the file is named `{url}`")
        return found

    def triangles(self) -> Array:
        """Returns the triangles of the scene: every instance where its nodes put it."""
        instances = self._root.findall("scene/instance_visual_scene")
        if len(instances) != 1:
            raise ValueError(f"{len(instances)} scenes are shown, one is read")
        parts: list[Array] = []
        for node in self._named(instances[0].get("url")).findall("node"):
            self._walk(node, np.eye(4), parts, 0)
        return np.concatenate(parts) if parts else np.empty((0, 3, 3))

    def _walk(self, node: etree._Element, above: Array, parts: list[Array], depth: int) -> None:
        if depth > _NODES_DEEP_MAX:
            raise ValueError(f"nodes are nested more than {_NODES_DEEP_MAX} deep")
        pose = above @ _node_matrix(node)
        for child in node:
            if child.tag == "instance_geometry":
                local = self._geometry(str(child.get("url")))
                parts.append(local @ pose[:3, :3].T + pose[:3, 3])
            elif child.tag == "instance_node":
                self._walk(self._named(child.get("url")), pose, parts, depth + 1)
            elif child.tag == "instance_controller":
                raise ValueError("a skinned mesh (<instance_controller>) is not read")
            elif child.tag == "node":
                self._walk(child, pose, parts, depth + 1)

    def _geometry(self, url: str) -> Array:
        if url not in self._geometries:
            mesh = self._named(url).find("mesh")
            if mesh is None:
                raise ValueError(f"geometry `{url}` is no <mesh>")
            soups = [self._primitive(mesh, part) for part in mesh if part.tag in _FACES_OF]
            if mesh.find("polygons") is not None:
                raise ValueError("<polygons> are not read; <polylist> and <triangles> are")
            self._geometries[url] = np.concatenate(soups) if soups else np.empty((0, 3, 3))
        return self._geometries[url]

    def _primitive(self, mesh: etree._Element, part: etree._Element) -> Array:
        inputs = part.findall("input")
        stride = 1 + max((int(entry.get("offset", "0")) for entry in inputs), default=0)
        vertex = next((entry for entry in inputs if entry.get("semantic") == "VERTEX"), None)
        if vertex is None:
            raise ValueError(f"<{part.tag}> has no VERTEX")
        positions = self._positions(mesh, vertex.get("source"))
        runs = [
            np.array((run.text or "").split(), dtype=np.int64)[int(vertex.get("offset", "0")) :: stride]
            for run in part.findall("p")
        ]
        faces = np.array(_FACES_OF[part.tag](part, runs), dtype=np.int64).reshape(-1, 3)
        if len(faces) and (faces.min() < 0 or faces.max() >= len(positions)):
            raise ValueError(f"<{part.tag}> names a vertex that its source does not have")
        return positions[faces]

    def _positions(self, mesh: etree._Element, url: str | None) -> Array:
        entry = self._named(url, within=mesh).find("input[@semantic='POSITION']")
        source = self._named(url if entry is None else entry.get("source"), within=mesh)
        accessor, array = source.find("technique_common/accessor"), source.find("float_array")
        if accessor is None or array is None:
            raise ValueError(f"source `{source.get('id')}` holds no numbers")
        values = np.array((array.text or "").split(), dtype=np.float64)
        stride, first = int(accessor.get("stride", "1")), int(accessor.get("offset", "0"))
        count = int(accessor.get("count", "0"))
        if stride < 3 or len(values) < first + stride * count:
            raise ValueError(f"source `{source.get('id')}` has {len(values)} numbers, fewer than it promises")
        return values[first : first + stride * count].reshape(count, stride)[:, :3]


def _triangle_faces(_part: etree._Element, runs: list[NDArray[np.int64]]) -> list[list[int]]:
    return [face for run in runs for face in run[: 3 * (len(run) // 3)].reshape(-1, 3).tolist()]


def _polylist_faces(part: etree._Element, runs: list[NDArray[np.int64]]) -> list[list[int]]:
    counts = [int(word) for word in (part.findtext("vcount") or "").split()]
    vertices = [index for run in runs for index in run.tolist()]
    if sum(counts) != len(vertices):
        raise ValueError(f"<polylist> promises {sum(counts)} vertices and has {len(vertices)}")
    faces: list[list[int]] = []
    at = 0
    for count in counts:
        faces += [[vertices[at], vertices[at + k], vertices[at + k + 1]] for k in range(1, count - 1)]
        at += count
    return faces


def _strip_faces(_part: etree._Element, runs: list[NDArray[np.int64]]) -> list[list[int]]:
    return [run[k : k + 3].tolist() for run in runs for k in range(len(run) - 2)]


def _fan_faces(_part: etree._Element, runs: list[NDArray[np.int64]]) -> list[list[int]]:
    return [[int(run[0]), int(run[k]), int(run[k + 1])] for run in runs for k in range(1, len(run) - 1)]


_FACES_OF: dict[str, Callable[[etree._Element, list[NDArray[np.int64]]], list[list[int]]]] = {
    "triangles": _triangle_faces,
    "polylist": _polylist_faces,
    "tristrips": _strip_faces,
    "trifans": _fan_faces,
}


def _node_matrix(node: etree._Element) -> Array:
    """Returns a node's pose: its transforms one after the other, as the format says."""
    pose = np.eye(4)
    for child in node:
        if child.tag not in ("matrix", "translate", "rotate", "scale", "skew", "lookat"):
            continue
        numbers = np.array((child.text or "").split(), dtype=np.float64)
        step = np.eye(4)
        if child.tag == "matrix":
            step = numbers.reshape(4, 4)
        elif child.tag == "translate":
            step[:3, 3] = numbers
        elif child.tag == "scale":
            step[:3, :3] = np.diag(numbers)
        elif child.tag == "rotate":
            step[:3, :3] = _about(numbers[:3], math.radians(float(numbers[3])))
        else:
            raise ValueError(f"<{child.tag}> of a node is not read")
        pose = pose @ step
    return pose


def _about(axis: Array, angle_rad: float) -> Array:
    length = float(np.linalg.norm(axis))
    if not length > 0.0:
        return np.eye(3)
    x, y, z = axis / length
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + math.sin(angle_rad) * cross + (1.0 - math.cos(angle_rad)) * (cross @ cross)


def _read_dae(path: Path) -> Array:
    return _Collada(path).triangles()


_READERS: dict[str, Callable[[Path], Array]] = {".stl": _read_stl, ".obj": _read_obj, ".dae": _read_dae}


def unit_of_dae(path: Path) -> float:
    """Returns how many metres one unit of a .dae is, by its <unit>; 1 where it says nothing."""
    with path.open("rb") as file:
        events = etree.iterparse(
            file, events=("start",), resolve_entities=False, no_network=True, load_dtd=False, huge_tree=True
        )
        for _, element in events:
            if isinstance(element.tag, str) and etree.QName(element).localname == "unit":
                return float(element.get("meter", "1"))
    return 1.0
