# SPDX-License-Identifier: Apache-2.0
"""Simulated arms of a few joints, each behind a gate."""

import mujoco
import numpy as np
from paper_robots import gate_of, gripper_arm, joint, planar_two_link

from lastgate.integrations.mujoco_hal import MujocoHal

STEP_S = 0.02
SERVOS = {
    "position": '<position joint="{}" kp="2000" kv="60"/>',
    "velocity": '<velocity joint="{}" kv="100"/>',
    "torque": '<motor joint="{}" gear="2"/>',
    "geared position": '<position joint="{}" kp="2000" kv="60" gear="3"/>',
}
GRAVITY = {"position": "0 0 0", "velocity": "0 0 0", "torque": "0 -9.81 0", "geared position": "0 0 0"}


def two_link_model(kind: str) -> mujoco.MjModel:
    geom = (
        '<geom type="capsule" fromto="0.2 0 0 0.8 0 0" size="0.05" mass="0.3" contype="0" conaffinity="0"/>'
    )
    actuators = "".join(SERVOS[kind].format(name) for name in ("shoulder", "elbow"))
    return mujoco.MjModel.from_xml_string(
        f"""<mujoco><option timestep="0.002" gravity="{GRAVITY[kind]}" integrator="implicitfast"/><worldbody>
        <body><joint name="shoulder" axis="0 0 1" armature="0.1"/>{geom}
        <body pos="1 0 0"><joint name="elbow" axis="0 0 1" armature="0.1"/>{geom}</body></body>
        </worldbody><actuator>{actuators}</actuator></mujoco>"""
    )


def two_link(kind: str = "position", **arguments):
    model = two_link_model(kind)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    effort = {"effort_limit": 50.0}
    manifest = planar_two_link(
        joints=[
            joint("shoulder", "base", "upper_arm", **effort),
            joint("elbow", "upper_arm", "forearm", origin_xyz=[1.0, 0.0, 0.0], **effort),
        ]
    )
    return MujocoHal(model, data, gate_of(manifest, step_s=STEP_S), **arguments), data


def ramp(rows: int = 16, *, speed: float = 1.0) -> np.ndarray:
    return np.outer(np.arange(1, rows + 1), [speed * STEP_S, -speed * STEP_S])


def steps(hal: MujocoHal, seconds: float) -> None:
    for _ in range(round(seconds / 0.002)):
        hal.step()


def gripper_hal(**arguments):
    fingers = """<body name="hand"><joint name="lift" type="slide" axis="0 0 1" armature="1"/>
        <geom size="0.03" mass="1"/>
        <body pos="0 0.1 0"><joint name="finger_joint" type="slide" axis="0 1 0"/><geom size="0.01" mass="0.1"/></body>
        <body pos="0 -0.1 0"><joint name="other_finger" type="slide" axis="0 1 0"/><geom size="0.01" mass="0.1"/></body>
        </body>"""
    servos = "".join(
        f'<position joint="{name}" kp="1000" kv="40"/>' for name in ("lift", "finger_joint", "other_finger")
    )
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><option gravity="0 0 0"/><worldbody>{fingers}</worldbody><actuator>{servos}</actuator></mujoco>'
    )
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    manifest = gripper_arm()
    follower = joint(
        "other_finger",
        "hand",
        "finger_two",
        joint_type="prismatic",
        axis_xyz=[0.0, 1.0, 0.0],
        origin_xyz=[0.0, -0.1, 0.0],
        position_limits=[-0.04, 0.0],
        velocity_limit=0.2,
        mimic={"joint": "finger_joint", "multiplier": -1.0},
    )
    manifest["joints"] = [*manifest["joints"], follower]
    manifest["collision_geometry"] = [
        *manifest["collision_geometry"],
        {
            "link_name": "finger_two",
            "shape": {"shape": "sphere", "radius_m": 0.01},
            "origin_xyz_rpy": [0.0] * 6,
        },
    ]
    manifest["allowed_collision_pairs"] = [
        *manifest["allowed_collision_pairs"],
        {"link_a": "hand", "link_b": "finger_two", "reason": "adjacent"},
    ]
    return MujocoHal(model, data, gate_of(manifest, step_s=STEP_S), **arguments), model, data
