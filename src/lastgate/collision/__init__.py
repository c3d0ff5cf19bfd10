# SPDX-License-Identifier: Apache-2.0
"""The planning-time face of the core: obstacles and robots as planners ask about them.

It answers questions; it decides nothing. What a planner finds clear here still goes through the gate.
"""

from lastgate.collision.allowed_collision_matrix import AllowedCollisionMatrix, ResolvedPairs
from lastgate.collision.continuous import CCDConfig, ContinuousCollisionDetector, TrajectoryContact
from lastgate.collision.detail_levels import DetailLevel, DetailLevels
from lastgate.collision.environment import CollisionEnvironment, Nearest
from lastgate.collision.sphere_config import SphereGenConfig
from lastgate.collision.sphere_model import LinkCover, RobotSphereModel
from lastgate.collision.two_tier import CheckedConfigurations, PairDistance, TwoTierCollisionChecker

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
