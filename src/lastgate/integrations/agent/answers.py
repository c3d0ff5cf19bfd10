# SPDX-License-Identifier: Apache-2.0
"""What the tools answer: objects that print as JSON, each with a sentence."""

from lastgate.contracts import ApproachViewpoint, Pose6D
from lastgate.contracts.schema import Count, Finite, Flag, Name, Schema, Text, Vector3
from lastgate.integrations.agent.view import Detection

BLOCKED = "approach BLOCKED on the occupancy grid"


class RecalledObject(Schema):
    """A thing that was seen, and where to stand to see it again.

    Attributes:
        age_s: How long ago it was seen; None where the time is unknown.
        approach: Free on the map, connected with where the robot stands, in sight of the thing; geometry alone where
            there is no map; None when it is blocked.
        approach_xy_yaw: The same pose as `navigate_to` takes it.
        approach_note: Says which of these it is.
    """

    label: Name
    pose: Pose6D
    stamp_s: Finite
    age_s: Finite | None
    confidence: Finite
    approach: ApproachViewpoint | None
    approach_xy_yaw: Vector3 | None
    approach_note: Text


class RecallAnswer(Schema):
    """Every match, the best first."""

    matches: tuple[RecalledObject, ...]


class PlaceAnswer(Schema):
    """A named place, and whether the base may stand there."""

    name: Name
    pose: Pose6D
    free: Flag | None
    note: Text


class LocateAnswer(Schema):
    """The view that a camera has of a thing; `found` is False when it has none."""

    found: Flag
    camera: Name
    detections: tuple[Detection, ...]
    note: Text


class DriveAnswer(Schema):
    """A drive that arrived."""

    pose: Pose6D
    corners_xy: tuple[tuple[Finite, Finite], ...]
    chunks_through_gate: Count


class GazeAnswer(Schema):
    """A camera that was turned to a point.

    Attributes:
        camera_pose: Where the camera ended by plan, in the frame of the target; roll about the line of view is free.
        off_axis_rad: By how much its line of view passes beside the target.
    """

    camera: Name
    target_xyz: Vector3
    camera_pose: Pose6D
    distance_m: Finite
    off_axis_rad: Finite
    waypoints_through_gate: Count


class MotionAnswer(Schema):
    """A motion that arrived."""

    skill: Name
    waypoints_through_gate: Count
    positions: dict[str, Finite]
