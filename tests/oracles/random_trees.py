# SPDX-License-Identifier: Apache-2.0
"""Random robots: trees of every joint kind the gate moves, with fixed joints, mimics and branches."""

from typing import Any

import numpy as np

import lastgate as lg
from oracles.library import capsule, joint, manifest

KINDS = ("revolute", "prismatic", "continuous", "fixed")


def _unit(rng: np.random.Generator) -> tuple[float, ...]:
    if rng.random() < 0.3:  # the axes people write, and their opposites
        axis = np.zeros(3)
        axis[rng.integers(3)] = rng.choice([-1.0, 1.0])
    else:
        axis = rng.normal(size=3)
        axis /= np.linalg.norm(axis)
    return tuple(axis.tolist())


# Of a joint that others may follow; none where it turns without end.
Limits = tuple[float, float] | None


def _mimic(rng: np.random.Generator, leaders: dict[str, Limits], kind: str) -> dict[str, Any] | None:
    # What has limits of its own cannot follow what has none.
    able = [name for name, limits in leaders.items() if kind == "continuous" or limits is not None]
    if kind == "fixed" or not able or rng.random() > 0.25:
        return None
    leader = str(rng.choice(able))
    # A mimic of one unit by another is legal: a rack that follows a wheel.
    gain = rng.uniform(0.3, 2.0) * rng.choice([-1.0, 1.0])
    return {"joint": leader, "multiplier": float(gain), "offset": float(rng.uniform(-0.5, 0.5))}


def random_tree(rng: np.random.Generator, *, with_volumes: bool = False) -> lg.RobotDescription:
    """Returns a robot of 3 to 12 joints, at least one of them driven."""
    joints: list[dict[str, Any]] = []
    leaders: dict[str, Limits] = {}
    links = ["root"]
    for number in range(int(rng.integers(3, 13))):
        kind = str(rng.choice(KINDS, p=[0.4, 0.2, 0.2, 0.2]))
        if number == 0:
            kind = "revolute"
        # Mostly a chain, sometimes a branch.
        parent = links[-1] if rng.random() < 0.7 else str(rng.choice(links))
        mimic = _mimic(rng, leaders, kind)
        lower = float(rng.uniform(-3.0, 0.0)) if kind == "revolute" else float(rng.uniform(-0.3, 0.0))
        limits = (lower, lower + float(rng.uniform(0.1, 3.0)))
        followed = leaders[mimic["joint"]] if mimic is not None else None
        if mimic is not None and followed is not None:
            # Wherever its leader may stand, so that the leader's limits are the ones in force.
            low, high = sorted(mimic["multiplier"] * limit + mimic["offset"] for limit in followed)
            limits = (low, high)
        name, child = f"j{number}", f"l{number}"
        xyz, rpy = rng.uniform(-0.4, 0.4, 3).tolist(), rng.uniform(-3.0, 3.0, 3).tolist()
        joints.append(
            joint(name, parent, child, kind, xyz=xyz, rpy=rpy, axis=_unit(rng), limits=limits, mimic=mimic)
        )
        if kind != "fixed" and mimic is None:
            leaders[name] = None if kind == "continuous" else limits
        links.append(child)
    volumes = []
    for link in links if with_volumes else links[1:2]:
        for _ in range(int(rng.integers(1, 3)) if with_volumes else 1):
            length = float(rng.choice([0.0, rng.uniform(0.02, 0.3)]))
            xyz, rpy = rng.uniform(-0.1, 0.1, 3), rng.uniform(-3, 3, 3)
            volumes.append(capsule(link, float(rng.uniform(0.005, 0.05)), length, xyz, rpy))
    return manifest("random_tree", joints, volumes)
