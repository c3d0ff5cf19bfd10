// SPDX-License-Identifier: Apache-2.0
#include "lastgate/hull_planes.hpp"

#include <algorithm>
#include <cmath>
#include <span>

namespace lastgate {
namespace {

/// A plane that corners stand this far beyond still counts: it is then moved out to hold them. A face too many only
/// makes a depth smaller; one too few would make it larger.
constexpr double beyond_m = 1.0e-7;

/// Faces whose directions differ by less than this count once: every three corners of a face with many give one.
constexpr double alike = 1.0e-6;

}  // namespace

std::vector<HullPlane> hull_planes(std::span<const Vec3> corners) {
    std::vector<HullPlane> planes;
    const auto add = [&](Vec3 out, double offset_m) {
        const auto same = [&](const HullPlane& known) { return norm(known.out - out) < alike; };
        if (std::none_of(planes.begin(), planes.end(), same)) planes.push_back({out, offset_m});
    };
    for (std::size_t i = 0; i < corners.size(); ++i) {
        for (std::size_t j = i + 1; j < corners.size(); ++j) {
            for (std::size_t k = j + 1; k < corners.size(); ++k) {
                const Vec3 normal = cross(corners[j] - corners[i], corners[k] - corners[i]);
                const double size = norm(normal);
                if (!(size > 0.0)) continue;
                const Vec3 unit = (1.0 / size) * normal;
                const double level = dot(unit, corners[i]);
                double highest = 0.0;
                double lowest = 0.0;
                for (const Vec3 corner : corners) {
                    const double height = dot(unit, corner) - level;
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
