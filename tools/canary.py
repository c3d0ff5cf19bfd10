# SPDX-License-Identifier: Apache-2.0
"""Plants one fault at a time in a copy of core and kernel and requires the C++ tests to fail on it.

A test suite that stays green over a broken gate is worse than none. Each fault is one search and replace that
must match exactly once; a pattern that no longer matches stops everything, because a canary that was not
planted proves nothing. `python tools/canary.py NAME …` runs only the named faults.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]

# Everything the C++ tests are built from.
COPIED = ("CMakeLists.txt", "core", "kernel", "examples")

# Fast ones first: the first test that fails ends a fault.
TESTS = (
    "gate_stages_test",
    "stream_test",
    "stop_test",
    "directional_bound_test",
    "sweep_test",
    "gate_modes_test",
    "recovery_test",
    "obstacle_field_test",
    "occupancy_map_test",
    "convex_refine_test",
    "convex_test",
    "verdict_test",
    "robot_model_test",
    "config_test",
    "distance_test",
    "declared_contact_test",
    "containment_test",
    "latch_test",
    "instance_test",
    "ring_test",
    "clock_test",
    "mutation_test",
    "sweep_oracle_test",
    "schedule_test",
)


@dataclass(frozen=True)
class Fault:
    """One bug a tired person could write: `pattern` in `file` becomes `replacement`."""

    name: str
    file: str
    pattern: str
    replacement: str

    def planted(self, text: str) -> str:
        """Returns the text with the fault in it; unless it matches once, raises ValueError."""
        # A formatter may break a line at any space.
        faulty, count = re.subn(self.pattern.replace(" ", r"\s+"), self.replacement, text)
        if count != 1:
            raise ValueError(
                f"{self.name}: matches {count} times in {self.file}, expected once: {self.pattern}"
            )
        return faulty


FAULTS = (
    Fault(
        "stream_counts_from_the_last_step",
        "core/src/stream.cpp",
        r"std::abs\(step\.row\[column\] - reference_\[column\]\), std::abs\(last_\[column\] - reference_\[column\]\)",
        "step_[column], 0.0",
    ),
    Fault(
        "stream_keeps_its_budget_in_another_world",
        "core/src/stream.cpp",
        r" && step\.world->revision\(\) == world_revision_",
        "",
    ),
    Fault(
        "stream_keeps_its_budget_with_something_attached",
        "core/src/stream.cpp",
        r"gate_\.memory\(\)\.shapes_revision == shapes_revision_ && ",
        "",
    ),
    Fault(
        "stream_keeps_the_velocity_of_a_rejected_step",
        "core/src/stream.cpp",
        r"else if \(has_moved_\) \{",
        "else if (has_moved_ && velocity_.empty()) {",
    ),
    Fault(
        "stream_takes_a_stale_world",
        "core/src/stream.cpp",
        r"const double age_s_max = step\.world->age_s_max\(config\.world_age_s_max\);",
        "const double age_s_max = 1e3;",
    ),
    Fault(
        "stop_brakes_as_its_own_segment_alone",
        "core/src/checks/stop.cpp",
        r"braking_s = std::max\(braking_s, braking_time\(segment\)\);",
        "braking_s = braking_time(segment);",
    ),
    Fault(
        "stop_forgets_the_reaction",
        "core/src/checks/stop.cpp",
        r"row_time_s\[segment\] \+ stop\.reaction_s \+ 0\.5 \* braking_s - end_s",
        "row_time_s[segment] + 0.5 * braking_s - end_s",
    ),
    Fault(
        "stop_covers_half_its_way",
        "core/src/checks/stop.cpp",
        r"stop\.reaction_s \+ 0\.5 \* braking_s - end_s",
        "stop.reaction_s + 0.25 * braking_s - end_s",
    ),
    Fault(
        "stop_not_held_to_position_limits",
        "core/src/checks/stop.cpp",
        r"if \(room_s >= inside_s\) continue;",
        "if (room_s >= 0.0) continue;",
    ),
    Fault(
        "violation_of_a_stop_forgotten",
        "core/src/checks/stop.cpp",
        r"if \(stop_stage_ == 0\) return true;",
        "return true;",
    ),
    Fault(
        "prefix_counts_stops_that_do_not_fit",
        "core/src/checks/stop.cpp",
        r"0\.5 \* workspace_\.braking_s\[segment\] <= clear_until_s",
        "0.0 * workspace_.braking_s[segment] <= clear_until_s",
    ),
    Fault(
        "reach_of_a_torque_without_its_stop",
        "core/src/checks/stop.cpp",
        r"speed \* \(chunk_s \+ stop\.reaction_s \+ 0\.5 \* speed / stop\.deceleration_max\[dof\]\)",
        "speed * (chunk_s + stop.reaction_s)",
    ),
    Fault(
        "joint_that_brakes_alone_may_pass_its_limit",
        "core/src/checks/stop.cpp",
        r"const double farthest = path_row\(segment\)\[dof\] \+ way;",
        "const double farthest = path_row(segment)[dof];",
    ),
    Fault(
        "stops_between_the_middle_and_the_end_of_a_part_left_out",
        "core/src/sweep/joint_stop.cpp",
        r"half\[variable\] = 0\.5 \* \(part\.share_high - part\.share_low\) \* std::abs\(moved\) \+ strayed;",
        "half[variable] = 0.0;",
    ),
    Fault(
        "joint_stop_ends_when_the_driver_reacts",
        "core/src/sweep/joint_stop.cpp",
        r"longest_s_ = std::max\(longest_s_, stop_\.reaction_s \+ speed / stop_\.deceleration_max\[variable\]\)",
        "longest_s_ = std::max(longest_s_, stop_.reaction_s)",
    ),
    Fault(
        "box_of_stops_without_their_way",
        "core/src/sweep/joint_stop.cpp",
        r"const double high = std::max\(from, to\) \+ std::max\(way, 0\.0\);",
        "const double high = std::max(from, to);",
    ),
    Fault(
        "seam_without_its_jump",
        "core/src/checks/seam_jump.cpp",
        r"if \(!require_inside\(to - from, allowed\.min, allowed\.max, violation\)\) return false;",
        "(void)violation;",
    ),
    Fault(
        "seam_without_the_speed_it_has",
        "core/src/checks/seam_jump.cpp",
        r"allowed\.max = std::min\(allowed\.max, seam_velocity_\[column\] \* step_s \+ change\);",
        "",
    ),
    Fault(
        "arm_that_lags_is_taken_for_one_that_follows",
        "core/src/checks/seam_jump.cpp",
        r"if \(!require_inside\(measured - commanded, -slack, slack, violation\)\) return false;",
        "(void)violation;",
    ),
    Fault(
        "hand_over_at_once",
        "core/src/checks/seam_jump.cpp",
        r"append\(seam, running\.handover_s\);",
        "append(now, running.handover_s);",
    ),
    Fault(
        "derivative_has_the_wrong_sign",
        "core/src/sweep/directional_bound.cpp",
        r"const double rate = joint\.multiplier \* moved;",
        "const double rate = -joint.multiplier * moved;",
    ),
    Fault(
        "turning_lever_has_the_wrong_sign",
        "core/src/sweep/directional_bound.cpp",
        r"rate \* cross\(frame\.translation, frame\.rotation\.z\)",
        "rate * cross(frame.rotation.z, frame.translation)",
    ),
    Fault(
        "multiplier_left_out_of_the_derivative",
        "core/src/sweep/directional_bound.cpp",
        r"const double rate = joint\.multiplier \* moved;",
        "const double rate = moved;",
    ),
    Fault(
        "curvature_halved",
        "core/src/sweep/directional_bound.cpp",
        r"\+ 0\.5 \* after\.curvature_m",
        "+ 0.25 * after.curvature_m",
    ),
    Fault(
        "mixed_second_derivatives_counted_once",
        "core/src/sweep/directional_bound.cpp",
        r"\(turned \+ 2\.0 \* turned_above\)",
        "(turned + turned_above)",
    ),
    Fault(
        "own_second_derivative_forgotten",
        "core/src/sweep/directional_bound.cpp",
        r"\(turned \+ 2\.0 \* turned_above\)",
        "(2.0 * turned_above)",
    ),
    Fault(
        "second_shape_moves_in_another_frame",
        "core/src/sweep/directional_bound.cpp",
        r"second_after = motion_to\(model, b, common,",
        "second_after = motion_to(model, b, 0,",
    ),
    Fault(
        "end_of_the_interval_not_looked_at",
        "core/src/sweep/directional_bound.cpp",
        r"-second\.after_m - first\.after_m\}",
        "-second.before_m - first.before_m}",
    ),
    Fault(
        "plane_of_an_earlier_row",
        "core/src/sweep/placement.cpp",
        r"return \{frames_of_row\(row_index\), workspace\.to_before",
        "return {frames_of_row(row_index > 0 ? row_index - 1 : 0), workspace.to_before",
    ),
    Fault(
        "half_space_passed_along_any_direction",
        "core/src/sweep/directional_bound.cpp",
        r"motion\.second\.is_half_space \? -motion\.second\.in_base\.rotation\.z : ",
        "",
    ),
    Fault(
        "motion_without_a_bound_on_its_rounding",
        "core/src/sweep/directional_bound.cpp",
        r"if \(!\(way <= tolerance::directional_way_max\)\)",
        "if (way < 0.0)",
    ),
    Fault(
        "disc_of_a_cylinder_forgotten_by_gjk",
        "core/src/geometry/convex.cpp",
        r"across > 0\.0 \? view\.disc_m / across : 0\.0",
        "0.0",
    ),
    Fault(
        "disc_of_a_cylinder_forgotten_along_a_direction",
        "core/src/sweep/directional_bound.cpp",
        r"most_m\[3\]\}\) \+ disc_m;",
        "most_m[3]});",
    ),
    Fault(
        "flat_ends_of_a_cylinder_moved_in",
        "core/src/geometry/distance.cpp",
        r"std::clamp\(p\.z, -half_m, half_m\)\};",
        "0.99 * std::clamp(p.z, -half_m, half_m)};",
    ),
    Fault(
        "attached_solid_without_its_cover",
        "core/src/robot/attached_cover.cpp",
        r"best\.radius_m = best\.radius_m \* \(1\.0 \+ slack\) \+ slack;",
        "best.radius_m = 0.5 * best.radius_m;",
    ),
    Fault(
        "declared_depth_counted_twice",
        "core/src/sweep/convex_refine.cpp",
        r"kind_ == PairKind::field \? 0\.0 : contact\.depth_m",
        "kind_ == PairKind::field ? 0.0 : 2.0 * contact.depth_m",
    ),
    Fault(
        "depth_of_an_axis_inside_a_box_believed",
        "core/src/sweep/declared_contact.cpp",
        r"return !solid \|\| axis_m > 0\.0;",
        "return true;",
    ),
    Fault(
        "static_world_keeps_its_points_fresh",
        "core/src/checks/world_unavailable.cpp",
        r"field_age_s, -tolerance::future_stamp_s, config\(\)\.world_age_s_max, violation",
        "field_age_s, -tolerance::future_stamp_s, age_s_max, violation",
    ),
    Fault(
        "radius_of_hulls_forgotten",
        "core/src/sweep/convex_refine.cpp",
        r"found\.lower_m : deepest_m_\) - radii_m,",
        "found.lower_m : deepest_m_),",
    ),
    Fault(
        "motion_of_hulls_forgotten",
        "core/src/sweep/convex_refine.cpp",
        r"if \(certified\(witness\.distance_m, required_m, moved_m\) \|\|",
        "if (certified(witness.distance_m, required_m, 0.0) ||",
    ),
    Fault(
        "start_contact_refined_away",
        "core/src/sweep/convex_refine.cpp",
        r"if \(kind != PairKind::field\) return \{\};",
        "if (kind != PairKind::field) return refinement.query(sweep.whole_margin(kind));",
    ),
    Fault(
        "touched_obstacle_lowers_the_whole_field",
        "core/src/world/obstacle_field_query.cpp",
        r"return found != touched\.end\(\) && found->obstacle == obstacle \? found->credit_m : 0\.0;",
        "(void)found; return touched.front().credit_m;",
    ),
    Fault(
        "hulls_swing_on_a_retreat",
        "core/src/sweep/recovery.cpp",
        r"outcome = (keeps_hulls_apart\(sweep, contact, segment, finding\);)",
        r"(void)\1",
    ),
    Fault(
        "hulls_held_at_rows_only",
        "core/src/sweep/recovery.cpp",
        r"open\[count\+\+\] = \{0\.5, 0\.5\};",
        "open[count++] = {1.0, 0.0};",
    ),
    Fault(
        "hull_inside_solid_voxel_cleared",
        "core/src/sweep/convex_refine.cpp",
        r"if \(field\.is_solid\(vertex\)\) return give_up\(\);",
        "",
    ),
    Fault(
        "margin_sign_flipped",
        "core/src/checks/gate_setup.cpp",
        r"(    require_config\(\*model, config\);)",
        r"\1 config.self_margin_m *= -1.0; config.world_margin_m *= -1.0;",
    ),
    Fault(
        "margin_missing_in_simd",
        "core/src/sweep/broad_phase.cpp",
        r"needed_distance\(whole_margin\(kind\), 0\.0\)",
        r"needed_distance(0.0 * whole_margin(kind), 0.0)",
    ),
    Fault(
        "last_row_skipped_world",
        "core/src/checks/collision.cpp",
        r"sweep_\.run\(kind, workspace_\.path_rows, finding\)",
        r"sweep_.run(kind, workspace_.path_rows - (kind == PairKind::self ? 0 : 1), finding)",
    ),
    Fault(
        "last_row_skipped_self",
        "core/src/checks/collision.cpp",
        r"sweep_\.run\(kind, workspace_\.path_rows, finding\)",
        r"sweep_.run(kind, workspace_.path_rows - (kind == PairKind::self ? 1 : 0), finding)",
    ),
    Fault(
        "first_segment_skipped",
        "core/src/paths/joint_path.cpp",
        r"(\n    sweep_\.place_rows\(\);)",
        r"\n    if (workspace_.path_rows > 0) std::copy_n(path_row(1), model().variable_count(), path_row(0));\1",
    ),
    Fault(
        "half_of_first_segment_skipped_in_simd",
        "core/src/simd/simd_robot.hpp",
        r"share_before\[0\] = 1\.0",
        r"share_before[0] = 0.5",
    ),
    Fault(
        "allowed_pair_inverted",
        "core/src/robot/shape_set.cpp",
        r"return !model\.pair_allowed\(",
        r"return model.pair_allowed(",
    ),
    Fault(
        "nan_in_action_passes",
        "core/src/checks/chunk_shape.cpp",
        r"std::isfinite\(value_at\(row, column\)\)",
        r"!std::isinf(value_at(row, column))",
    ),
    Fault(
        "motion_bound_halved",
        "core/src/robot/robot_model.cpp",
        r"(const double gain = )(std::abs\(joint\.multiplier\) \* bound)",
        r"\1 0.5 * \2",
    ),
    Fault(
        "reach_bound_uses_wrong_axis",
        "core/src/robot/robot_model.cpp",
        r"bound = std::sqrt\(sphere\.centre\.x \* sphere\.centre\.x \+ sphere\.centre\.y \* sphere\.centre\.y\)",
        r"bound = std::sqrt(sphere.centre.z * sphere.centre.z + sphere.centre.y * sphere.centre.y)",
    ),
    Fault(
        "world_skipped",
        "core/src/checks/collision.cpp",
        r"if \(world\.is_declared_absent\(\)\) return true;",
        r"if (world.is_declared_absent() || world.is_usable()) return true;",
    ),
    Fault(
        "voxels_and_points_skipped",
        "core/src/checks/collision.cpp",
        r"\(!has_field \|\| sweep_world\(PairKind::field\)\)",
        r"(has_field || sweep_world(PairKind::field))",
    ),
    Fault(
        "unknown_voxel_counted_as_free",
        "core/src/world/obstacle_field.cpp",
        r"row\[x\] != 0 && !\(row\[x\] == 255 && spec\.unknown_is_free\)",
        r"row[x] != 0 && row[x] != 255 && !(row[x] == 255 && spec.unknown_is_free)",
    ),
    Fault(
        "zones_skipped",
        "core/src/checks/collision.cpp",
        r"if \(setup_\.zones\.primitives\(\)\.empty\(\)\) return true;",
        r"if (setup_.zones.is_usable()) return true;",
    ),
    Fault(
        "stale_state_accepted",
        "core/src/checks/state_unavailable.cpp",
        r"fresh\{-tolerance::future_stamp_s, config\(\)\.state_age_s_max\}",
        r"fresh{-tolerance::future_stamp_s, 1e3 * config().state_age_s_max}",
    ),
    Fault(
        "stale_world_accepted",
        "core/src/checks/world_unavailable.cpp",
        r"require_inside\(age_s, -tolerance::future_stamp_s, age_s_max",
        r"require_inside(age_s, -tolerance::future_stamp_s, 1e3 * age_s_max",
    ),
    Fault(
        "stale_field_accepted",
        "core/src/checks/world_unavailable.cpp",
        r"require_inside\(field_age_s, -tolerance::future_stamp_s, config\(\)\.world_age_s_max",
        r"require_inside(field_age_s, -tolerance::future_stamp_s, 1e3 * config().world_age_s_max",
    ),
    Fault(
        "budget_ignored",
        "core/src/validation.cpp",
        r"if \(outcome == Outcome::budget\) return reject_budget\(\);",
        r"if (outcome == Outcome::budget) return true;",
    ),
    Fault(
        "verdict_accepts_before_the_last_check",
        "core/src/validation.cpp",
        r"if \(!passed\) return verdict_;",
        r"if (!passed && stage.number < 10) return verdict_;",
    ),
    Fault(
        "keep_in_zones_skipped",
        "core/src/checks/collision.cpp",
        r"return setup_\.keep_in\.primitives\(\)\.empty\(\) \|\|",
        r"return setup_.keep_in.is_usable() ||",
    ),
    Fault(
        "radius_forgotten_inside_a_keep_in_zone",
        "core/src/sweep/pairs/keep_in.cpp",
        r"return \{depth\.depth_m - radius_m, depth",
        r"return {depth.depth_m, depth",
    ),
    Fault(
        "radius_forgotten_in_the_simd_of_a_keep_in_zone",
        "core/src/sweep/pairs/keep_in.cpp",
        r"static_cast<double>\(shape\.radius\) \+ static_cast<double>\(shape\.error\)",
        r"static_cast<double>(shape.error)",
    ),
    Fault(
        "keep_in_zone_of_other_links",
        "core/src/sweep/pairs/keep_in.cpp",
        r": links\.test\(shape\.link\);",
        r": !links.test(shape.link);",
    ),
    Fault(
        "declared_contact_counts_for_zones",
        "core/src/sweep/declared_contact.cpp",
        r"if \(kind != PairKind::world && kind != PairKind::field\) return false;",
        "if (kind == PairKind::zone) kind = PairKind::world;",
    ),
    Fault(
        "region_of_a_contact_ignored",
        "core/src/sweep/declared_contact.cpp",
        r"std::min\(distance_m \+ allowed_m, inside_m\)",
        "distance_m + allowed_m",
    ),
    Fault(
        "contact_lets_volumes_overlap",
        "core/src/sweep/declared_contact.cpp",
        r"std::min\(distance_m \+ allowed_m, inside_m\)",
        "inside_m",
    ),
    Fault(
        "contact_never_expires",
        "core/src/sweep/declared_contact.cpp",
        r"&& segment <= declared_last_segment\[contact\] &&",
        "&&",
    ),
    Fault(
        "contact_of_any_subject",
        "core/src/sweep/declared_contact.cpp",
        r"return subject && \(kind == PairKind::world",
        "return (subject || true) && (kind == PairKind::world",
    ),
    Fault(
        "latched_kernel_lets_pass",
        "kernel/kernel.cpp",
        r"if \(latch_\.latched\(\)\) stage_one",
        "if (false) stage_one",
    ),
    Fault(
        "clock_set_back_keeps_states_young",
        "kernel/kernel.cpp",
        r"stamp_s <= now\.wall_s \? by_arrival : stamp_s",
        "stamp_s <= now.wall_s ? stamp_s : by_arrival",
    ),
    Fault(
        "world_of_long_ago_is_recent",
        "kernel/kernel.hpp",
        r"0\.0 : now\.monotonic_s - world\.arrived_s; \}",
        "0.0 : 0.0 * (now.monotonic_s - world.arrived_s); }",
    ),
    Fault(
        "what_still_comes_keeps_young_what_does_not",
        "kernel/world_builder.cpp",
        r"std::min\(obstacles_arrived_s_, voxels_arrived_s_\)",
        "std::max(obstacles_arrived_s_, voxels_arrived_s_)",
    ),
    Fault(
        "world_may_be_held_for_ever",
        "core/src/checks/world_unavailable.cpp",
        r"require_inside\(request_\.world_held_s, 0\.0, config\(\)\.world_age_s_max,",
        "require_inside(request_.world_held_s, 0.0, 1e12,",
    ),
    Fault(
        "what_was_held_is_forgotten",
        "kernel/latch.cpp",
        r"if \(record\.held\) stop\(",
        "if (record.held && record.latched) stop(",
    ),
    Fault(
        "text_of_a_message_may_be_anything",
        "kernel/cdr.hpp",
        r" \|\| !is_utf8\(text\)\) return fail",
        ") return fail",
    ),
    Fault(
        "lock_that_no_process_can_find_is_believed",
        "kernel/instance.cpp",
        r"if \(lock\.is_named\(name\)\) return lock;",
        "return lock;",
    ),
    Fault(
        "chunk_leaves_although_a_stop_was_asked_for",
        "kernel/ring.cpp",
        r"std::uint64_t expected = \(std::uint64_t\{stops_heard\} << stops_shift\)",
        "std::uint64_t expected = (std::uint64_t{stops_heard = stops_asked()} << stops_shift)",
    ),
    # Headers, which rebuild half of the core, come last.
    Fault(
        "nan_comparison_inverted",
        "core/src/validation.hpp",
        r"return allowed\.min <= value && value <= allowed\.max;",
        r"return !(value < allowed.min || value > allowed.max);",
    ),
    Fault(
        "touching_counted_as_free",
        "core/src/geometry/tolerance.hpp",
        r"rounding_m = 1\.0e-9;",
        r"rounding_m = -1.0e-9;",
    ),
    Fault(
        "off_the_map_is_free",
        "core/src/world/occupancy_map.cpp",
        r"local\.y <= height\)\) return true;",
        "local.y <= height)) return false;",
    ),
    Fault(
        "ring_around_the_map_left_out",
        "core/src/world/occupancy_map.cpp",
        r"ringed\(width \* layer\.size\[1\], 1\)",
        "ringed(width * layer.size[1], 0)",
    ),
    Fault(
        "inside_of_a_footprint_not_checked",
        "core/src/sweep/footprint.cpp",
        r"if \(vertices\.size\(\) >= 3\) \{",
        "if (vertices.size() >= 300) {",
    ),
    Fault(
        "footprint_seen_at_the_middle_only",
        "core/src/sweep/footprint.cpp",
        r"turn \* reach_m\) \* half;",
        "turn * reach_m) * half * 0.0;",
    ),
    Fault(
        "map_never_expires",
        "core/src/checks/world_unavailable.cpp",
        r"-tolerance::future_stamp_s, lasts_s, violation",
        "-tolerance::future_stamp_s, 1e9, violation",
    ),
)


def copy_tree(target: Path) -> None:
    """Copies what the C++ tests need."""
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, target / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(source, target / name)
    # A fault may leave an unused name. Whether the compiler complains is not what is asked here.
    file = target / "CMakeLists.txt"
    text = file.read_text()
    if "-Werror" not in text:
        raise SystemExit("error: CMakeLists.txt no longer says -Werror: take this out of copy_tree")
    file.write_text(text.replace("-Werror", ""))


def run(command: list[str], cwd: Path) -> subprocess.CompletedProcess[str]:
    """Runs a command with the environment's own cmake and ninja first on the path."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        command, cwd=cwd, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False
    )


def build(tree: Path) -> None:
    """Builds the tests; a fault that does not compile is no fault and raises SystemExit."""
    built = run(["cmake", "--build", "build", "-j", "2", "--target", *TESTS], tree)
    if built.returncode != 0:
        raise SystemExit(f"error: the copy does not build\n{built.stdout[-3000:]}{built.stderr[-3000:]}")


def killed_by(tree: Path) -> str | None:
    """Returns the first test that fails, with its first failing case, or None when all of them pass."""
    for name in TESTS:
        try:
            done = subprocess.run(
                [next((tree / "build").glob(f"*/tests/{name}"))],
                capture_output=True,
                text=True,
                errors="replace",  # a test may print the bytes it was about
                check=False,
                timeout=60,
            )
        except subprocess.TimeoutExpired:
            return f"{name}: did not end within 60 s"
        if done.returncode != 0:
            cases = re.findall(r"^FAILED (\w+)", done.stdout, flags=re.MULTILINE)
            return f"{name}: {cases[0] if cases else f'ended with {done.returncode}'}"
    return None


def main() -> int:
    """Plants the faults one by one; returns 1 when one survives."""
    wanted = sys.argv[1:] or [fault.name for fault in FAULTS]
    faults = [fault for fault in FAULTS if fault.name in wanted]
    unknown = set(wanted) - {fault.name for fault in faults}
    if unknown:
        print(f"error: no fault is called {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    texts = {fault.name: fault.planted((ROOT / fault.file).read_text()) for fault in faults}
    started = time.monotonic()
    survivors = []
    table = []
    with tempfile.TemporaryDirectory(prefix="lastgate-canary-") as folder:
        tree = Path(folder)
        copy_tree(tree)
        print("building the copy without a fault …", flush=True)
        flags = "-DCMAKE_CXX_FLAGS_RELEASE=-O1"
        configured = run(
            ["cmake", "-S", ".", "-B", "build", "-G", "Ninja", "-DLASTGATE_TESTS=ON", flags], tree
        )
        if configured.returncode != 0:
            raise SystemExit(f"error: the copy cannot be configured\n{configured.stderr[-3000:]}")
        build(tree)
        if (failing := killed_by(tree)) is not None:
            print(f"error: the tests fail without any fault: {failing}", file=sys.stderr)
            return 2
        for number, fault in enumerate(faults, start=1):
            file = tree / fault.file
            original = file.read_text()
            file.write_text(texts[fault.name])
            build(tree)
            killer = killed_by(tree)
            file.write_text(original)
            table.append((fault.name, killer))
            if killer is None:
                survivors.append(fault.name)
            at = time.monotonic() - started
            print(f"[{number}/{len(faults)}, {at:.0f} s] {fault.name}: {killer or 'SURVIVED'}", flush=True)
    print(f"\n{'planted fault':<40} killed by")
    for name, killer in table:
        print(f"{name:<40} {killer or 'nothing: the suite is blind to it'}")
    print(
        f"\n{len(table) - len(survivors)} of {len(table)} faults killed in {time.monotonic() - started:.0f} s"
    )
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
