# SPDX-License-Identifier: Apache-2.0
"""Finds what is wrong with a robot as a whole: its tree of links, mimic joints, names that lead nowhere."""

import difflib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

if TYPE_CHECKING:
    from lastgate.contracts.joints import JointSpec


def structure_problems(robot: Any) -> list[str]:
    """Lists every problem of the robot's structure, each naming the joint or the link; none means sound."""
    joints: Sequence[JointSpec] = robot.joints
    if not joints:
        return ["a robot needs at least one joint; a body without one may declare a fixed joint"]
    tree_problems = _tree_problems(robot.base_frame, joints)
    return [
        *tree_problems,
        *_mimic_problems(joints),
        *_duplicates("joint", (joint.name for joint in joints)),
        *_duplicates("sensor", (sensor.name for sensor in robot.sensors)),
        *_duplicates("end effector", (effector.name for effector in robot.end_effectors)),
        *_duplicates("coverage waiver for link", (waiver.link for waiver in robot.coverage_waivers)),
        *_unknown_link_problems(robot),
        *_pair_problems(robot.allowed_collision_pairs),
        # Who is whose neighbour is a guess in a tree that is none.
        *([] if tree_problems else _adjacency_problems(robot)),
        *_gripper_problems(robot),
    ]


def structure_problems_of_refused(
    data: Mapping[str, Any], readers: Mapping[str, type[BaseModel]]
) -> list[str]:
    """Lists the structural problems of a manifest that has refused fields, as far as it can be read.

    A joint with a refused number still has its place in the tree. If a joint has no readable place, nothing
    is said about the tree: every other message would be a guess.
    """
    base_frame = data.get("base_frame")
    if not isinstance(base_frame, str):
        return []
    parts: dict[str, list[Any]] = {}
    for key, reader in readers.items():
        raw_items = data.get(key, ())
        if not isinstance(raw_items, Sequence) or isinstance(raw_items, str):
            raw_items = ()
        parts[key] = []
        for raw in raw_items:
            item = _read_or_none(reader, raw)
            if key == "joints" and item is None:
                item = _joint_place(raw)
                if item is None:
                    return []
            if item is not None:
                parts[key].append(item)
    if not parts["joints"]:
        return []
    # What the limits say is not known here, so nothing is said about what commands of a gripper would do.
    no_commands = SimpleNamespace(gripper_min=None, gripper_max=None)
    return structure_problems(SimpleNamespace(base_frame=base_frame, safety=no_commands, **parts))


def _read_or_none(reader: type[BaseModel], raw: object) -> BaseModel | None:
    try:
        return reader.model_validate(raw)
    except ValidationError:
        return None


def _joint_place(raw: object) -> Any:
    if not isinstance(raw, Mapping):
        return None
    place = {key: raw.get(key) for key in ("name", "joint_type", "parent_link", "child_link")}
    if not all(isinstance(value, str) for value in place.values()):
        return None
    mimic = raw.get("mimic")
    leader = mimic.get("joint") if isinstance(mimic, Mapping) else None
    return SimpleNamespace(
        **place,
        position_limits=None,
        mimic=SimpleNamespace(joint=leader) if isinstance(leader, str) else None,
        is_moving=place["joint_type"] in ("revolute", "prismatic", "continuous"),
    )


def _duplicates(noun: str, names: Iterable[str]) -> list[str]:
    return [
        f"{noun} `{name}` is declared {count} times" for name, count in Counter(names).items() if count > 1
    ]


def _tree_problems(base_frame: str, joints: Sequence["JointSpec"]) -> list[str]:
    problems = []
    joint_above: dict[str, JointSpec] = {}
    for joint in joints:
        other = joint_above.setdefault(joint.child_link, joint)
        if other is not joint:
            problems.append(
                f"link `{joint.child_link}` has two parents: it is the child of joint `{other.name}` "
                f"and of joint `{joint.name}`"
            )
    if base_frame in joint_above:
        joint_over_base = joint_above[base_frame].name
        problems.append(
            f"base_frame `{base_frame}` must be the root, but joint `{joint_over_base}` is above it"
        )

    parents = dict.fromkeys(joint.parent_link for joint in joints)
    roots = [link for link in parents if link not in joint_above]
    if base_frame not in parents:
        problems.append(f"base_frame `{base_frame}` is the parent of no joint; roots found: {_listed(roots)}")
    elif len(roots) > 1:
        others = [root for root in roots if root != base_frame]
        problems.append(
            f"the robot has {len(roots)} roots, `{base_frame}` and {_listed(others)}: "
            "connect them with a fixed joint or remove what is not part of the robot"
        )

    placed = {base_frame}
    for joint in joints:
        if joint.parent_link not in placed and joint.parent_link in joint_above:
            above = joint_above[joint.parent_link]
            problems.append(
                f"joint `{joint.name}` is listed before its parent: link `{joint.parent_link}` "
                f"is the child of joint `{above.name}`, which must come first"
            )
        placed.add(joint.child_link)
        if joint.joint_type in ("floating", "planar") and joint.parent_link != base_frame:
            problems.append(
                f"joint `{joint.name}` is {joint.joint_type} below the root: only one on `{base_frame}` may "
                "be, because a step has no columns that would place it"
            )
    return problems


def _mimic_problems(joints: Sequence["JointSpec"]) -> list[str]:
    by_name = {joint.name: joint for joint in joints}
    problems = []
    for joint in joints:
        if joint.mimic is None:
            continue
        leader = by_name.get(joint.mimic.joint)
        if leader is None:
            problems.append(
                f"joint `{joint.name}` mimics joint `{joint.mimic.joint}`, which the robot does not have"
            )
        elif _is_in_mimic_cycle(joint, by_name):
            problems.append(f"joint `{joint.name}` is part of a mimic cycle")
        elif leader.mimic is not None:
            problems.append(
                f"joint `{joint.name}` mimics joint `{leader.name}`, which itself mimics "
                f"`{leader.mimic.joint}`: name the joint that leads"
            )
        elif not leader.is_moving:
            problems.append(
                f"joint `{joint.name}` mimics joint `{leader.name}`, which is {leader.joint_type} and has no "
                "position"
            )
    return problems


def _is_in_mimic_cycle(joint: "JointSpec", by_name: Mapping[str, "JointSpec"]) -> bool:
    follower: JointSpec | None = joint
    # A chain that has not come back after as many steps as there are joints never comes back to this one.
    for _ in range(len(by_name)):
        if follower is None or follower.mimic is None:
            return False
        if follower.mimic.joint == joint.name:
            return True
        follower = by_name.get(follower.mimic.joint)
    return False


def _nearest(link: str, links: Iterable[str]) -> str:
    found = difflib.get_close_matches(link, sorted(links), n=4, cutoff=0.5)
    return f"; nearest: {', '.join(f'`{name}`' for name in found)}" if found else ""


def _unknown_link_problems(robot: Any) -> list[str]:
    # The parent of a joint is a link too, even where the tree above it is broken: one mistake, one message.
    links = {robot.base_frame}
    for joint in robot.joints:
        links.update((joint.parent_link, joint.child_link))
    mentions = [
        *((f"sensor `{sensor.name}`", sensor.link) for sensor in robot.sensors),
        *((f"end effector `{effector.name}`", effector.link) for effector in robot.end_effectors),
        *(("collision_geometry", geometry.link_name) for geometry in robot.collision_geometry),
        *(("allowed_collision_pairs", link) for pair in robot.allowed_collision_pairs for link in pair.links),
        *(("coverage_waivers", waiver.link) for waiver in robot.coverage_waivers),
    ]
    # Several volumes on one misspelt link are one mistake.
    return [
        f"{mention} names link `{link}`, which the robot does not have{_nearest(link, links)}"
        for mention, link in dict.fromkeys(mentions)
        if link not in links
    ]


def _pair_problems(pairs: Iterable[Any]) -> list[str]:
    return [
        f"allowed pair `{first}` / `{second}` is listed {count} times"
        for (first, second), count in Counter(pair.links for pair in pairs).items()
        if count > 1
    ]


def _adjacency_problems(robot: Any) -> list[str]:
    covered = {volume.link_name for volume in robot.collision_geometry}
    joint_above = {joint.child_link: joint for joint in robot.joints}
    problems = []
    for pair in robot.allowed_collision_pairs:
        known = all(link in joint_above or link == robot.base_frame for link in pair.links)
        if pair.reason == "adjacent" and known and not _is_adjacent(pair.links, joint_above, covered):
            problems.append(
                f"allowed pair `{pair.link_a}` / `{pair.link_b}` is no neighbour: more than one moving joint and a "
                "link with volumes, or a branch, lie between; give the reason that holds, or check the pair"
            )
    return problems


def _is_adjacent(
    links: tuple[str, str], joint_above: Mapping[str, "JointSpec"], covered: Iterable[str]
) -> bool:
    """Returns whether two links can be no farther apart in the tree than one moving joint, for what has volumes.

    At most one moving joint may lie between them; or any number, as long as one link is above the other and
    no link in between has a volume, as MoveIt counts neighbours.
    """
    up_a, up_b = (_joints_above(link, joint_above) for link in links)
    shared = {joint.name for joint in up_a} & {joint.name for joint in up_b}
    from_a = [joint for joint in up_a if joint.name not in shared]
    from_b = [joint for joint in up_b if joint.name not in shared]
    if sum(joint.is_moving for joint in (*from_a, *from_b)) <= 1:
        return True
    if from_a and from_b:
        return False
    # The upper end of the path is one of the two links; every other link on it lies in between.
    return all(joint.parent_link not in covered for joint in (from_a or from_b)[:-1])


def _joints_above(link: str, joint_above: Mapping[str, "JointSpec"]) -> list[Any]:
    """Returns the joints from a link up to the root, nearest first."""
    found: list[Any] = []
    while link in joint_above:
        found.append(joint_above[link])
        link = joint_above[link].parent_link
    return found


def _gripper_problems(robot: Any) -> list[str]:
    by_name = {joint.name: joint for joint in robot.joints}
    problems = []
    for effector in robot.end_effectors:
        for finger in effector.gripper.joints if effector.gripper else ():
            where = f"end effector `{effector.name}`: gripper joint `{finger.name}`"
            joint = by_name.get(finger.name)
            if joint is None:
                problems.append(f"{where} is not a joint of the robot")
            elif not joint.is_moving:
                problems.append(f"{where} is {joint.joint_type} and cannot open")
            elif joint.mimic is not None:
                problems.append(f"{where} follows joint `{joint.mimic.joint}`: name the joint that leads")
            elif joint.position_limits is not None:
                lower, upper = joint.position_limits
                for word, position in (("closed", finger.position_closed), ("open", finger.position_open)):
                    if not lower <= position <= upper:
                        problems.append(
                            f"{where} is at {position:.4f} when {word}, outside {lower:.4f} to {upper:.4f}"
                        )
                problems += _command_problems(where, robot.safety, effector.gripper, finger, (lower, upper))
    return problems


# Metres or radians: what the rounding of a quotient, a product and a sum may add.
_ROUNDING = 1e-9


def _command_problems(
    where: str, envelope: Any, gripper: Any, finger: Any, limits: tuple[float, float]
) -> list[str]:
    """Says which end of the gripper range would send a finger beyond its limits."""
    stroke = gripper.channel_open - gripper.channel_closed
    if envelope.gripper_min is None or envelope.gripper_max is None or stroke == 0.0:
        return []
    problems = []
    for name, command in (("gripper_min", envelope.gripper_min), ("gripper_max", envelope.gripper_max)):
        share = (command - gripper.channel_closed) / stroke
        position = finger.position_closed + share * (finger.position_open - finger.position_closed)
        if not limits[0] - _ROUNDING <= position <= limits[1] + _ROUNDING:
            problems.append(
                f"{where} would be sent to {position:.4f} by the command {command:.4f} (`{name}`), outside "
                f"{limits[0]:.4f} to {limits[1]:.4f}: narrow gripper_min and gripper_max to the channel, "
                f"{min(gripper.channel_closed, gripper.channel_open):.4f} to "
                f"{max(gripper.channel_closed, gripper.channel_open):.4f}"
            )
    return problems


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) if names else "none"
