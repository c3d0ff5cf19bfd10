// SPDX-License-Identifier: Apache-2.0
#include "validation.hpp"
#include "geometry/tolerance.hpp"

namespace lastgate::detail {
namespace {

/// Which part of the world is to blame, in `Violation::element`.
enum Cause : std::uint32_t { absent = 0, wrong_frame = 1, not_usable = 2, stale = 3, never_filled = 4, floor_stale = 5 };

}  // namespace

/// Stage 9: the snapshot is there, whole, in the robot's base frame and fresh by its source's stamp.
bool Validation::check_world_unavailable() noexcept {
    const WorldSnapshot* world = request_.world;
    const auto unavailable = [&](Cause cause) noexcept {
        Violation violation;
        violation.code = ViolationCode::world_unavailable;
        violation.element = cause;
        return violation;
    };
    if (world == nullptr) return reject(unavailable(absent));
    // Every field of a snapshot that is declared absent is null too.
    if (mode() == ControlMode::body_twist && world->field(floor_slot) == nullptr) {
        verdict_.unchecked |= static_cast<std::uint32_t>(Unchecked::floor_map);
    }
    if (world->is_declared_absent()) {
        verdict_.unchecked |= static_cast<std::uint32_t>(Unchecked::world);
        return true;
    }
    verdict_.world_id = world->id();
    if (!world->is_filled()) return reject(unavailable(never_filled));
    for (std::size_t slot = 0; slot < field_slots; ++slot) {
        if (!world->is_field_overflowing(slot)) continue;
        Violation violation;
        violation.code = slot == voxel_slot ? ViolationCode::voxel_overflow : ViolationCode::world_overflow;
        violation.limit_max = static_cast<double>(capacity::voxels_per_edge_max);
        return reject(violation);
    }
    if (world->is_overflowing()) {
        Violation violation;
        violation.code = ViolationCode::world_overflow;
        violation.limit_max = static_cast<double>(capacity::primitives_max);
        return reject(violation);
    }
    if (!world->is_usable()) return reject(unavailable(not_usable));
    if (!world->is_in_base_frame()) return reject(unavailable(wrong_frame));
    const double age_s = request_.now_s - world->stamp_s();
    verdict_.world_age_s = age_s;
    // What never moves has an age rule of its own; the verdict says that it took the place of the gate's.
    const double age_s_max = world->age_s_max(config().world_age_s_max);
    if (world->is_static()) verdict_.unchecked |= static_cast<std::uint32_t>(Unchecked::world_age);
    if (!require_inside(age_s, -tolerance::future_stamp_s, age_s_max, unavailable(stale))) return false;
    // A stamp is read by a clock that people set back; what has been here for too long is old whatever it says.
    if (!require_inside(request_.world_held_s, 0.0, age_s_max, unavailable(stale))) return false;
    for (std::size_t slot = 0; slot < field_slots; ++slot) {
        if (world->is_field_spoilt(slot)) {
            Violation spoilt = unavailable(not_usable);
            if (slot == voxel_slot) spoilt.code = ViolationCode::voxel_unavailable;
            return reject(spoilt);
        }
        if (world->field(slot) == nullptr) continue;
        const double field_age_s = request_.now_s - world->field_stamp_s(slot);
        Violation violation = unavailable(slot == floor_slot ? floor_stale : stale);
        if (slot == voxel_slot) violation.code = ViolationCode::voxel_unavailable;
        if (!require_inside(field_age_s, -tolerance::future_stamp_s, config().world_age_s_max, violation)) return false;
        if (!require_inside(request_.world_held_s, 0.0, config().world_age_s_max, violation)) return false;
        // How long a map stays true its maker says; where the robot stands on it ages like the rest.
        const double lasts_s = world->field_expires_s(slot) - world->field_stamp_s(slot);
        if (!require_inside(field_age_s, -tolerance::future_stamp_s, lasts_s, violation)) return false;
        verdict_.world_age_s = field_age_s > verdict_.world_age_s ? field_age_s : verdict_.world_age_s;
    }
    return true;
}

}  // namespace lastgate::detail
