// SPDX-License-Identifier: Apache-2.0
// A volume and a primitive: an obstacle of the world, or a zone to stay out of, which is kept apart from the world so that no snapshot can
// drop it.
#include <algorithm>

#include "common.hpp"

namespace lastgate::detail {
namespace {

template <PairKind kind>
const WorldSnapshot& obstacles(const Sweep& sweep) noexcept {
    return kind == PairKind::zone ? sweep.setup.zones : *sweep.world;
}

template <PairKind kind>
Witness measure(Sweep& sweep, const OpenItem& item, const Transform* frames, double) noexcept {
    const Segment capsule_axis = sweep.axis_in_base(item.a, frames);
    const Primitive& primitive = obstacles<kind>(sweep).primitives()[item.b];
    const bool round = primitive.kind == PrimitiveKind::sphere || primitive.kind == PrimitiveKind::capsule;
    // From axis to axis, so that a capsule axis inside a round obstacle keeps its direction.
    const Witness axes = round ? distance_segment_segment(capsule_axis, primitive.capsule_axis) : distance_segment_primitive(capsule_axis, primitive);
    return subtract_radii(axes, sweep.setup.shapes.volumes()[item.a].radius_m, round ? primitive.radius_m : 0.0);
}

/// What a body must be clear of a primitive by to be left out, with room for the clearance that is reported.
double shortlist_distance(const Sweep& sweep) noexcept {
    return needed_distance(sweep.whole_margin(PairKind::world), std::max(sweep.min_clearance_m, 0.0));
}

/// From the bounds of everything a body's bounding sphere touches during the rows.
template <PairKind kind>
void shortlist(Sweep& sweep, std::size_t row_last) noexcept {
    SweepWorkspace& workspace = sweep.workspace;
    workspace.shortlist_count = 0;
    const auto spheres = sweep.setup.shapes.spheres();
    const auto primitives = obstacles<kind>(sweep).primitives();
    const std::size_t bodies = sweep.body_count();
    for (std::size_t body = 0; body < bodies; ++body) {
        if (!(spheres[body].radius_m > 0.0) || !is_moved(sweep, body)) continue;
        Vec3 low{1e300, 1e300, 1e300};
        Vec3 high{-1e300, -1e300, -1e300};
        for (std::size_t index = 0; index <= row_last; ++index) {
            const Vec3 c = workspace.centres[index * bodies + body];
            const double r = spheres[body].radius_m + workspace.body_motion[index * bodies + body];
            low = {std::min(low.x, c.x - r), std::min(low.y, c.y - r), std::min(low.z, c.z - r)};
            high = {std::max(high.x, c.x + r), std::max(high.y, c.y + r), std::max(high.z, c.z + r)};
        }
        const double needed_m = shortlist_distance(sweep);
        for (std::size_t index = 0; index < primitives.size(); ++index) {
            const Primitive& p = primitives[index];
            const Vec3 gap{std::max({p.low.x - high.x, 0.0, low.x - p.high.x}), std::max({p.low.y - high.y, 0.0, low.y - p.high.y}),
                           std::max({p.low.z - high.z, 0.0, low.z - p.high.z})};
            if (dot(gap, gap) > needed_m * needed_m) continue;
            workspace.shortlist[workspace.shortlist_count++] = {static_cast<std::uint16_t>(body), static_cast<std::uint16_t>(index)};
        }
    }
}

template <PairKind kind>
void shortlist_simd(Sweep& sweep, std::size_t group_count) noexcept {
    const SimdModel& simd = sweep.setup.simd;
    sweep.workspace.shortlist_count =
        simd.kernels().shortlist(simd.tables(), sweep.workspace.simd_groups.data(), group_count, obstacles<kind>(sweep).for_simd(),
                                  round_up(shortlist_distance(sweep)), sweep.workspace.shortlist.data());
}

std::size_t entry_count(const Sweep& sweep) noexcept { return sweep.workspace.shortlist_count; }

template <PairKind kind>
std::uint8_t test_group(Sweep& sweep, const SimdGroup& group, float margin_m, float* best, std::uint8_t* unresolved) noexcept {
    const SimdModel& simd = sweep.setup.simd;
    SimdHint unused;  // zones never move, so what was closest among them is no hint for the world
    SimdHint* hint = kind == PairKind::zone ? &unused : &sweep.workspace.chunk_hint;
    return simd.kernels().test_entries(simd.tables(), group, obstacles<kind>(sweep).for_simd(), sweep.workspace.shortlist.data(),
                                        static_cast<std::uint32_t>(sweep.workspace.shortlist_count), margin_m, true, best, unresolved, hint);
}

double gap_point_box(Vec3 point, Vec3 low, Vec3 high) noexcept {
    const Vec3 d{std::max({low.x - point.x, 0.0, point.x - high.x}), std::max({low.y - point.y, 0.0, point.y - high.y}),
                 std::max({low.z - point.z, 0.0, point.z - high.z})};
    return norm(d);
}

template <PairKind kind>
bool scan_row(Sweep& sweep, const RowScan& scan) noexcept {
    const auto spheres = sweep.setup.shapes.spheres();
    const auto volumes = sweep.setup.shapes.volumes();
    const auto primitives = obstacles<kind>(sweep).primitives();
    const Vec3* centres = sweep.workspace.centres.data() + scan.row * sweep.body_count();
    const double* body_motion = sweep.workspace.body_motion.data() + scan.row * sweep.body_count();
    const Segment* axes = sweep.workspace.axes.data() + scan.row * (sweep.setup.model->volumes().size() + capacity::attached_max);
    const double margin_m = sweep.whole_margin(kind);
    bool is_violated = false;
    for (std::size_t entry = 0; entry < sweep.workspace.shortlist_count; ++entry) {
        if (!sweep.is_unresolved(scan.row, entry)) continue;
        const auto [body, index] = sweep.workspace.shortlist[entry];
        const Primitive& primitive = primitives[index];
        const double needed_m = needed_distance(margin_m, body_motion[body]);
        const double gap_m = gap_point_box(centres[body], primitive.low, primitive.high) - spheres[body].radius_m;
        if (gap_m > needed_m && gap_m - needed_m >= sweep.min_clearance_m) continue;
        const auto carried = sweep.setup.shapes.volumes_of_body(body);
        for (std::size_t place = 0; place < carried.size(); ++place) {
            const std::uint16_t volume = carried[place];
            const double distance_m = distance_segment_primitive(axes[volume], primitive).distance_m - volumes[volume].radius_m;
            if (distance_m > needed_m) {
                sweep.min_clearance_m = std::min(sweep.min_clearance_m, distance_m - needed_m);
            } else {
                const auto key = static_cast<std::uint32_t>(entry * (capacity::volumes_max + capacity::attached_max) + place);
                is_violated |= sweep.note(kind, scan, key, volume, index, distance_m);
            }
        }
    }
    return is_violated;
}

bool find_uncertified(Sweep& sweep, BoxTest& test) noexcept {
    for (std::size_t entry = 0; entry < sweep.workspace.shortlist_count; ++entry) {
        const auto [body, primitive] = sweep.workspace.shortlist[entry];
        for (const std::uint16_t volume : sweep.setup.shapes.volumes_of_body(body)) {
            if (test.is_uncertified(volume, primitive)) return true;
        }
    }
    return false;
}

template <PairKind kind>
void describe(const Sweep& sweep, const Finding& finding, Violation& violation) noexcept {
    describe_volume(sweep, finding.item.a, ViolationCode::world_collision, violation);
    violation.against_kind = kind == PairKind::zone ? AgainstKind::zone : AgainstKind::primitive;
    violation.against = finding.item.b;
}

template <PairKind kind>
constexpr PairFunctions functions{
    .margin_m = world_margin,
    .motion = motion_of_first,
    .measure = measure<kind>,
    .shortlist = shortlist<kind>,
    .shortlist_simd = shortlist_simd<kind>,
    .entry_count = entry_count,
    .test_group = test_group<kind>,
    .scan_row = scan_row<kind>,
    .find_uncertified = find_uncertified,
    .has_hulls = first_has_hulls,
    .compare_hulls = [](ConvexRefinement& refinement, const PlacedShape& shape) noexcept {
        refinement.compare_with_primitive(shape, obstacles<kind>(refinement.sweep()).primitives()[refinement.item().b]);
    },
    .describe = describe<kind>,
};

}  // namespace

constinit const PairFunctions world_pairs = functions<PairKind::world>;
constinit const PairFunctions zone_pairs = functions<PairKind::zone>;

}  // namespace lastgate::detail
