# SPDX-License-Identifier: Apache-2.0
import json

import pytest
from PIL import Image

HOME = [0.0, -0.60, 0.0, -2.20, 0.0, 1.70, 0.785]


@pytest.fixture
def measured(tmp_path):
    path = tmp_path / "measured.json"
    path.write_text(json.dumps({"positions": HOME, "gripper_positions": [0.02]}))
    return path


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "table.json"
    box = {"shape": "box", "size_xyz_m": [0.8, 1.6, 0.04]}
    path.write_text(
        json.dumps(
            {
                "collision_primitives": [
                    {"shape": box, "pose": {"xyz": [0.65, 0, -0.02]}, "object_id": "table"}
                ]
            }
        )
    )
    return path


PANDA = ("look-at", "--robot", "franka_panda", "--camera", "wrist")
TARGET = ("--target", "0.6", "0.3", "0.0")


def test_motion_is_printed_and_its_rows_pass_the_check(lastgate, measured, table, tmp_path):
    rows = tmp_path / "rows.csv"
    given = ("--state", measured, "--world", table)
    said = lastgate(*PANDA, *TARGET, "--standoff", "0.3", *given, "-o", rows)
    assert said.code == 0
    assert said.out.startswith("found: camera `wrist` looks at the target from 0.300 m")
    assert "not checked" not in said.out
    assert said.err == ""
    assert lastgate("check", rows, "--robot", "franka_panda", *given).code == 0


def test_what_was_assumed_is_said(lastgate):
    said = lastgate(*PANDA, *TARGET)
    assert said.code == 0
    assert "no --state was given" in said.err
    assert "no --world was given" in said.err
    assert "not checked: obstacles" in said.out


def test_json_holds_goal_and_rows(lastgate, measured, table):
    said = lastgate(*PANDA, *TARGET, "--state", measured, "--world", table, "--json")
    report = json.loads(said.out)
    assert said.code == 0
    assert report["ok"] is True
    assert report["start"] == HOME
    assert len(report["rows"][0]) == len(report["joint_names"]) == 7
    assert report["goal"]["link"] == "panda_hand"
    assert report["goal"]["free_axis_in_link"] == [0.0, 0.0, 1.0]
    assert report["off_axis_rad"] < 1e-5


def test_plot_is_a_picture(lastgate, measured, table, tmp_path):
    picture = tmp_path / "look.png"
    said = lastgate(*PANDA, *TARGET, "--state", measured, "--world", table, "--plot", picture)
    assert said.code == 0
    with Image.open(picture) as image:
        assert min(image.size) > 500
        colours = image.convert("RGB").getcolors(maxcolors=1_000_000)
    # The target's star and the camera's way are drawn in colours of their own.
    found = {colour for _, colour in colours}
    assert {(194, 36, 26), (26, 127, 75)} <= found


def test_target_out_of_reach_exits_with_1(lastgate, measured, table):
    given = ("--target", "3", "0", "0", "--standoff", "0.3", "--state", measured, "--world", table)
    said = lastgate(*PANDA, *given)
    assert said.code == 1
    assert said.out.startswith("no motion: camera `wrist` cannot look at (3.000, 0.000, 0.000)")
    report = json.loads(lastgate(*PANDA, *given, "--json").out)
    assert (report["ok"], report["decided"]) == (False, True)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--camera", "head"), "its sensors: `wrist`"),
        (("--target", "nan", "0", "0"), "target_xyz"),
        (("--standoff", "-1"), "standoff_m"),
        (("--world", "nowhere.json"), "no such file"),
        (("--state", "nowhere.json"), "no such file"),
        (("--plot", "nowhere/look.png"), "look.png"),
        (("--output", "nowhere/rows.csv"), "rows.csv"),
        (("--robot", "so100_follower"), "its sensors: none"),
        (("--robot", "pnada"), "unknown robot"),
        (("--step-s", "0"), "step"),
    ],
)
def test_question_that_makes_no_sense_is_an_error(lastgate, arguments, why):
    said = lastgate(*PANDA, *TARGET, *arguments)
    assert said.code == 2
    assert why in said.err
    as_json = lastgate(*PANDA, *TARGET, *arguments, "--json")
    assert (as_json.code, json.loads(as_json.out)["decided"]) == (2, False)
