# SPDX-License-Identifier: Apache-2.0
"""Where things were seen, and which places have names; kept in SQLite, in a file or in memory."""

import difflib
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Annotated, Any, Self, TypeVar

from pydantic import Field, ValidationError

from lastgate.contracts import Pose6D, ROSConfigError, ROSObjectNotInMemory, config_error_from
from lastgate.contracts.schema import Finite, Name, Schema
from lastgate.integrations.agent.labels import matches, require_label, words_of

# A thing seen again this near is the same thing, moved a little or measured anew.
SAME_PLACE_M = 0.15
# A robot that sees a new thing every second for a day fills it; then the caller has to decide what to forget.
SIGHTINGS_MAX = 100_000
# Of the file; another one is of another lastgate and is refused, not guessed at.
FILE_VERSION = 1

_Kind = TypeVar("_Kind", bound=Schema)

_TABLES = """
CREATE TABLE sightings (
    id INTEGER PRIMARY KEY, label TEXT NOT NULL, words TEXT NOT NULL, x REAL NOT NULL, y REAL NOT NULL, z REAL NOT NULL,
    qx REAL NOT NULL, qy REAL NOT NULL, qz REAL NOT NULL, qw REAL NOT NULL, frame_id TEXT NOT NULL,
    stamp_s REAL NOT NULL, confidence REAL NOT NULL
);
CREATE TABLE places (
    name TEXT PRIMARY KEY, words TEXT NOT NULL UNIQUE, x REAL NOT NULL, y REAL NOT NULL, z REAL NOT NULL,
    qx REAL NOT NULL, qy REAL NOT NULL, qz REAL NOT NULL, qw REAL NOT NULL, frame_id TEXT NOT NULL
);
"""


class ObjectSighting(Schema):
    """A thing seen at a time."""

    label: Name
    pose: Pose6D
    stamp_s: Finite
    confidence: Annotated[Finite, Field(ge=0.0, le=1.0)] = 1.0


class Place(Schema):
    """A pose with a name, such as a kitchen."""

    name: Name
    pose: Pose6D


class SpatialMemory:
    """Remembers sightings and places. Nothing is made up: what was never seen is not found.

    Args:
        path: A file, which is made if it is not there, or `:memory:` for as long as the process runs.

    Raises:
        ROSConfigError: The file is not such a memory, or cannot be opened.
    """

    def __init__(self, path: str | Path = ":memory:") -> None:
        self._path = str(path)
        try:
            self._file = sqlite3.connect(self._path)
            version = self._file.execute("PRAGMA user_version").fetchone()[0]
            filled = self._file.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            if not filled:
                with self._file:
                    self._file.executescript(_TABLES + f"PRAGMA user_version = {FILE_VERSION};")
                version = FILE_VERSION
        except sqlite3.Error as error:
            raise ROSConfigError(f"{path}: not a memory that can be used: {error}") from None
        if version != FILE_VERSION:
            self._file.close()
            raise ROSConfigError(f"{path}: a memory of version {version}, this lastgate reads {FILE_VERSION}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def remember(self, sighting: ObjectSighting) -> None:
        """Keeps a sighting; older ones of the same label and frame within `SAME_PLACE_M` make room for it.

        A sighting older than one that is kept there changes nothing.

        Raises:
            ROSConfigError: The label has no word, or the memory is full.
        """
        require_label(sighting.label, name="label")
        words, (x, y, z) = " ".join(words_of(sighting.label)), sighting.pose.xyz
        same = """words = ? AND frame_id = ?
            AND (x - ?) * (x - ?) + (y - ?) * (y - ?) + (z - ?) * (z - ?) <= ?"""
        here = (words, sighting.pose.frame_id, x, x, y, y, z, z, SAME_PLACE_M**2)
        with self._file:
            newer = self._file.execute(
                f"SELECT count(*) FROM sightings WHERE {same} AND stamp_s > ?", (*here, sighting.stamp_s)
            ).fetchone()[0]
            if newer:
                return
            self._file.execute(f"DELETE FROM sightings WHERE {same}", here)
            if self._count("sightings") >= SIGHTINGS_MAX:
                raise ROSConfigError(f"the memory holds {SIGHTINGS_MAX} sightings: forget some first")
            self._file.execute(
                "INSERT INTO sightings (label, words, x, y, z, qx, qy, qz, qw, frame_id, stamp_s, confidence) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    sighting.label,
                    words,
                    x,
                    y,
                    z,
                    *sighting.pose.quat_xyzw,
                    sighting.pose.frame_id,
                    sighting.stamp_s,
                    sighting.confidence,
                ),
            )

    def recall(self, label: str, *, limit: int = 5) -> list[ObjectSighting]:
        """Returns sightings whose label has all words asked for: exact ones first, then the newest.

        Raises:
            ROSObjectNotInMemory: There is none; the message names the nearest labels that there are.
            ROSConfigError: Not a label, or a limit below 1.
        """
        asked = require_label(label, name="label")
        if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
            raise ROSConfigError(f"limit must be at least 1, got {limit!r}")
        words = words_of(asked)
        rows = self._file.execute(
            "SELECT label, x, y, z, qx, qy, qz, qw, frame_id, stamp_s, confidence FROM sightings "
            "ORDER BY words = ? DESC, stamp_s DESC, confidence DESC, id DESC",
            (" ".join(words),),
        )
        found = []
        for row in rows:
            if matches(asked, row[0]):
                found.append(_sighting(row))
                if len(found) == limit:
                    break
        if not found:
            known = self.labels()
            nearest = f"; seen were {_closest(asked, known)}" if known else "; nothing was seen yet"
            raise ROSObjectNotInMemory(f"`{asked}` was never seen{nearest}")
        return found

    def forget(self, label: str) -> int:
        """Forgets every sighting of exactly this label, and returns how many there were."""
        words = " ".join(words_of(require_label(label, name="label")))
        with self._file:
            return self._file.execute("DELETE FROM sightings WHERE words = ?", (words,)).rowcount

    def labels(self) -> list[str]:
        """Returns every label that was seen."""
        return [row[0] for row in self._file.execute("SELECT DISTINCT label FROM sightings ORDER BY label")]

    def name_place(self, place: Place) -> None:
        """Gives a pose a name; the same name again moves it."""
        require_label(place.name, name="name")
        words = " ".join(words_of(place.name))
        with self._file:
            self._file.execute("DELETE FROM places WHERE words = ?", (words,))
            self._file.execute(
                "INSERT INTO places VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (place.name, words, *place.pose.xyz, *place.pose.quat_xyzw, place.pose.frame_id),
            )

    def resolve_place(self, name: str) -> Place:
        """Returns the place of a name: the one of exactly these words, or the only one that has them all.

        Raises:
            ROSObjectNotInMemory: There is none, or several; the message names them.
        """
        asked = require_label(name, name="name")
        rows = self._file.execute("SELECT name, x, y, z, qx, qy, qz, qw, frame_id FROM places ORDER BY name")
        places = {row[0]: _place(row) for row in rows}
        fitting = [one for one in places if matches(asked, one)]
        exact = [one for one in fitting if words_of(one) == words_of(asked)]
        chosen = exact or fitting
        if len(chosen) == 1:
            return places[chosen[0]]
        if chosen:
            raise ROSObjectNotInMemory(
                f"`{asked}` may be {', '.join(f'`{one}`' for one in chosen)}: say which"
            )
        known = f"; places are {_closest(asked, places)}" if places else "; no place has a name yet"
        raise ROSObjectNotInMemory(f"no place is called `{asked}`{known}")

    def _count(self, table: str) -> int:
        return self._file.execute(f"SELECT count(*) FROM {table}").fetchone()[0]


def _sighting(row: tuple[Any, ...]) -> ObjectSighting:
    label, x, y, z, qx, qy, qz, qw, frame_id, stamp_s, confidence = row
    pose = {"xyz": (x, y, z), "quat_xyzw": (qx, qy, qz, qw), "frame_id": frame_id}
    return _read(ObjectSighting, {"label": label, "pose": pose, "stamp_s": stamp_s, "confidence": confidence})


def _place(row: tuple[Any, ...]) -> Place:
    name, x, y, z, qx, qy, qz, qw, frame_id = row
    return _read(
        Place, {"name": name, "pose": {"xyz": (x, y, z), "quat_xyzw": (qx, qy, qz, qw), "frame_id": frame_id}}
    )


def _read(schema: type[_Kind], content: dict[str, object]) -> _Kind:
    """Reads a row by its schema: another program may have written the file."""
    try:
        return schema.model_validate(content)
    except ValidationError as error:
        raise config_error_from(error, source="memory") from None


def _closest(wanted: str, known: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in difflib.get_close_matches(wanted, list(known), n=8, cutoff=0.0))
