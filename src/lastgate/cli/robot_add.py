# SPDX-License-Identifier: Apache-2.0
"""`lastgate robot add`: a robot of one's own in one command."""

from __future__ import annotations

import math
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lastgate.cli.messages import print_error, print_hint, print_warning
from lastgate.contracts.exceptions import ROSConfigError

if TYPE_CHECKING:
    from lastgate.contracts.robot import RobotDescription

# How a note ends that makes a robot useless until somebody decides about the pair (lowering/allowed_pairs.py).
REFUSES_EVERYTHING = "refuses everything"
# Pairs named per warning: enough to recognise a hand or a neck, few enough to be read.
_SUBJECTS_SHOWN = 3
# No arm turns a joint further from zero than this, nor faster; limits in degrees mostly lie beyond both.
_TURN_RAD_MAX = 4.0 * math.pi
_TURN_RAD_S_MAX = 20.0 * math.pi


def add_command(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What the robot is called.")],
    *,
    urdf: Annotated[
        str | None, typer.Option(metavar="REF", help="The URDF: `file:`, `pkg:` or `rd:`.")
    ] = None,
    srdf: Annotated[
        str | None,
        typer.Option(metavar="REF", help="An SRDF whose disabled pairs are taken over, as claims."),
    ] = None,
    mjcf: Annotated[
        str | None,
        typer.Option(
            metavar="REF", help="The MJCF: lowered where there is no URDF, only noted where there is one."
        ),
    ] = None,
    output_dir: Annotated[
        Path, typer.Option("--output-dir", "-o", metavar="DIR", help="Folder of the manifest.")
    ] = Path(),
    visual: Annotated[
        list[str] | None,
        typer.Option(metavar="LINK", help="Cover a link's visual shape, where it has no other. Repeatable."),
    ] = None,
    waive: Annotated[
        list[str] | None,
        typer.Option(metavar="LINK=REASON", help="Let a link go without a volume. Repeatable."),
    ] = None,
    velocity_limit: Annotated[
        list[str] | None,
        typer.Option(
            metavar="JOINT=VALUE",
            help="Rad/s or m/s, where the description states none; `arm_*=2.0` for several. Repeatable.",
        ),
    ] = None,
    samples: Annotated[int, typer.Option(min=100, help="Configurations for the error rates.")] = 2000,
) -> None:
    """Writes manifest, volumes, pairs, joint frames and report of a robot; prints the manifest's path.

    Exits with 2, having written nothing, if anything about the description is wrong or a proof fails.
    """
    from lastgate.lowering.manifest_splice import read_manifest

    try:
        path = output_dir / "robot.yaml"
        if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name):
            # Files, shared memory and the latch are called after it.
            raise ROSConfigError(f"a robot's name is 1 to 64 letters, digits, `_` and `-`, got `{name}`")
        if path.exists():
            raise ROSConfigError(
                f"`{path}` is already there; `lastgate collision lower --robot {path}` updates it"
            )
        if urdf is None and mjcf is None:
            raise ROSConfigError("say what describes the robot: `--urdf REF` or `--mjcf REF`")
        if urdf is None and srdf is not None:
            raise ROSConfigError("`--srdf` speaks of the links of a URDF: give `--urdf REF` with it")
        for option, ref in (("--urdf", urdf), ("--srdf", srdf), ("--mjcf", mjcf)):
            _require_reachable(option, ref, output_dir)
        text = _first_manifest(
            name,
            urdf=urdf,
            srdf=srdf,
            mjcf=mjcf,
            folder=output_dir,
            visual=visual or [],
            waive=waive or [],
            velocity_limits=velocity_limit or [],
        )
        lowered_text, pieces, notes = _lowered(text, path)
        robot = read_manifest(lowered_text, source=str(path))
        joint_names = _require_armed(robot, pieces[1])
        from lastgate.cli.collision_lower import replace_file
        from lastgate.cli.robot_report import write_report

        output_dir.mkdir(parents=True, exist_ok=True)
        replace_file(path.with_name(pieces[0]), pieces[1])
        replace_file(path, lowered_text)
        try:
            report = write_report(path, output_dir, samples=samples, notes=notes)
        except BaseException:
            path.unlink(missing_ok=True)
            path.with_name(pieces[0]).unlink(missing_ok=True)
            raise
    except ROSConfigError as error:
        print_error(str(error))
        raise typer.Exit(2) from error
    for warning in grouped_warnings(notes):
        print_warning(warning)
    if degrees := _look_like_degrees(robot):
        print_warning(
            f"are the limits of {', '.join(f'`{joint}`' for joint in degrees)} degrees, or degrees per second? "
            "The gate reads rad and rad/s, and limits that are too wide stop nothing"
        )
    if any(REFUSES_EVERYTHING in note for note in notes):
        print_hint(
            "no chunk will pass while a pair refuses everything. If these shapes overlap by design, say so: "
            "give an SRDF that disables the pairs (`--srdf`), or put each under `allowed_collision_pairs` of "
            f"`{path}` with `reason: waived` and why, then `lastgate collision lower --robot {path} --write`\n"
        )
    print(f"a row is: {', '.join(joint_names)}", file=sys.stderr)
    print(f"report: {report}", file=sys.stderr)
    print(path)


def grouped_warnings(notes: list[str]) -> list[str]:
    """Returns one sentence per thing that is wrong, with the first pairs it is wrong with; the report lists all."""
    subjects: dict[str, list[str]] = {}
    for note in notes:
        subject, _, sentence = note.partition(": ")
        subjects.setdefault(sentence, []).append(subject)
    return [
        f"{', '.join(named[:_SUBJECTS_SHOWN])}"
        + (f" and {len(named) - _SUBJECTS_SHOWN} more pairs" if len(named) > _SUBJECTS_SHOWN else "")
        + f": {sentence}"
        for sentence, named in subjects.items()
    ]


def _require_reachable(option: str, ref: str | None, folder: Path) -> None:
    """Raises with the spelling that works if a reference names a file from here and not from the manifest's folder."""
    if ref is None:
        return
    named = Path(ref.removeprefix("file:"))
    names_from_folder = ref.startswith("file:") and not named.is_absolute()
    if not named.is_file() or (names_from_folder and (folder / named).is_file()):
        return
    from lastgate.assets.pkg_scheme import reference_to

    file, home = named.resolve(), folder.resolve()
    installed = reference_to(file)
    if file.is_relative_to(home):
        hint = f"write `{option} file:{file.relative_to(home)}`"
    elif installed is not None:
        hint = f"it belongs to an installed package: `{option} {installed}`"
    else:
        hint = f"copy it and its meshes below `{folder}`, or write into its folder: `-o {named.parent}`"
    raise ROSConfigError(
        f"`{option} {ref}`: a file is named from the folder the manifest is written to, `{folder}`\n\nhint: {hint}"
    )


def _look_like_degrees(robot: RobotDescription) -> list[str]:
    """Returns the joints whose limits no arm has in radians."""
    return [
        joint.name
        for joint in robot.actuated_joints
        if joint.joint_type == "revolute"
        and (
            max(map(abs, joint.position_limits or ()), default=0.0) > _TURN_RAD_MAX
            or (joint.velocity_limit or 0.0) > _TURN_RAD_S_MAX
        )
    ]


def _require_armed(robot: RobotDescription, pieces: str) -> tuple[str, ...]:
    """Returns what a row holds; raises unless a gate arms, so that nobody learns it on the day of the first chunk."""
    from lastgate.gate import Gate
    from lastgate.robots.convex_pieces_file import read_convex_pieces

    gate = Gate(robot.with_loaded_pieces(read_convex_pieces(pieces, source="convex pieces")), step_s=0.02)
    return gate.joint_names


def _first_manifest(
    name: str,
    *,
    urdf: str | None,
    srdf: str | None,
    mjcf: str | None,
    folder: Path,
    visual: list[str],
    waive: list[str],
    velocity_limits: list[str],
) -> str:
    from lastgate.assets.resolver import resolve_asset
    from lastgate.lowering.manifest_splice import quoted_name

    if urdf is not None:
        from lastgate.lowering.scaffold import manifest_from_urdf
        from lastgate.lowering.urdf_reader import read_urdf

        model = read_urdf(resolve_asset(urdf, "urdf", folder), visual_links=frozenset(visual))
        text = manifest_from_urdf(
            name, model, urdf_ref=urdf, srdf_ref=srdf, mjcf_ref=mjcf, velocity_limits=velocity_limits
        )
    else:
        from lastgate.lowering.mjcf_model import compile_mjcf
        from lastgate.lowering.mjcf_scaffold import manifest_from_mjcf

        compiled = compile_mjcf(resolve_asset(str(mjcf), "mjcf", folder))
        text = manifest_from_mjcf(name, compiled, mjcf_ref=str(mjcf), velocity_limits=velocity_limits)
    if visual:
        text += "\nlowering:\n  visual_links: [" + ", ".join(quoted_name(link) for link in visual) + "]\n"
    if waive:
        text += "\ncoverage_waivers:\n"
        for entry in waive:
            link, separator, reason = entry.partition("=")
            if not (link and separator and reason.strip()):
                raise ROSConfigError(f"`--waive {entry}`: write `--waive LINK=REASON`")
            text += f"  - {{link: {quoted_name(link)}, reason: {quoted_name(reason)}}}\n"
    return text


def _lowered(text: str, path: Path) -> tuple[str, tuple[str, str], list[str]]:
    """Returns the manifest, the name and text of the pieces file, and notes."""
    from lastgate.cli.progress_bar import progress_bar
    from lastgate.lowering.convex_file import lower_convex_pieces
    from lastgate.lowering.lower import lower_robot
    from lastgate.lowering.manifest_splice import read_manifest, splice

    robot = read_manifest(text, source=str(path))
    with progress_bar(robot.name) as progress:
        lowered = lower_robot(robot, path.parent, progress=progress)
        named, pieces_text = lower_convex_pieces(robot, lowered.shapes)
    spliced = splice(
        text,
        source=str(path),
        acm_source=lowered.source,
        frames=lowered.frames,
        geometry=lowered.geometry,
        pairs=lowered.pairs,
        pieces=named,
    )
    return spliced, (named.file, pieces_text), lowered.notes
