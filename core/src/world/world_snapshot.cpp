// SPDX-License-Identifier: Apache-2.0
#include "lastgate/world_snapshot.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "lastgate/capacity.hpp"
#include "simd/simd_tables.hpp"

namespace lastgate {
namespace {

using detail::lane_count;
using detail::SimdPrimitive;

/// One counter for all snapshots: where one lies in memory does not tell it from another that lay there before.
std::uint64_t next_revision() noexcept {
    static std::atomic<std::uint64_t> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

bool within_world(Vec3 p) noexcept {
    return std::abs(p.x) <= capacity::world_extent_m_max && std::abs(p.y) <= capacity::world_extent_m_max &&
           std::abs(p.z) <= capacity::world_extent_m_max;
}

bool positive(double length_m) noexcept { return length_m > 0.0 && length_m <= capacity::world_extent_m_max; }

/// A rotation to 1e-9: anything else would scale distances.
bool is_rotation(const Mat3& m) noexcept {
    const auto near = [](double value, double wanted) noexcept { return std::abs(value - wanted) <= 1e-9; };
    return near(dot(m.x, m.x), 1.0) && near(dot(m.y, m.y), 1.0) && near(dot(m.z, m.z), 1.0) && near(dot(m.x, m.y), 0.0) &&
           near(dot(m.y, m.z), 0.0) && near(dot(m.x, m.z), 0.0) && dot(cross(m.x, m.y), m.z) > 0.0;
}

bool is_usable_shape(const PrimitiveSpec& spec) noexcept {
    switch (spec.kind) {
        case PrimitiveKind::sphere: return positive(spec.radius_m);
        case PrimitiveKind::capsule: return positive(spec.radius_m) && spec.half_length_m >= 0.0 && spec.half_length_m <= capacity::world_extent_m_max;
        case PrimitiveKind::box: return positive(spec.half_extents_m.x) && positive(spec.half_extents_m.y) && positive(spec.half_extents_m.z);
        case PrimitiveKind::half_space: return true;
        case PrimitiveKind::cylinder: return positive(spec.radius_m) && positive(spec.half_length_m);
    }
    return false;
}

void bound_primitive(Primitive& primitive) noexcept {
    if (primitive.kind == PrimitiveKind::half_space) {
        primitive.low = {-1e30, -1e30, -1e30};
        primitive.high = {1e30, 1e30, 1e30};
        return;
    }
    if (primitive.kind == PrimitiveKind::box || primitive.kind == PrimitiveKind::cylinder) {
        const Mat3& r = primitive.in_base.rotation;
        const Vec3 h = primitive.half_extents_m;
        const Vec3 half{std::abs(r.x.x) * h.x + std::abs(r.y.x) * h.y + std::abs(r.z.x) * h.z,
                        std::abs(r.x.y) * h.x + std::abs(r.y.y) * h.y + std::abs(r.z.y) * h.z,
                        std::abs(r.x.z) * h.x + std::abs(r.y.z) * h.y + std::abs(r.z.z) * h.z};
        primitive.low = primitive.in_base.translation - half;
        primitive.high = primitive.in_base.translation + half;
        return;
    }
    const Vec3 a = primitive.capsule_axis.a;
    const Vec3 b = primitive.capsule_axis.b;
    const double r = primitive.radius_m;
    primitive.low = {std::min(a.x, b.x) - r, std::min(a.y, b.y) - r, std::min(a.z, b.z) - r};
    primitive.high = {std::max(a.x, b.x) + r, std::max(a.y, b.y) + r, std::max(a.z, b.z) + r};
}

/// Rounding to single precision moves a coordinate c by at most c * 2^-24; frames and differences of such
/// coordinates add up to fewer than 64 of those.
constexpr double single_rounding = 64.0 / 16777216.0;

double largest_coordinate(const Primitive& primitive) noexcept {
    const Vec3 t = primitive.in_base.translation;
    const double extent = std::max({std::abs(t.x), std::abs(t.y), std::abs(t.z)});
    const Vec3 h = primitive.half_extents_m;
    const double box_m = std::max({h.x, h.y, h.z}) * 1.8;
    const double round_m = norm(primitive.capsule_axis.b - primitive.capsule_axis.a) + primitive.radius_m;
    return extent + (primitive.kind == PrimitiveKind::box ? box_m : primitive.kind == PrimitiveKind::cylinder ? std::max(box_m, round_m) : round_m);
}

void write3(float* to, Vec3 v) noexcept {
    to[0] = static_cast<float>(v.x);
    to[1] = static_cast<float>(v.y);
    to[2] = static_cast<float>(v.z);
}

SimdPrimitive simd_primitive(const Primitive& primitive) noexcept {
    SimdPrimitive lane{};
    const double error = single_rounding * (largest_coordinate(primitive) + 1.0);
    const Vec3 slack{error, error, error};
    write3(lane.low, primitive.low - slack);
    write3(lane.high, primitive.high + slack);
    write3(lane.frame, primitive.in_base.rotation.x);
    write3(lane.frame + 3, primitive.in_base.rotation.y);
    write3(lane.frame + 6, primitive.in_base.rotation.z);
    write3(lane.frame + 9, primitive.in_base.translation);
    write3(lane.half, primitive.half_extents_m);
    write3(lane.capsule_axis, primitive.capsule_axis.a);
    write3(lane.capsule_axis + 3, primitive.capsule_axis.b);
    const double length = norm(primitive.capsule_axis.b - primitive.capsule_axis.a);
    lane.length2 = static_cast<float>(length * length);
    lane.inverse_length2 = length > 1e-9 ? static_cast<float>(1.0 / (length * length)) : 0.0F;
    lane.radius = static_cast<float>(primitive.radius_m);
    lane.error = static_cast<float>(error);
    lane.kind = static_cast<std::uint8_t>(primitive.kind);
    return lane;
}

}  // namespace

PrimitiveSpec make_primitive(PrimitiveKind kind, Vec3 size_m, const double* pose) noexcept {
    const double norm2 = pose[3] * pose[3] + pose[4] * pose[4] + pose[5] * pose[5] + pose[6] * pose[6];
    // One whose square overflows has no direction left: not a rotation, instead of none.
    const double scale = std::isfinite(norm2) ? 1.0 / std::sqrt(norm2) : norm2;
    PrimitiveSpec spec;
    spec.kind = kind;
    spec.radius_m = size_m.x;
    spec.half_length_m = size_m.y;
    spec.half_extents_m = size_m;
    spec.in_base = {rotation_from_quaternion(scale * pose[3], scale * pose[4], scale * pose[5], scale * pose[6]), {pose[0], pose[1], pose[2]}};
    return spec;
}

bool is_usable(const PrimitiveSpec& spec) noexcept {
    return is_usable_shape(spec) && within_world(spec.in_base.translation) && is_rotation(spec.in_base.rotation);
}

WorldSnapshot::WorldSnapshot() {
    primitives_.reserve(capacity::primitives_max);
    simd_primitives_.reserve(capacity::primitives_max);
    static_assert(capacity::primitives_max % lane_count == 0);
    simd_bounds_.resize(6 * capacity::primitives_max);
}

WorldSnapshot::WorldSnapshot(const WorldSnapshot&) = default;
WorldSnapshot& WorldSnapshot::operator=(const WorldSnapshot&) = default;
WorldSnapshot::WorldSnapshot(WorldSnapshot&&) noexcept = default;
WorldSnapshot& WorldSnapshot::operator=(WorldSnapshot&&) noexcept = default;
WorldSnapshot::~WorldSnapshot() = default;

detail::SimdWorld WorldSnapshot::for_simd() const noexcept {
    return {simd_primitives_.data(), simd_bounds_.data(), static_cast<std::uint32_t>(simd_primitives_.size())};
}

void WorldSnapshot::begin(std::uint64_t id, double stamp_s, bool in_base_frame) noexcept {
    primitives_.clear();
    simd_primitives_.clear();
    for (auto& field : fields_) field.reset();
    field_overflow_.fill(false);
    field_spoilt_.fill(false);
    id_ = id;
    stamp_s_ = stamp_s;
    in_base_frame_ = in_base_frame;
    begun_ = true;
    usable_ = std::isfinite(stamp_s);
    overflow_ = false;
    absent_ = false;
    static_ = false;
    static_lasts_s_ = 0.0;
    revision_ = next_revision();
}

void WorldSnapshot::declare_absent() noexcept {
    absent_ = true;
    revision_ = next_revision();
}

void WorldSnapshot::declare_static(double lasts_s) noexcept {
    static_ = true;
    static_lasts_s_ = lasts_s;
    revision_ = next_revision();
}

void WorldSnapshot::set_field(std::size_t slot, std::shared_ptr<const ObstacleField> field, double stamp_s, double expires_s) noexcept {
    revision_ = next_revision();
    if (slot >= field_slots || field == nullptr || !std::isfinite(stamp_s) || std::isnan(expires_s)) {
        usable_ = false;
        return;
    }
    fields_[slot] = std::move(field);
    field_stamps_s_[slot] = stamp_s;
    field_expires_s_[slot] = expires_s;
}

void WorldSnapshot::overflow_field(std::size_t slot) noexcept {
    revision_ = next_revision();
    if (slot >= field_slots) {
        usable_ = false;
        return;
    }
    field_overflow_[slot] = true;
}

void WorldSnapshot::spoil_field(std::size_t slot) noexcept {
    revision_ = next_revision();
    if (slot >= field_slots) {
        usable_ = false;
        return;
    }
    field_spoilt_[slot] = true;
}

void WorldSnapshot::add(const PrimitiveSpec& spec) noexcept {
    revision_ = next_revision();
    if (primitives_.size() >= capacity::primitives_max) {
        overflow_ = true;
        return;
    }
    if (!lastgate::is_usable(spec)) {
        usable_ = false;
        return;
    }
    Primitive primitive;
    primitive.kind = spec.kind;
    primitive.in_base = spec.in_base;
    primitive.half_extents_m = spec.half_extents_m;
    const bool is_cylinder = spec.kind == PrimitiveKind::cylinder;
    const bool is_round = spec.kind == PrimitiveKind::sphere || spec.kind == PrimitiveKind::capsule || is_cylinder;
    if (is_cylinder) primitive.half_extents_m = {spec.radius_m, spec.radius_m, spec.half_length_m};
    primitive.radius_m = is_round ? spec.radius_m : 0.0;
    const Vec3 half = (spec.kind == PrimitiveKind::capsule || is_cylinder ? spec.half_length_m : 0.0) * spec.in_base.rotation.z;
    primitive.capsule_axis = {spec.in_base.translation - half, spec.in_base.translation + half};
    bound_primitive(primitive);
    const std::size_t index = primitives_.size();
    primitives_.push_back(primitive);
    simd_primitives_.push_back(simd_primitive(primitive));
    float* block = simd_bounds_.data() + index / lane_count * 6 * lane_count + index % lane_count;
    for (std::size_t axis = 0; axis < 3; ++axis) {
        block[axis * lane_count] = simd_primitives_[index].low[axis];
        block[(axis + 3) * lane_count] = simd_primitives_[index].high[axis];
    }
}

}  // namespace lastgate
