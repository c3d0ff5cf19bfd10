// SPDX-License-Identifier: Apache-2.0
#include "plane_section.hpp"

#include "point.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace lastgate::fitting {
namespace {

struct Crossing {
    double u = 0.0;
    double v = 0.0;
    Point point;
};

Point vertex_at(std::span<const double> rows, std::size_t index) {
    return {rows[3 * index], rows[3 * index + 1], rows[3 * index + 2]};
}

/// Appends the vertices of one side of the outline; the last belongs to the other side.
template <typename Iterator>
void append_side(Iterator first, Iterator last, std::vector<double>& vertices) {
    std::vector<Crossing> side;
    for (Iterator next = first; next != last; ++next) {
        while (side.size() >= 2) {
            const Crossing& a = side[side.size() - 2];
            const Crossing& b = side.back();
            if ((b.u - a.u) * (next->v - a.v) - (b.v - a.v) * (next->u - a.u) > 0.0) {
                break;
            }
            side.pop_back();
        }
        side.push_back(*next);
    }
    for (std::size_t i = 0; i + 1 < side.size(); ++i) {
        vertices.insert(vertices.end(), {side[i].point.x, side[i].point.y, side[i].point.z});
    }
}

}  // namespace

std::vector<double> plane_section(std::span<const double> vertices, std::span<const double> height,
                                  std::span<const double, 3> axis) {
    const Point normal{axis[0], axis[1], axis[2]};
    const double x = std::fabs(normal.x);
    const double y = std::fabs(normal.y);
    const double z = std::fabs(normal.z);
    const Point other = x <= y && x <= z ? Point{1.0, 0.0, 0.0} : y <= z ? Point{0.0, 1.0, 0.0} : Point{0.0, 0.0, 1.0};
    const Point first = cross(normal, other);
    const Point second = cross(normal, first);
    std::vector<Crossing> crossings;
    for (std::size_t below = 0; below < height.size(); ++below) {
        for (std::size_t above = 0; height[below] < 0.0 && above < height.size(); ++above) {
            if (height[above] > 0.0) {
                const double share = height[below] / (height[below] - height[above]);
                const Point start = vertex_at(vertices, below);
                const Point point = start + share * (vertex_at(vertices, above) - start);
                crossings.push_back({dot(point, first), dot(point, second), point});
            }
        }
    }
    std::sort(crossings.begin(), crossings.end(),
              [](const Crossing& a, const Crossing& b) { return a.u < b.u || (a.u == b.u && a.v < b.v); });
    const auto same = [](const Crossing& a, const Crossing& b) { return a.u == b.u && a.v == b.v; };
    crossings.erase(std::unique(crossings.begin(), crossings.end(), same), crossings.end());
    std::vector<double> section;
    if (crossings.size() == 1) {
        section = {crossings[0].point.x, crossings[0].point.y, crossings[0].point.z};
    } else {
        append_side(crossings.begin(), crossings.end(), section);
        append_side(crossings.rbegin(), crossings.rend(), section);
    }
    return section;
}

}  // namespace lastgate::fitting
