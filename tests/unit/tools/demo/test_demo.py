# SPDX-License-Identifier: Apache-2.0
"""The demo: with the gate nothing touches, without it the same policy hits things.

Compared: the policy's own labels with the gate's verdicts, and MuJoCo's contacts, which come from the
meshes, with what was let through. Reference: MuJoCo. Not trusted: nothing of the gate's own geometry.
"""

import base64
import html
import json
import re
import time
import urllib.request
from pathlib import Path

import numpy as np
import pytest

from lastgate.contracts import ROSConfigError
from lastgate.robots import load_robot
from lastgate.tools.cli.app import run
from lastgate.tools.demo.live_page import LivePage
from lastgate.tools.demo.panda_scene import PandaScene, table_world
from lastgate.tools.demo.policy import POSES, TOUR, Fault, Policy
from lastgate.tools.demo.report import render_page
from lastgate.tools.demo.run import Simulation, is_clean, summarize
from lastgate.tools.telemetry.recording_reader import read_recording
from lastgate.tools.telemetry.replay import replay

SECONDS = 5.0
# Long enough for the tour to reach every stop at which collisions are planted.
WHOLE_TOUR_S = 24.0


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reports")
    assert run(["demo", "--headless", "--seconds", str(SECONDS), "--report", str(folder)]) == 0
    return folder


@pytest.fixture(scope="module")
def summary(written: Path) -> dict:
    return json.loads((written / "demo.json").read_text())["summary"]


@pytest.fixture(scope="module")
def whole_tour() -> dict:
    return summarize(Simulation(seed=2).run(WHOLE_TOUR_S))


@pytest.fixture(scope="module")
def without_the_gate() -> dict:
    return summarize(Simulation(seed=2, gated=False).run(WHOLE_TOUR_S))


def test_five_seconds_are_simulated_and_chunks_are_streamed(summary):
    assert summary["simulated_s"] == pytest.approx(SECONDS, abs=0.02)
    assert summary["good"] >= 10
    assert summary["joint_travel_rad"] > 1.0, "an arm that stands still proves nothing"


def test_every_planted_chunk_is_rejected_and_no_good_one(summary):
    assert summary["planted"] >= 4
    assert summary["planted_refused"] == summary["planted"]
    assert summary["good_refused"] == 0
    assert summary["accepted"] == summary["good"]


def test_mujoco_sees_no_contact_with_the_gate(summary):
    assert (summary["contacts_robot_world"], summary["contacts_robot_robot"], summary["contact_steps"]) == (
        0,
        0,
        0,
    )


def test_whole_tour_plants_every_kind_and_each_is_rejected(whole_tour):
    for kind, counts in whole_tour["planted_by_kind"].items():
        assert counts["proposed"] >= 1, f"{kind} was never planted"
        assert counts["refused"] == counts["proposed"], f"{kind} got through"
    assert is_clean(whole_tour)


def test_planted_collisions_are_rejected_as_collisions(whole_tour):
    kinds = whole_tour["planted_by_kind"]
    assert set(kinds["self_collision"]["reasons"]) == {"self_collision"}
    assert set(kinds["into_obstacle"]["reasons"]) == {"world_collision"}
    assert set(kinds["between_rows"]["reasons"]) == {"world_collision"}


def test_every_planted_collision_touches_in_mujoco(whole_tour):
    assert whole_tour["planted_collisions"] >= 5
    assert whole_tour["planted_collisions_that_touch_in_mujoco"] == whole_tour["planted_collisions"]


def test_same_policy_without_the_gate_hits_the_world_and_itself(without_the_gate):
    assert without_the_gate["contacts_robot_world"] > 0
    assert without_the_gate["contacts_robot_robot"] > 0
    assert not is_clean(without_the_gate)


def test_two_runs_of_one_seed_decide_the_same_and_another_seed_differs():
    def decisions(seed: int) -> list[tuple[str, str, float | None]]:
        record = Simulation(seed=seed).run(2.0)
        return [(str(d.fault), d.code, d.clearance_m) for d in record.decisions]

    assert decisions(3) == decisions(3)
    assert decisions(3) != decisions(4)


@pytest.fixture(scope="module")
def scene() -> PandaScene:
    return PandaScene(load_robot("franka_panda"), table_world())


def test_chunk_between_steps_is_free_at_every_step_and_touches_between_two(scene):
    policy = Policy(scene, seed=1)
    start = np.array(POSES["antenna"])
    rows = policy._plant(Fault.BETWEEN_ROWS, start).rows
    assert not any(scene.contacts_at(row) for row in rows)
    assert scene.contacts_along(start, rows, samples_per_row=16).robot_world


def test_poses_of_the_tour_are_free_and_the_middle_of_the_table_is_not(scene):
    for stop in TOUR:
        assert not scene.contacts_at(np.array(POSES[stop])), stop
    assert scene.contacts_at(np.array([0.0, 1.2, 0.0, -1.0, 0.0, 2.2, 0.785])).robot_world


def test_mujoco_and_the_gate_are_given_the_same_obstacles(scene):
    names = {scene.model.geom(index).name for index in range(scene.model.ngeom)} - {""}
    assert names == {obstacle.object_id for obstacle in table_world()}


def test_page_needs_nothing_from_elsewhere_and_says_the_numbers(written, summary):
    page = (written / "demo.html").read_text()
    assert not re.search(r"(src|href)\s*=(?!\"data:image/png;base64,)|https?://|<script", page)
    assert f"{summary['planted_refused']} of {summary['planted']} planted chunks were rejected" in page
    assert "None, in any simulation step." in page


def test_page_shows_a_report_of_every_kind_of_rejection_and_both_error_counts(written, summary):
    page = (written / "demo.html").read_text()
    pictures = re.findall(r'<img alt="([^"]+)" src="data:image/png;base64,([^"]+)"', page)
    refused = {d["code"] for d in json.loads((written / "demo.json").read_text())["decisions"]} - {""}
    assert {html.unescape(sentence).partition(":")[0] for sentence, _ in pictures} == refused
    assert all(base64.b64decode(encoded).startswith(b"\x89PNG") for _, encoded in pictures)
    assert f"<b>0 of {summary['planted']}</b>missed" in page
    assert f"<b>0 of {summary['good']}</b>false rejections" in page


def test_demo_records_itself_and_the_recording_comes_out_the_same(written, summary):
    recording = read_recording(written / "demo.mcap")
    assert len(recording.checks) == summary["chunks"]
    assert replay(recording).same == summary["chunks"]


def test_page_of_a_run_with_contacts_lists_them():
    simulation = Simulation(seed=1, gated=False)
    simulation.record.robot_world["panda_hand / <table>"] = 1.5
    page = render_page(simulation.record)
    assert "panda_hand / &lt;table&gt;" in page
    assert 'class="bad"' in page


def ask(url: str, **options) -> dict:
    with urllib.request.urlopen(urllib.request.Request(url, **options), timeout=5) as answer:
        return json.load(answer)


def test_live_page_shows_the_run_and_changes_no_verdict(tmp_path):
    simulation = Simulation(seed=1)
    page = LivePage(simulation, port=0, folder=tmp_path)
    try:
        simulation.run(2.0)
        decisions = simulation.record.decisions
        counts = ask(f"{page.url}api/status")["counts"]
        assert counts["accepted"] == sum(d.accepted for d in decisions)
        assert counts["rejected"] == sum(not d.accepted for d in decisions)
        listed = [(e["code"], e["sentence"]) for e in ask(f"{page.url}api/ledger")["entries"]]
        assert listed == [(d.code, d.sentence) for d in decisions if not d.accepted]
        with pytest.raises(ROSConfigError, match="cannot serve the page on port"):
            LivePage(simulation, port=int(page.url.rsplit(":", 1)[1].rstrip("/")), folder=tmp_path / "other")
    finally:
        page.close()
    alone = Simulation(seed=1).run(2.0)
    assert [(d.code, d.clearance_m) for d in alone.decisions] == [(d.code, d.clearance_m) for d in decisions]


def test_stop_of_the_live_page_holds_the_arm_until_it_is_reset(tmp_path):
    simulation = Simulation(seed=1)
    page = LivePage(simulation, port=0, folder=tmp_path)
    try:
        assert ask(f"{page.url}api/estop", method="POST")["success"]
        held = simulation.run(1.0)
        assert held.decisions == []
        assert held.simulated_s == pytest.approx(1.0, abs=0.03)
        assert held.joint_travel_rad < 0.01
        assert [entry["code"] for entry in ask(f"{page.url}api/ledger")["entries"]] == ["stop"]
        time.sleep(0.5)
        token = {"Authorization": f"Bearer {page.token.text}"}
        assert ask(f"{page.url}api/reset", method="POST", headers=token)["success"]
        assert simulation.run(2.0).decisions
    finally:
        page.close()


@pytest.mark.parametrize(
    "option", [("--seconds", "0"), ("--seconds", "nan"), ("--seed", "-1"), ("--port", "70000")]
)
def test_demo_that_cannot_run_exits_with_2_and_writes_nothing(option, tmp_path, capsys):
    assert run(["demo", "--headless", "--report", str(tmp_path / "r"), *option]) == 2
    assert capsys.readouterr().err.startswith("error: ")
    assert not list(tmp_path.iterdir())


def test_demo_whose_report_cannot_be_written_says_so(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert run(["demo", "--headless", "--seconds", "0.1", "--report", str(tmp_path / "file")]) == 2
    assert "cannot write the report" in capsys.readouterr().err


def test_demo_without_a_display_says_so_and_runs_headless(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    assert run(["demo", "--seconds", "0.2", "--report", str(tmp_path)]) == 0
    assert "note: there is no display, so no window is opened; running headless" in capsys.readouterr().err


def test_demo_exits_with_1_when_the_gate_lets_something_through(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("lastgate.tools.demo.run.is_clean", lambda summary: False)
    assert run(["demo", "--headless", "--seconds", "0.1", "--report", str(tmp_path)]) == 1
    assert "the gate did not do its job here" in capsys.readouterr().err
