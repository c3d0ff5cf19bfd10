// SPDX-License-Identifier: Apache-2.0
// The descent of Gilbert, Johnson and Keerthi. Nothing in it has to be exact for the lower bound to hold: any
// direction at all gives a slab, and how the next direction is found only decides how wide that slab gets.
#include "convex.hpp"

#include <algorithm>
#include <cmath>

namespace lastgate::detail {
namespace {

/// A vertex of the difference of the two polytopes, and the vertices it comes from.
struct Vertex {
    Vec3 w;
    Vec3 on_first;
    Vec3 on_second;
};

struct Simplex {
    Vertex vertex[4];
    double weight[4];
    std::uint32_t count = 0;
};

bool same(Vec3 a, Vec3 b) noexcept { return a.x == b.x && a.y == b.y && a.z == b.z; }

}  // namespace

Vec3 support_point(const ConvexView& view, Vec3 direction) noexcept {
    std::uint32_t best = 0;
    double most = -1e300;
    for (std::uint32_t index = 0; index < view.count; ++index) {
        const double along = direction.x * view.x[index] + direction.y * view.y[index] + direction.z * view.z[index];
        if (along > most) {
            most = along;
            best = index;
        }
    }
    const double across = view.disc_m > 0.0 ? std::sqrt(direction.x * direction.x + direction.y * direction.y) : 0.0;
    const double share = across > 0.0 ? view.disc_m / across : 0.0;
    return {view.x[best] + share * direction.x, view.y[best] + share * direction.y, view.z[best]};
}

namespace {

/// The point of a simplex nearest to the origin, as weights; vertices of weight zero are dropped.
struct Nearest {
    double weight[4] = {0.0, 0.0, 0.0, 0.0};
    bool holds_origin = false;
};

Nearest nearest_on_segment(Vec3 a, Vec3 b) noexcept {
    const Vec3 d = b - a;
    const double length2 = dot(d, d);
    const double t = length2 > 0.0 ? std::clamp(-dot(a, d) / length2, 0.0, 1.0) : 0.0;
    return {{1.0 - t, t, 0.0, 0.0}};
}

/// By the regions of vertices and edges around the triangle, then its inside.
Nearest nearest_on_triangle(Vec3 a, Vec3 b, Vec3 c) noexcept {
    const Vec3 ab = b - a;
    const Vec3 ac = c - a;
    const double d1 = -dot(ab, a);
    const double d2 = -dot(ac, a);
    if (d1 <= 0.0 && d2 <= 0.0) return {{1.0, 0.0, 0.0, 0.0}};
    const double d3 = -dot(ab, b);
    const double d4 = -dot(ac, b);
    if (d3 >= 0.0 && d4 <= d3) return {{0.0, 1.0, 0.0, 0.0}};
    const double vc = d1 * d4 - d3 * d2;
    if (vc <= 0.0 && d1 >= 0.0 && d3 <= 0.0) {
        const double t = d1 - d3 > 0.0 ? d1 / (d1 - d3) : 0.0;
        return {{1.0 - t, t, 0.0, 0.0}};
    }
    const double d5 = -dot(ab, c);
    const double d6 = -dot(ac, c);
    if (d6 >= 0.0 && d5 <= d6) return {{0.0, 0.0, 1.0, 0.0}};
    const double vb = d5 * d2 - d1 * d6;
    if (vb <= 0.0 && d2 >= 0.0 && d6 <= 0.0) {
        const double t = d2 - d6 > 0.0 ? d2 / (d2 - d6) : 0.0;
        return {{1.0 - t, 0.0, t, 0.0}};
    }
    const double va = d3 * d6 - d5 * d4;
    if (va <= 0.0 && d4 - d3 >= 0.0 && d5 - d6 >= 0.0) {
        const double span = (d4 - d3) + (d5 - d6);
        const double t = span > 0.0 ? (d4 - d3) / span : 0.0;
        return {{0.0, 1.0 - t, t, 0.0}};
    }
    const double sum = va + vb + vc;
    if (!(sum > 0.0)) return nearest_on_segment(a, b);  // flat to the last bit: any point of it will do
    return {{va / sum, vb / sum, vc / sum, 0.0}};
}

Vec3 blend(const Simplex& simplex, const double* weight) noexcept {
    Vec3 sum;
    for (std::uint32_t index = 0; index < simplex.count; ++index) sum = sum + weight[index] * simplex.vertex[index].w;
    return sum;
}

/// Of the four faces, those the origin lies beyond.
Nearest nearest_on_tetrahedron(const Simplex& simplex) noexcept {
    constexpr std::uint32_t faces[4][4] = {{0, 1, 2, 3}, {0, 2, 3, 1}, {0, 3, 1, 2}, {1, 3, 2, 0}};
    Nearest best;
    best.holds_origin = true;
    double least2 = 1e300;
    for (const auto& face : faces) {
        const Vec3 a = simplex.vertex[face[0]].w;
        const Vec3 b = simplex.vertex[face[1]].w;
        const Vec3 c = simplex.vertex[face[2]].w;
        const Vec3 normal = cross(b - a, c - a);
        const double inner = dot(normal, simplex.vertex[face[3]].w - a);
        const double origin = -dot(normal, a);
        // Strictly on the inner side of all four faces is inside; a flat tetrahedron has no inner side.
        if (inner * origin > 0.0) continue;
        const Nearest on_face = nearest_on_triangle(a, b, c);
        Nearest found;
        for (int index = 0; index < 3; ++index) found.weight[face[index]] = on_face.weight[index];
        const Vec3 point = blend(simplex, found.weight);
        const double squared = dot(point, point);
        if (squared < least2) {
            least2 = squared;
            best = found;
        }
    }
    return best;
}

/// Moves to the point nearest to the origin and forgets the vertices it does not need. False when the origin is inside.
bool descend(Simplex& simplex, Vec3& nearest) noexcept {
    Nearest found;
    switch (simplex.count) {
        case 1: found.weight[0] = 1.0; break;
        case 2: found = nearest_on_segment(simplex.vertex[0].w, simplex.vertex[1].w); break;
        case 3: found = nearest_on_triangle(simplex.vertex[0].w, simplex.vertex[1].w, simplex.vertex[2].w); break;
        default: found = nearest_on_tetrahedron(simplex); break;
    }
    if (found.holds_origin) return false;
    nearest = blend(simplex, found.weight);
    std::uint32_t kept = 0;
    for (std::uint32_t index = 0; index < simplex.count; ++index) {
        if (!(found.weight[index] > 0.0)) continue;
        simplex.vertex[kept] = simplex.vertex[index];
        simplex.weight[kept++] = found.weight[index];
    }
    simplex.count = kept;
    return kept > 0;
}

}  // namespace

ConvexDistance convex_distance(const ConvexView& first, const ConvexView& second, const Transform& second_in_first,
                               const ConvexGoal& goal) noexcept {
    // Relative to the distance itself, and a hundred times the rounding of coordinates of a metre.
    constexpr double close_enough = 1e-6;
    constexpr double close_enough_m = 1e-9;
    ConvexDistance result;
    if (first.count == 0 || second.count == 0) return result;
    const auto vertex_at = [&](Vec3 on_first, Vec3 in_second) noexcept {
        const Vec3 on_second = second_in_first * in_second;
        return Vertex{on_first - on_second, on_first, on_second};
    };
    Simplex simplex;
    simplex.vertex[0] = vertex_at(support_point(first, goal.towards),
                                  support_point(second, -transposed_times(second_in_first.rotation, goal.towards)));
    simplex.weight[0] = 1.0;
    simplex.count = 1;
    Vec3 nearest = simplex.vertex[0].w;
    result.upper_m = norm(nearest);
    while (result.iterations < convex_iterations_max) {
        ++result.iterations;
        const double length = result.upper_m;
        if (!(length > close_enough_m)) break;
        const Vertex vertex = vertex_at(support_point(first, -nearest), support_point(second, transposed_times(second_in_first.rotation, nearest)));
        const double slab_m = dot(nearest, vertex.w) / length;
        if (slab_m > result.lower_m) result.lower_m = slab_m;
        if (result.lower_m > goal.enough_m || !(length > goal.hopeless_m)) break;
        if (length - result.lower_m <= close_enough * length + close_enough_m) break;
        bool known = false;
        for (std::uint32_t index = 0; index < simplex.count; ++index) known = known || same(simplex.vertex[index].w, vertex.w);
        if (known || simplex.count == 4) break;
        Simplex grown = simplex;
        grown.vertex[grown.count++] = vertex;
        Vec3 moved;
        if (!descend(grown, moved)) {
            result.upper_m = 0.0;
            result.lower_m = 0.0;
            break;
        }
        const double moved_length = norm(moved);
        if (!(moved_length < length)) break;  // rounding has the last word
        simplex = grown;
        nearest = moved;
        result.upper_m = moved_length;
    }
    for (std::uint32_t index = 0; index < simplex.count; ++index) {
        result.on_first = result.on_first + simplex.weight[index] * simplex.vertex[index].on_first;
        result.on_second = result.on_second + simplex.weight[index] * simplex.vertex[index].on_second;
    }
    return result;
}

}  // namespace lastgate::detail
