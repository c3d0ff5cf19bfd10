# SPDX-License-Identifier: Apache-2.0
"""What the page shows, newest first: written by the watchers, read by the browsers. Neither waits for the other."""

import math
import threading
import time
from collections import deque
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

import numpy as np

from lastgate.contracts import ViolationCode
from lastgate.contracts.action import ActionChunk, RobotState
from lastgate.contracts.arrays import Float64
from lastgate.gate.verdict import Verdict, joint_rows_to_draw
from lastgate.tools.dashboard.event_log import EventLog, Picture, Source
from lastgate.tools.dashboard.robot_scene import RobotScene
from lastgate.tools.dashboard.world_view import Facts, WorldView
from lastgate.world import NoWorld, World

# Half a minute at 50 chunks a second.
SERIES_MAX = 1500
LATENCIES_MAX = 4096
# Exporters send every few seconds: more than they hold back at 1,000 chunks a second.
SEEN_MAX = 16_384
# Four per decade from 1 µs to 100 ms; what is faster or slower counts in the first or last.
BUCKET_EDGES_US = tuple(float(f"{10 ** (exponent / 4):.4g}") for exponent in range(21))
TEXT_CHARACTERS_MAX = 300
# A rejected path stays in the view this long although accepted ones follow: shorter, and a person misses it.
REJECTION_SHOWN_S = 1.0

StateWord = Literal["none", "lost", "unconfigured", "inactive", "active", "latched"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GateStatus:
    """The state of the watched kernel or demo.

    Attributes:
        state: `none` while nothing was ever watched, `lost` when it stopped beating, else its own word.
        held: Who still holds the stop, with the reason; each blocks a reset.
    """

    state: StateWord = "none"
    name: str = ""
    source: str = ""
    reason: str = ""
    model_digest: str = ""
    held: tuple[tuple[str, str], ...] = ()
    sources: tuple[str, ...] = ()
    actuators: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureCard:
    """A picture that came with a span or was drawn of a world, at most one a second.

    Attributes:
        number: Grows with every picture, so that a browser asks for each once.
        facts: What is said beside it.
        robot_at: Where in the picture the robot stands, from its upper left, 0 to 1.
    """

    number: int
    png: bytes
    facts: Facts
    received_s: float
    robot_at: tuple[float, float] | None = None


@dataclass(slots=True)
class _Measured:
    positions: Float64
    gripper_positions: Float64
    received_s: float
    stamp_s: float | None


@dataclass(frozen=True, slots=True)
class _Candidate:
    verdict: Verdict
    rows: Float64 | None
    start: Float64 | None
    gripper_positions: Float64 | None


class LiveStore:
    """The newest of everything, and the event log, which holds all.

    Args:
        source: Who writes here.
        scene: The robot; None while it is not known.

    Times without a word are of the monotonic clock.
    """

    def __init__(self, *, source: Source, scene: RobotScene | None = None) -> None:
        self.event_log = EventLog()
        self._source: Source = source
        self._lock = threading.Lock()
        self._scene = scene
        self._scene_number = 1
        self._status = GateStatus()
        self._measured: _Measured | None = None
        self._world: WorldView | None = None
        self._world_number = 0
        self._world_received_s = 0.0
        self._world_is_stamped = False
        self._candidate: _Candidate | None = None
        self._candidate_number = 0
        self._rejection_noted_s = -math.inf
        self._chunk_received_s: float | None = None
        self._series: deque[tuple[float, float | None, bool]] = deque(maxlen=SERIES_MAX)
        self._series_noted = 0
        self._latencies_us: deque[float] = deque(maxlen=LATENCIES_MAX)
        self._buckets = [0] * (len(BUCKET_EDGES_US) + 1)
        self._counts = {"accepted": 0, "rejected": 0, "while_latched": 0, "lost": 0, "spans": 0}
        self._cards_drawn = 0
        self._cards: dict[str, PictureCard] = {}
        self._seen: set[int] = set()
        self._seen_us: deque[int] = deque(maxlen=SEEN_MAX)
        self._span_received_s: float | None = None

    # ---- Written by the watchers -----------------------------------------------------------------------

    def set_scene(self, scene: RobotScene | None) -> None:
        """Changes the robot."""
        with self._lock:
            self._scene = scene
            self._scene_number += 1
            self._measured = self._candidate = None
            self._candidate_number += 1

    def note_status(self, status: GateStatus) -> None:
        """Notes how the gate stands."""
        with self._lock:
            self._status = status

    def note_state(
        self, positions: Float64, gripper_positions: Float64, *, stamp_s: float | None = None
    ) -> None:
        """Notes what was measured; `stamp_s` is wall clock, None for a clock of its own."""
        with self._lock:
            self._measured = _Measured(positions, gripper_positions, time.monotonic(), stamp_s)

    def note_world(self, world: WorldView, *, is_stamped: bool) -> None:
        """Notes what stands around; `is_stamped` when its stamps are of the wall clock."""
        with self._lock:
            self._world = world
            self._world_number += 1
            self._world_received_s = time.monotonic()
            self._world_is_stamped = is_stamped

    def note_check(
        self,
        verdict: Verdict,
        *,
        rows: Float64 | None,
        duration_us: float,
        draw: bool = True,
        time_s: float | None = None,
        rskill_id: str = "",
        trace_id: str = "",
        start: Float64 | None = None,
        picture: Picture | None = None,
    ) -> None:
        """Notes one verdict. Rejections go into the event log, except of chunks that come while a stop is latched."""
        violation = verdict.violations[0] if verdict.violations else None
        is_latched = violation is not None and violation.code is ViolationCode.estop_latched
        clearance_m = verdict.min_clearance_m
        self._note_numbers(
            "accepted" if violation is None else "while_latched" if is_latched else "rejected",
            clearance_m=clearance_m if math.isfinite(clearance_m) else None,
            duration_us=duration_us,
        )
        if violation is not None and not is_latched:
            self.event_log.add(
                time_s=time.time() if time_s is None else time_s,
                source=self._source,
                code=str(violation.code),
                sentence=violation.sentence(),
                rskill_id=rskill_id,
                trace_id=trace_id,
                evidence=violation.evidence().model_dump_json(),
                picture=picture,
            )
        # What led to a stop stays on the screen: later chunks are rejected unseen.
        if draw and not is_latched:
            self._note_candidate(verdict, rows=rows, start=start)

    def note_unnamed_check(
        self, *, accepted: bool, while_latched: bool, clearance_m: float | None, duration_us: float
    ) -> None:
        """Notes a verdict about a robot that is not known here, or one that a span tells of."""
        word = "accepted" if accepted else "while_latched" if while_latched else "rejected"
        self._note_numbers(word, clearance_m=clearance_m, duration_us=duration_us)

    def note_seen(self, begun_wall_s: float) -> None:
        """Remembers that this check was seen where it happened, so that a span about it is not counted again."""
        if len(self._seen_us) == SEEN_MAX:
            self._seen.discard(self._seen_us[0])
        moment = round(begun_wall_s * 1e6)
        self._seen_us.append(moment)
        self._seen.add(moment)

    def was_seen(self, begun_wall_s: float) -> bool:
        """Returns whether a check that began then was seen; a span counts nanoseconds, a ring a little less."""
        moment = round(begun_wall_s * 1e6)
        return any(near in self._seen for near in (moment - 1, moment, moment + 1))

    def note_lost(self, count: int) -> None:
        """Notes verdicts that were overwritten before they could be read."""
        with self._lock:
            self._counts["lost"] += count

    def note_span(self) -> None:
        """Counts a span that another program sent."""
        with self._lock:
            self._counts["spans"] += 1
            self._span_received_s = time.monotonic()

    def note_card(
        self, name: str, png: bytes, facts: Facts, *, robot_at: tuple[float, float] | None = None
    ) -> bool:
        """Keeps a picture, unless the one before it is younger than a second; tells which."""
        with self._lock:
            before = self._cards.get(name)
            now_s = time.monotonic()
            if before is not None and now_s - before.received_s < 1.0:
                return False
            number = 1 if before is None else before.number + 1
            self._cards[name] = PictureCard(
                number=number, png=png, facts=facts, received_s=now_s, robot_at=robot_at
            )
            return True

    def _note_numbers(self, word: str, *, clearance_m: float | None, duration_us: float) -> None:
        bucket = int(np.searchsorted(BUCKET_EDGES_US, duration_us, side="right"))
        with self._lock:
            self._counts[word] += 1
            self._series.append((time.monotonic(), clearance_m, word == "accepted"))
            self._series_noted += 1
            self._latencies_us.append(duration_us)
            self._buckets[bucket] += 1
            self._chunk_received_s = time.monotonic()

    def _note_candidate(self, verdict: Verdict, *, rows: Float64 | None, start: Float64 | None) -> None:
        with self._lock:
            if verdict.accepted and time.monotonic() - self._rejection_noted_s < REJECTION_SHOWN_S:
                return
            if not verdict.accepted:
                self._rejection_noted_s = time.monotonic()
            begin = start if start is not None or self._measured is None else self._measured.positions
            fingers = None if self._measured is None else self._measured.gripper_positions
            self._candidate = _Candidate(verdict, rows, begin, fingers)
            self._candidate_number += 1

    # ---- Read by the browsers --------------------------------------------------------------------------

    def hello(self) -> dict[str, Any]:
        """Returns the robot: what a browser needs once, and again when it is another one."""
        with self._lock:
            scene = self._scene
        return {"type": "robot", "robot": None if scene is None else scene.volumes_json()}

    def numbers(self) -> dict[str, int]:
        """Returns numbers that grow with every change of the robot, the candidate and the world."""
        with self._lock:
            return {
                "scene": self._scene_number,
                "candidate": self._candidate_number,
                "world": self._world_number,
            }

    def gate(self) -> dict[str, Any]:
        """Returns how the gate stands."""
        with self._lock:
            status = self._status
        return {
            "state": status.state,
            "name": status.name,
            "source": status.source[:TEXT_CHARACTERS_MAX],
            "reason": status.reason[:TEXT_CHARACTERS_MAX],
            "model_digest": status.model_digest,
            "held": [list(pair) for pair in status.held],
            "sources": list(status.sources),
            "actuators": list(status.actuators),
            "note": status.note,
        }

    def counts(self) -> dict[str, int]:
        """Returns how many checks there were of each outcome, and what the event log holds of them."""
        with self._lock:
            counts = dict(self._counts)
        return {**counts, "not_listed": self.event_log.not_listed, "violations": len(self.event_log)}

    def volumes(self) -> list[float] | None:
        """Returns where the robot's volumes are, to a tenth of a millimetre; None while nothing was measured."""
        with self._lock:
            scene, measured = self._scene, self._measured
        if scene is None or measured is None:
            return None
        return scene.placed(measured.positions, measured.gripper_positions)

    def candidate(self) -> dict[str, Any]:
        """Returns the newest candidate path and its verdict; made here, so that without a browser it costs nothing."""
        with self._lock:
            noted, scene = self._candidate, self._scene
        if noted is None:
            return {"type": "candidate", "candidate": None}
        violation = noted.verdict.violations[0] if noted.verdict.violations else None
        placed = None
        if scene is not None and noted.rows is not None and noted.start is not None:
            fingers = noted.gripper_positions
            if fingers is None:
                fingers = np.zeros(len(scene.gate.gripper_joint_names))
            placed = scene.candidate_json(noted.rows, violation, start=noted.start, gripper_positions=fingers)
        word = "accepted" if violation is None else str(violation.code)
        return {
            "type": "candidate",
            "candidate": {**(placed or {"paths": []}), "verdict": word},
        }

    def obstacles(self) -> dict[str, Any]:
        """Returns the obstacles that have a shape."""
        with self._lock:
            world = self._world
        return {
            "type": "obstacles",
            "world_id": "" if world is None else world.world_id[:TEXT_CHARACTERS_MAX],
            "declared_absent": world is not None and world.declared_absent,
            "obstacles": [] if world is None else world.obstacles_json(),
        }

    def draw_cards(self) -> None:
        """Draws the cards of a world that came since they were last drawn. Takes some milliseconds."""
        with self._lock:
            world, number = self._world, self._world_number
            if world is None or number == self._cards_drawn:
                return
            self._cards_drawn = number
        cloud, floor = world.cloud_picture(), world.map_picture()
        if cloud is not None:
            self.note_card("cloud", *cloud)
        if floor is not None:
            png, facts, robot_at = floor
            self.note_card("map", png, facts, robot_at=robot_at)

    def cloud(self) -> dict[str, Any]:
        """Returns points and voxels; neither where the world has neither."""
        with self._lock:
            world = self._world
        return {"type": "cloud", **({} if world is None else world.cloud_json())}

    def series(self, *, after: int = 0) -> tuple[int, dict[str, Any]]:
        """Returns clearances and latencies, for the two charts: of the clearances those since `after`.

        Also returns how many clearances there were: the `after` of the next question.
        """
        with self._lock:
            now_s = time.monotonic()
            noted = self._series_noted
            points = list(islice(reversed(self._series), min(noted - after, len(self._series))))[::-1]
            latencies = np.array(self._latencies_us)
            buckets = list(self._buckets)
        return noted, {
            "type": "series",
            "now_s": round(now_s, 3),
            "whole": after == 0,
            "clearance": [
                [round(time_s, 3), None if metres is None else round(metres, 5), accepted]
                for time_s, metres, accepted in points
            ],
            "bucket_edges_us": BUCKET_EDGES_US,
            "buckets": buckets,
            "percentiles_us": None
            if not len(latencies)
            else {
                "p50": round(float(np.percentile(latencies, 50)), 2),
                "p99": round(float(np.percentile(latencies, 99)), 2),
                "worst": round(float(latencies.max()), 2),
                "of": len(latencies),
            },
        }

    def cards(self) -> dict[str, Any]:
        """Returns which pictures there are, and what is said about them."""
        with self._lock:
            now_s = time.monotonic()
            return {
                "type": "cards",
                "cards": {
                    name: {
                        "number": card.number,
                        "facts": [list(fact) for fact in card.facts],
                        "robot_at": card.robot_at,
                        "age_s": round(now_s - card.received_s, 2),
                    }
                    for name, card in self._cards.items()
                },
            }

    def card(self, name: str) -> PictureCard | None:
        """Returns one picture."""
        with self._lock:
            return self._cards.get(name)

    def ages(self) -> dict[str, float | None]:
        """Returns how old each kind of data is, in seconds; None for what never came.

        Of data with a stamp the older of the two counts: by its stamp, or by when it arrived here.
        """
        now_s, wall_s = time.monotonic(), time.time()

        def age(received_s: float | None, stamp_s: float | None = None) -> float | None:
            if received_s is None:
                return None
            by_stamp = 0.0 if stamp_s is None or not math.isfinite(stamp_s) else wall_s - stamp_s
            return round(min(max(now_s - received_s, by_stamp), 1e9), 3)

        with self._lock:
            measured, world, stamped = self._measured, self._world, self._world_is_stamped
            has_shapes = world is not None and not world.declared_absent
            return {
                "chunk": age(self._chunk_received_s),
                "state": None if measured is None else age(measured.received_s, measured.stamp_s),
                "world": age(self._world_received_s, world.stamp_s if stamped else None)
                if has_shapes and world is not None
                else None,
                "points": age(self._world_received_s, world.points_stamp_s if stamped else None)
                if world is not None and world.points is not None
                else None,
                "voxels": age(self._world_received_s, world.grid.stamp_s if stamped else None)
                if world is not None and world.grid is not None
                else None,
                "span": age(self._span_received_s),
            }


def note_gate_check(
    store: LiveStore,
    scene: RobotScene,
    verdict: Verdict,
    *,
    chunk: ActionChunk,
    state: RobotState | None,
    world: World | NoWorld | None,
    duration_us: float,
) -> None:
    """Shows what a gate in this process decided."""
    if isinstance(world, World | NoWorld):
        store.note_world(WorldView.of_world(world), is_stamped=False)
    known = joint_rows_to_draw(verdict)
    joint_rows = known if len(known) else scene.joint_rows(chunk)
    store.note_check(
        verdict,
        rows=joint_rows,
        duration_us=duration_us,
        rskill_id=chunk.rskill_id,
        trace_id=chunk.trace_id,
        start=None if state is None else state.positions,
        picture=None
        if state is None or verdict.accepted
        else lambda: scene.picture(verdict, chunk=chunk, state=state, world=world),
    )
