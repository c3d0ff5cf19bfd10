// SPDX-License-Identifier: Apache-2.0
// The sphere or capsule that stands for an attached solid wherever volumes are compared; the narrow phase compares the solid itself.
#include <algorithm>
#include <cmath>
#include <limits>

#include "attached_solid.hpp"

namespace lastgate {

using namespace detail;

namespace {

constexpr double huge = std::numeric_limits<double>::infinity();

/// Far above the rounding of any length here, far below anything a margin means.
constexpr double slack = 1.0e-12;

double volume_of(const VolumeSpec& cover) noexcept {
    const double r = cover.radius_m;
    return r * r * (norm(cover.end_b - cover.end_a) + 4.0 / 3.0 * r);
}

/// The thinnest capsule around a line of one direction through the middle of what it must hold, and of that line no more than is needed. A
/// point at `along` and `aside` from the line is held when an end, or the line between the ends, is within sqrt(radius^2 - aside^2) of it.
VolumeSpec cover_along(const AttachedSolid& solid, Vec3 unit) noexcept {
    const Vec3 helper = std::abs(unit.x) < 0.6 ? Vec3{1.0, 0.0, 0.0} : Vec3{0.0, 1.0, 0.0};
    const Vec3 square = cross(unit, helper);
    const Vec3 side = (1.0 / norm(square)) * square;
    const Vec3 other = cross(unit, side);
    double low[2] = {huge, huge};
    double high[2] = {-huge, -huge};
    for_each_bounding_vertex(solid, [&](Vec3 p) noexcept {
        const double across[2] = {dot(side, p), dot(other, p)};
        for (int axis = 0; axis < 2; ++axis) {
            low[axis] = std::min(low[axis], across[axis]);
            high[axis] = std::max(high[axis], across[axis]);
        }
    });
    const Vec3 middle = 0.5 * (low[0] + high[0]) * side + 0.5 * (low[1] + high[1]) * other;
    double radius_m = 0.0;
    for_each_bounding_vertex(solid, [&](Vec3 p) noexcept { radius_m = std::max(radius_m, norm(p - middle - dot(unit, p) * unit)); });
    double first = huge;
    double last = -huge;
    for_each_bounding_vertex(solid, [&](Vec3 p) noexcept {
        const double along = dot(unit, p);
        const double aside = norm(p - middle - along * unit);
        const double rest = std::sqrt(std::max(radius_m * radius_m - aside * aside, 0.0));
        first = std::min(first, along + rest);
        last = std::max(last, along - rest);
    });
    if (first > last) first = last = 0.5 * (first + last);
    return {0, radius_m, middle + first * unit, middle + last * unit};
}

VolumeSpec sphere_around(const AttachedSolid& solid) noexcept {
    Vec3 low{huge, huge, huge};
    Vec3 high{-huge, -huge, -huge};
    for_each_bounding_vertex(solid, [&](Vec3 p) noexcept {
        low = {std::min(low.x, p.x), std::min(low.y, p.y), std::min(low.z, p.z)};
        high = {std::max(high.x, p.x), std::max(high.y, p.y), std::max(high.z, p.z)};
    });
    const Vec3 centre = 0.5 * (low + high);
    double radius_m = 0.0;
    for_each_bounding_vertex(solid, [&](Vec3 p) noexcept { radius_m = std::max(radius_m, norm(p - centre)); });
    return {0, radius_m, centre, centre};
}

/// The direction between two vertices that lie far apart.
Vec3 long_way(const AttachedSolid& solid) noexcept {
    Vec3 from = solid.vertices[0];
    Vec3 to = from;
    for (int turn = 0; turn < 2; ++turn) {
        from = to;
        for (std::uint32_t index = 0; index < solid.vertex_count; ++index) {
            if (norm(solid.vertices[index] - from) > norm(to - from)) to = solid.vertices[index];
        }
    }
    return to - from;
}

}  // namespace

AttachedSolid make_attached_solid(std::span<const double> origin_xyz_rpy, double disc_m, std::span<const double> vertices_m) noexcept {
    AttachedSolid solid;
    if (origin_xyz_rpy.size() != 6 || vertices_m.size() % 3 != 0 || vertices_m.size() / 3 > solid.vertices.size()) return solid;
    const auto& at = origin_xyz_rpy;
    solid.in_link = {rotation_from_rpy({at[3], at[4], at[5]}), {at[0], at[1], at[2]}};
    solid.disc_m = disc_m;
    for (std::size_t index = 0; index < vertices_m.size() / 3; ++index) {
        solid.vertices[index] = {vertices_m[3 * index], vertices_m[3 * index + 1], vertices_m[3 * index + 2]};
    }
    solid.vertex_count = static_cast<std::uint32_t>(vertices_m.size() / 3);
    return solid;
}

VolumeSpec cover_of(const AttachedSolid& solid, std::int32_t link) noexcept {
    VolumeSpec best{link, -1.0, {}, {}};
    if (solid.vertex_count == 0 || solid.vertex_count > capacity::hull_vertices_max) return best;
    best = sphere_around(solid);
    const Vec3 way = long_way(solid);
    const double length = norm(way);
    const Vec3 tried[4] = {{1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}, {0.0, 0.0, 1.0}, length > 0.0 ? (1.0 / length) * way : Vec3{0.0, 0.0, 1.0}};
    for (const Vec3 unit : tried) {
        const VolumeSpec cover = cover_along(solid, unit);
        if (volume_of(cover) < volume_of(best)) best = cover;
    }
    // A vertex that the formulas miss by a rounding is taken in by measuring it once more.
    for_each_bounding_vertex(solid, [&](Vec3 p) noexcept {
        const Vec3 along = best.end_b - best.end_a;
        const double length2 = dot(along, along);
        const double t = length2 > 0.0 ? std::clamp(dot(p - best.end_a, along) / length2, 0.0, 1.0) : 0.0;
        best.radius_m = std::max(best.radius_m, norm(p - (best.end_a + t * along)));
    });
    best.radius_m = best.radius_m * (1.0 + slack) + slack;
    best.link = link;
    best.end_a = solid.in_link * best.end_a;
    best.end_b = solid.in_link * best.end_b;
    return best;
}

}  // namespace lastgate
