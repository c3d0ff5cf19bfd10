// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "convex.hpp"
#include "distance.hpp"
#include "lastgate/world_snapshot.hpp"

#include <cmath>

namespace lastgate::detail {

/// A convex shape where it stands: every point within `radius_m` of the hull of its vertices. Not copied: it may point
/// into itself.
struct PlacedVertices {
    PlacedVertices() = default;
    PlacedVertices(const PlacedVertices&) = delete;
    PlacedVertices& operator=(const PlacedVertices&) = delete;

    ConvexView vertices;
    Transform in_base;
    double radius_m = 0.0;
    Vec3 centre;  ///< Of a sphere around it, in the base frame.
    double sphere_radius_m = 0.0;

    void set_segment(const Segment& capsule_axis) noexcept {
        x[0] = capsule_axis.a.x, y[0] = capsule_axis.a.y, z[0] = capsule_axis.a.z;
        x[1] = capsule_axis.b.x, y[1] = capsule_axis.b.y, z[1] = capsule_axis.b.z;
        vertices = {x, y, z, 2};
    }
    void set_box(Vec3 half) noexcept {
        for (int vertex = 0; vertex < 8; ++vertex) {
            x[vertex] = (vertex & 1) != 0 ? half.x : -half.x;
            y[vertex] = (vertex & 2) != 0 ? half.y : -half.y;
            z[vertex] = (vertex & 4) != 0 ? half.z : -half.z;
        }
        vertices = {x, y, z, 8};
    }
    void set_cylinder(double radius, double half) noexcept {
        set_segment({{0.0, 0.0, -half}, {0.0, 0.0, half}});
        vertices.disc_m = radius;
    }
    /// False for what has no vertices: a half-space, and any unknown kind.
    [[nodiscard]] bool set_primitive(const Primitive& primitive) noexcept {
        if (primitive.kind == PrimitiveKind::sphere || primitive.kind == PrimitiveKind::capsule) {
            set_segment(primitive.capsule_axis);
            radius_m = primitive.radius_m;
            centre = 0.5 * (primitive.capsule_axis.a + primitive.capsule_axis.b);
            sphere_radius_m = 0.5 * norm(primitive.capsule_axis.b - primitive.capsule_axis.a) + primitive.radius_m;
            return true;
        }
        if (primitive.kind != PrimitiveKind::box && primitive.kind != PrimitiveKind::cylinder) return false;
        in_base = primitive.in_base;
        centre = primitive.in_base.translation;
        if (primitive.kind == PrimitiveKind::box) {
            set_box(primitive.half_extents_m);
            sphere_radius_m = norm(primitive.half_extents_m);
        } else {
            set_cylinder(primitive.radius_m, primitive.half_extents_m.z);
            sphere_radius_m = std::sqrt(primitive.radius_m * primitive.radius_m + primitive.half_extents_m.z * primitive.half_extents_m.z);
        }
        return true;
    }

  private:
    double x[8];  ///< Written before they are read: only what a segment or box needs.
    double y[8];
    double z[8];
};

}  // namespace lastgate::detail
