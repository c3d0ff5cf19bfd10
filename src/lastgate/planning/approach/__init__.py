# SPDX-License-Identifier: Apache-2.0
"""Go and see: where to stand to see an object, whether a map allows it, and where to turn a camera.

These are proposals. A base that drives there, or an arm that turns the camera, crosses the gate like all motion.
"""

from lastgate.contracts import ApproachViewpoint, Pose6D
from lastgate.planning.approach.gaze import compute_gaze_pose, look_at_quat
from lastgate.planning.approach.line_of_sight import line_of_sight
from lastgate.planning.approach.refine import SensorView, refine_approach_pose
from lastgate.planning.approach.viewpoint import compute_approach_viewpoint
from lastgate.world.occupancy_grid import OccupancyGridIndex

__all__ = [
    "ApproachViewpoint",
    "OccupancyGridIndex",
    "Pose6D",
    "SensorView",
    "compute_approach_viewpoint",
    "compute_gaze_pose",
    "line_of_sight",
    "look_at_quat",
    "refine_approach_pose",
]
