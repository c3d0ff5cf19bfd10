# SPDX-License-Identifier: Apache-2.0
"""An audit finds every planted fault and invents none, however many workers there are and whatever the files are."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fixtures.recorded_datasets import (
    EPISODES,
    FAULTS,
    FPS,
    as_bags,
    as_hdf5,
    as_lerobot_v2,
    as_npz,
    episodes_of,
    job_for,
    serve_and_die_once,
)
from rosbags.rosbag2 import StoragePlugin

from lastgate.contracts import ROSConfigError
from lastgate.robots import load_robot
from lastgate.tools.audit import job as audit_job
from lastgate.tools.audit import limited_process, runners
from lastgate.tools.audit.dataset_options import DatasetOptions
from lastgate.tools.audit.datasets import open_dataset
from lastgate.tools.audit.examine import ExamineOptions
from lastgate.tools.audit.fault_labels import read_labels, score_findings
from lastgate.tools.audit.job import AuditJob, OpenAudit
from lastgate.tools.audit.run import run_audit
from lastgate.tools.audit.synth.dataset import WORLD_FILE, write_dataset
from lastgate.tools.cli.app import run

BAG_EPISODES = 6  # writing bags row by row takes its time
FILES = ("report.html", "findings.parquet", "episodes.parquet")


@pytest.fixture
def small_parts(monkeypatch):
    """Cuts an audit of twenty episodes into five parts."""
    monkeypatch.setattr(audit_job, "EPISODES_PER_PART", 4)
    audit_job.opened.cache_clear()
    yield
    audit_job.opened.cache_clear()


@pytest.fixture
def copy_of_small(small, tmp_path) -> Path:
    return Path(shutil.copytree(small, tmp_path / "copy"))


def test_every_planted_fault_is_found_and_none_is_invented(small, tmp_path, capsys):
    command = ["audit", str(small), "--robot", "franka_panda", "--world", str(small / "world.json")]
    assert run([*command, "--workers", "1", "--worst", "1", "-o", str(tmp_path), "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert (document["score"]["found"], document["score"]["invented"]) == (FAULTS, 0)
    assert len(document["findings"]) == FAULTS
    assert document["clean"] == EPISODES - FAULTS
    assert pq.read_table(tmp_path / "findings.parquet").num_rows == FAULTS
    assert pq.read_table(tmp_path / "episodes.parquet").num_rows == EPISODES
    page = (tmp_path / "report.html").read_text()
    assert page.count("data:image/png;base64,") == 5  # every rule but the stale state, which is no picture
    assert "12 findings in 12 episodes" in page
    # Each picture is of the row that is told of above it.
    shown = {_without_place(title.partition(": ")[2]) for title in re.findall(r'alt="([^"]*)"', page)}
    assert len(shown) == 5
    assert shown <= {_without_place(finding["sentence"]) for finding in document["findings"]}


def _without_place(sentence: str) -> str:
    return re.sub(r"(row|step|element) \d+", "there", sentence)


@pytest.mark.parametrize("robot", ["ur5", "so101_follower"])
def test_planted_faults_of_other_robots_are_found_and_none_is_invented(tmp_path, robot):
    write_dataset(load_robot(robot), tmp_path / "data", episodes=6, faults=6, seed=3)
    job = AuditJob(
        dataset=str(tmp_path / "data"),
        robot=robot,
        world_json=(tmp_path / "data" / WORLD_FILE).read_text(),
        world_name="synth",
    )
    score = run_audit(job, tmp_path / "report", worst_per_rule=0).summary.score
    assert (score.planted, score.found, score.invented) == (6, 6, 0)


def test_dataset_without_faults_is_clean_and_says_so(small, tmp_path, capsys):
    clean = [n for n in range(EPISODES) if n not in {label.episode for label in read_labels(small)}]
    folder = tmp_path / "clean"
    folder.mkdir()
    for number in clean:
        episode = episodes_of(small)[number]
        np.savez(folder / f"{number:03d}.npz", action=episode.actions, state=episode.states)
    command = ["audit", str(folder), "--robot", "franka_panda", "--rate-hz", "30"]
    world = ["--world", str(small / "world.json")]
    assert run([*command, *world, "--workers", "1", "-o", str(tmp_path / "report")]) == 0
    out = capsys.readouterr().out
    assert "findings                    0" in out
    assert "state_age" in out  # these states have no stamp, and the report says that age was not checked


def test_dataset_without_its_world_misses_only_the_contacts_with_it(small):
    job = audit_job.AuditJob(dataset=str(small), robot="franka_panda")
    result = OpenAudit(job).audit_part(0)
    codes = {f["code"] for episode in result.episodes for f in episode["findings"]}
    assert "world_collision" not in codes
    assert "self_collision" in codes
    assert all("world" in episode["unchecked"] for episode in result.episodes)


# ---- Formats -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["npz", "hdf5", "v2", "mcap", "sqlite3"])
def test_same_episodes_in_another_format_have_the_same_findings(small, tmp_path, kind):
    match kind:
        case "npz":
            path, step_s = as_npz(small, tmp_path / "npz"), 1.0 / FPS
        case "hdf5":
            path, step_s = as_hdf5(small, tmp_path / "demos.hdf5"), None
        case "v2":
            path, step_s = as_lerobot_v2(small, tmp_path / "v2"), None
        case _:
            storage = StoragePlugin.MCAP if kind == "mcap" else StoragePlugin.SQLITE3
            path, step_s = (
                as_bags(small, tmp_path / "bags", storage=storage, episodes=BAG_EPISODES),
                1.0 / FPS,
            )
    job = job_for(small, dataset=path, source=DatasetOptions(step_s=step_s))
    result = OpenAudit(job).audit_part(0)
    count = BAG_EPISODES if kind in ("mcap", "sqlite3") else EPISODES
    assert [e["trouble"] for e in result.episodes] == [""] * count
    labels = [label for label in read_labels(small) if label.episode < count]
    found = [
        (e["episode"], f["first_row"], f["last_row"], f["code"])
        for e in result.episodes
        for f in e["findings"]
    ]
    score = score_findings(labels, found)
    assert (score.planted, score.found, score.invented) == (len(found), len(labels), 0)


def test_path_that_was_measured_can_be_audited_too(small):
    options = ExamineOptions(path="state")
    result = OpenAudit(job_for(small, options=options)).audit_part(0)
    codes = {f["code"] for e in result.episodes for f in e["findings"]}
    assert {"joint_velocity_limit", "self_collision", "world_collision"} <= codes
    assert {f["path"] for e in result.episodes for f in e["findings"]} == {"state"}


def test_chunks_of_a_policy_start_at_the_measured_state(small, tmp_path):
    folder = tmp_path / "handover"
    folder.mkdir()
    clean = next(n for n in range(EPISODES) if n not in {label.episode for label in read_labels(small)})
    episode = episodes_of(small)[clean]
    states = episode.states.copy()
    states[48:, 0] += 0.2  # the arm stands elsewhere than the policy believes, from the fourth chunk on
    np.savez(folder / "0.npz", action=episode.actions, state=states)
    source = DatasetOptions(step_s=1.0 / FPS)

    def codes(**options):
        job = job_for(small, dataset=folder, source=source, options=ExamineOptions(**options))
        (result,) = OpenAudit(job).audit_part(0).episodes
        return [(f["code"], f["first_row"]) for f in result["findings"]]

    assert codes() == []
    assert codes(horizon=16)[0] == ("joint_velocity_limit", 48)


def test_recording_in_degrees_is_read_as_such_only_when_told(small, tmp_path):
    folder = tmp_path / "degrees"
    folder.mkdir()
    clean = next(n for n in range(EPISODES) if n not in {label.episode for label in read_labels(small)})
    np.savez(folder / "0.npz", action=np.rad2deg(episodes_of(small)[clean].actions[:, :7]))
    source = DatasetOptions(step_s=1.0 / FPS)
    as_degrees = job_for(
        small, dataset=folder, source=source, options=ExamineOptions(units=(("", "degrees"),))
    )
    (result,) = OpenAudit(as_degrees).audit_part(0).episodes
    assert (result["trouble"], result["findings"]) == ("", [])
    (result,) = OpenAudit(job_for(small, dataset=folder, source=source)).audit_part(0).episodes
    assert "as degrees they fit: say `--degrees`" in result["trouble"]


# ---- Bad input -----------------------------------------------------------------------------------------


def broken_v2(small: Path, tmp_path: Path) -> Path:
    """Returns a dataset in which five episodes are broken, each in its own way."""
    folder = as_lerobot_v2(small, tmp_path / "broken")
    file = "data/chunk-000/episode_{:06d}.parquet"
    (folder / file.format(2)).write_bytes(b"PAR1 this is not parquet PAR1")
    table = pq.read_table(folder / file.format(4))
    pq.write_table(table.drop_columns(["action", "observation.state"]), folder / file.format(4))
    narrow = pa.array([row[:5] for row in pq.read_table(folder / file.format(6))["action"].to_pylist()])
    pq.write_table(pa.table({"action": narrow}), folder / file.format(6))
    pq.write_table(pq.read_table(folder / file.format(8)).slice(0, 0), folder / file.format(8))
    (folder / file.format(10)).unlink()
    ragged = pa.array([[0.0] * (7 + (n % 2)) for n in range(9)])
    pq.write_table(pa.table({"action": ragged}), folder / file.format(12))
    pq.write_table(pa.table({"action": pa.array(["x", "y"])}), folder / file.format(14))
    return folder


def test_broken_episodes_are_reported_and_the_others_audited(small, tmp_path, capsys):
    folder = broken_v2(small, tmp_path)
    out = tmp_path / "report"
    command = [
        "audit",
        str(folder),
        "--robot",
        "franka_panda",
        "--world",
        str(small / "world.json"),
        "--json",
    ]
    assert run([*command, "--workers", "1", "--worst", "0", "-o", str(out)]) == 2
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    assert {one["episode"] for one in document["unreadable"]} == {2, 4, 6, 8, 10, 12, 14}
    assert document["episodes"] == EPISODES
    troubles = {one["episode"]: one["trouble"] for one in document["unreadable"]}
    assert "neither a column `action`" in troubles[4]
    assert "5 columns" in troubles[6]
    assert "no rows" in troubles[8]
    assert "different widths" in troubles[12]
    assert "expected lists of numbers" in troubles[14]
    assert "7 of 20 episodes could not be audited" in captured.err
    expected = [x for x in read_labels(small) if x.episode not in troubles]
    rows = [(f["episode"], f["first_row"], f["last_row"], f["code"]) for f in document["findings"]]
    score = score_findings(expected, rows)
    assert (score.found, score.invented) == (len(expected), 0)


def test_cut_off_parquet_of_many_episodes_is_reported_for_each(copy_of_small, tmp_path):
    file = copy_of_small / "data" / "chunk-000" / "file-000.parquet"
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    result = OpenAudit(job_for(copy_of_small)).audit_part(0)
    assert all(episode["trouble"] for episode in result.episodes)


@pytest.mark.parametrize("damage", ["npz", "hdf5", "mcap"])
def test_damaged_file_of_another_format_is_reported_not_raised(small, tmp_path, damage):
    folder = tmp_path / "damaged"
    folder.mkdir()
    options = DatasetOptions(step_s=0.02)
    if damage == "hdf5":
        (folder / "x.hdf5").write_bytes(b"not hdf5")
        with pytest.raises(ROSConfigError, match=r"x\.hdf5"):
            open_dataset(folder / "x.hdf5", options)
        return
    (folder / f"x.{damage}").write_bytes(b"not a file of this kind")
    result = OpenAudit(job_for(small, dataset=folder, source=options)).audit_part(0)
    assert [bool(episode["trouble"]) for episode in result.episodes] == [True]


@pytest.mark.parametrize(
    "arguments",
    [
        ["/no/such/folder"],
        ["{tmp}"],
        ["{small}", "--path", "sideways"],
        ["{small}", "--horizon", "0"],
        ["{small}", "--columns", "a,b"],
        ["{small}", "--workers", "0"],
        ["{small}", "--world", "/no/such/world.json"],
        ["{small}", "--rate-hz", "0"],
    ],
)
def test_senseless_command_exits_with_2(small, tmp_path, arguments, capsys):
    filled = [argument.format(small=small, tmp=tmp_path) for argument in arguments]
    assert run(["audit", *filled, "--robot", "franka_panda", "-o", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err.startswith("error: ")


def test_pickled_objects_in_npz_are_not_loaded(small, tmp_path):
    np.savez(tmp_path / "evil.npz", action=np.array([{"a": 1}], dtype=object))
    job = job_for(small, dataset=tmp_path, source=DatasetOptions(step_s=0.02))
    (result,) = OpenAudit(job).audit_part(0).episodes
    assert "allow_pickle" in result["trouble"]


# ---- Workers -------------------------------------------------------------------------------------


def test_cut_off_audit_goes_on_and_writes_the_same(small, tmp_path, small_parts, monkeypatch):
    run_audit(job_for(small), tmp_path / "whole", worst_per_rule=0)
    real, done = runners.audit_part, []

    def interrupted(job, part):
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(part)
        return real(job, part)

    monkeypatch.setattr(runners, "audit_part", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_audit(job_for(small), tmp_path / "resumed", worst_per_rule=0)
    monkeypatch.setattr(runners, "audit_part", real)
    resumed = run_audit(job_for(small), tmp_path / "resumed", worst_per_rule=0)
    assert resumed.reused_parts == 2
    for name in FILES:
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "resumed" / name).read_bytes()


def test_parts_of_another_job_are_not_reused(small, tmp_path, small_parts):
    run_audit(job_for(small), tmp_path, worst_per_rule=0)
    assert run_audit(job_for(small), tmp_path, worst_per_rule=0).reused_parts == 5
    other = job_for(small, options=ExamineOptions(path="state"))
    assert run_audit(other, tmp_path, worst_per_rule=0).reused_parts == 0


def test_torn_part_is_done_again(small, tmp_path, small_parts):
    run_audit(job_for(small), tmp_path, worst_per_rule=0)
    part = tmp_path / "parts" / "part-000002.json"
    part.write_text(part.read_text()[:100])
    assert run_audit(job_for(small), tmp_path, worst_per_rule=0).reused_parts == 4


def test_killed_process_loses_no_episode(copy_of_small, tmp_path, small_parts, monkeypatch):
    run_audit(job_for(copy_of_small), tmp_path / "alone", worst_per_rule=0)
    monkeypatch.setattr(limited_process, "serve_episodes", serve_and_die_once)
    run_audit(job_for(copy_of_small), tmp_path / "killed", workers=2, worst_per_rule=0)
    assert (copy_of_small / "died").exists()
    for name in FILES:
        assert (tmp_path / "alone" / name).read_bytes() == (tmp_path / "killed" / name).read_bytes()


RAY_PROGRAM = """
import os, sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from lastgate.tools.audit import job, runners
from lastgate.tools.audit.run import run_audit
from fixtures.recorded_datasets import die_once, job_for
job.EPISODES_PER_PART = 4
runners.audit_part = die_once
os.environ["PYTHONPATH"] = {tests!r}
done = run_audit(job_for(Path({dataset!r})), Path({out!r}), ray="local", workers=2, worst_per_rule=0)
print(done.summary.score.found, done.summary.score.invented)
"""


def test_two_ray_workers_of_which_one_is_killed_write_the_same_report(copy_of_small, tmp_path, small_parts):
    run_audit(job_for(copy_of_small), tmp_path / "alone", worst_per_rule=0)
    program = RAY_PROGRAM.format(
        tests=str(Path(__file__).parents[3]), dataset=str(copy_of_small), out=str(tmp_path / "ray")
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=240
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(FAULTS), "0"]
    assert (copy_of_small / "died").exists()
    for name in FILES:
        assert (tmp_path / "alone" / name).read_bytes() == (tmp_path / "ray" / name).read_bytes()
