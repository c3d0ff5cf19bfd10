# SPDX-License-Identifier: Apache-2.0
"""`lastgate approach`: a pose, an honest "blocked", or what is wrong with the question."""

import json

import numpy as np
import pytest
from PIL import Image


@pytest.fixture
def kitchen(tmp_path):
    """The map of the cases W01-W10 as a file pair: a wall all around, and a counter in the middle."""
    pixels = np.full((40, 40), 254, dtype=np.uint8)
    pixels[[0, -1], :] = 0
    pixels[:, [0, -1]] = 0
    pixels[18:24, 14:26] = 0  # rows 16 to 21, counted from below
    Image.fromarray(pixels).save(tmp_path / "kitchen.pgm")
    path = tmp_path / "kitchen.yaml"
    path.write_text(
        "image: kitchen.pgm\nresolution: 0.1\norigin: [0.0, 0.0, 0.0]\n"
        "negate: 0\noccupied_thresh: 0.65\nfree_thresh: 0.196\n"
    )
    return path


def test_ideal_pose_that_is_admissible_is_printed(lastgate, kitchen):
    done = lastgate("approach", "--map", kitchen, "--target", 2, 1.65, 0.8, "--from", 2, 0.5)
    assert (done.code, done.err) == (0, "")
    assert done.out == (
        "ideal: the ideal pose is free and sees the target\n"
        "  ideal    x    2.000  y    1.050  yaw  1.571  stand-off 0.600 m\n"
    )


def test_refined_pose_is_printed_with_what_was_not_checked(lastgate, kitchen):
    done = lastgate(
        "approach", "--map", kitchen, "--target", 2, 1.65, 0.8, "--standoff", 0.25, "--max-standoff", 1
    )
    assert done.code == 0
    assert done.out.startswith("refined: ")
    assert "not checked: whether the robot can get there" in done.out


def test_blocked_is_said_and_exits_with_1(lastgate, kitchen):
    done = lastgate("approach", "--map", kitchen, "--target", 2, 1.9, 0.8, "--standoff", 0.3)
    assert done.code == 1
    assert done.out.startswith("approach BLOCKED on the occupancy grid")
    assert "--radius" in done.err


def test_robot_that_cannot_get_there_is_blocked(lastgate, kitchen):
    target = ("approach", "--map", kitchen, "--target", 2, 1.65, 0.8)
    assert lastgate(*target, "--from", 2, 0.5).code == 0
    assert lastgate(*target, "--from", 2, 1.9).code == 1, "it stands inside the counter"


def test_json_holds_both_poses(lastgate, kitchen):
    done = lastgate(
        "approach", "--map", kitchen, "--target", 2, 1.65, 0.8, "--standoff", 0.25, "--from", 2, 0.5, "--json"
    )
    report = json.loads(done.out)
    assert (done.code, report["ok"], report["answer"]) == (0, True, "refined")
    assert report["ideal"]["pose"]["xyz"] == pytest.approx([2.0, 1.4, 0.8])
    assert report["refined"]["pose"]["xyz"] == pytest.approx([1.95, 1.25, 0.8])
    assert report["reachability_checked"]
    blocked = json.loads(
        lastgate("approach", "--map", kitchen, "--target", 2, 1.9, 0.8, "--standoff", 0.3, "--json").out
    )
    assert (blocked["ok"], blocked["refined"], blocked["answer"]) == (False, None, "blocked")


@pytest.mark.parametrize("target", [(2, 1.65, 0.8), (2, 1.9, 0.8)])
def test_plot_is_a_picture_of_the_map(lastgate, kitchen, tmp_path, target):
    path = tmp_path / "view.png"
    lastgate(
        "approach", "--map", kitchen, "--target", *target, "--standoff", 0.3, "--from", 2, 0.5, "--plot", path
    )
    with Image.open(path) as image:
        pixels = np.asarray(image.convert("RGB")).reshape(-1, 3)
    dark, white = (pixels == (51, 56, 66)).all(axis=1).sum(), (pixels == 255).all(axis=1).sum()
    assert dark > 1000
    assert white > 1000
    green = (np.abs(pixels - np.array((26, 127, 75))).max(axis=1) <= 2).sum()
    assert (green > 100) == (target[1] == 1.65), "a refined pose is drawn where there is one"


def test_robot_without_a_footprint_is_refused_and_two_widths_contradict(lastgate, kitchen):
    target = ("approach", "--map", kitchen, "--target", 2, 1.65, 0.8)
    bare = lastgate(*target, "--robot", "franka_panda")
    assert bare.code == 2
    assert "footprint" in bare.err
    twice = lastgate(*target, "--robot", "franka_panda", "--inflation", 0.3)
    assert twice.code == 2
    assert "`--inflation`" in twice.err


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--standoff", "0"), "standoff_m"),
        (("--inflation", "-1"), "inflation_m"),
        (("--radius", "nan"), "max_radius_m"),
        (("--min-standoff", "2", "--max-standoff", "1"), "above max_standoff_m"),
        (("--plot", "nowhere/deep/view.png"), "view.png"),
        (("--plot", "view.bmp2"), "view.bmp2"),
    ],
)
def test_question_that_makes_no_sense_is_an_error(lastgate, kitchen, arguments, why):
    done = lastgate("approach", "--map", kitchen, "--target", 2, 1.65, 0.8, *arguments)
    assert (done.code, done.out) == (2, "")
    assert why in done.err
    as_json = lastgate("approach", "--map", kitchen, "--target", 2, 1.65, 0.8, "--json", *arguments)
    assert as_json.code == 2
    assert json.loads(as_json.out)["decided"] is False


def test_missing_map_target_or_number_is_an_error(lastgate, kitchen, tmp_path):
    assert "nothing.yaml" in lastgate("approach", "--map", tmp_path / "nothing.yaml", "--target", 1, 1, 1).err
    assert lastgate("approach", "--map", kitchen).code == 2
    assert lastgate("approach", "--map", kitchen, "--target", 1, 1).code == 2
    assert lastgate("approach", "--map", kitchen, "--target", 1, 1, "nan").code == 2
