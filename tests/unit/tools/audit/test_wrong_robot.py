# SPDX-License-Identifier: Apache-2.0
"""A recording of another robot, or in another unit, is refused with what would fit, and never called clean."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lastgate.tools.cli.app import run

ARM = ("shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll", "gripper")
FPS = 30.0
ROWS = 40
# A gentle motion that is inside the limits of an SO-101 and of a UR5e, column by column.
MOTION = 0.2 + 0.05 * np.sin(np.linspace(0.0, 2.0, ROWS))[:, np.newaxis] * np.ones(6)


def recording(
    folder: Path, rows: np.ndarray, *, names: tuple[str, ...] | None, robot_type: str | None
) -> Path:
    """Writes a LeRobot dataset of one episode."""
    (folder / "meta").mkdir(parents=True)
    (folder / "data").mkdir()
    feature = {"dtype": "float32", "shape": [rows.shape[1]], "names": None if names is None else list(names)}
    info = {
        "codebase_version": "v2.1",
        "fps": FPS,
        "features": {"action": feature, "observation.state": feature},
        "total_episodes": 1,
        "data_path": "data/episode_{episode_index:06d}.parquet",
        "robot_type": robot_type,
    }
    (folder / "meta" / "info.json").write_text(json.dumps(info))
    table = pa.table({"action": pa.array(list(rows)), "observation.state": pa.array(list(rows))})
    pq.write_table(table, folder / "data" / "episode_000000.parquet")
    return folder


def audited(folder: Path, capsys, *arguments: str) -> tuple[int, dict, str]:
    out = folder.with_name("out")
    code = run(["audit", str(folder), *arguments, "--json", "--workers", "1", "--worst", "0", "-o", str(out)])
    said = capsys.readouterr()
    return code, json.loads(said.out) if said.out else {}, said.err


def suffixed(ending: str) -> tuple[str, ...]:
    return tuple(f"{name}{ending}" for name in ARM)


@pytest.mark.parametrize("names", [suffixed(".pos"), suffixed("")])
def test_recording_of_an_so101_is_not_audited_as_a_ur5e(tmp_path, capsys, names):
    folder = recording(tmp_path / "data", MOTION, names=names, robot_type="so101_follower")
    code, _, error = audited(folder, capsys, "--robot", "ur5e")
    assert code == 2
    assert "its `robot_type` is `so101_follower`, and it was to be audited as `ur5e`" in error
    assert "--robot so101_follower" in error


def test_names_alone_are_enough_to_refuse(tmp_path, capsys):
    folder = recording(tmp_path / "data", MOTION, names=suffixed(".pos"), robot_type=None)
    code, document, error = audited(folder, capsys, "--robot", "ur5e")
    assert (code, document["clean"], document["rows"]) == (2, 0, 0)
    assert (
        "`shoulder_pan_joint` is not among them; `--robot so100_follower` has joints of these names" in error
    )
    assert "so101_follower" in error


def test_metadata_alone_are_enough_to_refuse_where_two_robots_share_their_names(tmp_path, capsys):
    folder = recording(tmp_path / "data", MOTION, names=suffixed(".pos"), robot_type="so101")
    code, _, error = audited(folder, capsys, "--robot", "so100_follower")
    assert code == 2
    assert "--robot so101_follower" in error


def test_same_recording_is_audited_as_what_it_is(tmp_path, capsys):
    folder = recording(tmp_path / "data", MOTION, names=suffixed(".pos"), robot_type="so101")
    code, document, _ = audited(folder, capsys, "--robot", "so101_follower")
    assert (code, document["unreadable"], document["rows"]) == (0, [], ROWS)


def test_user_may_say_which_column_is_which_joint(tmp_path, capsys):
    folder = recording(tmp_path / "data", MOTION, names=tuple("abcdef"), robot_type="so101")
    mapped = ",".join(f"{column}={joint}" for column, joint in zip("abcdef", ARM, strict=True))
    code, document, _ = audited(folder, capsys, "--robot", "so101_follower", "--joint-map", mapped)
    assert (code, document["unreadable"], document["rows"]) == (0, [], ROWS)
    code, _, error = audited(folder, capsys, "--robot", "so101_follower")
    assert code == 2
    assert "`--joint-map COLUMN=JOINT,…`" in error


def test_columns_without_names_say_that_only_their_count_was_known(tmp_path, capsys):
    folder = recording(tmp_path / "data", MOTION, names=None, robot_type=None)
    code, document, _ = audited(folder, capsys, "--robot", "so101_follower")
    assert code == 0
    assert "column_names" in document["unchecked"]


def test_columns_without_names_that_do_not_fit_the_ranges_are_refused(tmp_path, capsys):
    elsewhere = MOTION + np.array([0.0, 0.0, 5.0, 0.0, 0.0, 0.0])
    folder = recording(tmp_path / "data", elsewhere, names=None, robot_type=None)
    code, _, error = audited(folder, capsys, "--robot", "so101_follower")
    assert code == 2
    assert "100% of the rows lie outside the range of `elbow_flex`" in error


def test_recording_in_degrees_is_refused_with_the_unit_that_fits(tmp_path, capsys):
    degrees = np.rad2deg(MOTION) + np.array([-60.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    folder = recording(tmp_path / "data", degrees, names=suffixed(".pos"), robot_type="so101")
    code, _, error = audited(folder, capsys, "--robot", "so101_follower")
    assert code == 2
    assert "as degrees they fit: say `--degrees`" in error
    code, document, _ = audited(folder, capsys, "--robot", "so101_follower", "--degrees")
    assert (code, document["unreadable"], document["rows"]) == (0, [], ROWS)


def test_recording_in_radians_is_not_taken_for_degrees(tmp_path, capsys):
    folder = recording(tmp_path / "data", MOTION, names=suffixed(".pos"), robot_type="so101")
    code, _, error = audited(folder, capsys, "--robot", "so101_follower", "--degrees")
    assert code == 2
    assert "are these radians?" in error


def test_gripper_in_percent_is_read_as_such(tmp_path, capsys):
    degrees = np.rad2deg(MOTION)
    degrees[:, 5] = np.linspace(20.0, 60.0, ROWS)
    folder = recording(tmp_path / "data", degrees, names=suffixed(".pos"), robot_type="so101")
    code, document, _ = audited(
        folder, capsys, "--robot", "so101_follower", "--units", "degrees,gripper=percent"
    )
    assert (code, document["unreadable"]) == (0, [])


def test_violation_in_a_few_rows_stays_a_finding(tmp_path, capsys):
    beyond = MOTION.copy()
    beyond[20:24, 0] = 4.0
    folder = recording(tmp_path / "data", beyond, names=None, robot_type=None)
    code, document, _ = audited(folder, capsys, "--robot", "so101_follower")
    assert code == 1
    assert "joint_position_limit" in {finding["code"] for finding in document["findings"]}


@pytest.mark.parametrize(
    "arguments",
    [
        ("--degrees", "--units", "si"),
        ("--columns", "0,1", "--joint-map", "0=a"),
        ("--joint-map", "0"),
        ("--units", "x"),
    ],
)
def test_senseless_options_exit_with_2(tmp_path, capsys, arguments):
    folder = recording(tmp_path / "data", MOTION, names=None, robot_type=None)
    assert audited(folder, capsys, "--robot", "so101_follower", *arguments)[0] == 2
