# SPDX-License-Identifier: Apache-2.0
"""Which test holds which of the numbered cases about planning, and which have no counterpart here: none is lost."""

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
ENVIRONMENT = "conformance/test_environment_cases.py"
ALLOWED = "conformance/test_allowed_collision_cases.py"
COVERS = "conformance/test_sphere_model_cases.py"
LADDER = "conformance/test_two_tier_cases.py"
MOTIONS = "conformance/test_continuous_cases.py"

CASES: dict[int, tuple[str, str]] = {
    1: (ENVIRONMENT, "test_empty_set_touches_nothing"),
    **dict.fromkeys((2, 3, 4, 6, 7, 9), (ENVIRONMENT, "test_two_spheres_are_as_far_as_they_are")),
    5: (ENVIRONMENT, "test_margin_reaches_over_the_gap_and_no_farther"),
    8: (ENVIRONMENT, "test_tangent_spheres_touch"),
    10: (ENVIRONMENT, "test_swapping_robot_and_obstacle_changes_nothing"),
    11: (ENVIRONMENT, "test_large_sphere_far_away_is_nearer_than_small_one_close_by"),
    12: (ENVIRONMENT, "test_any_number_of_spheres_measures_like_a_loop"),
    **dict.fromkeys((13, 14), (ENVIRONMENT, "test_sphere_that_is_not_finite_is_refused_not_free")),
    16: (ENVIRONMENT, "test_empty_world_is_free"),
    **dict.fromkeys(
        (18, 19), (ENVIRONMENT, "test_point_inside_an_obstacle_collides_and_one_far_from_it_does_not")
    ),
    20: (ENVIRONMENT, "test_robot_between_two_obstacles_is_free"),
    **dict.fromkeys(
        (21, 22), (ENVIRONMENT, "test_clearance_is_never_above_the_truth_and_falls_towards_the_obstacle")
    ),
    **dict.fromkeys((23, 32), (ENVIRONMENT, "test_sphere_in_the_same_place_collides_in_a_large_world")),
    24: (ENVIRONMENT, "test_obstacle_beside_a_grid_vertex_collides"),
    25: (ENVIRONMENT, "test_no_contact_is_missed_at_any_resolution"),
    **dict.fromkeys((26, 27, 31), (ENVIRONMENT, "test_wide_margins_are_exact_too")),
    28: (ENVIRONMENT, "test_robot_outside_the_bounds_is_told_apart_from_one_in_collision"),
    29: (ENVIRONMENT, "test_obstacle_outside_the_bounds_still_counts"),
    30: (ENVIRONMENT, "test_far_obstacles_do_not_hide_the_near_one"),
    33: (ENVIRONMENT, "test_nearest_names_the_link_and_the_obstacle"),
    34: (ENVIRONMENT, "test_memory_follows_the_obstacles_not_the_bounds"),
    35: ("unit/world/test_points.py", "test_degenerate_clouds_keep_every_point"),
    **dict.fromkeys((36, 37), (ENVIRONMENT, "test_there_is_no_range_of_radii_to_declare")),
    38: (COVERS, "test_case_38_robot_without_geometry_reports_it_and_is_not_waved_through"),
    39: (COVERS, "test_case_39_sphere_model_is_one_sphere_of_its_own_radius"),
    40: (COVERS, "test_case_40_counts_grow_with_the_preset_and_what_was_achieved_is_reported"),
    41: (COVERS, "test_case_41_every_point_of_a_cylinder_is_covered"),
    42: (COVERS, "test_case_42_every_point_of_a_box_is_covered_and_the_overshoot_holds"),
    43: (COVERS, "test_case_43_more_spheres_are_never_looser_than_one"),
    44: (COVERS, "test_case_44_box_is_as_large_as_its_size_says"),
    45: (COVERS, "test_case_45_mesh_is_covered_at_its_scale"),
    46: ("unit/tools/lowering/test_mesh_reader.py", "test_missing_mesh_is_refused"),
    47: (COVERS, "test_case_47_capsule_is_covered_with_its_caps"),
    48: (COVERS, "test_case_48_sphere_is_where_its_link_is"),
    49: (COVERS, "test_case_49_padding_and_scale_in_this_order_and_on_one_link_only"),
    50: (COVERS, "test_case_50_every_link_of_a_branching_robot_gets_its_own_pose"),
    51: (ALLOWED, "test_pair_is_unordered_and_counted_once"),
    **dict.fromkeys((52, 53), (ALLOWED, "test_serial_robot_leaves_the_pairs_that_no_joint_connects")),
    54: (ALLOWED, "test_two_arms_are_checked_against_each_other"),
    55: (ALLOWED, "test_pair_with_an_object_is_kept_and_takes_effect"),
    56: (ALLOWED, "test_merge_is_the_union"),
    57: (ALLOWED, "test_index_out_of_range_is_not_allowed_and_a_link_with_itself_is"),
    58: (LADDER, "test_case_58_links_in_one_place_collide"),
    59: (LADDER, "test_case_59_links_in_a_row_are_free_and_a_wide_margin_finds_them"),
    60: ("unit/gate/test_attached_objects.py", "test_attached_object_collides_with_the_robot_itself"),
    61: (LADDER, "test_case_61_object_in_the_hand_is_ignored_by_the_finger_and_seen_by_the_forearm"),
    62: (LADDER, "test_case_62_obstacle_at_the_origin_collides"),
    63: (LADDER, "test_case_63_distance_of_a_sphere_from_a_box_is_exact"),
    64: (LADDER, "test_case_64_sphere_in_the_end_of_a_cylinder_collides_to_its_depth"),
    65: (LADDER, "test_case_65_sphere_beside_a_cylinder_is_free"),
    66: (LADDER, "test_case_66_thin_overlap_is_found_behind_coarse_spheres"),
    67: (LADDER, "test_case_67_table_below_is_free"),
    68: (LADDER, "test_case_68_link_whose_mesh_is_missing_is_decided_by_its_hulls"),
    69: (LADDER, "test_case_69_obstacle_inside_a_closed_mesh_collides"),
    70: (LADDER, "test_case_70_without_refinement_spheres_decide"),
    71: (LADDER, "test_case_71_larger_safety_margin_finds_a_superset"),
    72: (LADDER, "test_case_72_witness_points_stand_in_the_world_on_both_surfaces"),
    73: (LADDER, "test_case_73_link_without_geometry_does_not_win_and_does_not_pass"),
    74: (LADDER, "test_case_74_ladder_has_its_rungs_where_they_are_said_to_be"),
    75: (LADDER, "test_case_75_every_rung_is_at_least_as_far_as_the_one_below_while_apart"),
    76: (MOTIONS, "test_case_76_motion_without_obstacles_is_free"),
    **dict.fromkeys((77, 78, 79, 81, 83, 84), (MOTIONS, "test_first_contact_is_found_and_never_late")),
    80: (MOTIONS, "test_case_80_is_missed_by_samples"),
    82: (MOTIONS, "test_case_82_pass_by_is_free_up_to_its_clearance"),
    85: (MOTIONS, "test_case_85_start_inside_is_contact_at_once"),
    86: (MOTIONS, "test_case_86_no_motion_is_checked_where_it_stands"),
    87: (MOTIONS, "test_case_87_trajectory_names_its_segment"),
    88: (MOTIONS, "test_case_88_empty_trajectory_is_free_and_a_single_waypoint_is_checked"),
    89: (MOTIONS, "test_case_89_swept_clearance_is_what_a_margin_may_be"),
    90: (MOTIONS, "test_case_90_point_and_segment"),
    **dict.fromkeys((91, 92, 93), (MOTIONS, "test_turning_arm_is_not_taken_for_its_chord")),
    94: (MOTIONS, "test_case_94_near_contact_that_stands_still_does_not_hide_the_contact_of_another"),
    95: (MOTIONS, "test_case_95_links_that_swap_places_meet"),
    96: (MOTIONS, "test_case_96_bound_of_a_pass_by_is_not_above_its_clearance"),
    97: (MOTIONS, "test_case_97_pair_that_may_touch_is_skipped"),
    98: (ENVIRONMENT, "test_distance_is_symmetric_around_a_sphere"),
    99: (ENVIRONMENT, "test_empty_world_is_free"),
    100: (ALLOWED, "test_spheres_of_one_name_are_removed_together"),
    102: (ENVIRONMENT, "test_thin_obstacle_is_occupied_at_its_middle_at_any_resolution"),
    104: (ENVIRONMENT, "test_cloud_of_three_points_is_three_obstacles"),
    **dict.fromkeys((105, 106), (ENVIRONMENT, "test_every_point_of_a_cloud_in_voxels_is_covered")),
    107: ("unit/world/test_points.py", "test_crop_keeps_the_two_of_five_points_inside_and_both_faces"),
    108: ("unit/world/test_depth.py", "test_principal_pixel_at_one_metre_is_one_metre_ahead"),
    109: (
        "unit/world/test_octomap_file.py",
        "test_map_file_becomes_a_grid_that_is_free_only_where_the_map_is",
    ),
    110: (
        "unit/gate/test_attached_objects.py",
        "test_detaching_removes_every_shape_of_the_object_and_nothing_else",
    ),
    111: (LADDER, "test_case_62_obstacle_at_the_origin_collides"),
    112: (ENVIRONMENT, "test_half_space_has_no_end"),
    113: (ENVIRONMENT, "test_flat_box_has_no_holes"),
    114: (COVERS, "test_configurations_that_cannot_be_placed_are_refused"),
    116: ("unit/kernel/estop/test_deadman.py", "test_m01_no_accepted_chunk_fires_once_with_evidence"),
    118: (ENVIRONMENT, "test_batch_of_no_configurations_is_empty"),
    119: ("oracles/test_batch.py", "test_twenty_thousand_configurations_are_evaluated_as_measured"),
}

NO_COUNTERPART = {
    15: "spheres are NumPy arrays: there is nothing to push or clear",
    17: "no grid is exposed",
    101: "no grid of distances is exposed",
    103: "distances have no cost and no gradient: planners bring their own",
    115: "nothing scales a speed: the gate accepts or rejects",
    117: "markers are the page's business",
}


def test_every_case_has_a_test_or_a_reason():
    assert sorted({*CASES, *NO_COUNTERPART}) == list(range(1, 120))
    assert not CASES.keys() & NO_COUNTERPART.keys()


@pytest.mark.parametrize("file", sorted({file for file, _ in CASES.values()}))
def test_every_named_test_exists(file: str):
    tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
    names = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert {name for of, name in CASES.values() if of == file} <= names
