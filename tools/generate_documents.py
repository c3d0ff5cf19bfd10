# SPDX-License-Identifier: Apache-2.0
"""Writes the parts of README.md that a tool prints: a real rejection, times, and the list of robots.

`python tools/generate_documents.py` writes them, `--check` only says whether they are up to date (exit 1
if not).
"""

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).parents[1]
FILES = ROOT / "examples" / "files"
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
    return textwrap.fill(", ".join(named) + ".", width=120, break_on_hyphens=False, break_long_words=False)


def times() -> str:
    """Returns the times of the first machine that was measured; all of them are in docs/benchmarks.md."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    from render import render_extract, stored_results

    return render_extract(stored_results()[0])


def blocks() -> dict[str, str]:
    """Returns the text of each generated block."""
    return {
        "rejection": f"```console\n$ lastgate {REJECTION}\n{shown(REJECTION)}```\n",
        "bench": times(),
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
