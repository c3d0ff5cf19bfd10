# SPDX-License-Identifier: Apache-2.0
"""The search on planes a person can draw: a wall with a gap, a closed room, and random discs."""

import itertools

import numpy as np
import pytest

from lastgate.planning.skills.path_search import PathSearch


def search(are_clear, seed=1, resolution=0.02):
    return PathSearch(
        are_clear,
        lower=np.array([0.0, 0.0]),
        upper=np.array([4.0, 4.0]),
        resolution=resolution,
        rng=np.random.default_rng(seed),
    )


def wall_with_a_gap(q):
    return ~((np.abs(q[:, 0] - 2.0) < 0.1) & (q[:, 1] < 3.5))


def samples_along(path, count=400):
    path = np.array(path)
    return np.vstack([a + np.linspace(0, 1, count)[:, None] * (b - a) for a, b in itertools.pairwise(path)])


@pytest.mark.parametrize("seed", range(10))
def test_path_goes_through_the_gap_and_its_shortcut_is_shorter_and_clear(seed):
    start, goal = np.array([0.5, 0.5]), np.array([3.5, 0.5])
    one = search(wall_with_a_gap, seed)
    path = one.path(start, [goal])
    short = one.shortened(path)
    for way in (path, short):
        assert np.array_equal(way[0], start)
        assert np.array_equal(way[-1], goal)
        # Between two samples it may cut a corner, by no more than they are apart; the gate sees that, not the search.
        x, y = samples_along(way).T
        assert not ((np.abs(x - 2.0) < 0.08) & (y < 3.48)).any()
    length = [np.abs(np.diff(np.array(way), axis=0)).sum() for way in (path, short)]
    assert length[1] <= length[0] + 1e-9
    assert max(q[1] for q in short) > 3.4


def test_straight_way_is_taken_where_it_is_clear():
    start, goal = np.array([0.5, 0.5]), np.array([1.5, 3.0])
    assert len(search(wall_with_a_gap).path(start, [goal])) == 2


def test_one_of_several_goals_is_reached():
    def clear(q):
        return q[:, 0] < 2.0

    path = search(clear).path(np.array([0.5, 0.5]), [np.array([3.0, 3.0]), np.array([1.5, 3.0])])
    assert path[-1].tolist() == [1.5, 3.0]


def test_closed_room_has_no_way_out():
    def clear(q):
        away = np.abs(q - 2.0).max(axis=1)
        return (away < 0.5) | (away > 0.7)

    assert search(clear, resolution=0.05).path(np.array([2.0, 2.0]), [np.array([0.2, 0.2])]) is None


def test_same_seed_gives_the_same_path():
    start, goal = np.array([0.5, 0.5]), np.array([3.5, 0.5])
    first, second = (search(wall_with_a_gap, 7).path(start, [goal]) for _ in range(2))
    assert np.array_equal(first, second)
