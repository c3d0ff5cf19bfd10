# SPDX-License-Identifier: Apache-2.0
"""The oracle of the attack: held against other engines, notices planted faults, shares nothing with the gate."""

import ast
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from scipy.optimize import minimize

from attack import planted
from attack.campaign import Campaign, Tally
from attack.distances import point_segment, polygon_contains, segment_box, segment_segment
from attack.generate import MODES, random_case
from attack.kinematics import Tree, quaternion_of_rotation, rotation_of_quaternion, rotation_vector
from attack.motions import driven
from attack.oracle import examine
from attack.robots import random_robot

FOLDER = Path(__file__).parent
# Where the public API is used: everything else of the attack must not know the package at all.
ALLOWED = {
    "target.py": {"lastgate", "lastgate.contracts.convex_hulls", "lastgate.world.freshness"},
}


def imports_of(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.module is not None
            found.add(node.module)
    return found


def test_attack_shares_no_code_with_what_it_attacks():
    parts = [path for path in FOLDER.glob("*.py") if not path.name.startswith("test_")]
    assert len(parts) >= 10
    for path in parts:
        ours = {name for name in imports_of(path) if name.split(".")[0] not in ("attack", "numpy")}
        known = {name for name in ours if name.split(".")[0] in ("lastgate", "oracles", "fixtures")}
        assert known == ALLOWED.get(path.name, set()), path.name


def mujoco_model(tree: Tree) -> mujoco.MjModel:
    """Returns the tree as MuJoCo builds it from text of its own."""
    lines = dict.fromkeys(tree.links, "")
    specs = {joint["child_link"]: joint for joint in tree.manifest["joints"]}
    for link in reversed(tree.links[1:]):
        joint = specs[link]
        x, y, z, w = quaternion_of_rotation(tree.turn[tree.links.index(link)])
        place = " ".join(map(repr, map(float, joint["origin_xyz"])))
        axis = " ".join(map(str, joint.get("axis_xyz", (0, 0, 1))))
        kind = {"prismatic": "slide", "revolute": "hinge", "continuous": "hinge"}.get(joint["joint_type"])
        inner = "" if kind is None else f'<joint name="{joint["name"]}" type="{kind}" axis="{axis}"/>'
        lines[joint["parent_link"]] += (
            f'<body name="{link}" pos="{place}" quat="{w} {x} {y} {z}">{inner}'
            f'<geom size="0.01" mass="1"/>{lines[link]}</body>'
        )
    text = f'<mujoco><compiler angle="radian"/><worldbody>{lines["base"]}</worldbody></mujoco>'
    return mujoco.MjModel.from_xml_string(text)


@pytest.mark.parametrize("seed", range(6))
def test_links_stand_where_mujoco_puts_them(seed):
    rng = np.random.default_rng(seed)
    tree = Tree(random_robot(rng, gripper=seed % 2 == 0, base=False, joints=(3, 8)))
    model = mujoco_model(tree)
    data = mujoco.MjData(model)
    q = rng.uniform(-1.0, 1.0, (5, len(tree.joints)))
    rotations, positions = tree.place(q)
    for sample in range(len(q)):
        for link in range(1, len(tree.links)):
            if tree.column[link] >= 0:
                value = tree.gain[link] * q[sample, tree.column[link]] + tree.offset[link]
                name = tree.manifest["joints"][link - 1]["name"]
                data.joint(name).qpos[0] = value
        mujoco.mj_kinematics(model, data)
        for link, name in enumerate(tree.links[1:], start=1):
            np.testing.assert_allclose(positions[sample, link], data.body(name).xpos, atol=1e-9)
            np.testing.assert_allclose(rotations[sample, link].ravel(), data.body(name).xmat, atol=1e-9)


def test_velocities_are_the_derivatives_of_positions():
    rng = np.random.default_rng(7)
    tree = Tree(random_robot(rng, gripper=True, base=False, joints=(4, 7)))
    q, rates = rng.uniform(-1, 1, (4, len(tree.joints))), rng.uniform(-1, 1, (4, len(tree.joints)))
    link, dt = len(tree.links) - 1, 1e-6
    placed = tree.place(q)
    linear, angular = tree.velocities(placed, link, placed[1][:, link], rates)
    before, after = tree.place(q - dt * rates), tree.place(q + dt * rates)
    np.testing.assert_allclose(linear, (after[1] - before[1])[:, link] / (2 * dt), atol=1e-7)
    for sample in range(4):
        turned = rotation_vector(after[0][sample, link] @ before[0][sample, link].T) / (2 * dt)
        np.testing.assert_allclose(angular[sample], turned, atol=1e-7)


def test_distances_are_those_of_a_minimiser():
    rng = np.random.default_rng(3)
    for _ in range(40):
        a, b, c, d = rng.uniform(-1, 1, (4, 3))
        half = rng.uniform(0.05, 0.6, 3)

        def between(shares, a=a, b=b, c=c, d=d):
            return float(np.sum((a + shares[0] * (b - a) - c - shares[1] * (d - c)) ** 2))

        def from_box(share, a=a, b=b, half=half):
            at = a + share[0] * (b - a)
            return float(np.sum((at - np.clip(at, -half, half)) ** 2))

        starts = [(x, y) for x in (0.0, 0.5, 1.0) for y in (0.0, 0.5, 1.0)]
        options = {"ftol": 1e-15, "gtol": 1e-12}
        best = min(minimize(between, s, bounds=[(0, 1)] * 2, options=options).fun for s in starts)
        assert segment_segment(a, b, c, d) == pytest.approx(np.sqrt(best), abs=1e-6)
        flat = min(minimize(from_box, s[:1], bounds=[(0, 1)], options=options).fun for s in starts)
        assert segment_box(a[None], b[None], half[None])[0] == pytest.approx(np.sqrt(flat), abs=1e-6)
        assert point_segment(c, a, b) == pytest.approx(segment_segment(c, c, a, b), abs=1e-12)


def test_arcs_of_a_base_are_those_of_small_steps():
    rng = np.random.default_rng(5)
    twist, pose = rng.uniform(-2, 2, 3), np.array([0.3, -0.2, 0.7])
    whole = driven(pose[None], twist[None], np.array([0.8]))[0]
    count = 20_000
    for _ in range(count):
        middle = pose[2] + 0.5 * twist[2] * 0.8 / count
        turn = np.array([[np.cos(middle), -np.sin(middle)], [np.sin(middle), np.cos(middle)]])
        pose = pose + 0.8 / count * np.append(turn @ twist[:2], twist[2])
    np.testing.assert_allclose(whole, pose, atol=1e-7)


def test_quaternions_and_polygons():
    rng = np.random.default_rng(6)
    for _ in range(20):
        quaternion = rng.normal(size=4)
        rotation = rotation_of_quaternion(quaternion)
        np.testing.assert_allclose(
            rotation_of_quaternion(quaternion_of_rotation(rotation)), rotation, atol=1e-12
        )
    square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    inside = polygon_contains(square, np.array([[0.5, 0.5], [1.5, 0.5], [-0.1, 0.2], [0.9, 0.01]]))
    assert inside.tolist() == [True, False, False, True]


def run_until(promise: str, gate, mode: str, *, cases: int) -> Campaign:
    """Attacks in one mode until a promise is seen broken, or for so many cases."""
    campaign = Campaign(seed=4, gate=gate, modes=(mode,))
    campaign.tallies = {mode: Tally()}
    for _ in range(cases):
        campaign.step()
        if any(hit.promise.startswith(promise) for hit in campaign.hits):
            break
    return campaign


@pytest.mark.parametrize(
    ("codes", "mode", "promise"),
    [
        (("world_collision",), "JOINT_POSITION", "world"),
        (("world_collision",), "BODY_TWIST", "world"),
        (("self_collision",), "JOINT_VELOCITY", "self pairs"),
        (("keep_in_zone",), "JOINT_POSITION", "keep-in zone"),
        (("workspace_box",), "JOINT_TRAJECTORY", "workspace box"),
        (("ee_angular_speed",), "JOINT_POSITION", "tool turning"),
        (("joint_acceleration_limit",), "JOINT_POSITION", "joint acceleration"),
        (("joint_position_limit",), "JOINT_TORQUE", "joint position"),
    ],
)
def test_gate_that_lets_something_through_is_noticed(codes, mode, promise):
    campaign = run_until(promise, planted.that_accepts(*codes), mode, cases=120)
    assert any(hit.promise.startswith(promise) for hit in campaign.hits)
    assert campaign.failures()


def bar_past_a_post(post_xyz: list[float]) -> dict[str, Any]:
    """A bar of 1 m that turns by 1 rad in one step, and a thin post."""
    bar = {
        "link_name": "bar",
        "shape": {"shape": "capsule", "radius_m": 0.02, "length_m": 1.0},
        "origin_xyz_rpy": [0.5, 0.0, 0.0, 0.0, float(np.pi / 2), 0.0],
    }
    joint = {
        "name": "turn",
        "joint_type": "continuous",
        "parent_link": "base",
        "child_link": "bar",
        "velocity_limit": 10.0,
    }
    post = {"shape": {"shape": "sphere", "radius_m": 0.01}, "pose": {"xyz": post_xyz}, "object_id": "post"}
    return {
        "manifest": {
            "name": "bar",
            "base_frame": "base",
            "joints": [joint],
            "collision_geometry": [bar],
            "end_effectors": [],
        },
        "step_s": 0.1,
        "state": {"positions": [0.0]},
        "chunk": {"mode": "JOINT_POSITION", "rows": [[1.0]], "ee_name": "", "frame_id": ""},
        "world": {"primitives": [post]},
        "recovery": False,
    }


@pytest.mark.parametrize("angle", [0.1, 0.37, 0.5, 0.81])
def test_thin_things_between_two_steps_are_found_and_those_beside_them_are_not(angle):
    def at(reach: float) -> list[float]:
        return [reach * float(np.cos(angle)), reach * float(np.sin(angle)), 0.0]

    (hit,) = examine(bar_past_a_post(at(0.9))).broken()
    assert (hit.promise, hit.where["against"]) == ("world: primitive", "post")
    assert hit.slack == pytest.approx(-0.03, abs=1e-3)
    assert hit.where["share"] == pytest.approx(angle, abs=0.01)
    # The bar reaches 1.02 m: a post of 1 cm at 1.03 m is touched and not entered.
    assert examine(bar_past_a_post(at(1.0301))).broken() == []
    assert len(examine(bar_past_a_post(at(1.0299))).broken()) == 1


def test_gate_that_rejects_everything_is_noticed():
    campaign = run_until("plainly clear", planted.that_rejects_everything, "JOINT_POSITION", cases=60)
    assert campaign.hits
    assert campaign.failures()


def test_mode_in_which_next_to_nothing_is_accepted_fails_the_run():
    campaign = Campaign(seed=1, modes=("JOINT_POSITION",))
    campaign.tallies = {"JOINT_POSITION": Tally(generated=100, accepted=1, examined=1)}
    assert campaign.failures() == ["JOINT_POSITION: 1 of 100 cases were accepted, too few to show anything"]
    campaign.tallies = {"JOINT_POSITION": Tally(generated=100, accepted=30, examined=30)}
    assert campaign.failures() == []


def test_reproduction_is_smaller_and_shows_the_same():
    campaign = run_until("world", planted.that_accepts("world_collision"), "JOINT_POSITION", cases=120)
    hit = next(hit for hit in campaign.hits if hit.promise.startswith("world"))
    smaller = campaign.reproduction(hit, seconds=20.0)
    assert campaign.shows(smaller, hit)
    assert len(str(smaller)) < len(str(hit.case))


def test_same_seed_gives_the_same_cases_and_another_gives_others():
    for mode in MODES:
        assert random_case(1, 3, mode)[0] == random_case(1, 3, mode)[0]
    assert random_case(1, 3, "JOINT_POSITION")[0] != random_case(2, 3, "JOINT_POSITION")[0]
