# SPDX-License-Identifier: Apache-2.0
"""The small commands, and what the command line does when something goes wrong."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from lastgate import _core
from lastgate.contracts import CATALOGUE, ROSConfigError
from lastgate.contracts.extras import install_command
from lastgate.robots.kernel_config import with_step

COMMAND = Path(sys.executable).parent / "lastgate"


@pytest.mark.parametrize("code", list(CATALOGUE))
def test_every_code_is_explained_by_word_dashes_and_number(code, lastgate):
    by_word = lastgate("explain", code)
    assert by_word.code == 0
    assert by_word.out.startswith(f"{code} ({code.number})")
    for heading in ("What it checks", "Why it matters", "Known limits", "Example", "What to do"):
        assert f"\n{heading}\n  " in by_word.out
    assert lastgate("explain", code.replace("_", "-")).out == by_word.out
    assert lastgate("explain", str(code.number)).out == by_word.out


def test_explain_without_a_code_lists_every_code(lastgate):
    lines = lastgate("explain").out.splitlines()
    assert [line.split()[0] for line in lines] == [str(code) for code in CATALOGUE]
    assert max(map(len, lines)) <= 100


def test_explain_as_json_holds_the_same_text(lastgate):
    entry = json.loads(lastgate("explain", "self_collision", "--json").out)
    assert entry["what_to_do"] == CATALOGUE[entry["code"]].what_to_do
    assert len(json.loads(lastgate("explain", "--json").out)) == len(CATALOGUE)


def test_unknown_code_lists_the_nearest(lastgate):
    done = lastgate("explain", "slef_collision")
    assert (done.code, done.out) == (2, "")
    assert "self_collision" in done.err


def test_doctor_reports_the_native_module_and_exits_with_0(lastgate):
    done = lastgate("doctor")
    assert done.code == 0
    lines = {line[5:].split("  ")[0].strip(): line for line in done.out.splitlines()}
    assert lines["native module"].startswith("yes")
    assert lines["robot franka_panda"].startswith("yes")
    assert lines["extra demo"].startswith("yes")


def test_doctor_without_the_native_module_says_so_and_exits_with_0(lastgate, monkeypatch):
    monkeypatch.delattr("lastgate._core")
    monkeypatch.setitem(sys.modules, "lastgate._core", None)
    findings = {f["what"]: f for f in json.loads(lastgate("doctor", "--json").out)}
    assert findings["native module"]["found"] is False
    monkeypatch.setattr("lastgate._core", _core, raising=False)


def test_robot_list_names_the_panda(lastgate):
    done = lastgate("robot", "list")
    assert done.code == 0
    assert any(line.startswith("franka_panda ") for line in done.out.splitlines())
    entries = {entry["name"]: entry for entry in json.loads(lastgate("robot", "list", "--json").out)}
    assert entries["franka_panda"]["armed"] is True
    assert entries["franka_panda"]["joints"] == 7


def test_robot_list_prints_per_link_how_far_it_is_drawn_out_of_its_volumes(lastgate):
    lines = lastgate("robot", "list").out.splitlines()
    entries = {entry["name"]: entry for entry in json.loads(lastgate("robot", "list", "--json").out)}
    for name, entry in entries.items():
        line = next(line for line in lines if line.startswith(f"{name} "))
        measured = entry["drawn_outside_m"]
        if measured is None:
            assert "drawn shapes not measured" in line
            continue
        assert line.endswith(f"drawn at most {1000.0 * max(measured.values()):.1f} mm out of the volumes")
        for link, apart in measured.items():
            assert (f"    {link}: drawn {1000.0 * apart:.1f} mm out" in "\n".join(lines)) == (apart > 0.0)
    assert entries["ur10"]["drawn_outside_m"]["upper_arm_link"] == 0.0578
    assert any("upper_arm_link: drawn 57.8 mm" in line and "hangs on nothing" in line for line in lines)


def test_robot_show_gives_joints_with_limits_and_pairs_with_reasons(lastgate, planar_arm):
    done = lastgate("robot", "show", planar_arm)
    assert done.code == 0
    assert "shoulder" in done.out
    assert "-3.0000 to   3.0000 rad, 2.0000 rad/s" in done.out
    assert "adjacent: 2" in done.out
    assert json.loads(lastgate("robot", "show", planar_arm, "--json").out)["name"] == "planar_arm"


def test_robot_show_of_a_broken_manifest_lists_every_problem(lastgate, planar_arm, tmp_path):
    broken = tmp_path / "robot.yaml"
    text = planar_arm.read_text().replace("[-3.0, 3.0]", "[3.0, -3.0]")
    before, _, after = text.rpartition("velocity_limit: 2.0")
    broken.write_text(f"{before}velocity_limit: -2.0{after}")
    done = lastgate("robot", "show", broken)
    assert (done.code, done.out) == (2, "")
    assert done.err.count("error: ") == 2
    assert "shoulder" in done.err
    assert "elbow" in done.err


def test_kernel_file_is_written_and_read_by_the_kernels_own_reader(lastgate, planar_arm, tmp_path):
    path = tmp_path / "kernel.yaml"
    done = lastgate("kernel", "config", "--robot", planar_arm, "--rate-hz", "50", "-o", path)
    assert (done.code, done.out) == (0, f"{path}\n")
    config = _core.read_config(path.read_text())
    assert (config.robot_name, config.step_s) == ("planar_arm", 0.02)
    assert (
        lastgate("kernel", "config", "--robot", planar_arm, "--rate-hz", "50", "-o", "-").out
        == path.read_text()
    )


@pytest.mark.parametrize("rate", ["0", "-50", "nan", "inf"])
def test_kernel_file_for_a_rate_that_means_nothing_is_not_written(rate, lastgate, planar_arm, tmp_path):
    path = tmp_path / "kernel.yaml"
    done = lastgate("kernel", "config", "--robot", planar_arm, "--rate-hz", rate, "-o", path)
    assert done.code == 2
    assert not list(tmp_path.iterdir())


def test_kernel_file_without_a_rate_is_one_line_short_and_no_kernel_takes_it(lastgate, planar_arm, tmp_path):
    timeless, whole = tmp_path / "timeless.yaml", tmp_path / "whole.yaml"
    done = lastgate("kernel", "config", "--robot", planar_arm, "-o", timeless)
    assert (done.code, done.out) == (0, f"{timeless}\n")
    assert "no rate" in done.err
    assert lastgate("kernel", "config", "--robot", planar_arm, "--rate-hz", "30", "-o", whole).code == 0
    with pytest.raises(ValueError, match="`step_s` is missing"):
        _core.read_config(timeless.read_text())
    # To the byte, because the digest names the model.
    assert with_step(timeless.read_text(), 1.0 / 30.0) == whole.read_text()
    assert with_step(whole.read_text(), 1.0 / 30.0) == whole.read_text()
    with pytest.raises(ROSConfigError, match=r"the file says `step_s: 0\.0333"):
        with_step(whole.read_text(), 0.02)


def test_kernel_run_refuses_what_a_file_contradicts(lastgate, planar_arm, tmp_path):
    timeless, whole = tmp_path / "timeless.yaml", tmp_path / "whole.yaml"
    lastgate("kernel", "config", "--robot", planar_arm, "-o", timeless)
    lastgate("kernel", "config", "--robot", planar_arm, "--rate-hz", "30", "-o", whole)
    for arguments, why in (
        ((timeless,), "`--rate-hz N` supplies it"),
        ((whole, "--rate-hz", "50"), "leave out `--rate-hz`"),
        ((whole, "--rate-hz", "nan"), "must be a positive number"),
        ((whole, "--robot", "ur5e"), "is for the robot `planar_arm`, not for `ur5e`"),
        ((whole, "--skill", tmp_path / "skill.yaml"), "`--skill` does not change what a file says"),
    ):
        done = lastgate("kernel", "run", "--config", *arguments)
        assert done.code == 2
        assert why in done.err


@pytest.mark.parametrize("option", ["--estop-reset-cooldown-s", "--reset-cooldown-s"])
def test_kernel_run_takes_the_cooldown_by_either_name_and_by_no_other(
    lastgate, planar_arm, tmp_path, monkeypatch, option
):
    started: list[list[str]] = []
    monkeypatch.setattr(os, "execv", lambda program, command: started.append(command))
    asked = ("kernel", "run", "--robot", planar_arm, "--rate-hz", "30", "--state-dir", tmp_path)
    lastgate(*asked, option, "0.75")
    (command,) = started
    assert command[command.index("--reset-cooldown-s") + 1] == "0.75"
    assert lastgate(*asked, "--cooldown-s", "0.75").code == 2
    assert len(started) == 1


def test_kernel_run_takes_a_file_with_the_robot_and_the_rate_it_lacks(
    lastgate, planar_arm, tmp_path, monkeypatch
):
    timeless, whole = tmp_path / "timeless.yaml", tmp_path / "whole.yaml"
    lastgate("kernel", "config", "--robot", planar_arm, "-o", timeless)
    lastgate("kernel", "config", "--robot", planar_arm, "--rate-hz", "30", "-o", whole)
    started = []
    monkeypatch.setattr(os, "execv", lambda program, command: started.append(command))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    lastgate("kernel", "run", "--robot", planar_arm, "--config", timeless, "--rate-hz", "30")
    (command,) = started
    assert Path(command[command.index("--config") + 1]).read_text() == whole.read_text()


def test_kernel_file_that_cannot_be_written_leaves_nothing_behind(lastgate, planar_arm, tmp_path):
    done = lastgate(
        "kernel", "config", "--robot", planar_arm, "--rate-hz", "50", "-o", tmp_path / "no" / "kernel.yaml"
    )
    assert done.code == 2
    assert "cannot write" in done.err
    assert not list(tmp_path.iterdir())


def test_fault_of_ours_shows_a_traceback_and_exits_with_3(lastgate, monkeypatch):
    def fail(*_: object) -> None:
        raise ZeroDivisionError("a belief was false")

    monkeypatch.setattr("lastgate.robots.load_robot", fail)
    done = lastgate("robot", "show", "franka_panda")
    assert done.code == 3
    assert "ZeroDivisionError: a belief was false" in done.err
    assert "error: this is a bug in lastgate" in done.err


@pytest.mark.parametrize(
    "arguments", [["chekc"], ["check"], ["demo", "--seconds", "soon"], ["explain", "--jsn"], []]
)
def test_wrong_usage_exits_with_2_and_no_traceback(arguments, lastgate):
    done = lastgate(*arguments)
    assert (done.code, done.out) == (2, "")
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["collision", "check", "my_arm"], "hint: `lastgate collision check --robot my_arm`"),
        (["collision", "check", "my_arm", "other"], "hint: `lastgate collision check --help`"),
        (["collision", "check", "my_arm", "--robot", "other"], "hint: `lastgate collision check --help`"),
        (["robot", "list", "my_arm"], "hint: `lastgate robot list --help`"),
    ],
)
def test_robot_without_its_option_is_refused_with_the_spelling_that_works(arguments, hint, lastgate):
    done = lastgate(*arguments)
    assert (done.code, done.out) == (2, "")
    assert done.err.rstrip().endswith(hint)


@pytest.mark.parametrize(
    "arguments",
    [
        ["robot", "vendor-urdf", "no_such_robot"],
        ["robot", "report", "no_such_robot"],
        ["robot", "add", "arm", "--urdf", "file:gone.urdf"],
        ["robot", "add", "../arm", "--urdf", "file:gone.urdf"],
        ["robot", "add", "my arm", "--urdf", "file:gone.urdf"],
        ["collision", "lower", "--robot", "no_such_robot"],
        ["collision", "check"],
    ],
)
def test_command_that_cannot_do_its_work_exits_with_2(arguments, lastgate, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = lastgate(*arguments)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("error: ")
    assert not list(tmp_path.iterdir())


def test_help_and_version_exit_with_0(lastgate):
    assert lastgate("--help").code == 0
    assert lastgate("check", "-h").code == 0
    assert lastgate("--version").out.startswith("lastgate ")


def test_installed_command_is_this_one_and_writes_no_colour_into_a_pipe():
    done = subprocess.run(
        [COMMAND, "explain", "nan_in_action"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={**os.environ, "FORCE_COLOR": "1"},
    )
    assert done.returncode == 0
    assert done.stdout.startswith("nan_in_action (7)")
    assert "\x1b" not in done.stdout + done.stderr


def test_help_does_not_import_the_simulator_or_the_progress_bar():
    code = (
        "import sys; from lastgate.tools.cli.app import run; run(['--help']);"
        "print(sorted({'mujoco', 'trimesh', 'scipy', 'lxml', 'ruamel'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_reader_that_goes_away_gets_no_traceback():
    pipe = subprocess.run(
        f"{COMMAND} explain | head -n 1", shell=True, capture_output=True, text=True, check=False, timeout=60
    )
    assert pipe.stdout.startswith("not_checked")
    assert pipe.stderr == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_disk_that_is_full_is_undecided_and_no_bug_of_ours():
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [COMMAND, "explain"], stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=60
        )
    assert (done.returncode, done.stderr) == (2, "error: No space left on device\n")


@pytest.mark.parametrize(("code", "exit_code"), [("self_collision", 0), ("no_such_code", 2)])
def test_closed_stdout_costs_the_text_and_not_the_exit_code(code, exit_code):
    done = subprocess.run(
        f"{COMMAND} explain {code} >&-",
        shell=True,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == exit_code
    assert "Traceback" not in done.stderr


def test_folder_that_cannot_be_made_is_named_and_is_no_bug_of_ours(lastgate, planar_arm, tmp_path):
    in_the_way = tmp_path / "file"
    in_the_way.write_text("")
    done = lastgate("synth", "--robot", planar_arm, "-o", in_the_way / "dataset", "--episodes", "1")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("error: ")
    assert str(in_the_way) in done.err
    assert "Traceback" not in done.err


WITHOUT_PACKAGES = {
    "robot report franka_panda": "lowering",
    "robot add arm --urdf file:arm.urdf": "lowering",
    "robot vendor-urdf franka_panda": "xacro",
    "collision lower --robot franka_panda": "lowering",
    "collision check --all": "lowering",
    "bench --errors franka_panda": "lowering,oracles,robot-data",
}


def test_command_without_its_packages_names_the_extra(tmp_path):
    code = (
        "import sys; sys.modules |= dict.fromkeys(('lxml', 'scipy', 'threadpoolctl', 'trimesh'));"
        "from lastgate.tools.cli.app import run;"
        f"print([run(words.split()) for words in {list(WITHOUT_PACKAGES)!r}])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "[2, 2, 2, 2, 2, 2]\n"
    assert "Traceback" not in done.stderr
    said = [line for line in done.stderr.splitlines() if line]
    assert all(line.startswith("error: this needs ") for line in said[::2])
    commands = [install_command(*extras.split(",")) for extras in WITHOUT_PACKAGES.values()]
    assert said[1::2] == [f"hint: {command}" for command in commands]
    assert all(command.startswith("pip install ") and "lastgate" not in command for command in commands)
