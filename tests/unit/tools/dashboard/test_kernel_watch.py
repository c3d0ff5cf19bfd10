# SPDX-License-Identifier: Apache-2.0
"""The page of a real kernel: what went through it is shown, its stop stops it, and it takes no client's channel.

Compared: what the kernel answered to its client with what the page tells. Not trusted: the watcher.
"""

import time

import numpy as np
import pytest
from fixtures.analytic_robots import stacked
from fixtures.patience import submit_fresh, until

import lastgate as lg
from lastgate import _core
from lastgate.kernel.process import running_kernels
from lastgate.tools.dashboard.control import KernelControl, NoControl, WatchedControl
from lastgate.tools.dashboard.kernel_watch import KernelWatch
from lastgate.tools.dashboard.store import LiveStore
from lastgate.tools.dashboard.world_view import WorldView

START = np.array([0.0, -0.6, 0.0, -2.2, 0.0, 1.7, 0.785])
INTO_THE_SPHERE = np.linspace(START, START + np.array([0, 0.9, 0, 0.6, 0, 0, 0]), 40)
SPHERE = lg.WorldCollisionPrimitive(
    shape=lg.SphereShape(radius_m=0.1), pose=lg.Pose6D(xyz=(0.6, 0.0, 0.5)), object_id="sphere"
)


@pytest.fixture
def watch():
    watching: list[KernelWatch] = []

    def start(kernel: lg.KernelClient, **options) -> tuple[LiveStore, KernelWatch]:
        store = LiveStore(source="kernel")
        watching.append(KernelWatch(store, instance=kernel.instance, **options))
        return store, watching[-1]

    yield start
    for one in watching:
        one.close()


def state_of(store: LiveStore) -> str:
    return store.gate()["state"]


def entry_of(store: LiveStore, code: str):
    """Waits for a refusal of this kind; a busy machine may have brought about others before it."""
    return until(lambda: next((entry for entry in store.event_log.after(0) if entry.code == code), None))


def test_accepted_and_rejected_chunks_states_and_worlds_are_shown(start_kernel, watch):
    kernel = start_kernel(lg.load_robot("franka_panda"), on_violation="hold", on_stale="drop")
    store, _ = watch(kernel)
    seen = {"primitives": [SPHERE], "points": np.full((4, 3), 2.0)}
    assert submit_fresh(kernel, np.linspace(START, START + 0.02, 8), **seen).accepted
    until(lambda: store.counts()["accepted"] == 1)
    until(lambda: store.candidate()["candidate"]["verdict"] == "accepted" or store.event_log.after(0))
    assert store.volumes() is not None
    verdict = submit_fresh(kernel, INTO_THE_SPHERE, **seen)
    assert not verdict.accepted
    entry = entry_of(store, "world_collision")
    assert entry.sentence == verdict.violations[0].sentence()
    assert entry.time_s == pytest.approx(time.time(), abs=60.0)
    until(lambda: store.candidate()["candidate"]["verdict"] == "world_collision")
    assert store.obstacles()["obstacles"][0]["label"] == "sphere"
    assert store.cloud()["points"]["total"] == 4
    ages = store.ages()
    assert ages["state"] < 60.0
    assert ages["world"] < 60.0
    assert ages["voxels"] is None


def test_picture_of_a_refusal_is_drawn_from_what_was_seen_in_the_rings(start_kernel, watch):
    kernel = start_kernel(lg.load_robot("franka_panda"), on_violation="hold", on_stale="drop")
    store, _ = watch(kernel)
    assert not submit_fresh(kernel, INTO_THE_SPHERE, primitives=[SPHERE]).accepted
    entry = entry_of(store, "world_collision")
    assert entry.has_picture
    assert store.event_log.picture(entry.number)().startswith(b"\x89PNG")


def test_what_was_rejected_before_a_page_was_open_is_in_the_event_log(start_kernel, watch):
    kernel = start_kernel(lg.load_robot("franka_panda"), without_world=True, on_violation="hold")
    kernel.observe(START)
    assert not kernel.submit(np.full((3, 7), np.nan)).accepted
    store, _ = watch(kernel)
    (entry,) = until(lambda: store.event_log.after(0))
    assert entry.code == "nan_in_action"


def test_stop_of_the_page_latches_and_reset_says_why_it_is_refused(start_kernel, watch):
    kernel = start_kernel(lg.load_robot("franka_panda"), without_world=True, reset_cooldown_s=0.3)
    store, one = watch(kernel)
    control = WatchedControl(one)
    until(lambda: state_of(store) == "active")
    assert control.estop("smoke").success
    assert kernel.status().latched
    refused = control.reset()
    assert not refused.success
    assert "cooling down" in refused.message
    until(lambda: state_of(store) == "latched")
    assert until(lambda: store.gate()["reason"]) == "smoke"
    (entry,) = until(lambda: store.event_log.after(0))
    assert entry.code == "stop"
    assert entry.sentence.endswith("smoke")
    time.sleep(0.35)
    assert control.reset().success
    assert not kernel.status().latched
    until(lambda: state_of(store) == "active")
    assert len(store.event_log) == 1


def test_chunks_dropped_while_latched_are_counted_and_not_listed(start_kernel, watch):
    kernel = start_kernel(lg.load_robot("franka_panda"), without_world=True)
    store, _ = watch(kernel)
    kernel.estop("first")
    kernel.observe(START)
    for _ in range(5):
        kernel.submit(np.linspace(START, START + 0.02, 8))
    until(lambda: store.counts()["while_latched"] == 5)
    assert [entry.code for entry in store.event_log.after(0)] == ["stop"]


def test_source_that_holds_the_stop_is_named(start_kernel, watch):
    kernel = start_kernel(lg.load_robot("franka_panda"), without_world=True)
    store, _ = watch(kernel)
    registration = _core.Registration(kernel.instance, "pendant")
    registration.hold("the button is down")

    def held():
        registration.beat()
        return store.gate()["held"]

    assert until(held) == [["pendant", "the button is down"]]
    registration.release()
    registration.leave()


def test_watching_takes_no_channel(start_kernel, watch):
    kernel = start_kernel(lg.load_robot("franka_panda"), without_world=True)
    store, _ = watch(kernel)
    until(lambda: state_of(store) == "active")
    # The client has the first of the channels; with a page looking, the others can all be had.
    others = [_core.ChannelClient(kernel.instance) for _ in range(_core.CHANNELS_MAX - 1)]
    assert len(others) == _core.CHANNELS_MAX - 1
    refused = KernelControl(kernel.instance).reset()
    assert not refused.success
    assert "channels" in refused.message
    # Half of a surrogate pair is what JSON may carry and UTF-8 may not.
    assert KernelControl(kernel.instance).estop("without a channel \ud800").success


def test_kernel_that_ends_is_lost_and_one_that_starts_again_is_found(start_kernel, watch, tmp_path):
    robot = lg.load_robot("franka_panda")
    kernel = start_kernel(robot, without_world=True)
    store, one = watch(kernel)
    until(lambda: state_of(store) == "active")
    kernel.close()
    until(lambda: state_of(store) == "lost")
    assert not WatchedControl(one).estop("too late").success
    with lg.KernelClient(
        robot,
        rate_hz=50.0,
        instance=kernel.instance,
        settings=lg.KernelSettings(without_world=True, on_stale="drop"),
        state_dir=tmp_path,
    ) as again:
        until(lambda: state_of(store) == "active")
        assert submit_fresh(again, np.linspace(START, START + 0.02, 8)).accepted
        until(lambda: store.counts()["accepted"] == 1)


def test_robot_that_is_not_of_the_library_is_watched_without_a_picture_or_drawn_when_given(
    start_kernel, watch
):
    robot = lg.RobotDescription(**stacked(2))
    kernel = start_kernel(robot, without_world=True, on_violation="hold")
    blind, _ = watch(kernel)
    seeing, _ = watch(kernel, robot=robot)
    wrong, _ = watch(kernel, robot=lg.load_robot("ur5e"))
    kernel.observe(np.zeros(2))
    assert not kernel.submit(np.full((2, 2), 5.0)).accepted
    (entry,) = until(lambda: blind.event_log.after(0))
    assert "position" in entry.sentence
    assert "cannot be drawn" in blind.gate()["note"]
    (entry,) = until(lambda: seeing.event_log.after(0))
    assert entry.code == "joint_position_limit"
    until(seeing.volumes)
    assert "not `ur5e`" in until(lambda: wrong.gate()["note"])


def test_only_kernel_of_the_machine_is_found_by_itself(start_kernel):
    kernel = start_kernel(lg.load_robot("franka_panda"), without_world=True)
    assert kernel.instance in running_kernels()
    kernel.close()
    assert kernel.instance not in running_kernels()


def test_page_without_a_kernel_says_that_its_button_stops_nothing():
    outcome = NoControl().estop("x")
    assert not outcome.success
    assert "hardware stop" in outcome.message
    assert not KernelControl("no-such-kernel").estop("x").success
    assert not KernelControl("no-such-kernel").reset().success


def worlds() -> list[lg.World]:
    box = lg.WorldCollisionPrimitive(
        shape=lg.BoxShape(size_xyz_m=(0.1, 0.2, 0.3)),
        pose=lg.Pose6D(xyz=(1.0, 2.0, 3.0), quat_xyzw=(0.0, 0.0, 0.6, 0.8)),
        object_id="box",
    )
    pole = lg.WorldCollisionPrimitive(
        shape=lg.CapsuleShape(radius_m=0.1, length_m=0.5),
        pose=lg.Pose6D(xyz=(0.0, 1.0, 0.0)),
        object_id="pole",
    )
    floor = lg.WorldCollisionPrimitive(
        shape=lg.HalfSpaceShape(), pose=lg.Pose6D(xyz=(0.0, 0.0, -1.0)), object_id="floor"
    )
    voxel_array = np.zeros((4, 5, 6), np.uint8)
    voxel_array[1:4, 1:4, 1:4] = 1
    voxel_array[0, 0, 0] = 255
    voxels = lg.Voxels(occupancy=voxel_array, origin_xyz=(0.0, 0.5, 1.0), resolution_m=0.1, stamp_s=6.0)
    return [
        lg.World(primitives=[box, pole, floor, SPHERE], stamp_s=5.0, world_id="shapes"),
        lg.World(voxels=voxels, points=np.eye(3), stamp_s=5.0, world_id="clouds"),
    ]


@pytest.mark.parametrize("world", worlds(), ids=lambda world: world.world_id)
def test_world_looks_the_same_from_its_message_as_from_the_object(world):
    direct = WorldView.of_world(world)
    told = WorldView.of_message(_core.MessageType.world_snapshot, world.to_message(), before=None)
    assert told is not None
    assert told.obstacles_json() == direct.obstacles_json()
    assert told.cloud_json() == direct.cloud_json()
    back = told.to_world()
    assert WorldView.of_world(back).obstacles_json() == direct.obstacles_json()
    assert WorldView.of_world(back).cloud_json() == direct.cloud_json()


def test_cells_inside_are_not_sent_and_unknown_ones_are_not_drawn():
    voxel_array = WorldView.of_world(worlds()[1]).cloud_json()["cells"]
    assert voxel_array["total"] == 27 - 1


@pytest.mark.parametrize("kind", [0, 1, 3, 4, 5])
@pytest.mark.parametrize("payload", [b"", b"\0\1\0\0", b"\xff" * 200])
def test_bytes_that_are_no_world_change_nothing(kind, payload):
    assert WorldView.of_message(kind, payload, before=None) is None


def test_obstacle_with_numbers_that_cannot_be_drawn_is_left_out():
    view = WorldView(
        stamp_s=0.0,
        kinds=("sphere", "sphere", "unknown"),
        sizes_m=np.array([[0.1, 0, 0], [np.nan, 0, 0], [0.1, 0, 0]]),
        poses=np.tile([0.0, 0, 0, 0, 0, 0, 1], (3, 1)),
        labels=("good", "bad", "odd"),
    )
    assert [obstacle["label"] for obstacle in view.obstacles_json()] == ["good"]
    with pytest.raises(lg.ROSConfigError):
        view.to_world()


@pytest.mark.parametrize("warn_only", [True, False])
def test_page_is_told_that_nothing_is_rejected(start_kernel, watch, warn_only):
    kernel = start_kernel(lg.RobotDescription(**stacked(2)), without_world=True, warn_only=warn_only)
    store, _ = watch(kernel)
    until(lambda: state_of(store) == "active")
    assert store.gate()["note"].startswith("WARN ONLY") is warn_only
