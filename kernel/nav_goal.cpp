// SPDX-License-Identifier: Apache-2.0
#include "nav_goal.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

namespace lastgate::kernel {
namespace {

/// Closer than this share of a cell counts as touching: far above all rounding here, far below what a map knows.
constexpr double touch_cells = 1e-9;
/// A goal that leans by more than this is not one on a floor.
constexpr double tilt_max = 1e-6;
/// Farther out is no coordinate in metres, and a quaternion this far off length 1 is no rotation.
constexpr double coordinate_m_max = 1.0e6;
constexpr double quaternion_norm_tolerance = 1e-6;
/// Cells that one question may check: ten metres squared at a centimetre, and some tens of milliseconds at worst.
constexpr double window_cells_max = 1 << 20;

struct Point {
    double u = 0.0;  ///< Along the columns, in cells.
    double v = 0.0;  ///< Along the rows.
};

Point in_cells(const FloorMapMessage& map, double x, double y) noexcept {
    const double c = std::cos(map.origin_yaw), s = std::sin(map.origin_yaw);
    const double dx = x - map.origin_xy[0], dy = y - map.origin_xy[1];
    return {(c * dx + s * dy) / map.resolution_m, (c * dy - s * dx) / map.resolution_m};
}

bool is_inside(const FloorMapMessage& map, Point low, Point high) noexcept {
    return (high.u - low.u + 2.0) * (high.v - low.v + 2.0) <= window_cells_max && low.u > 0.0 && low.v > 0.0 && high.u < static_cast<double>(map.size[0]) && high.v < static_cast<double>(map.size[1]);
}

/// Asks about every blocked cell of a window, by its lower corner; true when one answer is yes.
template <typename Touches>
bool any_blocked(const FloorMapMessage& map, Point low, Point high, Touches touches) noexcept {
    for (auto row = static_cast<std::size_t>(std::floor(low.v)); row <= static_cast<std::size_t>(std::floor(high.v)); ++row) {
        for (auto column = static_cast<std::size_t>(std::floor(low.u)); column <= static_cast<std::size_t>(std::floor(high.u)); ++column) {
            if (map.is_blocked(column, row) && touches(Point{static_cast<double>(column), static_cast<double>(row)})) return true;
        }
    }
    return false;
}

bool is_disc_free(const FloorMapMessage& map, Point at, double radius) noexcept {
    radius += touch_cells;
    const Point low{at.u - radius, at.v - radius}, high{at.u + radius, at.v + radius};
    if (!is_inside(map, low, high)) return false;
    return !any_blocked(map, low, high, [&](Point cell) {
        const double away_u = std::max({cell.u - at.u, at.u - cell.u - 1.0, 0.0});
        const double away_v = std::max({cell.v - at.v, at.v - cell.v - 1.0, 0.0});
        return away_u * away_u + away_v * away_v <= radius * radius;
    });
}

/// How far a segment is from a unit cell that it does not cross: the nearest points are a vertex of one and something
/// of the other.
double distance_to_cell(Point start, Point end, Point centre) noexcept {
    double nearest = std::numeric_limits<double>::infinity();
    for (const Point place : {start, end}) {
        nearest = std::min(nearest, std::hypot(std::max(std::abs(centre.u - place.u) - 0.5, 0.0), std::max(std::abs(centre.v - place.v) - 0.5, 0.0)));
    }
    const Point along{end.u - start.u, end.v - start.v};
    const double length2 = along.u * along.u + along.v * along.v;
    for (const double du : {-0.5, 0.5}) {
        for (const double dv : {-0.5, 0.5}) {
            const Point from{centre.u + du - start.u, centre.v + dv - start.v};
            const double t = length2 > 0.0 ? std::clamp((from.u * along.u + from.v * along.v) / length2, 0.0, 1.0) : 0.0;
            nearest = std::min(nearest, std::hypot(from.u - t * along.u, from.v - t * along.v));
        }
    }
    return nearest;
}

bool polygon_touches(std::span<const Point> vertices, Point cell, double margin) noexcept {
    const Point centre{cell.u + 0.5, cell.v + 0.5};
    constexpr double half = 0.5 + touch_cells;
    bool inside = false;
    for (std::size_t i = 0; i < vertices.size(); ++i) {
        const Point start = vertices[i], end = vertices[(i + 1) % vertices.size()];
        const Point middle{(start.u + end.u) / 2, (start.v + end.v) / 2}, arm{(end.u - start.u) / 2, (end.v - start.v) / 2};
        const Point away{centre.u - middle.u, centre.v - middle.v};
        // Three axes separate a segment from a square: x, y and the segment's normal.
        const bool apart = std::abs(away.u) > half + std::abs(arm.u) || std::abs(away.v) > half + std::abs(arm.v) ||
                           std::abs(away.v * arm.u - away.u * arm.v) > half * (std::abs(arm.u) + std::abs(arm.v));
        if (!apart || (margin > 0.0 && distance_to_cell(start, end, centre) <= margin + touch_cells)) return true;
        if ((start.v > centre.v) != (end.v > centre.v)) inside ^= centre.u < start.u + (centre.v - start.v) / (end.v - start.v) * (end.u - start.u);
    }
    // A cell that no edge touches is covered exactly when its centre is.
    return inside;
}

bool is_polygon_free(const FloorMapMessage& map, std::span<const Point> vertices, double margin) noexcept {
    Point low = vertices[0], high = vertices[0];
    for (const Point vertex : vertices) {
        low = {std::min(low.u, vertex.u), std::min(low.v, vertex.v)};
        high = {std::max(high.u, vertex.u), std::max(high.v, vertex.v)};
    }
    const double reach = margin + touch_cells;
    low = {low.u - reach, low.v - reach};
    high = {high.u + reach, high.v + reach};
    if (!is_inside(map, low, high)) return false;
    return !any_blocked(map, low, high, [&](Point cell) { return polygon_touches(vertices, cell, margin); });
}

}  // namespace

OccupancyMap::OccupancyMap(const FloorMapMessage& message) : frame_id(message.frame_id), bits(message.blocked_bits.begin(), message.blocked_bits.end()), map(message) {
    map.frame_id = frame_id;
    map.blocked_bits = bits;
}

NavAnswer evaluate_nav_goal(const NavGoalRequest& goal, const FloorMapMessage* known, const GateConfig& config, std::string_view robot, double now_s, double held_s) noexcept {
    char text[240];
    const auto answer = [&](bool ok, const char* format, auto... values) {
        std::snprintf(text, sizeof text, format, values...);
        // Names may be cut in the middle of a character there.
        return NavAnswer{ok, CdrReader::is_utf8(text) ? std::string_view(text) : "the answer cannot be written"};
    };
    const auto size_of = [](std::string_view name) { return static_cast<int>(std::min<std::size_t>(name.size(), 80)); };
    if (known == nullptr) return answer(false, "%s", "there is no map: whether the goal is free is unknown");
    const FloorMapMessage& map = *known;
    if (goal.frame_id != map.frame_id) {
        return answer(false, "the goal is in frame `%.*s`, the map in `%.*s`", size_of(goal.frame_id), goal.frame_id.data(), size_of(map.frame_id), map.frame_id.data());
    }
    const double age_s = now_s - map.stamp_s;
    if (!(0.0 <= age_s && age_s <= map.age_s_max)) return answer(false, "the map is %.4f s old, allowed 0.0000 to %.4f s", age_s, map.age_s_max);
    if (!(0.0 <= held_s && held_s <= config.world_age_s_max)) return answer(false, "the map came %.4f s ago, allowed 0.0000 to %.4f s", held_s, config.world_age_s_max);
    const auto [x, y, z_ignored] = goal.xyz;
    const auto [qx, qy, qz, qw] = goal.quat_xyzw;
    const bool placed_somewhere = std::abs(x) <= coordinate_m_max && std::abs(y) <= coordinate_m_max && std::isfinite(z_ignored);
    if (!placed_somewhere || !(std::abs(std::hypot(std::hypot(qx, qy), std::hypot(qz, qw)) - 1.0) <= quaternion_norm_tolerance)) {
        return answer(false, "%s", "the goal is no pose: its numbers are not finite, too large, or its quaternion has not length 1");
    }
    if (!(std::hypot(qx, qy) <= tilt_max)) return answer(false, "%s", "the goal leans: a base stands level on the map");
    const Point at = in_cells(map, x, y);
    if (!(at.u >= 0.0 && at.v >= 0.0 && at.u < static_cast<double>(map.size[0]) && at.v < static_cast<double>(map.size[1]))) return answer(false, "the goal (%.3f, %.3f) is off the map", x, y);
    const auto& vertices = config.footprint_vertices;
    if (vertices.empty() || vertices.size() > capacity::footprint_vertices_max) {
        return answer(false, "robot `%.*s` declares neither footprint_radius nor footprint_polygon", size_of(robot), robot.data());
    }
    const double margin_m = config.world_margin_m;
    char what[80];
    bool free = false;
    if (vertices.size() >= 3) {
        const double yaw = 2.0 * std::atan2(qz, qw);
        const double c = std::cos(yaw), s = std::sin(yaw);
        std::array<Point, capacity::footprint_vertices_max> placed;
        for (std::size_t i = 0; i < vertices.size(); ++i) placed[i] = in_cells(map, x + c * vertices[i].x - s * vertices[i].y, y + s * vertices[i].x + c * vertices[i].y);
        free = is_polygon_free(map, {placed.data(), vertices.size()}, margin_m / map.resolution_m);
        std::snprintf(what, sizeof what, "the footprint of %zu vertices", vertices.size());
    } else {
        free = is_disc_free(map, at, (config.footprint_radius_m + margin_m) / map.resolution_m);
        std::snprintf(what, sizeof what, "the footprint of radius %.3f m", config.footprint_radius_m);
    }
    const char* verdict = free ? "touches free cells only" : "touches what is occupied, unknown or off the map";
    if (margin_m > 0.0) return answer(free, "%s, and %.3f m around it, %s", what, margin_m, verdict);
    return answer(free, "%s %s", what, verdict);
}

}  // namespace lastgate::kernel
