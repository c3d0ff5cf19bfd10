// SPDX-License-Identifier: Apache-2.0
// Grids and clouds against eight configurations at once.
#include <algorithm>
#include <cmath>

#include "lanes_builds.hpp"
#include "lastgate/lanes.hpp"
#include "lastgate/obstacle_field.hpp"
#include "sweep.hpp"

namespace lastgate {
namespace {

/// The lane that speaks for the others: in the middle of eight rows, so that it is near all of them.
constexpr std::size_t spokesman = lane_count / 2;

/// Beyond this the lanes have little to do with each other, and asking for one of them first is a question wasted.
constexpr double together_m = 0.1;

Vec3 lane_point(const float* coordinates) noexcept {
    return {static_cast<double>(coordinates[0]), static_cast<double>(coordinates[lane_count]), static_cast<double>(coordinates[2 * lane_count])};
}

/// What one volume, or the ball around a body, needs in every lane.
struct LaneDemand {
    Segment core[lane_count];
    double demand_m[lane_count];  ///< Distance of the core from obstacles that must be exceeded.
    double shift_m[lane_count];   ///< No point of the core is farther than this from the spokesman's core.
    double farthest_m = 0.0;

    void measure_shifts() noexcept {
        const Segment& from = core[spokesman];
        farthest_m = 0.0;
        for (std::size_t lane = 0; lane < lane_count; ++lane) {
            // Distances between points that move straight are convex: the ends bound everything between them.
            shift_m[lane] = std::max(norm(core[lane].a - from.a), norm(core[lane].b - from.b));
            farthest_m = std::max(farthest_m, shift_m[lane]);
        }
    }
};

/// Lanes that a distance of the spokesman settles: clear, and by more than the smallest clearance known so far.
std::uint8_t settled_lanes(const LaneDemand& lanes, double distance_m, const float* best) noexcept {
    std::uint8_t settled = 0;
    for (std::size_t lane = 0; lane < lane_count; ++lane) {
        const double spare_m = distance_m - lanes.shift_m[lane] - lanes.demand_m[lane];
        const bool clear = spare_m > 0.0 && spare_m >= static_cast<double>(best[lane]);
        settled = static_cast<std::uint8_t>(settled | (clear ? 1U << lane : 0U));
    }
    return settled;
}

/// How far the spokesman must see to settle every lane that can be settled.
double wanted_reach(const LaneDemand& lanes, const float* best) noexcept {
    double reach_m = 0.0;
    for (std::size_t lane = 0; lane < lane_count; ++lane) {
        reach_m = std::max(reach_m, lanes.demand_m[lane] + lanes.shift_m[lane] + std::max(static_cast<double>(best[lane]), 0.0));
    }
    return reach_m;
}

}  // namespace

/// Asks about the ball of a body first, then about its volumes; and about one lane first, whose distance from
/// everything, less the way to it, is a bound for the other lanes. What that does not settle is asked lane by lane.
/// In one motion the smallest clearance is wanted of all lanes together, so each may use what another has found.
void Sweep::test_fields(const LaneGroup& group, float margin_m, bool one_motion, float* best, std::uint8_t* doubt) noexcept {
    const LaneTables tables = gate_.lanes_.tables();
    LaneDemand lanes;
    for (std::size_t body = 0; body < body_count(); ++body) {
        const auto carried = gate_.shapes_.volumes_of_body(body);
        if (carried.empty() || gate_.model_->bodies()[body].depth == 0) continue;  // see shortlist_primitives
        double needed_m[lane_count];
        for (std::size_t lane = 0; lane < lane_count; ++lane) {
            needed_m[lane] = static_cast<double>(margin_m) + static_cast<double>(group.tail[lane_count * tables.tail_first[body] + lane]);
        }
        for (std::size_t slot = 0; slot < field_slots; ++slot) {
            const ObstacleField* field = world_->field(slot);
            if (field == nullptr) continue;
            if (one_motion) std::fill_n(best, lane_count, *std::min_element(best, best + lane_count));
            for (std::size_t lane = 0; lane < lane_count; ++lane) {
                const Vec3 centre = lane_point(group.centre + 3 * lane_count * body + lane);
                lanes.core[lane] = {centre, centre};
                lanes.demand_m[lane] = needed_m[lane] + static_cast<double>(tables.bodies[body].ball_radius);
            }
            lanes.measure_shifts();
            const bool together = lanes.farthest_m < together_m;
            std::uint8_t far = together ? settled_lanes(lanes, field->clearance(lanes.core[spokesman].a), best) : 0;
            for (std::size_t lane = 0; lane < lane_count && far != 0xFF; ++lane) {
                if ((far >> lane & 1) != 0) continue;
                const double spare_m = field->clearance(lanes.core[lane].a) - lanes.demand_m[lane];
                if (spare_m > 0.0 && spare_m >= static_cast<double>(best[lane])) far = static_cast<std::uint8_t>(far | (1U << lane));
            }
            if (far == 0xFF) continue;
            gate_.lanes_.kernels().place_cores(tables, group, static_cast<std::uint32_t>(body));
            for (const std::uint16_t volume : carried) {
                const LaneVolume& shape = tables.volumes[volume];
                for (std::size_t lane = 0; lane < lane_count; ++lane) {
                    const float* core = group.core + 6 * lane_count * volume + lane;
                    lanes.core[lane] = {lane_point(core), lane_point(core + 3 * lane_count)};
                    lanes.demand_m[lane] = needed_m[lane] + static_cast<double>(shape.radius) + static_cast<double>(shape.error);
                }
                lanes.measure_shifts();
                if (one_motion) std::fill_n(best, lane_count, *std::min_element(best, best + lane_count));
                std::uint32_t obstacle = none;
                std::uint8_t settled = far;
                if (lanes.farthest_m < together_m) {
                    const double distance_m = field->distance(lanes.core[spokesman], wanted_reach(lanes, best), obstacle).distance_m;
                    settled = static_cast<std::uint8_t>(settled | settled_lanes(lanes, distance_m, best));
                    // Its own lane is settled either way; in one motion that makes the rest cheaper to settle.
                    if (distance_m > lanes.demand_m[spokesman]) {
                        settled = static_cast<std::uint8_t>(settled | (1U << spokesman));
                        best[spokesman] = std::min(best[spokesman], static_cast<float>((distance_m - lanes.demand_m[spokesman]) * (1.0 - 1e-6)));
                        if (one_motion) {
                            std::fill_n(best, lane_count, best[spokesman]);
                            settled = static_cast<std::uint8_t>(settled | settled_lanes(lanes, distance_m, best));
                        }
                    }
                }
                for (std::size_t lane = 0; lane < lane_count && settled != 0xFF; ++lane) {
                    if ((settled >> lane & 1) != 0) continue;
                    const double demand_m = lanes.demand_m[lane];
                    const double distance_m = field->distance(lanes.core[lane], demand_m + std::max(static_cast<double>(best[lane]), 0.0), obstacle).distance_m;
                    if (distance_m > demand_m) {
                        if (one_motion) best[lane] = *std::min_element(best, best + lane_count);
                        best[lane] = std::min(best[lane], static_cast<float>((distance_m - demand_m) * (1.0 - 1e-6)));
                    } else {
                        doubt[volume * field_slots + slot] = static_cast<std::uint8_t>(doubt[volume * field_slots + slot] | (1U << lane));
                    }
                }
            }
        }
    }
}

}  // namespace lastgate
