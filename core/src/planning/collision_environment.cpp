// SPDX-License-Identifier: Apache-2.0
#include "lastgate/planning.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>

#include "geometry/containment.hpp"
#include "geometry/distance.hpp"
#include "lastgate/capacity.hpp"
#include "world/obstacle_field.hpp"

namespace lastgate {

using namespace detail;

namespace {

/// Below this, radii are alike: a millimetre more around a point costs no question anything.
constexpr double smallest_class_m = 1.0e-3;

/// Distance of a point from a box in its frame, negative inside, and the nearest point of its surface.
double signed_distance_box(Vec3 point, Vec3 half, Vec3& on_box) noexcept {
    const double at[3] = {point.x, point.y, point.z};
    const double size[3] = {half.x, half.y, half.z};
    double nearest[3];
    double depth = -1e300;
    std::size_t face = 0;
    for (std::size_t axis = 0; axis < 3; ++axis) {
        nearest[axis] = std::clamp(at[axis], -size[axis], size[axis]);
        if (std::abs(at[axis]) - size[axis] > depth) {
            depth = std::abs(at[axis]) - size[axis];
            face = axis;
        }
    }
    if (depth < 0.0) nearest[face] = at[face] < 0.0 ? -size[face] : size[face];
    on_box = {nearest[0], nearest[1], nearest[2]};
    return depth < 0.0 ? depth : norm(point - on_box);
}

/// Distance of a point from an obstacle, negative inside.
Witness signed_distance(Vec3 point, const Primitive& primitive) noexcept {
    Witness witness = distance_segment_primitive({point, point}, primitive);
    if (primitive.kind == PrimitiveKind::box) {
        Vec3 on_box;
        witness.distance_m = signed_distance_box(inverse_times(primitive.in_base, point), primitive.half_extents_m, on_box);
        witness.on_second = primitive.in_base * on_box;
    }
    if (primitive.kind == PrimitiveKind::cylinder) {
        const Depth depth = depth_inside({point, point}, primitive);
        witness.distance_m = -depth.depth_m;
        witness.on_second = point + depth.depth_m * depth.outward;
    }
    return witness;
}

double outside(double value, double low, double high) noexcept { return std::max({low - value, 0.0, value - high}); }

/// Never above the distance of a point from an obstacle that it is outside of; zero or below tells nothing.
double bound_distance(Vec3 point, const Primitive& primitive) noexcept {
    return norm({outside(point.x, primitive.low.x, primitive.high.x), outside(point.y, primitive.low.y, primitive.high.y),
                 outside(point.z, primitive.low.z, primitive.high.z)});
}

}  // namespace

/// Spheres of like size share a table, because the largest of a table is added wherever blocks are compared.
void CollisionEnvironment::add_spheres(std::span<const double> xyzr, double block_m_min) {
    if (xyzr.size() % 4 != 0) throw std::invalid_argument("spheres need four numbers each");
    std::map<int, std::pair<std::vector<double>, std::vector<std::uint32_t>>> classes;
    for (std::size_t index = 0; index < xyzr.size() / 4; ++index) {
        const double* sphere = xyzr.data() + 4 * index;
        if (!(sphere[3] >= 0.0 && sphere[3] <= capacity::world_extent_m_max)) {
            throw std::invalid_argument("the radius of sphere " + std::to_string(index) + " is negative, not finite or too large");
        }
        auto& [numbers, labels] = classes[std::ilogb(std::max(sphere[3], smallest_class_m))];
        numbers.insert(numbers.end(), sphere, sphere + 4);
        labels.push_back(static_cast<std::uint32_t>(index));
    }
    for (const auto& [exponent, spheres] : classes) {
        const double edge_m = std::max(block_m_min, std::ldexp(1.0, exponent));
        fields_.push_back({std::make_shared<const ObstacleField>(ObstacleField::from_spheres(spheres.first, spheres.second, edge_m)), 0.0, ObstacleSource::sphere});
    }
}

void CollisionEnvironment::add_primitive(const PrimitiveSpec& spec) {
    // The snapshot's own rules decide what can be used.
    WorldSnapshot checker;
    checker.begin(0, 0.0, true);
    checker.add(spec);
    if (!checker.is_usable()) throw std::invalid_argument("obstacle " + std::to_string(primitives_.size()) + " has no size, is not finite or too far away");
    primitives_.push_back(checker.primitives()[0]);
}

void CollisionEnvironment::add_points(std::span<const double> xyz, double radius_m) {
    if (!(radius_m >= 0.0 && radius_m <= capacity::world_extent_m_max)) throw std::invalid_argument("the radius of points must be finite and not negative");
    fields_.push_back({std::make_shared<const ObstacleField>(ObstacleField::from_points(xyz)), radius_m, ObstacleSource::point});
}

void CollisionEnvironment::add_voxels(std::shared_ptr<const ObstacleField> grid) {
    if (grid == nullptr) throw std::invalid_argument("there is no grid");
    fields_.push_back({std::move(grid), 0.0, ObstacleSource::voxel});
}

NearestObstacle CollisionEnvironment::nearest(Vec3 centre, double radius_m, double cutoff_m) const noexcept {
    NearestObstacle best;
    best.distance_m = cutoff_m;
    best.on_sphere = best.on_obstacle = centre;
    double axis_m = cutoff_m + radius_m + distance_slack_m;  // of the middle, that must be undercut
    Witness found{};
    for (std::size_t index = 0; index < primitives_.size(); ++index) {
        const double bound_m = bound_distance(centre, primitives_[index]);
        if (bound_m > 0.0 && bound_m >= axis_m) continue;
        const Witness witness = signed_distance(centre, primitives_[index]);
        if (!(witness.distance_m < axis_m)) continue;
        found = witness;
        axis_m = witness.distance_m;
        best.source = ObstacleSource::primitive;
        best.index = static_cast<std::uint32_t>(index);
    }
    for (const Field& field : fields_) {
        std::uint32_t obstacle = none;
        const double reach_m = axis_m + field.radius_m;
        Witness witness = field.obstacles->distance({centre, centre}, reach_m, obstacle);
        if (!(witness.distance_m < reach_m)) continue;  // before subtracting, which may round below `core_m`
        witness.distance_m -= field.radius_m;
        const double grow_m = field.source == ObstacleSource::sphere && obstacle != none ? field.obstacles->radius_m(obstacle) : field.radius_m;
        const Vec3 apart = centre - witness.on_second;
        const double length = norm(apart);
        // A sphere's witness is its middle: its surface lies towards the other body.
        if (field.source != ObstacleSource::voxel && length > 0.0) witness.on_second = witness.on_second + (grow_m / length) * apart;
        found = witness;
        axis_m = witness.distance_m;
        best.source = field.source;
        best.index = obstacle == none ? none : field.obstacles->label(obstacle);
    }
    if (best.source == ObstacleSource::nothing) return best;
    best.distance_m = axis_m - radius_m - distance_slack_m;
    best.on_obstacle = found.on_second;
    const Vec3 apart = found.on_second - centre;
    const double length = axis_m < 0.0 ? -norm(apart) : norm(apart);
    best.on_sphere = length != 0.0 ? centre + (radius_m / length) * apart : centre;
    return best;
}

NearestObstacle CollisionEnvironment::nearest_of(std::span<const double> spheres, double cutoff_m, std::size_t& sphere) const noexcept {
    NearestObstacle best;
    best.distance_m = cutoff_m;
    sphere = spheres.size() / 4;
    for (std::size_t index = 0; index < spheres.size() / 4; ++index) {
        const double* b = spheres.data() + 4 * index;
        const NearestObstacle found = nearest({b[0], b[1], b[2]}, b[3], best.distance_m);
        if (found.source == ObstacleSource::nothing) continue;
        best = found;
        sphere = index;
    }
    return best;
}

bool CollisionEnvironment::any_within(std::span<const double> spheres, double margin_m) const noexcept {
    for (std::size_t index = 0; index < spheres.size() / 4; ++index) {
        const double* b = spheres.data() + 4 * index;
        // Nearer than the next number after the margin: touching counts.
        const double cutoff_m = std::nextafter(margin_m, 1e300);
        if (nearest({b[0], b[1], b[2]}, b[3], cutoff_m).source != ObstacleSource::nothing) return true;
    }
    return false;
}

std::size_t CollisionEnvironment::memory_bytes() const noexcept {
    std::size_t bytes = sizeof(*this) + fields_.capacity() * sizeof(Field) + primitives_.capacity() * sizeof(Primitive);
    for (const Field& field : fields_) bytes += field.obstacles->memory_bytes();
    return bytes;
}

}  // namespace lastgate
