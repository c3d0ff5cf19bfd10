# SPDX-License-Identifier: Apache-2.0
"""Proves that the shapes of two links never meet, by branch and bound over the joints between them."""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lastgate.tools.lowering.kinematics import KinematicTree, TreeJoint, joint_motion
from lastgate.tools.lowering.mesh_contact import LinkMeshes
from lastgate.tools.lowering.rigid import apply, inverse
from lastgate.tools.lowering.shapes import LinkShapes, SourceShape

Array = NDArray[np.float64]

# Coal's distances agree with python-fcl's to 1e-7 m on the robot library; ten times that is not counted as clearance.
_DISTANCE_ALLOWANCE_M = 1e-6


_Step = tuple[TreeJoint, bool]


@dataclass(frozen=True)
class NeverProof:
    """The outcome: proved, refuted by a contact, or undecided within the bound."""

    proved: bool
    contact: bool
    evaluations: int


def prove_never(
    tree: KinematicTree,
    shapes: dict[str, LinkShapes],
    link_a: str,
    link_b: str,
    *,
    evaluations_max: int,
) -> NeverProof:
    """Tries to cover the ranges of the joints between two links by boxes in which the shapes cannot meet.

    In a box of half-widths h around a sample, no point moves more than the sum of h_j * rho_j, rho_j being
    the largest distance of the moving shape from joint j's axis (1 for a prismatic joint). Both links are
    seen from a link in the middle of the path, which keeps every rho small. Mimic joints count as
    independent, which covers more than they can do.
    """
    path_a, path_b = _split_in_the_middle(tree, link_a, link_b)
    joints = [joint for joint, _ in (*path_a, *path_b) if joint.is_moving]
    lower = np.array([joint.lower for joint in joints])
    # A revolute joint that can turn further than once shows nothing new after the first turn.
    upper = np.array(
        [
            joint.upper if joint.joint_type == "prismatic" else min(joint.upper, joint.lower + 2.0 * math.pi)
            for joint in joints
        ]
    )
    spent = 0
    bands_a = {f"a{index}": band for index, band in enumerate(_bands(path_a, shapes[link_a]))}
    bands_b = {f"b{index}": band for index, band in enumerate(_bands(path_b, shapes[link_b]))}
    meshes = LinkMeshes(bands_a | bands_b)
    for name_a, band_a in bands_a.items():
        for name_b, band_b in bands_b.items():
            reach_m = [*_reaches(path_a, band_a), *_reaches(path_b, band_b)]
            search = _Search(path_a, path_b, meshes, (name_a, name_b), reach_m)
            outcome = search.run(lower, upper, evaluations_max - spent)
            spent += outcome.evaluations
            if not outcome.proved:
                return NeverProof(False, outcome.contact, spent)
    return NeverProof(True, False, spent)


class _Search:
    """Branch and bound for one part of each link."""

    def __init__(
        self,
        path_a: list[_Step],
        path_b: list[_Step],
        meshes: LinkMeshes,
        parts: tuple[str, str],
        reach_m: list[float],
    ) -> None:
        self.path_a, self.path_b = path_a, path_b
        self.meshes = meshes
        self.part_a, self.part_b = parts
        self.reach = np.array(reach_m)
        self.first_b = sum(joint.is_moving for joint, _ in path_a)
        # The box with the least certain clearance first: a contact is found early, a proof needs all anyway.
        self.boxes: list[tuple[float, int, Array, Array]] = []
        self.evaluations = 0

    def run(self, lower: Array, upper: Array, evaluations_max: int) -> NeverProof:
        if not self._examine(lower, upper):
            return NeverProof(False, True, self.evaluations)
        while self.boxes:
            if self.evaluations + 2 > evaluations_max:
                return NeverProof(False, False, self.evaluations)
            _, _, low, high = heapq.heappop(self.boxes)
            side = int(np.argmax((high - low) * self.reach))
            middle = 0.5 * (low[side] + high[side])
            for half_low, half_high in ((low[side], middle), (middle, high[side])):
                box_low, box_high = low.copy(), high.copy()
                box_low[side], box_high[side] = half_low, half_high
                if not self._examine(box_low, box_high):
                    return NeverProof(False, True, self.evaluations)
        return NeverProof(True, False, self.evaluations)

    def _examine(self, low: Array, high: Array) -> bool:
        self.evaluations += 1
        centre, half = 0.5 * (low + high), 0.5 * (high - low)
        pose_a, pose_b = _pose(self.path_a, centre, 0), _pose(self.path_b, centre, self.first_b)
        moved_m = float(half @ self.reach)
        # A box is settled by any distance above this one.
        enough_m = moved_m + 2.0 * _DISTANCE_ALLOWANCE_M
        found_m = self.meshes.distance_m(self.part_a, pose_a, self.part_b, pose_b, at_most_m=enough_m)
        distance_m = found_m - _DISTANCE_ALLOWANCE_M
        if not distance_m > 0.0:
            return False
        spare_m = distance_m - moved_m
        if not spare_m > 0.0:
            heapq.heappush(self.boxes, (spare_m, self.evaluations, low, high))
        return True


def _bands(path: list[_Step], shapes: LinkShapes) -> list[LinkShapes]:
    """Returns the link in up to three parts by distance from its joint's axis.

    A long link is near its neighbour only close to the joint, where it moves little; its far end moves much
    and is far away. One bound for both would need a hundred times the boxes.
    """
    joint = next((step for step, _ in reversed(path) if step.is_moving), None)
    soups = [source.triangles_in_link() for source in shapes.sources]
    soup = np.concatenate([part for part in soups if len(part)] or [np.empty((0, 3, 3))])
    rounds = [source for source in shapes.sources if source.round_in_link() is not None]
    if joint is None or len(soup) == 0:
        return [shapes]
    in_joint = soup
    for step, step_up in reversed(path):
        if step is joint:
            in_joint = apply(inverse(step.origin), in_joint) if step_up else in_joint
            break
        in_joint = apply(inverse(step.origin) if step_up else step.origin, in_joint)
    across = in_joint - (in_joint @ joint.axis)[..., None] * joint.axis
    radius = np.linalg.norm(across, axis=2).max(axis=1)
    largest = float(radius.max())
    found: list[LinkShapes] = []
    for inner, outer in ((-1.0, 0.25 * largest), (0.25 * largest, 0.5 * largest), (0.5 * largest, math.inf)):
        chosen = soup[(radius > inner) & (radius <= outer)]
        if len(chosen):
            found.append(LinkShapes.of(shapes.link, [SourceShape("mesh", np.eye(4), (), chosen)]))
    if rounds:
        found.append(LinkShapes.of(shapes.link, rounds))
    return found


def _split_in_the_middle(tree: KinematicTree, link_a: str, link_b: str) -> tuple[list[_Step], list[_Step]]:
    """Returns the steps from a middle link to each end; True marks a joint walked from child to parent."""
    down_a, down_b = tree.between(link_a, link_b)
    whole: list[_Step] = [(joint, True) for joint in down_a[::-1]] + [(joint, False) for joint in down_b]
    moving = [index for index, (joint, _) in enumerate(whole) if joint.is_moving]
    cut = moving[len(moving) // 2] if moving else 0
    toward_a = [(joint, not upwards) for joint, upwards in whole[:cut][::-1]]
    return toward_a, whole[cut:]


def _pose(path: list[_Step], values: Array, first: int) -> Array:
    pose, column = np.eye(4), first
    for joint, upwards in path:
        step = joint.origin
        if joint.is_moving:
            step = step @ joint_motion(joint, values[column : column + 1])[0]
            column += 1
        pose = pose @ (inverse(step) if upwards else step)
    return pose


def _reaches(path: list[_Step], shapes: LinkShapes) -> list[float]:
    """Returns per moving joint of the path the largest possible distance of the shapes from its axis."""
    points = [shapes.triangles.reshape(-1, 3)]
    pad_m = 0.0
    for capsule in shapes.round_shapes:
        points.append(np.array([capsule.start, capsule.end]))
        pad_m = max(pad_m, capsule.radius_m)
    cloud: Array | None = np.concatenate(points)
    radius_m = 0.0
    found: list[float] = []
    for joint, upwards in reversed(path):
        fixed = joint.origin
        if upwards:
            # Seen from the child, the joint's axis passes through the child's own origin.
            near, far = np.eye(4), inverse(fixed)
        else:
            near, far = fixed, np.eye(4)
        if cloud is not None:
            cloud = apply(far, cloud)
        else:
            radius_m += float(np.linalg.norm(far[:3, 3]))
        if joint.is_moving:
            slide_m = max(abs(joint.lower), abs(joint.upper)) if joint.joint_type == "prismatic" else 0.0
            if joint.joint_type == "prismatic":
                found.append(1.0)
            elif cloud is not None:
                across = cloud - (cloud @ joint.axis)[:, None] * joint.axis
                found.append(float(np.linalg.norm(across, axis=1).max()) + pad_m)
            else:
                found.append(radius_m + pad_m)
            # Beyond a moving joint only the distance from a point of its axis is known.
            if cloud is not None:
                radius_m = float(np.linalg.norm(cloud, axis=1).max())
                cloud = None
            radius_m += slide_m
        if cloud is not None:
            cloud = apply(near, cloud)
        else:
            radius_m += float(np.linalg.norm(near[:3, 3]))
    return found[::-1]
