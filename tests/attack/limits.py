# SPDX-License-Identifier: Apache-2.0
"""The numeric limits that a manifest puts on every actuated joint; what mimics a joint counts against it."""

from typing import Any

import numpy as np

from attack.kinematics import Array, Tree
from attack.motions import finger_range


def joint_limits(case: dict[str, Any], tree: Tree) -> dict[str, Array]:
    """Returns `low`, `high`, `velocity`, `effort` and `acceleration` (infinite where not declared), one per joint."""
    manifest = case["manifest"]
    safety = manifest.get("safety", {})
    factor = safety.get("max_joint_speed_factor", 1.0)
    by_name = {joint["name"]: joint for joint in manifest["joints"]}
    found: dict[str, list[float]] = {key: [] for key in ("low", "high", "velocity", "acceleration", "effort")}
    for column, name in enumerate(tree.joints):
        joint = by_name[name]
        low, high = finger_range(tree, column)
        found["low"].append(low)
        found["high"].append(high)
        velocity = factor * joint["velocity_limit"]
        acceleration = joint.get("acceleration_limit", np.inf)
        for follower in manifest["joints"]:
            mimic = follower.get("mimic")
            if not mimic or mimic["joint"] != name:
                continue
            gain = abs(mimic["multiplier"])
            velocity = min(velocity, factor * follower.get("velocity_limit", np.inf) / gain)
            acceleration = min(acceleration, follower.get("acceleration_limit", np.inf) / gain)
        cap = safety.get("max_force_n" if joint["joint_type"] == "prismatic" else "max_torque_nm")
        found["velocity"].append(velocity)
        found["acceleration"].append(acceleration)
        found["effort"].append(min(joint.get("effort_limit", np.inf), np.inf if cap is None else cap))
    return {key: np.array(values, float) for key, values in found.items()}
