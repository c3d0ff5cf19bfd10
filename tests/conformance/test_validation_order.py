# SPDX-License-Identifier: Apache-2.0
"""Of two broken rules the earlier stage is reported, and within a stage the earlier step."""

import numpy as np
import pytest
from fixtures.analytic_robots import (
    NOW_S,
    at,
    check,
    code_of,
    gate_of,
    only_violation,
    sliders,
    sphere,
    stacked,
    world_of,
)

import lastgate as lg
from lastgate import _core
from lastgate.contracts import ControlMode

# Two posts on slides, 0.5 m apart at rest; at -1 m stands an obstacle.
SAFETY = {"world_collision_margin_m": 0.0, "world_age_s_max": 0.5, "state_age_s_max": 0.2}
OBSTACLE = sphere((-1.0, 0.0, 0.0), 0.1, "obstacle")
STALE_WORLD = world_of(OBSTACLE, stamp_s=NOW_S - 1.0)
STALE_STATE = at(0.0, 0.0, stamp_s=NOW_S - 1.0)
INTO_SELF = [0.4, 0.0]
INTO_WORLD = [-1.0, 0.0]


@pytest.fixture(scope="module")
def gate() -> lg.Gate:
    manifest = sliders(0.0, 0.5, safety=SAFETY)
    manifest["joints"][0] |= {"velocity_limit": 20.0}
    manifest["control_modes"] = ["JOINT_POSITION", "JOINT_VELOCITY"]
    return gate_of(manifest)


def rows_over_capacity(row: list[float]) -> np.ndarray:
    return np.tile(np.array(row), (_core.ROWS_MAX + 1, 1))


def test_chunk_that_breaks_nothing_passes_all_stages(gate):
    verdict = check(gate, [[0.1, 0.0]], world=world_of(OBSTACLE))
    assert (verdict.accepted, verdict.stage) == (True, 12)


# Each case breaks the rules of its own stage and of the next one; alone it would be rejected by either.
ADJACENT_STAGES = {
    "2 before 3: unknown mode, wrong width": (2, "control_mode", {"mode": 5, "rows": [[0.0]]}),
    "3 before 4: wrong width, too many rows": (3, "ndof_mismatch", {"rows": rows_over_capacity([0.0])}),
    "4 before 5: too many rows, NaN": (4, "dim_mismatch", {"rows": rows_over_capacity([np.nan, 0.0])}),
    "5 before 6: NaN, beyond a limit": (5, "nan_in_action", {"rows": [[99.0, 0.0], [np.nan, 0.0]]}),
    "6 before 7: beyond a limit, stale state": (
        6,
        "joint_position_limit",
        {"rows": [[99.0, 0.0]], "state": STALE_STATE},
    ),
    "7 before 8: stale state, too fast": (
        7,
        "state_unavailable",
        {"rows": [[9.0, 0.0]], "state": STALE_STATE},
    ),
    "8 before 9: too fast, stale world": (
        8,
        "joint_velocity_limit",
        {"rows": [[9.0, 0.0]], "world": STALE_WORLD},
    ),
    "9 before 10: stale world, self contact": (
        9,
        "world_unavailable",
        {"rows": [INTO_SELF], "world": STALE_WORLD},
    ),
    "10 before 11: self contact, world contact": (
        10,
        "self_collision",
        {"rows": [INTO_WORLD, [0.0, 0.0], INTO_SELF], "world": world_of(OBSTACLE)},
    ),
    "11: world contact": (11, "world_collision", {"rows": [INTO_WORLD], "world": world_of(OBSTACLE)}),
}


@pytest.mark.parametrize("case", ADJACENT_STAGES)
def test_earlier_stage_decides(gate, case):
    stage, code, inputs = ADJACENT_STAGES[case]
    inputs = {"world": world_of(OBSTACLE)} | inputs
    verdict = check(gate, inputs.pop("rows"), inputs.pop("mode", 0), **inputs)
    assert (verdict.stage, code_of(verdict)) == (stage, code)


LATER_RULE_ALONE = {
    "3": ("ndof_mismatch", {"rows": [[0.0]]}),
    "4": ("dim_mismatch", {"rows": rows_over_capacity([0.0, 0.0])}),
    "5": ("nan_in_action", {"rows": [[0.0, 0.0], [np.nan, 0.0]]}),
    "7": ("state_unavailable", {"rows": [[0.0, 0.0]], "state": STALE_STATE}),
    "8": ("joint_velocity_limit", {"rows": [[9.0, 0.0]]}),
    "9": ("world_unavailable", {"rows": [[0.0, 0.0]], "world": STALE_WORLD}),
    "10": ("self_collision", {"rows": [INTO_SELF]}),
    "11": ("world_collision", {"rows": [INTO_WORLD], "world": world_of(OBSTACLE)}),
}


@pytest.mark.parametrize("stage", LATER_RULE_ALONE)
def test_later_stage_decides_when_the_earlier_one_has_nothing_to_say(gate, stage):
    code, inputs = LATER_RULE_ALONE[stage]
    inputs = dict(inputs)
    verdict = check(gate, inputs.pop("rows"), **inputs)
    assert (str(verdict.stage), code_of(verdict)) == (stage, code)


def test_limits_are_scanned_step_by_step_and_joint_by_joint():
    gate = gate_of(stacked(3))
    rows = np.zeros((3, 3))
    rows[2, 0] = rows[1, 2] = rows[1, 1] = 9.0
    violation = only_violation(check(gate, rows))
    assert (violation.step, violation.subject) == (1, "j1")


def test_nan_is_scanned_step_by_step_and_joint_by_joint():
    rows = np.zeros((3, 3))
    rows[2, 0] = rows[1, 2] = rows[1, 1] = np.nan
    violation = only_violation(check(gate_of(stacked(3)), rows))
    assert (violation.step, violation.subject) == (1, "j1")
    assert "element 4" in violation.sentence()


def test_speeds_along_the_path_are_scanned_step_by_step():
    rows = np.zeros((4, 3))
    rows[1:, 2] = 0.5
    rows[2:, 0] = 0.9
    violation = only_violation(check(gate_of(stacked(3, safety={})), rows))
    assert (violation.code, violation.step, violation.subject) == ("joint_velocity_limit", 1, "j2")


def test_contact_on_an_earlier_segment_is_reported_before_a_deeper_one(gate):
    near, deep = sphere((-1.0, 0.0, 0.0), 0.1, "near"), sphere((-3.0, 0.0, 0.0), 0.3, "deep")
    rows = [[-0.9, 0.0], [-2.0, 0.0], [-3.0, 0.0]]
    violation = only_violation(check(gate, rows, world=world_of(deep, near)))
    assert (violation.against, violation.step) == ("near", 0)


# ---- Certified rows: everything was certified up to them ---


def test_certified_rows_end_before_the_contact(gate):
    rows = [[-0.2, 0.0], [-0.5, 0.0], [-1.0, 0.0], [-1.2, 0.0]]
    verdict = check(gate, rows, world=world_of(OBSTACLE))
    assert (code_of(verdict), verdict.certified_rows) == ("world_collision", 2)
    assert check(gate, rows[:2], world=world_of(OBSTACLE)).accepted


def test_certified_rows_of_a_self_contact_end_before_an_earlier_world_contact(gate):
    rows = [[-0.5, 0.0], [-1.0, 0.0], [0.0, 0.0], INTO_SELF]
    verdict = check(gate, rows, world=world_of(OBSTACLE))
    assert (code_of(verdict), verdict.certified_rows) == ("self_collision", 1)


def zoned(**joints: float) -> lg.Gate:
    zone = {
        "name": "channel",
        "shape": {"shape": "sphere", "radius_m": 0.1},
        "pose": {"xyz": [-0.5, 0.0, 0.0]},
    }
    return gate_of(sliders(0.0, 0.5, safety=SAFETY | {"no_go_zones": [zone]}))


def test_certified_rows_end_before_a_no_go_zone_even_when_something_else_is_hit_later():
    gate = zoned()
    rows = [[-0.1, 0.0], [-0.5, 0.0], [0.0, 0.0], INTO_SELF]
    verdict = check(gate, rows)
    assert (code_of(verdict), verdict.certified_rows) == ("self_collision", 1)
    beyond = world_of(sphere((-2.0, 0.0, 0.0), 0.1))
    verdict = check(gate, [[-0.1, 0.0], [-0.5, 0.0], [-1.0, 0.0], [-2.0, 0.0]], world=beyond)
    assert (code_of(verdict), verdict.certified_rows) == ("world_collision", 1)


def test_no_go_zone_is_rejected_by_name_whatever_the_world_says():
    gate = zoned()
    for world in (lg.NO_WORLD, world_of()):
        violation = only_violation(check(gate, [[-0.1, 0.0], [-0.5, 0.0]], world=world))
        assert (violation.code, violation.against, violation.collision_kind) == (
            "world_collision",
            "channel",
            "world",
        )
    assert check(gate, [[-0.1, 0.0], [-0.2, 0.0]], world=world_of()).accepted


def test_certified_rows_of_a_box_that_is_left_end_before_an_earlier_contact():
    box = {"workspace_box_min_xyz": [-3.0, -1.0, -1.0], "workspace_box_max_xyz": [1.0, 1.0, 1.0]}
    manifest = sliders(0.0, 0.5, safety=SAFETY | box)
    manifest["end_effectors"] = [{"name": "tip", "link": "post0"}]
    rows = [[-0.5, 0.0], [-1.0, 0.0], [-2.0, 0.0], [-3.5, 0.0]]
    gate = gate_of(manifest)
    verdict = check(gate, rows, world=world_of(OBSTACLE))
    assert (code_of(verdict), verdict.certified_rows) == ("workspace_box", 1)
    verdict = check(gate, rows, world=world_of())
    assert (code_of(verdict), verdict.certified_rows) == ("workspace_box", 3)
    verdict = check(gate, rows, world=STALE_WORLD)
    assert (code_of(verdict), verdict.certified_rows) == ("workspace_box", 0)


@pytest.mark.parametrize("count", [0, 1, 2, _core.ROWS_MAX - 1, _core.ROWS_MAX, _core.ROWS_MAX + 1])
def test_horizon_is_accepted_from_one_row_to_the_capacity(count):
    verdict = check(gate_of(stacked(3)), np.zeros((count, 3)))
    assert code_of(verdict) == ("accepted" if 1 <= count <= _core.ROWS_MAX else "dim_mismatch")
    assert verdict.certified_rows == (count if verdict.accepted else 0)


@pytest.mark.parametrize("mode", [mode for mode in ControlMode if mode is not ControlMode.FOOT_PLACEMENT])
@pytest.mark.parametrize("off", [-1, 0, 1])
def test_width_off_by_one_is_rejected_in_every_mode(mode, off):
    width = mode.row_width(5) + off
    rows = np.zeros((2, width))
    if mode is ControlMode.CARTESIAN_POSE and width == 7:
        rows[:] = [0.0, 0.0, 0.0, 1.0, 0.05, 0.0, 0.15]
    verdict = check(gate_of(stacked(5), step_s=0.01), rows, mode)
    assert code_of(verdict) == ("accepted" if off == 0 else "ndof_mismatch")


def test_same_input_gives_the_same_bytes(gate):
    world = world_of(OBSTACLE)
    for rows in ([[0.1, 0.0]], [INTO_WORLD], [INTO_SELF], [[99.0, 0.0]]):
        assert check(gate, rows, world=world).to_bytes() == check(gate, rows, world=world).to_bytes()
