# SPDX-License-Identifier: Apache-2.0
"""What a browser is sent: everything once, then what changed, and less while the tab is hidden."""

import json
import time
from collections import Counter

import numpy as np
from fixtures.patience import until
from websockets.sync.client import ClientConnection, connect

import lastgate as lg
from lastgate.tools.dashboard.server import FRAME_S, HIDDEN_FRAME_S
from lastgate.tools.dashboard.store import GateStatus, LiveStore
from lastgate.tools.dashboard.world_view import WorldView

START = np.array([0.0, -0.6, 0.0, -2.2, 0.0, 1.7, 0.785])
FINGERS = np.full(1, 0.02)
ONCE = ("robot", "gate", "counts", "volumes", "candidate", "obstacles", "cloud")


def open_page(page) -> ClientConnection:
    return connect(f"ws://{page.address}/live", origin=f"http://{page.address}", proxy=None)


def heard(socket: ClientConnection, seconds: float) -> list[dict]:
    """Returns what comes in so long."""
    messages, end = [], time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        try:
            messages.append(json.loads(socket.recv(timeout=left)))
        except TimeoutError:
            break
    return messages


def heard_until(socket: ClientConnection, kind: str, seconds: float = 20.0) -> dict:
    """Returns the next message of a kind."""
    while True:
        message = json.loads(socket.recv(timeout=seconds))
        if message["type"] == kind:
            return message


def standing(panda, serve):
    """Returns a page of a robot that stands still."""
    store = LiveStore(source="demo", scene=panda)
    store.note_state(START, FINGERS)
    store.note_status(GateStatus(state="active", name="test"))
    return serve(store)


def test_robot_that_stands_still_is_sent_once_and_its_ages_go_on(panda, serve):
    page = standing(panda, serve)
    page.store.note_world(WorldView.of_world(lg.NO_WORLD), is_stamped=False)
    with open_page(page) as socket:
        assert json.loads(socket.recv(timeout=20))["type"] == "hello"
        heard_until(socket, "cards")
        end = time.monotonic() + 2.5
        kinds: Counter[str] = Counter()
        while time.monotonic() < end:
            # The same again, as a sensor at rest says it: no browser has to draw that.
            page.store.note_state(START + 1e-7, FINGERS)
            page.store.note_world(WorldView.of_world(lg.NO_WORLD), is_stamped=False)
            kinds.update(message["type"] for message in heard(socket, 0.1))
    assert {kind: kinds[kind] for kind in ONCE if kinds[kind] > 1} == {}
    assert kinds["ages"] >= 2


def test_what_changed_is_sent_and_nothing_else(panda, serve):
    page = standing(panda, serve)
    with open_page(page) as socket:
        before = heard_until(socket, "volumes")["volumes"]
        heard(socket, 1.2)
        page.store.note_state(START + 0.01, FINGERS)
        messages = heard(socket, 3 * FRAME_S + 0.5)
    after = [message["volumes"] for message in messages if message["type"] == "volumes"]
    assert len(after) == 1
    assert after[0] != before
    assert not {"robot", "gate", "counts", "obstacles"} & {message["type"] for message in messages}


def test_clearances_are_sent_once_each(panda, serve):
    page = standing(panda, serve)

    def note(count: int) -> None:
        for _ in range(count):
            page.store.note_unnamed_check(
                accepted=True, while_latched=False, clearance_m=0.1, duration_us=30.0
            )

    note(7)
    with open_page(page) as socket:
        first = heard_until(socket, "series")
        assert (first["whole"], len(first["clearance"])) == (True, 7)
        note(3)
        points = []
        while len(points) < 3:
            message = heard_until(socket, "series")
            assert not message["whole"]
            points += message["clearance"]
        assert len(points) == 3
        assert heard_until(socket, "series")["clearance"] == []
    assert page.store.series()[1]["whole"]
    assert len(page.store.series()[1]["clearance"]) == 10


def test_hidden_page_is_sent_less_and_the_latch_all_the_same(panda, serve):
    page = standing(panda, serve)
    with open_page(page) as socket:
        heard_until(socket, "cards")
        socket.send("hidden")
        heard(socket, 1.5 * HIDDEN_FRAME_S)

        def moved(seconds: float) -> int:
            end, volumes = time.monotonic() + seconds, 0
            while time.monotonic() < end:
                page.store.note_state(START + np.random.default_rng().uniform(0.0, 0.1), FINGERS)
                volumes += sum(message["type"] == "volumes" for message in heard(socket, FRAME_S / 2))
            return volumes

        away = moved(2.0)
        assert away <= 2.0 / HIDDEN_FRAME_S + 1
        page.store.note_status(GateStatus(state="latched", name="test"))
        assert heard_until(socket, "gate")["gate"]["state"] == "latched"
        socket.send("visible")
        until(lambda: moved(1.0) > 2 * away)


def test_cloud_that_is_gone_is_sent_as_gone(panda, serve):
    page = standing(panda, serve)
    points = np.random.default_rng(1).uniform(-1.0, 1.0, (50, 3))
    page.store.note_world(
        WorldView.of_world(lg.World(points=points, stamp_s=1.0, world_id="room")), is_stamped=False
    )
    with open_page(page) as socket:
        assert heard_until(socket, "cloud")["points"] is not None
        page.store.note_world(WorldView.of_world(lg.NO_WORLD), is_stamped=False)
        assert heard_until(socket, "cloud")["points"] is None
