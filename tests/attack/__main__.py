# SPDX-License-Identifier: Apache-2.0
"""Attacks the gate for a time and prints what became of every case: `make attack ATTACK_SECONDS=60 ATTACK_SEED=1`.

Exit code 0: no accepted violation, and nothing that is plainly clear was rejected. 1: the smallest reproductions are
printed, and written as JSON and as tests.
"""

import argparse
import json
import sys
from dataclasses import astuple, fields
from pathlib import Path

from attack.campaign import Campaign, Hit, Tally
from attack.shrink import snippet

REPRODUCTIONS_MAX = 8


def main() -> int:
    parser = argparse.ArgumentParser(prog="attack", description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--modes", default="", help="comma-separated; all without it")
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("build/attack"), help="where reproductions go"
    )
    arguments = parser.parse_args()
    campaign = Campaign(seed=arguments.seed)
    if arguments.modes:
        campaign.modes = tuple(arguments.modes.split(","))
    campaign.run(seconds=arguments.seconds, on_progress=show_progress if sys.stderr.isatty() else None)
    print(table(campaign))
    failures = campaign.failures()
    if not failures:
        print(f"seed {arguments.seed}: no accepted violation")
        return 0
    counts: dict[str, int] = {}
    for hit in campaign.hits:
        counts[hit.promise] = counts.get(hit.promise, 0) + 1
    print(f"seed {arguments.seed}: {len(failures)} failures: {counts}")
    print("\n".join(failures[:40]))
    write_reproductions(campaign, arguments.output)
    return 1


def show_progress(campaign: Campaign, share: float) -> None:
    width = 30
    done = int(share * width)
    examined = sum(tally.examined for tally in campaign.tallies.values())
    bar = "#" * done + "." * (width - done)
    print(f"\r[{bar}] {examined} accepted and examined, {len(campaign.hits)} hits", end="", file=sys.stderr)


def table(campaign: Campaign) -> str:
    """Returns what became of the cases, one line per mode and one for all."""
    names = [field.name.replace("_", " ") for field in fields(Tally)]
    total = Tally(*(sum(column) for column in zip(*map(astuple, campaign.tallies.values()), strict=True)))
    rows = [*campaign.tallies.items(), ("all", total)]
    lines = [f"{'mode':<17}" + "".join(f"{name:>{len(name) + 2}}" for name in names)]
    for mode, tally in rows:
        cells = zip(names, astuple(tally), strict=True)
        lines.append(f"{mode:<17}" + "".join(f"{value:>{len(name) + 2}}" for name, value in cells))
    return "\n".join(lines)


def write_reproductions(campaign: Campaign, folder: Path) -> None:
    """Shrinks the worst hit of every mode and promise, and writes it down; the first few are printed."""
    worst: dict[tuple[str, str], Hit] = {}
    for hit in campaign.hits:
        known = worst.setdefault((hit.promise, hit.mode), hit)
        if hit.slack < known.slack:
            worst[hit.promise, hit.mode] = hit
    folder.mkdir(parents=True, exist_ok=True)
    for hit in list(worst.values())[:REPRODUCTIONS_MAX]:
        case = campaign.reproduction(hit)
        name = "".join(
            letter if letter.isalnum() else "_" for letter in f"{hit.promise}_{hit.mode}_{hit.number}"
        ).lower()
        (folder / f"{name}.json").write_text(json.dumps(case, indent=1) + "\n")
        (folder / f"test_{name}.py").write_text(snippet(case, hit.promise, name))
        print(f"\n== {hit.promise} in {hit.mode}: {folder / name}.json\n{json.dumps(case)}")
        print(f"\n{snippet(case, hit.promise, name)}")


if __name__ == "__main__":
    sys.exit(main())
