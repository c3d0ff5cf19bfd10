# SPDX-License-Identifier: Apache-2.0
"""Which column of a recording is which joint: said by the user, told by names, or, where there are none, by count."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lastgate.contracts.arrays import Float64
from lastgate.tools.audit.episode import UnreadableEpisodeError
from lastgate.tools.audit.joint_units import JointUnits
from lastgate.tools.audit.robots_that_fit import library_robots_named

# LeRobot names columns after what they hold (`elbow_flex.pos`), and early recordings after the arm (`main_elbow_flex`).
_ENDINGS = (".pos",)
_BEGINNINGS = ("main_",)


@dataclass(frozen=True, slots=True)
class Columns:
    """Picks joints and gripper joints out of the columns of a recording.

    Attributes:
        joints: Column of each joint of a row.
        gripper: Column of each gripper joint; empty where the recording has none.
        by_count: No name says that these are the joints, only their number.
        others: Names of the columns that are neither; nothing of them is audited.
    """

    joints: tuple[int, ...]
    gripper: tuple[int, ...]
    by_count: bool = False
    others: tuple[str, ...] = ()

    def pick(
        self, table: Float64, *, joint_units: JointUnits, gripper_units: JointUnits
    ) -> tuple[Float64, Float64 | None]:
        """Returns the joints, (T, n_dof), and the gripper joints if there are any, in radians and metres."""
        joints = joint_units.apply(np.ascontiguousarray(table[:, self.joints]))
        if not self.gripper:
            return joints, None
        return joints, gripper_units.apply(np.ascontiguousarray(table[:, self.gripper]))


def match_columns(
    width: int,
    names: Sequence[str],
    *,
    joint_names: Sequence[str],
    gripper_names: Sequence[str],
    chosen: Sequence[int] | None = None,
    joint_map: Mapping[str, str] | None = None,
) -> Columns:
    """Returns which columns are the joints.

    Args:
        width: Number of columns.
        names: Names of the columns; empty where the recording has none.
        chosen: Columns of the joints, said by the user; the rest is then ignored.
        joint_map: Joint of each column that is a joint, by the column's name or number, said by the user.

    Raises:
        UnreadableEpisodeError: The joints are not all there, the names are not those of the joints, or the count leaves
            open which column is which.
    """
    if chosen is not None:
        return _chosen(width, chosen, joint_names)
    bare = [_bare(name) for name in names]
    if joint_map is not None:
        columns = _mapped_columns(width, names, joint_map, joint_names=(*joint_names, *gripper_names))
        return _from_map(columns, joint_names, gripper_names)
    if names and (len(bare) != width or len(set(bare)) != width):
        raise UnreadableEpisodeError(
            f"{width} columns and {len(names)} names for them ({', '.join(names)}), or a name twice; "
            "say which they are: `--columns 0,1,2,…`"
        )
    if names:
        return _named(bare, names, joint_names, gripper_names)
    count = len(joint_names)
    if width == count:
        return Columns(tuple(range(count)), (), by_count=True)
    if gripper_names and width == count + len(gripper_names):
        return Columns(tuple(range(count)), tuple(range(count, width)), by_count=True)
    raise UnreadableEpisodeError(
        f"{width} columns for {count} joints ({', '.join(joint_names)}); "
        "say which they are: `--columns 0,1,2,…` or `--joint-map 0=JOINT,…`"
    )


def _chosen(width: int, chosen: Sequence[int], joint_names: Sequence[str]) -> Columns:
    if len(chosen) != len(joint_names):
        raise UnreadableEpisodeError(f"{len(chosen)} columns were named for {len(joint_names)} joints")
    if len(set(chosen)) != len(chosen):
        raise UnreadableEpisodeError(f"a column was named twice: {','.join(map(str, chosen))}")
    absent = [column for column in chosen if not 0 <= column < width]
    if absent:
        raise UnreadableEpisodeError(f"column {absent[0]} was named, and there are {width}, from 0")
    return Columns(tuple(chosen), ())


def _named(
    bare: list[str], names: Sequence[str], joint_names: Sequence[str], gripper_names: Sequence[str]
) -> Columns:
    missing = [name for name in joint_names if name not in bare]
    if missing:
        fitting = library_robots_named(frozenset(bare))
        hint = f"; `--robot {fitting[0]}` has joints of these names" if fitting else ""
        also = f" (so have {', '.join(fitting[1:])})" if len(fitting) > 1 else ""
        raise UnreadableEpisodeError(
            f"{len(names)} columns ({', '.join(names)}), and the joint `{missing[0]}` is not among them{hint}{also}; "
            "say which column is which joint: `--joint-map COLUMN=JOINT,…`"
        )
    has_gripper = bool(gripper_names) and set(gripper_names) <= set(bare)
    known = {*joint_names, *(gripper_names if has_gripper else ())}
    return Columns(
        tuple(bare.index(name) for name in joint_names),
        tuple(bare.index(name) for name in gripper_names) if has_gripper else (),
        others=tuple(name for name, plain in zip(names, bare, strict=True) if plain not in known),
    )


def _mapped_columns(
    width: int, names: Sequence[str], joint_map: Mapping[str, str], *, joint_names: Sequence[str]
) -> dict[str, int]:
    """Returns the column of every joint that the user's map names."""
    unknown = [joint for joint in joint_map.values() if joint not in joint_names]
    if unknown:
        raise UnreadableEpisodeError(
            f"`--joint-map` names `{unknown[0]}`; the joints are {', '.join(joint_names)}"
        )
    columns: dict[str, int] = {}
    for column, joint in joint_map.items():
        if joint in columns:
            raise UnreadableEpisodeError(f"`--joint-map` names `{joint}` twice")
        columns[joint] = _column_called(column, width, names)
    if len(set(columns.values())) != len(columns):
        raise UnreadableEpisodeError("`--joint-map` gives one column to two joints")
    return columns


def _from_map(columns: dict[str, int], joint_names: Sequence[str], gripper_names: Sequence[str]) -> Columns:
    missing = [name for name in joint_names if name not in columns]
    if missing:
        raise UnreadableEpisodeError(f"`--joint-map` leaves out `{missing[0]}`")
    has_gripper = bool(gripper_names) and set(gripper_names) <= set(columns)
    return Columns(
        tuple(columns[name] for name in joint_names),
        tuple(columns[name] for name in gripper_names) if has_gripper else (),
    )


def _column_called(column: str, width: int, names: Sequence[str]) -> int:
    for known in (list(names), [_bare(name) for name in names]):
        if known.count(column) == 1 and len(known) == width:
            return known.index(column)
    if column.isdecimal() and len(column) < 6 and int(column) < width:
        return int(column)
    called = f": {', '.join(names)}" if names else ", from 0, without names"
    raise UnreadableEpisodeError(
        f"`--joint-map` names the column `{column}`; there are {width} columns{called}"
    )


def _bare(name: str) -> str:
    for ending in _ENDINGS:
        name = name.removesuffix(ending)
    for beginning in _BEGINNINGS:
        name = name.removeprefix(beginning)
    return name
