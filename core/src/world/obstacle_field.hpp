// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "lastgate/world_snapshot.hpp"

namespace lastgate {

/// An obstacle that a volume was inside the margin of when a recovery began. It is one pair with that volume, like an obstacle that stands
/// alone; its neighbours in the field are others.
struct TouchedObstacle {
    std::uint32_t obstacle = 0;
    double distance_m = 0.0;  ///< From the volume, when it was last checked.
    double credit_m = 0.0;    ///< Added to its distance, which makes the margin require no more than `distance_m` of it.
    /// How far the hulls inside the volume were from it at the start. Minus infinity where that cannot be told; see StartContact.
    double hulls_m = -std::numeric_limits<double>::infinity();
};

/// Many obstacles of one size: the solid voxels of a grid, or points. Built once, then only read.
///
/// Space is cut into blocks. Each block knows its obstacles and a lower bound on the distance to the
/// nearest block that has any, so that far space costs one lookup; near space is tested exactly.
/// Of solid voxels only those beside a free voxel are kept: a body in free space meets one of
/// them first, and a body inside a solid voxel is found by its own voxel.
class ObstacleField {
  public:
    /// Throws std::invalid_argument for empty clouds, and points that are not finite or beyond the world.
    static ObstacleField from_points(std::span<const double> xyz);
    /// Spheres (x y z radius). Their middles are sorted into blocks of at least `block_m_min`, which changes no answer;
    /// radii should be alike, because the largest is added wherever blocks are compared.
    static ObstacleField from_spheres(std::span<const double> xyzr, std::span<const std::uint32_t> labels, double block_m_min);
    /// Throws std::invalid_argument for an empty or oversized grid, or numbers that are not finite.
    static ObstacleField from_voxels(const VoxelSpec& spec, std::span<const std::uint8_t> occupancy);
    /// The same for a large, mostly uniform grid: voxels not listed are unknown.
    static ObstacleField from_sparse_voxels(const VoxelSpec& spec, std::span<const VoxelIndex> occupied, std::span<const VoxelIndex> free);
    /// This grid with a few voxels changed, without reading the others again. Points and spheres have no voxels: throws.
    ObstacleField with_voxels(std::span<const VoxelIndex> occupied, std::span<const VoxelIndex> free) const;

    /// Throws std::invalid_argument for a map without cells or height, or numbers that are not finite.
    static ObstacleField from_floor(const FloorSpec& spec, std::span<const std::uint8_t> blocked);

    /// Distance of a segment from the nearest obstacle, exact below `cutoff_m`; `cutoff_m` when nothing is nearer.
    /// Zero when the segment touches or enters a point or voxel; down to minus its radius inside a sphere.
    /// `touched`, in the order of the obstacles, count as farther away by their credit; neither the inside of a solid voxel nor what is outside
    /// the grid ever does.
    Witness distance(const Segment& segment, double cutoff_m, std::uint32_t& obstacle, std::span<const TouchedObstacle> touched = {}) const noexcept;
    /// Distance of a segment from one obstacle.
    Witness distance_to(std::uint32_t obstacle, const Segment& segment) const noexcept;
    /// Asks `visit(obstacle)` about all obstacles, and perhaps more, within a distance of a segment, until one answer is false.
    template <typename Visit>
    bool every_obstacle_near(const Segment& segment, double reach_m, Visit visit) const noexcept;

    /// Never larger than the distance of a point from any obstacle; zero inside a solid voxel.
    double clearance(Vec3 point) const noexcept;

    /// Of a floor: the distance as seen from above, whatever the heights.
    Witness flat_distance(const Segment& segment, double cutoff_m, std::uint32_t& obstacle) const noexcept;
    /// Of a floor: whether a polygon contains the centre of a cell that is solid or off the map. `queries` is cut down
    /// by the voxels checked; when it would go below zero the answer is yes.
    bool covers_solid(std::span<const Vec3> vertices, std::int64_t& queries) const noexcept;
    /// Asks `visit(centre, obstacle)` about every obstacle that reaches into a box, until one answer is false.
    template <typename Visit>
    bool every_obstacle_in(Vec3 low, Vec3 high, Visit visit) const noexcept;
    /// Whether a point lies in a solid voxel.
    bool is_solid(Vec3 point) const noexcept;
    Vec3 centre(std::uint32_t obstacle) const noexcept { return {x_[obstacle], y_[obstacle], z_[obstacle]}; }
    /// How far a box stays inside the grid where everything outside counts as solid; 1e30 where nothing does.
    double room(Vec3 low, Vec3 high) const noexcept;
    /// Half the edge of a voxel; 0 for points.
    double half_m() const noexcept { return half_m_; }

    std::size_t obstacle_count() const noexcept { return x_.size(); }
    /// The voxel of an obstacle, x fastest, or the number of a point as it was given; `none` off a floor.
    std::uint32_t label(std::size_t obstacle) const noexcept { return label_[obstacle]; }
    /// Of a sphere; zero for points and voxels.
    double radius_m(std::size_t obstacle) const noexcept { return radius_.empty() ? 0.0 : radius_[obstacle]; }
    std::size_t memory_bytes() const noexcept;

  private:
    ObstacleField() = default;

    /// A box around some obstacles, all of each of them, rounded outwards.
    struct Bounds {
        float centre[3];
        float half[3];
    };
    /// Blocks that lie together: which of them have obstacles, x fastest, and how many such blocks come before.
    struct Brick {
        std::uint64_t bits = 0;
        std::uint32_t first_block = 0;
        Bounds bounds{};
    };
    static constexpr std::uint32_t brick_edge = 4;
    /// A block that has obstacles.
    struct Block {
        std::uint32_t first = 0;
        std::uint32_t first_group = 0;
    };
    /// Obstacles of a block that lie together, with bounds of their own: eight of them are a cache line per axis.
    static constexpr std::uint32_t group_size = 8;
    /// Voxels per edge of a bit block, and what such a block is.
    static constexpr std::uint32_t bit_edge = 8;
    static constexpr std::uint32_t all_free = 0;
    static constexpr std::uint32_t all_solid = 1;
    static constexpr std::uint32_t first_mixed = 2;

    static ObstacleField from_centres(std::span<const Vec3> centres, std::span<const std::uint32_t> labels, std::span<const double> radii, double block_m_min);
    void choose_blocks(Vec3 low, Vec3 high, std::size_t obstacles, double block_m_min);
    void sort_into_blocks(std::span<const Vec3> centres, std::span<const std::uint32_t> labels, std::span<const double> radii);
    void sort_within_blocks(std::span<const Vec3> centres, std::span<std::uint32_t> order) const;
    void bound_groups();
    void spread_clearance();
    void reserve_voxels(const VoxelSpec& spec);
    void set_voxel(VoxelIndex voxel, bool solid);
    void extract_surface();

    std::uint32_t block_of(Vec3 point) const noexcept;
    std::size_t block_index(std::uint32_t x, std::uint32_t y, std::uint32_t z) const noexcept {
        return x + std::size_t{block_count_[0]} * (y + std::size_t{block_count_[1]} * z);
    }
    std::vector<std::uint8_t> blocks_with_obstacles() const;
    bool is_solid_voxel(std::int64_t x, std::int64_t y, std::int64_t z) const noexcept;
    /// Of a voxel inside the grid.
    bool voxel_bit(std::uint32_t x, std::uint32_t y, std::uint32_t z) const noexcept {
        const std::size_t block = x / bit_edge + std::size_t{voxel_block_count_[0]} * (y / bit_edge + std::size_t{voxel_block_count_[1]} * (z / bit_edge));
        const std::uint32_t state = voxel_block_[block];
        if (state < first_mixed) return state == all_solid;
        return (voxel_bits_[state - first_mixed][z % bit_edge] >> ((y % bit_edge) * bit_edge + x % bit_edge) & 1) != 0;
    }
    bool is_over_solid(Vec3 local) const noexcept;
    Witness press_flat(const Segment& local, double cutoff_m, std::uint32_t& obstacle, std::span<const TouchedObstacle> touched = {}) const noexcept;
    static bool is_inside(std::span<const Vec3> vertices, double x, double y) noexcept;
    void approach_floor(Segment part, double shift_m, Witness& best, std::uint32_t& obstacle, std::span<const TouchedObstacle> touched) const noexcept;
    Witness floor_distance(const Segment& segment, double cutoff_m, std::uint32_t& obstacle, std::span<const TouchedObstacle> touched) const noexcept;
    double floor_clearance(Vec3 point) const noexcept;
    Witness voxel_distance(const Segment& segment, double cutoff_m, std::uint32_t& obstacle, std::span<const TouchedObstacle> touched) const noexcept;
    double voxel_clearance(Vec3 point) const noexcept;
    double inside_bounds(Vec3 point) const noexcept;
    double clear_of_blocks(Vec3 point) const noexcept;
    double nearest_brick_bound(const Segment& segment) const noexcept;
    bool is_far(const Segment& segment, double distance_m) const noexcept;
    Bounds bounds_of(std::uint32_t first, std::uint32_t end) const noexcept;
    void test_block(std::uint32_t rank, const Segment& segment, std::span<const TouchedObstacle> touched, Witness& best, std::uint32_t& obstacle) const noexcept;
    void test_obstacles(std::uint32_t first, std::uint32_t end, const Segment& segment, std::span<const TouchedObstacle> touched, Witness& best,
                        std::uint32_t& obstacle) const noexcept;

    // Blocks: a byte and a bit for each, more only for those with obstacles.
    Vec3 block_origin_;
    double block_m_ = 0.0;
    double blocks_per_m_ = 0.0;
    std::array<std::uint32_t, 3> block_count_{};
    std::array<double, 3> block_size_{};  ///< The counts once more, to compare with.
    double overhang_m_ = 0.0;             ///< What an obstacle may reach beyond the block it is kept in.
    std::vector<std::uint8_t> block_gap_;    ///< Squared number of whole blocks to the nearest with obstacles, at most 225.
    std::array<std::uint32_t, 3> brick_count_{};
    std::vector<Brick> bricks_;              ///< 4 x 4 x 4 blocks each.
    std::vector<Block> blocks_;              ///< Those with obstacles, brick by brick, and one more for the end.
    std::vector<Bounds> block_bounds_;
    std::vector<Bounds> group_bounds_;

    // Obstacles, sorted by block and by place within it.
    std::vector<double> x_;
    std::vector<double> y_;
    std::vector<double> z_;
    std::vector<double> radius_;  ///< Of spheres; empty for points and voxels.
    std::vector<std::uint32_t> label_;
    double half_m_ = 0.0;  ///< Half the edge of a voxel; 0 for points.

    // Voxels: which are solid. Empty for points.
    VoxelSpec grid_;
    double voxels_per_m_ = 0.0;
    std::vector<std::uint32_t> voxel_block_;  ///< Per 8 x 8 x 8 voxels: all free, all solid, or where the bits stand.
    std::vector<std::array<std::uint64_t, 8>> voxel_bits_;
    std::array<std::uint32_t, 3> voxel_block_count_{};

    /// Of a floor: one layer of voxels, asked about in its own frame and flattened.
    std::optional<FloorSpec> floor_;
};

template <typename Visit>
bool ObstacleField::every_obstacle_in(Vec3 low, Vec3 high, Visit visit) const noexcept {
    if (x_.empty()) return true;
    const auto meets = [&](const Bounds& bounds) noexcept {
        const double centre[3] = {static_cast<double>(bounds.centre[0]), static_cast<double>(bounds.centre[1]), static_cast<double>(bounds.centre[2])};
        const double half[3] = {static_cast<double>(bounds.half[0]), static_cast<double>(bounds.half[1]), static_cast<double>(bounds.half[2])};
        return low.x <= centre[0] + half[0] && centre[0] - half[0] <= high.x && low.y <= centre[1] + half[1] && centre[1] - half[1] <= high.y &&
               low.z <= centre[2] + half[2] && centre[2] - half[2] <= high.z;
    };
    const double lows[3] = {low.x - block_origin_.x, low.y - block_origin_.y, low.z - block_origin_.z};
    const double highs[3] = {high.x - block_origin_.x, high.y - block_origin_.y, high.z - block_origin_.z};
    std::uint32_t first[3];
    std::uint32_t last[3];
    for (std::size_t axis = 0; axis < 3; ++axis) {
        // An obstacle is kept in the block of its middle, found by a rounded product: half a block more on either side.
        const double from = (lows[axis] - overhang_m_) * blocks_per_m_ - 0.5;
        const double to = (highs[axis] + overhang_m_) * blocks_per_m_ + 0.5;
        if (!(to >= 0.0) || !(from <= block_size_[axis])) return true;
        first[axis] = static_cast<std::uint32_t>(std::clamp(from, 0.0, block_size_[axis] - 1.0)) / brick_edge;
        last[axis] = static_cast<std::uint32_t>(std::clamp(to, 0.0, block_size_[axis] - 1.0)) / brick_edge;
    }
    for (std::uint32_t z = first[2]; z <= last[2]; ++z) {
        for (std::uint32_t y = first[1]; y <= last[1]; ++y) {
            for (std::uint32_t x = first[0]; x <= last[0]; ++x) {
                const Brick& brick = bricks_[x + std::size_t{brick_count_[0]} * (y + std::size_t{brick_count_[1]} * z)];
                if (brick.bits == 0 || !meets(brick.bounds)) continue;
                const std::uint32_t end = brick.first_block + static_cast<std::uint32_t>(std::popcount(brick.bits));
                for (std::uint32_t rank = brick.first_block; rank < end; ++rank) {
                    if (!meets(block_bounds_[rank])) continue;
                    for (std::uint32_t index = blocks_[rank].first; index < blocks_[rank + 1].first; ++index) {
                        if (!visit(Vec3{x_[index], y_[index], z_[index]}, index)) return false;
                    }
                }
            }
        }
    }
    return true;
}

template <typename Visit>
bool ObstacleField::every_obstacle_near(const Segment& segment, double reach_m, Visit visit) const noexcept {
    Segment local = segment;
    if (floor_) {
        // A floor is one layer of voxels: seen from above nothing is farther away than it is.
        const double z = 0.5 * grid_.resolution_m;
        local = {inverse_times(floor_->in_base, segment.a), inverse_times(floor_->in_base, segment.b)};
        local.a.z = local.b.z = z;
    }
    const Vec3 reach{reach_m, reach_m, reach_m};
    const Vec3 low{std::min(local.a.x, local.b.x), std::min(local.a.y, local.b.y), std::min(local.a.z, local.b.z)};
    const Vec3 high{std::max(local.a.x, local.b.x), std::max(local.a.y, local.b.y), std::max(local.a.z, local.b.z)};
    return every_obstacle_in(low - reach, high + reach, [&](Vec3, std::uint32_t index) noexcept { return visit(index); });
}

}  // namespace lastgate
