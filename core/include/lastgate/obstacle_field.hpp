// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "lastgate/distance.hpp"
#include "lastgate/math.hpp"

namespace lastgate {

/// A grid of cells as it came from a sensor, x fastest. 0 is free, 255 unknown, anything else occupied.
struct VoxelSpec {
    Vec3 origin;  ///< Minimum corner of cell 0, 0, 0.
    double resolution_m = 0.0;
    std::array<std::uint32_t, 3> size{};
    bool unknown_is_free = false;  ///< Said aloud by whoever made the snapshot; never the default.
    bool outside_is_free = false;
};

/// A cell of a grid too large to be written out.
struct CellIndex {
    std::uint32_t x = 0;
    std::uint32_t y = 0;
    std::uint32_t z = 0;
};

/// Many obstacles of one size: the solid cells of a grid, or points. Built once, then only read.
///
/// Space is cut into blocks. Each block knows its obstacles and a lower bound on the distance to the
/// nearest block that has any, so that far space costs one lookup; near space is tested exactly.
/// Of solid cells only those beside a free cell are kept: whoever stands in free space meets one of
/// them first, and whoever stands inside a solid cell is found by its own cell.
class ObstacleField {
  public:
    /// Throws std::invalid_argument for empty clouds, and points that are not finite or beyond the world.
    static ObstacleField from_points(std::span<const double> xyz);
    /// Throws std::invalid_argument for an empty or oversized grid, or numbers that are not finite.
    static ObstacleField from_voxels(const VoxelSpec& spec, std::span<const std::uint8_t> occupancy);
    /// The same for a large, mostly uniform grid: cells not listed are unknown.
    static ObstacleField from_cells(const VoxelSpec& spec, std::span<const CellIndex> occupied, std::span<const CellIndex> free);

    /// Distance of a segment from the nearest obstacle, exact below `cutoff_m`; `cutoff_m` when nothing is nearer.
    /// Zero when the segment touches or enters one.
    Witness distance(const Segment& segment, double cutoff_m, std::uint32_t& obstacle) const noexcept;

    /// Never larger than the distance of a point from any obstacle; zero inside a solid cell.
    double clearance(Vec3 point) const noexcept;

    /// Asks `visit(centre, obstacle)` about every obstacle whose centre lies in a box, until one answer is false.
    template <typename Visit>
    bool every_centre_inside(Vec3 low, Vec3 high, Visit visit) const noexcept;
    /// Whether a point lies in a solid cell.
    bool is_solid(Vec3 point) const noexcept;
    /// How far a box stays inside the grid where everything outside counts as solid; 1e30 where nothing does.
    double room(Vec3 low, Vec3 high) const noexcept;
    /// Half the edge of a cell; 0 for points.
    double half_m() const noexcept { return half_m_; }

    std::size_t obstacle_count() const noexcept { return x_.size(); }
    /// The cell of an obstacle, x fastest, or the number of a point as it was given.
    std::uint32_t label(std::size_t obstacle) const noexcept { return label_[obstacle]; }
    std::size_t memory_bytes() const noexcept;

  private:
    ObstacleField() = default;

    void choose_blocks(Vec3 low, Vec3 high, std::size_t obstacles);
    void sort_into_blocks(std::span<const Vec3> centres, std::span<const std::uint32_t> labels);
    void spread_clearance();
    void reserve_cells(const VoxelSpec& spec);
    void set_cell(CellIndex cell, bool solid);
    void extract_surface();

    std::uint32_t block_of(Vec3 point) const noexcept;
    std::size_t block_index(std::uint32_t x, std::uint32_t y, std::uint32_t z) const noexcept {
        return x + std::size_t{block_count_[0]} * (y + std::size_t{block_count_[1]} * z);
    }
    bool is_solid_cell(std::int64_t x, std::int64_t y, std::int64_t z) const noexcept;
    double inside_bounds(Vec3 point, int& face) const noexcept;
    double clear_of_blocks(Vec3 point) const noexcept;
    bool is_far(const Segment& segment, double distance_m) const noexcept;
    void test_block(std::size_t block, const Segment& segment, Witness& best, std::uint32_t& obstacle) const noexcept;

    // Blocks.
    Vec3 block_origin_;
    double block_m_ = 0.0;
    std::array<std::uint32_t, 3> block_count_{};
    std::vector<std::uint32_t> block_first_;  ///< One more than blocks: where the obstacles of each start.
    std::vector<std::uint8_t> block_gap_;     ///< Squared number of whole blocks in between, at most 255.

    // Obstacles, sorted by block.
    std::vector<double> x_;
    std::vector<double> y_;
    std::vector<double> z_;
    std::vector<std::uint32_t> label_;
    double half_m_ = 0.0;  ///< Half the edge of a cell; 0 for points.

    // Cells: which are solid. Empty for points.
    VoxelSpec grid_;
    std::vector<std::uint32_t> cell_block_;  ///< Per 8 x 8 x 8 cells: all free, all solid, or where the bits stand.
    std::vector<std::array<std::uint64_t, 8>> cell_bits_;
    std::array<std::uint32_t, 3> cell_block_count_{};
};

template <typename Visit>
bool ObstacleField::every_centre_inside(Vec3 low, Vec3 high, Visit visit) const noexcept {
    if (x_.empty()) return true;
    const double lows[3] = {low.x - block_origin_.x, low.y - block_origin_.y, low.z - block_origin_.z};
    const double highs[3] = {high.x - block_origin_.x, high.y - block_origin_.y, high.z - block_origin_.z};
    std::uint32_t first[3];
    std::uint32_t last[3];
    for (std::size_t axis = 0; axis < 3; ++axis) {
        const double top = static_cast<double>(block_count_[axis] - 1);
        // Obstacles are sorted by a rounded division: a block more on either side is looked at.
        if (highs[axis] < -block_m_ || lows[axis] > block_m_ * (block_count_[axis] + 1.0)) return true;
        first[axis] = static_cast<std::uint32_t>(std::clamp(std::floor(lows[axis] / block_m_ - 1e-6), 0.0, top));
        last[axis] = static_cast<std::uint32_t>(std::clamp(std::floor(highs[axis] / block_m_ + 1e-6), 0.0, top));
    }
    for (std::uint32_t z = first[2]; z <= last[2]; ++z) {
        for (std::uint32_t y = first[1]; y <= last[1]; ++y) {
            for (std::uint32_t x = first[0]; x <= last[0]; ++x) {
                const std::size_t block = block_index(x, y, z);
                for (std::uint32_t index = block_first_[block]; index < block_first_[block + 1]; ++index) {
                    const Vec3 centre{x_[index], y_[index], z_[index]};
                    const bool inside = low.x <= centre.x && centre.x <= high.x && low.y <= centre.y && centre.y <= high.y &&
                                        low.z <= centre.z && centre.z <= high.z;
                    if (inside && !visit(centre, index)) return false;
                }
            }
        }
    }
    return true;
}

}  // namespace lastgate
