# SPDX-License-Identifier: Apache-2.0
"""What a skill says about itself before it may propose motion."""

from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field, JsonValue

from lastgate.contracts.envelope import SafetyEnvelope
from lastgate.contracts.schema import Name, Schema, SchemaVersion, Text, require_ordered
from lastgate.contracts.skill_contact import SkillContact


class RSkillManifest(Schema):
    """Names a skill and the limits it adds; without an envelope it inherits the whole of the robot's.

    Only the envelope fields that are written down take part, and one that is looser than the robot's is
    refused when the two are intersected.
    """

    subject_noun: ClassVar[str] = "skill"

    schema_version: SchemaVersion = 1
    name: Name
    version: Annotated[Text, Field(pattern=r"^[0-9]+\.[0-9]+\.[0-9]+([-+][0-9A-Za-z.+-]+)?$")]
    description: Text = ""
    envelope: SafetyEnvelope | None = None
    # What it means to touch; everything else keeps its margin.
    contacts: Annotated[tuple[SkillContact, ...], BeforeValidator(require_ordered)] = ()
    # A JSON schema for the parameters of a goal, for tools that show or check them.
    goal_params_schema: dict[str, JsonValue] | None = None
    # Which builder turns those parameters into a goal for a planner; None for a skill that proposes chunks itself.
    goal_builder: Literal["joint", "pose", "look_at"] | None = None
