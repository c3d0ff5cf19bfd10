// SPDX-License-Identifier: Apache-2.0
#include "naming.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "lastgate/gate_config.hpp"
#include "text_writer.hpp"
#include "violation_table.hpp"

namespace lastgate::kernel {
namespace {

constexpr std::string_view mode_names[control_mode_count] = {
    "JOINT_POSITION", "JOINT_VELOCITY",  "JOINT_TORQUE",   "JOINT_TRAJECTORY", "CARTESIAN_POSE", "CARTESIAN_DELTA", "CARTESIAN_TWIST",
    "BODY_TWIST",     "FOOT_PLACEMENT", "GRIPPER_BINARY", "GRIPPER_POSITION", "DEX_HAND_JOINT", "COMPOSITE_MODE",
};

/// The first number of a pose step that is a place: the quaternion comes before it.
constexpr std::uint32_t pose_x = 4;
/// Where the core reports a turn that is not followed; 0 is where it reports a move.
constexpr std::uint32_t turn_column = 3;
/// Above it, the limit of an unreachable step is that of a whole turn; of what remains of one it is far below.
constexpr double remainder_max = 1.0;

/// Four decimals, or as many as tell the value from both of its limits.
int decimals_of(const NamedViolation& named) noexcept {
    constexpr int decimals_max = 17;  // of a double near one
    double scale = 1e4;
    for (int decimals = 4; decimals < decimals_max; ++decimals, scale *= 10.0) {
        const auto is_told_from = [&](double limit) { return named.value == limit || std::round(named.value * scale) != std::round(limit * scale); };
        if (is_told_from(named.limit_min) && is_told_from(named.limit_max)) return decimals;
    }
    return decimals_max;
}

std::string_view numbered(std::span<char> memory, std::string_view what, std::uint32_t number) noexcept { return TextWriter(memory).text(what).count(number).view(); }

std::string_view at_or(const std::vector<std::string>& names, std::uint32_t index, std::string_view otherwise) noexcept {
    return index < names.size() && !names[index].empty() ? std::string_view(names[index]) : otherwise;
}

std::string_view attached_name(const AttachedViews& attached, std::uint32_t number, std::span<char> memory) noexcept {
    return number < attached.size() && !attached[number].empty() ? attached[number] : numbered(memory, "attached_", number);
}

/// By row and column in the whole map. Without a cell it was the edge of the map, or the inside of a blocked part of it.
std::string_view floor_cell(std::uint32_t label, const WorldNames* world, std::span<char> memory) noexcept {
    if (label == none || world == nullptr || world->floor_columns == 0) return "unmapped or blocked floor";
    const std::uint32_t row = world->floor_first_row + label / world->floor_columns;
    const std::uint32_t column = world->floor_first_column + label % world->floor_columns;
    return TextWriter(memory).text("map_cell_").count(row).text("_").count(column).view();
}

/// The joint that joint steps command in this column.
std::string_view commanded_joint(std::uint32_t column, const KernelConfig& config, std::span<char> memory) noexcept {
    std::uint32_t at = 0;
    for (std::uint32_t dof = 0; dof < config.model.dofs.size(); ++dof) {
        if (!config.model.dofs[dof].in_rows) continue;
        if (at++ == column) return at_or(config.joint_names, dof, "joint");
    }
    return numbered(memory, "column ", column);
}

/// What one column of a step commands, in the words of its control mode.
std::string_view column_name(std::uint32_t column, std::size_t mode, const KernelConfig& config, std::span<char> memory) noexcept {
    static constexpr std::string_view pose[] = {"qx", "qy", "qz", "qw", "x", "y", "z"};
    static constexpr std::string_view delta[] = {"dx", "dy", "dz", "rx", "ry", "rz"};
    static constexpr std::string_view twist[] = {"vx", "vy", "vz", "wx", "wy", "wz"};
    static constexpr std::string_view gripper[] = {"gripper"};
    const auto at = [&](std::span<const std::string_view> names) { return column < names.size() ? names[column] : numbered(memory, "column ", column); };
    switch (static_cast<ControlMode>(mode)) {
        case ControlMode::cartesian_pose: return at(pose);
        case ControlMode::cartesian_delta: return at(delta);
        case ControlMode::cartesian_twist:
        case ControlMode::body_twist: return at(twist);
        case ControlMode::gripper_binary:
        case ControlMode::gripper_position:
        case ControlMode::composite_mode: return at(gripper);
        default: return commanded_joint(column, config, memory);
    }
}

bool is_cartesian(std::size_t mode) noexcept {
    return mode == static_cast<std::size_t>(ControlMode::cartesian_pose) || mode == static_cast<std::size_t>(ControlMode::cartesian_delta) ||
           mode == static_cast<std::size_t>(ControlMode::cartesian_twist);
}

/// A whole step, or one number of it.
std::string_view step_subject(const Violation& violation, const NameSources& sources, std::span<char> memory) noexcept {
    const auto& [config, chunk, world, attached] = sources;
    const StepSubject about = entry_of(violation.code).about;
    if (about == StepSubject::effector && is_cartesian(chunk.control_mode)) {
        return !chunk.ee_name.empty() ? chunk.ee_name : at_or(config.effector_names, 0, "end effector");
    }
    if (about != StepSubject::base) return column_name(violation.subject, chunk.control_mode, config, memory);
    // Speed along the floor and turn rate are the base's; the other columns must be zero.
    constexpr std::string_view of_base[] = {"base", "base vy", "base vz", "base wx", "base wy", "base"};
    return violation.subject < std::size(of_base) ? of_base[violation.subject] : "base";
}

std::string_view subject_name(const Violation& violation, const NameSources& sources, std::span<char> memory) noexcept {
    const KernelConfig& config = sources.config;
    switch (violation.subject_kind) {
        case SubjectKind::dof: {
            if (violation.subject < config.joint_names.size()) return config.joint_names[violation.subject];
            constexpr std::string_view base[] = {"base x", "base y", "base yaw"};
            const std::size_t axis = violation.subject - config.joint_names.size();
            return axis < std::size(base) ? base[axis] : "base";
        }
        case SubjectKind::link: return at_or(config.link_names, violation.subject, "link");
        case SubjectKind::effector: return at_or(config.effector_names, violation.subject, "end effector");
        case SubjectKind::attached: return attached_name(sources.attached, violation.subject, memory);
        case SubjectKind::element: return step_subject(violation, sources, memory);
        case SubjectKind::nothing: break;
    }
    return {};
}

std::string_view against_name(const Violation& violation, const NameSources& sources, std::span<char> memory) noexcept {
    const auto& [config, chunk, world, attached] = sources;
    switch (violation.against_kind) {
        case AgainstKind::link: return at_or(config.link_names, violation.against, "link");
        case AgainstKind::primitive: {
            const std::string_view unnamed = numbered(memory, "world_", violation.against);
            return world == nullptr ? unnamed : at_or(world->object_id, violation.against, unnamed);
        }
        case AgainstKind::keep_in_zone: return at_or(config.keep_in_names, violation.against, "keep-in zone");
        case AgainstKind::zone: return at_or(config.zone_names, violation.against, "zone");
        // Without a voxel it was the edge of what the grid covers, or the inside of something solid.
        case AgainstKind::voxel: return violation.against == none ? std::string_view("unseen space") : numbered(memory, "voxel_", violation.against);
        case AgainstKind::point: return numbered(memory, "point_", violation.against);
        case AgainstKind::floor: return floor_cell(violation.against, world, memory);
        case AgainstKind::attached: return attached_name(attached, violation.against, memory);
        case AgainstKind::nothing: break;
    }
    return {};
}

bool is_prismatic(const Violation& violation, const KernelConfig& config) noexcept {
    if (violation.subject_kind == SubjectKind::element) return violation.subject < turn_column;  // of a base twist: vx, vy, vz
    if (violation.subject >= config.joint_names.size()) return violation.subject - config.joint_names.size() < 2;
    for (const LinkSpec& link : config.model.links) {
        if (link.dof == static_cast<std::int32_t>(violation.subject) && link.kind != JointKind::fixed) return link.kind == JointKind::prismatic;
    }
    return false;
}

std::string_view unit_of(const Violation& violation, const KernelConfig& config) noexcept {
    const ViolationEntry& entry = entry_of(violation.code);
    const bool prismatic = is_prismatic(violation, config);
    switch (entry.quantity) {
        case JointQuantity::position: return prismatic ? "m" : "rad";
        case JointQuantity::velocity: return prismatic ? "m/s" : "rad/s";
        case JointQuantity::acceleration: return prismatic ? "m/s^2" : "rad/s^2";
        case JointQuantity::torque: return prismatic ? "N" : "Nm";
        case JointQuantity::nothing: break;
    }
    const bool of_joint = violation.code == ViolationCode::stop_not_certified || violation.code == ViolationCode::seam_jump;
    if (of_joint && violation.subject_kind == SubjectKind::dof) return prismatic ? "m" : "rad";
    if (violation.code == ViolationCode::cartesian_unreachable && violation.subject == turn_column) return "rad";
    return entry.unit;
}

/// Where the tool is sent, or was found.
std::optional<Vec3> measured_place(const Violation& violation, const ChunkNames& chunk) noexcept {
    if (violation.subject_kind != SubjectKind::element) return violation.witness_a;
    const std::size_t first = std::size_t{violation.row} * chunk.width + pose_x;
    if (violation.row == none || first + 3 > chunk.flat.size()) return std::nullopt;
    return Vec3{chunk.flat[first], chunk.flat[first + 1], chunk.flat[first + 2]};
}

/// Which detail of its code a violation has.
std::size_t cause_of(const Violation& violation) noexcept {
    switch (violation.code) {
        case ViolationCode::dim_mismatch:
        case ViolationCode::state_unavailable:
        case ViolationCode::world_unavailable:
        case ViolationCode::voxel_unavailable:
        case ViolationCode::stop_not_certified:
        case ViolationCode::seam_jump:
        case ViolationCode::declared_contact: return violation.element == none ? 0 : violation.element;
        case ViolationCode::workspace_box:
            if (violation.subject_kind == SubjectKind::element) return 0;
            return violation.value < 0.0 ? 1 : 2;
        case ViolationCode::cartesian_unreachable:
            if (violation.limit_max > remainder_max) return 0;
            return violation.limit_max > 0.0 ? 1 : 2;
        default: return 0;
    }
}

/// What a template is filled with.
struct Facts {
    const NamedViolation& named;
    const Violation* violation;     ///< Null for a sentence, which is made of what is named already.
    const NameSources* sources;
};

void put_age(TextWriter& out, const Facts& facts) noexcept {
    const auto& [named, violation, sources] = facts;
    if (named.value < named.limit_min) {
        out.text(": stamped ").number(-named.value, 3).text(" s after now, allowed ").number(-named.limit_min, 3).text(" s");
    } else {
        out.text(": ").number(named.value, 3).text(" s old, allowed ").number(named.limit_max, 3).text(" s");
    }
}

void put_moment(TextWriter& out, const Facts& facts) noexcept {
    const NamedViolation& named = facts.named;
    const std::uint32_t step = named.step == none ? 0 : named.step;
    if (named.segment_t && *named.segment_t < 1.0) out.text("on the way to step ").count(step).text(", ").number(*named.segment_t * 100.0, 0).text("% of the segment");
    else out.text("at step ").count(step);
}

void put_mode(TextWriter& out, const Facts& facts) noexcept {
    const std::size_t mode = facts.sources->chunk.control_mode;
    if (mode < control_mode_count) out.text(mode_names[mode]);
    else out.count(mode);
}

/// What the robot would have to declare before the mode can be enabled.
void put_needs(TextWriter& out, const Facts& facts) noexcept {
    const KernelConfig& config = facts.sources->config;
    const GateConfig& gate = config.gate;
    const auto mode = static_cast<ControlMode>(std::min(facts.sources->chunk.control_mode, control_mode_count));
    std::string_view separator = ": it needs ";
    const auto need = [&](bool declared, std::string_view what) {
        if (declared) return;
        out.text(separator).text(what);
        separator = ", ";
    };
    switch (mode) {
        case ControlMode::foot_placement: need(false, "a check that does not exist"); break;
        case ControlMode::joint_torque: need(gate.torque_max.has_value(), "effort_limit of every joint"); break;
        case ControlMode::cartesian_pose: need(gate.workspace_box.has_value(), "workspace_box_min_xyz and workspace_box_max_xyz"); break;
        case ControlMode::cartesian_delta:
            need(gate.max_cartesian_step_m.has_value(), "max_cartesian_step_m");
            need(gate.max_cartesian_step_rad.has_value(), "max_cartesian_step_rad");
            break;
        case ControlMode::cartesian_twist:
            need(gate.max_ee_speed_m_s.has_value(), "max_ee_speed_m_s");
            need(gate.max_ee_angular_speed_rad_s.has_value(), "max_ee_angular_speed_rad_s");
            break;
        case ControlMode::body_twist:
            need(gate.max_base_linear_speed_m_s.has_value(), "max_base_linear_speed_m_s");
            need(gate.max_base_angular_speed_rad_s.has_value(), "max_base_angular_speed_rad_s");
            break;
        case ControlMode::gripper_binary:
        case ControlMode::gripper_position:
        case ControlMode::composite_mode: need(gate.gripper_range.has_value(), "gripper_min and gripper_max"); break;
        default: break;
    }
    if (is_cartesian(facts.sources->chunk.control_mode)) need(!config.effector_names.empty(), "an end effector");
}

void put_place_of_root(TextWriter& out, const WorldFrames& frames) noexcept {
    const auto& [x, y, z, roll, pitch, yaw] = frames.root_in_base_xyzrpy;
    out.text(": `").text(frames.root).text("` stands at ").number(x, 4).text(", ").number(y, 4).text(", ").number(z, 4).text(" m in `").text(frames.base).text("`");
    if (frames.is_turned()) out.text(", turned by roll ").number(roll, 4).text(", pitch ").number(pitch, 4).text(", yaw ").number(yaw, 4).text(" rad");
}

/// What is wrong with the frame of a world.
void put_frame_problem(TextWriter& out, const Facts& facts) noexcept {
    const WorldFrames& frames = facts.sources->config.frames;
    const WorldNames* world = facts.sources->world;
    if (world == nullptr || frames.is_base(world->frame_id)) {
        out.text("is in another frame");
    } else if (frames.is_root(world->frame_id)) {
        out.text("holds voxels in `").text(frames.root).text("`, whose axes are turned against `").text(frames.base).text("`: give the voxels in `").text(frames.base).text("`");
    } else if (world->frame_id.empty()) {
        out.text("names no frame, and must name `").text(frames.base).text("` or `").text(frames.root).text("`");
        put_place_of_root(out, frames);
    } else {
        out.text("is in another frame: `").text(world->frame_id).text("`, and must be in `").text(frames.base).text("`");
        if (!frames.root.empty()) out.text(" or `").text(frames.root).text("`");
    }
}

std::size_t joints_in_steps(const KernelConfig& config) noexcept {
    return static_cast<std::size_t>(std::count_if(config.model.dofs.begin(), config.model.dofs.end(), [](const DofSpec& dof) { return dof.in_rows; }));
}

/// What may stand in braces in core/violations.toml. The first part needs a named violation only.
struct Field {
    std::string_view key;
    void (*put)(TextWriter& out, const Facts& facts) noexcept;
};
constexpr Field fields[] = {
    {"subject", [](TextWriter& out, const Facts& f) noexcept { out.text(f.named.subject); }},
    {"against", [](TextWriter& out, const Facts& f) noexcept { out.text(f.named.against); }},
    {"unit", [](TextWriter& out, const Facts& f) noexcept { out.text(f.named.unit); }},
    {"value", [](TextWriter& out, const Facts& f) noexcept { out.number(f.named.value, decimals_of(f.named)); }},
    {"value.0", [](TextWriter& out, const Facts& f) noexcept { out.number(f.named.value, 0); }},
    {"distance", [](TextWriter& out, const Facts& f) noexcept { out.number(std::abs(f.named.value), decimals_of(f.named)); }},
    {"low", [](TextWriter& out, const Facts& f) noexcept { out.number(f.named.limit_min, decimals_of(f.named)); }},
    {"low.0", [](TextWriter& out, const Facts& f) noexcept { out.number(f.named.limit_min, 0); }},
    {"high", [](TextWriter& out, const Facts& f) noexcept { out.number(f.named.limit_max, decimals_of(f.named)); }},
    {"high.0", [](TextWriter& out, const Facts& f) noexcept { out.number(f.named.limit_max, 0); }},
    {"side", [](TextWriter& out, const Facts& f) noexcept { out.text(f.named.value >= 0.0 ? "inside" : "outside"); }},
    {"moment", put_moment},
    {"step", [](TextWriter& out, const Facts& f) noexcept { out.count(f.named.step == none ? 0 : f.named.step); }},
    {"age", put_age},
    // From here on also the indices, and what they are found in.
    {"mode", put_mode},
    {"needs", put_needs},
    {"frame_problem", put_frame_problem},
    {"robot", [](TextWriter& out, const Facts& f) noexcept { out.text(f.sources->config.robot_name); }},
    {"effector", [](TextWriter& out, const Facts& f) noexcept { out.text(f.sources->chunk.ee_name); }},
    {"frame", [](TextWriter& out, const Facts& f) noexcept { out.text(f.sources->chunk.frame_id); }},
    {"element", [](TextWriter& out, const Facts& f) noexcept { out.count(f.violation->element); }},
    {"axis", [](TextWriter& out, const Facts& f) noexcept { out.text(f.violation->subject == pose_x ? "x" : f.violation->subject == pose_x + 1 ? "y" : "z"); }},
    {"joint",
     [](TextWriter& out, const Facts& f) noexcept {
         if (f.violation->subject_kind == SubjectKind::dof) out.text(" (").text(f.named.subject).text(")");
     }},
    {"joints", [](TextWriter& out, const Facts& f) noexcept { out.count(joints_in_steps(f.sources->config)); }},
    {"fingers", [](TextWriter& out, const Facts& f) noexcept { out.count(f.sources->config.model.dofs.size() - joints_in_steps(f.sources->config)); }},
};

/// Writes a text of the table with its braces filled; what stands in them and is not known is left as it is, for a test to see.
void put_filled(TextWriter& out, std::string_view text, const Facts& facts) noexcept {
    while (!text.empty()) {
        const std::size_t open = std::min(text.find('{'), text.size());
        out.text(text.substr(0, open));
        text.remove_prefix(open);
        const std::size_t close = text.find('}');
        if (close == std::string_view::npos) break;
        const std::string_view key = text.substr(1, close - 1);
        const auto* const field = std::find_if(std::begin(fields), std::end(fields), [&](const Field& known) { return known.key == key; });
        if (field == std::end(fields)) out.text(text.substr(0, close + 1));
        else field->put(out, facts);
        text.remove_prefix(close + 1);
    }
    out.text(text);
}

std::string_view detail_of(const Facts& facts, std::span<char> memory) noexcept {
    const ViolationEntry& entry = entry_of(facts.violation->code);
    const std::size_t cause = cause_of(*facts.violation);
    TextWriter out(memory);
    put_filled(out, entry.detail[cause < entry.detail.size() ? cause : 0], facts);
    return out.view();
}

bool is_origin(Vec3 point) noexcept { return point.x == 0.0 && point.y == 0.0 && point.z == 0.0; }

}  // namespace

const ViolationEntry& entry_of(ViolationCode code) noexcept {
    for (const ViolationEntry& entry : violation_table) {
        if (entry.code == code) return entry;
    }
    static_assert(violation_table[1].code == ViolationCode::internal_fault);
    return violation_table[1];
}

NamedViolation name_violation(const Verdict& verdict, const NameSources& sources, NameMemory& memory) noexcept {
    const Violation& violation = verdict.violation;
    const ViolationEntry& entry = entry_of(violation.code);
    NamedViolation named;
    named.code = violation.code;
    named.step = violation.row;
    named.subject = subject_name(violation, sources, memory.subject);
    named.against = against_name(violation, sources, memory.against);
    named.value = violation.value;
    named.limit_min = violation.limit_min;
    named.limit_max = violation.limit_max;
    named.unit = unit_of(violation, sources.config);
    named.detail = detail_of({named, &violation, &sources}, memory.detail);
    const bool collides = entry.kind == FailureKind::collision;
    const bool in_box = violation.code == ViolationCode::workspace_box;
    const bool in_stop = violation.code == ViolationCode::stop_not_certified && violation.subject_kind != SubjectKind::dof;
    if (collides) {
        const bool self = violation.against_kind == AgainstKind::link || violation.against_kind == AgainstKind::attached;
        named.collision_kind = self ? CollisionKind::self : CollisionKind::world;
    }
    if (collides || in_stop || (in_box && violation.subject_kind == SubjectKind::effector)) {
        named.segment_t = violation.segment_t;
        named.first_contact_t = violation.first_contact_t;
    }
    // Two points at the origin are what the core leaves where it had none to give.
    if ((collides || in_stop) && !(is_origin(violation.witness_a) && is_origin(violation.witness_b))) {
        named.witness_a = violation.witness_a;
        named.witness_b = violation.witness_b;
    }
    if (sources.world != nullptr) {
        named.world_id = sources.world->world_id;
        if (!sources.world->declared_absent) named.world_age_s = verdict.world_age_s;
    }
    if (in_box) {
        named.measured_xyz = measured_place(violation, sources.chunk);
        named.box = sources.config.gate.workspace_box;
    }
    return named;
}

std::string_view write_sentence(const NamedViolation& violation, std::span<char> memory) noexcept {
    TextWriter out(memory);
    const ViolationEntry& entry = entry_of(violation.code);
    if (violation.segment_t && !violation.against.empty() && !entry.sentence.empty()) {
        put_filled(out, entry.sentence, {violation, nullptr, nullptr});
        return out.view();
    }
    out.text(violation.detail.empty() ? violation.subject : violation.detail);
    if (violation.step != none) out.text(" at step ").count(violation.step);
    if (!violation.detail.empty()) return out.view();
    const auto unit = [&] {
        if (!violation.unit.empty()) out.text(" ").text(violation.unit);
    };
    const int decimals = decimals_of(violation);
    out.text(" is ").number(violation.value, decimals);
    unit();
    if (violation.limit_min == violation.limit_max) out.text(", must be ").number(violation.limit_min, decimals);
    else out.text(", allowed ").number(violation.limit_min, decimals).text(" to ").number(violation.limit_max, decimals);
    unit();
    return out.view();
}

}  // namespace lastgate::kernel
