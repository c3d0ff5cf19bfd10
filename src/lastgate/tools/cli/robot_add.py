# SPDX-License-Identifier: Apache-2.0
"""`lastgate robot add`: a robot of one's own in one command."""

from __future__ import annotations

import math
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lastgate.contracts.exceptions import ROSConfigError
from lastgate.contracts.robot_frames import RobotFrames
from lastgate.tools.cli.messages import print_error, print_hint, print_warning
from lastgate.tools.cli.robot_list import motor_data_warning

if TYPE_CHECKING:
    from lastgate.contracts.robot import RobotDescription
    from lastgate.tools.lowering.rejections import Rejections

# No configuration is accepted: the files are written, since what to decide about them stands there, and this is said.
EXIT_REJECTS_EVERYTHING = 1
# Pairs named per warning: enough to recognise a hand or a neck, few enough to be read.
_SUBJECTS_SHOWN = 3
# Pairs blamed where no single one rejects everything.
_PAIRS_BLAMED = 5
# No arm turns a joint further from zero than this, nor faster; limits in degrees mostly lie beyond both.
_TURN_RAD_MAX = 4.0 * math.pi
_TURN_RAD_S_MAX = 20.0 * math.pi


NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="What the robot is called.")]
UrdfOption = Annotated[str | None, typer.Option(metavar="REF", help="The URDF: `file:`, `pkg:` or `rd:`.")]
SrdfOption = Annotated[
    str | None,
    typer.Option(metavar="REF", help="An SRDF whose disabled pairs are taken over, as claims."),
]
MjcfOption = Annotated[
    str | None,
    typer.Option(
        metavar="REF", help="The MJCF: lowered where there is no URDF, only noted where there is one."
    ),
]
OutputDirOption = Annotated[
    Path, typer.Option("--output-dir", "-o", metavar="DIR", help="Folder of the manifest.")
]
VisualOption = Annotated[
    list[str] | None,
    typer.Option(metavar="LINK", help="Cover a link's visual shape, where it has no other. Repeatable."),
]
WaiveOption = Annotated[
    list[str] | None,
    typer.Option(metavar="LINK=REASON", help="Let a link go without a volume. Repeatable."),
]
VelocityLimitOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="JOINT=VALUE",
        help="Rad/s or m/s, where the description states none; `arm_*=2.0` for several. Repeatable.",
    ),
]
SamplesOption = Annotated[int, typer.Option(min=100, help="Configurations for the error rates.")]


def add_command(
    name: NameArgument,
    *,
    urdf: UrdfOption = None,
    srdf: SrdfOption = None,
    mjcf: MjcfOption = None,
    output_dir: OutputDirOption = Path(),
    visual: VisualOption = None,
    waive: WaiveOption = None,
    velocity_limit: VelocityLimitOption = None,
    samples: SamplesOption = 2000,
) -> None:
    """Writes manifest, volumes, pairs, joint frames and report of a robot; prints the manifest's path.

    Exits with 2, having written nothing, if anything about the description is wrong or a proof fails; with 1 if the
    gate of the robot rejects every configuration.
    """
    from lastgate.tools.lowering.manifest_splice import read_manifest

    try:
        path = output_dir / "robot.yaml"
        _require_usable(name, path, urdf=urdf, srdf=srdf, mjcf=mjcf)
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
        lowered_text, hulls, notes = _lowered(text, path)
        robot = read_manifest(lowered_text, source=str(path))
        joint_names, rejections = _require_armed(robot, hulls[1])
        from lastgate.tools.cli.collision_lower import replace_file
        from lastgate.tools.cli.robot_report import write_report

        output_dir.mkdir(parents=True, exist_ok=True)
        replace_file(path.with_name(hulls[0]), hulls[1])
        replace_file(path, lowered_text)
        try:
            report = write_report(path, output_dir, samples=samples, notes=notes)
        except BaseException:
            path.unlink(missing_ok=True)
            path.with_name(hulls[0]).unlink(missing_ok=True)
            raise
    except ROSConfigError as error:
        print_error(str(error))
        raise typer.Exit(2) from error
    _say_what_to_look_at(robot, notes)
    print(f"a step is: {', '.join(joint_names)}", file=sys.stderr)
    print(f"report: {report}", file=sys.stderr)
    print(path)
    if rejections.rejects_everything:
        _say_what_rejects_everything(rejections, path)
        raise typer.Exit(EXIT_REJECTS_EVERYTHING)


def _require_usable(name: str, path: Path, *, urdf: str | None, srdf: str | None, mjcf: str | None) -> None:
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
        _require_reachable(option, ref, path.parent)


def _say_what_to_look_at(robot: RobotDescription, notes: list[str]) -> None:
    for warning in grouped_warnings(notes):
        print_warning(warning)
    _warn_of_drawn(robot)
    if degrees := _look_like_degrees(robot):
        print_warning(
            f"are the limits of {', '.join(f'`{joint}`' for joint in degrees)} degrees, or degrees per second? "
            "The gate reads rad and rad/s, and limits that are too wide stop nothing"
        )
    if fast := motor_data_warning(robot):
        print_warning(f"{fast} (`--velocity-limit 'JOINT=VALUE'`)")
    for line in RobotFrames.of(robot).lines():
        print(line, file=sys.stderr)


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
    from lastgate.tools.assets.pkg_scheme import reference_to

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


def _warn_of_drawn(robot: RobotDescription) -> None:
    """Says which links are drawn farther out of their volumes than collision meshes leave out on purpose."""
    from lastgate.tools.lowering.drawn import far_out

    waived = {waiver.link for waiver in robot.lowering.drawn_waivers}
    bare = {link: apart for link, apart in far_out(robot).items() if link not in waived}
    for link, apart in bare.items():
        print_warning(
            f"`{link}` is drawn {1000.0 * apart:.1f} mm out of its volumes: nothing checks that part"
        )
    if bare:
        print_hint(
            "cover what is drawn with "
            + " ".join(f"`--visual {link}`" for link in bare)
            + ", or put each under `lowering.drawn_waivers` with the reason\n"
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


def _require_armed(robot: RobotDescription, hulls: str) -> tuple[tuple[str, ...], Rejections]:
    """Returns what a step holds and what the gate rejects; raises unless a gate arms, long before the first chunk."""
    from lastgate.gate import Gate
    from lastgate.robots.convex_hulls_file import read_convex_hulls
    from lastgate.tools.lowering.rejections import find_rejections

    whole = robot.with_loaded_hulls(read_convex_hulls(hulls, source="convex hulls"))
    return Gate(whole, step_s=0.02).joint_names, find_rejections(whole)


def _say_what_rejects_everything(rejections: Rejections, path: Path) -> None:
    always = [pair for pair, count in rejections.pairs if count == rejections.samples]
    blamed = always or [pair for pair, _ in rejections.pairs[:_PAIRS_BLAMED]]
    named = ", ".join(f"`{a}` / `{b}`" for a, b in blamed)
    share = "every one" if always else "most"
    print_error(
        f"the gate rejects all of {rejections.samples} random configurations, {share} of them by {named}: "
        "no chunk passes"
    )
    print_hint(
        "check these links in the report. If their shapes overlap by design, say so: give an SRDF that disables "
        f"the pairs (`--srdf`), or put each under `allowed_collision_pairs` of `{path}` with `reason: waived` and "
        f"why, then `lastgate collision lower --robot {path} --write`\n"
    )


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
    from lastgate.tools.assets.resolver import resolve_asset

    if urdf is not None:
        from lastgate.tools.lowering.scaffold import manifest_from_urdf
        from lastgate.tools.lowering.urdf_reader import read_urdf

        model = read_urdf(
            resolve_asset(urdf, "urdf", folder),
            visual_links=frozenset(visual),
            left_out=frozenset(entry.partition("=")[0] for entry in waive),
        )
        text = manifest_from_urdf(
            name, model, urdf_ref=urdf, srdf_ref=srdf, mjcf_ref=mjcf, velocity_limits=velocity_limits
        )
    else:
        from lastgate.tools.lowering.mjcf_model import compile_mjcf
        from lastgate.tools.lowering.mjcf_scaffold import manifest_from_mjcf

        compiled = compile_mjcf(resolve_asset(str(mjcf), "mjcf", folder))
        text = manifest_from_mjcf(name, compiled, mjcf_ref=str(mjcf), velocity_limits=velocity_limits)
    return text + _choices(text, visual, waive)


def _choices(text: str, visual: list[str], waive: list[str]) -> str:
    """Returns what a person chose to cover and to leave bare, as lines of the manifest."""
    from lastgate.tools.lowering.manifest_splice import quoted_name, read_manifest

    links = set(read_manifest(text, source="robot.yaml").link_names)
    bare: dict[bool, list[str]] = {True: [], False: []}
    for entry in waive:
        link, separator, reason = entry.partition("=")
        if not (link and separator and reason.strip()):
            raise ROSConfigError(f"`--waive {entry}`: write `--waive LINK=REASON`")
        bare[link in links].append(f"- {{link: {quoted_name(link)}, reason: {quoted_name(reason)}}}")
    lines: list[str] = []
    if visual or bare[False]:
        lines += ["", "lowering:"]
    if visual:
        lines.append("  visual_links: [" + ", ".join(quoted_name(link) for link in visual) + "]")
    if bare[False]:
        # Links that the manifest folds into those that carry them have no volumes of their own to go without.
        lines += ["  drawn_waivers:", *(f"    {entry}" for entry in bare[False])]
    if bare[True]:
        lines += ["", "coverage_waivers:", *(f"  {entry}" for entry in bare[True])]
    return "".join(f"{line}\n" for line in lines)


def _lowered(text: str, path: Path) -> tuple[str, tuple[str, str], list[str]]:
    """Returns the manifest, the name and text of the hulls file, and notes."""
    from lastgate.tools.cli.progress_bar import progress_bar
    from lastgate.tools.lowering.convex_file import lower_convex_hulls
    from lastgate.tools.lowering.lower import lower_robot
    from lastgate.tools.lowering.manifest_splice import read_manifest, splice

    robot = read_manifest(text, source=str(path))
    with progress_bar(robot.name) as progress:
        lowered = lower_robot(robot, path.parent, progress=progress)
        named, hulls_text = lower_convex_hulls(robot, lowered.shapes)
    spliced = splice(
        text,
        source=str(path),
        acm_source=lowered.source,
        frames=lowered.frames,
        geometry=lowered.geometry,
        pairs=lowered.pairs,
        hulls=named,
        drawn_outside_m=lowered.drawn_outside_m,
    )
    return spliced, (named.file, hulls_text), lowered.notes
