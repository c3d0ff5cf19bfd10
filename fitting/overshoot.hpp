// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "deep_sphere.hpp"

namespace lastgate::fitting {

/// Returns a bound on how far any point of a sphere is from a union of hulls; the points of the solid's surface take no
/// part in it. Infinite if some ray from the centre meets no hull.
///
/// A point on a ray from the centre is no farther from the union than from where the ray is inside some hull. The rays
/// are the middles of square cells on the faces of a cube, and a ray of the same cell is at most the cell's half diagonal
/// (seen from the centre, in radians) away: so much times the radius is added. The worst cell is cut into four until that
/// is little.
double overshoot_bound(const double* centre, double radius_m, const Solid& solid);

}  // namespace lastgate::fitting
