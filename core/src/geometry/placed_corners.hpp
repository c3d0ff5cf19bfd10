// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "convex.hpp"
#include "distance.hpp"
#include "lastgate/world_snapshot.hpp"

namespace lastgate::detail {

/// A convex shape where it stands: every point within `radius_m` of the hull of its corners. Not copied: it may point
/// into itself.
struct PlacedCorners {
    PlacedCorners() = default;
    PlacedCorners(const PlacedCorners&) = delete;
    PlacedCorners& operator=(const PlacedCorners&) = delete;

    ConvexView corners;
    Transform in_base;
    double radius_m = 0.0;
    Vec3 centre;  ///< Of a sphere around it, in the base frame.
    double sphere_radius_m = 0.0;

    void set_segment(const Segment& core) noexcept {
        x[0] = core.a.x, y[0] = core.a.y, z[0] = core.a.z;
        x[1] = core.b.x, y[1] = core.b.y, z[1] = core.b.z;
        corners = {x, y, z, 2};
    }
    void set_box(Vec3 half) noexcept {
        for (int corner = 0; corner < 8; ++corner) {
            x[corner] = (corner & 1) != 0 ? half.x : -half.x;
            y[corner] = (corner & 2) != 0 ? half.y : -half.y;
            z[corner] = (corner & 4) != 0 ? half.z : -half.z;
        }
        corners = {x, y, z, 8};
    }
    /// False for what has no corners: a half-space, and any unknown kind.
    [[nodiscard]] bool set_primitive(const Primitive& primitive) noexcept {
        if (primitive.kind == PrimitiveKind::sphere || primitive.kind == PrimitiveKind::capsule) {
            set_segment(primitive.core);
            radius_m = primitive.radius_m;
            centre = 0.5 * (primitive.core.a + primitive.core.b);
            sphere_radius_m = 0.5 * norm(primitive.core.b - primitive.core.a) + primitive.radius_m;
            return true;
        }
        if (primitive.kind != PrimitiveKind::box) return false;
        set_box(primitive.half_extents_m);
        in_base = primitive.in_base;
        centre = primitive.in_base.translation;
        sphere_radius_m = norm(primitive.half_extents_m);
        return true;
    }

  private:
    double x[8];  ///< Written before they are read: only what a segment or box needs.
    double y[8];
    double z[8];
};

}  // namespace lastgate::detail
