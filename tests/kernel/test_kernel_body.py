# SPDX-License-Identifier: Apache-2.0
"""Skills move what the kernel moves: a simulated Panda in a driver of its own, each step through the kernel."""

import math
import threading
import time

import numpy as np
import pytest

import lastgate as lg
from lastgate.integrations.driver import SafeActionDriver
from lastgate.integrations.kernel_body import KernelBody
from lastgate.planning.skills import Body, MotionPlanner, find_camera, load_skill_manifest, look_at
from lastgate.tools.demo.panda_scene import TIMESTEP_S, PandaScene
from lastgate.world.rigid_motion import composed

RATE_HZ = 50.0
HOME = np.array([0.0, -0.6, 0.0, -2.2, 0.0, 1.6, 0.8])
TARGET = (0.55, 0.2, 0.0)
TABLE = lg.WorldCollisionPrimitive(
    shape=lg.BoxShape(shape="box", size_xyz_m=(0.8, 1.6, 0.04)),
    pose=lg.Pose6D(xyz=(0.65, 0.0, -0.1), quat_xyzw=(0.0, 0.0, 0.0, 1.0)),
    object_id="table",
)


def world_now():
    return lg.World(primitives=[TABLE], stamp_s=time.time(), world_id="table")


class DrivenPanda:
    """MuJoCo in real time behind a driver: the only thing here that moves the arm."""

    def __init__(self, instance, *, client):
        self.scene = PandaScene(client.robot, [TABLE])
        self.scene.reset(HOME)
        self._set_point = self.scene.positions
        self.sent = []
        self._client = client
        self._driver = SafeActionDriver(instance, self, name="arm", step_s=1.0 / RATE_HZ)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def command(self, row, mode):
        if not self.sent or not np.array_equal(self.sent[-1], row):
            self.sent.append(row.copy())
        self._set_point = row

    def stop(self):
        pass  # holds the last set point

    def is_stopped(self):
        return bool(np.abs(self.scene.velocities).max() < 0.01)

    def close(self):
        self._over.set()
        self._thread.join()
        self._driver.close()

    def _run(self):
        due_s = time.monotonic()
        while not self._over.is_set():
            self._driver.tick()
            for _ in range(2):
                self.scene.command(self._set_point)
                self.scene.step()
            self._client.observe(
                self.scene.positions,
                velocities=self.scene.velocities,
                gripper_positions=self.scene.finger_positions,
            )
            due_s += 2 * TIMESTEP_S
            time.sleep(max(0.0, due_s - time.monotonic()))


@pytest.fixture
def panda(tmp_path):
    skill = load_skill_manifest("look_at")
    with lg.KernelClient(
        "franka_panda", rate_hz=RATE_HZ, skill=skill, instance="body-test", state_dir=tmp_path
    ) as kernel:
        told = lg.KernelClient(
            "franka_panda", rate_hz=RATE_HZ, skill=skill, instance="body-test", start=False
        )
        arm = DrivenPanda("body-test", client=told)
        try:
            yield kernel, arm, lg.Gate(kernel.robot, step_s=1.0 / RATE_HZ, skill=skill)
        finally:
            arm.close()


def wait_for_state(body):
    deadline = time.monotonic() + 5.0
    while True:
        try:
            return body.observe()
        except lg.ROSSafetyViolation:
            assert time.monotonic() < deadline
            time.sleep(0.01)


def off_axis_rad(gate, positions):
    mounted = find_camera(gate.robot, "wrist")
    optical = composed(gate.link_poses(positions)[mounted.link], mounted.optical_in_link)
    view = np.subtract(TARGET, optical[:, 3])
    return math.acos(min(1.0, float(optical[:, 2] @ view / np.linalg.norm(view))))


def look_there_and_back(gate, body):
    for target in (TARGET, (0.4, -0.3, 0.0)):
        look_at(MotionPlanner(gate), body=body, camera="wrist", target_xyz=target)


def test_look_at_turns_the_simulated_camera_and_each_step_crosses_the_kernel(panda):
    kernel, arm, gate = panda
    body = KernelBody(kernel, world=world_now)
    assert isinstance(body, Body)
    before = wait_for_state(body)
    assert off_axis_rad(gate, before.positions) > 0.1
    passed = kernel.status().passed
    plan, replay = look_at(MotionPlanner(gate), body=body, camera="wrist", target_xyz=TARGET)
    assert replay.waypoints == len(plan.trajectory.rows) > 5
    assert kernel.status().passed - passed == replay.waypoints
    assert np.array_equal(arm.sent, plan.trajectory.rows)  # nothing else moved it, and nothing was left out
    time.sleep(0.2)
    assert off_axis_rad(gate, body.observe().positions) < 0.01


def test_stop_ends_the_skill_and_the_arm_and_binds_the_next_one(panda):
    kernel, arm, gate = panda
    body = KernelBody(kernel, world=world_now)
    wait_for_state(body)
    threading.Timer(0.3, lambda: kernel.estop("pressed in the test")).start()
    with pytest.raises(lg.ROSSafetyViolation):
        look_there_and_back(gate, body)
    sent = len(arm.sent)
    with pytest.raises(lg.ROSSafetyViolation, match="latched"):
        look_at(MotionPlanner(gate), body=body, camera="wrist", target_xyz=(0.5, -0.2, 0.0))
    assert len(arm.sent) == sent


def test_chunk_that_the_kernel_rejects_moves_nothing(panda):
    kernel, arm, _ = panda
    body = KernelBody(kernel, world=world_now)
    start = wait_for_state(body).positions
    body.world()
    with pytest.raises(lg.ROSSafetyViolation, match="the kernel rejected"):
        body.execute(lg.ActionChunk(start[np.newaxis] + 1.0))
    assert arm.sent == []
    kernel.reset()


def test_kernel_that_is_gone_ends_the_motion(panda):
    kernel, _, _ = panda
    body = KernelBody(kernel, world=world_now)
    start = wait_for_state(body).positions
    body.world()
    threading.Timer(0.2, kernel.close).start()
    with pytest.raises(lg.ROSSafetyViolation, match="gone"):
        body.execute(lg.ActionChunk(np.repeat(start[np.newaxis], 50, axis=0)))


def test_joint_that_was_never_measured_is_named(tmp_path):
    with (
        lg.KernelClient("franka_panda", rate_hz=RATE_HZ, instance="body-blind", state_dir=tmp_path) as kernel,
        pytest.raises(lg.ROSSafetyViolation, match="panda_joint1"),
    ):
        KernelBody(kernel, world=world_now).observe()
