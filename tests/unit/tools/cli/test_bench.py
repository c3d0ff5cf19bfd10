# SPDX-License-Identifier: Apache-2.0
"""`lastgate bench`: times of the gate and its peers on any robot, and no times where a checker is wrong."""

import json
import sys
import time

import numpy as np
import pytest

import lastgate as lg
from lastgate.contracts.exceptions import ROSConfigError
from lastgate.tools.bench import peers as bench_peers
from lastgate.tools.bench import speed
from lastgate.tools.bench.scene import CLEARANCE_M, STEP_S, distance_m, placed_axes, scene_of
from lastgate.tools.cli.app import run

ROBOTS = ("franka_panda", "so101_follower", "pusht_2d")


@pytest.fixture(autouse=True)
def short_rounds(monkeypatch):
    monkeypatch.setattr(speed, "_ROUND_S", 0.002)


@pytest.mark.parametrize("name", ROBOTS)
def test_scene_is_free_and_its_obstacles_are_near(name):
    scene = scene_of(lg.Gate(lg.load_robot(name), step_s=STEP_S))
    capsule_axes = placed_axes(scene.gate, np.vstack([scene.home[None], scene.rows]), scene.fingers)
    gaps = [
        distance_m(lg.World(primitives=[obstacle], stamp_s=1.0), capsule_axes)
        for obstacle in scene.worlds[1].primitives
    ]
    assert [len(world.primitives) for world in scene.worlds] == [14, 100]
    assert min(gaps) > CLEARANCE_M
    for world in scene.worlds:
        assert scene.gate.check(
            lg.ActionChunk(scene.rows), state=scene.state, world=world, now_s=1.0
        ).accepted
        assert scene.gate.check_batch(
            scene.configurations, world=world, gripper_positions=scene.fingers
        ).accepted.all()


def test_json_has_the_gate_and_both_peers(capsys):
    assert run(["bench", "pusht_2d", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    cases = {entry["case"]: entry for entry in found["robots"]["pusht_2d"]}
    assert {name.partition(":")[0] for name in cases} == {"gate", "MuJoCo", "Pinocchio + Coal"}
    assert all(0.0 < entry["p50_us"] <= entry["p99_us"] for entry in cases.values())
    one, batch = "gate: one configuration, 14 obstacles", "gate: batch of 4096 configurations, 14 obstacles"
    assert cases[batch]["per_configuration_us"] < cases[one]["per_configuration_us"]


def test_table_names_every_robot(capsys):
    assert run(["bench", "pusht_2d", "so101_follower"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines if "p50 µs" in line] == ["pusht_2d", "so101_follower"]


def test_missing_peers_are_said_and_left_out(capsys, monkeypatch):
    for module in ("mujoco", "pinocchio"):
        monkeypatch.setitem(sys.modules, module, None)
    assert run(["bench", "pusht_2d", "--json"]) == 0
    out, err = capsys.readouterr()
    assert {entry["case"].partition(":")[0] for entry in json.loads(out)["robots"]["pusht_2d"]} == {"gate"}
    assert "MuJoCo is not installed" in err
    assert "Pinocchio + Coal is not installed" in err


def test_peer_that_is_blind_to_the_obstacles_is_not_timed():
    scene = scene_of(lg.Gate(lg.load_robot("pusht_2d"), step_s=STEP_S))
    sees_one = lg.World(primitives=scene.worlds[0].primitives[:1], stamp_s=1.0)
    blind = bench_peers.MujocoPeer(scene, sees_one)
    with pytest.raises(ROSConfigError, match="MuJoCo and the gate disagree"):
        bench_peers.require_agreement(scene, {"MuJoCo": blind})


def test_poses_that_are_all_alike_tell_nothing_about_a_peer():
    scene = scene_of(lg.Gate(lg.load_robot("pusht_2d"), step_s=STEP_S))
    peer = bench_peers.MujocoPeer(scene, scene.worlds[0])
    assert bench_peers.require_agreement(scene, {"MuJoCo": peer}) > 0
    with pytest.raises(ROSConfigError, match="nearly all free or nearly all colliding"):
        bench_peers.require_agreement(scene, {"MuJoCo": peer}, of_each_min=1000)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["no_such_robot"], "no_such_robot"),
        (["pusht_2d", "--results", "f.json"], "say `--errors` too"),
        (["--errors", "pusht_2d", "--json"], "with `--results F`"),
        (["--errors", "pusht_2d"], "no URDF"),
    ],
)
def test_what_cannot_be_measured_is_refused(arguments, sentence, capsys):
    assert run(["bench", *arguments]) == 2
    out, err = capsys.readouterr()
    assert sentence in err
    assert "p50 µs" not in out


def test_times_are_those_of_the_work_alone():
    """A call that does nothing takes nothing; one that sleeps takes at least that."""
    assert float(np.median(speed.python_times_ns(lambda: None, 500))) < 100.0
    assert float(speed.python_times_ns(lambda: time.sleep(0.001), 5).min()) > 0.9e6
