# SPDX-License-Identifier: Apache-2.0
"""Which pairs of links are never compared, each with the reason that can be proved."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from lastgate.contracts.robot import AllowedCollisionPair, RobotDescription
from lastgate.tools.lowering.always import prove_always
from lastgate.tools.lowering.kinematics import KinematicTree
from lastgate.tools.lowering.mesh_contact import LinkMeshes
from lastgate.tools.lowering.never import prove_never
from lastgate.tools.lowering.shapes import LinkShapes
from lastgate.tools.lowering.srdf_reader import SrdfClaims, ordered
from lastgate.tools.lowering.sweep import SWEEP_SAMPLES, SWEEP_SEED, Pair, Sweep
from lastgate.tools.lowering.volumes import Volume

# Mesh distances a proof may ask for: about ten seconds of work for one pair of large meshes.
EVALUATIONS_MAX = 12_000
# Intervals of one joint that a proof of touching may check: a range cut into hundredths, and a second of work.
_ALWAYS_EVALUATIONS_MAX = 200
# A junction is exempt only after this many further samples, and a single contact among them refuses it: rates
# above 3 in 20,000 are then excluded at 95 %.
_JUNCTION_SAMPLES = 20_000
# Samples that are asked before a proof is tried: a contact in one of them spares the search, which may ask thousands
# of boxes until it finds one, and pairs that meet at all meet in a few percent of the samples.
_CONTACT_FIRST_SAMPLES = 128


@dataclass
class PairSorting:
    """Pairs that are allowed, pairs that stay checked, and what a person should know about either."""

    allowed: dict[Pair, AllowedCollisionPair] = field(default_factory=dict)
    checked: list[Pair] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def allow(self, pair: Pair, reason: str, detail: str = "") -> None:
        """Moves a pair to the allowed ones."""
        self.allowed[pair] = AllowedCollisionPair.model_validate(
            {"link_a": pair[0], "link_b": pair[1], "reason": reason, "detail": detail}
        )
        if pair in self.checked:
            self.checked.remove(pair)


def moving_joints_between(tree: KinematicTree, pair: Pair) -> list[str]:
    """Returns the names of the moving joints on the path between two links."""
    down_a, down_b = tree.between(*pair)
    return [joint.name for joint in (*down_a[::-1], *down_b) if joint.is_moving]


def is_cross_branch(tree: KinematicTree, pair: Pair) -> bool:
    """Returns whether the two links hang on different moving branches, as the two arms of a robot do."""
    down_a, down_b = tree.between(*pair)
    return any(joint.is_moving for joint in down_a) and any(joint.is_moving for joint in down_b)


def sort_by_structure(tree: KinematicTree, links: list[str], claims: SrdfClaims | None) -> PairSorting:
    """Returns the pairs that need no proof: joined by one joint, rigidly attached, or claimed by the SRDF."""
    sorting = PairSorting()
    direct = {ordered(joint.parent, joint.child) for joint in tree.joints}
    for link_a, link_b in combinations(links, 2):
        pair = ordered(link_a, link_b)
        moving = moving_joints_between(tree, pair)
        claim = claims.reason(*pair) if claims is not None else None
        if pair in direct:
            sorting.allow(pair, "adjacent")
        elif not moving:
            sorting.allow(pair, "adjacent", "rigidly attached")
        elif claim is not None:
            sorting.allow(pair, "srdf-disabled", claim)
        else:
            sorting.checked.append(pair)
    return sorting


def waive_fingers(sorting: PairSorting, robot: RobotDescription) -> None:
    """Waives the fingers of one gripper against each other: closing on each other is what they are for.

    Only links that hang on the same link and that the gripper's own joints, or joints that follow them, move.
    """
    for effector in robot.end_effectors:
        leaders = {joint.name for joint in effector.gripper.joints} if effector.gripper else set()
        fingers = [
            joint
            for joint in robot.joints
            if joint.name in leaders or (joint.mimic is not None and joint.mimic.joint in leaders)
        ]
        for first, second in combinations(fingers, 2):
            pair = ordered(first.child_link, second.child_link)
            if first.parent_link == second.parent_link and pair in sorting.checked:
                sorting.allow(pair, "waived", f"fingers of {effector.name}, which close on each other")


def keep_waived(sorting: PairSorting, robot: RobotDescription) -> None:
    """Keeps what a person waived in the manifest; a waiver for a pair that needs none is dropped and said."""
    for entry in robot.allowed_collision_pairs:
        if entry.reason != "waived":
            continue
        if entry.links in sorting.checked:
            sorting.allow(entry.links, "waived", entry.detail)
        elif entry.links in sorting.allowed:
            sorting.notes.append(
                f"`{entry.links[0]}` / `{entry.links[1]}`: the waiver is not needed, "
                f"the pair is {sorting.allowed[entry.links].reason}"
            )


def verify_srdf(sorting: PairSorting, sweep: Sweep, volumes: dict[str, list[Volume]]) -> None:
    """Marks disabled pairs whose meshes meet in the pinned sweep, with the rate; they stay exempt."""
    for pair, entry in sorted(sorting.allowed.items()):
        if entry.reason != "srdf-disabled":
            continue
        near, _ = sweep.overlaps(pair, volumes[pair[0]], volumes[pair[1]], among=np.arange(SWEEP_SAMPLES))
        rate = float(sweep.mesh_contact(pair, near).sum()) / SWEEP_SAMPLES
        if rate > 0.0:
            claim = f"SRDF says {entry.detail}; " if entry.detail else "SRDF gives no reason; "
            sorting.allow(
                pair, "srdf-contradicted", f"{claim}meshes meet in {100.0 * rate:.2f} % of the sweep"
            )
            sorting.notes.append(
                f"`{pair[0]}` / `{pair[1]}`: the SRDF disables a pair whose meshes meet "
                f"in {100.0 * rate:.2f} % of states"
            )


def prove_neighbours(
    sorting: PairSorting,
    sweep: Sweep,
    shapes: dict[str, LinkShapes],
    *,
    joints_max: int,
) -> None:
    """Allows pairs near each other on one branch whose shapes are proved never to meet, or always to touch.

    A joint and a fixed one between two links, such as a bracket's, make them no neighbours: a bracket may stay clear of
    the next link, touch it in some states, or be screwed into it. Only the first and the last can be exempt.
    """
    for pair in sorted(sorting.checked):
        moving = moving_joints_between(sweep.tree, pair)
        if len(moving) > joints_max or is_cross_branch(sweep.tree, pair):
            continue
        contacts = sweep.mesh_contact(pair, np.arange(min(_CONTACT_FIRST_SAMPLES, sweep.count)))
        if contacts.all() and prove_always(
            sweep.tree, shapes, *pair, evaluations_max=_ALWAYS_EVALUATIONS_MAX
        ):
            sorting.allow(pair, "adjacent", f"proved to touch at every position of {moving[0]}")
        if contacts.any():
            continue
        proof = prove_never(sweep.tree, shapes, *pair, evaluations_max=EVALUATIONS_MAX)
        if proof.proved:
            sorting.allow(pair, "proved-never", f"branch and bound over {', '.join(moving)}")


def allow_junctions(
    sorting: PairSorting,
    sweep: Sweep,
    tree: KinematicTree,
    meshes: LinkMeshes,
    volumes: dict[str, list[Volume]],
) -> None:
    """Allows pairs whose volumes always touch and whose meshes never do; reports those whose meshes meet."""
    pinned = np.arange(SWEEP_SAMPLES)
    for pair in list(sorting.checked):
        near, _ = sweep.overlaps(pair, volumes[pair[0]], volumes[pair[1]], among=pinned)
        if len(near) < SWEEP_SAMPLES:
            continue
        name = f"`{pair[0]}` / `{pair[1]}`: volumes touch in every state"
        contacts = int(sweep.mesh_contact(pair, near).sum())
        if contacts == 0 and not is_cross_branch(tree, pair):
            further = Sweep(tree, meshes, tree.samples(_JUNCTION_SAMPLES, SWEEP_SEED + 1))
            contacts = int(further.mesh_contact(pair, np.arange(_JUNCTION_SAMPLES)).sum())
            if contacts == 0:
                sorting.allow(
                    pair, "junction", f"meshes apart in {SWEEP_SAMPLES} + {_JUNCTION_SAMPLES} states"
                )
                continue
        sorting.notes.append(f"{name} and the meshes meet in some: the pair stays checked")
