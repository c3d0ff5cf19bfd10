# SPDX-License-Identifier: Apache-2.0
"""`lastgate record`, `replay`, `salvage`, `shrink`, and `explain --record`: the black box on the command line."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lastgate.contracts.printable import printable
from lastgate.tools.cli.messages import print_error, print_hint, print_note, print_warning

if TYPE_CHECKING:
    from lastgate.tools.telemetry.recording_reader import RecordedCheck, Recording

# How long a kernel may be silent before it is asked whether it still lives.
_PERIOD_S = 0.2
_DIFFERENCES_SHOWN = 5
_REJECTIONS_SHOWN = 12

RecordingPath = Annotated[Path, typer.Argument(metavar="F", help="A recording, .mcap.")]
OneCheck = Annotated[str, typer.Argument(metavar="F[#N]", help="A recording, and which check of it.")]


def record_command(
    *,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="F", help="The .mcap file to write.")],
    robot: Annotated[
        str | None,
        typer.Option(metavar="R", help="The kernel's robot, or its robot.yaml; else the only kernel's."),
    ] = None,
    rate_hz: Annotated[
        float | None,
        typer.Option(metavar="N", help="The kernel's steps per second; else found by its model's digest."),
    ] = None,
    skill: Annotated[Path | None, typer.Option(metavar="S", help="The kernel's skill.")] = None,
    instance: Annotated[
        str | None, typer.Option(metavar="NAME", help="The kernel's own name; else its robot's.")
    ] = None,
    last_s: Annotated[
        float | None,
        typer.Option(
            "--last",
            metavar="SECONDS",
            help="Write only when something is rejected, and then what came so long before it.",
        ),
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(metavar="N", help="End after so long; else at Ctrl-C or SIGTERM.")
    ] = None,
) -> int:
    """Writes every verdict of a running kernel with all that it depended on, until it is told to end.

    The kernel never waits for this: what is missed is counted and said at the end.
    """
    from lastgate import _core
    from lastgate.contracts import ROSConfigError
    from lastgate.gate import Gate
    from lastgate.kernel.process import only_kernel
    from lastgate.robots import load_robot, robot_names
    from lastgate.tools.cli.skill_file import load_skill
    from lastgate.tools.cli.until_asked import until_asked
    from lastgate.tools.telemetry.kernel_rate import rate_of_kernel
    from lastgate.tools.telemetry.kernel_recorder import KernelRecorder

    if rate_hz is not None and not rate_hz > 0.0:
        raise ROSConfigError("`--rate-hz` must be a positive number")
    if robot is None:
        # Unless it was told another one, a kernel goes by its robot's name.
        robot = instance = instance or only_kernel()
        if robot not in robot_names():
            raise ROSConfigError(
                f"no robot of the robot library is called `{robot}`: say `--robot path/to/robot.yaml`"
            )
    description = load_robot(robot)
    name = instance or description.name
    manifest = None if skill is None else load_skill(skill)
    if rate_hz is None:
        rate_hz = rate_of_kernel(name, description, manifest)
    gate = Gate(description, step_s=1.0 / rate_hz, skill=manifest)
    with KernelRecorder(name, gate, output, last_s=last_s) as recorder, until_asked(seconds) as go_on:
        print_note(f"recording `{name}` to `{output}`")
        while go_on():
            if not recorder.record(_PERIOD_S) and not _core.kernel_is_alive(name):
                print_warning(f"the kernel `{name}` is gone")
                break
    print(f"{recorder.written} verdicts written")
    print_note(f"the chain ends in {recorder.chain_head}: `lastgate replay {output} --head` compares it")
    if recorder.lost:
        print_warning(f"{recorder.lost} verdicts were overwritten before they could be read")
    return 0


def salvage_command(
    recording: RecordingPath,
    *,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="F", help="The .mcap file to write.")],
) -> int:
    """Makes a recording of the beginning of one that was not closed, up to where it is cut off or damaged."""
    from lastgate.tools.telemetry.salvage import salvage

    found = salvage(recording, output)
    print(f"{found.checks} verdicts are whole; {found.lost_bytes} bytes behind them are lost")
    return 0


def replay_command(
    recording: RecordingPath,
    *,
    head: Annotated[
        str | None,
        typer.Option(metavar="DIGEST", help="The last digest of the chain, as `lastgate record` printed it."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")] = False,
) -> int:
    """Runs every verdict again and compares it bit for bit. Exit 0 all the same, 1 one differs, 2 cannot tell."""
    from lastgate.contracts import ROSConfigError
    from lastgate.gate import chosen_simd
    from lastgate.tools.cli.progress_bar import progress_bar
    from lastgate.tools.telemetry.recording_reader import read_recording
    from lastgate.tools.telemetry.replay import replay

    with progress_bar("replay") as show:
        show("reading", 0.0)
        read = read_recording(recording)
        done = 0

        def count() -> None:
            nonlocal done
            done += 1
            if done % 256 == 0:
                show("comparing", done / len(read.checks))

        outcome = replay(read, on_check=count)
    if not outcome.same and not outcome.differences:
        why = f": {outcome.left_out[0][1]}" if outcome.left_out else ""
        raise ROSConfigError(f"`{recording}` holds no verdict that can be run again{why}")
    if read.salvaged:
        print_note(f"`{recording}` was salvaged: what came after its last verdict is lost")
    if as_json:
        print(
            json.dumps(
                {
                    "lanes": chosen_simd(),
                    "salvaged": read.salvaged,
                    "bound": read.bound,
                    "chain_head": read.chain_head,
                    "same": outcome.same,
                    "differences": [
                        {"number": d.number, "recorded": d.recorded, "repeated": d.repeated}
                        for d in outcome.differences
                    ],
                    "left_out": [{"number": n, "why": why} for n, why in outcome.left_out],
                },
                indent=2,
            )
        )
    else:
        _print_same(read, outcome.same, chosen_simd())
        for difference in outcome.differences[:_DIFFERENCES_SHOWN]:
            print(f"check {difference.number} differs")
            print(printable(f"  recorded: {difference.recorded}"))
            print(printable(f"  repeated: {difference.repeated}"))
        if len(outcome.differences) > _DIFFERENCES_SHOWN:
            print(f"{len(outcome.differences) - _DIFFERENCES_SHOWN} more differ")
    if outcome.left_out:
        number, why = outcome.left_out[0]
        print_note(f"{len(outcome.left_out)} verdicts cannot be run again; the first is {number}: {why}")
    sys.stdout.flush()
    if head is not None and head != read.chain_head:
        print_error(f"the chain of `{recording}` ends in `{read.chain_head or 'nothing'}`, not in `{head}`")
        return 1
    if outcome.differences:
        print_error(f"{len(outcome.differences)} of {len(read.checks)} verdicts came out differently")
        return 1
    return 0


def _print_same(read: "Recording", same: int, simd: str) -> None:
    if not read.bound:
        print(f"{same} verdicts come out the same (SIMD build {simd}); inputs not bound")
        print_note("it was recorded without digests: inputs that were changed afterwards are not noticed")
        return
    print(f"{same} verdicts are the same to the last bit (SIMD build {simd})")
    print(f"each is bound to its inputs and to the one before; the chain ends in {read.chain_head}")


def shrink_command(
    recording: OneCheck,
    *,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write the test there.")
    ] = None,
) -> int:
    """Prints the smallest chunk, world and pair that is still rejected, as a pytest test.

    Without `#N` it takes the first check of the recording that was rejected.
    """
    from lastgate.contracts import ROSConfigError
    from lastgate.tools.telemetry.shrink import shrink
    from lastgate.tools.telemetry.shrunk_test import pytest_text

    path, read, check = find_check(recording)
    model = read.models[check.model_digest]
    case, violation = shrink(check, model.gate())
    text = pytest_text(case, violation, model=model, origin=f"{path.name}#{check.number}")
    if output is None:
        print(text, end="")
    else:
        try:
            output.write_text(text, encoding="utf-8")
        except OSError as error:
            raise ROSConfigError(f"cannot write `{output}`: {error.strerror}") from None
    return 0


def explain_recorded(recording: str, *, png: Path | None, html: Path | None, as_json: bool) -> int:
    """Prints sentence and evidence of a rejected check and writes its picture, flat or to be turned."""
    from lastgate.contracts import ROSConfigError
    from lastgate.robots import robot_names
    from lastgate.tools.cli.view import write_checked_view
    from lastgate.tools.telemetry.rejection_report import rejection_report

    path, read, check = find_check(recording)
    gate = read.models[check.model_digest].gate()
    verdict = check.run(gate)
    assert check.chunk is not None  # `run` has refused it otherwise
    report = rejection_report(gate, verdict, chunk=check.chunk, state=check.state, world=check.world)
    if verdict.to_bytes() != check.verdict:
        print_warning(f"check {check.number} comes out differently today: `lastgate replay {path}`")
    target = html if html is not None else png if png is not None else Path(f"{path.stem}-{check.number}.png")
    if html is not None:
        name = gate.robot.name if gate.robot.name in robot_names() else None
        write_checked_view(
            html, gate, verdict, robot_name=name, chunk=check.chunk, state=check.state, world=check.world
        )
    if png is not None or html is None:
        picture = report.png()
        target = png if png is not None else target
        try:
            target.write_bytes(picture)
        except OSError as error:
            raise ROSConfigError(f"cannot write `{target}`: {error.strerror}") from None
    evidence = json.loads(report.evidence)
    if as_json:
        print(
            json.dumps(
                {
                    "number": check.number,
                    "sentence": report.sentence,
                    "evidence": evidence,
                    "explanation": verdict.explain(),
                    "picture": str(target),
                },
                indent=2,
            )
        )
    else:
        print(printable(report.sentence))
        print(json.dumps(evidence, indent=2))
        print_note(f"the picture is `{target}`")
        print_note(f"this is check {check.number}; rejected: {_rejected_numbers(read)}")
        print_hint(f"`lastgate explain {verdict.violations[0].code}` says what to do")
    return 0


def _rejected_numbers(read: "Recording") -> str:
    """Returns the numbers of the checks that were rejected, the last ones where there are many."""
    numbers = [str(check.number) for check in read.checks if not check.accepted]
    left_out = f"{len(numbers) - _REJECTIONS_SHOWN} others, " if len(numbers) > _REJECTIONS_SHOWN else ""
    return left_out + ", ".join(numbers[-_REJECTIONS_SHOWN:]) if numbers else "none"


def find_check(recording: str) -> tuple[Path, "Recording", "RecordedCheck"]:
    """Reads `F#N`, or `F` for the first check that was rejected.

    Raises:
        ROSConfigError: There is no such file or check, or the check was accepted.
    """
    from lastgate.contracts import ROSConfigError
    from lastgate.tools.telemetry.recording_reader import read_recording

    name, _, number = recording.rpartition("#")
    if not name or not (number.isascii() and number.isdigit()):
        name, number = recording, ""
    path = Path(name)
    read = read_recording(path)
    if number:
        check = read.check(int(number))
        if check.accepted:
            raise ROSConfigError(
                f"check {check.number} of `{path}` was accepted\n\nhint: rejected: {_rejected_numbers(read)}"
            )
        return path, read, check
    rejected = next((check for check in read.checks if not check.accepted), None)
    if rejected is None:
        raise ROSConfigError(f"nothing was rejected in `{path}`")
    return path, read, rejected
