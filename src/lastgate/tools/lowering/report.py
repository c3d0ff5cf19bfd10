# SPDX-License-Identifier: Apache-2.0
"""What a lowered robot looks like in numbers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from lastgate.contracts.robot import RobotDescription
from lastgate.contracts.robot_frames import RobotFrames
from lastgate.contracts.shapes import CapsuleShape, LinkCollisionGeometry
from lastgate.tools.lowering.measure import ErrorRates
from lastgate.tools.lowering.picture import volume_surface
from lastgate.tools.lowering.prove import Containment, prove_containment
from lastgate.tools.lowering.rigid import transform
from lastgate.tools.lowering.shapes import LinkShapes
from lastgate.tools.lowering.surface_points import surface_samples

Array = NDArray[np.float64]

# Spacing of the points on the meshes that growth is measured to; growth is true to half of it.
_SPACING_M = 0.003


@dataclass(frozen=True)
class LinkGrowth:
    """How far a link's volumes stick out of its shapes, and what is drawn of it out of its volumes."""

    link: str
    volumes: int
    mean_m: float
    largest_m: float
    proof: Containment
    drawn_outside_m: float | None = None


@dataclass
class RobotReport:
    """Everything the report says, as numbers."""

    robot: str
    links: list[LinkGrowth]
    waived: dict[str, str]
    pairs: dict[str, list[tuple[str, str, str]]]
    checked_pairs: int
    rates: ErrorRates | None
    notes: list[str] = field(default_factory=list)
    frames: list[str] = field(default_factory=list)
    # Joint, limit, unit, source, and whether it looks like data of a motor.
    speeds: list[tuple[str, float, str, str, bool]] = field(default_factory=list)

    def summary(self) -> str:
        """Returns what a user of the volumes must know first, in one line."""
        rates = self.rates
        if rates is None:
            return "not held against meshes"
        return (
            f"{rates.samples} random configurations against the meshes: {rates.missed} contacts missed; "
            f"{rates.rejected_clear} of {rates.clear} clear ones rejected ({100.0 * rates.false_rejection_rate:.2f} %)"
        )

    def as_json(self) -> dict[str, Any]:
        """Returns the report as plain data."""
        rates = self.rates
        return {
            "robot": self.robot,
            "frames": self.frames,
            "velocity_limits": [
                {"joint": joint, "limit": limit, "unit": unit, "source": source, "motor_data": fast}
                for joint, limit, unit, source, fast in self.speeds
            ],
            "links": [
                {
                    "link": growth.link,
                    "volumes": growth.volumes,
                    "growth_mean_m": round(growth.mean_m, 5),
                    "growth_max_m": round(growth.largest_m, 5),
                    "contained": growth.proof.proved,
                    "proof_parts": growth.proof.parts,
                    "drawn_outside_m": growth.drawn_outside_m,
                }
                for growth in self.links
            ],
            "waived": self.waived,
            "checked_pairs": self.checked_pairs,
            "pairs": self.pairs,
            "notes": self.notes,
            "meshes": None
            if rates is None
            else {
                "samples": rates.samples,
                "clear": rates.clear,
                "missed": rates.missed,
                "missed_rate_bound_95": None if rates.missed else rates.missed_rate_bound,
                "hidden_contacts": sum(rates.hidden.values()),
                "waived_contacts": [[*pair, count] for pair, count in rates.waived.most_common()],
                "exempt_contacts": None
                if rates.exempt is None
                else [
                    [a, b, reason, rates.exempt[a, b]]
                    for reason in sorted(self.pairs)
                    for a, b, _ in self.pairs[reason]
                ],
                "phantoms": rates.rejected_clear,
                "phantom_rate": round(rates.false_rejection_rate, 5),
                "phantom_pairs": [
                    [*pair, count] for pair, count in rates.false_rejection_pairs.most_common(8)
                ],
                "gate": {"unarmed": rates.unarmed}
                if rates.unarmed is not None
                else {
                    "clear": rates.gate_clear,
                    "missed": rates.gate_missed,
                    "phantoms": rates.gate_rejected_clear,
                    "phantom_rate": round(rates.gate_false_rejection_rate, 5),
                },
            },
        }

    def as_markdown(self, picture: str | None) -> str:
        """Returns the report as a page."""
        lines = [f"# {self.robot}", ""]
        if picture is not None:
            lines += [f"![meshes and volumes of {self.robot}]({picture})", ""]
        if self.frames:
            lines += ["## Frames", "", *(f"- {line}" for line in self.frames), ""]
        lines += self._rate_lines()
        lines += [
            "## Links",
            "",
            "What is drawn of a link and stands out of its volumes is not checked.",
            "",
            "| link | volumes | mean growth mm | largest growth mm | drawn outside mm | contained |",
            "|---|---|---|---|---|---|",
        ]
        for growth in self.links:
            held = (
                f"proved, {growth.proof.parts} parts"
                if growth.proof.proved
                else f"**no**: {1000.0 * growth.proof.outside_m:.3f} mm outside"
            )
            lines.append(
                f"| `{growth.link}` | {growth.volumes} | {1000.0 * growth.mean_m:.1f} | "
                f"{1000.0 * growth.largest_m:.1f} | {_drawn(growth)} | {held} |"
            )
        lines += [f"| `{link}` | waived | | | | {reason} |" for link, reason in sorted(self.waived.items())]
        lines += ["", "## Velocity limits", "", "| joint | limit | source |", "|---|---|---|"]
        lines += [
            f"| `{joint}` | {limit:.4f} {unit} | {source}{', **looks like data of its motor**' if fast else ''} |"
            for joint, limit, unit, source, fast in self.speeds
        ]
        lines += ["", f"## Pairs: {self.checked_pairs} checked", ""]
        for reason in sorted(self.pairs):
            lines += [f"### {reason}: {len(self.pairs[reason])}", ""]
            lines += [
                f"- `{a}` / `{b}`" + (f": {detail}" if detail else "") + self._contact_share((a, b))
                for a, b, detail in self.pairs[reason]
            ]
            lines.append("")
        if self.notes:
            lines += ["## Notes", "", *(f"- {note}" for note in self.notes), ""]
        return "\n".join(lines)

    def _rate_lines(self) -> list[str]:
        rates = self.rates
        if rates is None:
            return []
        missed = f"{rates.missed}" + (
            f" (rate below {rates.missed_rate_bound:.5f} at 95 %)" if rates.missed == 0 else ""
        )
        lines = [
            "## Against the collision meshes",
            "",
            f"{rates.samples} random configurations inside the limits, evaluated by {rates.engines}.",
            "",
            "| | volumes alone | the gate, which asks convex hulls too |",
            "|---|---|---|",
            *_rate_rows(rates, missed),
            "",
        ]
        if rates.waived:
            lines += [
                "Meshes that meet on pairs a person waived: "
                + ", ".join(f"`{a}` / `{b}` {count}" for (a, b), count in rates.waived.most_common())
                + ".",
                "",
            ]
        if rates.unarmed is not None:
            lines += [f"There is no gate for this manifest: {rates.unarmed}.", ""]
        if rates.false_rejection_pairs:
            lines += [
                "Falsely rejected by volumes alone, by pair: "
                + ", ".join(
                    f"`{a}` / `{b}` {count}" for (a, b), count in rates.false_rejection_pairs.most_common(6)
                )
                + ".",
                "",
            ]
        return lines

    def _contact_share(self, pair: tuple[str, str]) -> str:
        if self.rates is None or self.rates.exempt is None:
            return ""
        return f" (meshes meet in {100.0 * self.rates.exempt[pair] / max(self.rates.samples, 1):.2f} %)"


def _drawn(growth: LinkGrowth) -> str:
    return "–" if growth.drawn_outside_m is None else f"{1000.0 * growth.drawn_outside_m:.1f}"


def _rate_rows(rates: ErrorRates, missed: str) -> list[str]:
    armed = rates.unarmed is None
    gate_missed = str(rates.gate_missed) if armed else "–"
    gate_clear = str(rates.gate_clear) if armed else "–"
    rejected = f"{rates.rejected_clear} ({100.0 * rates.false_rejection_rate:.2f} %)"
    gate_rejected = (
        f"{rates.gate_rejected_clear} ({100.0 * rates.gate_false_rejection_rate:.2f} %)" if armed else "–"
    )
    return [
        f"| contacts missed on checked pairs | {missed} | {gate_missed} |",
        f"| contacts hidden by an exemption that denies them | {sum(rates.hidden.values())} | |",
        f"| mesh-clear configurations | {rates.clear} | {gate_clear} |",
        f"| of these rejected | {rejected} | {gate_rejected} |",
    ]


def report_robot(
    robot: RobotDescription,
    shapes: dict[str, LinkShapes],
    rates: ErrorRates | None,
    notes: list[str],
    *,
    drawn_outside_m: dict[str, float] | None = None,
) -> RobotReport:
    """Returns the report of a manifest's own volumes against the shapes of its description, and what it draws."""
    measured = drawn_outside_m or {}
    left = [
        f"`{entry.link}`: what is drawn stays uncovered: {entry.reason}"
        for entry in robot.lowering.drawn_waivers
    ]
    pairs: dict[str, list[tuple[str, str, str]]] = {}
    for entry in robot.allowed_collision_pairs:
        pairs.setdefault(entry.reason, []).append((*entry.links, entry.detail))
    covered = Counter(volume.link_name for volume in robot.collision_geometry)
    return RobotReport(
        robot.name,
        [
            replace(_growth(robot, link_shapes), drawn_outside_m=measured.get(link))
            for link, link_shapes in shapes.items()
        ],
        {waiver.link: waiver.reason for waiver in robot.coverage_waivers},
        pairs,
        len(covered) * (len(covered) - 1) // 2 - len(robot.allowed_collision_pairs),
        rates,
        [
            *notes,
            *left,
            *([f"volumes not proved: {robot.unproved_volumes}"] if robot.unproved_volumes else []),
        ],
        RobotFrames.of(robot).lines(),
        [
            (
                joint.name,
                joint.velocity_limit or 0.0,
                "m/s" if joint.joint_type == "prismatic" else "rad/s",
                joint.velocity_limit_source,
                joint.looks_like_motor_data,
            )
            for joint in robot.actuated_joints
        ],
    )


def _growth(robot: RobotDescription, shapes: LinkShapes) -> LinkGrowth:
    own = [volume for volume in robot.collision_geometry if volume.link_name == shapes.link]
    proof = prove_containment(shapes, own)
    if not own:
        return LinkGrowth(shapes.link, 0, 0.0, 0.0, proof)
    samples = [np.array([capsule.start, capsule.end]) for capsule in shapes.round_shapes]
    if len(shapes.triangles):
        samples.append(surface_samples(shapes.triangles, _SPACING_M))
    surface = cKDTree(np.concatenate(samples))
    round_m = (
        max((capsule.radius_m for capsule in shapes.round_shapes), default=0.0)
        if not len(shapes.triangles)
        else 0.0
    )
    skin = [_skin(volume, [other for other in own if other is not volume]) for volume in own]
    points = np.concatenate(skin)
    if not len(points):
        return LinkGrowth(shapes.link, len(own), 0.0, 0.0, proof)
    distance, _ = surface.query(points)
    growth = np.maximum(distance - round_m, 0.0)
    return LinkGrowth(shapes.link, len(own), float(growth.mean()), float(growth.max()), proof)


def _skin(volume: LinkCollisionGeometry, others: list[LinkCollisionGeometry]) -> Array:
    """Returns points on a volume's surface that no other volume of the link covers."""
    vertices = volume_surface(volume, 16).reshape(-1, 3)
    points = np.unique(np.round(vertices, 7), axis=0)
    for other in others:
        start, end = _ends(other)
        along = end - start
        fraction = np.clip((points - start) @ along / max(float(along @ along), 1e-18), 0.0, 1.0)
        points = points[
            np.linalg.norm(points - start - fraction[:, None] * along, axis=1) >= other.shape.radius_m
        ]
    return points


def _ends(volume: LinkCollisionGeometry) -> tuple[Array, Array]:
    pose = transform(volume.origin_xyz_rpy[:3], volume.origin_xyz_rpy[3:])
    half = 0.5 * volume.shape.length_m if isinstance(volume.shape, CapsuleShape) else 0.0
    return pose[:3, 3] - half * pose[:3, 2], pose[:3, 3] + half * pose[:3, 2]
