# SPDX-License-Identifier: Apache-2.0
"""Writes the parts of README.md that a tool prints: a real rejection, what was measured, the list of robots; and of
ARCHITECTURE.md the lines of the decision path.

`python tools/generate_documents.py` writes them, `--check` only says whether they are up to date (exit 1
if not).
"""

import json
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

from reading_order import reading_order

ROOT = Path(__file__).parents[1]
FILES = ROOT / "examples" / "files"
ERROR_RATES = ROOT / "benchmarks" / "error_rates.json"
BENCHMARKS = ROOT / "benchmarks" / "results"
COMMAND = Path(sys.executable).parent / "lastgate"
REJECTION = "check swing.csv --robot franka_panda --state measured.json --world table.json"


def shown(arguments: str, *, messages: bool = True) -> str:
    """Returns what the terminal shows for a command run among the example files."""
    done = subprocess.run(
        [COMMAND, *arguments.split()],
        cwd=FILES,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if messages else subprocess.DEVNULL,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, "NO_COLOR": "1"},
    )
    return done.stdout


def robots() -> str:
    """Returns the names of the robot library in one paragraph, each with its number of joints."""
    entries = json.loads(shown("robot list --json", messages=False))
    drawn = {entry["name"] for entry in entries if entry["unproved_volumes"]}
    named = [f"{entry['name']} ({entry['joints']})" for entry in entries if entry["name"] not in drawn]
    by_hand = [f"{entry['name']} ({entry['joints']})" for entry in entries if entry["name"] in drawn]
    return wrapped(f"{', '.join(named)}. Volumes drawn by hand, which nothing proves: {', '.join(by_hand)}.")


def error_rates() -> str:
    """Returns what the gate misses and rejects of random configurations, from the stored results."""
    evaluated = {
        name: result["errors"]["random"]["tier 1+2: and pieces"]
        for name, result in json.loads(ERROR_RATES.read_text(encoding="utf-8")).items()
    }
    asked = {found["touching"] + found["clear"] for found in evaluated.values()}
    missed = sum(found["misses"] for found in evaluated.values())
    rejected = [f"{name} {found['phantoms'] / found['clear']:.2%}" for name, found in evaluated.items()]
    return (
        f"`make -C benchmarks errors`, against the collision meshes, {min(asked):,} random configurations each "
        "([table with "
        f"peers](docs/error-rates.md)): **{missed} missed**; rejected of what is clear: {', '.join(rejected)}."
    )


def speed() -> str:
    """Returns how the gate compares with a peer in the same run, on every machine that was measured."""
    measured = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(BENCHMARKS.glob("*.json"))]

    def each(ratio: str) -> str:
        return " and ".join(f"{result['ratios'][ratio]:.0f}" for result in measured)

    chunks = " and ".join(
        f"{result['cases']['chunk_14_undisturbed']['p50_us']:.1f} µs ({result['cpu'].replace('(R)', '')})"
        for result in measured
    )
    return (
        f"`make bench`, one core ([table](docs/benchmarks.md)): certifying 16 steps among 14 obstacles takes {chunks}; "
        f"MuJoCo takes {each('mujoco_rows_14')} times as long for the steps alone. A configuration of a batch is "
        f"{each('mujoco_configuration')} times as fast as in MuJoCo, {each('pinocchio_configuration')} times as with "
        "Pinocchio and Coal from Python."
    )


def wrapped(paragraph: str, *, indent: str = "") -> str:
    """Returns a paragraph in lines as long as the others."""
    return textwrap.fill(
        paragraph, width=120, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False
    )


def blocks() -> dict[str, dict[str, str]]:
    """Returns the text of each generated block, by document."""
    return {
        "README.md": {
            "rejection": f"```console\n$ lastgate {REJECTION}\n{shown(REJECTION)}```\n",
            "measured": "".join(
                f"{wrapped(f'- {line}', indent='  ')}\n" for line in (error_rates(), speed())
            ),
            "robots": f"{robots()}\n",
        },
        "ARCHITECTURE.md": {"reading order": reading_order()},
    }


def fill(document: str, text: str, name: str, block: str) -> str:
    """Returns the document with one block replaced; a document without its marks is refused."""
    pattern = re.compile(rf"(<!-- generated: {name} -->\n).*?(<!-- end of generated -->)", re.DOTALL)
    if not pattern.search(text):
        sys.exit(f"error: {document} has no block `<!-- generated: {name} -->` … `<!-- end of generated -->`")
    return pattern.sub(lambda match: match[1] + block + match[2], text)


def main() -> int:
    """Writes the blocks, or compares them."""
    old = 0
    for document, named in blocks().items():
        path = ROOT / document
        before = path.read_text(encoding="utf-8")
        after = before
        for name, block in named.items():
            after = fill(document, after, name, block)
        if "--check" not in sys.argv[1:]:
            path.write_text(after, encoding="utf-8")
        elif after != before:
            print(f"{document} is out of date: run `python tools/generate_documents.py`", file=sys.stderr)
            old = 1
    return old


if __name__ == "__main__":
    sys.exit(main())
