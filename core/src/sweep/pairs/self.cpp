// SPDX-License-Identifier: Apache-2.0
// Two volumes of the robot, or of what it holds.
#include <algorithm>

#include "common.hpp"

namespace lastgate::detail {
namespace {

double self_margin(const GateConfig& config) noexcept { return config.self_margin_m; }

double motion(const Sweep& sweep, const OpenItem& item, std::span<const double> step) noexcept {
    const auto volumes = sweep.setup.shapes.volumes();
    const std::uint16_t common = sweep.setup.model->common_depth(volumes[item.a].body, volumes[item.b].body);
    return sweep.motion_of_volume(item.a, common, step) + sweep.motion_of_volume(item.b, common, step);
}

Witness measure(Sweep& sweep, const OpenItem& item, const Transform* frames, double) noexcept {
    const auto volumes = sweep.setup.shapes.volumes();
    const Witness axes = distance_segment_segment(sweep.axis_in_base(item.a, frames), sweep.axis_in_base(item.b, frames));
    return subtract_radii(axes, volumes[item.a].radius_m, volumes[item.b].radius_m);
}

bool place_second(const Sweep& sweep, const OpenItem& item, const Transform* frames, PlacedShape& second) noexcept {
    second.set_volume(sweep.setup.shapes.volumes()[item.b], frames);
    return true;
}

std::size_t entry_count(const Sweep& sweep) noexcept { return sweep.setup.shapes.body_pairs().size(); }

std::uint8_t test_group(Sweep& sweep, const SimdGroup& group, float margin_m, float* best, std::uint8_t* unresolved) noexcept {
    const SimdModel& simd = sweep.setup.simd;
    return simd.kernels().test_self(simd.tables(), group, margin_m, true, best, unresolved, &sweep.workspace.chunk_hint);
}

/// Motion of two bodies relative to each other, for their bounding spheres.
double motion_of_bodies(const Sweep& sweep, const BodyPair& bodies) noexcept {
    const double* tails = sweep.workspace.tails.data();
    return tails[bodies.a * (capacity::chain_max + 1) + bodies.common_depth] + tails[bodies.b * (capacity::chain_max + 1) + bodies.common_depth];
}

bool scan_row(Sweep& sweep, const RowScan& scan) noexcept {
    const auto spheres = sweep.setup.shapes.spheres();
    const auto volumes = sweep.setup.shapes.volumes();
    const auto pairs = sweep.setup.shapes.volume_pairs();
    const Vec3* centres = sweep.workspace.centres.data() + scan.row * sweep.body_count();
    const Segment* axes = sweep.workspace.axes.data() + scan.row * (sweep.setup.model->volumes().size() + capacity::attached_max);
    const double margin_m = sweep.whole_margin(PairKind::self);
    bool is_violated = false;
    const auto body_pairs = sweep.setup.shapes.body_pairs();
    for (std::size_t entry = 0; entry < body_pairs.size(); ++entry) {
        if (!sweep.is_unresolved(scan.row, entry)) continue;
        const BodyPair& bodies = body_pairs[entry];
        const double needed_m = needed_distance(margin_m, motion_of_bodies(sweep, bodies));
        const double gap_m = norm(centres[bodies.a] - centres[bodies.b]) - spheres[bodies.a].radius_m - spheres[bodies.b].radius_m;
        if (gap_m > needed_m && gap_m - needed_m >= sweep.min_clearance_m) continue;
        for (std::uint32_t index = bodies.first; index < bodies.first + bodies.count; ++index) {
            const VolumePair pair = pairs[index];
            const double distance_m = distance_segment_segment(axes[pair.a], axes[pair.b]).distance_m -
                                      volumes[pair.a].radius_m - volumes[pair.b].radius_m;
            if (distance_m > needed_m) {
                sweep.min_clearance_m = std::min(sweep.min_clearance_m, distance_m - needed_m);
            } else {
                is_violated |= sweep.note(PairKind::self, scan, index, pair.a, pair.b, distance_m);
            }
        }
    }
    return is_violated;
}

bool find_uncertified(Sweep& sweep, BoxTest& test) noexcept {
    const auto spheres = sweep.setup.shapes.spheres();
    const Transform* frames = sweep.workspace.sample_frames.data();
    for (const BodyPair& bodies : sweep.setup.shapes.body_pairs()) {
        const double needed_m = needed_distance(sweep.whole_margin(PairKind::self), motion_of_bodies(sweep, bodies));
        const double gap_m = norm(frames[bodies.a] * spheres[bodies.a].centre - frames[bodies.b] * spheres[bodies.b].centre) -
                             spheres[bodies.a].radius_m - spheres[bodies.b].radius_m;
        if (gap_m > needed_m && gap_m - needed_m >= sweep.min_clearance_m) continue;
        for (std::uint32_t index = bodies.first; index < bodies.first + bodies.count; ++index) {
            const VolumePair pair = sweep.setup.shapes.volume_pairs()[index];
            if (test.is_uncertified(pair.a, pair.b)) return true;
        }
    }
    return false;
}

bool has_hulls(const Sweep& sweep, const OpenItem& item) noexcept {
    return first_has_hulls(sweep, item) || sweep.has_hulls(item.b);
}

void describe(const Sweep& sweep, const Finding& finding, Violation& violation) noexcept {
    describe_volume(sweep, finding.item.a, ViolationCode::self_collision, violation);
    Violation other;
    describe_volume(sweep, finding.item.b, ViolationCode::self_collision, other);
    violation.against_kind = other.subject_kind == SubjectKind::attached ? AgainstKind::attached : AgainstKind::link;
    violation.against = other.subject;
}

}  // namespace

constinit const PairFunctions self_pairs{
    .margin_m = self_margin,
    .motion = motion,
    .measure = measure,
    .place_second = place_second,
    .entry_count = entry_count,
    .test_group = test_group,
    .scan_row = scan_row,
    .find_uncertified = find_uncertified,
    .has_hulls = has_hulls,
    .compare_hulls = [](ConvexRefinement& refinement, const PlacedShape& shape) noexcept { refinement.compare_with_second(shape); },
    .describe = describe,
};

}  // namespace lastgate::detail
