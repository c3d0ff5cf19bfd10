// SPDX-License-Identifier: Apache-2.0
#include "evidence.hpp"

#include <array>

#include "json_text.hpp"
#include "text_writer.hpp"

namespace lastgate::kernel {
namespace {

/// The schema asks for a name where there is none.
std::string_view name_or(std::string_view name, std::string_view otherwise) noexcept { return name.empty() ? otherwise : name; }

std::uint32_t step_or_first(const NamedViolation& violation) noexcept { return violation.step == none ? 0 : violation.step; }

void write_triple(JsonText& json, std::string_view key, Vec3 point) noexcept { json.triple(key, point.x, point.y, point.z); }

void write_collision(JsonText& json, const NamedViolation& violation) noexcept {
    json.text("kind", "collision");
    json.text("collision_kind", violation.collision_kind == CollisionKind::self ? "self" : "world");
    json.text("link_a", name_or(violation.subject, "robot"));
    json.text("link_b_or_object", name_or(violation.against, "world"));
    json.count("horizon_step", step_or_first(violation));
    json.number("min_distance_m", violation.value);
    if (violation.segment_t) json.number("segment_t", *violation.segment_t);
    if (violation.witness_a) write_triple(json, "witness_a", *violation.witness_a);
    if (violation.witness_b) write_triple(json, "witness_b", *violation.witness_b);
    if (!violation.world_id.empty()) json.text("world_id", violation.world_id);
    if (violation.world_age_s) json.number("world_age_s", *violation.world_age_s);
    json.number("margin_m", violation.limit_min > 0.0 ? violation.limit_min : 0.0);
}

std::string_view quantity_word(JointQuantity quantity) noexcept {
    switch (quantity) {
        case JointQuantity::position: return "position";
        case JointQuantity::velocity: return "velocity";
        case JointQuantity::acceleration: return "acceleration";
        default: return "torque";
    }
}

void write_joint_limit(JsonText& json, const NamedViolation& violation, JointQuantity quantity) noexcept {
    json.text("kind", "joint_limit");
    json.text("joint", name_or(violation.subject, "joint"));
    json.text("quantity", quantity_word(quantity));
    json.number("measured", violation.value);
    json.number("limit_min", violation.limit_min);
    json.number("limit_max", violation.limit_max);
    json.text("unit", violation.unit);
    json.count("horizon_step", step_or_first(violation));
}

void write_workspace(JsonText& json, const NamedViolation& violation, Vec3 measured, const WorkspaceBox& box) noexcept {
    json.text("kind", "workspace");
    json.text("ee_name", name_or(violation.subject, "end effector"));
    write_triple(json, "measured_xyz", measured);
    write_triple(json, "box_min", box.min);
    write_triple(json, "box_max", box.max);
}

void write_force(JsonText& json, const NamedViolation& violation) noexcept {
    json.text("kind", "force");
    json.text("joint_or_ee", name_or(violation.subject, "robot"));
    json.number("measured_n", violation.value);
    json.number("limit_n", violation.limit_max > 0.0 ? violation.limit_max : 1e-300);
}

void write_controller(JsonText& json, const NamedViolation& violation, const ViolationEntry& entry) noexcept {
    std::array<char, 600> sentence;
    std::array<char, 640> memory;
    TextWriter detail(memory);
    if (!entry.field.empty()) detail.text("field=").text(entry.field).text(": ");
    detail.text(write_sentence(violation, sentence));
    json.text("kind", "controller");
    json.text("controller_name", "lastgate");
    json.text("state", entry.controller_state());
    json.text("detail", detail.view());
}

}  // namespace

std::string_view write_evidence(const NamedViolation& violation, std::span<char> memory) noexcept {
    JsonText json(memory);
    const ViolationEntry& entry = entry_of(violation.code);
    if (violation.collision_kind != CollisionKind::nothing) write_collision(json, violation);
    else if (entry.quantity != JointQuantity::nothing) write_joint_limit(json, violation, entry.quantity);
    else if (violation.measured_xyz && violation.box) write_workspace(json, violation, *violation.measured_xyz, *violation.box);
    else if (entry.kind == FailureKind::force) write_force(json, violation);
    else write_controller(json, violation, entry);
    return json.view();
}

}  // namespace lastgate::kernel
