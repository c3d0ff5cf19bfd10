// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "geometry/placed_vertices.hpp"
#include "robot/shape_set.hpp"

namespace lastgate::detail {

/// A hull, a volume that has no hulls, or an obstacle, at one instant.
struct PlacedShape : PlacedVertices {
    std::uint16_t body = 0;
    const double* reach = nullptr;  ///< None for what does not move.
    bool is_half_space = false;     ///< Its one vertex is a point of the face, and its z axis points out.

    void set_volume(const Volume& own, const Transform* frames) noexcept {
        body = own.body;
        in_base = frames[own.body];
        set_segment({own.end_a, own.end_b});
        radius_m = own.radius_m;
        centre = in_base * (0.5 * (own.end_a + own.end_b));
        sphere_radius_m = 0.5 * norm(own.end_b - own.end_a) + own.radius_m;
        reach = own.reach.data();
    }
    void set_solid(const SolidInBody& solid, std::uint16_t carrier, const Transform* frames) noexcept {
        body = carrier;
        in_base = frames[carrier] * solid.in_body;
        vertices = solid.view();
        radius_m = 0.0;
        centre = frames[carrier] * solid.centre;
        sphere_radius_m = solid.sphere_radius_m;
        reach = solid.reach.data();
    }
    /// False for an unknown kind.
    [[nodiscard]] bool set_obstacle(const Primitive& primitive) noexcept {
        is_half_space = primitive.kind == PrimitiveKind::half_space;
        if (!is_half_space) return set_primitive(primitive);
        set_segment({});
        vertices.count = 1;
        in_base = primitive.in_base;
        return true;
    }
};

}  // namespace lastgate::detail
