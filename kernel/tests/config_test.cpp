// SPDX-License-Identifier: Apache-2.0
// The flat file: read as it stands, or refused with the line and the key; never half of it.
#include "config.hpp"

#include <cmath>

#include "config_text.hpp"
#include "require.hpp"
#include "robots.hpp"

using namespace lastgate;
using namespace lastgate::kernel;
using lastgate::tests::config_text;

namespace {

/// The text with the line of `key` replaced; an empty line leaves it out.
std::string with(const std::string& key, const std::string& line) {
    const std::size_t at = config_text.find("\n" + key + ": ") + 1;
    const std::size_t end = config_text.find('\n', at);
    REQUIRE(at != 0, key);
    std::string text = config_text;
    return text.replace(at, end - at + (line.empty() ? 1 : 0), line);
}

Gate arm(const std::string& text) {
    KernelConfig config = read_config(text);
    return Gate(std::make_shared<const RobotModel>(config.model), config.gate);
}

}  // namespace

TEST(whole_file_is_read_to_the_values_it_holds) {
    const KernelConfig config = read_config(config_text);
    REQUIRE(config.robot_name == "planar" && config.base_frame == "base" && config.deadman_required);
    REQUIRE(config.link_names.size() == 2 && config.link_names[1] == "arm");
    REQUIRE(config.joint_names.size() == 1 && config.effector_names[0] == "tool" && config.zone_names[0] == "cabinet");
    REQUIRE(config.gate.step_s == 0.02 && config.gate.velocity_max[0] == 2.0 && (*config.gate.acceleration_max)[0] == 10.0);
    REQUIRE(config.gate.self_margin_m == 0.01 && config.gate.world_margin_m == 0.02);
    REQUIRE(config.gate.workspace_box->max.z == 3.0 && config.gate.max_ee_speed_m_s == 1.5);
    REQUIRE(config.gate.enabled_modes.test(3) && !config.gate.enabled_modes.test(2));
    REQUIRE(config.model.volumes[0].end_b.x == 1.0 && config.model.links[1].origin_xyz.z == 0.5);
    REQUIRE(config.gate.no_go_zones.size() == 1 && config.gate.no_go_zones[0].half_extents_m.x == 0.1);
}

TEST(gate_armed_from_the_file_decides) {
    Gate gate = arm(config_text);
    const double from[1] = {0.0};
    const double rows[2] = {0.004, 0.008};
    const WorldSnapshot world = robots::no_world();
    REQUIRE(gate.check(robots::make_request(ControlMode::joint_position, rows, 1, from, world)).accepted == 1);
    const double beyond[1] = {3.1};
    REQUIRE(gate.check(robots::make_request(ControlMode::joint_position, beyond, 1, from, world)).accepted == 0);
}

TEST(comments_and_empty_lines_are_skipped) {
    REQUIRE(read_config("# written by a tool\n\n" + config_text).robot_name == "planar");
}

TEST(missing_key_is_refused_by_name) {
    for (const char* key : {"schema_version", "step_s", "link_parent", "velocity_max", "volume_radius_m", "self_collision_margin_m",
                            "state_age_s_max", "control_modes", "deadman_required", "zone_names", "keep_in_names", "keep_in_links", "evaluations_max"}) {
        REQUIRE_REFUSED(read_config(key == std::string("schema_version") ? config_text.substr(config_text.find('\n') + 1) : with(key, "")), key);
    }
}

TEST(root_frame_is_read_whole_or_not_at_all) {
    REQUIRE(read_config(config_text).frames.root.empty() && !read_config(config_text).frames.must_be_named());
    const std::string named = config_text + "root_frame: \"cell\"\n";
    const KernelConfig config = read_config(named + "root_in_base_xyzrpy: [0.0, 0.0, -0.9, 0.0, 0.0, 0.5]\n");
    REQUIRE(config.frames.root == "cell" && config.frames.root_in_base_xyzrpy[2] == -0.9 && config.frames.must_be_named());
    REQUIRE_REFUSED(read_config(named), "root_in_base_xyzrpy");
    REQUIRE_REFUSED(read_config(config_text + "root_in_base_xyzrpy: [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]\n"), "root_in_base_xyzrpy");
    REQUIRE_REFUSED(read_config(named + "root_in_base_xyzrpy: [0.0, 0.0, 20000.0, 0.0, 0.0, 0.0]\n"), "beyond 1e4");
    REQUIRE_REFUSED(read_config(config_text + "root_frame: \"base\"\nroot_in_base_xyzrpy: [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]\n"), "root_frame");
}

TEST(stop_is_read_whole_or_not_at_all) {
    REQUIRE(!read_config(config_text).gate.stop.has_value());
    const std::string kind = config_text + "stop_kind: \"path\"\n";
    const std::string reaction = "stop_reaction_s: 0.02\n";
    const std::string deceleration = "deceleration_max: [4.0]\n";
    const KernelConfig config = read_config(kind + reaction + deceleration);
    REQUIRE(config.gate.stop->kind == StopKind::path && config.gate.stop->reaction_s == 0.02 && config.gate.stop->deceleration_max[0] == 4.0);
    REQUIRE(read_config(config_text + "stop_kind: \"joint\"\n" + reaction + deceleration).gate.stop->kind == StopKind::joint);
    REQUIRE_REFUSED(read_config(kind + reaction), "deceleration_max");
    REQUIRE_REFUSED(read_config(kind + deceleration), "stop_reaction_s");
    REQUIRE_REFUSED(read_config(config_text + deceleration), "stop_kind");
    REQUIRE_REFUSED(read_config(config_text + "stop_kind: \"hard\"\n" + reaction + deceleration), "must be");
    REQUIRE_REFUSED(read_config(kind + reaction + "deceleration_max: [4.0, 4.0]\n"), "deceleration_max");
    const std::string base = "stop_base_deceleration_m_s2: 0.5\n";
    REQUIRE_REFUSED(read_config(kind + reaction + deceleration + base), "stop_base_angular_deceleration_rad_s2");
    const KernelConfig mobile = read_config(kind + reaction + deceleration + base + "stop_base_angular_deceleration_rad_s2: 0.25\n");
    REQUIRE(mobile.gate.stop->base_deceleration_m_s2 == 0.5 && mobile.gate.stop->base_angular_deceleration_rad_s2 == 0.25);
}

TEST(gate_with_a_stop_that_could_not_brake_is_refused) {
    const auto armed = [](const char* reaction, const char* deceleration) {
        arm(config_text + "stop_kind: \"path\"\nstop_reaction_s: " + reaction + "\ndeceleration_max: [" + deceleration + "]\n");
    };
    armed("0", "1e6");
    armed("10", "1e-9");
    REQUIRE_REFUSED(armed("0", "0"), "deceleration limit");
    REQUIRE_REFUSED(armed("0", "-1"), "deceleration limit");
    REQUIRE_REFUSED(armed("0", "1000001"), "deceleration limit");
    REQUIRE_REFUSED(armed("-0.001", "1"), "reaction time");
    REQUIRE_REFUSED(armed("10.001", "1"), "reaction time");
}

TEST(half_a_box_or_half_a_range_is_refused) {
    REQUIRE_REFUSED(read_config(with("workspace_box_max_xyz", "")), "workspace_box_max_xyz");
    REQUIRE_REFUSED(read_config(with("gripper_min", "")), "gripper_min");
}

TEST(hulls_are_read_whole_or_not_at_all) {
    const KernelConfig config = read_config(config_text);
    REQUIRE(config.model.hulls.size() == 1 && config.model.hulls[0].radius_m == 0.001 && config.model.hulls[0].vertices[1].x == 1.0);
    for (const char* key : {"piece_radius_m", "piece_corner_count", "piece_corners_m"}) REQUIRE_REFUSED(read_config(with(key, "")), key);
    REQUIRE_REFUSED(read_config(with("piece_link", "")), "unknown key `piece_");
    REQUIRE_REFUSED(read_config(with("piece_corner_count", "piece_corner_count: [3]")), "needs 9 numbers and has 6");
    REQUIRE_REFUSED(read_config(with("piece_corner_count", "piece_corner_count: [0]")), "piece_corner_count");
    REQUIRE_REFUSED(read_config(with("piece_corner_count", "piece_corner_count: [257]")), "piece_corner_count");
    REQUIRE_REFUSED(read_config(with("piece_corners_m", "piece_corners_m: [0, 0, 0, 1, 0, nan]")), "piece_corners_m");
    REQUIRE_REFUSED(arm(with("piece_link", "piece_link: [2]")), "hull 0: is on no link");
    REQUIRE_REFUSED(arm(with("piece_radius_m", "piece_radius_m: [-0.001]")), "hull 0: radius");
}

TEST(unknown_and_repeated_keys_are_refused_with_their_line) {
    REQUIRE_REFUSED(read_config(config_text + "colour: 1\n"), "unknown key `colour`");
    REQUIRE_REFUSED(read_config(config_text + "step_s: 0.5\n"), "twice");
}

TEST(wrong_schema_version_is_refused) {
    for (const char* version : {"0", "2", "1.5", "\"1\"", "[1]"}) {
        REQUIRE_REFUSED(read_config("schema_version: " + std::string(version) + config_text.substr(config_text.find('\n'))), "schema_version");
    }
}

TEST(number_that_is_not_finite_or_not_a_number_is_refused) {
    for (const char* bad : {"nan", "inf", "-inf", "1e999", "one", "", "0x10", "1,5", "1.0 2.0", "--1", "+1"}) {
        REQUIRE_REFUSED(read_config(with("step_s", "step_s: " + std::string(bad))), "line ");
    }
}

TEST(wrong_length_is_refused_with_both_numbers) {
    REQUIRE_REFUSED(read_config(with("position_min", "position_min: [-3.0, -3.0]")), "needs 1 numbers and has 2");
    REQUIRE_REFUSED(read_config(with("volume_ends_m", "volume_ends_m: [0, 0, 0, 1, 0]")), "needs 6 numbers and has 5");
    REQUIRE_REFUSED(read_config(with("allowed_link_pairs", "allowed_link_pairs: [0]")), "two indices per pair");
}

TEST(wrong_kind_of_value_is_refused) {
    REQUIRE_REFUSED(read_config(with("mobile_base", "mobile_base: 1")), "true or false");
    REQUIRE_REFUSED(read_config(with("robot_name", "robot_name: planar")), "line 2");
    REQUIRE_REFUSED(read_config(with("velocity_max", "velocity_max: 2.0")), "list of numbers");
    REQUIRE_REFUSED(read_config(with("step_s", "step_s: [0.02]")), "one number");
    REQUIRE_REFUSED(read_config(with("link_names", "link_names: [\"base\", 1]")), "mixes kinds");
}

TEST(index_that_fits_nothing_is_refused) {
    REQUIRE_REFUSED(read_config(with("link_parent", "link_parent: [-1, 70000]")), "link_parent");
    REQUIRE_REFUSED(read_config(with("link_parent", "link_parent: [-1, 0.5]")), "whole numbers");
    REQUIRE_REFUSED(read_config(with("joint_kind", "joint_kind: [0, 3]")), "joint_kind");
    REQUIRE_REFUSED(read_config(with("control_modes", "control_modes: [13]")), "control_modes");
    REQUIRE_REFUSED(read_config(with("zone_kind", "zone_kind: [5]")), "zone_kind");
    REQUIRE_REFUSED(read_config(with("keep_in_kind", "keep_in_kind: [5, 3]")), "keep_in_kind");
    REQUIRE_REFUSED(read_config(with("keep_in_links", "keep_in_links: [1]")), "keep_in_links");
    REQUIRE_REFUSED(read_config(with("keep_in_links", "keep_in_links: [2, 1]")), "keep_in_links");
    REQUIRE_REFUSED(read_config(with("keep_in_links", "keep_in_links: [1, 2]")), "keep_in_links");
    REQUIRE_REFUSED(arm(with("volume_link", "volume_link: [2]")), "volume 0");
    REQUIRE_REFUSED(arm(with("velocity_max", "velocity_max: [-2.0]")), "degree of freedom 0");
}

TEST(text_cut_short_anywhere_is_refused) {
    for (std::size_t length = 0; length + 1 < config_text.size(); length += 7) {
        bool refused = false;
        try {
            (void)read_config(config_text.substr(0, length));
        } catch (const std::invalid_argument&) {
            refused = true;
        }
        // Cut at the end of a line before the last key, the file lacks the rest; within it, the value.
        REQUIRE(refused, length);
    }
}

TEST(strings_may_hold_escaped_quotes_and_nothing_unescaped) {
    REQUIRE(read_config(with("robot_name", R"(robot_name: "a \"b\" \\c")")).robot_name == R"(a "b" \c)");
    REQUIRE_REFUSED(read_config(with("robot_name", R"(robot_name: "a\n")")), "escaped");
    REQUIRE_REFUSED(read_config(with("robot_name", "robot_name: \"a\tb\"")), "control characters");
    REQUIRE_REFUSED(read_config(with("robot_name", "robot_name: \"open")), "line 2");
}

TEST(file_larger_than_any_robot_needs_is_refused) {
    REQUIRE_REFUSED(read_config(std::string(4 * 1024 * 1024 + 1, '#')), "4 MiB");
}

TEST_MAIN
