# SPDX-License-Identifier: Apache-2.0
"""Random robots: chains and branches of every joint kind, mimics, grippers with fingers, bases that drive."""

from typing import Any

import numpy as np

KINDS = ("revolute", "continuous", "prismatic")


def rounded(values: Any, digits: int = 5) -> Any:
    """Returns plain numbers with few digits, so that a reproduction can be read."""
    return np.round(np.asarray(values, float), digits).tolist()


def unit(rng: np.random.Generator) -> np.ndarray:
    vector = rng.normal(size=3)
    return vector / np.linalg.norm(vector)


class RobotMaker:
    """Grows one manifest joint by joint."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.joints: list[dict[str, Any]] = []
        self.volumes: list[dict[str, Any]] = []
        self.grippers: list[dict[str, Any]] = []
        self.links = ["base"]
        self.accelerates = rng.random() < 0.3

    def add(self, parent: str, kind: str, xyz: Any, **changes: Any) -> str:
        """Adds a joint and its link; returns the link's name."""
        rng, number = self.rng, len(self.joints)
        axis = np.eye(3)[rng.integers(3)] * rng.choice([-1.0, 1.0]) if rng.random() < 0.6 else unit(rng)
        name = f"l{number}"
        joint: dict[str, Any] = {
            "name": f"j{number}",
            "joint_type": kind,
            "parent_link": parent,
            "child_link": name,
            "origin_xyz": rounded(xyz, 4),
            "origin_rpy": rounded(rng.uniform(-1.5, 1.5, 3), 3) if rng.random() < 0.4 else [0.0, 0.0, 0.0],
        }
        if kind != "fixed":
            joint["axis_xyz"] = axis.tolist()
            joint["velocity_limit"] = rounded(np.exp(rng.uniform(np.log(0.3), np.log(5.0))), 3)
            joint["effort_limit"] = 10.0
            if self.accelerates:
                joint["acceleration_limit"] = rounded(np.exp(rng.uniform(0.0, 4.5)), 2)
        if kind == "revolute":
            joint["position_limits"] = rounded([rng.uniform(-3.0, -0.6), rng.uniform(0.6, 3.0)], 3)
        elif kind == "prismatic":
            joint["position_limits"] = rounded([rng.uniform(-0.4, -0.05), rng.uniform(0.05, 0.4)], 3)
        joint |= changes
        self.joints.append(joint)
        self.links.append(name)
        return name

    def cover(self, link: str, towards: Any = None) -> None:
        """Gives a link one or two volumes, one of them along the way to the next joint."""
        rng = self.rng
        radius = rounded(np.exp(rng.uniform(np.log(0.01), np.log(0.05))), 4)
        if towards is None or rng.random() < 0.3:
            shape = {"shape": "sphere", "radius_m": radius}
            place = [*rounded(rng.uniform(-0.05, 0.05, 3), 4), 0.0, 0.0, 0.0]
        else:
            along = np.asarray(towards, float)
            length = float(np.linalg.norm(along))
            shape = {"shape": "capsule", "radius_m": radius, "length_m": rounded(0.7 * length, 4)}
            pitch, yaw = np.arccos(along[2] / length), np.arctan2(along[1], along[0])
            place = [*rounded(0.5 * along, 4), *rounded([0.0, pitch, yaw])]
        self.volumes.append({"link_name": link, "shape": shape, "origin_xyz_rpy": place})
        if rng.random() < 0.2:
            self.cover(link)

    def mimic(self, leader: dict[str, Any], kind: str) -> dict[str, Any]:
        """Returns what makes a joint of a kind follow another, with limits that may be narrower than the leader's."""
        rng = self.rng
        gain = rounded(rng.uniform(0.3, 1.5) * rng.choice([-1.0, 1.0]), 3)
        offset = rounded(rng.uniform(-0.2, 0.2), 3)
        changes: dict[str, Any] = {"mimic": {"joint": leader["name"], "multiplier": gain, "offset": offset}}
        low, high = leader.get("position_limits", (-3.0, 3.0))
        ends = sorted((gain * low + offset, gain * high + offset))
        narrowed = rng.uniform(0.0, 0.15) * (ends[1] - ends[0]) if rng.random() < 0.3 else -0.01
        if kind != "continuous":
            changes["position_limits"] = rounded([ends[0] + narrowed, ends[1] - narrowed], 4)
        return changes

    def chain(self, count: int, *, with_followers: bool) -> str:
        """Adds an arm of `count` driven joints; returns its last link."""
        rng, parent, offset = self.rng, "base", np.array([0.0, 0.0, 0.1])
        for number in range(count):
            kind = str(rng.choice(KINDS, p=[0.7, 0.1, 0.2]))
            link = self.add(parent, kind, offset)
            driver = self.joints[-1]
            offset = unit(rng) * rng.uniform(0.08, 0.3)
            self.cover(link, offset)
            if rng.random() < 0.15:
                link = self.add(link, "fixed", rng.uniform(-0.08, 0.08, 3))
                self.cover(link)
            follows = kind != "continuous" or rng.random() < 0.5
            if with_followers and follows and rng.random() < 0.2:
                after = "continuous" if kind == "continuous" else str(rng.choice(["revolute", "prismatic"]))
                branch = self.add(link, after, rng.uniform(-0.2, 0.2, 3), **self.mimic(driver, after))
                self.cover(branch)
            if number and rng.random() < 0.12:
                twig = self.add(link, str(rng.choice(KINDS)), unit(rng) * 0.2)
                self.cover(twig, unit(rng) * 0.12)
            parent = link
        self.tip = offset
        return parent

    def gripper(self, parent: str, name: str) -> dict[str, Any]:
        """Adds a hand with fingers that a channel moves; returns its end effector, whose tool may sit on a finger."""
        rng = self.rng
        hand = self.add(parent, "fixed", self.tip)
        self.cover(hand)
        fingers, links = [], [hand]
        prismatic = rng.random() < 0.7
        kind = "prismatic" if prismatic else "revolute"
        stroke = rounded(rng.uniform(0.03, 0.09) if prismatic else rng.uniform(0.3, 1.0), 4)
        velocity = 0.3 if prismatic else 2.0
        for number in range(int(rng.integers(1, 3))):
            side = 1.0 if number == 0 else -1.0
            axis = [0.0, side, 0.0] if prismatic else [side, 0.0, 0.0]
            limits = rounded([-rng.choice([0.0, 0.01]), stroke + rng.choice([0.0, 0.01])], 4)
            place = [0.05, 0.03 * side, 0.03]
            finger = self.add(
                hand, kind, place, axis_xyz=axis, position_limits=limits, velocity_limit=velocity
            )
            leader = self.joints[-1]
            self.cover(finger, [0.06, 0.0, 0.02])
            links.append(finger)
            fingers.append({"name": leader["name"], "position_closed": 0.0, "position_open": stroke})
        if rng.random() < 0.3:
            low, high = leader["position_limits"]
            other = self.add(
                hand,
                kind,
                [0.05, -0.06, 0.03],
                axis_xyz=leader["axis_xyz"],
                position_limits=rounded([-high - 0.005, -low + 0.005], 4),
                mimic={"joint": leader["name"], "multiplier": -1.0, "offset": 0.0},
            )
            self.cover(other, [0.05, 0.0, 0.0])
        return {
            "name": name,
            "link": links[1] if rng.random() < 0.35 else hand,
            "tool_xyz_rpy": rounded([*rng.uniform(-0.05, 0.1, 3), *rng.uniform(-1, 1, 3)], 4),
            "gripper": {
                "channel_closed": 0.0,
                "channel_open": 1.0 if rng.random() < 0.7 else stroke,
                "joints": fingers,
            },
        }


def random_robot(
    rng: np.random.Generator, *, gripper: bool, base: bool, joints: tuple[int, int]
) -> dict[str, Any]:
    """Returns a manifest without limits of tools and without zones; those are aimed at a motion later."""
    maker = RobotMaker(rng)
    if base or rng.random() < 0.6:
        maker.cover("base", [0.0, 0.0, 0.12])
    last = maker.chain(int(rng.integers(*joints)), with_followers=rng.random() < 0.5)
    ends = [
        maker.gripper(last, "gripper")
        if gripper
        else {
            "name": "tool",
            "link": last,
            "tool_xyz_rpy": rounded([*maker.tip, *rng.uniform(-1, 1, 3)], 4),
        }
    ]
    if rng.random() < 0.1:
        ends.append(
            {"name": "camera", "link": maker.links[1], "tool_xyz_rpy": [0.0, 0.0, 0.05, 0.0, 0.0, 0.0]}
        )
    manifest: dict[str, Any] = {
        "name": "attacked",
        "base_frame": "base",
        "joints": maker.joints,
        "collision_geometry": maker.volumes,
        "end_effectors": ends,
        "allowed_collision_pairs": neighbours(maker.joints),
        "safety": {"deadman_required": False},
    }
    if not maker.accelerates:
        return manifest
    for joint in manifest["joints"]:
        if joint["joint_type"] != "fixed":
            joint.setdefault("acceleration_limit", 50.0)
    return manifest


def neighbours(joints: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns parents and children as exempt pairs, across fixed joints too."""
    found = [
        {"link_a": joint["parent_link"], "link_b": joint["child_link"], "reason": "adjacent"}
        for joint in joints
    ]
    above = {joint["child_link"]: joint for joint in joints}
    for joint in joints:
        parent = above.get(joint["parent_link"])
        if parent is not None and "fixed" in (joint["joint_type"], parent["joint_type"]):
            found.append(
                {"link_a": parent["parent_link"], "link_b": joint["child_link"], "reason": "adjacent"}
            )
    return found
