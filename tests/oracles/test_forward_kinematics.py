# SPDX-License-Identifier: Apache-2.0
"""Where the core puts links, against Pinocchio and MuJoCo.

Tolerance: 1e-9 m and 1e-9 in every entry of the rotation matrix. Twelve joints of a metre-sized robot round
to some 1e-15; a joint at 1e4 rad carries 1e4 * 2^-53 = 1e-12 rad before anyone computes with it.
"""

from importlib.resources import files

import mujoco
import numpy as np
import pytest
from lxml import etree

import lastgate as lg
from lastgate.tools.assets import resolve_asset
from oracles import library
from oracles.pinocchio_model import PinocchioRobot, random_configurations
from oracles.random_trees import random_tree

POSITION_M = 1e-9
ROTATION = 1e-9
CONFIGURATIONS = 10_000


@pytest.fixture(scope="module")
def panda_urdf():
    robot = lg.load_robot("franka_panda")
    manifest_dir = files("lastgate") / "robots" / "franka_panda"
    return resolve_asset(robot.assets.urdf.ref, "urdf", manifest_dir)


def _worst(ours, theirs):
    return np.abs(ours[..., 3] - theirs[..., 3]).max(), np.abs(ours[..., :3] - theirs[..., :3]).max()


def _core_poses(robot, configurations):
    """One (N, 3, 4) array per link; `configurations` hold gripper joints too."""
    gate = library.gate_of(robot)
    names = [j.name for j in robot.actuated_joints]
    rows = np.ascontiguousarray(configurations[:, [names.index(name) for name in gate.joint_names]])
    grippers = np.ascontiguousarray(
        configurations[:, [names.index(name) for name in gate.gripper_joint_names]]
    )
    return gate.link_poses_batch(rows, gripper_positions=grippers)


def test_panda_links_stand_where_pinocchio_puts_them(panda_urdf):
    robot = lg.load_robot("franka_panda")
    configurations = random_configurations(robot, np.random.default_rng(20260610), CONFIGURATIONS)
    reference = PinocchioRobot.of_urdf(panda_urdf, robot)

    ours = _core_poses(robot, configurations)

    theirs = {link: np.empty((CONFIGURATIONS, 3, 4)) for link in reference.links}
    for index, configuration in enumerate(configurations):
        for link, pose in reference.link_poses(configuration).items():
            theirs[link][index] = pose
    worst = np.array([_worst(ours[link], poses) for link, poses in theirs.items()])
    print(
        f"panda / pinocchio: {CONFIGURATIONS} configurations, {len(theirs)} links, worst {worst.max(axis=0)}"
    )
    assert set(theirs) >= set(robot.link_names)
    assert worst[:, 0].max() <= POSITION_M
    assert worst[:, 1].max() <= ROTATION


def test_panda_links_stand_where_mujoco_puts_them(panda_urdf):
    robot = lg.load_robot("franka_panda")
    configurations = random_configurations(robot, np.random.default_rng(20260611), CONFIGURATIONS)
    model = mujoco.MjModel.from_xml_string(_urdf_without_meshes(panda_urdf, robot))
    data = mujoco.MjData(model)
    bodies = {mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_BODY, i): i for i in range(1, model.nbody)}
    driven = []
    names = [j.name for j in robot.actuated_joints]
    for j in robot.joints:
        if j.is_moving:
            address = model.jnt_qposadr[mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, j.name)]
            driven.append((address, names.index(j.mimic.joint if j.mimic else j.name)))

    ours = _core_poses(robot, configurations)

    theirs = {link: np.empty((CONFIGURATIONS, 3, 4)) for link in robot.link_names if link in bodies}
    for index, configuration in enumerate(configurations):
        for address, column in driven:
            data.qpos[address] = configuration[column]
        mujoco.mj_kinematics(model, data)
        for link, poses in theirs.items():
            poses[index, :, :3] = data.xmat[bodies[link]].reshape(3, 3)
            poses[index, :, 3] = data.xpos[bodies[link]]
    worst = np.array([_worst(ours[link], poses) for link, poses in theirs.items()])
    print(f"panda / mujoco: {CONFIGURATIONS} configurations, {len(theirs)} links, worst {worst.max(axis=0)}")
    assert set(theirs) >= set(robot.link_names) - {robot.base_frame}  # the root may be MuJoCo's world
    assert worst[:, 0].max() <= POSITION_M
    assert worst[:, 1].max() <= ROTATION


def _urdf_without_meshes(path, robot):
    """The vendor's joints with every shape replaced by one inertia, and fixed links kept."""
    tree = etree.parse(str(path))
    root = tree.getroot()
    for link in root.findall("link"):
        for child in list(link):
            link.remove(child)
        link.append(
            etree.fromstring(
                '<inertial><mass value="1"/><origin xyz="0 0 0"/>'
                '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
            )
        )
    for item in root.findall("joint"):
        for mimic in item.findall("mimic"):
            item.remove(mimic)  # the test drives followers itself
    # MuJoCo welds fixed links together unless told not to, and reads angles as written.
    root.append(etree.fromstring('<mujoco><compiler fusestatic="false" discardvisual="false"/></mujoco>'))
    return etree.tostring(root, encoding="unicode")


ROBOTS = 60
PER_ROBOT = 200


def test_random_trees_stand_where_pinocchio_puts_them():
    kinds, mimics, branches, worst = set(), 0, 0, np.zeros(2)
    for seed in range(ROBOTS):
        rng = np.random.default_rng([20260612, seed])
        robot = random_tree(rng)
        kinds |= {j.joint_type for j in robot.joints}
        mimics += any(j.mimic for j in robot.joints)
        parents = [j.parent_link for j in robot.joints]
        branches += len(parents) > len(set(parents))
        configurations = random_configurations(robot, rng, PER_ROBOT)
        # A continuous joint may have wound up: the last configurations sit near the end of the core's range.
        far = random_configurations(robot, rng, 20, turns=1590.0)
        configurations = np.vstack([configurations, far])
        reference = PinocchioRobot.of_description(robot)

        ours = _core_poses(robot, configurations)

        for index, configuration in enumerate(configurations):
            for link, pose in reference.link_poses(configuration).items():
                worst = np.maximum(worst, _worst(ours[link][index], pose))
        assert worst[0] <= POSITION_M, f"seed {seed}"
        assert worst[1] <= ROTATION, f"seed {seed}"
    print(f"random trees: {ROBOTS} robots, {mimics} with mimics, {branches} branching, worst {worst}")
    assert kinds == {"revolute", "prismatic", "continuous", "fixed"}
    assert mimics > 20
    assert branches > 20


def test_link_poses_of_one_configuration_are_those_of_the_batch():
    gate = library.gate_of(lg.load_robot("franka_panda"))
    row = np.array([0.1, -0.4, 0.3, -2.0, 0.2, 1.5, 0.7])

    single = gate.link_poses(row, gripper_positions=[0.02])
    batch = gate.link_poses_batch(row[np.newaxis], gripper_positions=np.array([[0.02]]))

    assert list(single) == list(gate.link_names)
    assert all(np.array_equal(single[link], batch[link][0]) for link in single)


@pytest.mark.parametrize("shape", [(3, 6), (3, 8)])
def test_link_poses_of_rows_of_another_width_are_refused(shape):
    gate = library.gate_of(lg.load_robot("franka_panda"))
    with pytest.raises(lg.ROSConfigError, match="this robot has 7 joints"):
        gate.link_poses_batch(np.zeros(shape))


@pytest.mark.parametrize("lean", [(1e-8, 0.0), (0.0, -1.4e-8), (-3e-9, 2e-9), (0.0, 0.0)])
@pytest.mark.parametrize("up", [1.0, -1.0])
def test_axis_that_leans_by_less_than_its_last_digit_is_not_taken_for_upright(lean, up):
    # The z of such a unit vector is 1 to the last digit.
    robot = library.manifest(
        "leaning",
        [library.joint("turn", "base", "bar", axis=(*lean, up))],
        [library.capsule("bar", 0.01, 0.0)],
    )
    reference = PinocchioRobot.of_description(robot)
    for angle in (0.7, 2.5, -3.0):
        (ours,) = _core_poses(robot, np.array([[angle]]))["bar"]
        assert np.abs(ours - reference.link_poses(np.array([angle]))["bar"]).max() <= 1e-14
