# SPDX-License-Identifier: Apache-2.0
"""`lastgate robot vendor-urdf`: a flat URDF of one's own, from xacro or from a flat one."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from lastgate.contracts.exceptions import ROSConfigError
from lastgate.tools.cli.messages import print_error, print_warning


def vendor_urdf_command(
    robot_id: Annotated[
        str, typer.Argument(metavar="ID", help="Name of the robot; the file is called <ID>.urdf.")
    ],
    *,
    upstream: Annotated[
        str | None,
        typer.Option(
            help="Where the URDF or xacro comes from; else the robot library's manifest of ID says it.",
            metavar="REF",
        ),
    ] = None,
    rename: Annotated[
        list[str] | None,
        typer.Option(
            help="Rename joints: a regular expression and its replacement. Repeatable.", metavar="'PAT=>REPL'"
        ),
    ] = None,
    raw_text: Annotated[
        bool, typer.Option("--raw-text", help="Insist on a byte-for-byte copy; refuse xacro.")
    ] = False,
    output_dir: Annotated[
        Path, typer.Option("--output-dir", "-o", help="Folder to write into.", metavar="DIR")
    ] = Path(),
    package: Annotated[
        list[str] | None, typer.Option(help="Where a ROS package lies. Repeatable.", metavar="NAME=DIR")
    ] = None,
    xacro_arg: Annotated[
        list[str] | None,
        typer.Option(help="An argument of the xacro file. Repeatable.", metavar="NAME=VALUE"),
    ] = None,
    licence: Annotated[
        str | None, typer.Option(help="The licence, if you know it better than the files do.", metavar="SPDX")
    ] = None,
) -> None:
    """Expands xacro, or copies a flat URDF and renames its joints; nothing else of the file changes.

    Prints the path of the file. Exits with 2, having written nothing, if the upstream cannot be used or if a
    different file of that name is already there.
    """
    from lastgate.tools.assets.joint_rename import parse_rename
    from lastgate.tools.assets.mesh_uri import parse_package_option
    from lastgate.tools.assets.vendor_urdf import vendor_urdf

    try:
        vendored = vendor_urdf(
            robot_id,
            upstream_ref=upstream if upstream is not None else _library_urdf_ref(robot_id),
            output_dir=output_dir,
            working_dir=Path.cwd(),
            renames=[parse_rename(text) for text in rename or []],
            raw_text=raw_text,
            packages=dict(parse_package_option(text) for text in package or []),
            xacro_arguments=dict(_parse_argument(text) for text in xacro_arg or []),
            licence=licence,
        )
    except ROSConfigError as error:
        print_error(str(error))
        raise typer.Exit(2) from error
    for note in vendored.notes:
        print_warning(note)
    for old, new in vendored.new_name_by_old.items():
        print(f"joint {old} is now {new}", file=sys.stderr)
    if not vendored.is_new:
        print("already there and the same; nothing was written", file=sys.stderr)
    print(vendored.path)


def _parse_argument(text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not separator or not name:
        raise ROSConfigError(f"`--xacro-arg {text}`: write `--xacro-arg NAME=VALUE`")
    return name.removesuffix(":"), value


def _library_urdf_ref(robot_id: str) -> str:
    """Returns the URDF reference of a robot that ships with lastgate."""
    from importlib import resources

    from lastgate.tools.assets.closest_names import quote_closest

    hint = f"hint: say where it comes from: lastgate robot vendor-urdf {robot_id} --upstream REF"
    library = resources.files("lastgate") / "robots"
    manifests = (
        {entry.name: entry / "robot.yaml" for entry in library.iterdir() if (entry / "robot.yaml").is_file()}
        if library.is_dir()
        else {}
    )
    if robot_id not in manifests:
        raise ROSConfigError(
            f"the robot library has no robot `{robot_id}`; closest: {quote_closest(robot_id, manifests)}\n\n{hint}"
        )
    try:
        from ruamel.yaml import YAML
    except ImportError as error:
        raise ROSConfigError(
            "reading a manifest needs ruamel.yaml, which is not installed\n\nhint: pip install ruamel.yaml"
        ) from error
    manifest = YAML(typ="safe").load(manifests[robot_id].read_text(encoding="utf-8"))
    urdf = ((manifest or {}).get("assets") or {}).get("urdf")
    if not urdf:
        raise ROSConfigError(f"the manifest of `{robot_id}` names no URDF\n\n{hint}")
    return str(urdf["ref"])
