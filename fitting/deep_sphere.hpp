// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace lastgate::fitting {

/// A union of convex hulls, as far as the choice of a sphere needs it.
struct Solid {
    std::span<const double> planes;               ///< rows of four: outward normal, offset; hull after hull
    std::span<const std::int64_t> hull_ends;      ///< where the planes of each hull end
    std::span<const double> surface;              ///< rows of three: points on the surface of the union
};

struct DeepSphere {
    double centre[3] = {0.0, 0.0, 0.0};
    double radius_m = 0.0;
    double overshoot_m = 0.0;  ///< by which it stands out of the solid, as far as the points of the surface tell
};

/// Returns how deep a point lies in a solid, by its surface points; minus infinity outside of every hull.
double depth_in(const Solid& solid, const double* point);

/// Returns, of the spheres that hold all vertices (rows of four: a point, and by how much it is grown), one that stands
/// out of the solid by little: it starts from the best of the centres (rows of four: a point, and how deep it lies) and
/// moves until no direction helps. It holds every vertex up to rounding, wherever it goes.
DeepSphere deep_sphere(std::span<const double> vertices, std::span<const double> centres, const Solid& solid);

}  // namespace lastgate::fitting
