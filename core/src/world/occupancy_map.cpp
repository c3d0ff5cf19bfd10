// SPDX-License-Identifier: Apache-2.0
// A 2-D occupancy map: cells of one layer, asked about with segments that are pressed flat.
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "lastgate/capacity.hpp"
#include "obstacle_field.hpp"

namespace lastgate {
namespace {

void require_floor(const FloorSpec& spec) {
    const auto within = [](double value) noexcept { return std::abs(value) <= capacity::world_extent_m_max; };
    const Mat3& r = spec.in_base.rotation;
    const auto near = [](double value, double wanted) noexcept { return std::abs(value - wanted) <= 1e-9; };
    const bool turned = near(dot(r.x, r.x), 1.0) && near(dot(r.y, r.y), 1.0) && near(dot(r.z, r.z), 1.0) && near(dot(r.x, r.y), 0.0) &&
                        near(dot(r.y, r.z), 0.0) && near(dot(r.x, r.z), 0.0) && dot(cross(r.x, r.y), r.z) > 0.0;
    if (!turned) throw std::invalid_argument("the pose of the floor is not a rotation");
    const Vec3 t = spec.in_base.translation;
    if (!(within(t.x) && within(t.y) && within(t.z))) throw std::invalid_argument("the floor's origin is not finite or too far away");
    if (!(within(spec.low_m) && within(spec.high_m) && spec.low_m < spec.high_m)) {
        throw std::invalid_argument("the floor's heights are not finite, too far away or not in order");
    }
}

/// The part of a segment between two heights; false when there is none.
bool clip_heights(Segment& segment, double low_m, double high_m) noexcept {
    const Segment whole = segment;
    const double rise = whole.b.z - whole.a.z;
    if (!(std::max(whole.a.z, whole.b.z) >= low_m && std::min(whole.a.z, whole.b.z) <= high_m)) return false;
    if (rise == 0.0) return true;
    const double at_low = (low_m - whole.a.z) / rise;
    const double at_high = (high_m - whole.a.z) / rise;
    const double first = std::clamp(std::min(at_low, at_high), 0.0, 1.0);
    const double last = std::clamp(std::max(at_low, at_high), 0.0, 1.0);
    const Vec3 along = whole.b - whole.a;
    segment = {whole.a + first * along, whole.a + last * along};
    return true;
}

}  // namespace

/// One layer of voxels with a ring of solid ones around it: a body that leaves the map meets the ring first.
ObstacleField ObstacleField::from_floor(const FloorSpec& spec, std::span<const std::uint8_t> blocked) {
    require_floor(spec);
    if (spec.size[0] == 0 || spec.size[1] == 0) throw std::invalid_argument("the floor has no cells: that is not a free floor");
    if (blocked.size() != std::size_t{spec.size[0]} * spec.size[1]) throw std::invalid_argument("the floor's size does not match its number of cells");
    VoxelSpec layer;
    layer.resolution_m = spec.resolution_m;
    layer.size = {spec.size[0] + 2, spec.size[1] + 2, 1};
    const std::size_t width = layer.size[0];
    std::vector<std::uint8_t> ringed(width * layer.size[1], 1);
    for (std::size_t row = 0; row < spec.size[1]; ++row) {
        std::copy_n(blocked.data() + row * spec.size[0], spec.size[0], ringed.data() + (row + 1) * width + 1);
    }
    // Solid above and below while the surface is sought, so that only voxels beside a free one are kept.
    ObstacleField field = from_voxels(layer, ringed);
    field.grid_.outside_is_free = true;  // from here on `is_over_solid` knows what is off the map
    for (std::uint32_t& label : field.label_) {
        const std::size_t row = label / width;
        const std::size_t column = label % width;
        const bool in_ring = row == 0 || column == 0 || row > spec.size[1] || column > spec.size[0];
        label = in_ring ? 0xFFFFFFFFU : static_cast<std::uint32_t>((row - 1) * spec.size[0] + column - 1);
    }
    field.floor_ = spec;
    const Vec3 ring{-spec.resolution_m, -spec.resolution_m, 0.0};
    field.floor_->in_base.translation = spec.in_base * ring;
    return field;
}

/// Whether a cell that is solid, or the space off the map, lies above or below a point.
bool ObstacleField::is_over_solid(Vec3 local) const noexcept {
    const double width = grid_.resolution_m * grid_.size[0];
    const double height = grid_.resolution_m * grid_.size[1];
    if (!(local.x >= 0.0 && local.x <= width && local.y >= 0.0 && local.y <= height)) return true;
    return is_solid({local.x, local.y, 0.5 * grid_.resolution_m});
}

/// Two points are never nearer than their horizontal and their vertical distance allow.
double ObstacleField::floor_clearance(Vec3 point) const noexcept {
    const Vec3 local = inverse_times(floor_->in_base, point);
    const double above_m = std::max({local.z - floor_->high_m, floor_->low_m - local.z, 0.0});
    if (is_over_solid(local)) return above_m;
    const double beside_m = voxel_clearance({local.x, local.y, 0.5 * grid_.resolution_m});
    return std::sqrt(beside_m * beside_m + above_m * above_m);
}

/// A part of a segment above the map's heights or below them, shifted so that the layer of voxels ends where they do.
/// Where it runs over the inside of something solid the nearest voxel is not kept; then either an end of it is over
/// solid, or it comes in across a voxel that is kept.
void ObstacleField::approach_floor(Segment part, double shift_m, Witness& best, std::uint32_t& obstacle, std::span<const TouchedObstacle> touched) const noexcept {
    const Vec3 shift{0.0, 0.0, shift_m};
    std::uint32_t found_obstacle = 0xFFFFFFFFU;
    Witness found = voxel_distance({part.a + shift, part.b + shift}, best.distance_m, found_obstacle, touched);
    if (found.distance_m < best.distance_m) {
        best = {found.distance_m, found.on_first - shift, found.on_second - shift};
        obstacle = found_obstacle;
    }
    for (const Vec3 end : {part.a, part.b}) {
        const double gap_m = std::max({end.z - floor_->high_m, floor_->low_m - end.z, 0.0});
        if (!(gap_m < best.distance_m) || !is_over_solid(end)) continue;
        best = {gap_m, end, {end.x, end.y, std::clamp(end.z, floor_->low_m, floor_->high_m)}};
        obstacle = 0xFFFFFFFFU;
    }
}

Witness ObstacleField::flat_distance(const Segment& segment, double cutoff_m, std::uint32_t& obstacle) const noexcept {
    const Segment local{inverse_times(floor_->in_base, segment.a), inverse_times(floor_->in_base, segment.b)};
    const double z = 0.5 * grid_.resolution_m;
    Witness found = press_flat(local, cutoff_m, obstacle);
    found.on_first = floor_->in_base * Vec3{found.on_first.x, found.on_first.y, z};
    found.on_second = floor_->in_base * Vec3{found.on_second.x, found.on_second.y, z};
    return found;
}

Witness ObstacleField::press_flat(const Segment& local, double cutoff_m, std::uint32_t& obstacle, std::span<const TouchedObstacle> touched) const noexcept {
    const double z = 0.5 * grid_.resolution_m;
    const Segment flat{{local.a.x, local.a.y, z}, {local.b.x, local.b.y, z}};
    for (const Vec3 end : {flat.a, flat.b}) {
        if (!is_over_solid(end)) continue;
        obstacle = 0xFFFFFFFFU;
        return {0.0, end, end};
    }
    return voxel_distance(flat, cutoff_m, obstacle, touched);
}

/// How often the edges go around the point, by their crossings of a line to its right, up and down. Where edges cross each other a
/// part may be gone around twice: it is covered as well.
bool ObstacleField::is_inside(std::span<const Vec3> vertices, double x, double y) noexcept {
    int around = 0;
    for (std::size_t at = 0; at < vertices.size(); ++at) {
        const Vec3 a = vertices[at];
        const Vec3 b = vertices[(at + 1) % vertices.size()];
        if ((a.y > y) != (b.y > y) && x < a.x + (y - a.y) / (b.y - a.y) * (b.x - a.x)) around += b.y > a.y ? 1 : -1;
    }
    return around != 0;
}

bool ObstacleField::covers_solid(std::span<const Vec3> vertices, std::int64_t& queries) const noexcept {
    Vec3 local[capacity::footprint_vertices_max];
    double low[2] = {1e300, 1e300};
    double high[2] = {-1e300, -1e300};
    if (vertices.size() > capacity::footprint_vertices_max) return true;
    for (std::size_t at = 0; at < vertices.size(); ++at) {
        local[at] = inverse_times(floor_->in_base, vertices[at]);
        if (is_over_solid(local[at])) return true;
        low[0] = std::min(low[0], local[at].x);
        low[1] = std::min(low[1], local[at].y);
        high[0] = std::max(high[0], local[at].x);
        high[1] = std::max(high[1], local[at].y);
    }
    // No vertex is off the map, so that the numbers of cells are small and not negative.
    const double edge_m = grid_.resolution_m;
    const auto first_x = static_cast<std::int64_t>(low[0] / edge_m);
    const auto first_y = static_cast<std::int64_t>(low[1] / edge_m);
    const auto last_x = static_cast<std::int64_t>(high[0] / edge_m);
    const auto last_y = static_cast<std::int64_t>(high[1] / edge_m);
    queries -= (last_x - first_x + 1) * (last_y - first_y + 1);
    if (queries < 0) return true;
    for (std::int64_t y = first_y; y <= last_y; ++y) {
        for (std::int64_t x = first_x; x <= last_x; ++x) {
            const Vec3 centre{(static_cast<double>(x) + 0.5) * edge_m, (static_cast<double>(y) + 0.5) * edge_m, 0.0};
            if (is_over_solid(centre) && is_inside({local, vertices.size()}, centre.x, centre.y)) return true;
        }
    }
    return false;
}

/// A column is as far from what is above it as a cube at its top, from what is below as one at its bottom, and from
/// what is beside it as any voxel of it: so the layer of voxels is asked at each of the three.
Witness ObstacleField::floor_distance(const Segment& segment, double cutoff_m, std::uint32_t& obstacle, std::span<const TouchedObstacle> touched) const noexcept {
    obstacle = 0xFFFFFFFFU;
    const double low_m = floor_->low_m;
    const double high_m = floor_->high_m;
    const double edge_m = grid_.resolution_m;
    const Segment local{inverse_times(floor_->in_base, segment.a), inverse_times(floor_->in_base, segment.b)};
    Witness best{cutoff_m, local.a, local.a};
    if (Segment beside = local; clip_heights(beside, low_m, high_m)) {
        const Witness found = press_flat(beside, best.distance_m, obstacle, touched);
        if (found.distance_m < best.distance_m) {
            // Back onto the part that was pressed flat; an upright one counts at its first end.
            const Vec3 along{beside.b.x - beside.a.x, beside.b.y - beside.a.y, 0.0};
            const double length2 = dot(along, along);
            const double t = length2 > 1e-18 ? std::clamp(dot(found.on_first - beside.a, along) / length2, 0.0, 1.0) : 0.0;
            const Vec3 on_first = beside.a + t * (beside.b - beside.a);
            best = {found.distance_m, on_first, {found.on_second.x, found.on_second.y, on_first.z}};
        }
    }
    // What is farther above or below than the best so far cannot be nearer.
    if (Segment above = local; clip_heights(above, high_m, high_m + best.distance_m)) approach_floor(above, edge_m - high_m, best, obstacle, touched);
    if (Segment below = local; clip_heights(below, low_m - best.distance_m, low_m)) approach_floor(below, -low_m, best, obstacle, touched);
    return {best.distance_m, floor_->in_base * best.on_first, floor_->in_base * best.on_second};
}

}  // namespace lastgate
