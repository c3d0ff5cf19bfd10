// SPDX-License-Identifier: Apache-2.0
#include "deep_sphere.hpp"

#include "point.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lastgate::fitting {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
// The centre stops to move when it would by less than this share of what the sphere stands out: below that it does not
// matter.
constexpr double step_share_min = 0.03;
constexpr int moves_max = 64;

Point point_at(std::span<const double> rows, std::size_t columns, std::size_t index) {
    return {rows[columns * index], rows[columns * index + 1], rows[columns * index + 2]};
}

/// Returns the radius of the sphere around all vertices, or infinity as soon as it is known to be above `radius_m_max`.
double radius_around(std::span<const double> vertices, Point centre, double radius_m_max) {
    double radius_m = 0.0;
    for (std::size_t i = 0; i < vertices.size() / 4; ++i) {
        if (radius_m > radius_m_max) {
            return infinity;
        }
        const Point away = point_at(vertices, 4, i) - centre;
        radius_m = std::max(radius_m, std::sqrt(dot(away, away)) + vertices[4 * i + 3]);
    }
    return radius_m;
}

/// Returns the depth of a point, or minus infinity as soon as it is known to be below `needed_m`.
double depth_above(const Solid& solid, Point point, double needed_m) {
    double by_planes_m = -infinity;
    std::size_t plane = 0;
    for (const std::int64_t end : solid.hull_ends) {
        double slack_m = infinity;
        for (; plane < static_cast<std::size_t>(end); ++plane) {
            slack_m = std::min(slack_m, solid.planes[4 * plane + 3] - dot(point_at(solid.planes, 4, plane), point));
        }
        if (slack_m < infinity) {
            by_planes_m = std::max(by_planes_m, slack_m);
        }
    }
    if (!(by_planes_m >= 0.0)) {
        return -infinity;
    }
    // Where hulls meet, no face of one tells the depth; the points of the surface do.
    double squared = infinity;
    const double needed_2 = needed_m > by_planes_m ? needed_m * needed_m : 0.0;
    for (std::size_t i = 0; i < solid.surface.size() / 3; ++i) {
        const Point away = point_at(solid.surface, 3, i) - point;
        squared = std::min(squared, dot(away, away));
        if (squared < needed_2) {
            return -infinity;
        }
    }
    return squared < infinity ? std::max(by_planes_m, std::sqrt(squared)) : by_planes_m;
}

}  // namespace

double depth_in(const Solid& solid, const double* point) {
    return depth_above(solid, {point[0], point[1], point[2]}, 0.0);
}

DeepSphere deep_sphere(std::span<const double> vertices, std::span<const double> centres, const Solid& solid) {
    Point best;
    double best_radius_m = infinity;
    double best_out_m = infinity;
    for (std::size_t i = 0; i < centres.size() / 4; ++i) {
        const Point centre = point_at(centres, 4, i);
        const double radius_m = radius_around(vertices, centre, best_out_m + centres[4 * i + 3]);
        const double out_m = radius_m - centres[4 * i + 3];
        if (out_m < best_out_m) {
            best = centre;
            best_radius_m = radius_m;
            best_out_m = out_m;
        }
    }
    double step_m = 0.5 * best_out_m;
    for (int move = 0; move < moves_max && step_m > step_share_min * best_out_m; ++move) {
        const Point from = best;
        const double from_depth_m = best_radius_m - best_out_m;
        bool moved = false;
        for (int direction = 0; direction < 27; ++direction) {
            const Point way{static_cast<double>(direction % 3 - 1), static_cast<double>(direction / 3 % 3 - 1),
                            static_cast<double>(direction / 9 - 1)};
            const double length = std::sqrt(dot(way, way));
            if (!(length > 0.0)) {
                continue;
            }
            const Point centre = from + (step_m / length) * way;
            // A centre that moves by a step gets deeper by no more than that.
            const double radius_m = radius_around(vertices, centre, best_out_m + from_depth_m + step_m);
            const double out_m = radius_m == infinity ? infinity : radius_m - depth_above(solid, centre, radius_m - best_out_m);
            if (out_m < best_out_m) {
                best = centre;
                best_radius_m = radius_m;
                best_out_m = out_m;
                moved = true;
            }
        }
        if (!moved) {
            step_m *= 0.5;
        }
    }
    return {{best.x, best.y, best.z}, best_radius_m, best_out_m};
}

}  // namespace lastgate::fitting
