# SPDX-License-Identifier: Apache-2.0
"""Why an accepted chunk is clear, written down so that an independent program can check it."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from lastgate import _core
from lastgate.contracts import ControlMode, ROSConfigError
from lastgate.contracts.action import ActionChunk
from lastgate.contracts.attached_shape import AttachedShape
from lastgate.robots.attached_solid import native_shape
from lastgate.robots.kernel_config import SHAPE_KIND, shape_size_m
from lastgate.world import NoWorld, World

CERTIFICATE_FORMAT = "lastgate-certificate 4"
# One record: a pair of shapes that stay apart between two instants of the path, counted in steps.
RECORD_COLUMNS = (
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
)
APART_COLUMNS = ("volume", "piece", "direction_x", "direction_y", "direction_z")
# Modes whose path runs straight from step to step in joint space, so that a record speaks for all between two instants.
CERTIFIED_MODES = (
    ControlMode.JOINT_POSITION,
    ControlMode.JOINT_VELOCITY,
    ControlMode.JOINT_TRAJECTORY,
    ControlMode.DEX_HAND_JOINT,
)


@dataclass(frozen=True, slots=True)
class Certificate:
    """The path of one accepted chunk, its model and world, and one record per certified pair.

    It speaks for the distances of links and attached objects from each other, from obstacles, points and no-go zones;
    not for limits, boxes, keep-in zones or freshness. `lastgate verify` checks it, and so does
    `lastgate/certificate/checker.py` by itself.
    """

    content: dict[str, Any]

    @property
    def record_count(self) -> int:
        """Number of records."""
        return len(self.content["records"])

    def to_json(self) -> str:
        """Returns the text of the file: the content and, last, the digest of it."""
        digest = hashlib.sha256(canonical(self.content).encode("utf-8")).hexdigest()
        return json.dumps({**self.content, "digest": digest}, allow_nan=False) + "\n"

    def save(self, path: Path) -> None:
        """Writes the file."""
        path.write_text(self.to_json(), encoding="utf-8")


class CheckingGate(Protocol):
    """The gate that accepted the chunk: its model, and what the robot holds."""

    @property
    def flat_config(self) -> str: ...
    @property
    def model_digest(self) -> str: ...
    @property
    def link_names(self) -> tuple[str, ...]: ...
    @property
    def attached_shapes(self) -> tuple[tuple[int, AttachedShape], ...]: ...


class CheckedVerdict(Protocol):
    """The gate's answer about the chunk."""

    @property
    def accepted(self) -> bool: ...
    @property
    def chunk(self) -> ActionChunk: ...
    @property
    def recovery(self) -> bool: ...
    @property
    def contacts_used(self) -> tuple[str, ...]: ...
    @property
    def world_id(self) -> str: ...
    def explain(self) -> str: ...


def canonical(content: dict[str, Any]) -> str:
    """Returns the one text of some content that its digest is taken of."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)


def certificate_of(
    gate: CheckingGate, verdict: CheckedVerdict, world: World | NoWorld, native: _core.Gate
) -> Certificate:
    """Returns the certificate of the check that `native` did last.

    Raises:
        ROSConfigError: The chunk was not accepted, or was accepted for reasons that a certificate cannot give.
    """
    if not verdict.accepted:
        raise ROSConfigError(f"a rejected chunk has no certificate: {verdict.explain()}")
    _require_certifiable(verdict, world)
    complete, records, apart = _core.certify_path(native, world.native)
    if not complete:
        raise ROSConfigError(
            "the certificate could not be completed: some pair is so near its margin that only the check's own "
            "bisection shows it"
        )
    primitives = () if isinstance(world, NoWorld) else world.primitives
    content = {
        "format": CERTIFICATE_FORMAT,
        "model": gate.flat_config,
        "model_digest": gate.model_digest,
        "path": native.path.tolist(),
        "uncertainty": _core.gate_uncertainty(native),
        "held": _attached_content(gate),
        "world": {
            "id": verdict.world_id,
            "looked_at": not isinstance(world, NoWorld),
            "kind": [SHAPE_KIND[primitive.shape.shape] for primitive in primitives],
            "size_m": [list(shape_size_m(primitive.shape)) for primitive in primitives],
            "xyz_quat_xyzw": [[*primitive.pose.xyz, *primitive.pose.quat_xyzw] for primitive in primitives],
            "points_m": _points_of(world),
        },
        "record_columns": list(RECORD_COLUMNS),
        "records": records.tolist(),
        "apart_columns": list(APART_COLUMNS),
        "apart": apart.tolist(),
    }
    return Certificate(content)


def _points_of(world: World | NoWorld) -> list[list[float]]:
    return [] if isinstance(world, NoWorld) or world.points is None else world.points.xyz.tolist()


def _attached_content(gate: CheckingGate) -> dict[str, list[Any]]:
    """Returns what is held, in the order in which its volumes follow those of the robot."""
    index = {name: number for number, name in enumerate(gate.link_names)}
    shapes = gate.attached_shapes
    numbers = [native_shape(held.shape, held.origin_xyz_rpy) for _, held in shapes]
    solids = [([0.0] * 6, 0.0, np.empty((0, 3))) if one.solid is None else one.solid for one in numbers]
    return {
        "object": [number for number, _ in shapes],
        "link": [index[held.link] for _, held in shapes],
        "ends_m": [one.ends_m.tolist() for one in numbers],
        "radius_m": [one.radius_m for one in numbers],
        "solid_xyz_rpy": [list(origin) for origin, _, _ in solids],
        "disc_m": [disc_m for _, disc_m, _ in solids],
        "vertices_m": [vertices.tolist() for _, _, vertices in solids],
        "touch_links": [
            sorted({index[name] for name in (held.link, *held.touch_links)}) for _, held in shapes
        ],
    }


def _require_certifiable(verdict: CheckedVerdict, world: World | NoWorld) -> None:
    mode = verdict.chunk.mode
    reasons = {
        f"steps of {getattr(mode, 'name', mode)} are not straight in joint space": mode
        not in CERTIFIED_MODES,
        "it was accepted under the recovery rule": verdict.recovery,
        "it was accepted because of declared contacts": bool(verdict.contacts_used),
        "the world has voxels or an occupancy map": not isinstance(world, NoWorld)
        and any(field is not None for field in (world.voxels, world.floor_map)),
    }
    for reason, applies in reasons.items():
        if applies:
            raise ROSConfigError(
                f"this chunk gets no certificate: {reason}\n\n"
                "hint: certificates speak for joint steps among shapes and points; the verdict itself stands"
            )
