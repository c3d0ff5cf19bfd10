# SPDX-License-Identifier: Apache-2.0
"""Against the real packages: LeRobot's base classes and dataset reader, and openpi's client.

They bring torch along, so they have an environment of their own: `make test-lerobot`.
"""

import asyncio
import threading
from pathlib import Path

import numpy as np
import pytest

lerobot = pytest.importorskip(
    "lerobot", reason="LeRobot is not installed here; `make test-lerobot` runs this"
)

from lerobot.processor import DataProcessorPipeline, TransitionKey  # noqa: E402
from lerobot.robots.robot import Robot  # noqa: E402

import lastgate as lg  # noqa: E402
from lastgate.integrations.lerobot_robot import GatedRobot, GateStep  # noqa: E402
from lastgate.integrations.named_actions import NamedActionGate, degrees_except  # noqa: E402

JOINTS = ("shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll", "gripper")


class PaperFollower(Robot):
    """A follower of LeRobot that is where it was sent."""

    name = "paper_follower"
    config_class = None

    def __init__(self):
        self.positions = dict.fromkeys((f"{joint}.pos" for joint in JOINTS), 0.0) | {"gripper.pos": 20.0}
        self.sent = []
        self.connected = False

    is_calibrated = True

    @property
    def observation_features(self):
        return {f"{joint}.pos": float for joint in JOINTS}

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


def named(**arguments) -> NamedActionGate:
    gate = lg.Gate(lg.load_robot("so101_follower"), step_s=1.0 / 30.0)
    return NamedActionGate(
        gate, units=degrees_except(gate, percent=("gripper",)), world=lg.NO_WORLD, **arguments
    )


def action(**changes) -> dict[str, float]:
    return (
        {f"{joint}.pos": 0.0 for joint in JOINTS}
        | {"gripper.pos": 20.0}
        | {f"{k}.pos": v for k, v in changes.items()}
    )


def test_gated_robot_is_a_robot_and_sends_accepted_actions_unchanged():
    robot = GatedRobot(PaperFollower(), named())
    assert isinstance(robot, Robot)
    with robot:
        assert robot.is_connected
        robot.get_observation()
        wanted = action(shoulder_pan=2.0)
        assert robot.send_action(wanted) == wanted
        assert robot.robot.sent[-1] == wanted
        wanted["shoulder_pan.pos"] = 150.0  # whatever becomes of it, what was checked was sent
        assert robot.robot.sent[-1] == action(shoulder_pan=2.0)
        assert robot.gate.last_rejection is None
    assert not robot.is_connected


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"shoulder_pan": float("nan")}, "nan_in_action"),
        ({"shoulder_pan": 150.0}, "joint_position_limit"),
        ({"shoulder_pan": 60.0}, "joint_velocity_limit"),
    ],
)
def test_gated_robot_sends_nothing_that_was_rejected(changes, code):
    robot = GatedRobot(PaperFollower(), named())
    robot.connect()
    robot.get_observation()
    assert robot.send_action(action(**changes)) == pytest.approx(action())
    assert robot.robot.sent == []
    assert robot.gate.last_rejection.code == code


@pytest.mark.parametrize("extra", ["x.vel", "theta.vel"])
def test_gated_robot_sends_nothing_with_a_key_that_the_gate_does_not_know(extra):
    robot = GatedRobot(PaperFollower(), named())
    robot.get_observation()
    robot.send_action(action() | {extra: 0.3})
    assert robot.robot.sent == []
    assert robot.gate.last_rejection.code == "not_checked"
    robot = GatedRobot(PaperFollower(), named(unchecked_keys=(extra,)))
    robot.get_observation()
    robot.send_action(action() | {extra: 0.3})
    assert robot.robot.sent == [action() | {extra: 0.3}]


def test_gated_robot_that_never_observed_sends_nothing():
    robot = GatedRobot(PaperFollower(), named())
    robot.send_action(action())
    assert robot.gate.last_rejection.code == "state_unavailable"
    assert robot.robot.sent == []


def test_gated_robot_raises_when_asked_to():
    robot = GatedRobot(PaperFollower(), named(), raise_on_rejection=True)
    robot.get_observation()
    with pytest.raises(lg.RejectedChunkError, match="nan_in_action"):
        robot.send_action(action(gripper=float("nan")))


def through_pipeline(step, **changes):
    pipeline = DataProcessorPipeline(steps=[step], to_transition=lambda t: t, to_output=lambda t: t)
    return pipeline({TransitionKey.OBSERVATION: action(), TransitionKey.ACTION: action(**changes)})


def test_step_in_a_pipeline_passes_accepted_actions_and_holds_for_rejected_ones():
    step = GateStep(gate=named())
    assert through_pipeline(step, elbow_flex=2.0)[TransitionKey.ACTION] == action(elbow_flex=2.0)
    assert step.gate.last_rejection is None
    assert through_pipeline(step, elbow_flex=80.0)[TransitionKey.ACTION] == pytest.approx(action())
    assert step.gate.last_rejection.code == "joint_velocity_limit"


def test_step_without_a_gate_or_asked_to_raise_lets_nothing_pass():
    with pytest.raises(lg.ROSConfigError, match="needs a gate"):
        through_pipeline(GateStep())
    with pytest.raises(lg.RejectedChunkError, match="joint_velocity_limit"):
        through_pipeline(GateStep(gate=named(), raise_on_rejection=True), elbow_flex=80.0)


def test_synthetic_dataset_is_read_by_lerobot_itself(tmp_path: Path):
    from lerobot.datasets.lerobot_dataset import LeRobotDataset, LeRobotDatasetMetadata

    from lastgate.tools.audit.dataset_options import DatasetOptions
    from lastgate.tools.audit.datasets import open_dataset
    from lastgate.tools.audit.synth.dataset import write_dataset

    written = write_dataset(lg.load_robot("franka_panda"), tmp_path / "d", episodes=3, faults=0, seed=1)
    metadata = LeRobotDatasetMetadata("paper/synth", root=tmp_path / "d")
    assert metadata.total_episodes == 3
    assert metadata.total_frames == written["rows"]
    assert metadata.features["action"]["shape"] == (8,)
    # What LeRobot reads is what an audit of it reads.
    theirs, ours = (
        LeRobotDataset("paper/synth", root=tmp_path / "d"),
        open_dataset(tmp_path / "d", DatasetOptions()),
    )
    rows = ours.read(ours.episodes[0]).actions
    assert len(theirs) == written["rows"]
    assert np.array_equal([theirs[index]["action"].numpy() for index in range(20)], rows[:20])


@pytest.mark.parametrize(("degrees", "is_sent"), [(1.0, True), (90.0, False)])
def test_five_lines_of_the_readme_run(degrees, is_sent, capsys):
    text = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    lines = text.split("# LeRobot:")[1].split("\n\n")[0].splitlines()[1:]
    assert len(lines) == 5
    follower = PaperFollower()
    gate = lg.Gate(lg.load_robot("so101_follower"), step_s=1.0 / 30.0)
    # Its last line is the loop's: an observation has come before it.
    names = {"lg": lg, "gate": gate, "robot": follower, "action": action(shoulder_pan=degrees)}
    exec("\n".join(lines[:-1]), names)
    names["robot"].get_observation()
    exec(lines[-1], names)
    assert (follower.sent != []) == is_sent
    assert ("None" in capsys.readouterr().out) == is_sent


def test_client_of_openpi_talks_through_the_proxy():
    from openpi_client import websocket_client_policy
    from websockets.asyncio.server import serve

    from lastgate.integrations.numpy_messages import pack, unpack
    from lastgate.integrations.policy_proxy import REFUSAL_KEY, PolicyProxy, ProxyOptions

    home = np.array([0.0, -0.6, 0.0, -2.2, 0.0, 1.7, 0.785])
    gate = lg.Gate(lg.load_robot("franka_panda"), step_s=0.02)
    ports, stop = [], threading.Event()

    async def policy(connection):
        await connection.send(pack({"model": "stub"}))
        async for message in connection:
            shift = unpack(message)["shift"]
            await connection.send(pack({"actions": np.tile(home, (4, 1)) + shift}))

    async def run():
        async with serve(policy, "127.0.0.1", 0) as server:
            upstream = f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            proxy = PolicyProxy(
                gate, world=lg.NO_WORLD, upstream=upstream, options=ProxyOptions(state_key="state")
            )
            async with await proxy.serve(port=0) as listening:
                ports.append(listening.sockets[0].getsockname()[1])
                while not stop.is_set():
                    await asyncio.sleep(0.01)

    thread = threading.Thread(target=lambda: asyncio.run(run()))
    thread.start()
    try:
        while not ports:
            pass
        client = websocket_client_policy.WebsocketClientPolicy("127.0.0.1", ports[0])
        assert client.get_server_metadata()["model"] == "stub"
        good = client.infer({"state": home, "shift": 0.01})
        assert np.array_equal(good["actions"], np.tile(home, (4, 1)) + 0.01)
        bad = client.infer({"state": home, "shift": 0.5})
        assert "actions" not in bad
        assert bad[REFUSAL_KEY]["code"] == "joint_velocity_limit"
    finally:
        stop.set()
        thread.join()
