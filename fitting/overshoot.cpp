// SPDX-License-Identifier: Apache-2.0
#include "overshoot.hpp"

#include "point.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <queue>
#include <vector>

namespace lastgate::fitting {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double sqrt_2 = 1.4142135623730951;
// A bound is good enough when a ray is found that comes as near to it as this; more cells than these are not checked.
constexpr double tolerance_m = 1.0e-3;
constexpr std::size_t cells_max = 1500;

struct Stretch {
    double from_m = 0.0;
    double to_m = 0.0;
};

struct Cell {
    double bound_m = 0.0;
    int face = 0;
    double u = 0.0;
    double v = 0.0;
    double half = 0.0;
    bool operator<(const Cell& other) const { return bound_m < other.bound_m; }
};

/// The planes of the hulls that may reach into the sphere: outward normal, and how far inside of it the centre lies.
struct NearHulls {
    std::vector<Point> normal;
    std::vector<double> slack_m;
    std::vector<std::size_t> ends;

    NearHulls(const Solid& solid, Point centre, double radius_m) {
        std::size_t plane = 0;
        for (const std::int64_t end : solid.hull_ends) {
            const std::size_t first = normal.size();
            bool reaches = plane < static_cast<std::size_t>(end);
            for (; plane < static_cast<std::size_t>(end); ++plane) {
                const Point out{solid.planes[4 * plane], solid.planes[4 * plane + 1], solid.planes[4 * plane + 2]};
                normal.push_back(out);
                slack_m.push_back(solid.planes[4 * plane + 3] - dot(out, centre));
                reaches = reaches && slack_m.back() > -radius_m;
            }
            if (reaches) {
                ends.push_back(normal.size());
            } else {
                normal.resize(first);
                slack_m.resize(first);
            }
        }
    }
};

/// Returns how far a point of the ray, up to the radius, is at most from the stretches of it that lie in some hull.
double farthest_on_ray(const NearHulls& hulls, Point way, double radius_m, std::vector<Stretch>& inside) {
    inside.clear();
    std::size_t plane = 0;
    for (const std::size_t end : hulls.ends) {
        double from_m = 0.0;
        double to_m = radius_m;
        for (; plane < end; ++plane) {
            const double out = dot(hulls.normal[plane], way);
            const double slack_m = hulls.slack_m[plane];
            if (out > 0.0) {
                to_m = std::min(to_m, slack_m / out);
            } else if (out < 0.0) {
                from_m = std::max(from_m, slack_m / out);
            } else if (!(slack_m >= 0.0)) {
                to_m = -infinity;
            }
        }
        if (from_m <= to_m) {
            inside.push_back({from_m, to_m});
        }
    }
    if (inside.empty()) {
        return infinity;
    }
    std::sort(inside.begin(), inside.end(), [](const Stretch& a, const Stretch& b) { return a.from_m < b.from_m; });
    double farthest_m = inside.front().from_m;
    double reached_m = inside.front().to_m;
    for (const Stretch& stretch : inside) {
        farthest_m = std::max(farthest_m, 0.5 * (stretch.from_m - reached_m));
        reached_m = std::max(reached_m, stretch.to_m);
    }
    return std::max(farthest_m, radius_m - reached_m);
}

Point way_of(const Cell& cell) {
    const double length = std::sqrt(1.0 + cell.u * cell.u + cell.v * cell.v);
    const double w = (cell.face % 2 == 0 ? 1.0 : -1.0) / length;
    const double u = cell.u / length;
    const double v = cell.v / length;
    return cell.face < 2 ? Point{w, u, v} : cell.face < 4 ? Point{u, w, v} : Point{u, v, w};
}

}  // namespace

double overshoot_bound(const double* centre, double radius_m, const Solid& solid) {
    const NearHulls hulls(solid, {centre[0], centre[1], centre[2]}, radius_m);
    std::vector<Stretch> inside;
    std::priority_queue<Cell> cells;
    double seen_m = 0.0;
    const auto push = [&](Cell cell) {
        const double farthest_m = farthest_on_ray(hulls, way_of(cell), radius_m, inside);
        seen_m = std::max(seen_m, farthest_m);
        // On the face, where nothing is nearer to the centre than 1, the angle is at most the distance.
        cell.bound_m = farthest_m + radius_m * sqrt_2 * cell.half;
        cells.push(cell);
    };
    for (int face = 0; face < 6; ++face) {
        push({0.0, face, 0.0, 0.0, 1.0});
    }
    while (cells.top().bound_m > seen_m + tolerance_m && cells.size() < cells_max) {
        const Cell worst = cells.top();
        cells.pop();
        const double half = 0.5 * worst.half;
        for (const double u : {worst.u - half, worst.u + half}) {
            for (const double v : {worst.v - half, worst.v + half}) {
                push({0.0, worst.face, u, v, half});
            }
        }
    }
    return cells.top().bound_m;
}

}  // namespace lastgate::fitting
