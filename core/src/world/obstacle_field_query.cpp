// SPDX-License-Identifier: Apache-2.0
// Asking a field: bounded, without allocation, inside the check.
#include <algorithm>
#include <bit>
#include <cmath>

#include "geometry/distance.hpp"
#include "obstacle_field.hpp"

namespace lastgate {

using detail::distance_segment_box;

namespace {

/// Square roots of the whole numbers that a gap can be, never rounded: looked up instead of computed.
struct GapRoots {
    float root[256];
    GapRoots() noexcept {
        for (int square = 0; square < 256; ++square) root[square] = static_cast<float>(std::sqrt(static_cast<double>(square)) * (1.0 - 1e-7));
    }
};
const GapRoots gap_roots;

/// The nearest point of a segment, found without dividing more than once per segment.
struct SegmentLine {
    Vec3 a;
    Vec3 along;
    double scale;  ///< One over the squared length; 0 for a point.

    explicit SegmentLine(const Segment& segment) noexcept : a(segment.a), along(segment.b - segment.a) {
        const double length2 = dot(along, along);
        scale = length2 > 1e-200 ? 1.0 / length2 : 0.0;
    }
    Vec3 nearest(Vec3 point) const noexcept {
        const double t = dot(point - a, along) * scale;
        return a + (t < 0.0 ? 0.0 : t > 1.0 ? 1.0 : t) * along;
    }
};

/// How a box lies to a segment. With n pointing from the segment's nearest point q to the middle c of the box, all of
/// the segment is on one side of the plane through q and all of the box at least |c - q| - |n| . half beyond it.
struct Beyond {
    double squared_m;   ///< |c - q|^2.
    double product_m2;  ///< |c - q| times the bound: never above the distance, and without a root to take.

    Beyond() noexcept = default;
    template <typename Box>
    Beyond(const SegmentLine& line, const Box& box) noexcept {
        const Vec3 centre{static_cast<double>(box.centre[0]), static_cast<double>(box.centre[1]), static_cast<double>(box.centre[2])};
        const Vec3 away = centre - line.nearest(centre);
        squared_m = dot(away, away);
        product_m2 = squared_m - std::abs(away.x) * static_cast<double>(box.half[0]) - std::abs(away.y) * static_cast<double>(box.half[1]) -
                     std::abs(away.z) * static_cast<double>(box.half[2]);
    }
    /// Smaller for boxes whose bound is smaller, nearly: the square of the bound but for a small term, without dividing.
    double rank_key() const noexcept { return 2.0 * product_m2 - squared_m; }
    /// Whether something in the box may be nearer than `distance_m`. Yes when unsure: a segment through the very
    /// middle of a box has no side that the box could be on.
    bool may_be_nearer(double distance_m) const noexcept {
        if (!(squared_m > 0.0)) return true;
        const double product2 = product_m2 * product_m2;
        const double distance2 = distance_m * distance_m * squared_m;
        const bool certified = product_m2 >= 0.0 ? distance_m <= 0.0 || product2 >= distance2 : distance_m < 0.0 && product2 <= distance2;
        return !certified;
    }
};

/// A block waiting to be looked into.
struct Candidate {
    Beyond beyond;
    std::uint32_t rank;
};

/// By how much an obstacle counts as farther away than it is.
double credit_of(std::uint32_t obstacle, std::span<const TouchedObstacle> touched) noexcept {
    const auto before = [](const TouchedObstacle& entry, std::uint32_t wanted) noexcept { return entry.obstacle < wanted; };
    const auto found = std::lower_bound(touched.begin(), touched.end(), obstacle, before);
    return found != touched.end() && found->obstacle == obstacle ? found->credit_m : 0.0;
}

/// Candidates held at a time. A robot's volume meets a few dozen; more are worked off in batches.
constexpr std::size_t candidates_max = 64;

}  // namespace

bool ObstacleField::is_solid(Vec3 point) const noexcept {
    if (voxel_block_.empty()) return false;
    // A point on a face, or so near it that rounding decides, counts to one of the two voxels; the other, if solid, is found as a
    // box that it touches.
    const double x = (point.x - grid_.origin.x) * voxels_per_m_;
    const double y = (point.y - grid_.origin.y) * voxels_per_m_;
    const double z = (point.z - grid_.origin.z) * voxels_per_m_;
    const bool in_grid = x >= 0.0 && y >= 0.0 && z >= 0.0 && x < grid_.size[0] && y < grid_.size[1] && z < grid_.size[2];
    if (!in_grid) return !grid_.outside_is_free;
    return voxel_bit(static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(y), static_cast<std::uint32_t>(z));
}

/// How far inside the grid a point is; the grid's faces are solid unless the snapshot says otherwise.
double ObstacleField::inside_bounds(Vec3 point) const noexcept {
    const Vec3 low = grid_.origin;
    const double r = grid_.resolution_m;
    return std::min({point.x - low.x, low.x + r * grid_.size[0] - point.x, point.y - low.y, low.y + r * grid_.size[1] - point.y,
                     point.z - low.z, low.z + r * grid_.size[2] - point.z});
}

double ObstacleField::room(Vec3 low, Vec3 high) const noexcept {
    if (voxel_block_.empty() || grid_.outside_is_free) return 1e30;
    return std::min(inside_bounds(low), inside_bounds(high));
}

/// Whole blocks between the point's block and the nearest with obstacles, and from outside the way to the blocks.
/// `overhang_m_` is what obstacles reach beyond the block of their middle, and what rounding may move them.
double ObstacleField::clear_of_blocks(Vec3 point) const noexcept {
    const Vec3 p = point - block_origin_;
    const double x = p.x * blocks_per_m_;
    const double y = p.y * blocks_per_m_;
    const double z = p.z * blocks_per_m_;
    if (x >= 0.0 && y >= 0.0 && z >= 0.0 && x < block_size_[0] && y < block_size_[1] && z < block_size_[2]) {
        const std::size_t block = block_index(static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(y), static_cast<std::uint32_t>(z));
        return block_m_ * static_cast<double>(gap_roots.root[block_gap_[block]]) - overhang_m_;
    }
    const double gap_m = block_m_ * static_cast<double>(gap_roots.root[block_gap_[block_of(point)]]);
    const Vec3 out{std::max({-x, 0.0, x - block_size_[0]}), std::max({-y, 0.0, y - block_size_[1]}), std::max({-z, 0.0, z - block_size_[2]})};
    // All obstacles lie inside the blocks: outside them, the way in is a bound of its own.
    const double way_in = block_m_ * norm(out);
    return std::max(way_in, gap_m - way_in) - overhang_m_;
}

double ObstacleField::clearance(Vec3 point) const noexcept { return floor_ ? floor_clearance(point) : voxel_clearance(point); }

Witness ObstacleField::distance(const Segment& segment, double cutoff_m, std::uint32_t& obstacle, std::span<const TouchedObstacle> touched) const noexcept {
    return floor_ ? floor_distance(segment, cutoff_m, obstacle, touched) : voxel_distance(segment, cutoff_m, obstacle, touched);
}

Witness ObstacleField::distance_to(std::uint32_t obstacle, const Segment& segment) const noexcept {
    if (floor_) {
        const double half_height_m = 0.5 * (floor_->high_m - floor_->low_m);
        const Vec3 middle{x_[obstacle], y_[obstacle], floor_->low_m + half_height_m};
        const Segment local{inverse_times(floor_->in_base, segment.a) - middle, inverse_times(floor_->in_base, segment.b) - middle};
        const Witness found = distance_segment_box(local, {half_m_, half_m_, half_height_m});
        return {found.distance_m, floor_->in_base * (found.on_first + middle), floor_->in_base * (found.on_second + middle)};
    }
    Witness best{1e300, segment.a, segment.a};
    std::uint32_t same = obstacle;
    test_obstacles(obstacle, obstacle + 1, segment, {}, best, same);
    return best;
}

double ObstacleField::voxel_clearance(Vec3 point) const noexcept {
    if (is_solid(point)) return 0.0;
    double clear_m = x_.empty() ? 1e30 : std::max(clear_of_blocks(point), 0.0);
    if (!voxel_block_.empty() && !grid_.outside_is_free) clear_m = std::min(clear_m, std::max(inside_bounds(point), 0.0));
    return clear_m;
}

/// One query from the middle: what is left after half the length is clear all along. Querying more often than once
/// costs more than the bricks that it saves.
bool ObstacleField::is_far(const Segment& segment, double distance_m) const noexcept {
    const double spare_m = clear_of_blocks(0.5 * (segment.a + segment.b)) - distance_m;
    if (!(spare_m > 0.0)) return false;
    const Vec3 along = segment.b - segment.a;
    return dot(along, along) < 4.0 * spare_m * spare_m * (1.0 - 1e-12);
}

/// A credit makes an obstacle farther, never nearer: what is too far without it needs no second thought.
void ObstacleField::test_obstacles(std::uint32_t first, std::uint32_t end, const Segment& segment, std::span<const TouchedObstacle> touched, Witness& best,
                                   std::uint32_t& obstacle) const noexcept {
    const SegmentLine line(segment);
    for (std::uint32_t index = first; index < end; ++index) {
        const Vec3 centre{x_[index], y_[index], z_[index]};
        if (half_m_ > 0.0) {
            const double edge[3] = {half_m_, half_m_, half_m_};
            const double middle[3] = {centre.x, centre.y, centre.z};
            struct Voxel {
                const double* centre;
                const double* half;
            };
            if (!Beyond(line, Voxel{middle, edge}).may_be_nearer(best.distance_m)) continue;
            Witness found = distance_segment_box({segment.a - centre, segment.b - centre}, {half_m_, half_m_, half_m_});
            if (!(found.distance_m < best.distance_m)) continue;
            if (!touched.empty()) found.distance_m += credit_of(index, touched);
            if (!(found.distance_m < best.distance_m)) continue;
            best = {found.distance_m, found.on_first + centre, found.on_second + centre};
            obstacle = index;
            continue;
        }
        const double radius_m = radius_.empty() ? 0.0 : radius_[index];
        const double reach_m = best.distance_m + radius_m;
        const Vec3 on_segment = line.nearest(centre);
        const Vec3 away = centre - on_segment;
        const double squared = dot(away, away);
        if (!(reach_m > 0.0 && squared < reach_m * reach_m)) continue;
        double distance_m = std::sqrt(squared) - radius_m;
        if (!touched.empty()) distance_m += credit_of(index, touched);
        if (!(distance_m < best.distance_m)) continue;
        best = {distance_m, on_segment, centre};
        obstacle = index;
    }
}

/// The nearest group first: what it holds usually shows that the others need not be opened.
void ObstacleField::test_block(std::uint32_t rank, const Segment& segment, std::span<const TouchedObstacle> touched, Witness& best, std::uint32_t& obstacle) const noexcept {
    const SegmentLine line(segment);
    const Block& block = blocks_[rank];
    const std::uint32_t end = blocks_[rank + 1].first;
    const std::uint32_t groups = blocks_[rank + 1].first_group - block.first_group;
    const Bounds* bounds = group_bounds_.data() + block.first_group;
    Candidate candidates[candidates_max];
    for (std::uint32_t done = 0; done < groups;) {
        std::size_t waiting = 0;
        std::size_t nearest = 0;
        for (; done < groups && waiting < candidates_max; ++done) {
            const Beyond beyond(line, bounds[done]);
            if (!beyond.may_be_nearer(best.distance_m)) continue;
            candidates[waiting] = {beyond, done};
            if (beyond.rank_key() < candidates[nearest].beyond.rank_key()) nearest = waiting;
            ++waiting;
        }
        if (waiting == 0) continue;
        std::swap(candidates[0], candidates[nearest]);
        for (std::size_t index = 0; index < waiting; ++index) {
            if (!candidates[index].beyond.may_be_nearer(best.distance_m)) continue;
            const std::uint32_t first = block.first + candidates[index].rank * group_size;
            test_obstacles(first, std::min(first + group_size, end), segment, touched, best, obstacle);
        }
    }
}

/// Some obstacle is not farther than this: every brick with obstacles has one in its box.
double ObstacleField::nearest_brick_bound(const Segment& segment) const noexcept {
    const SegmentLine line(segment);
    double bound = 1e300;
    for (const Brick& brick : bricks_) {
        if (brick.bits == 0) continue;
        const double half[3] = {static_cast<double>(brick.bounds.half[0]), static_cast<double>(brick.bounds.half[1]), static_cast<double>(brick.bounds.half[2])};
        const double farthest = std::sqrt(half[0] * half[0] + half[1] * half[1] + half[2] * half[2]);
        bound = std::min(bound, std::sqrt(Beyond(line, brick.bounds).squared_m) + farthest);
    }
    return bound * (1.0 + 1e-12) + 1e-9;
}

Witness ObstacleField::voxel_distance(const Segment& segment, double cutoff_m, std::uint32_t& obstacle, std::span<const TouchedObstacle> touched) const noexcept {
    Witness best{cutoff_m, segment.a, segment.a};
    obstacle = 0xFFFFFFFFU;
    if (!voxel_block_.empty()) {
        // Inside a solid voxel the surface may be far; a segment that starts in free space meets it.
        if (is_solid(segment.a)) return {std::min(0.0, cutoff_m), segment.a, segment.a};
        if (!grid_.outside_is_free) {
            for (const Vec3 end : {segment.a, segment.b}) {
                const double inside_m = std::max(inside_bounds(end), 0.0);
                if (inside_m < best.distance_m) best = {inside_m, end, end};
            }
        }
    }
    if (x_.empty() || is_far(segment, best.distance_m)) return best;
    // Asked far into the distance: first find out how far is far enough, then do not look beyond.
    // Credits move obstacles beyond what their boxes say.
    if (best.distance_m > 16.0 * block_m_ && touched.empty()) best.distance_m = std::min(best.distance_m, nearest_brick_bound(segment));
    const double reach = (best.distance_m + overhang_m_) * blocks_per_m_;
    if (!(reach > 0.0)) return best;
    const Vec3 a = blocks_per_m_ * (segment.a - block_origin_);
    const Vec3 b = blocks_per_m_ * (segment.b - block_origin_);
    const double lows[3] = {std::min(a.x, b.x) - reach, std::min(a.y, b.y) - reach, std::min(a.z, b.z) - reach};
    const double highs[3] = {std::max(a.x, b.x) + reach, std::max(a.y, b.y) + reach, std::max(a.z, b.z) + reach};
    std::uint32_t first[3];
    std::uint32_t last[3];
    for (std::size_t axis = 0; axis < 3; ++axis) {
        if (highs[axis] < 0.0 || lows[axis] > block_size_[axis]) return best;
        first[axis] = static_cast<std::uint32_t>(std::max(lows[axis], 0.0));
        first[axis] = std::min(first[axis], block_count_[axis] - 1);
        last[axis] = static_cast<std::uint32_t>(std::min(highs[axis], block_size_[axis] - 1.0));
    }
    Candidate candidates[candidates_max];
    std::size_t waiting = 0;
    const SegmentLine line(segment);
    const auto work_off = [&]() noexcept {
        if (waiting == 0) return;
        std::swap(candidates[0], *std::min_element(candidates, candidates + waiting, [](const Candidate& l, const Candidate& r) {
            return l.beyond.rank_key() < r.beyond.rank_key();
        }));
        for (std::size_t index = 0; index < waiting; ++index) {
            if (candidates[index].beyond.may_be_nearer(best.distance_m)) test_block(candidates[index].rank, segment, touched, best, obstacle);
        }
        waiting = 0;
    };
    for (std::uint32_t z = first[2] / brick_edge; z <= last[2] / brick_edge; ++z) {
        for (std::uint32_t y = first[1] / brick_edge; y <= last[1] / brick_edge; ++y) {
            const Brick* row = bricks_.data() + std::size_t{brick_count_[0]} * (y + std::size_t{brick_count_[1]} * z);
            for (std::uint32_t x = first[0] / brick_edge; x <= last[0] / brick_edge; ++x) {
                const Brick& brick = row[x];
                if (brick.bits == 0 || !Beyond(line, brick.bounds).may_be_nearer(best.distance_m)) continue;
                const std::uint32_t end = brick.first_block + static_cast<std::uint32_t>(std::popcount(brick.bits));
                for (std::uint32_t rank = brick.first_block; rank < end; ++rank) {
                    const Beyond beyond(line, block_bounds_[rank]);
                    if (!beyond.may_be_nearer(best.distance_m)) continue;
                    candidates[waiting++] = {beyond, rank};
                    if (waiting == candidates_max) work_off();
                }
            }
        }
    }
    work_off();
    return best;
}

}  // namespace lastgate
