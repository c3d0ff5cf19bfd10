// SPDX-License-Identifier: Apache-2.0
// Building a field: outside the check, so it may allocate and take its time.
#include "obstacle_field.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

#include "lastgate/capacity.hpp"

namespace lastgate {
namespace {

/// Blocks of one field: 2^18 of them take half a megabyte and are spread in a few milliseconds. A cloud comes anew
/// with every image and makes do with half.
constexpr std::size_t blocks_max = std::size_t{1} << 18;
constexpr std::size_t cloud_blocks_max = std::size_t{1} << 17;

/// Smallest block for points: finer ones hold single points and cost more than they save.
constexpr double point_block_m_min = 0.02;

/// Edge of a voxel or block: no sensor sees a micrometre, and coordinates of 1e4 m are rounded to five orders less. Voxels that
/// rounding could skip would be looked up in the wrong place, and of the smallest numbers the reciprocal is infinite.
constexpr double voxel_m_min = 1e-6;

/// Voxels in all when they are written out one by one.
constexpr std::size_t dense_voxels_max = std::size_t{1} << 27;

bool within_world(Vec3 p) noexcept {
    return std::abs(p.x) <= capacity::world_extent_m_max && std::abs(p.y) <= capacity::world_extent_m_max &&
           std::abs(p.z) <= capacity::world_extent_m_max;
}

void require_grid(const VoxelSpec& spec) {
    if (!within_world(spec.origin)) throw std::invalid_argument("the grid's origin is not finite or too far away");
    if (!(spec.resolution_m >= voxel_m_min && spec.resolution_m <= 10.0)) throw std::invalid_argument("the grid's resolution must be from 1e-6 m to 10 m");
    for (const std::uint32_t edge : spec.size) {
        if (edge == 0) throw std::invalid_argument("the grid is empty: a grid without voxels is not a free world");
        if (edge > capacity::voxels_per_edge_max) throw std::invalid_argument("the grid has more than 2048 voxels along an edge");
    }
}

}  // namespace

ObstacleField ObstacleField::from_points(std::span<const double> xyz) {
    if (xyz.empty() || xyz.size() % 3 != 0) throw std::invalid_argument("a cloud needs at least one point of three numbers");
    const std::size_t count = xyz.size() / 3;
    if (count > std::numeric_limits<std::uint32_t>::max() / 2) throw std::invalid_argument("the cloud has too many points");
    std::vector<Vec3> centres(count);
    std::vector<std::uint32_t> labels(count);
    for (std::size_t index = 0; index < count; ++index) {
        centres[index] = {xyz[3 * index], xyz[3 * index + 1], xyz[3 * index + 2]};
        labels[index] = static_cast<std::uint32_t>(index);
    }
    return from_centres(centres, labels, {}, point_block_m_min);
}

ObstacleField ObstacleField::from_spheres(std::span<const double> xyzr, std::span<const std::uint32_t> labels, double block_m_min) {
    if (xyzr.empty() || xyzr.size() % 4 != 0) throw std::invalid_argument("spheres need at least one of four numbers");
    const std::size_t count = xyzr.size() / 4;
    if (labels.size() != count) throw std::invalid_argument("spheres need one label each");
    if (!(block_m_min > 0.0 && block_m_min <= capacity::world_extent_m_max)) throw std::invalid_argument("the resolution must be positive and finite");
    std::vector<Vec3> centres(count);
    std::vector<double> radii(count);
    for (std::size_t index = 0; index < count; ++index) {
        centres[index] = {xyzr[4 * index], xyzr[4 * index + 1], xyzr[4 * index + 2]};
        radii[index] = xyzr[4 * index + 3];
        const bool usable = radii[index] >= 0.0 && radii[index] <= capacity::world_extent_m_max;
        if (!usable) throw std::invalid_argument("the radius of sphere " + std::to_string(index) + " is negative, not finite or too large");
    }
    return from_centres(centres, labels, radii, block_m_min);
}

ObstacleField ObstacleField::from_centres(std::span<const Vec3> centres, std::span<const std::uint32_t> labels, std::span<const double> radii, double block_m_min) {
    Vec3 low{1e300, 1e300, 1e300};
    Vec3 high{-1e300, -1e300, -1e300};
    for (std::size_t index = 0; index < centres.size(); ++index) {
        const Vec3 p = centres[index];
        if (!within_world(p)) throw std::invalid_argument("point " + std::to_string(index) + " is not finite or too far away");
        low = {std::min(low.x, p.x), std::min(low.y, p.y), std::min(low.z, p.z)};
        high = {std::max(high.x, p.x), std::max(high.y, p.y), std::max(high.z, p.z)};
    }
    ObstacleField field;
    field.choose_blocks(low, high, centres.size(), block_m_min);
    field.sort_into_blocks(centres, labels, radii);
    field.spread_clearance();
    return field;
}

/// About eight blocks per obstacle: a cloud lies on surfaces, so most blocks are empty and cost a byte.
void ObstacleField::choose_blocks(Vec3 low, Vec3 high, std::size_t obstacles, double block_m_min) {
    const Vec3 extent = high - low;
    const double longest = std::max({extent.x, extent.y, extent.z});
    const auto blocks_along = [](double length, double block) { return static_cast<std::uint32_t>(std::floor(length / block)) + 1; };
    const std::size_t wanted = std::clamp<std::size_t>(8 * obstacles, 64, cloud_blocks_max);
    double edge = std::max({block_m_min, longest / 1000.0, voxel_m_min});
    while (std::size_t{blocks_along(extent.x, edge)} * blocks_along(extent.y, edge) * blocks_along(extent.z, edge) > wanted) edge *= 1.1;
    block_m_ = edge;
    block_origin_ = low;
    block_count_ = {blocks_along(extent.x, edge), blocks_along(extent.y, edge), blocks_along(extent.z, edge)};
}

std::uint32_t ObstacleField::block_of(Vec3 point) const noexcept {
    const double at[3] = {(point.x - block_origin_.x) * blocks_per_m_, (point.y - block_origin_.y) * blocks_per_m_, (point.z - block_origin_.z) * blocks_per_m_};
    std::uint32_t index[3];
    for (std::size_t axis = 0; axis < 3; ++axis) index[axis] = static_cast<std::uint32_t>(std::clamp(at[axis], 0.0, block_size_[axis] - 1.0));
    return static_cast<std::uint32_t>(block_index(index[0], index[1], index[2]));
}

/// Rounding moves a middle by less than this across the face of its block: coordinates are below 1e4 m.
constexpr double block_rounding_m = 1e-11;

/// Within a block by place, so that the eight of a group lie together. Voxels come in order already.
void ObstacleField::sort_within_blocks(std::span<const Vec3> centres, std::span<std::uint32_t> order) const {
    const std::size_t count = centres.size();
    std::vector<std::uint16_t> place(count);
    const double steps = 16.0 * blocks_per_m_;
    for (std::size_t index = 0; index < count; ++index) {
        const Vec3 at = steps * (centres[index] - block_origin_);
        const std::uint32_t axis[3] = {static_cast<std::uint32_t>(at.x) % 16, static_cast<std::uint32_t>(at.y) % 16, static_cast<std::uint32_t>(at.z) % 16};
        std::uint32_t key = 0;
        for (std::uint32_t bit = 0; bit < 12; ++bit) key |= (axis[bit % 3] >> (bit / 3) & 1U) << bit;
        place[index] = static_cast<std::uint16_t>(key);
    }
    for (std::size_t rank = 0; rank + 1 < blocks_.size(); ++rank) {
        if (blocks_[rank + 1].first - blocks_[rank].first <= group_size) continue;
        std::sort(order.begin() + blocks_[rank].first, order.begin() + blocks_[rank + 1].first, [&](std::uint32_t l, std::uint32_t r) {
            return place[l] != place[r] ? place[l] < place[r] : l < r;
        });
    }
}

void ObstacleField::sort_into_blocks(std::span<const Vec3> centres, std::span<const std::uint32_t> labels, std::span<const double> radii) {
    const std::size_t block_total = std::size_t{block_count_[0]} * block_count_[1] * block_count_[2];
    const std::size_t count = centres.size();
    blocks_per_m_ = 1.0 / block_m_;
    for (std::size_t axis = 0; axis < 3; ++axis) block_size_[axis] = block_count_[axis];
    // Voxels end where their blocks do; only spheres reach out of the block of their middle.
    overhang_m_ = block_rounding_m + (radii.empty() ? 0.0 : *std::max_element(radii.begin(), radii.end()));

    std::vector<std::uint32_t> home(count);
    std::vector<std::uint32_t> next(block_total, 0);
    for (std::size_t index = 0; index < count; ++index) {
        home[index] = block_of(centres[index]);
        ++next[home[index]];
    }
    std::size_t brick_total = 1;
    for (std::size_t axis = 0; axis < 3; ++axis) {
        brick_count_[axis] = (block_count_[axis] + brick_edge - 1) / brick_edge;
        brick_total *= brick_count_[axis];
    }
    bricks_.assign(brick_total, {});
    blocks_.clear();
    std::uint32_t obstacles = 0;
    std::uint32_t groups = 0;
    std::size_t brick_index = 0;
    for (std::uint32_t bz = 0; bz < block_count_[2]; bz += brick_edge) {
        for (std::uint32_t by = 0; by < block_count_[1]; by += brick_edge) {
            for (std::uint32_t bx = 0; bx < block_count_[0]; bx += brick_edge) {
                Brick& brick = bricks_[brick_index++];
                brick.first_block = static_cast<std::uint32_t>(blocks_.size());
                for (std::uint32_t z = bz; z < std::min(bz + brick_edge, block_count_[2]); ++z) {
                    for (std::uint32_t y = by; y < std::min(by + brick_edge, block_count_[1]); ++y) {
                        for (std::uint32_t x = bx; x < std::min(bx + brick_edge, block_count_[0]); ++x) {
                            std::uint32_t& place = next[block_index(x, y, z)];
                            if (place == 0) continue;
                            brick.bits |= std::uint64_t{1} << ((x - bx) + brick_edge * ((y - by) + brick_edge * (z - bz)));
                            blocks_.push_back({obstacles, groups});
                            groups += (place + group_size - 1) / group_size;
                            obstacles += std::exchange(place, obstacles);
                        }
                    }
                }
            }
        }
    }
    blocks_.push_back({obstacles, groups});

    std::vector<std::uint32_t> order(count);
    for (std::size_t index = 0; index < count; ++index) order[next[home[index]]++] = static_cast<std::uint32_t>(index);
    if (half_m_ == 0.0) sort_within_blocks(centres, order);
    x_.resize(count);
    y_.resize(count);
    z_.resize(count);
    label_.resize(count);
    radius_.resize(radii.size());
    for (std::size_t to = 0; to < count; ++to) {
        const std::uint32_t index = order[to];
        x_[to] = centres[index].x;
        y_[to] = centres[index].y;
        z_[to] = centres[index].z;
        label_[to] = labels[index];
        if (!radii.empty()) radius_[to] = radii[index];
    }
    bound_groups();
}

ObstacleField::Bounds ObstacleField::bounds_of(std::uint32_t first, std::uint32_t end) const noexcept {
    double low[3] = {1e300, 1e300, 1e300};
    double high[3] = {-1e300, -1e300, -1e300};
    for (std::uint32_t index = first; index < end; ++index) {
        const double at[3] = {x_[index], y_[index], z_[index]};
        const double grow = radius_.empty() ? half_m_ : radius_[index];
        for (std::size_t axis = 0; axis < 3; ++axis) {
            low[axis] = std::min(low[axis], at[axis] - grow);
            high[axis] = std::max(high[axis], at[axis] + grow);
        }
    }
    Bounds bounds{};
    for (std::size_t axis = 0; axis < 3; ++axis) {
        bounds.centre[axis] = static_cast<float>(0.5 * (low[axis] + high[axis]));
        const double centre = static_cast<double>(bounds.centre[axis]);
        bounds.half[axis] = static_cast<float>(std::max(high[axis] - centre, centre - low[axis]) * (1.0 + 1e-6) + 1e-9);
    }
    return bounds;
}

void ObstacleField::bound_groups() {
    block_bounds_.clear();
    group_bounds_.clear();
    block_bounds_.reserve(blocks_.size() - 1);
    group_bounds_.reserve(blocks_.back().first_group);
    for (std::size_t rank = 0; rank + 1 < blocks_.size(); ++rank) {
        const std::uint32_t end = blocks_[rank + 1].first;
        block_bounds_.push_back(bounds_of(blocks_[rank].first, end));
        for (std::uint32_t first = blocks_[rank].first; first < end; first += group_size) group_bounds_.push_back(bounds_of(first, std::min(first + group_size, end)));
    }
    for (Brick& brick : bricks_) {
        if (brick.bits == 0) continue;
        const std::uint32_t last = brick.first_block + static_cast<std::uint32_t>(std::popcount(brick.bits));
        brick.bounds = bounds_of(blocks_[brick.first_block].first, blocks_[last].first);
    }
}

/// One byte per block, because they are asked often and the bits of a brick must be looked for.
std::vector<std::uint8_t> ObstacleField::blocks_with_obstacles() const {
    std::vector<std::uint8_t> found(std::size_t{block_count_[0]} * block_count_[1] * block_count_[2], 0);
    for (std::size_t index = 0; index < bricks_.size(); ++index) {
        const std::size_t bx = index % brick_count_[0] * brick_edge;
        const std::size_t by = index / brick_count_[0] % brick_count_[1] * brick_edge;
        const std::size_t bz = index / brick_count_[0] / brick_count_[1] * brick_edge;
        for (std::uint64_t rest = bricks_[index].bits; rest != 0; rest &= rest - 1) {
            const auto bit = static_cast<std::uint32_t>(std::countr_zero(rest));
            const std::size_t x = bx + bit % brick_edge;
            const std::size_t y = by + bit / brick_edge % brick_edge;
            const std::size_t z = bz + bit / brick_edge / brick_edge;
            found[x + std::size_t{block_count_[0]} * (y + std::size_t{block_count_[1]} * z)] = 1;
        }
    }
    return found;
}

/// Squared number of whole blocks between each block and the nearest one with obstacles, axis by axis:
/// min over j of f(j) + max(|i - j| - 1, 0)^2, up to 15 blocks (225).
void ObstacleField::spread_clearance() {
    constexpr int reach = 16;
    constexpr std::uint8_t far = 225;
    const std::size_t blocks = std::size_t{block_count_[0]} * block_count_[1] * block_count_[2];
    const std::size_t width = block_count_[0];
    block_gap_.assign(blocks, far);
    // Along x by counting from both ends.
    std::vector<std::uint8_t> from = blocks_with_obstacles();
    for (std::size_t base = 0; base < blocks; base += width) {
        int since = reach;
        for (std::size_t x = 0; x < width; ++x) {
            since = from[base + x] != 0 ? 0 : std::min(since + 1, reach);
            const int between = std::max(since - 1, 0);
            block_gap_[base + x] = static_cast<std::uint8_t>(between * between);
        }
        since = reach;
        for (std::size_t x = width; x-- > 0;) {
            since = from[base + x] != 0 ? 0 : std::min(since + 1, reach);
            const int between = std::max(since - 1, 0);
            block_gap_[base + x] = std::min(block_gap_[base + x], static_cast<std::uint8_t>(between * between));
        }
    }
    // Along y and z by taking the smallest of the neighbours, whole rows at once.
    const std::size_t stride[3] = {1, width, width * block_count_[1]};
    for (std::size_t axis = 1; axis < 3; ++axis) {
        from.swap(block_gap_);
        block_gap_ = from;
        const std::size_t step = stride[axis];
        const std::size_t count = block_count_[axis];
        for (std::size_t base = 0; base < blocks; base += step * count) {
            for (std::size_t i = 0; i < count; ++i) {
                std::uint8_t* target = block_gap_.data() + base + i * step;
                for (int between = 0; between < reach - 1; ++between) {
                    const auto add = static_cast<std::uint8_t>(between * between);
                    const auto cap = static_cast<std::uint8_t>(far - add);  // larger ones cannot matter, and would not fit
                    for (const int side : {-1, 1}) {
                        const auto j = static_cast<std::int64_t>(i) + side * (between + 1);
                        if (j < 0 || j >= static_cast<std::int64_t>(count)) continue;
                        const std::uint8_t* source = from.data() + base + static_cast<std::size_t>(j) * step;
                        for (std::size_t k = 0; k < step; ++k) {
                            target[k] = std::min(target[k], static_cast<std::uint8_t>(std::min(source[k], cap) + add));
                        }
                    }
                }
            }
        }
    }
}

// ---- Voxels ----------------------------------------------------------------------------------------

void ObstacleField::reserve_voxels(const VoxelSpec& spec) {
    grid_ = spec;
    half_m_ = 0.5 * spec.resolution_m;
    voxels_per_m_ = 1.0 / spec.resolution_m;
    std::size_t blocks = 1;
    for (std::size_t axis = 0; axis < 3; ++axis) {
        voxel_block_count_[axis] = (spec.size[axis] + bit_edge - 1) / bit_edge;
        blocks *= voxel_block_count_[axis];
    }
    if (blocks > (std::size_t{1} << 24)) throw std::invalid_argument("the grid is too large even for blocks of voxels");
    voxel_block_.assign(blocks, spec.unknown_is_free ? all_free : all_solid);
}

void ObstacleField::set_voxel(VoxelIndex voxel, bool solid) {
    if (voxel.x >= grid_.size[0] || voxel.y >= grid_.size[1] || voxel.z >= grid_.size[2]) throw std::invalid_argument("a voxel lies outside the grid");
    const std::size_t block = voxel.x / bit_edge + std::size_t{voxel_block_count_[0]} * (voxel.y / bit_edge + std::size_t{voxel_block_count_[1]} * (voxel.z / bit_edge));
    std::uint32_t& state = voxel_block_[block];
    if (state < first_mixed) {
        if ((state == all_solid) == solid) return;
        voxel_bits_.emplace_back();
        voxel_bits_.back().fill(state == all_solid ? ~std::uint64_t{0} : 0);
        state = static_cast<std::uint32_t>(voxel_bits_.size() - 1) + first_mixed;
    }
    const std::uint64_t bit = std::uint64_t{1} << ((voxel.y % bit_edge) * bit_edge + voxel.x % bit_edge);
    std::uint64_t& word = voxel_bits_[state - first_mixed][voxel.z % bit_edge];
    word = solid ? word | bit : word & ~bit;
}

bool ObstacleField::is_solid_voxel(std::int64_t x, std::int64_t y, std::int64_t z) const noexcept {
    const bool in_grid = x >= 0 && y >= 0 && z >= 0 && x < grid_.size[0] && y < grid_.size[1] && z < grid_.size[2];
    if (!in_grid) return !grid_.outside_is_free;
    return voxel_bit(static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(y), static_cast<std::uint32_t>(z));
}

/// Keeps the solid voxels beside a free one, block by block; uniform blocks are entered only next to others.
void ObstacleField::extract_surface() {
    std::vector<Vec3> centres;
    std::vector<std::uint32_t> labels;
    const auto state_at = [&](std::int64_t x, std::int64_t y, std::int64_t z) {
        const bool in_grid = x >= 0 && y >= 0 && z >= 0 && x < voxel_block_count_[0] && y < voxel_block_count_[1] && z < voxel_block_count_[2];
        if (!in_grid) return grid_.outside_is_free ? all_free : all_solid;
        return voxel_block_[static_cast<std::size_t>(x) + std::size_t{voxel_block_count_[0]} * (static_cast<std::size_t>(y) + std::size_t{voxel_block_count_[1]} * static_cast<std::size_t>(z))];
    };
    constexpr std::int64_t neighbour[6][3] = {{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1}};
    for (std::int64_t bz = 0; bz < voxel_block_count_[2]; ++bz) {
        for (std::int64_t by = 0; by < voxel_block_count_[1]; ++by) {
            for (std::int64_t bx = 0; bx < voxel_block_count_[0]; ++bx) {
                const std::uint32_t state = state_at(bx, by, bz);
                if (state == all_free) continue;
                bool enclosed = state == all_solid;
                for (const auto& n : neighbour) enclosed = enclosed && state_at(bx + n[0], by + n[1], bz + n[2]) == all_solid;
                if (enclosed) continue;
                const std::int64_t first[3] = {bx * bit_edge, by * bit_edge, bz * bit_edge};
                for (std::int64_t z = first[2]; z < std::min<std::int64_t>(first[2] + bit_edge, grid_.size[2]); ++z) {
                    for (std::int64_t y = first[1]; y < std::min<std::int64_t>(first[1] + bit_edge, grid_.size[1]); ++y) {
                        for (std::int64_t x = first[0]; x < std::min<std::int64_t>(first[0] + bit_edge, grid_.size[0]); ++x) {
                            if (!is_solid_voxel(x, y, z)) continue;
                            bool hidden = true;
                            for (const auto& n : neighbour) hidden = hidden && is_solid_voxel(x + n[0], y + n[1], z + n[2]);
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
    // Query blocks of two voxels: near a surface a block then holds about four of them.
    std::uint32_t voxels = 2;
    const auto blocks_for = [&](std::uint32_t edge) {
        std::size_t product = 1;
        for (const std::uint32_t size : grid_.size) product *= (size + edge - 1) / edge;
        return product;
    };
    while (blocks_for(voxels) > blocks_max) voxels *= 2;
    block_m_ = voxels * grid_.resolution_m;
    block_origin_ = grid_.origin;
    for (std::size_t axis = 0; axis < 3; ++axis) block_count_[axis] = (grid_.size[axis] + voxels - 1) / voxels;
    sort_into_blocks(centres, labels, {});
    spread_clearance();
}

ObstacleField ObstacleField::from_voxels(const VoxelSpec& spec, std::span<const std::uint8_t> occupancy) {
    require_grid(spec);
    const std::size_t voxels = std::size_t{spec.size[0]} * spec.size[1] * spec.size[2];
    if (voxels > dense_voxels_max) throw std::invalid_argument("the grid is too large to be given voxel by voxel; give its voxels instead");
    if (occupancy.size() != voxels) throw std::invalid_argument("the grid's size does not match its number of voxels");
    ObstacleField field;
    field.reserve_voxels(spec);
    std::array<std::uint64_t, 8> bits{};
    for (std::uint32_t bz = 0; bz < field.voxel_block_count_[2]; ++bz) {
        for (std::uint32_t by = 0; by < field.voxel_block_count_[1]; ++by) {
            for (std::uint32_t bx = 0; bx < field.voxel_block_count_[0]; ++bx) {
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
                std::uint32_t& state = field.voxel_block_[bx + std::size_t{field.voxel_block_count_[0]} * (by + std::size_t{field.voxel_block_count_[1]} * bz)];
                state = solid_count == 0 ? all_free : all_solid;
                if (solid_count == 0 || solid_count == count) continue;
                field.voxel_bits_.push_back(bits);
                state = static_cast<std::uint32_t>(field.voxel_bits_.size() - 1) + first_mixed;
            }
        }
    }
    field.extract_surface();
    return field;
}

ObstacleField ObstacleField::from_sparse_voxels(const VoxelSpec& spec, std::span<const VoxelIndex> occupied, std::span<const VoxelIndex> free) {
    require_grid(spec);
    ObstacleField field;
    field.reserve_voxels(spec);
    for (const VoxelIndex voxel : free) field.set_voxel(voxel, false);
    for (const VoxelIndex voxel : occupied) field.set_voxel(voxel, true);  // last, so that a voxel said to be both is solid
    field.extract_surface();
    return field;
}

ObstacleField ObstacleField::with_voxels(std::span<const VoxelIndex> occupied, std::span<const VoxelIndex> free) const {
    if (voxel_block_.empty()) throw std::invalid_argument("points have no voxels to change");
    ObstacleField field;
    field.grid_ = grid_;
    field.half_m_ = half_m_;
    field.voxels_per_m_ = voxels_per_m_;
    field.voxel_block_ = voxel_block_;
    field.voxel_bits_ = voxel_bits_;
    field.voxel_block_count_ = voxel_block_count_;
    for (const VoxelIndex voxel : free) field.set_voxel(voxel, false);
    for (const VoxelIndex voxel : occupied) field.set_voxel(voxel, true);
    field.extract_surface();
    return field;
}

std::size_t ObstacleField::memory_bytes() const noexcept {
    return sizeof(*this) + block_gap_.capacity() + bricks_.capacity() * sizeof(Brick) + blocks_.capacity() * sizeof(Block) +
           (block_bounds_.capacity() + group_bounds_.capacity()) * sizeof(Bounds) +
           (x_.capacity() + y_.capacity() + z_.capacity() + radius_.capacity()) * 8 + label_.capacity() * 4 + voxel_block_.capacity() * 4 +
           voxel_bits_.capacity() * 64;
}

std::shared_ptr<const ObstacleField> field_of_points(std::span<const double> xyz) { return std::make_shared<const ObstacleField>(ObstacleField::from_points(xyz)); }

std::shared_ptr<const ObstacleField> field_of_voxels(const VoxelSpec& spec, std::span<const std::uint8_t> occupancy) {
    return std::make_shared<const ObstacleField>(ObstacleField::from_voxels(spec, occupancy));
}

std::shared_ptr<const ObstacleField> field_of_floor(const FloorSpec& spec, std::span<const std::uint8_t> blocked) {
    return std::make_shared<const ObstacleField>(ObstacleField::from_floor(spec, blocked));
}

}  // namespace lastgate
