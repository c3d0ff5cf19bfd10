# SPDX-License-Identifier: Apache-2.0
"""The rejection report: one sentence, the evidence, and a picture of the moment."""

import json
from dataclasses import dataclass

from lastgate.contracts import ROSConfigError
from lastgate.contracts.action import ActionChunk, RobotState
from lastgate.gate import Gate
from lastgate.gate.verdict import Verdict, Violation
from lastgate.tools.telemetry.moment import moment_of, shown_path
from lastgate.tools.telemetry.picture import draw
from lastgate.tools.telemetry.scene import Role, Scene, scene_of
from lastgate.tools.telemetry.series import Series, series_of
from lastgate.world import NoWorld, World


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RejectionReport:
    """Shows why one chunk was rejected.

    Attributes:
        sentence: What happened, with both numbers; also the title of the picture.
        evidence: JSON by the schema of the failure report.
    """

    sentence: str
    evidence: str
    _scene: Scene
    _series: Series | None
    _legend: dict[Role, str]

    def png(self) -> bytes:
        """Returns the picture; it is drawn here, which takes a good part of a second.

        Raises:
            ROSConfigError: Matplotlib is not installed.
        """
        return draw(
            self._scene,
            title=self.sentence,
            legend=self._legend,
            series=self._series,
            facts=json.loads(self.evidence),
        )


def rejection_report(
    gate: Gate,
    verdict: Verdict,
    *,
    chunk: ActionChunk,
    state: RobotState | None,
    world: World | NoWorld | None,
) -> RejectionReport:
    """Returns the card of a rejected chunk, from what the gate was given.

    The gate holds what it held then: detach nothing in between.

    Raises:
        ROSConfigError: The chunk was accepted.
    """
    if verdict.accepted:
        raise ROSConfigError("the chunk was accepted: there is no rejection to show")
    violation = verdict.violations[0]
    path = shown_path(gate, verdict, chunk=chunk, state=state)
    scene = scene_of(gate, violation, path=path, moment=moment_of(violation, path), world=world)
    return RejectionReport(
        sentence=str(violation),
        evidence=violation.evidence().model_dump_json(),
        _scene=scene,
        _series=series_of(gate, violation, chunk=chunk, path=path, scene=scene),
        _legend=_legend(violation, scene),
    )


def _legend(violation: Violation, scene: Scene) -> dict[Role, str]:
    names: dict[Role, str] = {}
    if violation.subject:
        names["first"] = violation.subject
    if violation.box is not None:
        names["second"] = "workspace box"
    elif violation.against:
        names["second"] = violation.against
    shown = {role for role, _ in (*scene.faces, *scene.points, *scene.frames)}
    if "obstacle" in shown:
        names["obstacle"] = "other obstacles"
    if "unknown" in shown:
        names["unknown"] = "unobserved"
    return names
