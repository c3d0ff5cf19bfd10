// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "lastgate/math.hpp"

namespace lastgate {

namespace detail {
struct SimdPrimitive;
struct SimdWorld;
}  // namespace detail

enum class PrimitiveKind : std::uint8_t { sphere = 0, capsule = 1, box = 2, half_space = 3, cylinder = 4 };
inline constexpr std::uint8_t primitive_kind_count = 5;

/// Kinds without a capsule axis to measure from: how deep something lies inside is not known, only that it does.
constexpr bool is_solid(PrimitiveKind kind) noexcept { return kind == PrimitiveKind::box || kind == PrimitiveKind::cylinder; }

/// An obstacle as it is given, in the robot's base frame.
struct PrimitiveSpec {
    PrimitiveKind kind = PrimitiveKind::sphere;
    double radius_m = 0.0;       ///< Sphere, capsule, cylinder.
    double half_length_m = 0.0;  ///< Capsule: half of the cylinder part, along local z. Cylinder: half its height.
    Vec3 half_extents_m;         ///< Box.
    Transform in_base;           ///< Half-space: solid where local z <= 0.
};

/// An obstacle from the seven numbers of a pose (x y z, quaternion x y z w) and three of size: radius;
/// radius and half length; or half extents. The quaternion is brought to unit length.
PrimitiveSpec make_primitive(PrimitiveKind kind, Vec3 size_m, const double* xyz_quat_xyzw) noexcept;

/// Whether a shape has a known kind, finite and positive sizes, and stands rotated, not scaled, in the world.
bool is_usable(const PrimitiveSpec& spec) noexcept;

/// An obstacle prepared for distance queries.
struct Primitive {
    PrimitiveKind kind = PrimitiveKind::sphere;
    double radius_m = 0.0;
    Segment capsule_axis;  ///< Sphere, capsule, cylinder.
    Vec3 half_extents_m;   ///< Box; of a cylinder, the box around it.
    Transform in_base;
    Vec3 low;  ///< Axis-aligned bounds, radius included.
    Vec3 high;
};

/// A grid of voxels as it came from a sensor, x fastest. 0 is free, 255 unknown, anything else occupied.
struct VoxelSpec {
    Vec3 origin;  ///< Minimum corner of voxel 0, 0, 0.
    double resolution_m = 0.0;
    std::array<std::uint32_t, 3> size{};
    bool unknown_is_free = false;  ///< Declared by the source of the snapshot; never the default.
    bool outside_is_free = false;
};

/// A voxel of a grid too large to be written out.
struct VoxelIndex {
    std::uint32_t x = 0;
    std::uint32_t y = 0;
    std::uint32_t z = 0;
};

/// A 2-D occupancy map, x fastest: what is not 0 is solid from one height to another, and so is all off the map.
struct FloorSpec {
    Transform in_base;  ///< Corner of voxel 0, 0; columns along its x, rows along its y.
    double resolution_m = 0.0;
    std::array<std::uint32_t, 2> size{};  ///< Columns, rows.
    double low_m = 0.0;                   ///< Along z of `in_base`.
    double high_m = 0.0;
};

/// Many obstacles of one size: the solid voxels of a grid, points, or an occupancy map. Built once, then shared and only read.
class ObstacleField;

/// Each throws std::invalid_argument for what is empty, oversized, not finite or beyond the world.
std::shared_ptr<const ObstacleField> field_of_points(std::span<const double> xyz);
std::shared_ptr<const ObstacleField> field_of_voxels(const VoxelSpec& spec, std::span<const std::uint8_t> occupancy);
std::shared_ptr<const ObstacleField> field_of_floor(const FloorSpec& spec, std::span<const std::uint8_t> blocked);

/// A snapshot has room for one grid of voxels, one cloud of points and one occupancy map.
inline constexpr std::size_t field_slots = 3;
inline constexpr std::size_t voxel_slot = 0;
inline constexpr std::size_t point_slot = 1;
inline constexpr std::size_t floor_slot = 2;

/// All that is not the robot, at one time. Filled outside the check, read by it.
class WorldSnapshot {
  public:
    WorldSnapshot();
    WorldSnapshot(const WorldSnapshot&);
    WorldSnapshot& operator=(const WorldSnapshot&);
    WorldSnapshot(WorldSnapshot&&) noexcept;
    WorldSnapshot& operator=(WorldSnapshot&&) noexcept;
    ~WorldSnapshot();

    /// Empties the snapshot and stamps it. `stamp_s` is when the source saw it.
    void begin(std::uint64_t id, double stamp_s, bool in_base_frame) noexcept;
    /// Adds an obstacle. Anything that cannot be used makes the whole snapshot unavailable, one too
    /// many makes it overflow: a world that lost an obstacle is not a world.
    void add(const PrimitiveSpec& spec) noexcept;

    /// Shares a field that was built elsewhere: one pointer, whatever its size.
    /// `expires_s` is when its source stops vouching for it, however fresh the snapshot is.
    void set_field(std::size_t slot, std::shared_ptr<const ObstacleField> field, double stamp_s,
                   double expires_s = std::numeric_limits<double>::infinity()) noexcept;
    /// Says that there was a field and that it is too large, or cannot be used: the snapshot rejects.
    void overflow_field(std::size_t slot) noexcept;
    void spoil_field(std::size_t slot) noexcept;

    /// False until a source fills it: an unfilled snapshot is not an empty world.
    bool is_filled() const noexcept { return begun_; }
    bool is_usable() const noexcept { return begun_ && usable_; }
    bool is_overflowing() const noexcept { return overflow_; }
    bool is_in_base_frame() const noexcept { return in_base_frame_; }
    double stamp_s() const noexcept { return stamp_s_; }
    std::uint64_t id() const noexcept { return id_; }
    std::span<const Primitive> primitives() const noexcept { return primitives_; }
    detail::SimdWorld for_simd() const noexcept;

    const ObstacleField* field(std::size_t slot) const noexcept { return fields_[slot].get(); }
    bool is_field_spoilt(std::size_t slot) const noexcept { return field_spoilt_[slot]; }
    bool is_field_overflowing(std::size_t slot) const noexcept { return field_overflow_[slot]; }
    double field_stamp_s(std::size_t slot) const noexcept { return field_stamps_s_[slot]; }
    double field_expires_s(std::size_t slot) const noexcept { return field_expires_s_[slot]; }
    bool has_fields() const noexcept {
        return std::any_of(fields_.begin(), fields_.end(), [](const auto& field) { return field != nullptr; });
    }

    /// Declares that nothing of the snapshot moves, fields apart: it counts for so long after its stamp, whatever age worlds may have.
    void declare_static(double lasts_s) noexcept;
    bool is_static() const noexcept { return static_; }
    /// How old the snapshot may be, fields apart, where `moving_s_max` is the rule for worlds that may move.
    double age_s_max(double moving_s_max) const noexcept { return static_ ? static_lasts_s_ : moving_s_max; }

    /// Declares that the world was not observed. The verdict records it.
    void declare_absent() noexcept;
    bool is_declared_absent() const noexcept { return absent_; }

    /// Differs between any two snapshots of this process that do not hold the same.
    std::uint64_t revision() const noexcept { return revision_; }

  private:
    std::vector<Primitive> primitives_;
    std::array<std::shared_ptr<const ObstacleField>, field_slots> fields_;
    std::array<double, field_slots> field_stamps_s_{};
    std::array<double, field_slots> field_expires_s_{};
    std::array<bool, field_slots> field_overflow_{};
    std::array<bool, field_slots> field_spoilt_{};
    std::vector<detail::SimdPrimitive> simd_primitives_;
    std::vector<float> simd_bounds_;  ///< Rounded outwards, in blocks of eight obstacles: low x, y, z, high x, y, z.
    double stamp_s_ = 0.0;
    std::uint64_t id_ = 0;
    std::uint64_t revision_ = 0;
    bool begun_ = false;
    bool usable_ = false;
    bool overflow_ = false;
    bool in_base_frame_ = false;
    bool absent_ = false;
    bool static_ = false;
    double static_lasts_s_ = 0.0;
};

}  // namespace lastgate
