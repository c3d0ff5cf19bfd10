// SPDX-License-Identifier: Apache-2.0
// The convex hulls of a robot model: checked, placed in their bodies, and matched with the volumes they refine.
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "geometry/convex.hpp"
#include "lastgate/robot_model.hpp"

namespace lastgate {
namespace {

[[noreturn]] void refuse(std::size_t index, const char* why) {
    throw std::invalid_argument("hull " + std::to_string(index) + ": " + why);
}

void require_hull(const HullSpec& hull, std::size_t index, std::size_t link_count) {
    if (hull.link < 0 || static_cast<std::size_t>(hull.link) >= link_count) refuse(index, "is on no link");
    if (!(hull.radius_m >= 0.0 && hull.radius_m <= capacity::robot_extent_m_max)) refuse(index, "radius must be from 0 to 100 m");
    if (hull.vertices.empty() || hull.vertices.size() > capacity::hull_vertices_max) refuse(index, "needs 1 to 256 vertices");
    for (const Vec3 vertex : hull.vertices) {
        const bool inside = std::abs(vertex.x) <= capacity::robot_extent_m_max && std::abs(vertex.y) <= capacity::robot_extent_m_max &&
                            std::abs(vertex.z) <= capacity::robot_extent_m_max;
        if (!inside) refuse(index, "is not finite or beyond 100 m");
    }
}

}  // namespace

void RobotModel::place_hulls(const RobotModelSpec& spec) {
    hull_first_.assign(spec.links.size() + 1, 0);
    std::size_t on_link = 0;
    for (std::size_t index = 0; index < spec.hulls.size(); ++index) {
        const HullSpec& from = spec.hulls[index];
        require_hull(from, index, spec.links.size());
        const bool same_link = index > 0 && spec.hulls[index - 1].link == from.link;
        if (index > 0 && spec.hulls[index - 1].link > from.link) refuse(index, "stands after a hull of a later link");
        on_link = same_link ? on_link + 1 : 1;
        if (on_link > capacity::hulls_per_link_max) refuse(index, "is one more on its link than capacity::hulls_per_link_max");
        const auto link = static_cast<std::size_t>(from.link);
        Hull hull;
        hull.body = link_body_[link];
        hull.link = static_cast<std::uint16_t>(link);
        hull.radius_m = from.radius_m;
        hull.vertex_first = static_cast<std::uint32_t>(vertex_x_.size());
        hull.vertex_count = static_cast<std::uint32_t>(from.vertices.size());
        Vec3 low{1e300, 1e300, 1e300};
        Vec3 high{-1e300, -1e300, -1e300};
        for (const Vec3 in_link : from.vertices) {
            const Vec3 vertex = link_in_body_[link] * in_link;
            vertex_x_.push_back(vertex.x);
            vertex_y_.push_back(vertex.y);
            vertex_z_.push_back(vertex.z);
            low = {std::min(low.x, vertex.x), std::min(low.y, vertex.y), std::min(low.z, vertex.z)};
            high = {std::max(high.x, vertex.x), std::max(high.y, vertex.y), std::max(high.z, vertex.z)};
            // A point between two corners strays no farther from an axis than the farther of the two.
            std::array<double, capacity::chain_max> reach{};
            bound_reach(hull.body, vertex, vertex, reach);
            for (std::size_t depth = 0; depth < reach.size(); ++depth) hull.reach[depth] = std::max(hull.reach[depth], reach[depth]);
        }
        hull.centre = 0.5 * (low + high);
        for (std::size_t at = hull.vertex_first; at < vertex_x_.size(); ++at) {
            hull.sphere_radius_m = std::max(hull.sphere_radius_m, norm(Vec3{vertex_x_[at], vertex_y_[at], vertex_z_[at]} - hull.centre));
        }
        hull.sphere_radius_m += hull.radius_m;
        hulls_.push_back(hull);
    }
    for (std::size_t link = 0, at = 0; link <= spec.links.size(); ++link) {
        while (at < hulls_.size() && hulls_[at].link < link) ++at;
        hull_first_[link] = static_cast<std::uint32_t>(at);
    }
}

/// A point of a link that lies in a volume also lies in a hull, and that hull meets the volume: what a volume
/// stands for is contained in the hulls it meets.
void RobotModel::match_hulls() {
    constexpr double slack_m = 1e-6;  // far above any rounding: a hull too many is only a little slower
    static_assert(capacity::hulls_max <= 65536);
    met_hulls_.clear();
    met_first_.assign(1, 0);
    for (const Volume& volume : volumes_) {
        const double x[2] = {volume.end_a.x, volume.end_b.x};
        const double y[2] = {volume.end_a.y, volume.end_b.y};
        const double z[2] = {volume.end_a.z, volume.end_b.z};
        for (std::uint32_t at = hull_first_[volume.link]; at < hull_first_[volume.link + std::size_t{1}]; ++at) {
            const detail::ConvexDistance apart = detail::convex_distance(vertices(hulls_[at]), {x, y, z, 2}, Transform{}, {});
            if (apart.lower_m > volume.radius_m + hulls_[at].radius_m + slack_m) continue;
            met_hulls_.push_back(static_cast<std::uint16_t>(at));
        }
        met_first_.push_back(static_cast<std::uint32_t>(met_hulls_.size()));
    }
}

detail::ConvexView RobotModel::vertices(const Hull& hull) const noexcept {
    return {vertex_x_.data() + hull.vertex_first, vertex_y_.data() + hull.vertex_first, vertex_z_.data() + hull.vertex_first, hull.vertex_count};
}

}  // namespace lastgate
