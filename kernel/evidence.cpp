// SPDX-License-Identifier: Apache-2.0
#include "evidence.hpp"

#include <array>
#include <cstdio>
#include <iterator>
#include <span>

#include "json_text.hpp"

namespace lastgate::kernel {
namespace {

struct Entry {
    ViolationCode code;
    const char* word;
    FailureKind kind;
    const char* state;  ///< Of a controller failure; empty where it is the word.
};

// One line per code, in the order of their numbers.
// `tests/kernel/test_messages.py::test_catalogue_of_the_kernel_is_that_of_python` compares it with the catalogue.
constexpr Entry entries[] = {
    {ViolationCode::not_checked, "not_checked", FailureKind::controller, ""},
    {ViolationCode::internal_fault, "internal_fault", FailureKind::controller, ""},
    {ViolationCode::envelope_unconfigured, "envelope_unconfigured", FailureKind::controller, ""},
    {ViolationCode::estop_latched, "estop_latched", FailureKind::controller, ""},
    {ViolationCode::control_mode, "control_mode", FailureKind::controller, "dim_mismatch"},
    {ViolationCode::ndof_mismatch, "ndof_mismatch", FailureKind::controller, ""},
    {ViolationCode::dim_mismatch, "dim_mismatch", FailureKind::controller, ""},
    {ViolationCode::nan_in_action, "nan_in_action", FailureKind::controller, ""},
    {ViolationCode::budget_exceeded, "budget_exceeded", FailureKind::controller, ""},
    {ViolationCode::joint_position_limit, "joint_position_limit", FailureKind::workspace, ""},
    {ViolationCode::joint_velocity_limit, "joint_velocity_limit", FailureKind::workspace, ""},
    {ViolationCode::joint_torque_limit, "joint_torque_limit", FailureKind::force, ""},
    {ViolationCode::gripper_range, "gripper_range", FailureKind::workspace, ""},
    {ViolationCode::cartesian_step, "cartesian_step", FailureKind::workspace, ""},
    {ViolationCode::cartesian_rotation_step, "cartesian_rotation_step", FailureKind::workspace, ""},
    {ViolationCode::ee_speed, "ee_speed", FailureKind::force, ""},
    {ViolationCode::ee_angular_speed, "ee_angular_speed", FailureKind::force, ""},
    {ViolationCode::base_linear_speed, "base_linear_speed", FailureKind::force, ""},
    {ViolationCode::base_angular_speed, "base_angular_speed", FailureKind::force, ""},
    {ViolationCode::workspace_box, "workspace_box", FailureKind::workspace, ""},
    {ViolationCode::quaternion_norm, "quaternion_norm", FailureKind::workspace, ""},
    {ViolationCode::cartesian_frame, "cartesian_frame", FailureKind::controller, ""},
    {ViolationCode::joint_acceleration_limit, "joint_acceleration_limit", FailureKind::workspace, ""},
    {ViolationCode::ee_acceleration, "ee_acceleration", FailureKind::force, ""},
    {ViolationCode::cartesian_unreachable, "cartesian_unreachable", FailureKind::workspace, ""},
    {ViolationCode::state_unavailable, "state_unavailable", FailureKind::controller, ""},
    {ViolationCode::world_unavailable, "world_unavailable", FailureKind::controller, ""},
    {ViolationCode::world_overflow, "world_overflow", FailureKind::controller, ""},
    {ViolationCode::voxel_unavailable, "voxel_unavailable", FailureKind::controller, ""},
    {ViolationCode::voxel_overflow, "voxel_overflow", FailureKind::controller, ""},
    {ViolationCode::declared_contact, "declared_contact", FailureKind::controller, ""},
    {ViolationCode::self_collision, "self_collision", FailureKind::collision, ""},
    {ViolationCode::world_collision, "world_collision", FailureKind::collision, ""},
    {ViolationCode::recovery_not_growing, "recovery_not_growing", FailureKind::collision, ""},
    {ViolationCode::recovery_speed, "recovery_speed", FailureKind::workspace, ""},
    {ViolationCode::keep_in_zone, "keep_in_zone", FailureKind::collision, ""},
};

const Entry& entry_of(ViolationCode code) noexcept {
    for (const Entry& entry : entries) {
        if (entry.code == code) return entry;
    }
    return entries[1];  // an unknown code is a fault of ours
}

/// One name at a time, in memory that outlives the JSON it goes into.
using NameText = std::array<char, 64>;

std::string_view numbered(NameText& text, const char* what, std::uint32_t number) noexcept {
    const int size = std::snprintf(text.data(), text.size(), "%s%u", what, number);
    return {text.data(), static_cast<std::size_t>(size)};
}

std::string_view at_or(const std::vector<std::string>& names, std::uint32_t index, std::string_view otherwise) noexcept {
    return index < names.size() && !names[index].empty() ? std::string_view(names[index]) : otherwise;
}

std::string_view held_name(const AttachedNames& held, std::uint32_t number, NameText& text) noexcept {
    return number < held.size() && !held[number].empty() ? held[number].view() : numbered(text, "attached_", number);
}

/// By row and column in the whole map. Without a cell it was the edge of the map, or the inside of a blocked part of it.
std::string_view floor_cell(std::uint32_t label, const WorldNames* world, NameText& text) noexcept {
    if (label == none || world == nullptr || world->floor_columns == 0) return "unmapped or blocked floor";
    const int size = std::snprintf(text.data(), text.size(), "map_cell_%u_%u", world->floor_first_row + label / world->floor_columns, world->floor_first_column + label % world->floor_columns);
    return {text.data(), static_cast<std::size_t>(size)};
}

bool is_cartesian(std::uint8_t mode) noexcept {
    const auto known = static_cast<ControlMode>(mode);
    return known == ControlMode::cartesian_pose || known == ControlMode::cartesian_delta || known == ControlMode::cartesian_twist;
}

bool is_about_the_effector(ViolationCode code) noexcept {
    switch (code) {
        case ViolationCode::cartesian_step:
        case ViolationCode::cartesian_rotation_step:
        case ViolationCode::cartesian_unreachable:
        case ViolationCode::ee_speed:
        case ViolationCode::ee_angular_speed:
        case ViolationCode::quaternion_norm:
        case ViolationCode::workspace_box: return true;
        default: return false;
    }
}

bool is_about_the_base(ViolationCode code) noexcept {
    return code == ViolationCode::base_linear_speed || code == ViolationCode::base_angular_speed || code == ViolationCode::recovery_speed;
}

/// The joint that joint rows command in this column.
std::string_view commanded_joint(std::uint32_t column, const KernelConfig& config, NameText& text) noexcept {
    std::uint32_t at = 0;
    for (std::uint32_t dof = 0; dof < config.model.dofs.size(); ++dof) {
        if (!config.model.dofs[dof].in_rows) continue;
        if (at++ == column) return at_or(config.joint_names, dof, "joint");
    }
    return numbered(text, "column ", column);
}

/// What one column of a row commands, in the words of its control mode.
std::string_view column_name(std::uint32_t column, std::uint8_t mode, const KernelConfig& config, NameText& text) noexcept {
    static constexpr std::string_view pose[] = {"qx", "qy", "qz", "qw", "x", "y", "z"};
    static constexpr std::string_view delta[] = {"dx", "dy", "dz", "rx", "ry", "rz"};
    static constexpr std::string_view twist[] = {"vx", "vy", "vz", "wx", "wy", "wz"};
    static constexpr std::string_view gripper[] = {"gripper"};
    const auto at = [&](std::span<const std::string_view> names) { return column < names.size() ? names[column] : numbered(text, "column ", column); };
    switch (static_cast<ControlMode>(mode)) {
        case ControlMode::cartesian_pose: return at(pose);
        case ControlMode::cartesian_delta: return at(delta);
        case ControlMode::cartesian_twist:
        case ControlMode::body_twist: return at(twist);
        case ControlMode::gripper_binary:
        case ControlMode::gripper_position:
        case ControlMode::composite_mode: return at(gripper);
        default: return commanded_joint(column, config, text);
    }
}

/// A whole row, or one number of it, as `naming.py` names them.
std::string_view element_name(const Violation& violation, const ActionChunkMessage& chunk, const KernelConfig& config, NameText& text) noexcept {
    if (is_about_the_effector(violation.code) && is_cartesian(chunk.control_mode)) {
        return !chunk.ee_name.empty() ? chunk.ee_name : at_or(config.effector_names, 0, "end effector");
    }
    if (!is_about_the_base(violation.code)) return column_name(violation.subject, chunk.control_mode, config, text);
    // Speed along the floor and turn rate are the base's; the other columns must be zero.
    constexpr std::string_view of_base[] = {"base", "base vy", "base vz", "base wx", "base wy", "base"};
    return violation.subject < std::size(of_base) ? of_base[violation.subject] : "base";
}

std::string_view subject_name(const Violation& violation, const ActionChunkMessage& chunk, const KernelConfig& config, const AttachedNames& held, NameText& text) noexcept {
    switch (violation.subject_kind) {
        case SubjectKind::dof: {
            if (violation.subject < config.joint_names.size()) return config.joint_names[violation.subject];
            constexpr std::string_view base[] = {"base x", "base y", "base yaw"};
            const std::size_t axis = violation.subject - config.joint_names.size();
            return axis < 3 ? base[axis] : "base";
        }
        case SubjectKind::link: return at_or(config.link_names, violation.subject, "link");
        case SubjectKind::effector: return at_or(config.effector_names, violation.subject, "end effector");
        case SubjectKind::attached: return held_name(held, violation.subject, text);
        case SubjectKind::element: return element_name(violation, chunk, config, text);
        case SubjectKind::nothing: break;
    }
    return "chunk";
}

std::string_view against_name(const Violation& violation, const KernelConfig& config, const WorldNames* world, const AttachedNames& held, NameText& text) noexcept {
    switch (violation.against_kind) {
        case AgainstKind::link: return at_or(config.link_names, violation.against, "link");
        case AgainstKind::primitive: {
            const std::string_view unnamed = numbered(text, "world_", violation.against);
            return world == nullptr ? unnamed : at_or(world->object_id, violation.against, unnamed);
        }
        case AgainstKind::keep_in_zone: return at_or(config.keep_in_names, violation.against, "keep-in zone");
        case AgainstKind::zone: return at_or(config.zone_names, violation.against, "zone");
        case AgainstKind::voxel: return violation.against == none ? std::string_view("unseen space") : numbered(text, "voxel_", violation.against);
        case AgainstKind::point: return numbered(text, "point_", violation.against);
        case AgainstKind::floor: return floor_cell(violation.against, world, text);
        case AgainstKind::attached: return held_name(held, violation.against, text);
        case AgainstKind::nothing: break;
    }
    return "world";
}

bool is_prismatic(const Violation& violation, const KernelConfig& config) noexcept {
    if (violation.subject_kind == SubjectKind::element) return violation.subject < 3;  // of a base twist: vx, vy, vz
    if (violation.subject >= config.joint_names.size()) return violation.subject - config.joint_names.size() < 2;
    for (const LinkSpec& link : config.model.links) {
        if (link.dof == static_cast<std::int32_t>(violation.subject) && link.kind != JointKind::fixed) return link.kind == JointKind::prismatic;
    }
    return false;
}

std::string_view joint_quantity(ViolationCode code) noexcept {
    switch (code) {
        case ViolationCode::joint_position_limit: return "position";
        case ViolationCode::joint_velocity_limit:
        case ViolationCode::recovery_speed: return "velocity";
        case ViolationCode::joint_acceleration_limit: return "acceleration";
        case ViolationCode::joint_torque_limit: return "torque";
        default: return "";
    }
}

std::string_view joint_unit(ViolationCode code, bool prismatic) noexcept {
    switch (code) {
        case ViolationCode::joint_position_limit: return prismatic ? "m" : "rad";
        case ViolationCode::joint_acceleration_limit: return prismatic ? "m/s^2" : "rad/s^2";
        case ViolationCode::joint_torque_limit: return prismatic ? "N" : "Nm";
        default: return prismatic ? "m/s" : "rad/s";
    }
}

void write_collision(JsonText& json, const Verdict& verdict, std::string_view subject, const KernelConfig& config, const WorldNames* world, const AttachedNames& held) noexcept {
    const Violation& violation = verdict.violation;
    const bool self = violation.against_kind == AgainstKind::link || violation.against_kind == AgainstKind::attached;
    NameText text;
    json.text("kind", "collision");
    json.text("collision_kind", self ? "self" : "world");
    json.text("link_a", subject);
    json.text("link_b_or_object", against_name(violation, config, world, held, text));
    json.count("horizon_step", violation.row == none ? 0 : violation.row);
    json.number("min_distance_m", violation.value);
    json.number("segment_t", violation.segment_t);
    const Vec3 a = violation.witness_a;
    const Vec3 b = violation.witness_b;
    if (a.x != 0.0 || a.y != 0.0 || a.z != 0.0 || b.x != 0.0 || b.y != 0.0 || b.z != 0.0) {
        json.triple("witness_a", a.x, a.y, a.z);
        json.triple("witness_b", b.x, b.y, b.z);
    }
    if (world != nullptr) {
        json.text("world_id", world->world_id);
        json.number("world_age_s", verdict.world_age_s);
    }
    json.number("margin_m", violation.limit_min > 0.0 ? violation.limit_min : 0.0);
}

bool write_workspace(JsonText& json, const Violation& violation, std::string_view subject, const ActionChunkMessage& chunk, const KernelConfig& config) noexcept {
    if (violation.code != ViolationCode::workspace_box || !config.gate.workspace_box) return false;
    const WorkspaceBox& box = *config.gate.workspace_box;
    Vec3 measured = violation.witness_a;
    if (violation.subject_kind == SubjectKind::element) {
        const std::size_t first = std::size_t{violation.row} * chunk.n_dof + 4;  // a pose step: quaternion, then position
        if (violation.row == none || first + 3 > chunk.flat.size()) return false;
        measured = {chunk.flat[first], chunk.flat[first + 1], chunk.flat[first + 2]};
    }
    json.text("kind", "workspace");
    json.text("ee_name", subject);
    json.triple("measured_xyz", measured.x, measured.y, measured.z);
    json.triple("box_min", box.min.x, box.min.y, box.min.z);
    json.triple("box_max", box.max.x, box.max.y, box.max.z);
    return true;
}

/// What is missing, where something that the gate must know is: `Violation::element`, as the checks of stage 7 and 9 set it.
std::string_view missing_part(const Violation& violation) noexcept {
    constexpr std::string_view of_state[] = {"no state was given", "the state is incomplete", "the state is not finite or beyond any joint", "the state is stale",
                                             "the tool moves with a joint that was not measured"};
    constexpr std::string_view of_world[] = {"no world was given", "the world is in another frame", "the world holds numbers that cannot be used", "the world is stale", "the world was not filled", "the map of the floor, or where the robot stands on it, is stale"};
    constexpr std::string_view of_grid[] = {"no grid was given", "the grid is in another frame", "the grid holds numbers that cannot be used", "the grid is stale"};
    const auto at = [&](std::span<const std::string_view> texts) { return violation.element < texts.size() ? texts[violation.element] : std::string_view(); };
    switch (violation.code) {
        case ViolationCode::state_unavailable: return at(of_state);
        case ViolationCode::world_unavailable: return at(of_world);
        case ViolationCode::voxel_unavailable: return at(of_grid);
        default: return {};
    }
}

void write_controller(JsonText& json, const Verdict& verdict, std::string_view subject) noexcept {
    const Violation& violation = verdict.violation;
    const char* field = violation.code == ViolationCode::control_mode ? "field=control_mode: " : violation.code == ViolationCode::dim_mismatch ? "field=flat: " : "";
    const std::string_view word = violation_word(violation.code);
    const std::string_view missing = missing_part(violation);
    const std::string_view who = missing.empty() || violation.subject_kind != SubjectKind::nothing ? subject : "its age in s";
    char detail[320];
    std::snprintf(detail, sizeof detail, "%s%.*s: %.*s%s%.*s is %.6g, allowed %.6g to %.6g", field, static_cast<int>(word.size()), word.data(), static_cast<int>(missing.size()), missing.data(), missing.empty() ? "" : ": ",
                  static_cast<int>(who.size() < 100 ? who.size() : 100), who.data(), violation.value, violation.limit_min, violation.limit_max);
    json.text("kind", "controller");
    json.text("controller_name", "lastgate");
    json.text("state", controller_state(violation.code));
    json.text("detail", CdrReader::is_utf8(detail) ? detail : field);
}

}  // namespace

FailureKind failure_kind(ViolationCode code) noexcept { return entry_of(code).kind; }

std::string_view violation_word(ViolationCode code) noexcept { return entry_of(code).word; }

std::string_view controller_state(ViolationCode code) noexcept {
    const Entry& entry = entry_of(code);
    return entry.state[0] == '\0' ? entry.word : entry.state;
}

std::string_view write_evidence(const Verdict& verdict, const ActionChunkMessage& chunk, const KernelConfig& config, const WorldNames* world, const AttachedNames& held, std::span<char> memory) noexcept {
    const Violation& violation = verdict.violation;
    JsonText json(memory);
    NameText text;
    const std::string_view subject = subject_name(violation, chunk, config, held, text);
    const std::string_view quantity = joint_quantity(violation.code);
    if (failure_kind(violation.code) == FailureKind::collision) {
        write_collision(json, verdict, subject, config, world, held);
    } else if (!quantity.empty()) {
        json.text("kind", "joint_limit");
        json.text("joint", subject);
        json.text("quantity", quantity);
        json.number("measured", violation.value);
        json.number("limit_min", violation.limit_min);
        json.number("limit_max", violation.limit_max);
        json.text("unit", joint_unit(violation.code, is_prismatic(violation, config)));
        json.count("horizon_step", violation.row == none ? 0 : violation.row);
    } else if (write_workspace(json, violation, subject, chunk, config)) {
    } else if (failure_kind(violation.code) == FailureKind::force) {
        json.text("kind", "force");
        json.text("joint_or_ee", subject);
        json.number("measured_n", violation.value);
        json.number("limit_n", violation.limit_max > 0.0 ? violation.limit_max : 1e-300);
    } else {
        write_controller(json, verdict, subject);
    }
    return json.view();
}

}  // namespace lastgate::kernel
