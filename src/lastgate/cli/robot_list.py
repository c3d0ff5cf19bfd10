# SPDX-License-Identifier: Apache-2.0
"""`lastgate robot list` and `lastgate robot show`: the fleet, and one robot."""

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lastgate.cli.messages import print_warning

if TYPE_CHECKING:
    from lastgate.contracts import RobotDescription


def list_command(
    *, as_json: Annotated[bool, typer.Option("--json", help="Print a list of objects.")] = False
) -> int:
    """Lists the robots that come with lastgate, and whether a gate can be armed for each."""
    from lastgate.robots import robot_names

    entries = [_entry(name) for name in robot_names()]
    if as_json:
        print(json.dumps(entries, indent=2))
        return 0
    width = max((len(entry["name"]) for entry in entries), default=0)
    for entry in entries:
        if entry["problem"] is not None:
            print_warning(f"{entry['name']}: {entry['problem']}")
            continue
        print(
            f"{entry['name']:<{width}}  {entry['joints']:>2} joints  {entry['links']:>3} links  "
            f"{entry['volumes']:>3} volumes  {entry['checked_pairs']:>4} checked pairs"
        )
    return 0


def show_command(
    robot: Annotated[
        str, typer.Argument(metavar="R", help="A robot of the fleet, or the path of a robot.yaml.")
    ],
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole description as JSON.")] = False,
) -> int:
    """Shows one robot: its joints with their limits, its volumes, its allowed pairs with their reasons."""
    from lastgate.kernel_config import enabled_modes, gripper_joint_names
    from lastgate.robots import load_robot

    description = load_robot(robot)
    if as_json:
        print(description.model_dump_json(indent=2))
        return 0
    in_gripper = gripper_joint_names(description)
    print(f"{description.name}, base frame {description.base_frame}")
    for source in description.provenance:
        print(f"  {source.what}: {source.source} ({source.licence})")
    print("\njoints, in the order rows are read")
    width = max((len(joint.name) for joint in description.actuated_joints), default=0)
    for joint in description.actuated_joints:
        unit = "m" if joint.joint_type == "prismatic" else "rad"
        bounds = (
            "any angle"
            if joint.position_limits is None
            else "{:8.4f} to {:8.4f} {}".format(*joint.position_limits, unit)
        )
        note = "  (gripper; not part of rows)" if joint.name in in_gripper else ""
        print(
            f"  {joint.name:<{width}}  {joint.joint_type:<9}  {bounds}, "
            f"{joint.velocity_limit:.4f} {unit}/s{note}"
        )
    print("\nvolumes")
    for link, count in _count([volume.link_name for volume in description.collision_geometry]).items():
        print(f"  {link}: {count}")
    print("\nconvex pieces")
    for link, count in _count([piece.link_name for piece in description.loaded_pieces]).items():
        print(f"  {link}: {count}")
    if not description.loaded_pieces:
        print("  none: pairs are judged by their volumes alone")
    print("\nallowed pairs, by reason")
    for reason, count in _count([str(pair.reason) for pair in description.allowed_collision_pairs]).items():
        print(f"  {reason}: {count}")
    print("\ncontrol modes\n  " + ", ".join(mode.name for mode in enabled_modes(description)))
    return 0


def _entry(name: str) -> dict[str, Any]:
    from lastgate.contracts import ROSError
    from lastgate.gate import Gate
    from lastgate.robots import load_robot

    try:
        robot: RobotDescription = load_robot(name)
        gate = Gate(robot, step_s=0.02)
    except ROSError as error:
        return {"name": name, "armed": False, "problem": str(error).partition("\n\nhint: ")[0]}
    return {
        "name": name,
        "armed": True,
        "problem": None,
        "joints": gate.n_dof,
        "links": len(gate.link_names),
        "volumes": len(robot.collision_geometry),
        "convex_pieces": len(robot.loaded_pieces),
        "checked_pairs": len(gate.checked_pairs),
    }


def _count(words: list[str]) -> dict[str, int]:
    counted: dict[str, int] = {}
    for word in words:
        counted[word] = counted.get(word, 0) + 1
    return counted
