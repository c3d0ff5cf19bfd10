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

/// Beyond this the lanes have little to do with each other, and asking for one of them first is a question wasted.
constexpr float together_m = 0.1F;

Vec3 lane_point(const float* coordinates) noexcept {
    return {static_cast<double>(coordinates[0]), static_cast<double>(coordinates[lane_count]), static_cast<double>(coordinates[2 * lane_count])};
}

/// Towards smaller: a bound that is stored in single precision must not grow.
float round_down(double distance_m) noexcept { return static_cast<float>(distance_m - std::abs(distance_m) * 1e-6); }

/// Whatever is beyond this is as far as anything can be; single precision holds it.
constexpr double distant_m = 1e6;

}  // namespace

/// Asks about the ball of a body first, then about its volumes; and about one lane first, whose distance from
/// everything, less the way to it, is a bound for the other lanes. What that does not settle is asked lane by lane.
/// In one motion the smallest clearance is wanted of all lanes together, so each may use what another has found.
void Sweep::test_fields(const LaneGroup& group, float margin_m, bool one_motion, float* best, std::uint8_t* doubt) noexcept {
    const LaneTables& tables = gate_.lanes_.tables();
    if (one_motion) std::fill_n(best, lane_count, *std::min_element(best, best + lane_count));
    for (std::size_t body = 0; body < body_count(); ++body) {
        const auto carried = gate_.shapes_.volumes_of_body(body);
        if (carried.empty() || gate_.model_->bodies()[body].depth == 0) continue;  // see shortlist_primitives
        alignas(32) float needed_m[lane_count];
        for (std::size_t lane = 0; lane < lane_count; ++lane) needed_m[lane] = margin_m + group.tail[lane_count * tables.tail_first[body] + lane];
        for (std::size_t slot = 0; slot < field_slots; ++slot) {
            const ObstacleField* field = world_->field(slot);
            if (field == nullptr) continue;
            const std::uint8_t far = far_lanes(group, body, *field, needed_m, best);
            if (far == 0xFF) continue;
            gate_.lanes_.kernels().place_cores(tables, group, static_cast<std::uint32_t>(body));
            for (const std::uint16_t volume : carried) {
                const std::uint8_t open = open_lanes(group, volume, *field, needed_m, far, one_motion, best);
                doubt[volume * field_slots + slot] = static_cast<std::uint8_t>(doubt[volume * field_slots + slot] | open);
            }
        }
    }
}

/// Lanes in which the ball of a body is clear of a field, and by more than the smallest clearance known so far.
std::uint8_t Sweep::far_lanes(const LaneGroup& group, std::size_t body, const ObstacleField& field, const float* needed_m, const float* best) const noexcept {
    const LaneKernels& kernels = gate_.lanes_.kernels();
    const float* centres = group.centre + 3 * lane_count * body;
    LaneFieldLook look;
    kernels.look_at_field(centres, centres, needed_m, gate_.lanes_.tables().bodies[body].ball_radius, best, &look);
    const auto clearance = [&](std::size_t lane) noexcept { return round_down(std::min(field.clearance(lane_point(centres + lane)), distant_m)); };
    std::uint8_t far = 0;
    if (look.farthest_m < together_m) {
        far = kernels.settle(look, clearance(lane_spokesman), best);
        // Where the one in the middle is near, so are the others.
        if ((far >> lane_spokesman & 1) == 0) return far;
    }
    for (std::size_t lane = 0; lane < lane_count && far != 0xFF; ++lane) {
        if ((far >> lane & 1) != 0) continue;
        const float spare_m = clearance(lane) - look.demand_m[lane];
        if (spare_m > 0.0F && spare_m >= best[lane]) far = static_cast<std::uint8_t>(far | (1U << lane));
    }
    return far;
}

/// Lanes in which a volume is not shown clear of a field. `best` is lowered by what is shown.
std::uint8_t Sweep::open_lanes(const LaneGroup& group, std::size_t volume, const ObstacleField& field, const float* needed_m, std::uint8_t settled,
                               bool one_motion, float* best) const noexcept {
    const LaneKernels& kernels = gate_.lanes_.kernels();
    const LaneVolume& shape = gate_.lanes_.tables().volumes[volume];
    const float* first = group.core + 6 * lane_count * volume;
    const float* second = first + 3 * lane_count;
    LaneFieldLook look;
    kernels.look_at_field(first, second, needed_m, shape.radius + shape.error, best, &look);
    std::uint32_t obstacle = none;
    const auto distance = [&](std::size_t lane, float reach_m) noexcept {
        const Segment core{lane_point(first + lane), lane_point(second + lane)};
        return round_down(field.distance(core, static_cast<double>(reach_m), obstacle).distance_m);
    };
    const auto lower = [&](std::size_t lane, float spare_m) noexcept {
        if (!(spare_m < best[lane])) return;
        if (one_motion) std::fill_n(best, lane_count, spare_m);
        best[lane] = spare_m;
    };
    if (look.farthest_m < together_m) {
        const float distance_m = distance(lane_spokesman, look.reach_m);
        // Its own lane is settled either way; in one motion that makes the rest cheaper to settle.
        if (distance_m > look.demand_m[lane_spokesman]) {
            settled = static_cast<std::uint8_t>(settled | (1U << lane_spokesman));
            lower(lane_spokesman, distance_m - look.demand_m[lane_spokesman]);
        }
        settled = static_cast<std::uint8_t>(settled | kernels.settle(look, distance_m, best));
    }
    std::uint8_t open = 0;
    for (std::size_t lane = 0; lane < lane_count && settled != 0xFF; ++lane) {
        if ((settled >> lane & 1) != 0) continue;
        const float distance_m = distance(lane, (look.demand_m[lane] + std::max(best[lane], 0.0F)) * lane_reach_slack);
        if (distance_m > look.demand_m[lane]) {
            lower(lane, distance_m - look.demand_m[lane]);
        } else {
            open = static_cast<std::uint8_t>(open | (1U << lane));
        }
    }
    return open;
}

}  // namespace lastgate
