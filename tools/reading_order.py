# SPDX-License-Identifier: Apache-2.0
"""The order in which the code that can accept a chunk is best read, with the lines of each part.

`tools/generate_documents.py` writes the table into ARCHITECTURE.md. Every file of the core is in one part or in
`DECIDES_NOTHING`, which a repository test holds.
"""

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
CORE_FOLDERS = ("core/src", "core/include")


@dataclass(frozen=True)
class Part:
    """Some files that are read together; patterns are relative to `core/`."""

    what: str
    patterns: tuple[str, ...]

    def files(self) -> list[Path]:
        """Returns the files, in the order of the patterns."""
        return [path for pattern in self.patterns for path in sorted((ROOT / "core").glob(pattern))]


def header(name: str) -> str:
    """Returns the pattern of a public header."""
    return f"include/lastgate/{name}.hpp"


ORDER = (
    Part(
        "what goes in and comes out, and every bound",
        tuple(header(name) for name in ("gate", "verdict", "gate_config", "capacity")),
    ),
    Part(
        "the order of the checks",
        ("src/gate.cpp", "src/stream.cpp", "src/checks/gate_setup.*", "src/validation.*"),
    ),
    Part("one file per rule", ("src/checks/[!g]*.cpp", "src/checks/gripper_range.cpp")),
    Part("how each control mode becomes a joint path", ("src/paths/*.cpp",)),
    Part(
        "the robot: chains, volumes, hulls",
        (
            header("math"),
            header("robot_model"),
            "src/robot/*",
        ),
    ),
    Part(
        "the inequality, the motion bound and the directional bound",
        (
            "src/geometry/tolerance.hpp",
            "src/sweep/clearance.hpp",
            "src/sweep/motion_bound.*",
            "src/sweep/directional_bound.*",
            "src/sweep/placed_shape.hpp",
        ),
    ),
    Part(
        "the sweep: rows, then bisection",
        tuple(
            f"src/sweep/{name}.*"
            for name in ("sweep", "workspace", "placement", "pair_kind", "pair_table", "pair", "bisect")
        ),
    ),
    Part("one file per kind of pair", ("src/sweep/pairs/*",)),
    Part(
        "distances of spheres and capsules",
        ("src/geometry/distance.*", "src/geometry/containment.*"),
    ),
    Part(
        "distances of convex hulls (GJK)",
        ("src/geometry/convex.*", "src/geometry/placed_vertices.hpp", "src/sweep/convex_refine.*"),
    ),
    Part(
        "recovery, declared contacts, joints that brake alone, reachable sets, footprint, tool speeds",
        tuple(
            f"src/sweep/{name}.*"
            for name in (
                "recovery",
                "declared_contact",
                "joint_stop",
                "contact_depth",
                "reachable_set",
                "footprint",
                "tool_speed",
            )
        ),
    ),
    Part(
        "the world: primitives, voxels, points, floor",
        (header("world_snapshot"), "src/world/*"),
    ),
    Part(
        "the broad phase in SIMD, which may only certify",
        ("src/sweep/broad_phase.*", "src/simd/simd_[!b]*", "src/simd/simd_build.hpp"),
    ),
)

# For planners, and for what is written down after a verdict.
DECIDES_NOTHING = Part(
    "planners and certificates", (header("planning"), "src/planning/*", "src/simd/simd_batch.hpp")
)


def line_count(files: list[Path]) -> int:
    """Returns how many lines the files have together."""
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files)


def reading_order() -> str:
    """Returns the table of the parts with their lines, and the sum."""
    rows = [
        (part.what, ", ".join(f"`{pattern}`" for pattern in part.patterns), part.files()) for part in ORDER
    ]
    lines = ["| | read | in `core/` | files | lines |", "| ---: | --- | --- | ---: | ---: |"]
    for number, (what, patterns, files) in enumerate(rows, 1):
        lines.append(f"| {number} | {what} | {patterns} | {len(files)} | {line_count(files):,} |")
    every = [path for _, _, files in rows for path in files]
    lines.append(f"| | **can accept a chunk** | | **{len(every)}** | **{line_count(every):,}** |")
    rest = DECIDES_NOTHING.files()
    lines.append(f"| | decides nothing: {DECIDES_NOTHING.what} | | {len(rest)} | {line_count(rest):,} |")
    return "\n".join(lines) + "\n"
