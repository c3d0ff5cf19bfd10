// SPDX-License-Identifier: Apache-2.0
#include "capsules.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "point.hpp"

namespace lastgate::fitting {
namespace {

struct Capsule {
    Point start;
    Point end;
    double radius_m = 0.0;
};

/// Squared lengths below this are points; it is far under the square of any written decimal (1e-4 m).
constexpr double point_length_squared = 1e-18;

Point point_at(std::span<const double> rows, std::size_t index) {
    return {rows[3 * index], rows[3 * index + 1], rows[3 * index + 2]};
}

Capsule capsule_at(std::span<const double> rows, std::size_t index) {
    const auto row = rows.subspan(capsule_columns * index, capsule_columns);
    return {{row[0], row[1], row[2]}, {row[3], row[4], row[5]}, row[6]};
}

double distance_squared(Point point, const Capsule& capsule) {
    const Point along = capsule.end - capsule.start;
    const Point offset = point - capsule.start;
    const double length_squared = dot(along, along);
    if (length_squared < point_length_squared) {
        return dot(offset, offset);
    }
    const double fraction = std::clamp(dot(offset, along) / length_squared, 0.0, 1.0);
    const Point rest = offset - fraction * along;
    return dot(rest, rest);
}

/// Two directions that stand square on a unit axis and on each other.
struct Across {
    Point first;
    Point second;
};

Across across(Point axis) {
    // The coordinate axis that the given one leans to least keeps the cross product long.
    const double x = std::abs(axis.x);
    const double y = std::abs(axis.y);
    const double z = std::abs(axis.z);
    const Point helper = x <= y && x <= z ? Point{1.0, 0.0, 0.0} : y <= z ? Point{0.0, 1.0, 0.0} : Point{0.0, 0.0, 1.0};
    Point first = helper - dot(helper, axis) * axis;
    first = (1.0 / std::sqrt(dot(first, first))) * first;
    return {first, {axis.y * first.z - axis.z * first.y, axis.z * first.x - axis.x * first.z,
                    axis.x * first.y - axis.y * first.x}};
}

struct Flat {
    double u;
    double v;
    double height;
};

struct Centre {
    double u;
    double v;
};

double offset_squared(const Flat& point, Centre centre) {
    const double u = point.u - centre.u;
    const double v = point.v - centre.v;
    return u * u + v * v;
}

/// Badoiu and Clarkson's walk to the centre of the smallest enclosing circle: 24 steps end within a few percent of the
/// radius, which the descent that follows corrects.
Centre walked_centre(const std::vector<Flat>& points) {
    Centre low{points[0].u, points[0].v};
    Centre high = low;
    for (const Flat& point : points) {
        low = {std::min(low.u, point.u), std::min(low.v, point.v)};
        high = {std::max(high.u, point.u), std::max(high.v, point.v)};
    }
    Centre centre{0.5 * (low.u + high.u), 0.5 * (low.v + high.v)};
    for (int step = 0; step < 24; ++step) {
        const Flat* farthest = &points[0];
        double farthest_squared = -1.0;
        for (const Flat& point : points) {
            const double squared = offset_squared(point, centre);
            if (squared > farthest_squared) {
                farthest_squared = squared;
                farthest = &point;
            }
        }
        centre.u += (farthest->u - centre.u) / (step + 2.0);
        centre.v += (farthest->v - centre.v) / (step + 2.0);
    }
    return centre;
}

Capsule capsule_along(std::span<const double> points, Point axis, std::vector<Flat>& flat) {
    const Across plane = across(axis);
    for (std::size_t i = 0; i < flat.size(); ++i) {
        const Point point = point_at(points, i);
        flat[i] = {dot(point, plane.first), dot(point, plane.second), dot(point, axis)};
    }
    const Centre centre = walked_centre(flat);
    double radius_squared = 0.0;
    for (const Flat& point : flat) {
        radius_squared = std::max(radius_squared, offset_squared(point, centre));
    }
    // The capsule axis ends where the rounded ends just reach the outermost points.
    double low = std::numeric_limits<double>::infinity();
    double high = -low;
    for (const Flat& point : flat) {
        const double reach = std::sqrt(std::max(radius_squared - offset_squared(point, centre), 0.0));
        low = std::min(low, point.height + reach);
        high = std::max(high, point.height - reach);
    }
    if (high < low) {
        low = high = 0.5 * (low + high);
    }
    const Point foot = centre.u * plane.first + centre.v * plane.second;
    Capsule capsule{foot + low * axis, foot + high * axis, 0.0};
    double needed_squared = 0.0;
    for (std::size_t i = 0; i < flat.size(); ++i) {
        needed_squared = std::max(needed_squared, distance_squared(point_at(points, i), capsule));
    }
    capsule.radius_m = std::sqrt(needed_squared);
    return capsule;
}

struct Nearest {
    double s;    // where on a's capsule axis, 0 at its start
    Point rest;  // from b's nearest point to a's
};

/// Nearest points of two segments by clamping each line parameter in turn (Ericson, Real-Time Collision Detection,
/// section 5.1.9); one more turn makes the parallel case exact, where s = 0 was an arbitrary start.
Nearest nearest(const Capsule& a, const Capsule& b) {
    const Point along_a = a.end - a.start;
    const Point along_b = b.end - b.start;
    const Point between = a.start - b.start;
    const double aa = dot(along_a, along_a);
    const double bb = dot(along_b, along_b);
    const double ab = dot(along_a, along_b);
    const double a_between = dot(along_a, between);
    const double b_between = dot(along_b, between);
    const double aa_filled = std::max(aa, point_length_squared);
    const double bb_filled = std::max(bb, point_length_squared);
    const double denominator = aa * bb - ab * ab;
    double s = 0.0;
    if (denominator > 1e-12 * aa_filled * bb_filled) {
        s = std::clamp((ab * b_between - a_between * bb) / denominator, 0.0, 1.0);
    }
    double t = std::clamp((ab * s + b_between) / bb_filled, 0.0, 1.0);
    s = std::clamp((ab * t - a_between) / aa_filled, 0.0, 1.0);
    t = std::clamp((ab * s + b_between) / bb_filled, 0.0, 1.0);
    return {s, between + s * along_a - t * along_b};
}

double distance(const Capsule& a, const Capsule& b) {
    const Point rest = nearest(a, b).rest;
    return std::sqrt(dot(rest, rest));
}

Point moved(std::span<const double> pose, Point point) {
    return {dot({pose[0], pose[1], pose[2]}, point) + pose[3], dot({pose[4], pose[5], pose[6]}, point) + pose[7],
            dot({pose[8], pose[9], pose[10]}, point) + pose[11]};
}

struct Sphere {
    Point centre;
    double radius_m;
};

/// Spheres around capsules, a micrometre larger so that rounding never makes them smaller.
std::vector<Sphere> spheres_around(std::span<const double> capsules) {
    std::vector<Sphere> spheres;
    for (std::size_t i = 0; i < capsules.size() / capsule_columns; ++i) {
        const Capsule capsule = capsule_at(capsules, i);
        const Point half = 0.5 * (capsule.end - capsule.start);
        spheres.push_back({capsule.start + half, std::sqrt(dot(half, half)) + capsule.radius_m + 1e-6});
    }
    return spheres;
}

}  // namespace

void capsules_along(std::span<const double> points, std::span<const double> axes, std::span<double> capsules) {
    std::vector<Flat> flat(points.size() / 3);
    if (flat.empty()) {
        return;
    }
    for (std::size_t i = 0; i < axes.size() / 3; ++i) {
        const Capsule found = capsule_along(points, point_at(axes, i), flat);
        const double row[capsule_columns] = {found.start.x, found.start.y, found.start.z,  found.end.x,
                                             found.end.y,   found.end.z,   found.radius_m};
        std::copy(std::begin(row), std::end(row), capsules.begin() + static_cast<std::ptrdiff_t>(capsule_columns * i));
    }
}

void covered(std::span<const double> points, std::span<const double> capsules, std::span<bool> inside) {
    const std::size_t capsule_count = capsules.size() / capsule_columns;
    for (std::size_t i = 0; i < inside.size(); ++i) {
        const Point point = point_at(points, i);
        inside[i] = false;
        for (std::size_t j = 0; j < capsule_count && !inside[i]; ++j) {
            const Capsule capsule = capsule_at(capsules, j);
            inside[i] = distance_squared(point, capsule) <= capsule.radius_m * capsule.radius_m;
        }
    }
}

void clearances(std::span<const double> poses, std::span<const double> a, std::span<const double> b,
                std::span<double> clearance_m) {
    const std::size_t count_a = a.size() / capsule_columns;
    const std::size_t count_b = b.size() / capsule_columns;
    std::vector<Capsule> placed(count_b);
    double* out = clearance_m.data();
    for (std::size_t k = 0; k < poses.size() / 12; ++k) {
        const auto pose = poses.subspan(12 * k, 12);
        for (std::size_t j = 0; j < count_b; ++j) {
            const Capsule own = capsule_at(b, j);
            placed[j] = {moved(pose, own.start), moved(pose, own.end), own.radius_m};
        }
        for (std::size_t i = 0; i < count_a; ++i) {
            const Capsule own = capsule_at(a, i);
            for (const Capsule& other : placed) {
                *out++ = distance(own, other) - own.radius_m - other.radius_m;
            }
        }
    }
}

void any_within(std::span<const double> poses, std::span<const double> a, std::span<const double> b, double within_m,
                std::span<bool> found) {
    const std::vector<Sphere> spheres_a = spheres_around(a);
    const std::vector<Sphere> spheres_b = spheres_around(b);
    for (std::size_t k = 0; k < found.size(); ++k) {
        const auto pose = poses.subspan(12 * k, 12);
        found[k] = false;
        for (std::size_t j = 0; j < spheres_b.size() && !found[k]; ++j) {
            const Point centre = moved(pose, spheres_b[j].centre);
            for (std::size_t i = 0; i < spheres_a.size() && !found[k]; ++i) {
                const Point apart = centre - spheres_a[i].centre;
                const double reach_m = spheres_a[i].radius_m + spheres_b[j].radius_m + within_m;
                if (dot(apart, apart) > reach_m * reach_m) {
                    continue;
                }
                const Capsule own = capsule_at(a, i);
                const Capsule other = capsule_at(b, j);
                const Capsule placed{moved(pose, other.start), moved(pose, other.end), other.radius_m};
                found[k] = distance(own, placed) - own.radius_m - other.radius_m <= within_m;
            }
        }
    }
}

OverlapCost overlap_cost(std::span<const double> capsule, std::span<const double> others, double near_m,
                         double half_m) {
    const Capsule own = capsule_at(capsule, 0);
    OverlapCost cost;
    for (std::size_t i = 0; i < others.size() / capsule_columns; ++i) {
        const Capsule other = capsule_at(others, i);
        const Nearest found = nearest(own, other);
        const double apart_m = std::sqrt(dot(found.rest, found.rest));
        const double depth_m = own.radius_m + other.radius_m + near_m - apart_m;
        if (!(depth_m > 0.0)) {
            continue;
        }
        cost.value += depth_m / (depth_m + half_m);
        const double slope = half_m / ((depth_m + half_m) * (depth_m + half_m));
        cost.gradient[6] += slope;
        if (apart_m > 0.0) {
            const Point away = (slope / apart_m) * found.rest;
            const Point at_start = (1.0 - found.s) * away;
            const Point at_end = found.s * away;
            cost.gradient[0] -= at_start.x;
            cost.gradient[1] -= at_start.y;
            cost.gradient[2] -= at_start.z;
            cost.gradient[3] -= at_end.x;
            cost.gradient[4] -= at_end.y;
            cost.gradient[5] -= at_end.z;
        }
    }
    return cost;
}

}  // namespace lastgate::fitting
