// SPDX-License-Identifier: Apache-2.0
#include "winding_number.hpp"

#include <cmath>
#include <cstddef>
#include <numbers>

namespace lastgate::fitting {

/// The sum of the solid angles under which the triangles are seen, by Van Oosterom and Strackee.
double winding_number(Point at, std::span<const double> triangles) {
    double half_angles = 0.0;
    for (std::size_t row = 0; row + 9 <= triangles.size(); row += 9) {
        const double* vertex = triangles.data() + row;
        const Point a = Point{vertex[0], vertex[1], vertex[2]} - at;
        const Point b = Point{vertex[3], vertex[4], vertex[5]} - at;
        const Point c = Point{vertex[6], vertex[7], vertex[8]} - at;
        const double far_a = std::sqrt(dot(a, a));
        const double far_b = std::sqrt(dot(b, b));
        const double far_c = std::sqrt(dot(c, c));
        const double along = far_a * far_b * far_c + dot(a, b) * far_c + dot(b, c) * far_a + dot(c, a) * far_b;
        half_angles += std::atan2(dot(a, cross(b, c)), along);
    }
    return half_angles / (2.0 * std::numbers::pi);
}

}  // namespace lastgate::fitting
