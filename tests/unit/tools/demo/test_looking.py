# SPDX-License-Identifier: Apache-2.0
"""A simulated Panda turns its wrist camera to points on a cluttered table, and MuJoCo says what the camera shows.

Compared: the middle of a marker's pixels in a segmented rendering with the middle of the image; the renderer knows
nothing of gazes, postures or gates. Contacts are MuJoCo's own, at every simulated step. Tolerance: 2 % of the image.
"""

import numpy as np
import pytest

import lastgate as lg
from lastgate.integrations.agent import SegmentationDetector
from lastgate.planning.skills import MotionPlanner, look_at
from lastgate.tools.demo.panda_scene import PandaScene, home_configuration, table_world
from lastgate.tools.demo.scene_camera import SceneCamera
from lastgate.tools.demo.simulated_arm import SimulatedArm

STEP_S = 0.02
# What the servos add on their own; the demo's own margin.
MARGIN_M = 0.01


@pytest.fixture(scope="module")
def planner():
    margins = lg.SafetyEnvelope(self_collision_margin_m=MARGIN_M, world_collision_margin_m=MARGIN_M)
    skill = lg.RSkillManifest(name="look-at", version="1.0.0", envelope=margins)
    return MotionPlanner(lg.Gate(lg.load_robot("franka_panda"), step_s=STEP_S, skill=skill))


def marker(xyz):
    return lg.WorldCollisionPrimitive(
        shape=lg.SphereShape(radius_m=0.012), pose=lg.Pose6D(xyz=xyz), object_id="marker"
    )


def free_points(count):
    """Returns random points on the table that no obstacle covers or stands within 4 cm of."""
    rng = np.random.default_rng(20260610)
    things = [one for one in table_world() if one.object_id not in ("floor", "table")]
    env = lg.World(primitives=things, stamp_s=0.0)
    from lastgate.planning.collision import CollisionEnvironment

    around = CollisionEnvironment.build(
        np.empty((0, 4)), 0.05, ((-2, -2, -2), (2, 2, 2)), primitives=env.obstacles
    )
    points = []
    while len(points) < count:
        point = (float(rng.uniform(0.35, 0.75)), float(rng.uniform(-0.4, 0.5)), 0.0)
        if around.min_distance([[*point, 0.04]]) > 0.0:
            points.append(point)
    return points


class Watched:
    """Counts what crosses the gate, in front of the body that executes it."""

    def __init__(self, monkeypatch):
        self.checked = []
        check = lg.Gate.check

        def watching(gate, chunk, **arguments):
            verdict = check(gate, chunk, **arguments)
            if len(chunk.rows) == 1:
                self.checked.append((chunk, verdict))
            return verdict

        monkeypatch.setattr(lg.Gate, "check", watching)


def arm_with(robot, obstacles, target, known=None):
    scene = PandaScene(robot, obstacles, markers=[marker(target)])
    scene.reset(home_configuration())
    camera = SceneCamera(scene.model)
    return SimulatedArm(scene, obstacles if known is None else known, step_s=STEP_S, camera=camera), camera


@pytest.mark.parametrize("target", free_points(5), ids=lambda p: f"{p[0]:.2f},{p[1]:.2f}")
@pytest.mark.parametrize("standoff_m", [None, 0.35])
def test_target_is_within_two_per_cent_of_the_middle_of_the_image(planner, target, standoff_m, monkeypatch):
    watched = Watched(monkeypatch)
    arm, camera = arm_with(planner.gate.robot, table_world(), target)
    with camera:
        plan, replay = look_at(planner, arm, camera="wrist", target_xyz=target, standoff_m=standoff_m)
        arm.settle()
        (found,) = SegmentationDetector().detect("marker", arm.view("wrist"))
    print(f"{target}: off by {found.off_centre} of the image, {replay.waypoints} steps")
    assert np.abs(found.off_centre).max() <= 0.02
    assert found.xyz == pytest.approx(target, abs=0.015)
    # Every step that was executed had crossed the gate, alone, and was accepted.
    assert replay.waypoints == arm.executed == len(plan.trajectory.rows) > 0
    replayed = watched.checked[-replay.waypoints :]
    assert [chunk.rows[0].tolist() for chunk, _ in replayed] == plan.trajectory.rows.tolist()
    assert all(verdict.accepted for _, verdict in replayed)
    assert arm.touched == set()


def test_obstacle_in_the_way_of_the_arm_is_gone_round(planner):
    target = (0.42, -0.62, 0.0)
    straight_arm, camera = arm_with(planner.gate.robot, table_world(), target)
    with camera:
        straight, _ = look_at(planner, straight_arm, camera="wrist", target_xyz=target, standoff_m=0.35)
    # A balloon across the way that the hand took, with room above it.
    middle = straight.trajectory.rows[len(straight.trajectory.rows) // 2]
    hand = planner.gate.link_poses(middle)["panda_hand"][:, 3]
    balloon = lg.WorldCollisionPrimitive(
        shape=lg.SphereShape(radius_m=0.06), pose=lg.Pose6D(xyz=tuple(hand)), object_id="balloon"
    )
    world = (*table_world(), balloon)
    assert arm_would_touch(planner, straight, world)
    arm, camera = arm_with(planner.gate.robot, world, target)
    with camera:
        plan, _ = look_at(planner, arm, camera="wrist", target_xyz=target, standoff_m=0.35)
        arm.settle()
        (found,) = SegmentationDetector().detect("marker", arm.view("wrist"))
    assert np.abs(found.off_centre).max() <= 0.02
    assert arm.touched == set()
    assert not arm_would_touch(planner, plan, world)


def arm_would_touch(planner, plan, obstacles):
    scene = PandaScene(planner.gate.robot, obstacles)
    contacts = scene.contacts_along(plan.trajectory.start, plan.trajectory.rows, samples_per_row=4)
    return bool(contacts.robot_world)


def test_target_that_is_walled_in_fails_honestly_and_nothing_moves(planner):
    target = (0.55, 0.0, 0.0)
    walls = [
        lg.WorldCollisionPrimitive(
            shape=lg.BoxShape(size_xyz_m=size), pose=lg.Pose6D(xyz=xyz), object_id=f"wall_{index}"
        )
        for index, (xyz, size) in enumerate(
            [
                ((0.55, 0.0, 0.2), (0.42, 0.42, 0.02)),
                ((0.35, 0.0, 0.1), (0.02, 0.42, 0.2)),
                ((0.75, 0.0, 0.1), (0.02, 0.42, 0.2)),
                ((0.55, 0.2, 0.1), (0.42, 0.02, 0.2)),
                ((0.55, -0.2, 0.1), (0.42, 0.02, 0.2)),
            ]
        )
    ]
    table = [one for one in table_world() if one.object_id in ("floor", "table")]
    arm, camera = arm_with(planner.gate.robot, [*table, *walls], target)
    with camera, pytest.raises(lg.ROSPlanningError, match="something hides the target from"):
        look_at(planner, arm, camera="wrist", target_xyz=target)
    assert arm.executed == 0


def test_obstacle_that_the_plan_did_not_know_stops_the_arm_before_it(planner):
    target = (0.42, -0.62, 0.0)
    arm, camera = arm_with(planner.gate.robot, table_world(), target)
    with camera:
        plan, _ = look_at(planner, arm, camera="wrist", target_xyz=target, standoff_m=0.35)
    hand = planner.gate.link_poses(plan.trajectory.rows[len(plan.trajectory.rows) // 2])["panda_hand"][:, 3]
    late = lg.WorldCollisionPrimitive(
        shape=lg.SphereShape(radius_m=0.06), pose=lg.Pose6D(xyz=tuple(hand)), object_id="visitor"
    )
    arm, camera = arm_with(planner.gate.robot, (*table_world(), late), target, known=table_world())
    with camera:
        world = arm.world

        def appears():
            if arm.executed >= 10:
                arm._obstacles = (*table_world(), late)
            return world()

        arm.world = appears
        with pytest.raises(lg.ROSCollisionImminent, match="visitor"):
            look_at(planner, arm, camera="wrist", target_xyz=target, standoff_m=0.35)
    assert arm.holds == 1
    assert 10 <= arm.executed < len(plan.trajectory.rows)
    assert arm.touched == set()
    arm.settle(0.5)
    assert np.abs(arm.observe().velocities).max() < 1e-3
    assert arm.touched == set()


def test_camera_that_the_scene_does_not_have_is_refused(planner):
    arm, camera = arm_with(planner.gate.robot, table_world(), (0.5, 0.0, 0.0))
    with camera, pytest.raises(lg.ROSConfigError, match="cameras: wrist"):
        arm.view("head")


def test_servos_are_led_from_where_the_arm_was_measured(monkeypatch):
    scene = PandaScene(lg.load_robot("franka_panda"), table_world())
    scene.reset(home_configuration())
    arm = SimulatedArm(scene, table_world(), step_s=STEP_S)
    scene.data.qpos[0] += 0.1  # pushed; the servos were sent elsewhere
    sent = []
    command = scene.command
    monkeypatch.setattr(scene, "command", lambda row: sent.append(row.copy()) or command(row))
    target = scene.positions + 0.01
    arm.execute(lg.ActionChunk(target[np.newaxis]))
    assert np.abs(sent[0] - target).max() < 0.01
    assert (sent[-1] == target).all()
