# SPDX-License-Identifier: Apache-2.0
"""Gate.check among voxels and points, against sampling every segment 2,000 times with plain boxes and specks.

Accepted: no sample, and no refined minimum between samples, is closer to any box or point than its margin.
Rejected: some instant comes within 0.1 mm of it, and the numbers of the verdict are found again there. The boxes
are the voxels themselves, so the voxel path is given nothing beyond them. The slow program shares no line with the
fields: no blocks, no surfaces, no cut-offs.
"""

from collections.abc import Callable, Sequence

import numpy as np
import pytest

import lastgate as lg
from oracles import library
from oracles.field_cases import FieldCase, draw_field_case
from oracles.sweep_cases import Held, PathMaker, Setup, jump, short_steps, turn
from oracles.sweep_checker import BAND_M, Checker

STICK = (Held("link3", lg.CapsuleShape(radius_m=0.01, length_m=0.3), (0.3, 0.0, 0.0, 0.0, 1.2, 0.0)),)

ROBOTS: dict[str, tuple[Callable[[], Sequence[Setup]], tuple[PathMaker, ...]]] = {
    "one joint": (
        lambda: [Setup(library.one_joint_arm()), Setup(library.one_joint_arm(), world_margin_m=0.03)],
        (jump, turn, short_steps),
    ),
    "planar 3R": (
        lambda: [
            Setup(library.planar_arm((0.4, 0.3, 0.25))),
            Setup(library.planar_arm((0.4, 0.3, 0.25)), world_margin_m=0.02, held=STICK),
        ],
        (jump, short_steps),
    ),
    "scara": (lambda: [Setup(library.scara(), world_margin_m=0.01)], (jump, short_steps)),
    "six joints": (lambda: [Setup(library.six_joint_arm(), world_margin_m=0.01)], (jump, short_steps)),
}
FIELDS = ("points", "voxels", "both", "closed")


def check_chunk(checker: Checker, case: FieldCase, label: str) -> None:
    """Holds one verdict to the samples."""
    verdict = case.check()
    brute = case.setup.brute(case.primitives)
    checker.counts["chunks"] += 1
    if verdict.accepted:
        checker.accepted(verdict, brute, case.path, label)
        return
    (violation,) = verdict.violations
    if violation.against == "unseen space":
        # Behind a wall of the grid, or with an axis inside a voxel, depth is not measured: the place is compared.
        scan = brute.scan("world", case.path[violation.step], case.path[violation.step + 1])
        assert scan.gap_m <= BAND_M, f"{label}: FALSE REJECTION at the edge of the grid, {scan.gap_m:.3e} m"
        checker.counts["segments rejected"] += 1
        checker.counts["rejected world"] += 1
        return
    checker.rejected(verdict, brute, case.path, label)


def check_family(robot: str, fields: str, chunks: int, seed: int) -> Checker:
    """Evaluates that many chunks of one robot among one kind of field."""
    make_setups, paths = ROBOTS[robot]
    setups, checker = make_setups(), Checker()
    for index in range(chunks):
        rng = np.random.default_rng([seed, list(ROBOTS).index(robot), FIELDS.index(fields), index])
        path = paths[int(rng.integers(len(paths)))]
        case = draw_field_case(rng, setups[index % len(setups)], path, fields=fields)
        check_chunk(checker, case, f"{robot}, {fields} #{index}")
    print(checker.summary(f"{robot}, {fields}"))
    assert checker.counts["chunks"] == chunks
    return checker


@pytest.mark.parametrize("fields", FIELDS)
@pytest.mark.parametrize("robot", ROBOTS)
def test_no_contact_with_a_voxel_or_point_is_missed_and_none_is_invented(robot, fields):
    checker = check_family(robot, fields, 30, 20260611)
    assert checker.counts["chunks accepted"] >= 3
    assert checker.counts["rejected world"] >= 3


@pytest.mark.library
@pytest.mark.parametrize("fields", FIELDS)
@pytest.mark.parametrize("robot", ROBOTS)
def test_thousands_of_chunks_among_voxels_and_points(robot, fields):
    checker = check_family(robot, fields, 200, 20260612)
    assert checker.counts["chunks accepted"] >= 20
    assert checker.counts["rejected world"] >= 20
