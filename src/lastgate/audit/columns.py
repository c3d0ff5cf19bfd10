# SPDX-License-Identifier: Apache-2.0
"""Which column of a recording is which joint: by name where there are names, by count where there are none."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lastgate.arrays import Float64
from lastgate.audit.episode import UnreadableEpisodeError

# LeRobot names columns after what they hold (`elbow_flex.pos`), and early recordings after the arm (`main_elbow_flex`).
_ENDINGS = (".pos",)
_BEGINNINGS = ("main_",)


@dataclass(frozen=True, slots=True)
class Columns:
    """Picks joints and gripper joints out of the columns of a recording.

    Attributes:
        joints: Column of each joint of a row.
        gripper: Column of each gripper joint; empty where the recording has none.
    """

    joints: tuple[int, ...]
    gripper: tuple[int, ...]

    def pick(
        self, table: Float64, *, joint_units: Float64, gripper_units: Float64
    ) -> tuple[Float64, Float64 | None]:
        """Returns the joints, (T, n_dof), and the gripper joints if there are any, each times its unit."""
        joints = np.ascontiguousarray(table[:, self.joints]) * joint_units
        return joints, np.ascontiguousarray(table[:, self.gripper]) * gripper_units if self.gripper else None


def match_columns(
    width: int,
    names: Sequence[str],
    *,
    joint_names: Sequence[str],
    gripper_names: Sequence[str],
    chosen: Sequence[int] | None = None,
) -> Columns:
    """Returns which columns are the joints.

    Args:
        width: How many columns there are.
        names: What they are called; empty where nobody says.
        chosen: The columns of the joints, said by the user; the rest is then ignored.

    Raises:
        UnreadableEpisodeError: The joints are not all there, or the count leaves open which column is which.
    """
    if chosen is not None:
        if len(chosen) != len(joint_names):
            raise UnreadableEpisodeError(f"{len(chosen)} columns were named for {len(joint_names)} joints")
        if len(set(chosen)) != len(chosen):
            raise UnreadableEpisodeError(f"a column was named twice: {','.join(map(str, chosen))}")
        absent = [column for column in chosen if not 0 <= column < width]
        if absent:
            raise UnreadableEpisodeError(f"column {absent[0]} was named, and there are {width}, from 0")
        return Columns(tuple(chosen), ())
    bare = [_bare(name) for name in names]
    if len(bare) == width and len(set(bare)) == width and set(joint_names) <= set(bare):
        has_gripper = bool(gripper_names) and set(gripper_names) <= set(bare)
        return Columns(
            tuple(bare.index(name) for name in joint_names),
            tuple(bare.index(name) for name in gripper_names) if has_gripper else (),
        )
    count = len(joint_names)
    if width == count:
        return Columns(tuple(range(count)), ())
    if gripper_names and width == count + len(gripper_names) and not bare:
        return Columns(tuple(range(count)), tuple(range(count, width)))
    called = f" ({', '.join(names)})" if names else ""
    raise UnreadableEpisodeError(
        f"{width} columns{called} for {count} joints ({', '.join(joint_names)}); "
        "say which they are: `--columns 0,1,2,…`"
    )


def _bare(name: str) -> str:
    for ending in _ENDINGS:
        name = name.removesuffix(ending)
    for beginning in _BEGINNINGS:
        name = name.removeprefix(beginning)
    return name
