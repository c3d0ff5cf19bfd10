# SPDX-License-Identifier: Apache-2.0
"""The still view: robot and world before anything runs, and a chunk where it was rejected, as one file."""

import http.client
import json
import os
import re
from base64 import b64decode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trimesh
from fixtures.patience import until
from PIL import Image

import lastgate as lg
from lastgate.robots import find_manifest
from lastgate.tools.dashboard.link_meshes import link_meshes, packed
from lastgate.tools.dashboard.one_file import bundled, one_file
from lastgate.tools.dashboard.still_scene import StillScene, middle_of_ranges
from lastgate.tools.dashboard.still_server import FollowedScene, StillServer
from lastgate.tools.demo.panda_scene import table_world

SHOTS = Path(__file__).parents[4] / "reports" / "view"
START = np.array([0.0, -0.6, 0.0, -2.2, 0.0, 1.7, 0.785])
INTO_THE_TABLE = START + np.array([0.0, 1.1, 0.0, 0.6, 0.0, 0.0, 0.0])
HOSTILE = '</script><img src=x onerror="window.hacked=1">'
DESK, PHONE = (1280, 800), (390, 844)


@pytest.fixture(scope="module")
def panda() -> StillScene:
    gate = lg.Gate(lg.load_robot("franka_panda"), step_s=0.02)
    return StillScene(gate, manifest_dir=find_manifest("franka_panda").parent)


@pytest.fixture(scope="module")
def rejected(panda: StillScene) -> dict[str, Any]:
    chunk = lg.ActionChunk(np.linspace(START, INTO_THE_TABLE, 40))
    state = lg.RobotState(positions=START, stamp_s=1.0)
    world = lg.World(primitives=table_world(), stamp_s=1.0)
    verdict = panda.gate.check(chunk, state=state, world=world, now_s=1.0)
    assert not verdict.accepted
    return panda.checked(verdict, chunk=chunk, state=state, world=world)


def standing(scene: StillScene, *, name: str = "crate", x: float = 0.9) -> dict[str, Any]:
    box = lg.WorldCollisionPrimitive(
        shape=lg.BoxShape(size_xyz_m=(0.2, 0.2, 0.2)), pose=lg.Pose6D(xyz=(x, 0.0, 0.1)), object_id=name
    )
    state = lg.RobotState(positions=START, stamp_s=1.0)
    return scene.standing(state, lg.World(primitives=[box], stamp_s=1.0), now_s=1.0)


# ---- What is shown -------------------------------------------------------------------------------------


def test_robot_that_may_stand_there_is_accepted_and_one_inside_a_crate_is_not(panda):
    assert standing(panda)["verdict"]["accepted"]
    shown = standing(panda, x=0.0)
    assert not shown["verdict"]["accepted"]
    assert shown["verdict"]["code"] == "world_collision"
    assert "crate" in shown["verdict"]["sentence"]
    assert shown["candidate"]["blamed"]


def test_volumes_stand_where_the_gate_has_them(panda):
    shown = standing(panda)
    frames = panda.gate.link_poses(START)
    for index, link in enumerate(panda.gate.link_names):
        pose = np.array(shown["link_poses"][index * 12 : index * 12 + 12]).reshape(3, 4)
        np.testing.assert_allclose(pose, frames[link], atol=1e-4)
    assert len(shown["volumes"]) == 6 * len(panda.gate.robot.collision_geometry)


def test_rejected_chunk_brings_every_step_and_the_evidence_of_its_verdict(rejected):
    assert rejected["steps"]["numbers"] == list(range(-1, 40))
    assert rejected["evidence"]["collision_kind"] == "world"
    assert rejected["evidence"]["horizon_step"] == rejected["candidate"]["step"]
    assert rejected["candidate"]["ghost"] == rejected["volumes"]


def test_zones_and_workspace_box_are_shown_in_the_base_frame():
    robot = lg.load_robot("franka_panda")
    zone = {
        "name": "cabinet",
        "shape": {"shape": "sphere", "radius_m": 0.2},
        "pose": {"xyz": [1.5, 0.0, 0.5]},
    }
    document = robot.model_dump(mode="json")
    document["safety"]["no_go_zones"] = [zone]
    zoned = lg.RobotDescription(**document)
    gate = lg.Gate(zoned, step_s=0.02)
    shown = StillScene(gate, manifest_dir=None).standing(
        lg.RobotState(positions=START, stamp_s=1.0), lg.NO_WORLD, now_s=1.0
    )
    roles = {found["label"]: found["role"] for found in shown["zones"]}
    assert roles["cabinet"] == "keep_out"
    assert roles["workspace of the tool"] == "workspace"


def test_no_world_is_said_not_left_to_be_guessed(panda):
    shown = panda.standing(lg.RobotState(positions=START, stamp_s=1.0), lg.NO_WORLD, now_s=1.0)
    assert any("not checked" in note for note in shown["notes"])
    assert not any("no world" in note for note in standing(panda)["notes"])


def test_middle_of_ranges_is_inside_every_range(panda):
    middle = middle_of_ranges(panda.gate)
    limits = {joint.name: joint.position_limits for joint in panda.gate.robot.joints}
    for name, position in zip(panda.gate.joint_names, middle, strict=True):
        low, high = limits[name]
        assert low < position < high


# ---- Meshes --------------------------------------------------------------------------------------------


def test_mesh_of_a_browser_keeps_the_extent_of_the_file():
    sphere = trimesh.creation.icosphere(subdivisions=6, radius=0.1)
    assert len(sphere.faces) > 80_000
    mesh = packed(np.asarray(sphere.triangles))
    vertices = np.frombuffer(b64decode(mesh["vertices"]), "<f4").reshape(-1, 3)
    triangles = np.frombuffer(b64decode(mesh["triangles"]), "<u2").reshape(-1, 3)
    assert triangles.max() < len(vertices)
    assert len(triangles) <= 6000
    np.testing.assert_allclose(np.ptp(vertices, axis=0), 0.2, atol=0.01)
    np.testing.assert_allclose(np.linalg.norm(vertices, axis=1), 0.1, atol=0.005)


def test_robot_without_its_files_is_shown_without_meshes_and_says_why(tmp_path):
    robot = lg.load_robot("franka_panda")
    lost = robot.model_copy(update={"assets": robot.assets.model_copy(update={"urdf": None, "mjcf": None})})
    meshes, note = link_meshes(lost, tmp_path, ["panda_link0"])
    assert meshes == []
    assert note is not None
    found, _ = link_meshes(robot, find_manifest("franka_panda").parent, ["panda_link0", "panda_link1"])
    assert [mesh["link"] for mesh in found] == [0, 1]


# ---- One file ------------------------------------------------------------------------------------------


def test_page_is_one_file_and_names_of_obstacles_cannot_end_its_script(panda):
    page = one_file(standing(panda, name=HOSTILE), title=HOSTILE)
    assert page.count("</script>") == 2
    assert "<img" not in page.split("<script", 1)[1]
    assert not re.search(r'(src|href)="', page)


def test_module_that_cannot_be_bundled_is_refused(tmp_path, monkeypatch):
    folder = tmp_path / "page"
    folder.mkdir()
    (folder / "a.js").write_text('import { b } from "./b.js";\nexport const a = b;\n')
    (folder / "b.js").write_text("export const b = 1;\n")
    monkeypatch.setattr("lastgate.tools.dashboard.one_file.files", lambda _: tmp_path)
    assert "const { b } = module_b;" in bundled("a")
    (folder / "b.js").write_text('import { a } from "./a.js";\nexport const b = a;\n')
    with pytest.raises(lg.ROSConfigError, match="imports itself"):
        bundled("a")
    (folder / "b.js").write_text("export default 1;\n")
    with pytest.raises(lg.ROSConfigError, match="cannot be bundled"):
        bundled("a")


# ---- A server that follows files -----------------------------------------------------------------------


@pytest.fixture
def followed(tmp_path: Path) -> Iterator[tuple[Path, FollowedScene, StillServer]]:
    file = tmp_path / "scene.txt"
    file.write_text("1")

    def make() -> dict[str, Any]:
        if "broken" in file.read_text():
            raise lg.ROSConfigError("the file is broken")
        return {"title": file.read_text()}

    scene = FollowedScene(make, [file])
    server = StillServer(scene, port=0)
    yield file, scene, server
    server.close()


def save(path: Path, text: str) -> None:
    """Writes a file so that its time is another one, however coarse the clock of the disk is."""
    before = path.stat().st_mtime_ns
    path.write_text(text)
    os.utime(path, ns=(before + 10_000_000, before + 10_000_000))


def ask(server: StillServer, path: str, **headers: str) -> tuple[int, bytes]:
    port = int(server.url.rsplit(":", 1)[1].strip("/"))
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request(
            "GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()}
        )
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def test_saved_file_is_shown_and_an_unchanged_one_is_not_sent_again(followed):
    file, _, server = followed
    assert ask(server, "/scene.json?have=0") == (204, b"")
    save(file, "2")
    status, body = ask(server, "/scene.json?have=0")
    assert (status, json.loads(body)) == (200, {"title": "2", "version": 1})
    assert ask(server, "/scene.json?have=1")[0] == 204


def test_file_that_cannot_be_read_is_said_and_what_was_shown_stays(followed):
    file, scene, server = followed
    save(file, "broken")
    assert json.loads(ask(server, "/scene.json?have=0")[1]) == {"version": 1, "problem": "the file is broken"}
    assert scene.whole() == {"title": "1", "version": 1}
    save(file, "3")
    assert json.loads(ask(server, "/scene.json?have=1")[1]) == {"title": "3", "version": 2}


def test_other_pages_and_other_names_of_this_machine_get_nothing(followed):
    server = followed[2]
    assert ask(server, "/", Host="evil.example")[0] == 403
    assert ask(server, "/scene.json", Origin="http://evil.example")[0] == 403
    assert ask(server, "/scene.json", Sec_Fetch_Site="cross-site")[0] == 403
    assert ask(server, "/../../etc/passwd")[0] == 404


def test_port_that_is_taken_is_refused(followed):
    _, scene, server = followed
    with pytest.raises(lg.ROSConfigError, match="cannot listen"):
        StillServer(scene, port=int(server.url.rsplit(":", 1)[1].strip("/")))


# ---- In a browser --------------------------------------------------------------------------------------


@pytest.fixture
def visit(browser) -> Iterator[Callable[..., Any]]:
    opened: list[Any] = []
    troubles: list[str] = []

    def go(url: str, *, size: tuple[int, int] = DESK, scheme: str = "dark") -> Any:
        context = browser.new_context(
            viewport={"width": size[0], "height": size[1]}, color_scheme=scheme, bypass_csp=False
        )
        page = context.new_page()
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("console", lambda said: troubles.append(said.text) if said.type == "error" else None)
        page.on("request", lambda asked: None if asked.url.startswith(url) else troubles.append(asked.url))
        page.goto(url)
        until(lambda: page.evaluate("Number(document.getElementById('scene').dataset.drawn) > 0"))
        opened.append(context)
        return page

    yield go
    for context in opened:
        context.close()
    # Nothing asked of a network, nothing against the page's policy, no error.
    assert troubles == []


def shoot(page: Any, name: str) -> np.ndarray:
    SHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SHOTS / f"{name}.png")
    with Image.open(SHOTS / f"{name}.png") as whole:
        return np.asarray(whole.convert("RGB"), dtype=np.int32)


def written(tmp_path: Path, scene: dict[str, Any]) -> str:
    (tmp_path / "view.html").write_text(one_file(scene, title="view"), encoding="utf-8")
    return (tmp_path / "view.html").as_uri()


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_one_file_shows_the_rejected_chunk_without_a_server(rejected, visit, tmp_path, size, scheme):
    page = visit(written(tmp_path, rejected), size=size, scheme=scheme)
    assert page.locator("#verdict h1").text_content() == "40 steps: rejected, world_collision"
    assert rejected["verdict"]["sentence"] in page.locator("#verdict").inner_text()
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
    assert page.evaluate("document.getElementById('step-name').textContent").startswith("rejected at step")
    before = shoot(page, f"rejected-{size[0]}-{scheme}")
    page.locator("#step").fill("0")
    assert page.locator("#step-name").text_content() == "measured state"
    until(lambda: np.abs(shoot(page, "measured") - before).max() > 60)


def test_layers_can_be_hidden_and_empty_panels_are_not_there(panda, visit, tmp_path):
    page = visit(written(tmp_path, standing(panda)))
    whole = shoot(page, "standing")
    assert not page.locator("#evidence").is_visible()
    assert not page.locator("#play").is_visible()
    assert page.locator("#joints tr").count() == 7
    page.click("#toggle-meshes")
    until(lambda: np.abs(shoot(page, "volumes-only") - whole).max() > 60)
    page.click("#toggle-volumes")
    until(lambda: page.locator("#toggle-volumes").get_attribute("aria-pressed") == "false")


def test_camera_shows_all_of_robot_and_obstacle_on_every_screen(panda, visit, tmp_path):
    for size in (DESK, PHONE):
        page = visit(written(tmp_path, standing(panda, x=1.3)), size=size)
        # A label stands where its obstacle is; one beside the screen is hidden.
        until(lambda page=page: page.locator("#labels span:visible").count() == 1)


def test_world_that_is_saved_again_is_shown_and_a_broken_one_is_said(panda, visit, tmp_path):
    file = tmp_path / "x.txt"
    file.write_text("0.9")

    def make() -> dict[str, Any]:
        text = file.read_text()
        if text == "broken":
            raise lg.ROSConfigError("x.txt: not a number")
        return standing(panda, x=float(text))

    server = StillServer(FollowedScene(make, [file]), port=0)
    try:
        page = visit(server.url)
        assert page.locator("#verdict").get_attribute("data-verdict") == "accepted"
        save(file, "0.0")
        page.wait_for_selector("#verdict[data-verdict=rejected]")
        save(file, "broken")
        page.wait_for_selector("#problem:not([hidden])")
        assert page.locator("#problem p").text_content() == "x.txt: not a number"
        save(file, "0.9")
        page.wait_for_selector("#verdict[data-verdict=accepted]")
        assert not page.locator("#problem").is_visible()
        # Before its server ends: a browser logs every request that is not answered.
        page.close()
    finally:
        server.close()


def test_hostile_name_is_shown_as_text(panda, visit, tmp_path):
    page = visit(written(tmp_path, standing(panda, name=HOSTILE)))
    assert page.locator("#labels span").text_content() == HOSTILE
    assert HOSTILE in page.locator("#world").inner_text()
    assert page.evaluate("window.hacked") is None


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_axe_finds_nothing_serious(rejected, panda, browser, tmp_path, size, scheme):
    from axe_playwright_python.sync_playwright import Axe

    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]}, color_scheme=scheme, bypass_csp=True
    )
    try:
        for scene in (rejected, standing(panda)):
            page = context.new_page()
            page.goto(written(tmp_path, scene))
            found = Axe().run(page).response["violations"]
            assert [one["id"] for one in found if one["impact"] in ("serious", "critical")] == []
            # The tool itself works: it finds a button without a name.
            page.evaluate("document.body.append(document.createElement('button'))")
            assert "button-name" in [one["id"] for one in Axe().run(page).response["violations"]]
    finally:
        context.close()
