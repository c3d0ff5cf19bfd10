# SPDX-License-Identifier: Apache-2.0
"""Measures whether people who look cost the kernel anything: its times without a page, and with two browsers open.

A kernel for the Franka Panda, at the priority that `lastgate up` asks for, gets 50 chunks a second. Rounds without and
with the page take turns, so that whatever else the machine does falls on both. The times are the kernel's own, from
taking a chunk to its answer. Exit code 0 if the 99th percentile with the page is within 10 % of the one without, 1 if
it is not, 2 where it cannot be measured. The browsers draw without a graphics card, at lower priority: on a robot they
run on a user's desk.
"""

import argparse
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright

import lastgate as lg
from lastgate import _core
from lastgate.tools.cli.up import KERNEL_PRIORITY
from lastgate.tools.demo.panda_scene import table_world

RATE_HZ = 50.0
ALLOWED_RATIO = 1.10
BROWSER_NICENESS = 15
START = np.array([0.0, -0.6, 0.0, -2.2, 0.0, 1.7, 0.785])
PROGRAM = Path(sys.executable).with_name("lastgate")


def stream(kernel: lg.KernelClient, seconds: float) -> tuple[np.ndarray, np.ndarray]:
    """Sends chunks at the rate; returns the kernel's own times and those from here and back, in µs."""
    traces = _core.RingReader(kernel.instance, "traces")
    round_trips = []
    begin = time.monotonic()
    for index in range(round(seconds * RATE_HZ)):
        time.sleep(max(0.0, begin + index / RATE_HZ - time.monotonic()))
        # The arm sways, so that browsers have something to draw.
        measured = START + 0.05 * np.sin(0.05 * index)
        kernel.observe(measured)
        if index % 10 == 0:
            kernel.publish_world(lg.World(primitives=table_world(), stamp_s=time.time()))
        before = time.perf_counter()
        kernel.submit(np.linspace(measured, measured + 0.04, 16))
        round_trips.append((time.perf_counter() - before) * 1e6)
    durations = []
    while (message := traces.read(0.05)) is not None:
        trace = _core.decode_trace(message[3])
        assert trace is not None
        durations.append(trace.duration_s * 1e6)
    return np.array(durations), np.array(round_trips)


@contextlib.contextmanager
def page_in_browsers(playwright, browser_program: str, instance: str, state_dir: str, browsers: int):
    """Runs `lastgate dashboard` and opens its page so many times."""
    server = subprocess.Popen(
        [PROGRAM, "dashboard", "--port", "0", "--instance", instance],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=os.environ | {"LASTGATE_STATE_DIR": state_dir},
    )
    with contextlib.ExitStack() as opened:
        opened.callback(server.communicate)
        opened.callback(server.terminate)
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        flags = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
        pages = []
        for _ in range(browsers):
            browser = playwright.chromium.launch(executable_path=browser_program, args=flags, timeout=90_000)
            opened.callback(browser.close)
            pages.append(browser.new_page(viewport={"width": 1280, "height": 800}))
            pages[-1].goto(url)
            pages[-1].wait_for_selector("#gate-state[data-state=active]", timeout=60_000)
        yield pages


def measure(arguments: argparse.Namespace, browser_program: str) -> int:
    without, watched = [], []
    with (
        tempfile.TemporaryDirectory() as folder,
        lg.KernelClient(
            "franka_panda",
            rate_hz=RATE_HZ,
            instance=f"page-load-{os.getpid()}",
            state_dir=Path(folder),
            settings=lg.KernelSettings(on_violation="hold", on_stale="drop", sched_fifo=KERNEL_PRIORITY),
        ) as kernel,
        sync_playwright() as playwright,
    ):
        stream(kernel, 1.0)
        for number in range(arguments.rounds):
            without.append(stream(kernel, arguments.seconds))
            with page_in_browsers(
                playwright, browser_program, kernel.instance, folder, arguments.browsers
            ) as pages:
                renice_browsers(BROWSER_NICENESS)
                before_s, begin = browser_seconds(), time.monotonic()
                watched.append(stream(kernel, arguments.seconds))
                share = (browser_seconds() - before_s) / (time.monotonic() - begin)
                drawn = [
                    page.evaluate("Number(document.getElementById('scene').dataset.drawn)") for page in pages
                ]
            print(
                f"round {number + 1}: p99 {np.percentile(without[-1][0], 99):.1f} µs without, "
                f"{np.percentile(watched[-1][0], 99):.1f} µs with; frames drawn {drawn}; "
                f"browsers use {share:.0%} of a core",
                flush=True,
            )
    return report(without, watched, browsers=arguments.browsers)


def report(without: list, watched: list, *, browsers: int) -> int:
    """Prints both sides and returns the exit code."""
    sides = {"no page": without, f"{browsers} browsers": watched}
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    p99 = []
    for name, rounds in sides.items():
        for column, what in enumerate(("in the kernel", "there and back")):
            times = np.concatenate([one[column] for one in rounds])
            quantiles = np.percentile(times, (50, 99, 99.9))
            p99.append(quantiles[1])
            spelled = "  ".join(
                f"{word} {number:8.1f} µs"
                for word, number in zip(("p50", "p99", "p99.9"), quantiles, strict=True)
            )
            print(f"{name:<12} {what:<15} {spelled}  of {len(times)}")
    ratio = p99[2] / p99[0]
    print(f"p99 in the kernel with the page is {ratio:.3f} of that without; allowed {ALLOWED_RATIO:.2f}")
    print(f"p99 there and back, which is also the machine's: {p99[3] / p99[1]:.3f}")
    return 0 if ratio <= ALLOWED_RATIO else 1


def browser_processes() -> list[Path]:
    """Returns the folders in /proc of the browsers that this process started."""
    own = {os.getpid()}
    for _ in range(6):  # driver, browser, zygote, renderers: deeper than any of them nests
        for entry in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError, ValueError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                if int(fields[1]) in own:
                    own.add(int(entry.name))
    found = []
    for number in own:
        with contextlib.suppress(OSError):
            if "chromium" in (Path("/proc") / str(number) / "cmdline").read_text():
                found.append(Path("/proc") / str(number))
    return found


def renice_browsers(niceness: int) -> None:
    """Lowers the priority of the browsers that this process started."""
    for process in browser_processes():
        with contextlib.suppress(OSError):
            for thread in (process / "task").iterdir():
                os.setpriority(os.PRIO_PROCESS, int(thread.name), niceness)


def browser_seconds() -> float:
    """Returns how long the browsers have used a processor."""
    ticks = 0
    for process in browser_processes():
        with contextlib.suppress(OSError):
            user, system = (process / "stat").read_text().rpartition(")")[2].split()[11:13]
            ticks += int(user) + int(system)
    return ticks / os.sysconf("SC_CLK_TCK")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--seconds", type=float, default=20.0, help="per round and side")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--browsers", type=int, default=2)
    arguments = parser.parse_args()
    browser_program = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser_program is None:
        print("error: there is no chromium here: apt-get install chromium", file=sys.stderr)
        return 2
    return measure(arguments, browser_program)


if __name__ == "__main__":
    sys.exit(main())
