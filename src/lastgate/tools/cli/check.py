# SPDX-License-Identifier: Apache-2.0
"""`lastgate check`: one chunk file, one verdict. Exit 0 accepted, 1 rejected, 2 could not decide."""

import json
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lastgate.contracts.printable import printable
from lastgate.tools.cli.messages import paint, print_hint, print_note, print_undecided
from lastgate.tools.cli.options import RobotOption, SkillOption, WorldOption
from lastgate.tools.cli.rate import require_rate

if TYPE_CHECKING:
    from lastgate.contracts.action import ActionChunk
    from lastgate.gate import Gate
    from lastgate.gate.verdict import Verdict, Violation
    from lastgate.tools.cli.input_files import StateFile

STEP_S_DEFAULT = 0.02
HtmlOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write the chunk as a view that turns: one file for a browser."),
]


def check_command(
    chunk: Annotated[Path, typer.Argument(metavar="CHUNK", help="The chunk: .npy, .npz, .csv or .json.")],
    *,
    robot: RobotOption,
    world: WorldOption = None,
    no_world: Annotated[
        bool, typer.Option("--no-world", help="Leave obstacles unchecked on purpose, without the note.")
    ] = False,
    state: Annotated[
        Path | None, typer.Option(metavar="S", help="The measured state: .json, .yaml, .npy or .csv.")
    ] = None,
    step_s: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help=f"From one step to the next; {STEP_S_DEFAULT} if not given."),
    ] = None,
    rate_hz: Annotated[
        float | None, typer.Option(metavar="HZ", help="The same, as steps per second.")
    ] = None,
    now_s: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="The time to evaluate stamps by; else the newest stamp."),
    ] = None,
    mode: Annotated[str | None, typer.Option(metavar="M", help="Control mode by name or number.")] = None,
    ee: Annotated[
        str | None, typer.Option(metavar="NAME", help="End effector of Cartesian and gripper steps.")
    ] = None,
    frame: Annotated[str | None, typer.Option(metavar="F", help="Axes of Cartesian steps.")] = None,
    skill: SkillOption = None,
    certificate: Annotated[
        Path | None,
        typer.Option(
            metavar="F", help="Write why an accepted chunk is clear; `lastgate verify F` checks it."
        ),
    ] = None,
    html: HtmlOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the verdict as JSON.")] = False,
) -> int:
    """Checks one chunk, from the measured state through its last step, between the steps too.

    Without --state the first step is taken as the state, and without --world nothing but the robot itself
    is checked; both are said on stderr, and the verdict lists what was not checked.
    """
    from lastgate.contracts.exceptions import ROSConfigError

    try:
        verdict, report = _decide(
            chunk_path=chunk,
            robot_name=robot,
            world_path=world,
            no_world=no_world,
            state_path=state,
            step_s=_step(step_s, rate_hz),
            now_s=now_s,
            mode=mode,
            ee=ee,
            frame=frame,
            skill_path=skill,
            certificate_path=certificate,
            html_path=html,
        )
    except ROSConfigError as error:
        if not as_json:
            raise
        print_undecided(error, accepted=False)
        return 2
    if as_json:
        print(json.dumps(report, indent=2, allow_nan=False))
    else:
        _print_verdict(verdict, rows=report["rows"], step_s=report["step_s"])
    return 0 if verdict.accepted else 1


def _step(step_s: float | None, rate_hz: float | None) -> float:
    from lastgate.contracts.exceptions import ROSConfigError

    if step_s is not None and rate_hz is not None:
        raise ROSConfigError(
            "`--step-s` and `--rate-hz` say the same thing twice\n\nhint: leave one of them out"
        )
    require_rate(rate_hz)
    if rate_hz is not None:
        return 1.0 / rate_hz
    return STEP_S_DEFAULT if step_s is None else step_s


def _decide(
    *,
    chunk_path: Path,
    robot_name: str,
    world_path: Path | None,
    no_world: bool,
    state_path: Path | None,
    step_s: float,
    now_s: float | None,
    mode: str | None,
    ee: str | None,
    frame: str | None,
    skill_path: Path | None,
    certificate_path: Path | None,
    html_path: Path | None,
) -> tuple["Verdict", dict[str, Any]]:
    from lastgate.contracts import ControlMode, ROSConfigError
    from lastgate.contracts.action import ActionChunk
    from lastgate.gate import Gate
    from lastgate.robots import load_robot
    from lastgate.tools.cli.certificate_file import save_certificate
    from lastgate.tools.cli.gate_inputs import state_of_file, world_of_file
    from lastgate.tools.cli.input_files import load_chunk, load_state, load_world, parse_mode
    from lastgate.tools.cli.skill_file import load_skill
    from lastgate.tools.cli.view import write_checked_view

    if world_path is not None and no_world:
        raise ROSConfigError(
            "`--world` and `--no-world` contradict each other\n\nhint: leave one of them out"
        )
    robot = load_robot(robot_name)
    gate = Gate(robot, step_s=step_s, skill=None if skill_path is None else load_skill(skill_path))
    read = load_chunk(chunk_path, joint_names=gate.joint_names)
    in_file = ControlMode.JOINT_POSITION if read.mode is None else read.mode
    chunk = ActionChunk(
        read.rows,
        mode=in_file if mode is None else parse_mode(mode, where="`--mode`"),
        ee_name=(read.ee_name or "") if ee is None else ee,
        frame_id=(read.frame_id or "") if frame is None else frame,
    )
    notes: list[str] = []
    state_file = None if state_path is None else load_state(state_path, joint_names=gate.joint_names)
    world_file = None if world_path is None else load_world(world_path, robot=robot)
    stamps = [f.stamp_s for f in (state_file, world_file) if f is not None and f.stamp_s is not None]
    now = now_s if now_s is not None else max(stamps, default=0.0)
    if state_file is None:
        state_file = _state_from_first_row(chunk, gate, notes)
    state = state_of_file(state_file, now)
    world = world_of_file(world_file, path=world_path, robot=robot, now_s=now, no_world=no_world, notes=notes)
    for note in notes:
        print_note(note)
    verdict = gate.check(chunk, state=state, world=world, now_s=now)
    if certificate_path is not None and verdict.accepted:
        written = gate.certify(chunk, state=state, world=world, now_s=now)
        save_certificate(written, certificate_path)
        print_note(f"{certificate_path}: {written.record_count} records, checked by `lastgate verify`")
    if html_path is not None:
        write_checked_view(
            html_path, gate, verdict, robot_name=robot_name, chunk=chunk, state=state, world=world
        )
    report = _report(verdict, chunk=chunk, chunk_path=chunk_path, robot_name=robot.name, step_s=step_s)
    return verdict, report | {"notes": notes}


def _report(
    verdict: "Verdict", *, chunk: "ActionChunk", chunk_path: Path, robot_name: str, step_s: float
) -> dict[str, Any]:
    from lastgate.contracts import ControlMode

    return {
        "accepted": verdict.accepted,
        "decided": True,
        "chunk": str(chunk_path),
        "robot": robot_name,
        "mode": chunk.mode.name if isinstance(chunk.mode, ControlMode) else int(chunk.mode),
        "rows": len(chunk.rows),
        "step_s": step_s,
        "stage": verdict.stage,
        "violations": [_violation_as_json(violation) for violation in verdict.violations],
        "min_clearance_m": verdict.min_clearance_m if verdict.accepted else None,
        "certified_rows": verdict.certified_rows,
        "evaluations": verdict.evaluations,
        "unchecked": _left_out(verdict),
        "notes": [],  # its place in the file; the caller has them
        "world_id": verdict.world_id,
        "model_digest": verdict.model_digest,
        "explanation": verdict.explain(),
    }


def _state_from_first_row(chunk: Any, gate: "Gate", notes: list[str]) -> "StateFile":
    from lastgate.contracts import ControlMode, ROSConfigError
    from lastgate.tools.cli.input_files import StateFile

    holds_positions = chunk.mode in (
        ControlMode.JOINT_POSITION,
        ControlMode.JOINT_TRAJECTORY,
        ControlMode.DEX_HAND_JOINT,
    )
    if not holds_positions:
        name = chunk.mode.name if isinstance(chunk.mode, ControlMode) else str(chunk.mode)
        raise ROSConfigError(
            f"steps of {name} hold no joint positions to start from, and no state was given\n\n"
            'hint: pass the measured state: `--state state.json` with {"positions": [...]}'
        )
    notes.append(
        "no --state was given: step 0 is taken as the measured state, "
        "so the way from the robot to step 0 was NOT checked"
    )
    if not len(chunk.rows) or chunk.rows.shape[1] != gate.n_dof:
        # The gate rejects the shape before it checks the state.
        return StateFile(positions=chunk.rows.reshape(-1)[: gate.n_dof])
    return StateFile(positions=chunk.rows[0])


def _left_out(verdict: "Verdict") -> list[str]:
    return [flag.name.lower() for flag in verdict.unchecked if flag.name]


def _violation_as_json(violation: "Violation") -> dict[str, Any]:
    from dataclasses import asdict

    def finite(value: Any) -> Any:
        return None if isinstance(value, float) and not math.isfinite(value) else value

    values = {key: finite(value) for key, value in asdict(violation).items()}
    return {
        **values,
        "code": str(violation.code),
        "kind": violation.kind.name,
        "sentence": violation.sentence(),
        # What a FailureTrigger would carry; written by the schema, so that its reader takes it.
        "evidence": violation.evidence().model_dump(mode="json"),
    }


def _print_verdict(verdict: "Verdict", *, rows: int, step_s: float) -> None:
    if verdict.accepted:
        print(f"{paint('accepted', 'green', stream=sys.stdout)}: {rows} steps, {step_s:g} s apart")
        clearance = f"at least {verdict.min_clearance_m:.4f} m beyond its margin"
        print(f"  every checked pair keeps {clearance}, at every instant")
    else:
        violation = verdict.violations[0]
        where = "" if violation.step is None else f" at step {violation.step} of {rows}"
        print(f"{paint('rejected', 'red', stream=sys.stdout)}: {violation.code}{where}")
        print(f"  {printable(violation.sentence())}")
        if verdict.certified_rows:
            print(f"  the first {verdict.certified_rows} of {rows} steps were certified clear")
    if verdict.stage > 5 and _left_out(verdict):
        print(f"  not checked: {', '.join(_left_out(verdict))}")
    if not verdict.accepted:
        sys.stdout.flush()
        print_hint(f"`lastgate explain {verdict.violations[0].code}`")
