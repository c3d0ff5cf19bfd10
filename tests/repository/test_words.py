# SPDX-License-Identifier: Apache-2.0
"""The words of the field stay in use: a word that was replaced does not come back."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# Data, and the two files whose subject is the old words.
LEFT_OUT = re.compile(
    r"\.(urdf|csv|svg|npy|npz|png|stl|msg|srv|xml|css)$|convex_pieces\.txt$|^benchmarks/.*\.json$|^LICENSE"
    r"|^CHANGELOG\.md$"
    r"|^tests/(gateway/ros-|real_packages/.*\.txt)|robot\.yaml$|renamed_(names|modules)\.py$|^docs/reference/names\.md$"
    r"|^tests/repository/test_words\.py$"
)

# Say · instead of: words, as regular expressions over the words of a line. `judgeByBall_count` has four words.
REPLACED = {
    "sphere": ("balls?",),
    "capsule axis": (
        "cores? in base",
        "place cores",
        "core (line|segment|distance)",
        "volume s core",
        "its core",
    ),
    "convex hull": ("pieces?",),
    "vertex": ("corners?",),
    "support point": ("farthest (vertex )?along", "farthest view"),
    "broad phase, narrow phase": ("(second|close|closer) look", "(in|the) lanes (leave|turn|like)"),
    "continuous collision checking": ("looking (between|at) (the )?rows",),
    "query, evaluate or poll": (
        "looks (per|are|along an|of a search|at pairs)",
        "(a|one|few|first|third|late|last|same) looks?",
        "(charge|budget of|between|two) looks",
    ),
    "SIMD": ("lane (build|kernels|tables|model)", "lanes (generic|avx2|neon)"),
    "certified, unresolved": (
        "unshown",
        "spokesman",
        "doubts?",
        "shown (clear|apart)",
        "(not|be) shown to be",
        "shown by (a gate|hulls|gate)",
    ),
    "required distance": ("demand(s|ed)?",),
    "minimum clearance": ("best (clearance|m distance)",),
    "step": (
        "rows? of (the|a|this|its|each) chunk",
        "between (the|two|their) rows",
        "waypoints?",
        "horizon step",
    ),
    "reject": (
        "refused (chunks?|motions?|actions?)",
        "(chunks?|motions?|actions?|proposals?) (is|are|was|were) refused",
        "clean refused",
    ),
    "checker, evaluate, decide": ("judge[sd]?", "judging", "conclude"),
    "missed collision, false rejection": ("phantoms?", "(a|no|one|every) miss"),
    "voxel": ("cells?", "cubes"),
    "occupancy map": ("nav map", "maps? of the floor", "floor field"),
    "attached object, detach": ("held (things?|shapes?|objects?)", "(let|lets|letting) go"),
    "reachable set": ("tubes?",),
    "channel, client, server": ("doors?",),
    "status block, registration, event": ("seats?", "bells?", "doorbell", "board"),
    "robot library": ("fleet",),
    "package, dependency": ("arrows? (point|from|to)", "rooms? of the (code|package)", "contracts room"),
    "event log": ("ledger",),
    "rejection report": ("rejection cards?",),
}

# Where such a word belongs to others, is a key that is stored, or means another thing: the file, and what stands there.
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
        r"/approach/|/skills/|/agent/|/memory/|/demo/|test_approach_refinement|test_recovery|go-and-see",
        r"\b\w*door\w*\b",
    ),  # of a room
    # Keys of manifests, of the flat configuration, of certificates, of files with hulls and of stored results.
    (
        r"",
        r"lastgate-convex-pieces|convex_pieces(\.txt)?\b|pieces_per_link_max|piece_(link|radius_m|corner_count|corners_m|)\b|--pieces-only",
    ),
    (
        r"",
        r"\"(by_pieces|piece_a|piece_b|piece|pieces|demand_m|refused\w*)\"|tier 1\+2: and pieces|\['pieces'\]",
    ),
    (
        r"",
        r"(?<=[\"n^])piece +(?=[{\w])|`piece LINK RADIUS CORNERS`|Convex pieces of.*|A piece is every point.*",
    ),
    (
        r"",
        r"held(\.|\[\")\w+|refused\(|(no|shortened)_chunk(_are|_is)_refused|batch_of_chunks_is_refused|[Ll]ook-at",
    ),
    (r"", r"_core\b|counted and shown|/cell_1/|smoke in the cell|first cell"),
    (r"", r"(footprint_)?corners_xy|horizon_step|held_objects|held_shapes"),
    (r"", r"\d{4}-[a-z0-9-]+(\.md)?"),  # file names of decisions
    (r"robot/attached_solid", r"\bcorner\w*"),  # of a polygon around a disc, which nothing is compared with
    (r"", r"(?i)cuts? corners|corners it cuts|in a corner of"),
    (r"", r"(?i)(minimum|maximum|lower|upper|lowest|low|two|grid) corners?\b"),
    (r"", r"(?i)\bcorners? of (a |its |the )?(cell|voxel|window|box|path|grid)"),
    (
        r"line_of_sight|navigate|path_search|planner|timing|occupancy_grid|rasterise|approach|two_paths|floor_map",
        r"\w*corners?\w*",
    ),
    # Points of a planned path, which planners call so.
    (
        r"continuous|trajectory|/skills/|/agent/|/memory/|test_looking|requirements|planning_case|test_agent_tools"
        r"|examples/turn|kernel_body",
        r"\w*waypoints?\w*",
    ),
    # Cells of a 2-D map, of a table or of a file; cells that robots work in; evidence names.
    (
        r"floor|footprint|nav_goal|navigate|occupancy|line_of_sight|approach|refine|map_|cell_shapes|mobile_arm|/agent/|/memory/"
        r"|evidence|messages|two_paths|wire_cases|telemetry|dashboard|kernel_watch|overshoot|sphere_cutting|report|error_page"
        r"|input_files|__main__|openarm|simulation_schemes|robot_vendor|keep_in|envelope|latch|config|attack|world_builder"
        r"|requirements|masked_arrays|contracts/(test_)?world|gate/gate|SAFETY|obstacle_field"
        r"|collisions\.py|violation|decisions/|concepts/|robot-library|benchmarks|naming|render",
        r"(?i)\w*cells?\w*",
    ),
    (
        r"",
        r"cell_77|\"cells?_?|`cell|map_cell\w*|UNKNOWN_CELL|insertCell|row\.cells|work cell|polygon_touches_cells",
    ),
    (r"", r"A cell has a handful"),
    (r"joined_hulls|test_certificates|sphere_fitting|test_page", r"\bcubes\w*"),
    (r"test_sphere_fitting", r"\btube\b"),
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
    pattern = re.compile("|".join(rf" (?:{word}) " for word in REPLACED[say]))
    back = [f"{name}:{number}" for name, number, words in lines if pattern.search(words)]
    assert back == [], f"say `{say}`"


def test_words_are_found_inside_names():
    assert words_of("int judgeByBall_count; // GJKDistance") == "int judge by ball count gjk distance"
