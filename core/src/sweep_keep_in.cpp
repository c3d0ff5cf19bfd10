// SPDX-License-Identifier: Apache-2.0
// Zones that links stay inside: what lies outside a zone counts as solid.
#include <algorithm>

#include "lanes_builds.hpp"
#include "lastgate/containment.hpp"
#include "sweep.hpp"

namespace lastgate {

/// Whether a zone is about a volume: it belongs to, or is held by, a link the zone names. A zone that names none is
/// about every link that a joint carries: the others stand where they were bolted.
bool Sweep::stays_inside(std::size_t zone, std::size_t volume) const noexcept {
    const Volume& shape = gate_.shapes_.volumes()[volume];
    const auto& links = gate_.config_.keep_in_zones[zone].links;
    return links.none() ? gate_.model_->bodies()[shape.body].depth > 0 : links.test(shape.link);
}

Witness Sweep::measure_depth(const OpenItem& item, const Transform* frames) const noexcept {
    const double radius_m = gate_.shapes_.volumes()[item.a].radius_m;
    const Depth depth = depth_inside(core_in_base(item.a, frames), gate_.keep_in_.primitives()[item.b]);
    return {depth.depth_m - radius_m, depth.point + radius_m * depth.outward, depth.point + depth.depth_m * depth.outward};
}

bool Sweep::scan_row_keep_in(std::size_t row_index) noexcept {
    bool violated = false;
    const std::size_t zones = gate_.config_.keep_in_zones.size();
    for (std::size_t volume = 0; volume < volume_count(); ++volume) {
        for (std::size_t zone = 0; zone < zones; ++zone) {
            const std::size_t entry = volume * zones + zone;
            if (!stays_inside(zone, volume) || !in_doubt(row_index, entry)) continue;
            const OpenItem item{0, static_cast<std::uint16_t>(volume), static_cast<std::uint16_t>(zone), 0.0, 0.0};
            const double depth_m = measure_depth(item, frames_of_row(row_index)).distance_m;
            violated |= note(PairKind::keep_in, row_index, static_cast<std::uint32_t>(entry), item.a, item.b, depth_m);
        }
    }
    return violated;
}

/// Bit k of `doubt[volume * zones + zone]` is set when configuration k does not show the volume inside the zone.
void Sweep::test_keep_in(const LaneGroup& group, float margin_m, float* best, std::uint8_t* doubt) const noexcept {
    const LaneTables& tables = gate_.lanes_.tables();
    const std::size_t zones = gate_.config_.keep_in_zones.size();
    for (std::size_t volume = 0; volume < volume_count(); ++volume) {
        const LaneVolume& shape = tables.volumes[volume];
        const bool moves = gate_.model_->bodies()[shape.body].depth > 0;
        if (moves) gate_.lanes_.kernels().place_cores(tables, group, shape.body);
        for (std::size_t zone = 0; zone < zones; ++zone) {
            const std::size_t entry = volume * zones + zone;
            doubt[entry] = 0;
            if (!stays_inside(zone, volume)) continue;
            if (!moves) {  // lanes place what moves; the double path looks at the rest
                doubt[entry] = 0xFF;
                continue;
            }
            for (std::size_t lane = 0; lane < lane_count; ++lane) {
                const float* core = group.core + 6 * lane_count * volume + lane;
                const Segment segment{{static_cast<double>(core[0]), static_cast<double>(core[8]), static_cast<double>(core[16])},
                                      {static_cast<double>(core[24]), static_cast<double>(core[32]), static_cast<double>(core[40])}};
                const double demand_m = static_cast<double>(margin_m) + static_cast<double>(group.tail[8 * tables.tail_first[shape.body] + lane]) +
                                        static_cast<double>(shape.radius) + static_cast<double>(shape.error);
                const double depth_m = depth_inside(segment, gate_.keep_in_.primitives()[zone]).depth_m;
                if (depth_m > demand_m) {
                    best[lane] = std::min(best[lane], static_cast<float>((depth_m - demand_m) * (1.0 - 1e-6)));
                } else {
                    doubt[entry] = static_cast<std::uint8_t>(doubt[entry] | (1U << lane));
                }
            }
        }
    }
}

}  // namespace lastgate
