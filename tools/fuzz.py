# SPDX-License-Identifier: Apache-2.0
"""Runs the fuzz targets: first the canary, to be found, then the real ones, which must find nothing."""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path


def fuzz(target: Path, *, seconds: int, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs one target for a time on a fresh corpus; findings go to `folder`."""
    corpus = folder / f"{target.name}-corpus"
    corpus.mkdir()
    options = [
        f"-max_total_time={seconds}",
        "-max_len=4096",
        "-len_control=0",  # long inputs from the start: a chunk with a world needs hundreds of bytes
        "-timeout=10",
        "-rss_limit_mb=2048",
        "-print_final_stats=1",
        f"-artifact_prefix={folder}/{target.name}-",
    ]
    return subprocess.run([target, *options, corpus], capture_output=True, text=True, check=False)


def stat(output: str, name: str) -> str:
    """Returns one of libFuzzer's final statistics."""
    return next((line.split()[-1] for line in output.splitlines() if line.startswith(f"stat::{name}")), "?")


def main() -> int:
    """Returns 1 when a real target finds something or the canary does not."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--seconds", type=int, default=60)
    arguments = parser.parse_args()
    core, kernel = (arguments.build / room / "fuzz" for room in ("core", "kernel"))
    with tempfile.TemporaryDirectory(prefix="lastgate-fuzz-") as name:
        folder = Path(name)
        for target in (core / "fuzz_canary", kernel / "fuzz_kernel_canary"):
            canary = fuzz(target, seconds=arguments.seconds, folder=folder)
            if "planted bug of the canary" not in canary.stderr:
                print(canary.stderr[-3000:], file=sys.stderr)
                print(f"error: {target.name}: not found within {arguments.seconds} s", file=sys.stderr)
                return 1
            inputs = stat(canary.stderr, "number_of_executed_units")
            print(f"{target.name}: planted bug found after {inputs} inputs", flush=True)
        failed = False
        # The text reader is small; a quarter of the time covers it.
        shares = ((core / "fuzz_check", 1.0), (core / "fuzz_config", 0.25), (kernel / "fuzz_kernel", 1.0))
        for path, share in shares:
            target = path.name
            seconds = max(1, round(share * arguments.seconds))
            done = fuzz(path, seconds=seconds, folder=folder)
            inputs = stat(done.stderr, "number_of_executed_units")
            if done.returncode == 0:
                print(f"{target}: nothing found in {inputs} inputs, {seconds} s", flush=True)
                continue
            failed = True
            kept = Path("reports") / "fuzz"
            kept.mkdir(parents=True, exist_ok=True)
            for artifact in folder.glob(f"{target}-*-*"):
                if artifact.is_file():
                    (kept / artifact.name).write_bytes(artifact.read_bytes())
            print(done.stderr[-6000:], file=sys.stderr)
            print(f"error: {target} found something; the input is in {kept}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
