// SPDX-License-Identifier: Apache-2.0
#include "lastgate/planning.hpp"

#include <algorithm>
#include <cmath>

#include "geometry/convex.hpp"
#include "geometry/tolerance.hpp"
#include "geometry/placed_vertices.hpp"
#include "sweep/motion_bound.hpp"
#include "world/obstacle_field.hpp"

namespace lastgate {

using namespace detail;

namespace {

struct Placed : PlacedVertices {
    double moved_m = 0.0;  ///< By joints that are not known exactly.
};

template <typename Item>
double moved_by(const PlacedRobot& robot, const Item& item) noexcept {
    return detail::motion_bound(robot.model, item.body, item.reach.data(), 0, robot.uncertainty);
}

/// The hulls of a link or, where there are none, its volumes.
template <typename Visit>
void for_each_shape(const PlacedRobot& robot, std::size_t link, Visit visit) noexcept {
    const RobotModel& model = robot.model;
    Placed shape;
    shape.in_base = robot.frames[model.body_of_link(link)];
    for (std::uint32_t index = model.hull_first(link); index < model.hull_first(link + 1); ++index) {
        const Hull& hull = model.hulls()[index];
        shape.vertices = model.vertices(hull);
        shape.radius_m = hull.radius_m;
        shape.moved_m = moved_by(robot, hull);
        shape.centre = shape.in_base * hull.centre;
        shape.sphere_radius_m = hull.sphere_radius_m;
        visit(shape);
    }
    if (model.hull_first(link) != model.hull_first(link + 1)) return;
    for (const Volume& volume : model.volumes()) {
        if (volume.link != link) continue;
        shape.set_segment({volume.end_a, volume.end_b});
        shape.radius_m = volume.radius_m;
        shape.moved_m = moved_by(robot, volume);
        shape.centre = shape.in_base * (0.5 * (volume.end_a + volume.end_b));
        shape.sphere_radius_m = 0.5 * norm(volume.end_b - volume.end_a) + volume.radius_m;
        visit(shape);
    }
}

Vec3 vertex_of(const Placed& shape, std::uint32_t index) noexcept {
    return shape.in_base * Vec3{shape.vertices.x[index], shape.vertices.y[index], shape.vertices.z[index]};
}

/// From where to where the vertices of a shape lie along a direction.
struct Extent {
    double low = 1e300;
    double high = -1e300;
};

Extent extent_along(const Placed& shape, Vec3 direction) noexcept {
    Extent extent;
    for (std::uint32_t index = 0; index < shape.vertices.count; ++index) {
        const double along = dot(direction, vertex_of(shape, index));
        extent.low = std::min(extent.low, along);
        extent.high = std::max(extent.high, along);
    }
    if (shape.vertices.disc_m > 0.0) {
        const double aside = norm(cross(shape.in_base.rotation.z, direction));
        extent.low -= shape.vertices.disc_m * aside;
        extent.high += shape.vertices.disc_m * aside;
    }
    return extent;
}

/// Keeps the nearest.
class Search {
  public:
    explicit Search(double cutoff_m) noexcept { best_.distance_m = cutoff_m; }

    const NearestObstacle& best() const noexcept { return best_; }

    void record(double distance_m, Vec3 on_link, Vec3 on_other, ObstacleSource source, std::uint32_t index) noexcept {
        if (!(distance_m < best_.distance_m)) return;
        best_ = {distance_m, on_link, on_other, source, index};
    }

    void compare(const Placed& a, const Placed& b, ObstacleSource source, std::uint32_t index) noexcept;

  private:
    NearestObstacle best_;
};

/// Cores that meet have no distance but a depth: how far one must be pushed at most, tried along a few directions.
/// Any direction gives a bound, so the answer is never above the truth.
double depth_bound(const Placed& a, const Placed& b, Vec3& out) noexcept {
    const Vec3 between = b.centre - a.centre;
    const double length = norm(between);
    const Vec3 tried[7] = {a.in_base.rotation.x, a.in_base.rotation.y, a.in_base.rotation.z, b.in_base.rotation.x, b.in_base.rotation.y,
                           b.in_base.rotation.z, length > 0.0 ? (1.0 / length) * between : Vec3{0.0, 0.0, 1.0}};
    double least_m = 1e300;
    for (const Vec3 direction : tried) {
        const Extent on_a = extent_along(a, direction);
        const Extent on_b = extent_along(b, direction);
        for (const double sign : {1.0, -1.0}) {
            const double depth_m = sign > 0.0 ? on_a.high - on_b.low : on_b.high - on_a.low;
            if (depth_m < least_m) {
                least_m = depth_m;
                out = sign * direction;
            }
        }
    }
    return std::max(least_m, 0.0);
}

void Search::compare(const Placed& a, const Placed& b, ObstacleSource source, std::uint32_t index) noexcept {
    const double slack_m = a.moved_m + b.moved_m + tolerance::rounding_m;
    if (norm(b.centre - a.centre) - a.sphere_radius_m - b.sphere_radius_m - slack_m >= best_.distance_m) return;
    const double radii_m = a.radius_m + b.radius_m;
    const Transform second_in_first{{transposed_times(a.in_base.rotation, b.in_base.rotation.x), transposed_times(a.in_base.rotation, b.in_base.rotation.y),
                                     transposed_times(a.in_base.rotation, b.in_base.rotation.z)},
                                    inverse_times(a.in_base, b.in_base.translation)};
    const ConvexDistance found = convex_distance(a.vertices, b.vertices, second_in_first, {best_.distance_m + slack_m + radii_m, 0.0});
    if (found.lower_m > 0.0) {
        Vec3 on_a = a.in_base * found.on_first;
        Vec3 on_b = a.in_base * found.on_second;
        const Vec3 across = on_b - on_a;
        const double across_m = norm(across);
        if (across_m > 0.0) {
            on_a = on_a + (a.radius_m / across_m) * across;
            on_b = on_b - (b.radius_m / across_m) * across;
        }
        record(found.lower_m - radii_m - slack_m, on_a, on_b, source, index);
        return;
    }
    Vec3 out;
    const double depth_m = depth_bound(a, b, out);
    const Vec3 lowest = b.in_base * support_point(b.vertices, transposed_times(b.in_base.rotation, -out));
    const Vec3 deepest = lowest - b.radius_m * out;
    record(-depth_m - radii_m - slack_m, deepest + (depth_m + radii_m) * out, deepest, source, index);
}

void compare_with_half_space(Search& search, const Placed& shape, const Transform& in_base, std::uint32_t index) noexcept {
    const Vec3 out = in_base.rotation.z;
    Vec3 lowest = vertex_of(shape, 0);
    for (std::uint32_t vertex = 1; vertex < shape.vertices.count; ++vertex) {
        const Vec3 at = vertex_of(shape, vertex);
        if (dot(out, at) < dot(out, lowest)) lowest = at;
    }
    const double height_m = dot(out, lowest - in_base.translation);
    search.record(height_m - shape.radius_m - shape.moved_m - tolerance::rounding_m, lowest - shape.radius_m * out, lowest - height_m * out,
                  ObstacleSource::primitive, index);
}

void compare_with_primitive(Search& search, const Placed& shape, const Primitive& primitive, std::uint32_t index) noexcept {
    if (primitive.kind == PrimitiveKind::half_space) return compare_with_half_space(search, shape, primitive.in_base, index);
    Placed obstacle;
    if (!obstacle.set_primitive(primitive)) return search.record(-1e30, shape.centre, shape.centre, ObstacleSource::primitive, index);
    search.compare(shape, obstacle, ObstacleSource::primitive, index);
}

/// A field keeps the surface of what is solid: a shape that meets none of it and has one vertex outside all solid voxels
/// is outside altogether, because it is connected.
void compare_with_field(Search& search, const Placed& shape, const ObstacleField& field, double point_radius_m, ObstacleSource source) noexcept {
    Vec3 low{1e300, 1e300, 1e300};
    Vec3 high{-1e300, -1e300, -1e300};
    for (std::uint32_t index = 0; index < shape.vertices.count; ++index) {
        const Vec3 p = vertex_of(shape, index);
        low = {std::min(low.x, p.x), std::min(low.y, p.y), std::min(low.z, p.z)};
        high = {std::max(high.x, p.x), std::max(high.y, p.y), std::max(high.z, p.z)};
    }
    const double slack_m = shape.radius_m + shape.moved_m + tolerance::rounding_m;
    const Vec3 vertex = vertex_of(shape, 0);
    if (source == ObstacleSource::voxel) {
        // How deep is not measured; as deep as the shape is wide is not above the truth.
        if (field.is_solid(vertex)) search.record(-2.0 * shape.sphere_radius_m - slack_m, vertex, vertex, source, none);
        const double room_m = field.room(low, high);
        search.record(room_m >= 0.0 ? room_m - slack_m : -2.0 * shape.sphere_radius_m - slack_m, vertex, vertex, source, none);
    }
    Placed obstacle;
    if (source == ObstacleSource::voxel) {
        obstacle.set_box({field.half_m(), field.half_m(), field.half_m()});
        obstacle.sphere_radius_m = field.half_m() * 1.7320508075688773;
    } else {
        obstacle.set_segment({});
        obstacle.vertices.count = 1;
    }
    const double reach_m = std::max(search.best().distance_m, 0.0) + slack_m + point_radius_m;
    const Vec3 reach{reach_m, reach_m, reach_m};
    (void)field.every_obstacle_in(low - reach, high + reach, [&](Vec3 centre, std::uint32_t index) noexcept {
        obstacle.in_base.translation = obstacle.centre = centre;
        if (source != ObstacleSource::voxel) {
            obstacle.radius_m = obstacle.sphere_radius_m = source == ObstacleSource::sphere ? field.radius_m(index) : point_radius_m;
        }
        search.compare(shape, obstacle, source, field.label(index));
        return true;
    });
}

}  // namespace

NearestObstacle distance_link_environment(const PlacedRobot& robot, std::size_t link, const CollisionEnvironment& environment, double cutoff_m) noexcept {
    Search search(cutoff_m);
    for_each_shape(robot, link, [&](const Placed& shape) noexcept {
        std::uint32_t index = 0;
        for (const Primitive& primitive : environment.primitives()) compare_with_primitive(search, shape, primitive, index++);
        for (const CollisionEnvironment::Field& field : environment.fields()) compare_with_field(search, shape, *field.obstacles, field.radius_m, field.source);
    });
    return search.best();
}

NearestObstacle distance_link_link(const PlacedRobot& robot, std::size_t link_a, std::size_t link_b, double cutoff_m) noexcept {
    Search search(cutoff_m);
    for_each_shape(robot, link_a, [&](const Placed& a) noexcept {
        for_each_shape(robot, link_b, [&](const Placed& b) noexcept { search.compare(a, b, ObstacleSource::link, 0); });
    });
    return search.best();
}

}  // namespace lastgate
