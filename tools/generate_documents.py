# SPDX-License-Identifier: Apache-2.0
"""Writes the parts of README.md that a tool prints: a real rejection, what was measured, the list of robots.

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
    """Returns the names of the fleet in one paragraph, each with its number of joints."""
    lines = shown("robot list", messages=False).splitlines()
    named = [f"{name} ({joints})" for name, joints, *_ in (line.split() for line in lines)]
    return wrapped(", ".join(named) + ".")


def error_rates() -> str:
    """Returns what the gate misses and refuses of random configurations, from the stored results."""
    judged = {
        name: result["errors"]["random"]["tier 1+2: and pieces"]
        for name, result in json.loads(ERROR_RATES.read_text(encoding="utf-8")).items()
    }
    asked = {found["touching"] + found["clear"] for found in judged.values()}
    missed = sum(found["misses"] for found in judged.values())
    refused = [f"{name} {found['phantoms'] / found['clear']:.2%}" for name, found in judged.items()]
    return (
        f"`make errors`, against the collision meshes, {min(asked):,} random configurations each ([table with "
        f"peers](docs/error-rates.md)): **{missed} missed**; refused of what is clear: {', '.join(refused)}."
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
        f"`make bench`, one core ([table](docs/benchmarks.md)): certifying 16 rows among 14 obstacles takes {chunks}; "
        f"MuJoCo takes {each('mujoco_rows_14')} times as long for the rows alone. A configuration of a batch is "
        f"{each('mujoco_configuration')} times as fast as in MuJoCo, {each('pinocchio_configuration')} times as with "
        "Pinocchio and Coal from Python."
    )


def wrapped(paragraph: str, *, indent: str = "") -> str:
    """Returns a paragraph in lines as long as the others."""
    return textwrap.fill(
        paragraph, width=120, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False
    )


def blocks() -> dict[str, str]:
    """Returns the text of each generated block."""
    return {
        "rejection": f"```console\n$ lastgate {REJECTION}\n{shown(REJECTION)}```\n",
        "measured": "".join(f"{wrapped(f'- {line}', indent='  ')}\n" for line in (error_rates(), speed())),
        "robots": f"{robots()}\n",
    }


def fill(text: str, name: str, block: str) -> str:
    """Returns the document with one block replaced; a document without its marks is refused."""
    pattern = re.compile(rf"(<!-- generated: {name} -->\n).*?(<!-- end of generated -->)", re.DOTALL)
    if not pattern.search(text):
        sys.exit(f"error: README.md has no block `<!-- generated: {name} -->` … `<!-- end of generated -->`")
    return pattern.sub(lambda match: match[1] + block + match[2], text)


def main() -> int:
    """Writes the blocks, or compares them."""
    path = ROOT / "README.md"
    before = path.read_text(encoding="utf-8")
    after = before
    for name, block in blocks().items():
        after = fill(after, name, block)
    if "--check" in sys.argv[1:]:
        if after != before:
            print("README.md is out of date: run `python tools/generate_documents.py`", file=sys.stderr)
        return int(after != before)
    path.write_text(after, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
