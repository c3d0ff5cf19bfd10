# SPDX-License-Identifier: Apache-2.0
"""What a failure report carries as JSON, one schema per kind; `FailureEvidence` reads any of them."""

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from lastgate.contracts.schema import Count, Finite, Name, NotNegative, Positive, Schema, Text, Vector3


class TimeoutEvidence(Schema):
    """Evidence of something that took longer than its deadline."""

    kind: Literal["timeout"] = "timeout"
    operation: Name
    deadline_s: Positive
    elapsed_s: NotNegative


class ForceEvidence(Schema):
    """Evidence of a joint or an end effector that exceeds a force, torque or speed limit."""

    kind: Literal["force"] = "force"
    joint_or_ee: Name
    measured_n: Finite
    limit_n: Positive


class WorkspaceEvidence(Schema):
    """Evidence of an end effector that leaves its workspace box."""

    kind: Literal["workspace"] = "workspace"
    ee_name: Name
    measured_xyz: Vector3
    box_min: Vector3
    box_max: Vector3


class JointLimitEvidence(Schema):
    """Evidence of a joint that leaves a limit; the numbers are in the joint's own unit."""

    kind: Literal["joint_limit"] = "joint_limit"
    joint: Name
    quantity: Literal["position", "velocity", "acceleration", "torque"]
    measured: Finite
    limit_min: Finite
    limit_max: Finite
    unit: Name
    horizon_step: Count


class PerceptionStaleEvidence(Schema):
    """Evidence of a sensor reading that is too old."""

    kind: Literal["perception"] = "perception"
    sensor_id: Name
    staleness_ms: NotNegative
    threshold_ms: NotNegative


class ControllerEvidence(Schema):
    """Evidence of a request or an input that cannot be used; `state` is a word from the violation catalogue."""

    kind: Literal["controller"] = "controller"
    controller_name: Name
    state: Name
    detail: Text = ""


class HumanEvidence(Schema):
    """Evidence of a stop that a person asked for."""

    kind: Literal["human"] = "human"
    actor: Name
    reason: Text = ""


class CollisionEvidence(Schema):
    """Evidence of two things that come too close, with place and time.

    `segment_t` is the place on the segment that ends at step `horizon_step`, from 0 at its start (the measured
    state for step 0) to 1 at the step itself; the witness points are in the base frame.
    """

    kind: Literal["collision"] = "collision"
    collision_kind: Literal["self", "world"]
    link_a: Name
    link_b_or_object: Name
    horizon_step: Count
    min_distance_m: Finite
    segment_t: Annotated[NotNegative, Field(le=1.0)] | None = None
    witness_a: Vector3 | None = None
    witness_b: Vector3 | None = None
    world_id: Text | None = None
    world_age_s: Finite | None = None
    margin_m: NotNegative | None = None


FailureEvidence = Annotated[
    TimeoutEvidence
    | ForceEvidence
    | WorkspaceEvidence
    | JointLimitEvidence
    | PerceptionStaleEvidence
    | ControllerEvidence
    | HumanEvidence
    | CollisionEvidence,
    Field(discriminator="kind"),
]

_EVIDENCE_READER: TypeAdapter[FailureEvidence] = TypeAdapter(FailureEvidence)


def read_evidence(evidence_json: str | bytes) -> FailureEvidence:
    """Parses the `evidence_json` of a failure report; an unknown kind or key raises `ValidationError`."""
    return _EVIDENCE_READER.validate_json(evidence_json)
