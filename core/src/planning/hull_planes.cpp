// SPDX-License-Identifier: Apache-2.0
#include "lastgate/planning.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>

namespace lastgate {
namespace {

/// A plane that vertices stand this far beyond still counts: it is then moved out to hold them. A face too many only
/// makes a depth smaller; one too few would make it larger.
constexpr double beyond_m = 1.0e-7;

/// Faces whose directions differ by less than this count once: every three vertices of a face with many give one.
constexpr double alike = 1.0e-6;

/// Vertices nearer than this to the line through two others say nothing about the planes through it.
constexpr double beside_m = 1.0e-5;

/// By how much seen directions may be more than half a turn apart, in radians: far more than `beyond_m` at `beside_m`.
constexpr double turn_slack = 0.05;

/// So many vertices are enough to find most pairs that no face passes through.
constexpr std::size_t seen_max = 48;

/// Whether no face can pass through two corners: seen along the line through them, others lie more than half a turn apart.
/// False where that is not sure.
bool is_inner_pair(std::span<const Vec3> vertices, Vec3 start, Vec3 end) {
    const Vec3 way = end - start;
    const double length = norm(way);
    if (!(length > beside_m)) return false;
    const Vec3 axis = (1.0 / length) * way;
    Vec3 first{};
    Vec3 second{};
    bool seen = false;
    double least = 0.0;
    double most = 0.0;
    const std::size_t stride = 1 + vertices.size() / seen_max;
    for (std::size_t at = 0; at < vertices.size(); at += stride) {
        const Vec3 from_start = vertices[at] - start;
        const Vec3 aside = from_start - dot(from_start, axis) * axis;
        const double far = norm(aside);
        if (!(far > beside_m)) continue;
        if (!seen) {
            first = (1.0 / far) * aside;
            second = cross(axis, first);
            seen = true;
            continue;
        }
        const double angle = std::atan2(dot(aside, second), dot(aside, first));
        // Opposite to the first it may as well be half a turn the other way.
        if (std::fabs(angle) > std::numbers::pi - turn_slack) continue;
        least = std::min(least, angle);
        most = std::max(most, angle);
        if (most - least > std::numbers::pi + turn_slack) return true;
    }
    return false;
}

}  // namespace

std::vector<HullPlane> hull_planes(std::span<const Vec3> vertices) {
    std::vector<HullPlane> planes;
    std::vector<HullPlane> through_pair;
    const auto add = [&](Vec3 out, double offset_m) {
        through_pair.push_back({out, offset_m});
        const auto same = [&](const HullPlane& known) { return norm(known.out - out) < alike; };
        if (std::none_of(planes.begin(), planes.end(), same)) planes.push_back({out, offset_m});
    };
    for (std::size_t i = 0; i < vertices.size(); ++i) {
        for (std::size_t j = i + 1; j < vertices.size(); ++j) {
            if (is_inner_pair(vertices, vertices[i], vertices[j])) continue;
            through_pair.clear();
            for (std::size_t k = j + 1; k < vertices.size(); ++k) {
                // A face of many vertices is found once per pair of them, not once per three: a vertex this near to its
                // plane is on it, and a face of its own would differ from it by less than the plane may be moved.
                const auto on = [&](const HullPlane& plane) { return std::fabs(dot(plane.out, vertices[k]) - plane.offset_m) <= beyond_m; };
                if (std::any_of(through_pair.begin(), through_pair.end(), on)) continue;
                const Vec3 normal = cross(vertices[j] - vertices[i], vertices[k] - vertices[i]);
                const double size = norm(normal);
                if (!(size > 0.0)) continue;
                const Vec3 unit = (1.0 / size) * normal;
                const double level = dot(unit, vertices[i]);
                double highest = 0.0;
                double lowest = 0.0;
                for (const Vec3 vertex : vertices) {
                    const double height = dot(unit, vertex) - level;
                    highest = std::max(highest, height);
                    lowest = std::min(lowest, height);
                    if (highest > beyond_m && lowest < -beyond_m) break;
                }
                if (highest <= beyond_m) add(unit, level + highest);
                if (lowest >= -beyond_m) add(-unit, -level - lowest);
            }
        }
    }
    return planes;
}

}  // namespace lastgate
