# SPDX-License-Identifier: Apache-2.0
"""The planning-time face of the core: obstacles and robots as planners ask about them.

It answers questions; it decides nothing. What a planner finds clear here still goes through the gate.
"""

from lastgate.collision.allowed_collision_matrix import AllowedCollisionMatrix, ResolvedPairs
from lastgate.collision.environment import CollisionEnvironment, Nearest

__all__ = ["AllowedCollisionMatrix", "CollisionEnvironment", "Nearest", "ResolvedPairs"]
