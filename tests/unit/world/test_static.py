# SPDX-License-Identifier: Apache-2.0
"""Worlds that never move have an age rule of their own, and the verdict says so."""

import numpy as np
import pytest
from fixtures.analytic_robots import (
    NOW_S,
    at,
    code_of,
    gate_of,
    only_violation,
    planar_two_link,
    sphere,
    world_of,
)

import lastgate as lg
from lastgate import Unchecked

TABLE = sphere((5.0, 0.0, 0.0), 0.1, "table")
NEAR = sphere((1.5, 0.0, 0.0), 0.1, "near")


def checked(world: lg.World, *, now_s: float = NOW_S) -> lg.Verdict:
    gate = gate_of(planar_two_link(), step_s=1.0)
    state = at(0.0, 0.0, stamp_s=now_s)
    return gate.check(lg.ActionChunk([[0.0, 0.0]]), state=state, world=world, now_s=now_s)


def test_a_static_world_never_goes_stale_and_the_verdict_says_that_no_age_was_checked():
    for now_s in (NOW_S, NOW_S + 3600.0):
        verdict = checked(lg.World.static([TABLE]), now_s=now_s)
        assert verdict.accepted, verdict.explain()
        assert Unchecked.WORLD_AGE in verdict.unchecked
        assert "world_age" in verdict.explain()
    fresh = checked(world_of(TABLE))
    assert fresh.accepted
    assert Unchecked.WORLD_AGE not in fresh.unchecked


def test_the_same_world_unless_declared_goes_stale_with_a_hint():
    violation = only_violation(checked(world_of(TABLE), now_s=NOW_S + 3600.0))
    assert violation.code == "world_unavailable"
    assert "`World.static` if nothing in it ever moves" in violation.detail


def test_what_is_in_a_static_world_is_still_hit():
    assert code_of(checked(lg.World.static([NEAR]))) == "world_collision"


def test_a_static_world_may_end():
    world = lg.World.static([TABLE], stamp_s=NOW_S, lasts_s=60.0)
    assert checked(world, now_s=NOW_S + 60.0).accepted
    assert code_of(checked(world, now_s=NOW_S + 60.1)) == "world_unavailable"
    with pytest.raises(lg.ROSConfigError, match="lasts_s counts from stamp_s"):
        lg.World.static([TABLE], lasts_s=60.0)
    with pytest.raises(lg.ROSConfigError, match="must be positive"):
        lg.World.static([TABLE], stamp_s=0.0, lasts_s=0.0)
    with pytest.raises(lg.ROSConfigError, match="must be positive"):
        lg.World.static([TABLE], stamp_s=0.0, lasts_s=float("nan"))


def test_points_of_a_static_world_age_as_ever():
    def world(stamp_s: float) -> lg.World:
        return lg.World.static([TABLE], points=lg.Points(xyz=np.array([[6.0, 0.0, 0.0]]), stamp_s=stamp_s))

    assert checked(world(NOW_S)).accepted
    assert code_of(checked(world(NOW_S - 3600.0))) == "world_unavailable"
    with pytest.raises(lg.ROSConfigError, match="declared empty"):
        lg.World.static(points=lg.Points(xyz=np.empty((0, 3)), stamp_s=NOW_S, declared_empty=True))


def test_restamping_says_that_the_same_was_seen_again():
    old = world_of(NEAR)
    seen = old.restamped(NOW_S + 3600.0)
    assert code_of(checked(old, now_s=NOW_S + 3600.0)) == "world_unavailable"
    assert code_of(checked(seen, now_s=NOW_S + 3600.0)) == "world_collision"
    assert (seen.primitives, old.stamp_s) == (old.primitives, NOW_S)
    assert seen.number != old.number


def test_obstacles_leave_come_and_move_and_everything_else_stays():
    world = world_of(NEAR, TABLE)
    assert checked(world.without(["near"])).accepted
    assert code_of(checked(world.without(["table"]))) == "world_collision"
    pushed = world.with_poses({"near": lg.Pose6D(xyz=(0.0, 4.0, 0.0))}, stamp_s=NOW_S)
    assert checked(pushed).accepted
    assert [one.object_id for one in pushed.obstacles] == ["near", "table"]
    again = world.without(["near"]).with_obstacles([NEAR], stamp_s=NOW_S)
    assert code_of(checked(again)) == "world_collision"
    with pytest.raises(lg.ROSConfigError, match="has no obstacle `mug`"):
        world.without(["mug"])
    static = lg.World.static([NEAR, TABLE]).without(["near"])
    assert Unchecked.WORLD_AGE in checked(static).unchecked
