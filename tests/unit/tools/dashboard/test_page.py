# SPDX-License-Identifier: Apache-2.0
"""The page in a real browser. Each test leaves a screenshot in reports/page, for a person to open.

Skipped where there is no Chromium; the reason says how to get it.
"""

import json
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fixtures.patience import until
from PIL import Image

import lastgate as lg
from lastgate.contracts import find_violation
from lastgate.kernel.estop import SafetyLatch
from lastgate.tools.dashboard.control import LatchControl
from lastgate.tools.dashboard.robot_scene import RobotScene
from lastgate.tools.dashboard.store import GateStatus, LiveStore, note_gate_check
from lastgate.tools.demo.panda_scene import table_world
from lastgate.world.freshness import StampedTransform

SHOTS = Path(__file__).parents[4] / "reports" / "page"
START = np.array([0.0, -0.6, 0.0, -2.2, 0.0, 1.7, 0.785])
FINGERS = np.full(2, 0.02)
DESK, TABLET = {"width": 1280, "height": 800}, {"width": 820, "height": 1180}
PHONE = {"width": 390, "height": 844}
HOSTILE = '<img src=x onerror="window.hacked=1">'
COOLDOWN_S = 0.5


class Shown:
    """A simulated gate with a page before it, moved by hand."""

    def __init__(self, scene: RobotScene, serve: Callable[..., Any]) -> None:
        self.scene = scene
        self.store = LiveStore(source="demo", scene=scene)
        self.time_s = 100.0
        self.control = LatchControl(SafetyLatch(cooldown_s=COOLDOWN_S), clock=lambda: self.time_s)
        self.page = serve(self.store, self.control)
        self.gate = lg.Gate(scene.robot, step_s=0.02)
        self.world = lg.World(primitives=table_world(), stamp_s=1.0, world_id="table")
        self.show_state()

    def show_state(self) -> None:
        self.store.note_state(START, FINGERS[: len(self.gate.gripper_joint_names)])
        self.store.note_status(
            GateStatus(
                state="latched" if self.control.latched else "active",
                name="test",
                source=self.control.source,
                reason=self.control.reason,
            )
        )

    def check(self, target: np.ndarray, *, rows: int = 16) -> lg.Verdict:
        chunk = lg.ActionChunk(np.linspace(START, target, rows), rskill_id="reach")
        state = lg.RobotState(positions=START, stamp_s=1.0)
        verdict = self.gate.check(chunk, state=state, world=self.world, now_s=1.0)
        note_gate_check(
            self.store, self.scene, verdict, chunk=chunk, state=state, world=self.world, duration_us=42.0
        )
        return verdict


VOLUME_COUNT = len(lg.load_robot("franka_panda").collision_geometry)
ALL_VOLUMES = f"document.getElementById('scene').dataset.volumes === '{VOLUME_COUNT}'"


@pytest.fixture
def shown(panda: RobotScene, serve) -> Shown:
    return Shown(panda, serve)


@pytest.fixture
def visit(browser) -> Iterator[Callable[..., Any]]:
    opened: list[Any] = []
    troubles: list[str] = []

    def go(url: str, *, size: dict[str, int] = DESK, scheme: str = "dark") -> Any:
        context = browser.new_context(viewport=size, color_scheme=scheme)
        page = context.new_page()
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on(
            "console", lambda said: troubles.append(said.text) if "Content Security" in said.text else None
        )
        page.on(
            "request",
            lambda asked: (
                troubles.append(f"asked for {asked.url}")
                if not asked.url.startswith(url.partition("#")[0])
                else None
            ),
        )
        page.goto(url)
        page.wait_for_selector("#gate-state[data-state=active], #gate-state[data-state=latched]")
        opened.append(context)
        return page

    yield go
    for context in opened:
        context.close()
    # No error, nothing against the policy, nothing from elsewhere: the page works without a network.
    assert troubles == []


def holds(page: Any, expression: str) -> Any:
    """Waits until an expression holds in the page, whose policy forbids the browser driver to wait for it there."""
    return until(lambda: page.evaluate(expression))


def shoot(page: Any, name: str) -> Image.Image:
    """Keeps a picture of the page, and returns the part with the view."""
    SHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SHOTS / f"{name}.png")
    box = page.locator("#scene").bounding_box()
    vertices = (box["x"], box["y"], box["x"] + box["width"], box["y"] + box["height"])
    with Image.open(SHOTS / f"{name}.png") as whole:
        return whole.convert("RGB").crop(tuple(round(number) for number in vertices))


def share_of(image: Image.Image, is_wanted: Callable[[np.ndarray], np.ndarray]) -> float:
    pixels = np.asarray(image, dtype=np.int32)
    return float(is_wanted(pixels).mean())


def bluish(pixels: np.ndarray) -> np.ndarray:
    return (pixels[..., 2] > pixels[..., 0] + 25) & (pixels.sum(axis=-1) > 200)


def reddish(pixels: np.ndarray) -> np.ndarray:
    return (pixels[..., 0] > pixels[..., 1] + 60) & (pixels[..., 0] > pixels[..., 2] + 60)


def test_robot_and_world_are_drawn_and_a_robot_that_is_not_there_is_not(shown, visit, serve):
    shown.check(START + 0.1)
    page = visit(shown.page.server.url)
    holds(page, ALL_VOLUMES)
    # The camera shows all of the table, so the robot is a small part of the picture.
    until(lambda: share_of(shoot(page, "desk-dark"), bluish) > 0.015)
    names = page.locator("#labels span").all_text_contents()
    assert set(names) == {obstacle.object_id for obstacle in table_world()} - {"floor"}
    assert page.locator("#count-accepted").text_content() == "1"
    assert page.locator("#verdict").get_attribute("data-verdict") == "accepted"
    bare = LiveStore(source="demo")
    bare.note_status(GateStatus(state="active"))
    empty = visit(serve(bare).server.url)
    holds(empty, "Number(document.getElementById('scene').dataset.drawn) > 0")
    assert share_of(shoot(empty, "without-a-robot"), bluish) < 0.005


def test_violation_appears_in_the_event_log_and_stays(shown, visit):
    page = visit(shown.page.server.url, scheme="light")
    holds(page, ALL_VOLUMES)
    refused = shown.check(START + np.array([0.0, 1.1, 0.0, 0.6, 0.0, 0.0, 0.0]), rows=40)
    assert refused.violations[0].code == "world_collision"
    first = page.locator("#ledger li").last
    first.wait_for()
    assert refused.violations[0].sentence() in first.inner_text()
    page.wait_for_selector("#verdict[data-verdict=rejected]")
    assert page.locator("#verdict").inner_text().startswith("rejected: world_collision")
    until(lambda: share_of(shoot(page, "refused-light"), reddish) > 0.002)
    for _ in range(30):
        shown.check(START + 0.05)
    shown.check(START + 5.0)
    holds(page, "document.querySelectorAll('#ledger li').length === 2")
    assert refused.violations[0].sentence() in page.locator("#ledger li").last.inner_text()
    page.reload()
    holds(page, "document.querySelectorAll('#ledger li').length === 2")
    assert refused.violations[0].sentence() in page.locator("#ledger li").last.inner_text()


def test_entry_opens_with_its_picture_and_evidence(shown, visit):
    shown.check(START + np.array([0.0, 1.1, 0.0, 0.6, 0.0, 0.0, 0.0]), rows=40)
    page = visit(shown.page.server.url)
    page.click("#ledger li button")
    page.wait_for_selector("#entry-picture:not([hidden])", timeout=60_000)
    assert page.evaluate("document.getElementById('entry-picture').naturalWidth") > 300
    told = json.loads(page.locator("#entry-evidence").text_content())
    assert told["evidence"]["collision_kind"] == "world"
    assert told["rskill_id"] == "reach"
    assert page.locator("#entry-advice").text_content() == find_violation("world_collision").what_to_do
    shoot(page, "rejection-report")
    page.click("#estop")  # within reach although a card is open
    until(lambda: shown.control.latched)
    page.click("#entry-close")
    assert not page.locator("#entry-dialog").is_visible()


def test_button_latches_reset_is_refused_without_token_and_early_and_then_works(shown, visit):
    page = visit(shown.page.server.url)
    page.click("#estop")
    until(lambda: shown.control.latched)
    shown.show_state()
    page.wait_for_selector("#gate-state[data-state=latched]")
    assert "dashboard: pressed on the page" in page.locator("#strip").inner_text()

    page.click("#reset")
    page.fill("#token", "guessed")
    page.click("#token-dialog button.main")
    holds(page, "document.getElementById('strip-text').textContent.includes('token')")
    assert shown.control.latched

    page.click("#reset")
    page.fill("#token", shown.page.token.text)
    page.click("#token-dialog button.main")
    holds(page, "document.getElementById('strip-text').textContent.includes('cooling down')")
    assert shown.control.latched
    shoot(page, "latched")

    shown.time_s += COOLDOWN_S
    page.click("#reset")
    until(lambda: not shown.control.latched)
    shown.show_state()
    page.wait_for_selector("#gate-state[data-state=active]")
    shoot(page, "reset")


def test_token_of_the_printed_address_is_used_and_taken_out_of_the_address(shown, visit):
    shown.control.estop("before")
    shown.show_state()
    page = visit(f"{shown.page.server.url}#token={shown.page.token.text}")
    assert page.url == shown.page.server.url
    shown.time_s += COOLDOWN_S
    page.click("#reset")
    until(lambda: not shown.control.latched)


def test_stop_that_nothing_answers_says_so_loudly(shown, visit):
    page = visit(shown.page.server.url)
    shown.page.server.close()
    page.wait_for_selector("#lost:not([hidden])")
    assert "hardware stop" in page.locator("#lost").inner_text()
    assert page.locator("#gate-state").text_content() == "no data"
    page.click("#estop")
    holds(page, "document.getElementById('strip').textContent.includes('NOT STOPPED')")
    shoot(page, "lost")


def test_hostile_names_are_shown_as_text(shown, visit):
    shown.world = lg.World(
        primitives=[
            lg.WorldCollisionPrimitive(
                shape=lg.SphereShape(radius_m=0.1), pose=lg.Pose6D(xyz=(0.5, 0.3, 0.5)), object_id=HOSTILE
            )
        ],
        points=np.random.default_rng(1).uniform(-1.0, 1.0, (500, 3)) + np.array([0.0, 0.0, 3.0]),
        stamp_s=1.0,
        world_id=HOSTILE,
    )
    shown.store.event_log.add(
        time_s=time.time(), source="span", code=HOSTILE, sentence=HOSTILE, rskill_id=HOSTILE, evidence=HOSTILE
    )
    shown.check(START + 0.05)
    shown.store.note_status(
        GateStatus(state="latched", name=HOSTILE, source=HOSTILE, reason=HOSTILE, held=((HOSTILE, HOSTILE),))
    )
    page = visit(shown.page.server.url)
    holds(page, "document.querySelectorAll('#labels span').length === 1")
    assert page.locator("#labels span").text_content() == HOSTILE
    assert page.locator("#ledger .sentence").text_content() == HOSTILE
    page.click("#ledger li button")
    assert page.locator("#entry-title").text_content().startswith(HOSTILE)
    page.click("#entry-close")
    page.wait_for_selector("#cloud-image:not([hidden])")
    shoot(page, "hostile-names")
    allowed = {"entry-picture", "cloud-image", "map-image"}
    assert set(page.evaluate("[...document.images].map((image) => image.id)")) == allowed
    assert page.evaluate("window.hacked") is None


def test_cloud_cells_and_map_are_drawn_in_the_view_and_on_their_cards(shown, visit):
    random = np.random.default_rng(3)
    voxel_array = np.zeros((8, 30, 30), np.uint8)
    voxel_array[0] = 1
    voxel_array[:, :3, :] = 1
    voxel_array[7, 20:, 20:] = 255
    blocked = np.zeros((60, 90), int)
    blocked[[0, -1]] = blocked[:, [0, -1]] = 100
    blocked[20:30, 40:60] = 100
    placed = StampedTransform(
        child_in_parent=np.column_stack([np.eye(3), [-1.0, -2.0, 0.0]]),  # the base at 1, 2 on the map
        child_frame="map",
        parent_frame="",
        stamp_s=1.0,
    )
    grid = lg.OccupancyGridIndex(blocked, 0.05, (0.0, 0.0), stamp_s=1.0)
    shown.world = lg.World(
        points=random.uniform((-0.6, -0.9, 0.2), (-0.4, 0.9, 0.9), (3000, 3)),
        voxels=lg.Voxels(
            occupancy=voxel_array,
            origin_xyz=(0.5, -0.8, -0.3),
            resolution_m=0.05,
            stamp_s=1.0,
            unknown="free",
        ),
        floor_map=lg.FloorMap(grid=grid, map_in_base=placed, height_m=(-0.1, 1.0), age_s_max=10.0),
        stamp_s=1.0,
    )
    shown.check(START + 0.05)
    page = visit(shown.page.server.url, scheme="light")
    page.wait_for_selector("#cloud-image:not([hidden])")
    page.wait_for_selector("#map-robot:not([hidden])")
    assert page.locator("#cloud-facts").text_content() == "points 3000 · cells 1530 · unknown 100"
    assert "90 x 60" in page.locator("#map-facts").text_content()
    assert page.evaluate("document.getElementById('map-image').naturalWidth") == 90
    mark, image = page.locator("#map-robot").bounding_box(), page.locator("#map-image").bounding_box()
    scale = min(image["width"] / 90, image["height"] / 60)
    # The robot stands at column 20 of 90 and row 40 of 60, which is 20 from the top.
    left = image["x"] + (image["width"] - 90 * scale) / 2
    top = image["y"] + (image["height"] - 60 * scale) / 2
    assert mark["x"] + mark["width"] / 2 == pytest.approx(left + 20 * scale, abs=2.0)
    assert mark["y"] + mark["height"] / 2 == pytest.approx(top + 20 * scale, abs=2.0)
    shoot(page, "cloud-and-map")


def test_stale_data_is_marked_and_fresh_data_is_not(shown, visit):
    page = visit(shown.page.server.url)
    page.wait_for_selector("#ages tr[data-name=state][data-stale=true]")
    assert "stale" in page.locator("#ages tr[data-name=state]").inner_text()
    assert "never" in page.locator("#ages tr[data-name=voxels]").inner_text()

    def is_fresh():
        shown.show_state()
        return page.locator("#ages tr[data-name=state][data-stale=false]").count()

    until(is_fresh)


def test_tablet_shows_everything_and_the_stop_stays_in_view(shown, visit):
    for index in range(12):
        shown.check(START + 0.03 * index)
    shown.check(START + 5.0)
    page = visit(shown.page.server.url, size=TABLET, scheme="light")
    holds(page, ALL_VOLUMES)
    holds(page, "document.getElementById('percentiles').textContent.includes('p99')")
    shoot(page, "tablet-top")
    page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
    box = page.locator("#estop").bounding_box()
    assert 0 <= box["y"] < 80
    assert box["x"] + box["width"] <= TABLET["width"]
    assert page.evaluate("document.documentElement.scrollWidth") <= TABLET["width"]
    shoot(page, "tablet-bottom")


def overlap(page: Any, one: str, other: str) -> bool:
    first, second = (page.locator(name).bounding_box() for name in (one, other))
    return all(
        first[at] < second[at] + second[size] and second[at] < first[at] + first[size]
        for at, size in (("x", "width"), ("y", "height"))
    )


def test_phone_shows_the_stop_how_it_stands_and_the_verdict_without_one_covering_another(shown, visit):
    shown.check(START + np.array([0.0, 1.1, 0.0, 0.6, 0.0, 0.0, 0.0]), rows=40)
    page = visit(shown.page.server.url, size=PHONE, scheme="light")
    page.wait_for_selector("#verdict[data-verdict=rejected]")
    shoot(page, "phone")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert not overlap(page, "#verdict", ".view-tools")
    for other in ("#gate-state", "#reset", "#estop"):
        assert not overlap(page, ".brand b", other)
    assert page.locator("#estop").bounding_box()["x"] < PHONE["width"] - 80


def test_view_without_a_robot_says_what_it_waits_for(visit, serve):
    bare = LiveStore(source="demo")
    bare.note_status(GateStatus(state="active"))
    page = visit(serve(bare).server.url)
    assert page.locator("#verdict span").text_content() == "the robot is drawn once its joints are measured"


def test_desk_needs_no_scrolling_and_the_theme_can_be_chosen(shown, visit):
    page = visit(shown.page.server.url)
    assert page.evaluate("document.documentElement.scrollHeight") <= DESK["height"]
    assert page.evaluate("document.documentElement.scrollWidth") <= DESK["width"]
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.click("#theme")
    page.click("#theme")
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert dark != light
    page.reload()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == light


def test_still_robot_is_not_drawn_again_and_a_moving_one_is(shown, visit):
    shown.check(START + 0.05)
    page = visit(shown.page.server.url)
    holds(page, ALL_VOLUMES)

    def drawn() -> int:
        return page.evaluate("Number(document.getElementById('scene').dataset.drawn)")

    def stays() -> bool:
        before = drawn()
        page.wait_for_timeout(1500)
        return drawn() == before

    until(stays)
    at_rest = drawn()
    shown.store.note_state(START + 0.02, FINGERS[: len(shown.gate.gripper_joint_names)])
    until(lambda: drawn() > at_rest)


def test_view_comes_back_after_the_graphics_were_lost(shown, visit):
    page = visit(shown.page.server.url)
    holds(page, ALL_VOLUMES)
    page.evaluate(
        "window.loss = document.getElementById('scene').getContext('webgl2').getExtension('WEBGL_lose_context')"
    )
    page.evaluate("window.loss.loseContext()")
    page.wait_for_selector("#view-note:not([hidden])")
    assert "was lost" in page.locator("#view-note").inner_text()
    page.evaluate("window.loss.restoreContext()")
    page.wait_for_selector("#view-note", state="hidden")
    until(lambda: share_of(shoot(page, "graphics-restored"), bluish) > 0.03)


def test_name_of_the_tab_says_when_the_gate_is_latched_or_unheard(shown, visit):
    page = visit(shown.page.server.url)
    until(lambda: page.title() == "lastgate")
    shown.control.estop("smoke")
    shown.show_state()
    until(lambda: page.title() == "LATCHED · lastgate")
    shown.page.server.close()
    until(lambda: page.title() == "NO DATA · lastgate")


def test_files_of_the_page_name_nothing_from_elsewhere():
    folder = Path(__file__).parents[4] / "src" / "lastgate" / "tools" / "dashboard" / "page"
    files = sorted(folder.iterdir())
    assert len(files) >= 10
    for file in files:
        text = file.read_text()
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|//cdn|@import", text), file.name
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(", text), (
            file.name
        )
        if file.suffix in (".js", ".css", ".html"):
            assert "SPDX-License-Identifier: Apache-2.0" in "".join(text.splitlines(keepends=True)[:3])
