# SPDX-License-Identifier: Apache-2.0
"""All that is not the robot: snapshots of obstacles, stamped by their source."""

from lastgate.world.snapshot import NO_WORLD, NoWorld, World

__all__ = ["NO_WORLD", "NoWorld", "World"]
