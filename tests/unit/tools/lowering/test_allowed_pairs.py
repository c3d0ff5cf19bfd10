# SPDX-License-Identifier: Apache-2.0
"""Exemptions carry reasons that hold: adjacency, a claim that was checked, or a proof."""

from pathlib import Path

import numpy as np
import pytest
import trimesh

from lastgate.tools.lowering import allowed_pairs
from lastgate.tools.lowering.allowed_pairs import (
    is_cross_branch,
    prove_neighbours,
    sort_by_structure,
    verify_srdf,
)
from lastgate.tools.lowering.always import prove_always
from lastgate.tools.lowering.kinematics import KinematicTree, TreeJoint
from lastgate.tools.lowering.mesh_contact import LinkMeshes
from lastgate.tools.lowering.never import NeverProof, prove_never
from lastgate.tools.lowering.rigid import transform
from lastgate.tools.lowering.shapes import LinkShapes, SourceShape
from lastgate.tools.lowering.srdf_reader import SrdfClaims
from lastgate.tools.lowering.sweep import SWEEP_SAMPLES, SWEEP_SEED, Sweep
from lastgate.tools.lowering.volumes import Volume


def hinge(
    name: str, parent: str, child: str, x: float, column: int | None, *, reach: float = 3.0
) -> TreeJoint:
    return TreeJoint(
        name,
        parent,
        child,
        transform((x, 0.0, 0.0), (0.0, 0.0, 0.0)),
        np.array([0.0, 0.0, 1.0]),
        "revolute" if column is not None else "fixed",
        column,
        1.0,
        0.0,
        -reach,
        reach,
    )


def sphere(link: str, x: float, radius: float) -> LinkShapes:
    return LinkShapes.of(link, [SourceShape("sphere", transform((x, 0.0, 0.0), (0.0, 0.0, 0.0)), (radius,))])


@pytest.fixture
def chain() -> KinematicTree:
    """Joints 0.2 m apart; the second is never nearer to the first link's origin than 0.35 m."""
    return KinematicTree(
        "a",
        [
            hinge("j1", "a", "b", 0.2, 0, reach=1.0),
            hinge("j2", "b", "c", 0.2, 1),
            hinge("j3", "c", "d", 0.2, None),
        ],
    )


def test_links_that_can_meet_are_refuted_and_those_that_cannot_are_proved(chain: KinematicTree) -> None:
    near = {"a": sphere("a", 0.0, 0.05), "c": sphere("c", 0.3, 0.05)}
    far = {"a": sphere("a", 0.0, 0.05), "c": sphere("c", 0.05, 0.05)}
    assert prove_never(chain, near, "a", "c", evaluations_max=5000).contact
    proof = prove_never(chain, far, "a", "c", evaluations_max=5000)
    assert proof.proved
    assert not proof.contact


def test_distance_is_exact_below_its_bound_and_the_bound_above() -> None:
    vertices = np.array([[0.0, 0.0, 0.0], [0.1, 0.0, 0.0], [0.0, 0.1, 0.0], [0.0, 0.0, 0.1]])
    sides = np.array([[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]])
    meshes = LinkMeshes(
        {
            link: LinkShapes.of(link, [SourceShape("mesh", np.eye(4), (), vertices[sides])])
            for link in ("a", "b")
        }
    )
    apart = np.eye(4)
    apart[0, 3] = 0.35
    for at_most_m, expected_m in ((1.0, 0.25), (0.26, 0.25), (0.25, 0.25), (0.2, 0.2), (1e-6, 1e-6)):
        found_m = meshes.distance_m("a", np.eye(4), "b", apart, at_most_m=at_most_m)
        assert found_m == pytest.approx(expected_m, abs=1e-12), at_most_m
    apart[0, 3] = 0.05
    assert meshes.distance_m("a", np.eye(4), "b", apart, at_most_m=0.2) <= 0.0


def test_proof_that_runs_out_of_work_is_neither(chain: KinematicTree) -> None:
    tight = {"a": sphere("a", 0.0, 0.05), "c": sphere("c", 0.2, 0.09)}
    outcome = prove_never(chain, tight, "a", "c", evaluations_max=10)
    assert not outcome.proved
    assert not outcome.contact


def test_never_proof_agrees_with_dense_sampling(chain: KinematicTree) -> None:
    rng = np.random.default_rng(5)
    for _ in range(12):
        reach, radius = float(rng.uniform(0.0, 0.35)), float(rng.uniform(0.02, 0.1))
        shapes = {"a": sphere("a", 0.0, 0.05), "c": sphere("c", reach, radius)}
        proof = prove_never(chain, shapes, "a", "c", evaluations_max=3000)
        poses = chain.placements(chain.samples(4000, 1))
        centres = poses["c"][:, :3, 3] + reach * poses["c"][:, :3, 0]
        least = float(np.linalg.norm(centres, axis=1).min()) - 0.05 - radius
        assert not (proof.proved and least <= 0.0), f"seed 5, reach {reach!r}, radius {radius!r}"


def test_adjacent_and_rigid_pairs_are_allowed_and_others_are_checked(chain: KinematicTree) -> None:
    sorting = sort_by_structure(chain, ["a", "b", "c", "d"], None)
    reasons = {pair: entry.reason for pair, entry in sorting.allowed.items()}
    assert reasons == {
        ("a", "b"): "adjacent",
        ("b", "c"): "adjacent",
        ("c", "d"): "adjacent",
    }
    # One joint moves `d` against `b`, and a fixed one makes them no neighbours: that needs a proof.
    assert sorting.checked == [("a", "c"), ("a", "d"), ("b", "d")]


# A bracket on the far side of a joint: clear of the link before it, in its way at some angles, or screwed into it.
@pytest.mark.parametrize(
    ("bracket", "reason"),
    [
        (SourceShape("sphere", transform((0.3, 0.0, 0.0), (0.0, 0.0, 0.0)), (0.02,)), "proved-never"),
        (SourceShape("sphere", transform((-0.05, 0.12, 0.0), (0.0, 0.0, 0.0)), (0.02,)), None),
        (SourceShape("sphere", transform((-0.2, 0.0, 0.0), (0.0, 0.0, 0.0)), (0.03,)), "adjacent"),
    ],
)
def test_pair_through_a_fixed_joint_is_exempt_only_if_proved(
    chain: KinematicTree, bracket: SourceShape, reason: str | None
) -> None:
    arm = SourceShape("box", transform((0.1, 0.0, 0.0), (0.0, 0.0, 0.0)), (0.28, 0.05, 0.05))
    shapes = {"b": LinkShapes.of("b", [arm]), "d": LinkShapes.of("d", [bracket])}
    sorting = sort_by_structure(chain, ["b", "d"], None)
    sweep = Sweep(chain, LinkMeshes(shapes), chain.samples(500, SWEEP_SEED))
    prove_neighbours(sorting, sweep, shapes, joints_max=2)
    contacts = int(sweep.mesh_contact(("b", "d"), np.arange(500)).sum())
    if reason is None:
        assert 0 < contacts < 500
        assert sorting.checked == [("b", "d")]
    else:
        assert contacts == (500 if reason == "adjacent" else 0)
        assert sorting.allowed["b", "d"].reason == reason
        assert sorting.checked == []


def test_proof_of_touching_agrees_with_dense_sampling(chain: KinematicTree) -> None:
    rng = np.random.default_rng(12)
    cube = np.array(trimesh.creation.box(extents=(0.1, 0.1, 0.1)).triangles)
    dense = chain.samples(2000, 3)
    proved = 0
    for trial in range(20):
        at = (-0.2 + float(rng.uniform(-0.1, 0.1)), float(rng.uniform(-0.1, 0.1)), 0.0)
        bracket = LinkShapes.of("d", [SourceShape("mesh", transform(at, (0.0, 0.0, 0.3)), (), cube)])
        shapes = {"b": sphere("b", 0.2, float(rng.uniform(0.03, 0.12))), "d": bracket}
        if prove_always(chain, shapes, "b", "d", evaluations_max=200):
            proved += 1
            poses = chain.placements(dense)
            meshes = LinkMeshes(shapes)
            ways = [meshes.touch("b", poses["b"][i], "d", poses["d"][i]) for i in range(0, 2000, 40)]
            assert all(ways), f"trial {trial}"
    assert 0 < proved < 20


def test_cross_arm_pair_stays_checked_even_if_provable() -> None:
    arms = KinematicTree(
        "torso", [hinge("left", "torso", "l", 1.0, 0), hinge("right", "torso", "r", -1.0, 1)]
    )
    shapes = {"l": sphere("l", 0.0, 0.1), "r": sphere("r", 0.0, 0.1)}
    assert is_cross_branch(arms, ("l", "r"))
    assert prove_never(arms, shapes, "l", "r", evaluations_max=100).proved
    sorting = sort_by_structure(arms, ["l", "r"], None)
    sweep = Sweep(arms, LinkMeshes(shapes), arms.samples(SWEEP_SAMPLES, SWEEP_SEED))
    prove_neighbours(sorting, sweep, shapes, joints_max=2)
    assert sorting.checked == [("l", "r")]


@pytest.mark.parametrize(("reach", "searched"), [(0.3, False), (0.05, True)])
def test_a_contact_in_the_sweep_spares_the_search_for_a_proof(
    chain: KinematicTree, reach: float, searched: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    shapes = {"a": sphere("a", 0.0, 0.05), "c": sphere("c", reach, 0.05)}
    asked: list[tuple[str, ...]] = []

    def proof(
        tree: KinematicTree, shapes: dict[str, LinkShapes], *pair: str, evaluations_max: int
    ) -> NeverProof:
        asked.append(pair)
        return prove_never(tree, shapes, *pair, evaluations_max=evaluations_max)

    monkeypatch.setattr(allowed_pairs, "prove_never", proof)
    sorting = sort_by_structure(chain, ["a", "c"], None)
    sweep = Sweep(chain, LinkMeshes(shapes), chain.samples(SWEEP_SAMPLES, SWEEP_SEED))
    prove_neighbours(sorting, sweep, shapes, joints_max=2)
    assert asked == ([("a", "c")] if searched else [])
    assert sorting.checked == ([] if searched else [("a", "c")])


def test_hulls_that_meet_do_not_make_meshes_meet_and_flat_meshes_have_none() -> None:
    """A sphere in a cup is inside the cup's hull and touches nothing; lowered, it does."""
    vertices = np.array([[x, y, z] for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (0.0, 0.2)])
    bottom, sides = [(0, 2, 6), (0, 6, 4)], [(0, 1, 3), (0, 3, 2), (4, 5, 7), (4, 7, 6), (0, 1, 5), (0, 5, 4)]
    for faces in (bottom + sides, bottom):
        meshes = LinkMeshes(
            {
                "cup": LinkShapes.of("cup", [SourceShape("mesh", np.eye(4), (), vertices[np.array(faces)])]),
                "sphere": sphere("sphere", 0.0, 0.05),
            }
        )
        for height, expected in ((0.1, False), (0.04, True), (-0.2, False)):
            at = transform((0.0, 0.0, height), (0.0, 0.0, 0.0))
            assert meshes.touch("cup", np.eye(4), "sphere", at) is expected, (len(faces), height)
            assert meshes.touch("sphere", at, "cup", np.eye(4)) is expected, (len(faces), height)


@pytest.mark.parametrize(("reach", "reason"), [(0.3, "srdf-contradicted"), (0.05, "srdf-disabled")])
def test_srdf_claim_is_kept_only_if_the_meshes_do_not_meet(
    chain: KinematicTree, reach: float, reason: str
) -> None:
    shapes = {"a": sphere("a", 0.0, 0.05), "b": sphere("b", 0.0, 0.05), "c": sphere("c", reach, 0.05)}
    claims = SrdfClaims({("a", "c"): "Never"}, frozenset(), frozenset())
    sorting = sort_by_structure(chain, ["a", "b", "c"], claims)
    sweep = Sweep(chain, LinkMeshes(shapes), chain.samples(SWEEP_SAMPLES, SWEEP_SEED))
    volumes = {
        link: [Volume(capsule.radius_m, 0.0, tuple(capsule.start), (0.0, 0.0, 0.0))]
        for link, link_shapes in shapes.items()
        for capsule in link_shapes.round_shapes
    }
    verify_srdf(sorting, sweep, volumes)
    assert sorting.allowed["a", "c"].reason == reason
    assert ("% of the sweep" in sorting.allowed["a", "c"].detail) == (reason == "srdf-contradicted")
    assert bool(sorting.notes) == (reason == "srdf-contradicted")


def test_sweep_is_pinned() -> None:
    tree = KinematicTree("a", [hinge("j1", "a", "b", 0.2, 0)])
    first, longer = tree.samples(SWEEP_SAMPLES, SWEEP_SEED), tree.samples(3 * SWEEP_SAMPLES, SWEEP_SEED)
    assert (SWEEP_SAMPLES, SWEEP_SEED) == (2000, 20260610)
    assert np.array_equal(first, longer[:SWEEP_SAMPLES])


def test_package_without_coal_refuses_to_sort_pairs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import sys

    from lastgate.tools.lowering.diagnostics import LoweringError

    monkeypatch.setitem(sys.modules, "coal", None)
    with pytest.raises(LoweringError, match=r"needs Coal\n\nhint: pip install .*coal"):
        LinkMeshes({"a": sphere("a", 0.0, 0.1)})
