// SPDX-License-Identifier: Apache-2.0
// A volume and a field: a grid of voxels, a cloud of points or an occupancy map, each many obstacles at once.
#include "field.hpp"

#include <algorithm>
#include <cmath>

#include "common.hpp"
#include "world/obstacle_field.hpp"

namespace lastgate::detail {
namespace {

/// Beyond this the SIMD code has little to do with each other, and asking for one of them first is a question wasted.
constexpr float together_m = 0.1F;

/// Towards smaller: a bound that is stored in single precision must not grow.
float round_down(double distance_m) noexcept { return static_cast<float>(distance_m - std::abs(distance_m) * 1e-6); }

/// Whatever is beyond this is as far as anything can be; single precision holds it.
constexpr double distant_m = 1e6;

/// While recovering, obstacles that were touched at the start get credit for what they lack of the margin.
Witness measure(Sweep& sweep, const OpenItem& item, const Transform* frames, double within_m) noexcept {
    const double radius_m = sweep.setup.shapes.volumes()[item.a].radius_m;
    const StartContact* contact = sweep.start_contact(PairKind::field, item.a, item.b);
    const std::span<const TouchedObstacle> known = contact == nullptr ? std::span<const TouchedObstacle>{} : sweep.touched(*contact);
    const Witness capsule_axis = sweep.world->field(item.b)->distance(sweep.axis_in_base(item.a, frames), std::max(within_m + radius_m, 0.0),
                                                              sweep.last_obstacle, known);
    return subtract_radii(capsule_axis, radius_m, 0.0);
}

std::size_t entry_count(const Sweep& sweep) noexcept { return sweep.volume_count() * field_slots; }

bool scan_row(Sweep& sweep, const RowScan& scan) noexcept {
    bool is_violated = false;
    for (std::size_t index = 0; index < sweep.volume_count(); ++index) {
        if (!is_moved(sweep, sweep.setup.shapes.volumes()[index].body)) continue;
        for (std::size_t slot = 0; slot < field_slots; ++slot) {
            const std::size_t entry = index * field_slots + slot;
            if (sweep.world->field(slot) == nullptr || !sweep.is_unresolved(scan.row, entry)) continue;
            OpenItem item{0, static_cast<std::uint16_t>(index), static_cast<std::uint16_t>(slot), 0.0, 0.0};
            item.required_m = sweep.required(PairKind::field, item.a, item.b);
            const double reach_m = sweep.field_reach(item, motion_of_first(sweep, item, scan.step));
            const double distance_m = measure(sweep, item, sweep.frames_of_row(scan.row), reach_m).distance_m;
            is_violated |= sweep.note(PairKind::field, scan, static_cast<std::uint32_t>(entry), item.a, item.b, distance_m);
        }
    }
    return is_violated;
}

bool find_uncertified(Sweep& sweep, BoxTest& test) noexcept {
    for (std::size_t index = 0; index < sweep.volume_count(); ++index) {
        if (!is_moved(sweep, sweep.setup.shapes.volumes()[index].body)) continue;
        for (std::size_t slot = 0; slot < field_slots; ++slot) {
            if (sweep.world->field(slot) == nullptr) continue;
            if (test.is_uncertified(static_cast<std::uint16_t>(index), static_cast<std::uint16_t>(slot))) return true;
        }
    }
    return false;
}

/// A floor lies in a frame of its own and is asked about flattened; volumes decide about it.
bool has_hulls(const Sweep& sweep, const OpenItem& item) noexcept { return item.b != floor_slot && first_has_hulls(sweep, item); }

void describe(const Sweep& sweep, const Finding& finding, Violation& violation) noexcept {
    describe_volume(sweep, finding.item.a, ViolationCode::world_collision, violation);
    constexpr AgainstKind kinds[field_slots] = {AgainstKind::voxel, AgainstKind::point, AgainstKind::floor};
    violation.against_kind = kinds[finding.item.b];
    // Without an obstacle it was the edge of the grid, or the inside of something solid.
    violation.against = finding.obstacle == none ? none : sweep.world->field(finding.item.b)->label(finding.obstacle);
}

/// Lanes in which the sphere of a body is clear of a field, and by more than the smallest clearance known so far.
std::uint8_t far_lanes(const Sweep& sweep, const SimdGroup& group, std::size_t body, const ObstacleField& field, const float* needed_m,
                       const float* best) noexcept {
    const SimdKernels& kernels = sweep.setup.simd.kernels();
    const float* centres = group.centre + 3 * lane_count * body;
    SimdFieldQuery query;
    kernels.query_field(centres, centres, needed_m, sweep.setup.simd.tables().bodies[body].sphere_radius, best, &query);
    const auto clearance = [&](std::size_t lane) noexcept { return round_down(std::min(field.clearance(lane_point(centres + lane)), distant_m)); };
    std::uint8_t far = 0;
    if (query.farthest_m < together_m) {
        far = kernels.settle(query, clearance(representative_lane), best);
        // Where the one in the middle is near, so are the others.
        if ((far >> representative_lane & 1) == 0) return far;
    }
    for (std::size_t lane = 0; lane < lane_count && far != 0xFF; ++lane) {
        if ((far >> lane & 1) != 0) continue;
        const float spare_m = clearance(lane) - query.required_m[lane];
        if (spare_m > 0.0F && spare_m >= best[lane]) far = static_cast<std::uint8_t>(far | (1U << lane));
    }
    return far;
}

/// Lanes in which a volume is not certified clear of a field. `best` is lowered by what is certified.
std::uint8_t open_lanes(const Sweep& sweep, const SimdGroup& group, std::size_t volume, const ObstacleField& field, const float* needed_m,
                        std::uint8_t settled, bool one_motion, float* best) noexcept {
    const SimdKernels& kernels = sweep.setup.simd.kernels();
    const SimdVolume& shape = sweep.setup.simd.tables().volumes[volume];
    const float* first = group.capsule_axis + 6 * lane_count * volume;
    const float* second = first + 3 * lane_count;
    SimdFieldQuery query;
    kernels.query_field(first, second, needed_m, shape.radius + shape.error, best, &query);
    std::uint32_t obstacle = none;
    const auto distance = [&](std::size_t lane, float reach_m) noexcept {
        const Segment capsule_axis{lane_point(first + lane), lane_point(second + lane)};
        return round_down(field.distance(capsule_axis, static_cast<double>(reach_m), obstacle).distance_m);
    };
    const auto lower = [&](std::size_t lane, float spare_m) noexcept {
        if (!(spare_m < best[lane])) return;
        if (one_motion) std::fill_n(best, lane_count, spare_m);
        best[lane] = spare_m;
    };
    if (query.farthest_m < together_m) {
        const float distance_m = distance(representative_lane, query.reach_m);
        // Its own lane is settled either way; in one motion that makes the rest cheaper to settle.
        if (distance_m > query.required_m[representative_lane]) {
            settled = static_cast<std::uint8_t>(settled | (1U << representative_lane));
            lower(representative_lane, distance_m - query.required_m[representative_lane]);
        }
        settled = static_cast<std::uint8_t>(settled | kernels.settle(query, distance_m, best));
    }
    std::uint8_t open = 0;
    for (std::size_t lane = 0; lane < lane_count && settled != 0xFF; ++lane) {
        if ((settled >> lane & 1) != 0) continue;
        const float distance_m = distance(lane, (query.required_m[lane] + std::max(best[lane], 0.0F)) * simd_reach_slack);
        if (distance_m > query.required_m[lane]) {
            lower(lane, distance_m - query.required_m[lane]);
        } else {
            open = static_cast<std::uint8_t>(open | (1U << lane));
        }
    }
    return open;
}

std::uint8_t test_group(Sweep& sweep, const SimdGroup& group, float margin_m, float* best, std::uint8_t* unresolved) noexcept {
    return test_fields(sweep, group, margin_m, true, best, unresolved);
}

}  // namespace

/// Asks about the sphere of a body first, then about its volumes; and about one lane first, whose distance from
/// everything, less the way to it, is a bound for the other lanes. What that does not settle is asked lane by lane.
std::uint8_t test_fields(Sweep& sweep, const SimdGroup& group, float margin_m, bool one_motion, float* best, std::uint8_t* unresolved) noexcept {
    const SimdTables& tables = sweep.setup.simd.tables();
    std::fill_n(unresolved, entry_count(sweep), std::uint8_t{0});
    if (one_motion) std::fill_n(best, lane_count, *std::min_element(best, best + lane_count));
    for (std::size_t body = 0; body < sweep.body_count(); ++body) {
        const auto carried = sweep.setup.shapes.volumes_of_body(body);
        if (carried.empty() || !is_moved(sweep, body)) continue;
        alignas(32) float needed_m[lane_count];
        for (std::size_t lane = 0; lane < lane_count; ++lane) needed_m[lane] = margin_m + group.tail[lane_count * tables.tail_first[body] + lane];
        for (std::size_t slot = 0; slot < field_slots; ++slot) {
            const ObstacleField* field = sweep.world->field(slot);
            if (field == nullptr) continue;
            const std::uint8_t far = far_lanes(sweep, group, body, *field, needed_m, best);
            if (far == 0xFF) continue;
            sweep.setup.simd.kernels().place_axes(tables, group, static_cast<std::uint32_t>(body));
            for (const std::uint16_t volume : carried) {
                const std::uint8_t open = open_lanes(sweep, group, volume, *field, needed_m, far, one_motion, best);
                unresolved[volume * field_slots + slot] = static_cast<std::uint8_t>(unresolved[volume * field_slots + slot] | open);
            }
        }
    }
    return any_unresolved(unresolved, entry_count(sweep));
}

constinit const PairFunctions field_pairs{
    .margin_m = world_margin,
    .motion = motion_of_first,
    .measure = measure,
    .entry_count = entry_count,
    .test_group = test_group,
    .scan_row = scan_row,
    .find_uncertified = find_uncertified,
    .has_hulls = has_hulls,
    .compare_hulls = [](ConvexRefinement& refinement, const PlacedShape& shape) noexcept {
        refinement.compare_with_field(shape, *refinement.sweep().world->field(refinement.item().b));
    },
    .describe = describe,
};

}  // namespace lastgate::detail
