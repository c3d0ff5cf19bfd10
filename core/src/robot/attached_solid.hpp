// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <numbers>

#include "geometry/convex.hpp"
#include "lastgate/robot_model.hpp"

namespace lastgate::detail {

/// Calls `visit` for points whose convex hull contains a solid, in its own frame: its vertices or, around each disc, the corners of a regular
/// polygon whose sides touch the disc.
template <typename Visit>
void for_each_bounding_vertex(const AttachedSolid& solid, Visit visit) noexcept {
    constexpr std::uint32_t corners = 32;
    const double corner_m = solid.disc_m / std::cos(std::numbers::pi / corners);
    for (std::uint32_t index = 0; index < solid.vertex_count; ++index) {
        if (!(solid.disc_m > 0.0)) {
            visit(solid.vertices[index]);
            continue;
        }
        for (std::uint32_t corner = 0; corner < corners; ++corner) {
            const double angle = 2.0 * std::numbers::pi * corner / corners;
            visit(solid.vertices[index] + Vec3{corner_m * std::cos(angle), corner_m * std::sin(angle), 0.0});
        }
    }
}

/// An attached solid in the frame of a body, as GJK reads it; see Hull.
struct SolidInBody {
    Transform in_body;
    Vec3 centre;  ///< Of a sphere that holds it, in the body.
    double sphere_radius_m = 0.0;
    double disc_m = 0.0;
    std::uint32_t vertex_count = 0;
    std::array<double, capacity::chain_max> reach{};
    std::array<double, capacity::hull_vertices_max> x{};
    std::array<double, capacity::hull_vertices_max> y{};
    std::array<double, capacity::hull_vertices_max> z{};

    ConvexView view() const noexcept { return {x.data(), y.data(), z.data(), vertex_count, disc_m}; }
};

}  // namespace lastgate::detail
