# SPDX-License-Identifier: Apache-2.0
"""The labels of planted faults, and how findings are held against them."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path

from lastgate.contracts import ROSConfigError, ViolationCode

LABELS_FILE = Path("meta") / "faults.jsonl"


class PlantedFault(StrEnum):
    """Names what was planted."""

    JUMP = "jump"
    LIMIT = "limit"
    SELF_COLLISION = "self_collision"
    WORLD_BETWEEN_ROWS = "world_between_rows"
    NAN = "nan"
    STALE_STATE = "stale_state"


CODE_OF = {
    PlantedFault.JUMP: ViolationCode.joint_velocity_limit,
    PlantedFault.LIMIT: ViolationCode.joint_position_limit,
    PlantedFault.SELF_COLLISION: ViolationCode.self_collision,
    PlantedFault.WORLD_BETWEEN_ROWS: ViolationCode.world_collision,
    PlantedFault.NAN: ViolationCode.nan_in_action,
    PlantedFault.STALE_STATE: ViolationCode.state_unavailable,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultLabel:
    """One planted fault, as its author knows it.

    Attributes:
        first_row: The first row of the episode that is touched.
        last_row: The last one; the way into and out of these rows belongs to the fault too.
    """

    episode: int
    first_row: int
    last_row: int
    fault: PlantedFault

    @property
    def code(self) -> ViolationCode:
        """Code of the rule that the fault breaks."""
        return CODE_OF[self.fault]


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelScore:
    """Counts what was planted, what of it was found, and what was found without having been planted."""

    planted: int
    found: int
    invented: int
    missed: tuple[FaultLabel, ...]


def write_labels(labels: Iterable[FaultLabel], folder: Path) -> None:
    """Writes the labels of a dataset, one JSON object per line."""
    path = folder / LABELS_FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        "".join(f"{json.dumps({**asdict(label), 'code': str(label.code)})}\n" for label in labels),
        encoding="utf-8",
    )


def read_labels(folder: Path) -> tuple[FaultLabel, ...] | None:
    """Returns the labels of a dataset, or None where it has none.

    Raises:
        ROSConfigError: A line that is no label.
    """
    path = folder / LABELS_FILE
    if not path.is_file():
        return None
    labels = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            fields = json.loads(line)
            labels.append(
                FaultLabel(
                    episode=int(fields["episode"]),
                    first_row=int(fields["first_row"]),
                    last_row=int(fields["last_row"]),
                    fault=PlantedFault(fields["fault"]),
                )
            )
        except (ValueError, KeyError, TypeError) as error:
            raise ROSConfigError(f"{path}:{number}: not a label: {error}") from None
    return tuple(labels)


def score_findings(labels: Sequence[FaultLabel], findings: Iterable[tuple[int, int, int, str]]) -> LabelScore:
    """Holds findings, as (episode, first row, last row, code), against the labels.

    A finding answers a label of its episode and code whose rows it overlaps; every label needs a finding of its own,
    and a second finding for the same label counts as invented.
    """
    open_labels: dict[tuple[int, str], list[FaultLabel]] = {}
    for label in labels:
        open_labels.setdefault((label.episode, str(label.code)), []).append(label)
    invented = 0
    for episode, first_row, last_row, code in findings:
        candidates = open_labels.get((episode, code), [])
        # A sweep into the first row, or out of the last, is told by the row it leads to.
        answered = next(
            (c for c in candidates if first_row <= c.last_row + 1 and c.first_row <= last_row), None
        )
        if answered is None:
            invented += 1
        else:
            candidates.remove(answered)
    missed = tuple(label for remaining in open_labels.values() for label in remaining)
    return LabelScore(planted=len(labels), found=len(labels) - len(missed), invented=invented, missed=missed)
