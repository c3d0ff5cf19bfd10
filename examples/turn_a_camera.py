# SPDX-License-Identifier: Apache-2.0
"""Turn a wrist camera to a thing on a table, and see that it is there.

A simulated Panda plans a posture in which its wrist camera looks at a marker, and a way there past all that is on the
table. The plan is certified by a gate that asks for some more distance, and then crosses the gate again, one step at a
time. A rendered image says where the marker is in the view; a target under the table is rejected before anything moves.
"""

import lastgate as lg
from lastgate.integrations.agent import SegmentationDetector
from lastgate.planning.skills import MotionPlanner, look_at
from lastgate.tools.demo.panda_scene import PandaScene, home_configuration, table_world
from lastgate.tools.demo.scene_camera import SceneCamera
from lastgate.tools.demo.simulated_arm import SimulatedArm

target = (0.60, 0.28, 0.0)
marker = lg.WorldCollisionPrimitive(
    shape=lg.SphereShape(radius_m=0.012), pose=lg.Pose6D(xyz=target), object_id="marker"
)
# Servos lag behind their targets; both margins cover that.
margins = lg.SafetyEnvelope(self_collision_margin_m=0.01, world_collision_margin_m=0.01)
robot = lg.load_robot("franka_panda")
gate = lg.Gate(robot, step_s=0.02, skill=lg.RSkillManifest(name="look-at", version="1.0.0", envelope=margins))
planner = MotionPlanner(gate)

scene = PandaScene(robot, table_world(), markers=[marker])
scene.reset(home_configuration())
with SceneCamera(scene.model) as camera:
    arm = SimulatedArm(scene, table_world(), step_s=gate.step_s, camera=camera)
    plan, replay = look_at(planner, arm, camera="wrist", target_xyz=target, standoff_m=0.35)
    arm.settle()
    print(f"{replay.waypoints} steps crossed the gate, the camera is {plan.distance_m:.2f} m from the target")
    (seen,) = SegmentationDetector().detect("marker", arm.view("wrist"))
    across, down = seen.off_centre
    print(f"the marker is {across:+.2%} across and {down:+.2%} down from the middle of the image")
    assert max(abs(across), abs(down)) < 0.02
    assert not arm.touched

    try:
        look_at(planner, arm, camera="wrist", target_xyz=(0.60, 0.28, -0.3), standoff_m=0.2)
    except lg.ROSPlanningError as error:
        print(error)
    else:
        raise SystemExit("a point under the table was looked at")
