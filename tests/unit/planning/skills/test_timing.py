# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from lastgate.planning.skills.timing import segment_rows


@pytest.mark.parametrize("seed", range(60))
def test_rows_stay_inside_speed_and_acceleration_from_rest_to_rest(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.uniform(-3, 3, (2, 7))
    speed, acceleration = rng.uniform(0.05, 3.0, 7), rng.uniform(0.1, 20.0, 7)
    step_s = float(rng.choice([0.002, 0.02, 0.1]))
    rows = segment_rows(a, b, speed=speed, acceleration=acceleration, step_s=step_s)
    path = np.vstack([a, a, rows, b])  # at rest before and after
    rates = np.diff(path, axis=0) / step_s
    assert (np.abs(rates) <= speed * (1 + 1e-9)).all()
    assert (np.abs(np.diff(rates, axis=0)) / step_s <= acceleration * (1 + 1e-9)).all()
    assert np.array_equal(rows[-1], b)
    # On the straight line between the two, and never back.
    shares = (rows - a) @ (b - a) / ((b - a) @ (b - a))
    assert np.abs(rows - (a + np.outer(shares, b - a))).max() <= 1e-9
    assert (np.diff(shares) >= -1e-12).all()


def test_twice_the_stretch_takes_twice_the_rows():
    limits = {"speed": np.array([1.0]), "acceleration": np.array([2.0]), "step_s": 0.01}
    once, twice = (segment_rows(np.zeros(1), np.ones(1), **limits, stretch=stretch) for stretch in (1.0, 2.0))
    assert len(twice) == pytest.approx(2 * len(once), abs=1)


def test_motion_of_no_length_is_one_row():
    rows = segment_rows(np.ones(3), np.ones(3), speed=np.ones(3), acceleration=np.ones(3), step_s=0.02)
    assert rows.tolist() == [[1.0, 1.0, 1.0]]
