# SPDX-License-Identifier: Apache-2.0
"""The planning-time face of the core: obstacles and robots as planners ask about them.

It answers questions; it decides nothing. What a planner finds clear here still goes through the gate.
"""

from lastgate.planning.collision.allowed_collision_matrix import AllowedCollisionMatrix, ResolvedPairs
from lastgate.planning.collision.continuous import CCDConfig, ContinuousCollisionDetector, TrajectoryContact
from lastgate.planning.collision.detail_levels import DetailLevel, DetailLevels
from lastgate.planning.collision.environment import CollisionEnvironment, Nearest
from lastgate.planning.collision.sphere_config import SphereGenConfig
from lastgate.planning.collision.sphere_model import LinkCover, RobotSphereModel
from lastgate.planning.collision.two_tier import CheckedConfigurations, PairDistance, TwoTierCollisionChecker

__all__ = [
    "AllowedCollisionMatrix",
    "CCDConfig",
    "CheckedConfigurations",
    "CollisionEnvironment",
    "ContinuousCollisionDetector",
    "DetailLevel",
    "DetailLevels",
    "LinkCover",
    "Nearest",
    "PairDistance",
    "ResolvedPairs",
    "RobotSphereModel",
    "SphereGenConfig",
    "TrajectoryContact",
    "TwoTierCollisionChecker",
]
