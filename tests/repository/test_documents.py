# SPDX-License-Identifier: Apache-2.0
"""The documents are true where a machine can tell: programs run, links lead somewhere, tests exist."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
PYTHON_BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
TEST_NAME = re.compile(r"`((?:tests|core|kernel)/[\w./-]+?\.(?:py|cpp))(?:::(\w+))?`")


def _run(arguments: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def _blocks() -> list[tuple[str, str]]:
    return [
        (path.name, block)
        for path in DOCUMENTS
        for block in PYTHON_BLOCK.findall(path.read_text(encoding="utf-8"))
    ]


def test_readme_has_a_python_block_and_at_most_150_lines():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert PYTHON_BLOCK.search(text)
    assert len(text.splitlines()) <= 150


@pytest.mark.parametrize(("name", "block"), _blocks(), ids=lambda value: value if len(value) < 40 else "")
def test_python_block_runs(name: str, block: str):
    done = _run(["-c", block])
    assert done.returncode == 0, f"{name}: {done.stderr}"
    assert done.stdout


def test_python_block_of_the_readme_is_accepted():
    (block,) = PYTHON_BLOCK.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    assert _run(["-c", block]).stdout.startswith("True Accepted: ")


WRAPPER_BLOCK = re.compile(r"```py\n(.*?)```", re.DOTALL)
# What the reader of the README has already: a gate, and whatever his own loop is made of.
OWN_LOOP = """
import asyncio
import gymnasium, mujoco, numpy as np, lastgate as lg

START = np.array([0.0, -0.6, 0.0, -2.2, 0.0, 1.7, 0.785])
gate = lg.Gate(lg.load_robot("franka_panda"), step_s=0.02)


class Arm(gymnasium.Env):
    action_space = observation_space = gymnasium.spaces.Box(-3.0, 3.0, (7,), np.float64)

    def reset(self, seed=None, options=None):
        return START, {{}}

    def step(self, action):
        return np.array(action), 0.0, False, False, {{}}


env, action = Arm(), START + {move}
joints, motors = "", ""
for number in range(7, 0, -1):
    joints = f'<body><joint name="panda_joint{{number}}" axis="0 0 1" armature="1"/><geom size="0.1"/>{{joints}}</body>'
    motors += f'<position joint="panda_joint{{number}}" kp="500" kv="50"/>'
fingers = "".join(
    f'<body><joint name="panda_finger_joint{{n}}" type="slide" armature="1"/><geom size="0.01"/></body>' for n in (1, 2)
)
motors += "".join(f'<position joint="panda_finger_joint{{n}}" kp="100" kv="10"/>' for n in (1, 2))
model = mujoco.MjModel.from_xml_string(
    f'<mujoco><option gravity="0 0 0"><flag contact="disable"/></option><worldbody>{{joints}}{{fingers}}</worldbody>'
    f"<actuator>{{motors}}</actuator></mujoco>"
)
data = mujoco.MjData(model)
data.qpos[:7] = START
mujoco.mj_forward(model, data)
chunk = np.linspace(START, START + {move}, 4)
"""


def wrappers_of_the_readme() -> dict[str, str]:
    """Returns the lines of each wrapper, by the first word of its comment."""
    (block,) = WRAPPER_BLOCK.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    parts = [part.splitlines() for part in block.strip().split("\n\n")]
    assert all(part[0].startswith("# ") for part in parts)
    return {part[0].removeprefix("# ").split(":")[0].split(",")[0]: "\n".join(part[1:]) for part in parts}


def test_readme_shows_four_wrappers_of_five_lines():
    wrappers = wrappers_of_the_readme()
    assert list(wrappers) == ["Gymnasium", "MuJoCo", "LeRobot", "A policy server"]
    assert {name: len(text.splitlines()) for name, text in wrappers.items()} == dict.fromkeys(wrappers, 5)


@pytest.mark.parametrize(
    ("name", "move", "ends_with"),
    [
        ("Gymnasium", 0.01, "None"),
        ("Gymnasium", 0.5, "joint_velocity_limit"),
        ("MuJoCo", 0.02, "True"),
        ("MuJoCo", 0.9, "False"),
    ],
)
def test_wrapper_of_the_readme_runs_and_refuses(name: str, move: float, ends_with: str):
    says = {
        "Gymnasium": "print(info['refusal'] and info['refusal'].code)",
        "MuJoCo": "print(answer.accepted)",
    }
    wrapper = wrappers_of_the_readme()[name].replace(
        "\nobservation, reward", "\nenv.reset()\nobservation, reward"
    )
    program = OWN_LOOP.format(move=move) + wrapper + "\n" + says[name]
    done = _run(["-c", program])
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == ends_with


def test_policy_server_of_the_readme_opens_its_port():
    wrapper = wrappers_of_the_readme()["A policy server"].replace("8001", "0")
    waits = "await listening.serve_forever()"
    assert waits in wrapper
    # It would wait for ever, which is its job.
    opened = wrapper.replace(waits, "print('open', listening.is_serving())")
    indented = "\n".join(f"    {line}" for line in opened.splitlines())
    program = f"{OWN_LOOP.format(move=0.0)}\nasync def main():\n{indented}\nasyncio.run(main())"
    done = _run(["-c", program])
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "open True"


def test_there_are_examples():
    assert {path.stem for path in EXAMPLES} >= {"check_a_chunk", "feed_bad_chunks", "add_the_world"}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(path: Path):
    done = _run([str(path)])
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_is_short_and_begins_with_its_page(path: Path):
    lines = path.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 60
    assert lines[1].startswith('"""')


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_relative_links_lead_somewhere(path: Path):
    text = path.read_text(encoding="utf-8")
    lost = []
    for target in LINK.findall(text):
        if "://" in target:
            continue
        file, _, anchor = target.partition("#")
        found = path.parent / file if file else path
        if not found.exists() or (anchor and anchor not in _anchors(found)):
            lost.append(target)
    assert not lost


def _anchors(path: Path) -> set[str]:
    titles = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_every_test_named_in_the_documents_exists():
    missing = []
    for path in DOCUMENTS:
        for file, name in TEST_NAME.findall(path.read_text(encoding="utf-8")):
            text = (ROOT / file).read_text(encoding="utf-8") if (ROOT / file).is_file() else None
            if text is None or (name and not re.search(rf"^def {name}\(", text, re.MULTILINE)):
                missing.append(f"{path.name}: {file}::{name}")
    assert not missing


# Without backticks too: comments and docstrings name tests as they like.
NAMED_IN_SOURCE = re.compile(
    r"(?<![\w./-])((?:tests|core/tests|kernel/tests)/[\w./-]+\.(?:py|cpp))(?:::(\w+))?"
)
SOURCE_ENDINGS = {".py", ".pyi", ".cpp", ".hpp", ".txt", ".toml", ".sh", ".js"}


def sources() -> list[Path]:
    folders = (
        "core",
        "kernel",
        "gateway",
        "fitting",
        "bindings",
        "src",
        "tests",
        "tools",
        "benchmarks",
        "examples",
    )
    found = [path for folder in folders for path in (ROOT / folder).rglob("*")]
    kept = [path for path in found if path.suffix in SOURCE_ENDINGS and path.name != "convex_pieces.txt"]
    return [path for path in kept if path != Path(__file__)] + [ROOT / "pyproject.toml", ROOT / "Makefile"]


def test_every_test_named_in_a_source_file_exists():
    missing = []
    for path in sources():
        for file, name in NAMED_IN_SOURCE.findall(path.read_text(encoding="utf-8", errors="replace")):
            text = (ROOT / file).read_text(encoding="utf-8") if (ROOT / file).is_file() else None
            if text is None or (name and not re.search(rf"^def {name}\(", text, re.MULTILINE)):
                missing.append(f"{path.relative_to(ROOT)}: {file}::{name}")
    assert not missing


MAKE = re.compile(r"\bmake ((?:-C benchmarks )?)([a-z]+(?:-[a-z]+)*)")
IN_CODE = re.compile(r"`[^`\n]+`|^```sh\n.*?^```", re.MULTILINE | re.DOTALL)


def make_targets(folder: Path) -> set[str]:
    text = (folder / "Makefile").read_text(encoding="utf-8")
    return set(re.findall(r"^([a-z-]+):", text, re.MULTILINE))


def test_every_make_target_named_in_the_documents_exists():
    known = {"": make_targets(ROOT), "-C benchmarks ": make_targets(ROOT / "benchmarks")}
    missing = [
        f"{path.relative_to(ROOT)}: make {folder}{target}"
        for path in [*DOCUMENTS, ROOT / ".ci" / "run", ROOT / ".pre-commit-config.yaml"]
        if path.name != "CHANGELOG.md"  # tells of targets as they were called
        for code in (
            IN_CODE.findall(path.read_text(encoding="utf-8")) if path.suffix == ".md" else [path.read_text()]
        )
        for folder, target in MAKE.findall(code)
        if target not in known[folder]
    ]
    assert not missing


def test_help_shows_a_person_about_ten_targets():
    shown = re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert {"demo", "test", "check", "format"} <= set(shown)
    assert len(shown) <= 12


def test_every_claim_of_safety_md_names_a_test():
    section = (ROOT / "SAFETY.md").read_text(encoding="utf-8").split("## Not claimed")[0]
    rows = [
        line
        for line in section.splitlines()
        if line.startswith("| ") and not line.startswith(("| Claim", "| ---"))
    ]
    assert len(rows) >= 15
    assert [row for row in rows if not TEST_NAME.search(row)] == []


def test_generated_blocks_of_the_readme_are_up_to_date():
    done = _run(["tools/generate_documents.py", "--check"])
    assert done.returncode == 0, done.stderr


NAMED_PATH = re.compile(r"`((?:core|kernel|src|tests|tools|docs|bindings)/[\w./-]+)`")


def test_every_path_named_for_contributors_exists():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    missing = [path for path in NAMED_PATH.findall(text) if not (ROOT / path).exists()]
    assert missing == []


def test_rejection_shown_in_the_readme_is_one_that_checking_steps_alone_would_miss():
    from lastgate.robots import load_robot
    from lastgate.tools.demo.panda_scene import PandaScene, table_world

    files = ROOT / "examples" / "files"
    rows = np.loadtxt(files / "swing.csv", delimiter=",", skiprows=1)
    start = np.array(json.loads((files / "measured.json").read_text())["positions"])
    scene = PandaScene(load_robot("franka_panda"), table_world())
    assert not any(scene.contacts_at(row) for row in rows)
    assert scene.contacts_along(start, rows, samples_per_row=16).robot_world
