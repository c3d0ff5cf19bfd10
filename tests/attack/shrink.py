# SPDX-License-Identifier: Apache-2.0
"""Makes a case that breaks a promise as small as it gets in some seconds, and writes it down so that it can be run."""

import copy
import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

Case = dict[str, Any]


def shrunk(case: Case, still_breaks: Callable[[Case], bool], *, seconds: float) -> Case:
    """Returns the smallest case that still breaks the same promise, by leaving things out one after another."""
    ends_s = time.monotonic() + seconds
    progress = True
    while progress and time.monotonic() < ends_s:
        progress = False
        for smaller in _smaller(case):
            if time.monotonic() >= ends_s:
                break
            if still_breaks(smaller):
                case, progress = smaller, True
                break
    return case


def _changed(case: Case, change: Callable[[Case], None]) -> Case:
    copied = copy.deepcopy(case)
    change(copied)
    return copied


def _smaller(case: Case) -> Iterator[Case]:
    """Yields cases that lack one thing, the largest things first."""
    yield from _shorter_chunks(case)
    world = case["world"] or {}
    for key in ("voxels", "floor_map", "points"):
        if world.get(key) is not None:
            yield _changed(case, lambda c, key=key: c["world"].update({key: None}))
    for owner, key in (
        (case, "hulls"),
        (case, "attachments"),
        (case, "contacts"),
        (world, "primitives"),
        (world, "zones"),
        (world, "points"),
        (case["manifest"]["safety"], "no_go_zones"),
        (case["manifest"]["safety"], "keep_in_zones"),
        (case["manifest"], "end_effectors"),
        (case["manifest"], "collision_geometry"),
    ):
        yield from _shorter_lists(case, owner, key)
    for key in list(case["manifest"]["safety"]):
        yield _changed(case, lambda c, key=key: c["manifest"]["safety"].pop(key))
    yield from _fewer_joints(case)
    if case["state"].get("velocities") is not None:
        yield _changed(case, lambda c: c["state"].update(velocities=None))
    yield from _fewer_voxels(case)


def _shorter_chunks(case: Case) -> Iterator[Case]:
    count = len(case["chunk"]["rows"])
    for kept in {1, count // 2, count - 1} - {0, count}:
        yield _changed(case, lambda c, kept=kept: c["chunk"].update(rows=c["chunk"]["rows"][:kept]))


def _owner(case: Case, owner_of: Case, like: Any) -> Any:
    if like is owner_of:
        return case
    if like is (owner_of["world"] or {}):
        return case["world"]
    return case["manifest"] if like is owner_of["manifest"] else case["manifest"]["safety"]


def _shorter_lists(case: Case, owner: Any, key: str) -> Iterator[Case]:
    items = owner.get(key) or []
    if not items:
        return
    kept = [[]] if len(items) > 1 else []
    kept += [items[:index] + items[index + 1 :] for index in range(min(len(items), 24))]
    for some in kept:

        def change(c: Case, some: list[Any] = some) -> None:
            _owner(c, case, owner)[key] = copy.deepcopy(some) or ([] if key != "points" else None)

        yield _changed(case, change)


def _fewer_joints(case: Case) -> Iterator[Case]:
    """Yields robots without one of the links that carry nothing, where no row or state speaks of its joint."""
    joints = case["manifest"]["joints"]
    parents = {joint["parent_link"] for joint in joints}
    used = {end["link"] for end in case["manifest"]["end_effectors"]} | {
        a["link"] for a in case["attachments"]
    }
    for joint in joints:
        link = joint["child_link"]
        passive = joint["joint_type"] == "fixed" or joint.get("mimic")
        if link in parents or link in used or not passive or len(joints) == 1:
            continue

        def change(c: Case, link: str = link) -> None:
            manifest = c["manifest"]
            manifest["joints"] = [j for j in manifest["joints"] if j["child_link"] != link]
            manifest["collision_geometry"] = [
                v for v in manifest["collision_geometry"] if v["link_name"] != link
            ]
            manifest["allowed_collision_pairs"] = [
                p for p in manifest["allowed_collision_pairs"] if link not in (p["link_a"], p["link_b"])
            ]
            c["hulls"] = [p for p in c.get("hulls", []) if p["link_name"] != link]
            for held in c["attachments"]:
                held["touch_links"] = [name for name in held["touch_links"] if name != link]

        yield _changed(case, change)


def _fewer_voxels(case: Case) -> Iterator[Case]:
    voxels = (case["world"] or {}).get("voxels")
    if voxels is None:
        return
    grid = np.array(voxels["occupancy"])
    for at in np.argwhere(grid != 0)[:24]:

        def change(c: Case, at: Any = at) -> None:
            emptied = grid.copy()
            emptied[tuple(at)] = 0
            c["world"]["voxels"]["occupancy"] = emptied.tolist()

        yield _changed(case, change)


def snippet(case: Case, promise: str, name: str) -> str:
    """Returns a test that fails as long as the case is accepted and the promise is broken."""
    return (
        "import json\n\n"
        "from attack.oracle import examine\n"
        "from attack.target import ask\n\n"
        f"CASE = json.loads(r'''{json.dumps(case)}''')\n\n\n"
        f"def test_{name}():\n"
        "    answer = ask(CASE)\n"
        f"    assert not answer.accepted or examine(CASE, answer.joint_rows)[{promise!r}].slack >= -1e-6\n"
    )
