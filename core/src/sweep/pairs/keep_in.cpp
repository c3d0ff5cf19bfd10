// SPDX-License-Identifier: Apache-2.0
// A volume and a zone it stays inside: what lies outside the zone counts as solid.
#include "keep_in.hpp"

#include <algorithm>

#include "common.hpp"
#include "geometry/containment.hpp"

namespace lastgate::detail {
namespace {

/// Whether a zone is about a volume: it belongs to, or is held by, a link the zone names. A zone that names none is
/// about every link that a joint carries: the others stand where they were bolted.
bool stays_inside(const Sweep& sweep, std::size_t zone, std::size_t volume) noexcept {
    const Volume& shape = sweep.setup.shapes.volumes()[volume];
    const auto& links = sweep.setup.config.keep_in_zones[zone].links;
    return links.none() ? is_moved(sweep, shape.body) : links.test(shape.link);
}

Witness measure(Sweep& sweep, const OpenItem& item, const Transform* frames, double) noexcept {
    const double radius_m = sweep.setup.shapes.volumes()[item.a].radius_m;
    const Depth depth = depth_inside(sweep.axis_in_base(item.a, frames), sweep.setup.keep_in.primitives()[item.b]);
    return {depth.depth_m - radius_m, depth.point + radius_m * depth.outward, depth.point + depth.depth_m * depth.outward};
}

std::size_t entry_count(const Sweep& sweep) noexcept { return sweep.volume_count() * sweep.setup.config.keep_in_zones.size(); }

bool scan_row(Sweep& sweep, const RowScan& scan) noexcept {
    bool is_violated = false;
    const std::size_t zones = sweep.setup.config.keep_in_zones.size();
    for (std::size_t volume = 0; volume < sweep.volume_count(); ++volume) {
        for (std::size_t zone = 0; zone < zones; ++zone) {
            const std::size_t entry = volume * zones + zone;
            if (!stays_inside(sweep, zone, volume) || !sweep.is_unresolved(scan.row, entry)) continue;
            const OpenItem item{0, static_cast<std::uint16_t>(volume), static_cast<std::uint16_t>(zone), 0.0, 0.0};
            const double depth_m = measure(sweep, item, sweep.frames_of_row(scan.row), 0.0).distance_m;
            is_violated |= sweep.note(PairKind::keep_in, scan, static_cast<std::uint32_t>(entry), item.a, item.b, depth_m);
        }
    }
    return is_violated;
}

bool find_uncertified(Sweep& sweep, BoxTest& test) noexcept {
    for (std::size_t index = 0; index < sweep.volume_count(); ++index) {
        for (std::size_t zone = 0; zone < sweep.setup.config.keep_in_zones.size(); ++zone) {
            if (!stays_inside(sweep, zone, index)) continue;
            if (test.is_uncertified(static_cast<std::uint16_t>(index), static_cast<std::uint16_t>(zone))) return true;
        }
    }
    return false;
}

void describe(const Sweep& sweep, const Finding& finding, Violation& violation) noexcept {
    describe_volume(sweep, finding.item.a, ViolationCode::keep_in_zone, violation);
    violation.against_kind = AgainstKind::keep_in_zone;
    violation.against = finding.item.b;
}

}  // namespace

std::uint8_t test_keep_in(Sweep& sweep, const SimdGroup& group, float margin_m, float* best, std::uint8_t* unresolved) noexcept {
    const SimdTables& tables = sweep.setup.simd.tables();
    const std::size_t zones = sweep.setup.config.keep_in_zones.size();
    for (std::size_t volume = 0; volume < sweep.volume_count(); ++volume) {
        const SimdVolume& shape = tables.volumes[volume];
        const bool moves = is_moved(sweep, shape.body);
        if (moves) sweep.setup.simd.kernels().place_axes(tables, group, shape.body);
        for (std::size_t zone = 0; zone < zones; ++zone) {
            const std::size_t entry = volume * zones + zone;
            unresolved[entry] = 0;
            if (!stays_inside(sweep, zone, volume)) continue;
            if (!moves) {  // the SIMD code places what moves; the double path checks the rest
                unresolved[entry] = 0xFF;
                continue;
            }
            for (std::size_t lane = 0; lane < lane_count; ++lane) {
                const float* first = group.capsule_axis + 6 * lane_count * volume + lane;
                const Segment capsule_axis{lane_point(first), lane_point(first + 3 * lane_count)};
                const double required_m = static_cast<double>(margin_m) +
                                        static_cast<double>(group.tail[lane_count * tables.tail_first[shape.body] + lane]) +
                                        static_cast<double>(shape.radius) + static_cast<double>(shape.error);
                const double depth_m = depth_inside(capsule_axis, sweep.setup.keep_in.primitives()[zone]).depth_m;
                if (depth_m > required_m) {
                    best[lane] = std::min(best[lane], static_cast<float>((depth_m - required_m) * (1.0 - 1e-6)));
                } else {
                    unresolved[entry] = static_cast<std::uint8_t>(unresolved[entry] | (1U << lane));
                }
            }
        }
    }
    return any_unresolved(unresolved, entry_count(sweep));
}

constinit const PairFunctions keep_in_pairs{
    .margin_m = world_margin,
    .motion = motion_of_first,
    .measure = measure,
    .entry_count = entry_count,
    .test_group = test_keep_in,
    .scan_row = scan_row,
    .find_uncertified = find_uncertified,
    .describe = describe,
};

}  // namespace lastgate::detail
