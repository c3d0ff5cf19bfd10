// SPDX-License-Identifier: Apache-2.0
// The footprint of a base that moves, against the map of the floor.
#include <algorithm>
#include <cmath>

#include "lastgate/tolerance.hpp"
#include "sweep.hpp"

namespace lastgate {

/// Where a corner of the footprint is on the straight line in (x, y, yaw) that leads to a row.
Vec3 Sweep::corner_at(std::size_t corner, std::size_t segment, double t) const noexcept {
    const double* from = row(segment - 1) + gate_.model_->dof_count();
    const double* to = row(segment) + gate_.model_->dof_count();
    const double x = from[0] + t * (to[0] - from[0]);
    const double y = from[1] + t * (to[1] - from[1]);
    const auto [sine, cosine] = sincos(from[2] + t * (to[2] - from[2]));
    const Vec3 at = gate_.config_.footprint_corners[corner];
    return {x + cosine * at.x - sine * at.y, y + sine * at.x + cosine * at.y, 0.0};
}

/// Of the edges that are not shown, the one that is nearest at an instant; `shown` tells whether all edges keep their demand for `half` of the
/// segment to either side.
Witness Sweep::nearest_to_footprint(std::size_t segment, double t, double half, bool& shown, Finding& finding) noexcept {
    const auto& corners = gate_.config_.footprint_corners;
    const double radius_m = gate_.config_.footprint_radius_m;
    const double demand_m = gate_.config_.world_margin_m + extra_m_;
    const double* from = row(segment - 1) + gate_.model_->dof_count();
    const double* to = row(segment) + gate_.model_->dof_count();
    const double drive_m = std::hypot(to[0] - from[0], to[1] - from[1]);
    const double turn = std::abs(to[2] - from[2]);
    Witness nearest{1e30, {}, {}};
    shown = true;
    for (std::size_t corner = 0; corner < corners.size(); ++corner) {
        const std::size_t next = (corner + 1) % corners.size();
        // The farthest point of an edge from the axis of the turn is one of its ends.
        const double reach_m = std::max(norm(corners[corner]), norm(corners[next]));
        const double motion_m = (drive_m + turn * reach_m) * half;
        const double enough_m = demand_m + motion_m + tolerance::rounding_m;
        std::uint32_t obstacle = none;
        const double cutoff_m = enough_m + radius_m + std::max(best_m_, tolerance::resolution_m);
        Witness found = world_->field(floor_slot)->flat_distance({corner_at(corner, segment, t), corner_at(next, segment, t)}, cutoff_m, obstacle);
        found.distance_m -= radius_m;
        if (found.distance_m > enough_m) {
            best_m_ = std::min(best_m_, found.distance_m - demand_m - motion_m);
            continue;
        }
        shown = false;
        if (found.distance_m < nearest.distance_m) {
            nearest = found;
            finding.obstacle = obstacle;
            finding.item = {0, 0, static_cast<std::uint16_t>(floor_slot), motion_m, demand_m};
        }
    }
    return nearest;
}

/// Edges that stay clear let nothing in: what is inside the polygon at the end was inside it at the start. So the
/// inside is looked at once, and the edges all along.
Outcome Sweep::run_footprint(std::size_t row_last, Finding& finding) noexcept {
    const auto& corners = gate_.config_.footprint_corners;
    const auto left = static_cast<std::int64_t>(gate_.config_.evaluations_max) - static_cast<std::int64_t>(evaluations_);
    // Looking at a cell is far cheaper than at a configuration with all its volumes.
    constexpr std::int64_t cells_per_evaluation = 16;
    std::int64_t looks = left * cells_per_evaluation;
    if (corners.size() >= 3) {
        Vec3 placed[capacity::footprint_corners_max];
        for (std::size_t corner = 0; corner < corners.size(); ++corner) placed[corner] = corner_at(corner, 1, 0.0);
        if (world_->field(floor_slot)->covers_solid({placed, corners.size()}, looks)) {
            if (looks < 0) return Outcome::budget;
            finding.segment = 1;
            finding.item = {0, 0, static_cast<std::uint16_t>(floor_slot), 0.0, gate_.config_.world_margin_m + extra_m_};
            finding.witness = {0.0, placed[0], placed[0]};
            return Outcome::violated;
        }
        evaluations_ = gate_.config_.evaluations_max - static_cast<std::uint32_t>(looks / cells_per_evaluation);
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
            if (evaluations_ >= gate_.config_.evaluations_max) return Outcome::budget;
            ++evaluations_;
            const Part part = open[--count];
            bool shown = false;
            finding.witness = nearest_to_footprint(segment, part.middle, part.half, shown, finding);
            if (shown) continue;
            const bool violated = !(finding.witness.distance_m > finding.item.demand_m);
            if (violated || finding.item.motion_m < tolerance::resolution_m || count + 2 > capacity::depth_max + 2) {
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

}  // namespace lastgate
