// SPDX-License-Identifier: Apache-2.0
// Asking a field: bounded, without allocation, inside the check.
#include <algorithm>
#include <cmath>

#include "lastgate/obstacle_field.hpp"

namespace lastgate {
namespace {

double gap_blocks(std::uint8_t squared) noexcept { return std::sqrt(static_cast<double>(squared)); }

}  // namespace

bool ObstacleField::is_solid(Vec3 point) const noexcept {
    if (cell_block_.empty()) return false;
    const double r = grid_.resolution_m;
    // A point on a face counts to the cell beyond it; the other cell, if solid, is found as a box that it touches.
    const double at[3] = {(point.x - grid_.origin.x) / r, (point.y - grid_.origin.y) / r, (point.z - grid_.origin.z) / r};
    return is_solid_cell(static_cast<std::int64_t>(std::floor(at[0])), static_cast<std::int64_t>(std::floor(at[1])),
                         static_cast<std::int64_t>(std::floor(at[2])));
}

/// How far inside the grid a point is; the grid's faces are solid unless the snapshot says otherwise.
double ObstacleField::inside_bounds(Vec3 point, int& face) const noexcept {
    const Vec3 low = grid_.origin;
    const double r = grid_.resolution_m;
    const double gaps[6] = {point.x - low.x, low.x + r * grid_.size[0] - point.x, point.y - low.y,
                            low.y + r * grid_.size[1] - point.y, point.z - low.z, low.z + r * grid_.size[2] - point.z};
    face = static_cast<int>(std::min_element(gaps, gaps + 6) - gaps);
    return gaps[face];
}

double ObstacleField::room(Vec3 low, Vec3 high) const noexcept {
    if (cell_block_.empty() || grid_.outside_is_free) return 1e30;
    int face = 0;
    return std::min(inside_bounds(low, face), inside_bounds(high, face));
}

/// Whole blocks between the point's block and the nearest with obstacles, and from outside the way to the blocks.
double ObstacleField::clear_of_blocks(Vec3 point) const noexcept {
    const double gap_m = block_m_ * gap_blocks(block_gap_[block_of(point)]);
    const double size[3] = {block_m_ * block_count_[0], block_m_ * block_count_[1], block_m_ * block_count_[2]};
    const Vec3 p = point - block_origin_;
    const Vec3 out{std::max({-p.x, 0.0, p.x - size[0]}), std::max({-p.y, 0.0, p.y - size[1]}), std::max({-p.z, 0.0, p.z - size[2]})};
    // All obstacles lie inside the blocks: outside them, the way in is a bound of its own.
    const double way_in = norm(out);
    return std::max(way_in, gap_m - way_in);
}

double ObstacleField::clearance(Vec3 point) const noexcept {
    if (is_solid(point)) return 0.0;
    double clear_m = x_.empty() ? 1e30 : clear_of_blocks(point);
    if (!cell_block_.empty() && !grid_.outside_is_free) {
        int face = 0;
        clear_m = std::min(clear_m, std::max(inside_bounds(point, face), 0.0));
    }
    return clear_m;
}

/// Walks along the segment: a point that is `c` away from everything vouches for `c - distance_m` to either side.
bool ObstacleField::is_far(const Segment& segment, double distance_m) const noexcept {
    const Vec3 along = segment.b - segment.a;
    const double length = norm(along);
    if (length == 0.0) return clear_of_blocks(segment.a) > distance_m;
    double done = 0.0;
    for (int look = 0; look < 16; ++look) {
        // The middle of what is left, at first: one look often suffices.
        const double at = look == 0 ? 0.5 * length : done;
        const double spare = clear_of_blocks(segment.a + (at / length) * along) - distance_m;
        if (!(spare > 0.0)) return false;
        if (look == 0) {
            if (spare > 0.5 * length) return true;
            continue;
        }
        done += spare;
        if (done >= length) return true;
    }
    return false;
}

void ObstacleField::test_block(std::size_t block, const Segment& segment, Witness& best, std::uint32_t& obstacle) const noexcept {
    const Vec3 d = segment.b - segment.a;
    const double length2 = dot(d, d);
    const double scale = length2 > 1e-18 ? 1.0 / length2 : 0.0;
    const double diagonal_m = half_m_ * 1.7320508075688773;
    for (std::uint32_t index = block_first_[block]; index < block_first_[block + 1]; ++index) {
        const Vec3 centre{x_[index], y_[index], z_[index]};
        const double t = std::clamp(dot(centre - segment.a, d) * scale, 0.0, 1.0);
        const Vec3 on_segment = segment.a + t * d;
        const double to_centre = norm(centre - on_segment);
        if (!(to_centre - diagonal_m < best.distance_m)) continue;
        Witness found{to_centre, on_segment, centre};
        if (half_m_ > 0.0) {
            found = distance_segment_box({segment.a - centre, segment.b - centre}, {half_m_, half_m_, half_m_});
            found.on_first = found.on_first + centre;
            found.on_second = found.on_second + centre;
        }
        if (found.distance_m < best.distance_m) {
            best = found;
            obstacle = index;
        }
    }
}

Witness ObstacleField::distance(const Segment& segment, double cutoff_m, std::uint32_t& obstacle) const noexcept {
    Witness best{cutoff_m, segment.a, segment.a};
    obstacle = 0xFFFFFFFFU;
    if (!cell_block_.empty()) {
        // Inside a solid cell the surface may be far; a segment that starts in free space meets it.
        if (is_solid(segment.a)) return {0.0, segment.a, segment.a};
        if (!grid_.outside_is_free) {
            for (const Vec3 end : {segment.a, segment.b}) {
                int face = 0;
                const double inside_m = std::max(inside_bounds(end, face), 0.0);
                if (inside_m < best.distance_m) best = {inside_m, end, end};
            }
        }
    }
    if (x_.empty() || is_far(segment, best.distance_m)) return best;
    const double reach = best.distance_m + half_m_;
    const Vec3 low{std::min(segment.a.x, segment.b.x) - reach, std::min(segment.a.y, segment.b.y) - reach, std::min(segment.a.z, segment.b.z) - reach};
    const Vec3 high{std::max(segment.a.x, segment.b.x) + reach, std::max(segment.a.y, segment.b.y) + reach, std::max(segment.a.z, segment.b.z) + reach};
    const double lows[3] = {low.x - block_origin_.x, low.y - block_origin_.y, low.z - block_origin_.z};
    const double highs[3] = {high.x - block_origin_.x, high.y - block_origin_.y, high.z - block_origin_.z};
    std::uint32_t first[3];
    std::uint32_t last[3];
    for (std::size_t axis = 0; axis < 3; ++axis) {
        const double top = static_cast<double>(block_count_[axis] - 1);
        if (highs[axis] < 0.0 || lows[axis] > block_m_ * block_count_[axis]) return best;
        first[axis] = static_cast<std::uint32_t>(std::clamp(std::floor(lows[axis] / block_m_), 0.0, top));
        last[axis] = static_cast<std::uint32_t>(std::clamp(std::floor(highs[axis] / block_m_), 0.0, top));
    }
    const double half_block = 0.5 * block_m_;
    const double ball = half_block * 1.7320508075688773 + half_m_ * 1.7320508075688773;
    const Vec3 d = segment.b - segment.a;
    const double length2 = dot(d, d);
    for (std::uint32_t z = first[2]; z <= last[2]; ++z) {
        for (std::uint32_t y = first[1]; y <= last[1]; ++y) {
            for (std::uint32_t x = first[0]; x <= last[0]; ++x) {
                const std::size_t block = block_index(x, y, z);
                if (block_first_[block] == block_first_[block + 1]) continue;
                const Vec3 centre = block_origin_ + Vec3{block_m_ * x + half_block, block_m_ * y + half_block, block_m_ * z + half_block};
                const double t = length2 > 1e-18 ? std::clamp(dot(centre - segment.a, d) / length2, 0.0, 1.0) : 0.0;
                if (!(norm(centre - (segment.a + t * d)) - ball < best.distance_m)) continue;
                test_block(block, segment, best, obstacle);
            }
        }
    }
    return best;
}

}  // namespace lastgate
