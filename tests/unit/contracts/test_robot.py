# SPDX-License-Identifier: Apache-2.0
import copy

import pytest
from pydantic import ValidationError

from lastgate.contracts import ControlMode, JointSpec, RobotDescription, describe_validation_error

from .conftest import NOT_FINITE, joint


def joint_problems(**changes):
    with pytest.raises(ValidationError) as refusal:
        JointSpec(**joint("elbow", "upper_arm", "forearm", **changes))
    return describe_validation_error(refusal.value)


def test_a_complete_manifest_is_accepted_and_survives_the_way_through_json(manifest):
    robot = RobotDescription(**manifest)
    assert RobotDescription.model_validate_json(robot.model_dump_json()) == robot


def test_columns_and_links_come_in_the_order_of_the_manifest(manifest):
    manifest["joints"] += [
        joint("mount", "forearm", "hand", joint_type="fixed", position_limits=None, velocity_limit=None),
        joint("finger", "hand", "finger", joint_type="prismatic", position_limits=[0, 0.04]),
        joint(
            "twin",
            "hand",
            "twin",
            joint_type="prismatic",
            position_limits=[0, 0.04],
            mimic={"joint": "finger"},
        ),
    ]
    robot = RobotDescription(**manifest)
    assert [column.name for column in robot.actuated_joints] == ["shoulder", "elbow", "finger"]
    assert robot.n_dof == 3
    assert robot.link_names == ("base", "upper_arm", "forearm", "hand", "finger", "twin")


def test_a_robot_without_volumes_is_a_complete_description(manifest):
    del manifest["collision_geometry"]
    assert RobotDescription(**manifest).collision_geometry == ()


def test_parsing_does_not_change_the_dictionary_it_reads(manifest):
    before = copy.deepcopy(manifest)
    RobotDescription(**manifest)
    assert manifest == before


@pytest.mark.parametrize("key", ["name", "base_frame", "joints"])
def test_a_manifest_without_what_it_must_say_is_refused(manifest, key):
    del manifest[key]
    with pytest.raises(ValidationError, match=f"`{key}` is missing"):
        RobotDescription(**manifest)


def test_a_robot_without_joints_is_refused(problems_of):
    bare = problems_of(joints=[], collision_geometry=[], allowed_collision_pairs=[])
    assert bare == ["a robot needs at least one joint; a body without one may declare a fixed joint"]


@pytest.mark.parametrize("version", [0, 2, "1", 1.5, True, None, "0.2"])
def test_another_schema_version_is_refused(problems_of, version):
    assert problems_of(schema_version=version) == [
        f"`schema_version`: this lastgate reads schema version 1, got {version!r}"
    ]


@pytest.mark.parametrize(
    ("changes", "spelling"),
    [
        ({"urdf_path": "robot_descriptions:ur5e_description"}, "assets: {urdf: {ref: rd:ur5e_description}}"),
        ({"urdf_path": "urdf/arm.urdf"}, "assets: {urdf: {ref: file:urdf/arm.urdf}}"),
        ({"urdf_path": None}, "assets: {urdf: {ref: file:<relpath>}}"),
        ({"urdf_path": "/opt/arm.urdf"}, "assets: {urdf: {ref: file:<relpath>}}"),
        ({"sim": {"mjcf_uri": "python:robot_descriptions.a1:MJCF_PATH"}}, "assets: {mjcf: rd:a1}"),
        ({"sim": {}}, "assets: {mjcf: file:<relpath>}"),
        ({"srdf_path": "arm.srdf"}, "assets: {srdf: file:arm.srdf}"),
        ({"urdf_root_frame": "root"}, "assets: {urdf: {root_frame: root}}"),
    ],
)
def test_x34_a_legacy_key_is_refused_with_the_new_spelling(problems_of, changes, spelling):
    (problem,) = problems_of(**changes)
    assert problem.endswith(f"is now spelled `{spelling}`")


def test_a_problem_deep_in_the_manifest_says_where_it_is(problems_of):
    assert problems_of(safety={"max_force_n": -1}, assets={"urdf": {"ref": "rd:"}}) == [
        "in `assets.urdf`: `ref`: cannot use urdf reference `rd:`: nothing follows the scheme; "
        "write `rd:<module>`; schemes for urdf: `rd:<module>`, `file:<relpath>`, `pkg:<distribution>/<path>`, "
        "`ros2://robot_description`",
        "in `safety`: `max_force_n` must be greater than 0, got -1",
    ]


def test_a_legacy_key_named_inside_sim_is_named_in_full(problems_of):
    assert problems_of(sim={"mjcf_uri": "x"})[0].startswith("`sim.mjcf_uri` ")


@pytest.mark.parametrize("key", ["schema", "jonts", "safty", "collision_geometries"])
def test_an_unknown_key_is_refused(problems_of, key):
    assert f"unknown key `{key}`" in problems_of(**{key: 1})[0]


def test_an_unknown_key_of_a_joint_is_refused_with_the_name_of_the_joint():
    assert joint_problems(velocity=3.0) == [
        "joint `elbow`: unknown key `velocity`; did you mean `velocity_limit`?"
    ]


@pytest.mark.parametrize("limit", ["velocity_limit", "acceleration_limit", "effort_limit"])
@pytest.mark.parametrize("value", [0, -2.0, *NOT_FINITE, "2", True])
def test_a_joint_limit_that_is_not_a_positive_number_is_refused_with_the_joint(limit, value):
    (problem,) = joint_problems(**{limit: value})
    assert problem.startswith(f"joint `elbow`: `{limit}` must be ")


@pytest.mark.parametrize("value", NOT_FINITE)
@pytest.mark.parametrize("index", [0, 1])
def test_x09_a_position_limit_that_is_not_finite_is_refused_with_the_joint(index, value):
    limits = [-1.0, 1.0]
    limits[index] = value
    (problem,) = joint_problems(position_limits=limits)
    assert problem.startswith(f"joint `elbow`: `position_limits.{index}` must be a finite number")


@pytest.mark.parametrize("limits", [[1, -1], [1, 1], [0.0, -0.0]])
def test_position_limits_in_the_wrong_order_are_refused_not_swapped(limits):
    (problem,) = joint_problems(position_limits=limits)
    assert problem.startswith("joint `elbow`: `position_limits` must have lower < upper")


def test_position_limits_one_ulp_apart_are_accepted():
    JointSpec(**joint("elbow", "a", "b", position_limits=[1.0, 1.0000000000000002]))


@pytest.mark.parametrize("limits", [[1], [1, 2, 3], "12", 1.0])
def test_position_limits_that_are_not_two_numbers_are_refused(limits):
    assert all(
        problem.startswith("joint `elbow`: `position_limits")
        for problem in joint_problems(position_limits=limits)
    )


@pytest.mark.parametrize("joint_type", ["revolute", "prismatic"])
def test_e03_a_bounded_joint_without_position_limits_is_refused_not_unlimited(joint_type):
    assert joint_problems(joint_type=joint_type, position_limits=None) == [
        f"joint `elbow`: a {joint_type} joint needs `position_limits: [lower, upper]`"
    ]


@pytest.mark.parametrize("joint_type", ["revolute", "prismatic", "continuous"])
def test_e03_a_moving_joint_without_a_velocity_limit_is_refused_not_unlimited(joint_type):
    limits = None if joint_type == "continuous" else [-1, 1]
    assert joint_problems(joint_type=joint_type, position_limits=limits, velocity_limit=None) == [
        f"joint `elbow`: a {joint_type} joint needs a `velocity_limit`"
    ]


def test_e03_a_continuous_joint_has_no_position_limits():
    continuous = JointSpec(**joint("elbow", "a", "b", joint_type="continuous", position_limits=None))
    assert continuous.position_limits is None
    assert joint_problems(joint_type="continuous") == [
        "joint `elbow`: a continuous joint would ignore its `position_limits`; declare it revolute"
    ]


def test_position_limits_of_a_fixed_joint_are_refused():
    assert joint_problems(joint_type="fixed") == [
        "joint `elbow`: a fixed joint would ignore its `position_limits`"
    ]


def test_a_mimic_joint_needs_no_velocity_limit_of_its_own():
    JointSpec(**joint("twin", "a", "b", velocity_limit=None, mimic={"joint": "elbow"}))


def test_a_fixed_joint_cannot_mimic():
    assert joint_problems(joint_type="fixed", position_limits=None, mimic={"joint": "shoulder"}) == [
        "joint `elbow`: a fixed joint cannot mimic `shoulder`"
    ]


@pytest.mark.parametrize("joint_type", ["hinge", "Revolute", "", None, 1])
def test_an_unknown_joint_type_is_refused_not_fixed(manifest, joint_type):
    manifest["joints"][1]["joint_type"] = joint_type
    with pytest.raises(ValidationError, match="joint `elbow`: `joint_type` must be 'revolute'"):
        RobotDescription(**manifest)


@pytest.mark.parametrize("axis", [(0, 0, 1), (0.6, 0, -0.8), (0, 0, 1 + 9e-7)])
def test_an_axis_of_unit_length_is_accepted(axis):
    assert JointSpec(**joint("elbow", "a", "b", axis_xyz=axis)).axis_xyz == axis


@pytest.mark.parametrize("axis", [(0, 0, 0), (0, 0, 2), (1, 1, 0), (0, 0, 1 + 2e-6), (0, 0, 1 - 2e-6)])
def test_an_axis_off_unit_length_is_refused_with_its_length(axis):
    (problem,) = joint_problems(axis_xyz=axis)
    assert problem.startswith("joint `elbow`: `axis_xyz` must have length 1")


def test_a_fixed_joint_may_have_any_axis_that_is_finite():
    fixed = joint("weld", "a", "b", joint_type="fixed", position_limits=None, axis_xyz=(0, 0, 0))
    assert not JointSpec(**fixed).is_moving
    with pytest.raises(ValidationError, match="axis_xyz"):
        JointSpec(**{**fixed, "axis_xyz": (0, 0, float("nan"))})


@pytest.mark.parametrize("key", ["origin_xyz", "origin_rpy", "axis_xyz"])
@pytest.mark.parametrize("value", [[0, 0], [0, 0, float("inf")], [0, 0, "0"], [0, 0, None], 0.0])
def test_a_vector_of_a_joint_that_is_not_three_finite_numbers_is_refused(key, value):
    assert f"joint `elbow`: `{key}" in joint_problems(**{key: value})[0]


def test_a_joint_from_a_link_to_itself_is_refused():
    with pytest.raises(ValidationError, match="joint `elbow`: parent and child are the same link, `forearm`"):
        JointSpec(**joint("elbow", "forearm", "forearm"))


def test_every_problem_of_a_joint_comes_at_once():
    assert len(joint_problems(position_limits=[2, 1], axis_xyz=(0, 0, 3), velocity_limit=None)) == 3


def test_control_modes_are_read_and_written_by_name(manifest):
    robot = RobotDescription(**manifest, control_modes=["JOINT_POSITION", ControlMode.CARTESIAN_DELTA])
    assert robot.control_modes == (ControlMode.JOINT_POSITION, ControlMode.CARTESIAN_DELTA)
    assert robot.model_dump(mode="json")["control_modes"] == ["JOINT_POSITION", "CARTESIAN_DELTA"]


@pytest.mark.parametrize("mode", ["joint_position", "TELEPATHY", 0, None, 99])
def test_a_control_mode_that_is_not_a_known_name_is_refused(problems_of, mode):
    assert f"unknown control mode {mode!r}" in problems_of(control_modes=[mode])[0]


def test_foot_placement_cannot_be_enabled(problems_of):
    assert "FOOT_PLACEMENT cannot be enabled" in problems_of(control_modes=["FOOT_PLACEMENT"])[0]


def test_an_empty_or_repeated_list_of_modes_is_refused(problems_of):
    assert problems_of(control_modes=[])[0].startswith("`control_modes` is empty")
    assert problems_of(control_modes=["BODY_TWIST"] * 2) == ["control mode BODY_TWIST is listed twice"]


@pytest.mark.parametrize("radius", [0, -1, *NOT_FINITE])
def test_a_footprint_radius_that_is_no_size_is_refused(problems_of, radius):
    assert "footprint_radius" in problems_of(footprint_radius=radius)[0]


@pytest.mark.parametrize("vertices", [[], [[0, 0], [1, 1]], [[0, 0], [1, 1], [2, 2]], [[1, 1]] * 3])
def test_a_footprint_without_an_area_is_refused(problems_of, vertices):
    assert problems_of(footprint_polygon=vertices) == ["`footprint_polygon` encloses no area"]


@pytest.mark.parametrize(
    ("vertices", "edges"),
    [
        (
            [[0, 1], [0.6, -0.8], [-1, 0.3], [1, 0.3], [-0.6, -0.8]],
            (0, 2),
        ),  # a star: its middle is gone around twice
        ([[0, 0], [1, 1], [1, 0], [0, 2]], (0, 2)),
        ([[0, 0], [2, 0], [2, 2], [1, 0], [0, 2]], (0, 2)),  # a vertex on an edge
    ],
)
def test_footprint_that_crosses_itself_is_refused(problems_of, vertices, edges):
    wanted = f"`footprint_polygon` crosses itself: edges {edges[0]} and {edges[1]}"
    assert problems_of(footprint_polygon=vertices) == [wanted]


def test_footprint_with_a_dent_does_not_cross_itself(manifest):
    dented = [[0, 0], [2, 0], [2, 2], [1, 0.5], [0, 2]]
    assert len(RobotDescription(**manifest, footprint_polygon=dented).footprint_polygon) == 5


def test_a_footprint_with_a_vertex_that_is_not_finite_is_refused(problems_of):
    assert "footprint_polygon.2.1" in problems_of(footprint_polygon=[[0, 0], [1, 0], [0, float("nan")]])[0]


def test_a_footprint_with_an_area_is_accepted(manifest):
    robot = RobotDescription(**manifest, footprint_polygon=[[0, 0], [1, 0], [0, 1]], footprint_radius=0.3)
    assert len(robot.footprint_polygon) == 3


def test_a_waived_pair_without_its_reason_is_refused_and_with_it_accepted(manifest, problems_of):
    waived = {"link_a": "base", "link_b": "forearm", "reason": "waived"}
    assert "needs a `detail`" in problems_of(allowed_collision_pairs=[waived])[0]
    RobotDescription(**{**manifest, "allowed_collision_pairs": [{**waived, "detail": "cable chain"}]})


@pytest.mark.parametrize("reason", ["", "because", "never", None])
def test_a_pair_with_a_reason_that_is_none_of_the_known_ones_is_refused(problems_of, reason):
    pair = {"link_a": "base", "link_b": "forearm", "reason": reason}
    assert "`reason` must be 'adjacent'" in problems_of(allowed_collision_pairs=[pair])[0]


@pytest.mark.parametrize("key", ["link", "reason"])
def test_a_coverage_waiver_must_name_the_link_and_the_reason(problems_of, key):
    waiver = {"link": "base", "reason": "bolted to the table", key: ""}
    assert f"`{key}`" in problems_of(coverage_waivers=[waiver])[0]


@pytest.mark.parametrize("kind", ["camera ", "eye", ""])
def test_an_unknown_sensor_kind_is_refused_with_the_sensor(problems_of, kind):
    (problem,) = problems_of(sensors=[{"name": "wrist", "kind": kind, "link": "forearm"}])
    assert problem.startswith("sensor `wrist`: `kind` must be 'camera'")


ELBOW = [joint("elbow", "upper_arm", "forearm")]


def test_everything_wrong_with_a_joint_is_listed_although_a_field_of_it_is_refused(problems_of):
    broken = joint(
        "shoulder", "base", "base", velocity_limit=-1.0, position_limits=[2.0, 1.0], axis_xyz=[0, 0, 2]
    )
    problems = problems_of(
        joints=[broken, joint("elbow", "base", "upper_arm"), joint("x", "upper_arm", "forearm")]
    )
    assert [problem for problem in problems if problem.startswith("joint `shoulder`: ")] == [
        "joint `shoulder`: `velocity_limit` must be greater than 0, got -1.0",
        "joint `shoulder`: `position_limits` must have lower < upper, got 2.0000 and 1.0000",
        "joint `shoulder`: parent and child are the same link, `base`",
        "joint `shoulder`: `axis_xyz` must have length 1 to 1e-06, [0.0, 0.0, 2.0] has length 2",
    ]


def test_nothing_is_said_about_a_field_that_was_refused(problems_of):
    joints = [joint("shoulder", "base", "upper_arm", position_limits=[float("nan"), 1.0]), *ELBOW]
    (problem,) = problems_of(joints=joints)
    assert "position_limits.0" in problem


def test_a_whole_robot_is_evaluated_although_one_of_its_fields_is_refused(problems_of):
    problems = problems_of(footprint_radius=-1.0, control_modes=[], base_frame="world")
    assert any("footprint_radius" in problem for problem in problems)
    assert any("control_modes" in problem for problem in problems)
    assert any("base_frame `world`" in problem for problem in problems)
