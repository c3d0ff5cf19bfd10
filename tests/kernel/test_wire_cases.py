# SPDX-License-Identifier: Apache-2.0
"""The cases that a peer publishes for its kernel, through our kernel process; `grep -r test_k01_` finds the others.

K12, K15 and K17 are stated for `on_stale: drop`.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import mujoco
import numpy as np
import pytest
from fixtures import ros_messages as ros
from fixtures.analytic_robots import (
    PAPER_SAFETY,
    allowed,
    arm_of_one_link,
    capsule_on,
    gripper_arm,
    joint,
    only_violation,
    planar_two_link,
    post,
    stacked,
    wall_beyond_x,
)
from fixtures.kernel_messages import submit
from fixtures.library_poses import LIBRARY_POSES
from fixtures.root_frame_robot import BASE, ROOT, mounted_arm

import lastgate as lg
from lastgate import _core
from lastgate.contracts import RobotFrames
from lastgate.integrations.driver import SafeActionDriver, StopReason
from lastgate.kernel.process import kernel_program
from lastgate.robots.kernel_config import flat_config
from lastgate.tools.lowering.lower import joints_with_frames, lower_robot

Mode = lg.ControlMode
PROGRAM = str(Path(sys.executable).with_name("lastgate"))


def last_failure(reader):
    message = reader.read(1.0)
    assert message is not None
    return ros.from_bytes(message[3], "openral_msgs/msg/FailureTrigger")


def start_native(tmp_path, text):
    config = tmp_path / "kernel.yaml"
    config.write_text(text)
    command = [str(kernel_program()), "--config", str(config), "--instance", f"wire-{os.getpid()}"]
    command += ["--latch", str(tmp_path / "latch"), "--without-world"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_k07_k08_array_of_the_wrong_length_fails_to_configure_and_the_right_one_configures(tmp_path):
    text = flat_config(lg.RobotDescription(**planar_two_link()), step_s=0.1)
    line = next(line for line in text.splitlines() if line.startswith("joint_origin_xyzrpy"))
    key, _, numbers = line.partition(": ")
    short = f"{key}: [{', '.join(numbers.strip('[]').split(', ')[:3])}]"
    broken = start_native(tmp_path, text.replace(line, short))
    assert broken.wait(30) == 2
    assert key in broken.communicate()[1]
    whole = start_native(tmp_path, text)
    assert whole.stdout.readline() == "ready planar_two_link\n"
    whole.terminate()
    whole.communicate(timeout=30)
    assert whole.returncode == 0


def tower() -> dict:
    """The arm of K10: three links of 0.4 m about y, upright capsules, neighbours allowed."""
    links = ["base", "link1", "link2", "link3"]
    return {
        "name": "tower",
        "base_frame": "base",
        "joints": [
            joint(
                f"j{n}",
                links[n],
                links[n + 1],
                axis_xyz=[0.0, 1.0, 0.0],
                origin_xyz=[0.0, 0.0, 0.4 if n else 0.0],
                position_limits=[-3.2, 3.2],
                velocity_limit=100.0,
            )
            for n in range(3)
        ],
        "collision_geometry": [capsule_on(link, 0.04, 0.18, (0.0, 0.0, 0.2)) for link in links[1:]],
        "allowed_collision_pairs": [allowed("link1", "link2"), allowed("link2", "link3")],
    }


def mujoco_distance(q) -> float:
    """Returns the distance between the first and the third capsule, from a program that is not ours."""
    capsule = '<geom name="g{0}" type="capsule" size=".04 .09" pos="0 0 .2"/>'
    body = '<body pos="0 0 {1}"><joint axis="0 1 0"/>' + capsule
    chain = "".join(body.format(n, 0.4 if n else 0.0) for n in range(3)) + "</body>" * 3
    model = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{chain}</worldbody></mujoco>")
    data = mujoco.MjData(model)
    data.qpos[:] = q
    mujoco.mj_forward(model, data)
    return mujoco.mj_geomDistance(model, data, 0, 2, 1.0, None)


def test_k10_k11_upright_arm_passes_and_folded_is_refused_as_deep_as_mujoco_says(start_kernel):
    kernel = start_kernel(tower(), without_world=True)
    assert submit(kernel, [[0.0, 0.0, 0.0]]).accepted
    # With frames at the joints, the third link comes back beside the first when both fold.
    folded = [0.0, np.pi, np.pi]
    violation = only_violation(submit(kernel, [folded], at=folded))
    assert violation.code == lg.ViolationCode.self_collision
    assert {violation.subject, violation.against} == {"link1", "link3"}
    assert violation.value < 0.0
    assert violation.value == pytest.approx(mujoco_distance(folded), abs=0.01)
    assert kernel.status().latched


def test_k15_no_grid_is_dropped_free_grid_passes_and_an_occupied_voxel_is_named(start_kernel):
    kernel = start_kernel(arm_of_one_link(), on_stale="drop")
    failures = _core.RingReader(kernel.instance, "failures")
    channel = _core.ChannelClient(kernel.instance)
    assert only_violation(submit(kernel, [[0.0]])).code == lg.ViolationCode.world_unavailable
    assert not kernel.status().latched
    assert last_failure(failures).kind == lg.FailureKind.CONTROLLER
    voxel_array = np.zeros((24, 24, 24), dtype=np.uint8)

    def publish():
        message = ros.make(
            "openral_msgs/msg/OccupancyVoxels",
            header=ros.header(time.time(), "base"),
            origin=ros.make("geometry_msgs/msg/Point", x=-1.2, y=-1.2, z=-1.2),
            resolution=0.1,
            size_x=24,
            size_y=24,
            size_z=24,
            occupancy=voxel_array.ravel(),
        )
        assert channel.wait_world(
            channel.publish_wire_world(("occupancy_voxels", ros.to_bytes(message))), 1.0
        )

    publish()
    assert submit(kernel, [[0.0]]).accepted
    voxel_array[12, 12, 17] = 100
    publish()
    assert not submit(kernel, [[0.0]]).accepted
    evidence = lg.read_evidence(last_failure(failures).evidence_json)
    assert (evidence.collision_kind, evidence.link_b_or_object) == (
        "world",
        f"voxel_{(12 * 24 + 12) * 24 + 17}",
    )
    assert kernel.status().latched


CHAIN = """
<mujoco><worldbody><body name="stand">
  <body name="a"><joint name="hinge_a" axis="0 0 1" range="-3.2 3.2"/>{geom}
    <body name="b" pos=".4 0 0"><joint name="hinge_b" axis="0 0 1" range="-3.2 3.2"/>{geom}
      <body name="c" pos=".4 0 0"><joint name="hinge_c" axis="0 0 1" range="-3.2 3.2"/>{geom}
</body></body></body></body></worldbody></mujoco>
""".format(geom='<geom type="capsule" size=".04" fromto=".1 0 0 .3 0 0"/>')


@pytest.mark.parametrize(("angle", "accepted"), [(0.0, True), (2.4, True), (np.pi, False)])
def test_k16_chain_of_an_mjcf_whose_joints_have_other_names(start_kernel, tmp_path, angle, accepted):
    (tmp_path / "arm.xml").write_text(CHAIN)
    limits = {"position_limits": (-3.2, 3.2), "velocity_limit": 100.0}
    joints = [
        joint(f"j{n}", f"link{n - 1}", f"link{n}", sim_joint_name=f"hinge_{'abc'[n - 1]}", **limits)
        for n in (1, 2, 3)
    ]
    robot = lg.RobotDescription(
        name="chain", base_frame="link0", assets={"mjcf": "file:arm.xml"}, joints=joints
    )
    lowered = lower_robot(robot, tmp_path)
    changes = {
        "collision_geometry": tuple(lowered.geometry),
        "allowed_collision_pairs": tuple(lowered.pairs),
        "joints": joints_with_frames(robot, lowered.frames),
    }
    kernel = start_kernel(robot.model_copy(update=changes), without_world=True)
    pose = [0.0, angle, np.pi if angle == np.pi else 0.0]
    verdict = submit(kernel, [pose], at=pose)
    assert verdict.accepted == accepted, verdict.explain()
    if not accepted:
        violation = only_violation(verdict)
        assert {violation.subject, violation.against} == {"link1", "link3"}


def test_k21_wall_in_the_base_frame_is_met_wherever_the_base_stands(start_kernel):
    # The base is no column of a joint row, so where it stands on the floor cannot move the arm past the wall.
    kernel = start_kernel(arm_of_one_link())
    kernel.publish_world(lg.World(primitives=[wall_beyond_x(0.2, "wall")], stamp_s=time.time()))
    violation = only_violation(submit(kernel, np.zeros((2, 1)), Mode.JOINT_VELOCITY))
    assert (violation.code, violation.against) == (lg.ViolationCode.world_collision, "wall")
    assert kernel.status().latched


def test_k21_twin_wall_beyond_the_arm_passes(start_kernel):
    kernel = start_kernel(arm_of_one_link())
    kernel.publish_world(lg.World(primitives=[wall_beyond_x(1.2, "wall")], stamp_s=time.time()))
    assert submit(kernel, np.zeros((2, 1)), Mode.JOINT_VELOCITY).accepted


@pytest.mark.parametrize(("fill", "accepted"), [(1, False), (0, True)])
def test_k24_mobile_panda_in_a_full_box_is_refused_by_a_voxel(start_kernel, fill, accepted):
    robot = lg.load_robot("panda_mobile")
    kernel = start_kernel(robot, rate_hz=50.0)
    voxel_array = np.full((30, 30, 30), fill, dtype=np.uint8)
    voxels = lg.Voxels(
        occupancy=voxel_array,
        origin_xyz=(-1.5, -1.5, -0.5),
        resolution_m=0.1,
        stamp_s=time.time(),
        outside="free",
    )
    kernel.publish_world(lg.World(voxels=voxels, stamp_s=time.time()))
    home = {"panda_joint2": -0.6, "panda_joint4": -2.2, "panda_joint6": 1.7, "panda_joint7": 0.785}
    at = [home.get(name, 0.0) for name in kernel.joint_names]
    verdict = submit(kernel, np.zeros((1, 6)), Mode.CARTESIAN_DELTA, at=at)
    assert verdict.accepted == accepted, verdict.explain()
    if not accepted:
        # Inside a solid block there is no voxel to name: only voxels beside a free one have a surface.
        assert only_violation(verdict).against.startswith(("voxel_", "unseen space"))


def test_k25_h1_stands_and_an_arm_in_its_body_is_refused(start_kernel):
    kernel = start_kernel("h1", without_world=True, rate_hz=50.0)
    pose = LIBRARY_POSES["h1"]
    home = [pose.home.get(name, 0.0) for name in kernel.joint_names]
    folded = [{**pose.home, **pose.folded}.get(name, 0.0) for name in kernel.joint_names]
    assert submit(kernel, [home], at=home).accepted
    violation = only_violation(submit(kernel, [folded], at=folded))
    assert violation.code == lg.ViolationCode.self_collision
    assert tuple(sorted((violation.subject, violation.against))) in {tuple(sorted(p)) for p in pose.meets}


@pytest.mark.parametrize(("name", "steps"), [("rizon4", 30), ("openarm", 20), ("so100_follower", 30)])
def test_k26_small_sinusoids_of_the_library_pass(start_kernel, name, steps):
    kernel = start_kernel(name, without_world=True, rate_hz=30.0)
    pose = LIBRARY_POSES[name].home if name in LIBRARY_POSES else {}
    home = np.array([pose.get(joint_name, 0.0) for joint_name in kernel.joint_names])
    limits = {one.name: one.position_limits for one in kernel.robot.actuated_joints}
    lows, highs = np.array([limits[joint_name] for joint_name in kernel.joint_names]).T
    home = np.clip(home, lows + 0.1, highs - 0.1)
    rows = home + 0.05 * np.sin(np.linspace(0.0, 2.0 * np.pi, steps))[:, None]
    verdict = submit(kernel, rows, at=home)
    assert verdict.accepted, verdict.explain()
    if name == "openarm":
        rows[:, 0] = kernel.robot.actuated_joints[0].position_limits[1] + 1.0
        violation = only_violation(submit(kernel, rows, at=home))
        assert violation.kind == lg.FailureKind.WORKSPACE
        assert kernel.status().latched


def test_k28_one_pass_and_one_violation_leave_two_traces(start_kernel):
    kernel = start_kernel(stacked(3), without_world=True)
    traces = _core.RingReader(kernel.instance, "traces")
    submit(kernel, [[0.01] * 3], rskill_id="pick", trace_id="00-abc")
    submit(kernel, [[9.0] * 3], rskill_id="pick", trace_id="00-def")
    first, second = (_core.decode_trace(traces.read(1.0)[3]) for _ in range(2))
    assert traces.read(0.05) is None
    assert (first.passed, first.trace_id, first.verdict.accepted) == (True, "00-abc", True)
    assert (second.passed, second.trace_id, second.latched) == (False, "00-def", True)
    assert second.verdict.violation.code == lg.ViolationCode.joint_position_limit.number
    assert first.rskill_id == second.rskill_id == "pick"


def test_m03_latch_by_another_source_silences_the_deadman(start_kernel):
    kernel = start_kernel(stacked(2), without_world=True, required_sources=["deadman"])
    failures = _core.RingReader(kernel.instance, "failures")
    command = [PROGRAM, "deadman", "--robot", kernel.instance, "--safe-action-deadline-s", "1.0"]
    deadman = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 30.0
        while kernel.status().state is not lg.KernelState.ACTIVE:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        kernel.estop("another source was first")
        time.sleep(1.5)
        assert kernel.status().source.startswith("client")
        assert failures.read(0.05) is None
    finally:
        deadman.kill()
        deadman.wait()


@pytest.mark.parametrize(("line", "reason"), [("dashboard", "dashboard"), ("", "human")])
def test_m04_human_stops_with_the_label_that_was_given_or_says_that_there_was_none(
    start_kernel, line, reason
):
    kernel = start_kernel(stacked(2), without_world=True)
    failures = _core.RingReader(kernel.instance, "failures")
    command = [PROGRAM, "human", "--robot", kernel.instance]
    done = subprocess.run(command, input=line + "\n", text=True, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert kernel.status().latched
    failure = last_failure(failures)
    assert failure.kind == lg.FailureKind.HUMAN
    assert lg.read_evidence(failure.evidence_json).reason == reason


@pytest.mark.parametrize(
    ("mode", "row", "code"),
    [
        (Mode.CARTESIAN_DELTA, [0.1, 0, 0, 0, 0, 0], "cartesian_step"),
        (Mode.CARTESIAN_DELTA, [0, 0, 0, 0.5, 0, 0], "cartesian_rotation_step"),
        (Mode.CARTESIAN_TWIST, [2, 0, 0, 0, 0, 0], "ee_speed"),
        (Mode.CARTESIAN_TWIST, [0, 0, 0, 0, 0, 9], "ee_angular_speed"),
        (Mode.BODY_TWIST, [1.5, 0, 0, 0, 0, 0], "base_linear_speed"),
        (Mode.BODY_TWIST, [0, 0, 0, 0, 0, 2], "base_angular_speed"),
        (Mode.GRIPPER_POSITION, [-0.5], "gripper_range"),
        (Mode.GRIPPER_POSITION, [2], "gripper_range"),
        (Mode.CARTESIAN_DELTA, [0, 0, 0, 0], "ndof_mismatch"),
        (42, [0], "control_mode"),
    ],
)
def test_m05_every_mode_has_its_bounds_in_the_kernel(start_kernel, mode, row, code):
    # A base that turns the arm about its own axis, and a finger, so that every mode is enabled.
    manifest = gripper_arm(
        safety=PAPER_SAFETY | {"workspace_box_min_xyz": [-9] * 3, "workspace_box_max_xyz": [9] * 3}
    )
    kernel = start_kernel(manifest, without_world=True)
    assert str(only_violation(submit(kernel, [row], mode)).code) == code


def test_m06_step_inside_its_bound_passes(start_kernel):
    manifest = planar_two_link(safety={"max_cartesian_step_m": 0.05, "max_cartesian_step_rad": 0.5})
    kernel = start_kernel(manifest, without_world=True)
    row = [0.01, 0.02, 0.0, 0.0, 0.0, 0.0]
    assert submit(kernel, [row], Mode.CARTESIAN_DELTA, at=[0.0, 1.0]).accepted


@pytest.mark.parametrize("label", ['12" pan', "back\\slash", "äöü 漢"])
def test_x22_label_of_an_obstacle_survives_the_evidence_of_the_kernel(start_kernel, label):
    kernel = start_kernel(arm_of_one_link())
    failures = _core.RingReader(kernel.instance, "failures")
    kernel.publish_world(lg.World(primitives=[post((0.5, 0.0, 0.0), 0.05, 0.1, label)], stamp_s=time.time()))
    assert not submit(kernel, [[0.0]]).accepted
    assert lg.read_evidence(last_failure(failures).evidence_json).link_b_or_object == label


def test_x23_joint_state_of_the_gripper_alone_does_not_refresh_the_arm(start_kernel):
    kernel = start_kernel(gripper_arm(), without_world=True, on_stale="drop")
    channel = _core.ChannelClient(kernel.instance)

    def finger_says():
        channel.observe(
            _core.encode_joint_state(["finger_joint"], positions=np.zeros(1), stamp_s=time.time())
        )

    finger_says()
    kernel.observe(np.zeros(1))
    assert kernel.submit(np.zeros((1, 1))).accepted
    for _ in range(6):
        time.sleep(0.08)
        finger_says()
    assert only_violation(kernel.submit(np.zeros((1, 1)))).code == lg.ViolationCode.state_unavailable


def test_x24_horizon_of_65535_is_refused_in_bounded_time(start_kernel):
    kernel = start_kernel(stacked(1), without_world=True)
    channel = _core.ChannelClient(kernel.instance)
    kernel.observe(np.zeros(1))
    whole = ros.to_bytes(ros.action_chunk(np.zeros((65535, 1))))
    with pytest.raises(ValueError, match="does not fit"):
        channel.submit(whole)
    # One that says so and brings a few numbers only fits the slot, and is refused as fast as any other.
    said = ros.to_bytes(ros.action_chunk(np.zeros((4, 1)), horizon=65535))
    answer = channel.wait_verdict(channel.submit(said), timeout_s=1.0)
    assert answer.verdict.violation.code == lg.ViolationCode.dim_mismatch.number
    assert answer.duration_s < 0.05


class Arm:
    """An actuator that counts."""

    def __init__(self) -> None:
        self.commands = 0

    def command(self, row, mode) -> None:
        self.commands += 1

    def stop(self) -> None:
        pass

    def is_stopped(self) -> bool:
        return True


def test_x26_driver_that_starts_after_a_stop_does_not_move(start_kernel):
    kernel = start_kernel(stacked(2), without_world=True, reset_cooldown_s=0.01)
    assert submit(kernel, np.full((200, 2), 0.01)).accepted  # 20 s of motion
    kernel.estop("before the driver was there")
    arm = Arm()
    driver = SafeActionDriver(kernel.instance, arm, name="arm", step_s=0.1)
    for _ in range(50):
        assert not driver.tick()
        time.sleep(0.002)
    assert (arm.commands, driver.logic.reason) == (0, StopReason.LATCHED)
    # Nor does it take up, after the reset, what was accepted before it came.
    assert kernel.reset().success
    for _ in range(20):
        assert not driver.tick()
        time.sleep(0.002)
    assert submit(kernel, np.full((2, 2), 0.01)).accepted
    assert driver.tick()
    driver.close()


def test_x26_twin_stop_that_a_kernel_died_with_is_there_for_the_next_driver(start_kernel):
    first = start_kernel(stacked(2), without_world=True)
    first.estop("stop")
    os.kill(first.pid, signal.SIGKILL)
    first.close()
    second = start_kernel(stacked(2), without_world=True, instance=first.instance)
    driver = SafeActionDriver(second.instance, Arm(), name="arm", step_s=0.1)
    assert not submit(second, np.full((2, 2), 0.01)).accepted
    assert not driver.tick()
    driver.close()


def test_world_message_in_the_root_frame_is_moved_and_one_without_a_frame_is_rejected(start_kernel):
    robot = mounted_arm()
    motion = np.array(RobotFrames.of(robot).root_in_base)
    kernel = start_kernel(robot, on_violation="hold", on_stale="drop")
    channel = _core.ChannelClient(kernel.instance)

    def outcome(frame_id: str, in_base: tuple[float, float, float]) -> str:
        x, y, z = (motion[:, :3].T @ (np.array(in_base) - motion[:, 3])).tolist()
        obstacle = ros.make(
            "openral_msgs/msg/WorldCollision",
            header=ros.header(time.time(), frame_id),
            radius=np.array([0.02]),
            half_length=np.array([0.0]),
            origin_xyzrpy=np.array([x, y, z, 0.0, 0.0, 0.0]),
            object_id=["cup"],
        )
        assert channel.wait_world(
            channel.publish_wire_world(("world_collision", ros.to_bytes(obstacle))), 1.0
        )
        verdict = submit(kernel, np.zeros((1, 2)))
        return "accepted" if verdict.accepted else only_violation(verdict).code

    above, inside = (0.3, 0.0, 0.6), (0.3, 0.0, 0.2)
    assert outcome("", above) == "world_unavailable"
    assert outcome(ROOT, above) == "accepted"
    assert outcome(ROOT, inside) == "world_collision"


def test_client_hands_over_a_world_of_the_root_frame_and_the_gate_in_process_agrees(start_kernel):
    kernel = start_kernel(mounted_arm(), on_violation="hold", on_stale="drop")
    motion = np.array(RobotFrames.of(mounted_arm()).root_in_base)
    for in_base, accepted in (((0.3, 0.0, 0.6), True), ((0.3, 0.0, 0.2), False)):
        xyz = motion[:, :3].T @ (np.array(in_base) - motion[:, 3])
        cloud = lg.World(points=xyz[np.newaxis], stamp_s=time.time(), frame_id=ROOT)
        kernel.publish_world(cloud)
        said = submit(kernel, np.zeros((1, 2)))
        assert said.accepted is accepted
    kernel.publish_world(lg.World(primitives=[], stamp_s=time.time()))
    violation = only_violation(submit(kernel, np.zeros((1, 2))))
    assert violation.code == "world_unavailable"
    assert f"must name `{BASE}` or `{ROOT}`" in violation.sentence()
