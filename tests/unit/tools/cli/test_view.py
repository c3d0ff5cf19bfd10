# SPDX-License-Identifier: Apache-2.0
"""`lastgate view`: what it writes, prints and refuses; tests of the page are beside the page."""

import json
import re
import signal
import subprocess
import sys
import urllib.request

import pytest


def test_one_file_is_written_and_nothing_is_served(lastgate, tmp_path, planar_arm, pole):
    target = tmp_path / "view.html"
    done = lastgate("view", "--robot", planar_arm, "--world", pole, "-o", target)
    assert (done.code, done.out) == (0, "")
    assert "pole" in target.read_text(encoding="utf-8")
    refused = lastgate("view", "--robot", planar_arm, "-o", tmp_path / "missing" / "view.html")
    assert refused.code == 2
    assert "cannot write" in refused.err


def test_json_has_the_verdict_about_standing_there(lastgate, tmp_path, planar_arm, pole):
    done = lastgate("view", "--robot", planar_arm, "--world", pole, "--json")
    assert done.code == 0
    shown = json.loads(done.out)
    assert shown["verdict"]["accepted"]
    state = tmp_path / "state.json"
    state.write_text('{"positions": [0.35, 0.0]}')
    shown = json.loads(
        lastgate("view", "--robot", planar_arm, "--world", pole, "--state", state, "--json").out
    )
    assert shown["verdict"]["code"] == "world_collision"
    assert [joint["position"] for joint in shown["joints"]] == [0.35, 0.0]


@pytest.mark.parametrize("option", ["--world", "--state"])
def test_file_that_is_not_there_is_refused(lastgate, planar_arm, option):
    done = lastgate("view", "--robot", planar_arm, option, "missing.json", "--json")
    assert done.code == 2
    assert "missing.json" in done.err


def test_checked_chunk_is_written_as_a_view(lastgate, tmp_path, planar_arm, pole):
    chunk = tmp_path / "chunk.csv"
    chunk.write_text("0.1,0.0\n0.12,0.0\n")
    target = tmp_path / "checked.html"
    arguments = ("check", chunk, "--robot", planar_arm, "--world", pole, "--html", target)
    assert lastgate(*arguments).code == 0
    assert '"subject":"2 steps"' in target.read_text(encoding="utf-8")


def test_server_prints_its_address_answers_and_ends_when_it_is_told(planar_arm):
    command = [sys.executable, "-m", "lastgate.tools.cli", "view", "--robot", str(planar_arm)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        try:
            url = running.stdout.readline().strip()
            assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", url)
            with urllib.request.urlopen(url, timeout=20) as answer:
                assert b"planar_arm" in answer.read()
        finally:
            running.send_signal(signal.SIGINT)
        assert running.wait(20) == 0
