# SPDX-License-Identifier: Apache-2.0
"""Runs the fuzz targets: first the canary, to be found, then the real ones, which must find nothing.

By time, or, with `--inputs`, until the kernel's target has been given so many inputs; both print what was counted.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# A run by count is cut into slices: each prints where it stands, and libFuzzer's memory starts afresh.
SLICE_INPUTS = 500_000


def fuzz(target: Path, *, limits: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs one target on the corpus it has so far; findings go to `folder`."""
    corpus = folder / f"{target.name}-corpus"
    corpus.mkdir(exist_ok=True)
    options = [
        *limits,
        "-max_len=4096",
        "-len_control=0",  # long inputs from the start: a chunk with a world needs hundreds of bytes
        "-entropic=0",  # its bookkeeping costs a fifth of the inputs
        "-timeout=10",
        "-rss_limit_mb=2048",
        "-print_final_stats=1",
        f"-artifact_prefix={folder}/{target.name}-",
    ]
    return subprocess.run([target, *options, corpus], capture_output=True, text=True, check=False)


def stat(output: str, name: str) -> str:
    """Returns one of libFuzzer's final statistics."""
    return next((line.split()[-1] for line in output.splitlines() if line.startswith(f"stat::{name}")), "?")


def report_finding(done: subprocess.CompletedProcess[str], target: Path, folder: Path) -> None:
    """Keeps the input that broke something, and prints what the sanitizers said."""
    kept = Path("reports") / "fuzz"
    kept.mkdir(parents=True, exist_ok=True)
    for artifact in folder.glob(f"{target.name}-*-*"):
        if artifact.is_file():
            (kept / artifact.name).write_bytes(artifact.read_bytes())
    print(done.stderr[-6000:], file=sys.stderr)
    print(f"error: {target.name} found something; the input is in {kept}", file=sys.stderr)


def find_canary(target: Path, *, seconds: int, folder: Path) -> bool:
    """Returns whether the planted bug is found."""
    canary = fuzz(target, limits=[f"-max_total_time={seconds}"], folder=folder)
    if "planted bug of the canary" not in canary.stderr:
        print(canary.stderr[-3000:], file=sys.stderr)
        print(f"error: {target.name}: not found within {seconds} s", file=sys.stderr)
        return False
    inputs = stat(canary.stderr, "number_of_executed_units")
    print(f"{target.name}: planted bug found after {inputs} inputs", flush=True)
    return True


def fuzz_for(target: Path, *, seconds: int, folder: Path) -> bool:
    """Returns whether nothing is found for so long."""
    done = fuzz(target, limits=[f"-max_total_time={seconds}"], folder=folder)
    if done.returncode != 0:
        report_finding(done, target, folder)
        return False
    inputs = stat(done.stderr, "number_of_executed_units")
    print(f"{target.name}: nothing found in {inputs} inputs, {seconds} s", flush=True)
    return True


def fuzz_inputs(target: Path, *, count: int, folder: Path) -> bool:
    """Returns whether nothing is found in so many inputs."""
    inputs = messages = passed = 0
    begun = time.monotonic()
    while inputs < count:
        done = fuzz(target, limits=[f"-runs={min(SLICE_INPUTS, count - inputs)}"], folder=folder)
        if done.returncode != 0:
            report_finding(done, target, folder)
            return False
        # What the corpus holds is run again at the start of a slice, and counts as what it is: an input.
        inputs += int(stat(done.stderr, "number_of_executed_units"))
        fed = re.search(r"^fed: (\d+) messages, (\d+) passed", done.stderr, flags=re.MULTILINE)
        if fed is None:
            raise SystemExit(f"error: {target.name} does not say how many messages it was fed")
        messages, passed = messages + int(fed[1]), passed + int(fed[2])
        seconds = time.monotonic() - begun
        print(
            f"{target.name}: nothing found in {inputs} inputs of {messages} messages, {passed} of them passed, "
            f"{seconds:.0f} s, {inputs / seconds:.0f} inputs/s",
            flush=True,
        )
    return True


def main() -> int:
    """Returns 1 when a real target finds something or the canary does not."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--inputs", type=int, help="Only the kernel's target, until it was given so many.")
    arguments = parser.parse_args()
    core, kernel = (arguments.build / room / "fuzz" for room in ("core", "kernel"))
    with tempfile.TemporaryDirectory(prefix="lastgate-fuzz-") as name:
        folder = Path(name)
        if arguments.inputs is not None:
            found = find_canary(kernel / "fuzz_kernel_canary", seconds=arguments.seconds, folder=folder)
            return (
                0
                if found and fuzz_inputs(kernel / "fuzz_kernel", count=arguments.inputs, folder=folder)
                else 1
            )
        for target in (core / "fuzz_canary", kernel / "fuzz_kernel_canary"):
            if not find_canary(target, seconds=arguments.seconds, folder=folder):
                return 1
        # The text reader is small; a quarter of the time covers it.
        shares = ((core / "fuzz_check", 1.0), (core / "fuzz_config", 0.25), (kernel / "fuzz_kernel", 1.0))
        clean = [
            fuzz_for(target, seconds=max(1, round(share * arguments.seconds)), folder=folder)
            for target, share in shares
        ]
    return 0 if all(clean) else 1


if __name__ == "__main__":
    sys.exit(main())
