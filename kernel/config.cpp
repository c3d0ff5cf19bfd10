// SPDX-License-Identifier: Apache-2.0
#include "config.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "flat_yaml.hpp"

namespace lastgate::kernel {
namespace {

Vec3 vec3(const std::vector<double>& values, std::size_t first) { return {values[first], values[first + 1], values[first + 2]}; }

/// An index as the file gives it. Range is evaluated by the core, which knows the counts; here it only has to fit.
template <typename Integer>
Integer index(const FlatYaml& file, std::int64_t value, const char* key) {
    if (value < -1 || value > 65535) file.refuse_value(key, "holds an index out of range");
    return static_cast<Integer>(value);
}

void read_links(FlatYaml& file, KernelConfig& config) {
    config.link_names = file.strings("link_names");
    const std::size_t count = config.link_names.size();
    const auto parent = file.integers("link_parent", count);
    const auto kind = file.integers("joint_kind", count);
    const auto dof = file.integers("joint_dof", count);
    const auto multiplier = file.numbers("joint_multiplier", count);
    const auto offset = file.numbers("joint_offset", count);
    const auto origin = file.numbers("joint_origin_xyzrpy", 6 * count);
    const auto axis = file.numbers("joint_axis", 3 * count);
    for (std::size_t link = 0; link < count; ++link) {
        if (kind[link] < 0 || kind[link] > 2) file.refuse_value("joint_kind", "must be 0 fixed, 1 revolute or 2 prismatic");
        LinkSpec spec;
        spec.parent = index<std::int32_t>(file, parent[link], "link_parent");
        spec.kind = static_cast<JointKind>(kind[link]);
        spec.dof = index<std::int32_t>(file, dof[link], "joint_dof");
        spec.multiplier = multiplier[link];
        spec.offset = offset[link];
        spec.origin_xyz = vec3(origin, 6 * link);
        spec.origin_rpy = vec3(origin, 6 * link + 3);
        spec.axis = vec3(axis, 3 * link);
        config.model.links.push_back(spec);
    }
}

/// Both keys or none: a description whose root is its base has one frame.
void read_root_frame(FlatYaml& file, KernelConfig& config) {
    config.frames.base = config.base_frame;
    if (!file.has("root_frame")) return;
    config.frames.root = file.string("root_frame");
    if (config.frames.root.empty() || config.frames.root == config.base_frame) file.refuse_value("root_frame", "must be another name than the base frame's");
    const auto numbers = file.numbers("root_in_base_xyzrpy", 6);
    // The sine of `rotation_from_rpy` is exact up to here, and no world is larger.
    if (!std::all_of(numbers.begin(), numbers.end(), [](double number) { return std::abs(number) <= capacity::joint_position_max; })) file.refuse_value("root_in_base_xyzrpy", "holds a number beyond 1e4");
    std::copy(numbers.begin(), numbers.end(), config.frames.root_in_base_xyzrpy.begin());
}

void read_dofs(FlatYaml& file, KernelConfig& config) {
    config.joint_names = file.strings("dof_names");
    const std::size_t count = config.joint_names.size();
    const auto in_rows = file.integers("dof_in_rows", count);
    const auto lower = file.numbers("position_min", count);
    const auto upper = file.numbers("position_max", count);
    for (std::size_t dof = 0; dof < count; ++dof) {
        if (in_rows[dof] != 0 && in_rows[dof] != 1) file.refuse_value("dof_in_rows", "must be 0 or 1");
        config.model.dofs.push_back({lower[dof], upper[dof], in_rows[dof] == 1});
    }
    config.gate.velocity_max = file.numbers("velocity_max", count);
    if (file.has("acceleration_max")) config.gate.acceleration_max = file.numbers("acceleration_max", count);
    if (file.has("torque_max")) config.gate.torque_max = file.numbers("torque_max", count);
}

/// All keys or none: a robot that declares no stop has none that could be certified.
void read_stop(FlatYaml& file, KernelConfig& config) {
    if (!file.has("stop_kind") && !file.has("stop_reaction_s") && !file.has("deceleration_max")) return;
    StopConfig stop;
    const std::string kind = file.string("stop_kind");
    if (kind != "path" && kind != "joint") file.refuse_value("stop_kind", "must be \"path\" or \"joint\"");
    stop.kind = kind == "path" ? StopKind::path : StopKind::joint;
    stop.reaction_s = file.number("stop_reaction_s");
    stop.deceleration_max = file.numbers("deceleration_max", config.joint_names.size());
    if (file.has("stop_base_deceleration_m_s2") || file.has("stop_base_angular_deceleration_rad_s2")) {
        stop.base_deceleration_m_s2 = file.number("stop_base_deceleration_m_s2");
        stop.base_angular_deceleration_rad_s2 = file.number("stop_base_angular_deceleration_rad_s2");
    }
    config.gate.stop = std::move(stop);
}

void read_volumes(FlatYaml& file, KernelConfig& config) {
    const auto link = file.integers("volume_link");
    const auto radius = file.numbers("volume_radius_m", link.size());
    const auto ends = file.numbers("volume_ends_m", 6 * link.size());
    for (std::size_t volume = 0; volume < link.size(); ++volume) {
        config.model.volumes.push_back({index<std::int32_t>(file, link[volume], "volume_link"), radius[volume], vec3(ends, 6 * volume), vec3(ends, 6 * volume + 3)});
    }
    const auto pairs = file.integers("allowed_link_pairs");
    if (pairs.size() % 2 != 0) file.refuse_value("allowed_link_pairs", "must hold two indices per pair");
    for (std::size_t pair = 0; pair < pairs.size(); pair += 2) {
        config.model.allowed_pairs.push_back({index<std::int32_t>(file, pairs[pair], "allowed_link_pairs"), index<std::int32_t>(file, pairs[pair + 1], "allowed_link_pairs")});
    }
}

/// All four keys or none: a robot without hulls is checked by its volumes alone.
void read_hulls(FlatYaml& file, KernelConfig& config) {
    if (!file.has("piece_link")) return;
    const auto link = file.integers("piece_link");
    const auto radius = file.numbers("piece_radius_m", link.size());
    const auto vertex_count = file.integers("piece_corner_count", link.size());
    std::size_t total = 0;
    for (const std::int64_t count : vertex_count) {
        if (count < 1 || count > static_cast<std::int64_t>(capacity::hull_vertices_max)) file.refuse_value("piece_corner_count", "must be from 1 to 256");
        total += static_cast<std::size_t>(count);
    }
    const auto vertices = file.numbers("piece_corners_m", 3 * total);
    std::size_t at = 0;
    for (std::size_t hull = 0; hull < link.size(); ++hull) {
        HullSpec spec{index<std::int32_t>(file, link[hull], "piece_link"), radius[hull], {}};
        for (std::int64_t vertex = 0; vertex < vertex_count[hull]; ++vertex, ++at) spec.vertices.push_back(vec3(vertices, 3 * at));
        config.model.hulls.push_back(std::move(spec));
    }
}

void read_effectors(FlatYaml& file, KernelConfig& config) {
    config.effector_names = file.strings("effector_names");
    const std::size_t count = config.effector_names.size();
    const auto link = file.integers("effector_link", count);
    const auto tool = file.numbers("effector_tool_xyzrpy", 6 * count);
    for (std::size_t effector = 0; effector < count; ++effector) {
        config.model.effectors.push_back({index<std::int32_t>(file, link[effector], "effector_link"), vec3(tool, 6 * effector), vec3(tool, 6 * effector + 3)});
    }
    const auto owner = file.integers("gripper_effector");
    const auto dof = file.integers("gripper_dof", owner.size());
    const auto closed = file.numbers("gripper_position_closed", owner.size());
    const auto open = file.numbers("gripper_position_open", owner.size());
    const auto channel_closed = file.numbers("gripper_channel_closed", owner.size());
    const auto channel_open = file.numbers("gripper_channel_open", owner.size());
    for (std::size_t joint = 0; joint < owner.size(); ++joint) {
        if (owner[joint] < 0) file.refuse_value("gripper_effector", "must name an end effector for every gripper joint");
        if (dof[joint] < 0) file.refuse_value("gripper_dof", "must name a joint for every gripper joint");
        config.gate.gripper_joints.push_back({index<std::uint16_t>(file, owner[joint], "gripper_effector"), index<std::uint16_t>(file, dof[joint], "gripper_dof"),
                                              closed[joint], open[joint], channel_closed[joint], channel_open[joint]});
    }
}

void read_zones(FlatYaml& file, KernelConfig& config) {
    config.zone_names = file.strings("zone_names");
    const std::size_t count = config.zone_names.size();
    const auto kind = file.integers("zone_kind", count);
    const auto size = file.numbers("zone_size_m", 3 * count);
    const auto pose = file.numbers("zone_xyz_quat_xyzw", 7 * count);
    for (std::size_t zone = 0; zone < count; ++zone) {
        if (kind[zone] < 0 || kind[zone] >= primitive_kind_count) file.refuse_value("zone_kind", "must be 0 sphere, 1 capsule, 2 box, 3 half-space or 4 cylinder");
        config.gate.no_go_zones.push_back(make_primitive(static_cast<PrimitiveKind>(kind[zone]), vec3(size, 3 * zone), &pose[7 * zone]));
    }
}

void read_keep_in_zones(FlatYaml& file, KernelConfig& config) {
    config.keep_in_names = file.strings("keep_in_names");
    const std::size_t count = config.keep_in_names.size();
    const auto kind = file.integers("keep_in_kind", count);
    const auto size = file.numbers("keep_in_size_m", 3 * count);
    const auto pose = file.numbers("keep_in_xyz_quat_xyzw", 7 * count);
    for (std::size_t zone = 0; zone < count; ++zone) {
        if (kind[zone] < 0 || kind[zone] >= primitive_kind_count) file.refuse_value("keep_in_kind", "must be 0 sphere, 1 capsule, 2 box, 3 half-space or 4 cylinder");
        KeepInZone made;
        made.shape = make_primitive(static_cast<PrimitiveKind>(kind[zone]), vec3(size, 3 * zone), &pose[7 * zone]);
        config.gate.keep_in_zones.push_back(made);
    }
    // Zone and link by turns; a zone that is not listed is about every link that moves.
    const auto links = file.integers("keep_in_links");
    if (links.size() % 2 != 0) file.refuse_value("keep_in_links", "must hold a zone and a link per pair");
    for (std::size_t at = 0; at < links.size(); at += 2) {
        const bool known = links[at] >= 0 && static_cast<std::size_t>(links[at]) < count && links[at + 1] >= 0 &&
                           static_cast<std::size_t>(links[at + 1]) < config.link_names.size() && links[at + 1] < static_cast<std::int64_t>(capacity::links_max);
        if (!known) file.refuse_value("keep_in_links", "names a zone or a link that does not exist");
        config.gate.keep_in_zones[static_cast<std::size_t>(links[at])].links.set(static_cast<std::size_t>(links[at + 1]));
    }
}

void read_envelope(FlatYaml& file, KernelConfig& config) {
    GateConfig& gate = config.gate;
    const auto optional_number = [&](const char* key, std::optional<double>& value) {
        if (file.has(key)) value = file.number(key);
    };
    if (file.has("workspace_box_min_xyz") || file.has("workspace_box_max_xyz")) {
        gate.workspace_box = WorkspaceBox{vec3(file.numbers("workspace_box_min_xyz", 3), 0), vec3(file.numbers("workspace_box_max_xyz", 3), 0)};
    }
    if (file.has("gripper_min") || file.has("gripper_max")) gate.gripper_range = Interval{file.number("gripper_min"), file.number("gripper_max")};
    optional_number("max_ee_speed_m_s", gate.max_ee_speed_m_s);
    optional_number("max_ee_angular_speed_rad_s", gate.max_ee_angular_speed_rad_s);
    optional_number("max_ee_accel_m_s2", gate.max_ee_accel_m_s2);
    optional_number("max_cartesian_step_m", gate.max_cartesian_step_m);
    optional_number("max_cartesian_step_rad", gate.max_cartesian_step_rad);
    optional_number("max_base_linear_speed_m_s", gate.max_base_linear_speed_m_s);
    optional_number("max_base_angular_speed_rad_s", gate.max_base_angular_speed_rad_s);
    if (file.has("footprint_corners_xy") || file.has("footprint_radius_m")) {
        const auto vertices = file.numbers("footprint_corners_xy");
        if (vertices.empty() || vertices.size() % 2 != 0) file.refuse_value("footprint_corners_xy", "must hold two numbers per vertex");
        for (std::size_t at = 0; at < vertices.size(); at += 2) gate.footprint_vertices.push_back({vertices[at], vertices[at + 1], 0.0});
        gate.footprint_radius_m = file.number("footprint_radius_m");
    }
    gate.self_margin_m = file.number("self_collision_margin_m");
    gate.world_margin_m = file.number("world_collision_margin_m");
    gate.cartesian_deviation_m = file.number("cartesian_deviation_m");
    gate.state_age_s_max = file.number("state_age_s_max");
    gate.world_age_s_max = file.number("world_age_s_max");
    config.deadman_required = file.boolean("deadman_required");
    for (const std::int64_t mode : file.integers("control_modes")) {
        if (mode < 0 || mode >= static_cast<std::int64_t>(control_mode_count)) file.refuse_value("control_modes", "holds an unknown mode");
        gate.enabled_modes.set(static_cast<std::size_t>(mode));
    }
    const double evaluations = file.number("evaluations_max");
    const bool counts = evaluations >= 1.0 && evaluations <= 1e8 && evaluations == static_cast<std::uint32_t>(evaluations);
    if (!counts) file.refuse_value("evaluations_max", "must be a whole number between 1 and 1e8");
    gate.evaluations_max = static_cast<std::uint32_t>(evaluations);
}

}  // namespace

KernelConfig read_config(std::string_view text) {
    FlatYaml file(text);
    if (file.number("schema_version") != 1.0) file.refuse_value("schema_version", "must be 1");
    KernelConfig config;
    config.robot_name = file.string("robot_name");
    config.base_frame = file.string("base_frame");
    read_root_frame(file, config);
    config.skill_id = file.string("skill_id");
    config.skill_version = file.string("skill_version");
    config.gate.step_s = file.number("step_s");
    config.model.mobile_base = file.boolean("mobile_base");
    if (file.has("unproved_volumes")) config.gate.unproved_volumes = file.boolean("unproved_volumes");
    read_links(file, config);
    read_dofs(file, config);
    read_stop(file, config);
    read_volumes(file, config);
    read_hulls(file, config);
    read_effectors(file, config);
    read_zones(file, config);
    read_keep_in_zones(file, config);
    read_envelope(file, config);
    file.require_all_taken();
    return config;
}

}  // namespace lastgate::kernel
