# SPDX-License-Identifier: Apache-2.0
"""Recordings of chunks: `openral_msgs/ActionChunk` in rosbag2 and MCAP, written by a library that is not ours."""

import json
from pathlib import Path

import numpy as np
import pytest
from fixtures.ros_messages import action_chunk, header, make, store, to_bytes
from rosbags.rosbag2 import StoragePlugin, Writer

from lastgate.robots import load_robot
from lastgate.tools.cli.app import run

CHUNK, JOINTS, TEXT = "openral_msgs/msg/ActionChunk", "sensor_msgs/msg/JointState", "std_msgs/msg/String"
START = np.array([0.0, -0.6, 0.0, -2.2, 0.0, 1.7, 0.785])
NAMES = tuple(joint.name for joint in load_robot("franka_panda").actuated_joints)[:7]
ROWS = 16
EVERY_S = 0.32


def chunk(**changes) -> np.ndarray:
    """Returns rows that are clean but for the given rows of joint 0: `row_3=1.0`."""
    rows = np.tile(START, (ROWS, 1))
    for name, value in changes.items():
        rows[int(name.removeprefix("row_")), 0] = value
    return rows


def joint_state(stamp_s: float, positions=START, names=NAMES):
    empty = np.empty(0)
    return make(
        JOINTS,
        header=header(stamp_s),
        name=list(names),
        position=np.array(positions),
        velocity=empty,
        effort=empty,
    )


def write_bag(
    path: Path, events, *, storage=StoragePlugin.MCAP, topic="/openral/candidate_action", kind=CHUNK
) -> Path:
    """Writes (seconds, message or bytes) in order; a JointState is what was measured, anything else a command."""
    with Writer(path, version=9, storage_plugin=storage) as writer:
        states = writer.add_connection("/joint_states", JOINTS, typestore=store())
        commands = writer.add_connection(topic, kind, typestore=store())
        for at_s, message in events:
            is_state = not isinstance(message, bytes) and message.__msgtype__ == JOINTS
            payload = message if isinstance(message, bytes) else to_bytes(message)
            writer.write(states if is_state else commands, round(at_s * 1e9), payload)
    return path


def measured_then(*chunks, first: int = 0):
    """Returns a fresh state before each chunk, from the `first` tick on."""
    events = []
    for number, one in enumerate(chunks, first):
        at_s = 100.0 + EVERY_S * number
        events += [(at_s - 0.01, joint_state(at_s - 0.01)), (at_s, one)]
    return events


def audited(path: Path, out: Path, capsys, *more: str) -> tuple[int, dict, str]:
    command = ["audit", str(path), "--robot", "franka_panda", "--rate-hz", "50", "--workers", "1", "--json"]
    code = run([*command, "-o", str(out), *more])
    said = capsys.readouterr()
    return code, json.loads(said.out) if said.out else {}, said.err


@pytest.mark.parametrize("storage", [StoragePlugin.MCAP, StoragePlugin.SQLITE3])
def test_clean_chunks_are_clean_and_counted(tmp_path, capsys, storage):
    bag = write_bag(
        tmp_path / "bag", measured_then(*(action_chunk(chunk()) for _ in range(5))), storage=storage
    )
    code, document, _ = audited(bag, tmp_path / "out", capsys)
    assert (code, document["rows"], document["findings"]) == (0, 5 * ROWS, [])


@pytest.mark.parametrize("storage", [StoragePlugin.MCAP, StoragePlugin.SQLITE3])
def test_each_bad_chunk_is_found_at_its_row_and_the_good_ones_are_not(tmp_path, capsys, storage):
    sixth = 100.0 + 6 * EVERY_S
    events = [
        *measured_then(
            action_chunk(chunk()),
            action_chunk(chunk(row_3=1.0)),
            action_chunk(chunk(row_5=np.nan)),
            action_chunk(chunk()[:, :6]),
            action_chunk(chunk(), control_mode=77),
            action_chunk(chunk(row_0=-3.1)),
        ),
        (sixth, action_chunk(chunk())),  # nothing was measured since the one before
        *measured_then(action_chunk(chunk()), first=7),
    ]
    bag = write_bag(tmp_path / "bag", events, storage=storage)
    code, document, _ = audited(bag, tmp_path / "out", capsys, "--worst", "1")
    assert code == 1
    found = [(f["code"], f["first_row"]) for f in document["findings"]]
    assert found == [
        ("joint_velocity_limit", 1 * ROWS + 3),
        ("nan_in_action", 2 * ROWS + 5),
        ("ndof_mismatch", 3 * ROWS),
        ("control_mode", 4 * ROWS),
        ("joint_position_limit", 5 * ROWS),
        ("state_unavailable", 6 * ROWS),
    ]
    page = (tmp_path / "out" / "report.html").read_text()
    # All but the one that only its state was too old for.
    assert page.count("data:image/png;base64,") == 5


def test_chunk_before_anything_was_measured_is_found(tmp_path, capsys):
    events = [(99.0, action_chunk(chunk())), *measured_then(action_chunk(chunk()))]
    code, document, _ = audited(write_bag(tmp_path / "bag", events), tmp_path / "out", capsys)
    assert code == 1
    assert [(f["code"], f["first_row"]) for f in document["findings"]] == [("state_unavailable", 0)]


def test_file_alone_is_read_as_its_folder_is(tmp_path, capsys):
    bag = write_bag(tmp_path / "bag", measured_then(action_chunk(chunk()), action_chunk(chunk(row_3=1.0))))
    (file,) = bag.glob("*.mcap")
    code, document, _ = audited(file, tmp_path / "out", capsys)
    assert (code, [f["code"] for f in document["findings"]]) == (1, ["joint_velocity_limit"])


def truncated(message) -> bytes:
    return to_bytes(message)[:-20]


@pytest.mark.parametrize(
    ("events", "says"),
    [
        (measured_then(truncated(action_chunk(chunk()))), "no action chunk"),
        (measured_then(action_chunk(chunk(), horizon=15)), "no table of numbers"),
        (measured_then(action_chunk(chunk(), horizon=0, flat=np.empty(0))), "no action chunk"),
        (measured_then(action_chunk(chunk(), n_dof=0)), "no action chunk"),
        ([(99.0, joint_state(99.0))], "no chunks"),
        (
            [(99.0, joint_state(99.0, START[:3], NAMES[:3])), *measured_then(action_chunk(chunk()))],
            "joints of a topic change",
        ),
        (
            [(99.0, joint_state(99.0, START[:3])), *measured_then(action_chunk(chunk()))],
            "7 joint names and 3 positions",
        ),
    ],
)
def test_bag_that_cannot_be_read_is_reported_and_the_next_one_audited(tmp_path, capsys, events, says):
    write_bag(tmp_path / "bags" / "a", events)
    write_bag(tmp_path / "bags" / "b", measured_then(action_chunk(chunk())))
    code, document, error = audited(tmp_path / "bags", tmp_path / "out", capsys)
    assert code == 2
    assert "1 of 2 episodes could not be audited" in error
    (trouble,) = document["unreadable"]
    assert trouble["episode"] == 0
    assert says in trouble["trouble"]
    assert document["rows"] == ROWS


def test_commands_of_another_type_or_on_another_topic_are_reported(tmp_path, capsys):
    words = make(TEXT, data="go")
    write_bag(tmp_path / "bags" / "a", measured_then(words), topic="/action", kind=TEXT)
    write_bag(tmp_path / "bags" / "b", measured_then(action_chunk(chunk())), topic="/elsewhere")
    code, document, _ = audited(tmp_path / "bags", tmp_path / "out", capsys)
    assert code == 2
    other_type, other_topic = (one["trouble"] for one in document["unreadable"])
    assert "carries std_msgs/msg/String" in other_type
    assert "no commands on /openral/candidate_action" in other_topic
    code, document, _ = audited(
        tmp_path / "bags" / "b", tmp_path / "named", capsys, "--action-key", "/elsewhere"
    )
    assert (code, document["rows"]) == (0, ROWS)


def test_chunks_are_in_radians_whatever_is_said(tmp_path, capsys):
    bag = write_bag(tmp_path / "bag", measured_then(action_chunk(chunk())))
    code, document, _ = audited(bag, tmp_path / "out", capsys, "--degrees")
    assert code == 2
    assert "radians" in document["unreadable"][0]["trouble"]
