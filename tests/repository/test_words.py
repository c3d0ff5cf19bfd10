# SPDX-License-Identifier: Apache-2.0
"""The words of the field stay in use: a word that was replaced does not come back."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# Data, and the two files whose subject is the old words.
LEFT_OUT = re.compile(
    r"\.(urdf|csv|svg|npy|npz|png|stl|msg|srv|xml|css)$|convex_pieces\.txt$|^benchmarks/.*\.json$|^LICENSE|^CHANGELOG\.md$"
    r"|^tests/(gateway/ros-|real_packages/.*\.txt)|robot\.yaml$|renamed_names\.py$|^docs/reference/names\.md$"
    r"|^tests/repository/test_words\.py$"
)

# Say · instead of: a part of a name between underscores or capitals, or a word of a sentence.
REPLACED = {
    "sphere": ("ball", "balls"),
    "query, evaluate or poll": ("looks per", "second look", "closer look", "charge looks"),
    "SIMD": ("lane build", "lane kernels", "lane tables", "lane model", "lanes generic", "lanes avx2"),
    "certified, unresolved": ("unshown", "spokesman"),
    "channel": ("door", "doors"),
    "status block, registration, event": ("seat", "seats", "bell", "bells", "doorbell", "board"),
    "evaluate, decide, checker": ("judge", "judges", "judged", "judging", "conclude"),
    "false rejection": ("phantom", "phantoms"),
    "attached object, detach": ("held thing", "held things"),
    "robot library": ("fleet",),
    "event log": ("ledger",),
    "occupancy map": ("nav map",),
}

# Where such a word is somebody else's name, a key that is stored, or another thing: the file, and what stands there.
ALLOWED = (
    (r"", r"query_ball_point|\"ball\"|type=\"ball|joint_type=\"ball"),  # SciPy's function, MJCF's joint
    (r"^proofs/", r"[Bb]alls?"),  # ball arithmetic, as numerical analysis calls a middle with a radius
    (r"", r"\[\"door\"\]"),  # a key of the frames that the kernel writes
    (r"", r"[\"'](phantoms|phantom_rate|phantom_pairs|gate_phantoms)[\"']"),  # keys of stored results
    (r"", r"fleet-data"),  # a group of wheels that people install by this name
    (r"", r"\"board\"|\.board\b"),  # a file in shared memory
    (r"", r"api/ledger|#ledger|\"ledger\""),  # the page's route, element and message
    (r"/page/|^docs/concepts/live-page", r"ledger"),
    (
        r"/approach/|/skills/|/memory/|/demo/|test_approach_refinement|test_recovery|go-and-see",
        r"\b\w*door\w*\b",
    ),  # of a room
)

PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")


def texts() -> list[tuple[str, str]]:
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "-z"], capture_output=True, text=True, check=True
    ).stdout.split("\0")
    found = []
    for name in listed:
        path = ROOT / name
        if name and path.is_file() and not LEFT_OUT.search(name):
            try:
                found.append((name, path.read_text(encoding="utf-8")))
            except UnicodeDecodeError:
                continue
    return found


def words_of(line: str) -> str:
    """Returns the words of a line, those inside names too: `judgeByBall_count` is four."""
    return " ".join(part.lower() for part in PART.findall(line))


@pytest.fixture(scope="module")
def lines() -> list[tuple[str, int, str]]:
    """Returns file, number and words of every line, without what is allowed."""
    allowed = [(re.compile(where), re.compile(what)) for where, what in ALLOWED]
    listed = []
    for name, text in texts():
        here = [what for where, what in allowed if where.search(name)]
        for number, line in enumerate(text.splitlines(), start=1):
            left = line
            for what in here:
                left = what.sub(" ", left)
            listed.append((name, number, f" {words_of(left)} "))
    return listed


@pytest.mark.parametrize("say", REPLACED)
def test_replaced_words_stay_away(lines, say):
    pattern = re.compile("|".join(rf" {word} " for word in REPLACED[say]))
    back = [f"{name}:{number}" for name, number, words in lines if pattern.search(words)]
    assert back == [], f"say `{say}`"


def test_words_are_found_inside_names():
    assert words_of("int judgeByBall_count; // GJKDistance") == "int judge by ball count gjk distance"
