// SPDX-License-Identifier: Apache-2.0
// Building a field: outside the check, so it may allocate and take its time.
#include "lastgate/obstacle_field.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "lastgate/capacity.hpp"

namespace lastgate {
namespace {

/// Blocks of one field. 2^18 of them take 1.3 MB and are spread in a few milliseconds.
constexpr std::size_t blocks_max = std::size_t{1} << 18;

/// Smallest block for points: finer ones hold single points and cost more than they save.
constexpr double point_block_m_min = 0.02;

/// Cells in all when they are written out one by one.
constexpr std::size_t dense_cells_max = std::size_t{1} << 27;

/// Cells per edge of a bit block.
constexpr std::uint32_t bit_edge = 8;
constexpr std::uint32_t all_free = 0;
constexpr std::uint32_t all_solid = 1;
constexpr std::uint32_t first_mixed = 2;

bool within_world(Vec3 p) noexcept {
    return std::abs(p.x) <= capacity::world_extent_m_max && std::abs(p.y) <= capacity::world_extent_m_max &&
           std::abs(p.z) <= capacity::world_extent_m_max;
}

void require_grid(const VoxelSpec& spec) {
    if (!within_world(spec.origin)) throw std::invalid_argument("the grid's origin is not finite or too far away");
    if (!(spec.resolution_m > 0.0 && spec.resolution_m <= 10.0)) throw std::invalid_argument("the grid's resolution must be positive and at most 10 m");
    for (const std::uint32_t edge : spec.size) {
        if (edge == 0) throw std::invalid_argument("the grid is empty: a grid without cells is not a free world");
        if (edge > capacity::cells_per_edge_max) throw std::invalid_argument("the grid has more than 2048 cells along an edge");
    }
}

}  // namespace

ObstacleField ObstacleField::from_points(std::span<const double> xyz) {
    if (xyz.empty() || xyz.size() % 3 != 0) throw std::invalid_argument("a cloud needs at least one point of three numbers");
    const std::size_t count = xyz.size() / 3;
    if (count > std::numeric_limits<std::uint32_t>::max() / 2) throw std::invalid_argument("the cloud has too many points");
    std::vector<Vec3> centres(count);
    std::vector<std::uint32_t> labels(count);
    Vec3 low{1e300, 1e300, 1e300};
    Vec3 high{-1e300, -1e300, -1e300};
    for (std::size_t index = 0; index < count; ++index) {
        const Vec3 p{xyz[3 * index], xyz[3 * index + 1], xyz[3 * index + 2]};
        if (!within_world(p)) throw std::invalid_argument("point " + std::to_string(index) + " is not finite or too far away");
        centres[index] = p;
        labels[index] = static_cast<std::uint32_t>(index);
        low = {std::min(low.x, p.x), std::min(low.y, p.y), std::min(low.z, p.z)};
        high = {std::max(high.x, p.x), std::max(high.y, p.y), std::max(high.z, p.z)};
    }
    ObstacleField field;
    field.choose_blocks(low, high, count);
    field.sort_into_blocks(centres, labels);
    field.spread_clearance();
    return field;
}

/// Blocks large enough that a cloud on surfaces has a handful of obstacles in each.
void ObstacleField::choose_blocks(Vec3 low, Vec3 high, std::size_t obstacles) {
    const Vec3 extent = high - low;
    const double longest = std::max({extent.x, extent.y, extent.z});
    const double area = extent.x * extent.y + extent.y * extent.z + extent.x * extent.z;
    double edge = std::max({point_block_m_min, std::sqrt(area * 8.0 / static_cast<double>(obstacles)), longest / 1000.0});
    const auto blocks_along = [](double length, double block) { return static_cast<std::uint32_t>(std::floor(length / block)) + 1; };
    while (std::size_t{blocks_along(extent.x, edge)} * blocks_along(extent.y, edge) * blocks_along(extent.z, edge) > blocks_max) edge *= 1.26;
    block_m_ = edge;
    block_origin_ = low;
    block_count_ = {blocks_along(extent.x, edge), blocks_along(extent.y, edge), blocks_along(extent.z, edge)};
}

std::uint32_t ObstacleField::block_of(Vec3 point) const noexcept {
    const double offset[3] = {point.x - block_origin_.x, point.y - block_origin_.y, point.z - block_origin_.z};
    std::uint32_t index[3];
    for (std::size_t axis = 0; axis < 3; ++axis) {
        const double cell = std::clamp(std::floor(offset[axis] / block_m_), 0.0, static_cast<double>(block_count_[axis] - 1));
        index[axis] = static_cast<std::uint32_t>(cell);
    }
    return static_cast<std::uint32_t>(block_index(index[0], index[1], index[2]));
}

void ObstacleField::sort_into_blocks(std::span<const Vec3> centres, std::span<const std::uint32_t> labels) {
    const std::size_t blocks = std::size_t{block_count_[0]} * block_count_[1] * block_count_[2];
    block_first_.assign(blocks + 1, 0);
    std::vector<std::uint32_t> home(centres.size());
    for (std::size_t index = 0; index < centres.size(); ++index) {
        home[index] = block_of(centres[index]);
        ++block_first_[home[index] + 1];
    }
    for (std::size_t block = 0; block < blocks; ++block) block_first_[block + 1] += block_first_[block];
    std::vector<std::uint32_t> next(block_first_.begin(), block_first_.end() - 1);
    x_.resize(centres.size());
    y_.resize(centres.size());
    z_.resize(centres.size());
    label_.resize(centres.size());
    for (std::size_t index = 0; index < centres.size(); ++index) {
        const std::uint32_t to = next[home[index]]++;
        x_[to] = centres[index].x;
        y_[to] = centres[index].y;
        z_[to] = centres[index].z;
        label_[to] = labels[index];
    }
}

/// Squared number of whole blocks between each block and the nearest one with obstacles, axis by axis:
/// min over j of f(j) + max(|i - j| - 1, 0)^2, up to 15 blocks (255 after rounding down the square).
void ObstacleField::spread_clearance() {
    constexpr int reach = 16;
    const std::size_t blocks = block_first_.size() - 1;
    std::vector<std::uint16_t> from(blocks);
    std::vector<std::uint16_t> to(blocks);
    for (std::size_t block = 0; block < blocks; ++block) from[block] = block_first_[block + 1] > block_first_[block] ? 0 : 255;
    const std::size_t stride[3] = {1, block_count_[0], std::size_t{block_count_[0]} * block_count_[1]};
    for (std::size_t axis = 0; axis < 3; ++axis) {
        to = from;
        const std::size_t step = stride[axis];
        const std::size_t count = block_count_[axis];
        const std::size_t run = step * count;  // blocks that share all later coordinates
        for (std::size_t base = 0; base < blocks; base += run) {
            for (std::size_t i = 0; i < count; ++i) {
                for (int offset = -reach; offset <= reach; ++offset) {
                    const auto j = static_cast<std::int64_t>(i) + offset;
                    if (offset == 0 || j < 0 || j >= static_cast<std::int64_t>(count)) continue;
                    const int between = std::abs(offset) - 1;
                    const auto add = static_cast<std::uint16_t>(between * between);
                    const std::uint16_t* source = from.data() + base + static_cast<std::size_t>(j) * step;
                    std::uint16_t* target = to.data() + base + i * step;
                    for (std::size_t k = 0; k < step; ++k) target[k] = std::min<std::uint16_t>(target[k], static_cast<std::uint16_t>(source[k] + add));
                }
            }
        }
        from.swap(to);
    }
    block_gap_.resize(blocks);
    for (std::size_t block = 0; block < blocks; ++block) block_gap_[block] = static_cast<std::uint8_t>(std::min<std::uint16_t>(from[block], 225));
}

// ---- Cells ----------------------------------------------------------------------------------------

void ObstacleField::reserve_cells(const VoxelSpec& spec) {
    grid_ = spec;
    half_m_ = 0.5 * spec.resolution_m;
    std::size_t blocks = 1;
    for (std::size_t axis = 0; axis < 3; ++axis) {
        cell_block_count_[axis] = (spec.size[axis] + bit_edge - 1) / bit_edge;
        blocks *= cell_block_count_[axis];
    }
    if (blocks > (std::size_t{1} << 24)) throw std::invalid_argument("the grid is too large even for blocks of cells");
    cell_block_.assign(blocks, spec.unknown_is_free ? all_free : all_solid);
}

void ObstacleField::set_cell(CellIndex cell, bool solid) {
    if (cell.x >= grid_.size[0] || cell.y >= grid_.size[1] || cell.z >= grid_.size[2]) throw std::invalid_argument("a cell lies outside the grid");
    const std::size_t block = cell.x / bit_edge + std::size_t{cell_block_count_[0]} * (cell.y / bit_edge + std::size_t{cell_block_count_[1]} * (cell.z / bit_edge));
    std::uint32_t& state = cell_block_[block];
    if (state < first_mixed) {
        if ((state == all_solid) == solid) return;
        cell_bits_.emplace_back();
        cell_bits_.back().fill(state == all_solid ? ~std::uint64_t{0} : 0);
        state = static_cast<std::uint32_t>(cell_bits_.size() - 1) + first_mixed;
    }
    const std::uint64_t bit = std::uint64_t{1} << ((cell.y % bit_edge) * bit_edge + cell.x % bit_edge);
    std::uint64_t& word = cell_bits_[state - first_mixed][cell.z % bit_edge];
    word = solid ? word | bit : word & ~bit;
}

bool ObstacleField::is_solid_cell(std::int64_t x, std::int64_t y, std::int64_t z) const noexcept {
    const bool in_grid = x >= 0 && y >= 0 && z >= 0 && x < grid_.size[0] && y < grid_.size[1] && z < grid_.size[2];
    if (!in_grid) return !grid_.outside_is_free;
    const auto ux = static_cast<std::size_t>(x);
    const auto uy = static_cast<std::size_t>(y);
    const auto uz = static_cast<std::size_t>(z);
    const std::size_t block = ux / bit_edge + std::size_t{cell_block_count_[0]} * (uy / bit_edge + std::size_t{cell_block_count_[1]} * (uz / bit_edge));
    const std::uint32_t state = cell_block_[block];
    if (state < first_mixed) return state == all_solid;
    return (cell_bits_[state - first_mixed][uz % bit_edge] >> ((uy % bit_edge) * bit_edge + ux % bit_edge) & 1) != 0;
}

/// Keeps the solid cells beside a free one, block by block; uniform blocks are entered only next to others.
void ObstacleField::extract_surface() {
    std::vector<Vec3> centres;
    std::vector<std::uint32_t> labels;
    const auto state_at = [&](std::int64_t x, std::int64_t y, std::int64_t z) {
        const bool in_grid = x >= 0 && y >= 0 && z >= 0 && x < cell_block_count_[0] && y < cell_block_count_[1] && z < cell_block_count_[2];
        if (!in_grid) return grid_.outside_is_free ? all_free : all_solid;
        return cell_block_[static_cast<std::size_t>(x) + std::size_t{cell_block_count_[0]} * (static_cast<std::size_t>(y) + std::size_t{cell_block_count_[1]} * static_cast<std::size_t>(z))];
    };
    constexpr std::int64_t neighbour[6][3] = {{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1}};
    for (std::int64_t bz = 0; bz < cell_block_count_[2]; ++bz) {
        for (std::int64_t by = 0; by < cell_block_count_[1]; ++by) {
            for (std::int64_t bx = 0; bx < cell_block_count_[0]; ++bx) {
                const std::uint32_t state = state_at(bx, by, bz);
                if (state == all_free) continue;
                bool enclosed = state == all_solid;
                for (const auto& n : neighbour) enclosed = enclosed && state_at(bx + n[0], by + n[1], bz + n[2]) == all_solid;
                if (enclosed) continue;
                const std::int64_t first[3] = {bx * bit_edge, by * bit_edge, bz * bit_edge};
                for (std::int64_t z = first[2]; z < std::min<std::int64_t>(first[2] + bit_edge, grid_.size[2]); ++z) {
                    for (std::int64_t y = first[1]; y < std::min<std::int64_t>(first[1] + bit_edge, grid_.size[1]); ++y) {
                        for (std::int64_t x = first[0]; x < std::min<std::int64_t>(first[0] + bit_edge, grid_.size[0]); ++x) {
                            if (!is_solid_cell(x, y, z)) continue;
                            bool hidden = true;
                            for (const auto& n : neighbour) hidden = hidden && is_solid_cell(x + n[0], y + n[1], z + n[2]);
                            if (hidden) continue;
                            const double r = grid_.resolution_m;
                            centres.push_back({grid_.origin.x + (static_cast<double>(x) + 0.5) * r, grid_.origin.y + (static_cast<double>(y) + 0.5) * r,
                                               grid_.origin.z + (static_cast<double>(z) + 0.5) * r});
                            labels.push_back(static_cast<std::uint32_t>(static_cast<std::size_t>(x) + grid_.size[0] * (static_cast<std::size_t>(y) + std::size_t{grid_.size[1]} * static_cast<std::size_t>(z))));
                        }
                    }
                }
            }
        }
    }
    // Query blocks of four cells: near a surface a block then holds about sixteen of them.
    std::uint32_t cells = 4;
    const auto blocks_for = [&](std::uint32_t edge) {
        std::size_t product = 1;
        for (const std::uint32_t size : grid_.size) product *= (size + edge - 1) / edge;
        return product;
    };
    while (blocks_for(cells) > blocks_max) cells *= 2;
    block_m_ = cells * grid_.resolution_m;
    block_origin_ = grid_.origin;
    for (std::size_t axis = 0; axis < 3; ++axis) block_count_[axis] = (grid_.size[axis] + cells - 1) / cells;
    sort_into_blocks(centres, labels);
    spread_clearance();
}

ObstacleField ObstacleField::from_voxels(const VoxelSpec& spec, std::span<const std::uint8_t> occupancy) {
    require_grid(spec);
    const std::size_t cells = std::size_t{spec.size[0]} * spec.size[1] * spec.size[2];
    if (cells > dense_cells_max) throw std::invalid_argument("the grid is too large to be given cell by cell; give its cells instead");
    if (occupancy.size() != cells) throw std::invalid_argument("the grid's size does not match its number of cells");
    ObstacleField field;
    field.reserve_cells(spec);
    std::array<std::uint64_t, 8> bits{};
    for (std::uint32_t bz = 0; bz < field.cell_block_count_[2]; ++bz) {
        for (std::uint32_t by = 0; by < field.cell_block_count_[1]; ++by) {
            for (std::uint32_t bx = 0; bx < field.cell_block_count_[0]; ++bx) {
                bits.fill(0);
                std::uint32_t solid_count = 0;
                std::uint32_t count = 0;
                const std::uint32_t width = std::min(bit_edge, spec.size[0] - bx * bit_edge);
                for (std::uint32_t z = 0; z < std::min(bit_edge, spec.size[2] - bz * bit_edge); ++z) {
                    for (std::uint32_t y = 0; y < std::min(bit_edge, spec.size[1] - by * bit_edge); ++y) {
                        const std::uint8_t* row = occupancy.data() + bx * bit_edge + std::size_t{spec.size[0]} * (by * bit_edge + y + std::size_t{spec.size[1]} * (bz * bit_edge + z));
                        for (std::uint32_t x = 0; x < width; ++x) {
                            const bool solid = row[x] != 0 && !(row[x] == 255 && spec.unknown_is_free);
                            bits[z] |= std::uint64_t{solid} << (y * bit_edge + x);
                            solid_count += solid ? 1 : 0;
                        }
                        count += width;
                    }
                }
                std::uint32_t& state = field.cell_block_[bx + std::size_t{field.cell_block_count_[0]} * (by + std::size_t{field.cell_block_count_[1]} * bz)];
                state = solid_count == 0 ? all_free : all_solid;
                if (solid_count == 0 || solid_count == count) continue;
                field.cell_bits_.push_back(bits);
                state = static_cast<std::uint32_t>(field.cell_bits_.size() - 1) + first_mixed;
            }
        }
    }
    field.extract_surface();
    return field;
}

ObstacleField ObstacleField::from_cells(const VoxelSpec& spec, std::span<const CellIndex> occupied, std::span<const CellIndex> free) {
    require_grid(spec);
    ObstacleField field;
    field.reserve_cells(spec);
    for (const CellIndex cell : free) field.set_cell(cell, false);
    for (const CellIndex cell : occupied) field.set_cell(cell, true);  // last, so that a cell said to be both is solid
    field.extract_surface();
    return field;
}

std::size_t ObstacleField::memory_bytes() const noexcept {
    return sizeof(*this) + block_first_.capacity() * 4 + block_gap_.capacity() + (x_.capacity() + y_.capacity() + z_.capacity()) * 8 + label_.capacity() * 4 +
           cell_block_.capacity() * 4 + cell_bits_.capacity() * 64;
}

}  // namespace lastgate
