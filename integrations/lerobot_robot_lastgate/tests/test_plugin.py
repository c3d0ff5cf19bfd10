# SPDX-License-Identifier: Apache-2.0
"""Against the real LeRobot: discovery, command line, a simulated SO-101 (`make test-lerobot-plugin`)."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import draccus
import numpy as np
import pytest
from lerobot.motors import Motor, MotorCalibration, MotorNormMode
from lerobot.robots import Robot, RobotConfig, make_robot_from_config
from lerobot_robot_lastgate import Lastgate

import lastgate as lg

JOINTS = ("shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll", "gripper")
TABLE = """
world:
  - {object_id: table, shape: {shape: box, size_xyz_m: [0.8, 1.2, 0.04]}, pose: {xyz: [0.3, 0.0, -0.05]}}
attached:
  - {link: gripper_link, object_id: wrist camera, shape: {shape: sphere, radius_m: 0.01}}
"""


class PaperBus:
    """Six motors as LeRobot's bus has them, without a port."""

    apply_drive_mode = True

    def __init__(self, use_degrees: bool):
        self.model_resolution_table = {"sts3215": 4096}
        body = MotorNormMode.DEGREES if use_degrees else MotorNormMode.RANGE_M100_100
        modes = [body] * 5 + [MotorNormMode.RANGE_0_100]
        pairs = zip(JOINTS, modes, strict=True)
        self.motors = {
            name: Motor(number, "sts3215", mode) for number, (name, mode) in enumerate(pairs, start=1)
        }
        self.calibration = {
            name: MotorCalibration(id=1, drive_mode=0, homing_offset=0, range_min=1024, range_max=3072)
            for name in JOINTS
        }


@RobotConfig.register_subclass("simulated_so101")
@dataclass(kw_only=True)
class SimulatedSO101Config(RobotConfig):
    use_degrees: bool = True
    port: str = ""


class SimulatedSO101(Robot):
    """A follower that stands where it was sent."""

    config_class = SimulatedSO101Config
    name = "simulated_so101"
    is_calibrated = True

    def __init__(self, config: SimulatedSO101Config):
        self.config = config
        self.bus = PaperBus(config.use_degrees)
        self.positions = dict.fromkeys((f"{name}.pos" for name in JOINTS), 0.0) | {"gripper.pos": 20.0}
        self.sent: list[dict] = []
        self.connected = False

    @property
    def observation_features(self):
        return {f"{name}.pos": float for name in JOINTS}

    action_features = observation_features

    @property
    def is_connected(self):
        return self.connected

    def connect(self, calibrate=True):
        self.connected = True

    def calibrate(self):
        pass

    def configure(self):
        pass

    def get_observation(self):
        return dict(self.positions)

    def send_action(self, action):
        self.sent.append(action)
        self.positions |= action
        return action

    def disconnect(self):
        self.connected = False


@dataclass
class Program:
    """What LeRobot's programs read from the command line."""

    robot: RobotConfig


def made(*words: str, use_degrees: str = "true") -> Lastgate:
    inner = f"--robot.inner={{type: simulated_so101, use_degrees: {use_degrees}}}"
    common = ["--robot.type=lastgate", inner, "--robot.manifest=so101_follower"]
    config = draccus.parse(Program, args=[*common, *words])
    robot = make_robot_from_config(config.robot)
    assert isinstance(robot, Lastgate)
    return robot


def near(robot: Lastgate, **changes: float) -> dict[str, float]:
    return robot.get_observation() | {f"{name}.pos": value for name, value in changes.items()}


def test_lerobot_finds_the_plugin_by_its_name():
    code = (
        "from lerobot.utils import import_utils as found\n"
        "names = ('register_third_party_plugins', 'register_third_party_devices')  # of 0.6 and of 0.4\n"
        "next(getattr(found, name) for name in names if hasattr(found, name))()\n"
        "from lerobot.robots import RobotConfig\n"
        "print('lastgate' in RobotConfig.get_known_choices())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("True"), done.stderr


def test_shadow_mode_sends_everything_and_counts_what_it_would_reject(caplog, tmp_path: Path):
    robot = made(f"--robot.shadow_log={tmp_path / 'shadow.jsonl'}")
    assert robot.config.mode == "shadow"
    robot.connect()
    robot.get_observation()
    robot.send_action(near(robot, shoulder_pan=2.0))
    robot.send_action(near(robot, shoulder_pan=500.0))
    assert len(robot.robot.sent) == 2
    assert sum(robot.would_have_rejected.values()) == 1
    robot.disconnect()
    assert "1 of 2 actions would have been rejected" in caplog.text
    assert (tmp_path / "shadow.jsonl").stat().st_size > 0


def test_gate_mode_sends_accepted_actions_only():
    robot = made("--robot.mode=gate")
    robot.connect()
    robot.get_observation()
    accepted = near(robot, shoulder_pan=2.0)
    robot.send_action(accepted)
    assert robot.robot.sent == [accepted]
    robot.get_observation()
    robot.send_action(near(robot, shoulder_pan=500.0))
    assert robot.robot.sent == [accepted]
    assert robot.gate.last_rejection is not None


@pytest.mark.parametrize(("use_degrees", "per_unit"), [("true", 1.0), ("false", 2048 / 200 * 360 / 4095)])
def test_units_come_from_the_motors(use_degrees: str, per_unit: float):
    robot = made(use_degrees=use_degrees)
    robot.connect()
    robot.get_observation()
    moved = robot.gate.row_of(near(robot, shoulder_pan=10.0))[0] - robot.gate.state.positions[0]
    assert np.isclose(abs(moved), np.radians(10.0 * per_unit))


def test_table_and_mounts_come_from_one_file(tmp_path: Path):
    (tmp_path / "setup.yaml").write_text(TABLE)
    robot = made(f"--robot.setup={tmp_path / 'setup.yaml'}", "--robot.mode=gate")
    robot.connect()
    assert [held.object_id for held in robot.checked.attached] == ["wrist camera"]
    assert isinstance(robot._world(), lg.World)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--robot.mode=maybe",), "shadow or gate"),
        (("--robot.setup=missing.yaml",), "no such file"),
        (("--robot.manifest=franka_panda",), "panda_joint1.pos"),
    ],
)
def test_what_makes_no_sense_is_refused(words: tuple[str, ...], said: str):
    with pytest.raises(Exception, match=said):
        made(*words)


def test_robot_without_motors_must_be_told_its_units(tmp_path: Path):
    robot = made()
    robot.robot.bus = None
    with pytest.raises(lg.ROSConfigError, match="does not say the unit"):
        robot.connect()
    (tmp_path / "setup.yaml").write_text(
        "units: {" + ", ".join(f"{name}: degrees" for name in JOINTS) + "}\n"
    )
    told = made(f"--robot.setup={tmp_path / 'setup.yaml'}")
    told.robot.bus = None
    told.connect()
