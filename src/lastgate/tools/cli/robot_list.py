# SPDX-License-Identifier: Apache-2.0
"""`lastgate robot list` and `lastgate robot show`: the robot library, and one robot."""

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lastgate.tools.cli.messages import print_note, print_warning

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
            f"{entry['volumes']:>3} volumes  {entry['checked_pairs']:>4} checked pairs  {_drawn(entry)}"
            + ("  hand-drawn volumes, not proved" if entry["unproved_volumes"] else "")
        )
        for link, apart in (entry["drawn_outside_m"] or {}).items():
            if apart > 0.0:
                reason = entry["drawn_waivers"].get(link)
                print(
                    f"    {link}: drawn {_mm(apart)} out of its volumes" + (f": {reason}" if reason else "")
                )
    proved = [entry for entry in entries if entry["problem"] is None and not entry["unproved_volumes"]]
    drawn = [entry["name"] for entry in entries if entry["problem"] is None and entry["unproved_volumes"]]
    if drawn:
        print_note(f"{len(proved)} robots; not counted, their volumes are drawn by hand: {', '.join(drawn)}")
    return 0


def show_command(
    robot: Annotated[
        str, typer.Argument(metavar="R", help="A robot of the robot library, or the path of a robot.yaml.")
    ],
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole description as JSON.")] = False,
) -> int:
    """Shows one robot: its joints with their limits, its volumes, its allowed pairs with their reasons."""
    from lastgate.contracts import RobotFrames
    from lastgate.robots import load_robot
    from lastgate.robots.kernel_config import enabled_modes, gripper_joint_names

    description = load_robot(robot)
    if as_json:
        print(description.model_dump_json(indent=2))
        return 0
    in_gripper = gripper_joint_names(description)
    print(f"{description.name}, base frame {description.base_frame}")
    for line in RobotFrames.of(description).lines():
        print(f"  {line}")
    for source in description.provenance:
        print(f"  {source.what}: {source.source} ({source.licence})")
    print("\njoints, in the order steps are read")
    width = max((len(joint.name) for joint in description.actuated_joints), default=0)
    for joint in description.actuated_joints:
        unit = "m" if joint.joint_type == "prismatic" else "rad"
        bounds = (
            "any angle"
            if joint.position_limits is None
            else "{:8.4f} to {:8.4f} {}".format(*joint.position_limits, unit)
        )
        note = "  (gripper; not part of steps)" if joint.name in in_gripper else ""
        print(
            f"  {joint.name:<{width}}  {joint.joint_type:<9}  {bounds}, "
            f"{joint.velocity_limit:.4f} {unit}/s ({joint.velocity_limit_source}){note}"
        )
    for line in _stop_lines(description, width):
        print(line)
    if fast := motor_data_warning(description):
        print_warning(fast)
    unproved = (
        f", not proved to contain the robot: {description.unproved_volumes}"
        if description.unproved_volumes
        else ""
    )
    print(f"\nvolumes{unproved}")
    for link, count in _count([volume.link_name for volume in description.collision_geometry]).items():
        print(f"  {link}: {count}")
    print("\nconvex hulls")
    for link, count in _count([hull.link_name for hull in description.loaded_hulls]).items():
        print(f"  {link}: {count}")
    if not description.loaded_hulls:
        print("  none: pairs are evaluated by their volumes alone")
    print("\nallowed pairs, by reason")
    for reason, count in _count([str(pair.reason) for pair in description.allowed_collision_pairs]).items():
        print(f"  {reason}: {count}")
    print("\ncontrol modes\n  " + ", ".join(mode.name for mode in enabled_modes(description)))
    return 0


def _stop_lines(robot: "RobotDescription", width: int) -> list[str]:
    """Returns how the robot stops, each number with its source."""
    stop = robot.stop
    if stop is None:
        return ["\nstop\n  not declared: no verdict says that the robot can stop"]
    lines = [f"\nstop\n  {stop.kind}, reaction {stop.reaction_s:.4f} s"]
    for joint in robot.actuated_joints:
        unit = "m" if joint.joint_type == "prismatic" else "rad"
        if joint.deceleration_limit is not None:
            lines.append(
                f"  {joint.name:<{width}}  {joint.deceleration_limit:.4f} {unit}/s^2 "
                f"({joint.deceleration_limit_source})"
            )
    if stop.base_deceleration_m_s2 is not None:
        lines.append(
            f"  base  {stop.base_deceleration_m_s2:.4f} m/s^2, {stop.base_angular_deceleration_rad_s2:.4f} rad/s^2"
        )
    return lines


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
        "convex_pieces": len(robot.loaded_hulls),
        "checked_pairs": len(gate.checked_pairs),
        "unproved_volumes": robot.unproved_volumes,
        "drawn_outside_m": robot.drawn_outside_m,
        "drawn_waivers": {waiver.link: waiver.reason for waiver in robot.lowering.drawn_waivers},
    }


def motor_data_warning(robot: "RobotDescription") -> str | None:
    """Returns a sentence about velocity limits that hardly limit anything, or None."""
    fast = [f"`{joint.name}`" for joint in robot.actuated_joints if joint.looks_like_motor_data]
    if not fast:
        return None
    named = ", ".join(fast[:3]) + (f" and {len(fast) - 3} more" if len(fast) > 3 else "")
    return (
        f"velocity limits of {named} look like data of their motors, beyond a full turn (or 2 m) per second: "
        "a limit that no command reaches checks nothing; set operating limits"
    )


def _drawn(entry: dict[str, Any]) -> str:
    measured = entry["drawn_outside_m"]
    if measured is None:
        return "drawn shapes not measured"
    return f"drawn at most {_mm(max(measured.values(), default=0.0))} out of the volumes"


def _mm(metres: float) -> str:
    return f"{1000.0 * metres:.1f} mm"


def _count(words: list[str]) -> dict[str, int]:
    counted: dict[str, int] = {}
    for word in words:
        counted[word] = counted.get(word, 0) + 1
    return counted
