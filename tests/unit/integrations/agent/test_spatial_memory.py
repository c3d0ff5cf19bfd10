# SPDX-License-Identifier: Apache-2.0
import sqlite3

import pytest
from pydantic import ValidationError

import lastgate as lg
from lastgate.integrations.agent import ObjectSighting, Place, SpatialMemory
from lastgate.integrations.agent.labels import matches
from lastgate.integrations.agent.spatial_memory import SAME_PLACE_M


def seen(label, x=0.0, *, stamp_s=0.0, frame_id="map", confidence=1.0):
    return ObjectSighting(
        label=label,
        pose=lg.Pose6D(xyz=(x, 0.0, 0.5), frame_id=frame_id),
        stamp_s=stamp_s,
        confidence=confidence,
    )


@pytest.fixture
def memory():
    with SpatialMemory() as memory:
        yield memory


def test_what_was_never_seen_is_not_found_and_the_nearest_labels_are_named(memory):
    with pytest.raises(lg.ROSObjectNotInMemory, match="nothing was seen yet"):
        memory.recall("mug")
    memory.remember(seen("red mug"))
    with pytest.raises(lg.ROSObjectNotInMemory, match="`blue mug` was never seen; seen were `red mug`"):
        memory.recall("blue mug")


def test_newest_comes_first_and_exact_before_newest(memory):
    memory.remember(seen("red mug", 0.0, stamp_s=5.0))
    memory.remember(seen("mug", 2.0, stamp_s=1.0))
    memory.remember(seen("mug", 4.0, stamp_s=3.0))
    assert [(one.label, one.stamp_s) for one in memory.recall("mug")] == [
        ("mug", 3.0),
        ("mug", 1.0),
        ("red mug", 5.0),
    ]
    assert len(memory.recall("mug", limit=2)) == 2


def test_thing_seen_again_in_its_place_is_one_thing_and_elsewhere_two(memory):
    memory.remember(seen("mug", 0.0, stamp_s=1.0))
    memory.remember(seen("Mug", 0.9 * SAME_PLACE_M, stamp_s=2.0))
    (one,) = memory.recall("mug")
    assert one.pose.xyz[0] == 0.9 * SAME_PLACE_M
    memory.remember(seen("mug", 2.1 * SAME_PLACE_M, stamp_s=3.0))
    assert len(memory.recall("mug")) == 2


def test_older_sighting_does_not_replace_a_newer_one(memory):
    memory.remember(seen("mug", 0.0, stamp_s=5.0))
    memory.remember(seen("mug", 0.05, stamp_s=2.0))
    (one,) = memory.recall("mug")
    assert (one.stamp_s, one.pose.xyz[0]) == (5.0, 0.0)


def test_same_place_in_another_frame_is_another_place(memory):
    memory.remember(seen("mug", stamp_s=1.0))
    memory.remember(seen("mug", stamp_s=2.0, frame_id="odom"))
    assert len(memory.recall("mug")) == 2


def test_file_keeps_what_was_seen(tmp_path):
    path = tmp_path / "seen.sqlite"
    sighting = seen("mug", 1.25, stamp_s=7.5, confidence=0.75)
    with SpatialMemory(path) as memory:
        memory.remember(sighting)
        memory.name_place(Place(name="Kitchen", pose=lg.Pose6D(xyz=(1, 2, 0), frame_id="map")))
    with SpatialMemory(path) as memory:
        assert memory.recall("mug") == [sighting]
        assert memory.resolve_place("kitchen").pose.xyz == (1.0, 2.0, 0.0)


def test_forgotten_things_are_not_found(memory):
    memory.remember(seen("mug"))
    memory.remember(seen("red mug"))
    assert memory.forget("MUG") == 1
    assert [one.label for one in memory.recall("mug")] == ["red mug"]
    assert memory.forget("mug") == 0


def test_file_that_is_something_else_is_refused(tmp_path):
    text = tmp_path / "notes.txt"
    text.write_text("mug: on the table\n" * 100)
    with pytest.raises(lg.ROSConfigError, match="not a memory"):
        SpatialMemory(text)
    newer = tmp_path / "newer.sqlite"
    with sqlite3.connect(newer) as file:
        file.executescript("CREATE TABLE sightings (id); PRAGMA user_version = 9;")
    file.close()
    with pytest.raises(lg.ROSConfigError, match="version 9, this lastgate reads 1"):
        SpatialMemory(newer)
    with pytest.raises(lg.ROSConfigError, match="not a memory"):
        SpatialMemory(tmp_path / "no" / "such" / "folder.sqlite")


def test_row_that_another_program_spoiled_is_refused_not_returned(tmp_path):
    path = tmp_path / "seen.sqlite"
    with SpatialMemory(path) as memory:
        memory.remember(seen("mug"))
        memory._file.execute("UPDATE sightings SET qw = 3.0")
        with pytest.raises(lg.ROSConfigError, match="length 1"):
            memory.recall("mug")


def test_full_memory_refuses_and_says_so(memory, monkeypatch):
    monkeypatch.setattr("lastgate.integrations.agent.spatial_memory.SIGHTINGS_MAX", 3)
    for x in range(3):
        memory.remember(seen("mug", float(x)))
    with pytest.raises(lg.ROSConfigError, match="holds 3 sightings"):
        memory.remember(seen("mug", 9.0))
    # In a place that is taken already nothing is added.
    memory.remember(seen("mug", 2.0, stamp_s=1.0))
    assert len(memory.recall("mug")) == 3


@pytest.mark.parametrize(
    "changes", [{"confidence": 1.5}, {"confidence": -0.1}, {"stamp_s": float("nan")}, {"label": ""}]
)
def test_sighting_that_makes_no_sense_is_refused(changes):
    with pytest.raises(ValidationError):
        seen(**{"label": "mug"} | changes)


@pytest.mark.parametrize("label", ["", "  ", "!?", "a\nb", None, 3, "x" * 300])
def test_label_without_a_word_is_refused(memory, label):
    with pytest.raises(lg.ROSConfigError, match="must be a name"):
        memory.recall(label)


@pytest.mark.parametrize("limit", [0, -1, True, 1.5])
def test_limit_below_one_is_refused(memory, limit):
    with pytest.raises(lg.ROSConfigError, match="limit"):
        memory.recall("mug", limit=limit)


def test_place_is_resolved_by_its_words_and_not_guessed(memory):
    for index, name in enumerate(("kitchen", "kitchen door", "front door")):
        memory.name_place(Place(name=name, pose=lg.Pose6D(xyz=(float(index), 0, 0), frame_id="map")))
    assert memory.resolve_place("Kitchen").name == "kitchen"
    assert memory.resolve_place("front").name == "front door"
    with pytest.raises(lg.ROSObjectNotInMemory, match="may be `front door`, `kitchen door`: say which"):
        memory.resolve_place("door")
    with pytest.raises(lg.ROSObjectNotInMemory, match="no place is called `cellar`; places are"):
        memory.resolve_place("cellar")
    memory.name_place(Place(name="Kitchen", pose=lg.Pose6D(xyz=(9.0, 0, 0), frame_id="map")))
    assert memory.resolve_place("kitchen").pose.xyz[0] == 9.0


@pytest.mark.parametrize(
    ("query", "label", "same"),
    [
        ("mug", "red mug", True),
        ("red mug", "mug", False),
        ("RED-mug", "red_mug", True),
        ("mug", "mugs", False),
        ("", "mug", False),
        ("'; DROP TABLE sightings; --", "mug", False),
    ],
)
def test_labels_match_by_whole_words(query, label, same):
    assert matches(query, label) == same
