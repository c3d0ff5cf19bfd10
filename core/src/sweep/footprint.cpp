// SPDX-License-Identifier: Apache-2.0
// The footprint of a base that moves, against the occupancy map.
#include <algorithm>
#include <cmath>

#include "geometry/tolerance.hpp"
#include "clearance.hpp"
#include "sweep.hpp"

namespace lastgate::detail {
namespace {

/// Where a vertex of the footprint is on the straight line in (x, y, yaw) that leads to a row.
Vec3 vertex_at(const Sweep& sweep, std::size_t vertex, std::size_t segment, double t) noexcept {
    const double* from = sweep.row(segment - 1) + sweep.setup.model->dof_count();
    const double* to = sweep.row(segment) + sweep.setup.model->dof_count();
    const double x = from[0] + t * (to[0] - from[0]);
    const double y = from[1] + t * (to[1] - from[1]);
    const auto [sine, cosine] = sincos(from[2] + t * (to[2] - from[2]));
    const Vec3 at = sweep.setup.config.footprint_vertices[vertex];
    return {x + cosine * at.x - sine * at.y, y + sine * at.x + cosine * at.y, 0.0};
}

/// Of the edges that are not certified, the one that is nearest at an instant; `all_certified` tells whether all edges keep
/// their required distance for `half` of the segment to either side.
Witness nearest_to_footprint(Sweep& sweep, std::size_t segment, double t, double half, bool& all_certified, Finding& finding) noexcept {
    const auto& vertices = sweep.setup.config.footprint_vertices;
    const double radius_m = sweep.setup.config.footprint_radius_m;
    const double required_m = sweep.setup.config.world_margin_m + sweep.extra_m;
    const double* from = sweep.row(segment - 1) + sweep.setup.model->dof_count();
    const double* to = sweep.row(segment) + sweep.setup.model->dof_count();
    const double drive_m = std::hypot(to[0] - from[0], to[1] - from[1]);
    const double turn = std::abs(to[2] - from[2]);
    Witness nearest{1e30, {}, {}};
    all_certified = true;
    for (std::size_t vertex = 0; vertex < vertices.size(); ++vertex) {
        const std::size_t next = (vertex + 1) % vertices.size();
        // The farthest point of an edge from the axis of the turn is one of its ends.
        const double reach_m = std::max(norm(vertices[vertex]), norm(vertices[next]));
        const double motion_m = (drive_m + turn * reach_m) * half;
        const double enough_m = needed_distance(required_m, motion_m);
        std::uint32_t obstacle = none;
        const double cutoff_m = enough_m + radius_m + std::max(sweep.min_clearance_m, tolerance::resolution_m);
        Witness found = sweep.world->field(floor_slot)->flat_distance({vertex_at(sweep, vertex, segment, t), vertex_at(sweep, next, segment, t)}, cutoff_m, obstacle);
        found.distance_m -= radius_m;
        if (certified(found.distance_m, required_m, motion_m)) {
            sweep.min_clearance_m = std::min(sweep.min_clearance_m, found.distance_m - required_m - motion_m);
            continue;
        }
        all_certified = false;
        if (found.distance_m < nearest.distance_m) {
            nearest = found;
            finding.obstacle = obstacle;
            finding.item = {0, 0, static_cast<std::uint16_t>(floor_slot), motion_m, required_m};
        }
    }
    return nearest;
}

}  // namespace

/// Edges that stay clear let nothing in: what is inside the polygon at the end was inside it at the start. So the
/// inside is checked once, and the edges all along.
Outcome Sweep::run_footprint(std::size_t row_last, Finding& finding) noexcept {
    const auto& vertices = setup.config.footprint_vertices;
    const auto left = static_cast<std::int64_t>(setup.config.evaluations_max) - static_cast<std::int64_t>(evaluations);
    // Checking a cell is far cheaper than at a configuration with all its volumes.
    constexpr std::int64_t cells_per_evaluation = 16;
    std::int64_t queries = left * cells_per_evaluation;
    if (vertices.size() >= 3) {
        Vec3 placed[capacity::footprint_vertices_max];
        for (std::size_t vertex = 0; vertex < vertices.size(); ++vertex) placed[vertex] = vertex_at(*this, vertex, 1, 0.0);
        if (world->field(floor_slot)->covers_solid({placed, vertices.size()}, queries)) {
            if (queries < 0) return Outcome::budget;
            finding.segment = 1;
            finding.item = {0, 0, static_cast<std::uint16_t>(floor_slot), 0.0, setup.config.world_margin_m + extra_m};
            finding.witness = {0.0, placed[0], placed[0]};
            return Outcome::violated;
        }
        evaluations = setup.config.evaluations_max - static_cast<std::uint32_t>(queries / cells_per_evaluation);
    }
    struct Part {
        double middle;
        double half;
    };
    for (std::size_t segment = 1; segment <= row_last; ++segment) {
        finding.segment = static_cast<std::uint32_t>(segment);
        Part open[capacity::depth_max + 2];
        std::size_t count = 0;
        open[count++] = {0.5, 0.5};
        while (count > 0) {
            if (evaluations >= setup.config.evaluations_max) return Outcome::budget;
            ++evaluations;
            const Part part = open[--count];
            bool all_certified = false;
            finding.witness = nearest_to_footprint(*this, segment, part.middle, part.half, all_certified, finding);
            if (all_certified) continue;
            if (violated(finding.witness.distance_m, finding.item.required_m) || finding.item.motion_m < tolerance::resolution_m || count + 2 > capacity::depth_max + 2) {
                finding.segment_t = part.middle;
                finding.first_contact_t = part.middle - part.half;
                return Outcome::violated;
            }
            const double quarter = 0.5 * part.half;
            open[count++] = {part.middle + quarter, quarter};  // the earlier half lies on top
            open[count++] = {part.middle - quarter, quarter};
        }
    }
    return Outcome::clear;
}

}  // namespace lastgate::detail
