// SPDX-License-Identifier: Apache-2.0
// Bodies against obstacles, tools against their box.
#pragma once

#include "simd_robot.hpp"

namespace lastgate::detail::LASTGATE_SIMD_ISA {
namespace {

/// Squared distance of a point from the axis-aligned bounds of an obstacle.
inline Lanes gap2_to_bounds(Lanes3 point, const SimdPrimitive& primitive) {
    const Lanes zero = splat(0.0F);
    const Lanes3 gap{max(max(splat(primitive.low[0]) - point.x, point.x - splat(primitive.high[0])), zero),
                     max(max(splat(primitive.low[1]) - point.y, point.y - splat(primitive.high[1])), zero),
                     max(max(splat(primitive.low[2]) - point.z, point.z - splat(primitive.high[2])), zero)};
    return dot(gap, gap);
}

inline Lanes3 into_frame(const SimdPrimitive& primitive, Lanes3 point) {
    const float* f = primitive.frame;
    const Lanes3 v = point - splat3(f + 9);
    return {dot(v, splat3(f)), dot(v, splat3(f + 3)), dot(v, splat3(f + 6))};
}

/// What `SimdPrimitive::kind` means, as in PrimitiveKind.
inline constexpr std::uint8_t kind_capsule = 1;
inline constexpr std::uint8_t kind_box = 2;
inline constexpr std::uint8_t kind_cylinder = 4;

/// A cylinder lies in the box around it, and in the capsule of its axis and radius: it is no nearer than the farther of the two.
inline bool has_box(const SimdPrimitive& primitive) { return primitive.kind == kind_box || primitive.kind == kind_cylinder; }

/// Never larger than the distance of a capsule axis from a capsule, a cylinder's capsule or a half-space.
inline Lanes distance_primitive(const SimdVolume& volume, Lanes3 a, Lanes3 b, const SimdPrimitive& primitive) {
    if (primitive.kind == kind_capsule || primitive.kind == kind_cylinder) {
        return distance_segments(a, b, splat(volume.length2), splat(volume.inverse_length2), splat3(primitive.capsule_axis), splat3(primitive.capsule_axis + 3),
                                 splat(primitive.length2), splat(primitive.inverse_length2)) -
               splat(primitive.radius);
    }
    return min(into_frame(primitive, a).z, into_frame(primitive, b).z);
}

/// What the volumes of one body leave of an obstacle.
struct VolumesQuery {
    Lanes local;            ///< Smallest spare distance, per lane; what came in where nothing lowered it.
    std::uint8_t bits;      ///< Unresolved lanes.
    std::uint32_t closest;  ///< The volume that lowered it last.
};

/// All volumes of a body against a sphere. Seen from the body its capsule axes are constants: nothing of them has to be
/// placed. With the sphere's middle D from a capsule axis, the frame's rotation moves what is seen by its error times D and the
/// arm of the core; the first is in `shrink`, the second in the error of the volume (simd_model.cpp).
[[gnu::noinline]] VolumesQuery test_volumes_sphere(const SimdTables& tables, const SimdGroup& group, std::uint32_t body, const SimdPrimitive& primitive,
                                                Lanes needed, Lanes best) {
    const float* const frame = group.frame + frame_stride * body;
    const Lanes3 away = splat3(primitive.capsule_axis) - load3(frame + frame_origin);
    const Lanes3 seen{dot(away, load3(frame)), dot(away, load3(frame + frame_y)), dot(away, load3(frame + frame_z))};
    const Lanes shrink = splat(tables.bodies[body].shrink);
    const Lanes grow = splat(tables.bodies[body].grow);
    const Lanes needed_and_slack = needed + splat(tables.slack);
    VolumesQuery query{best, 0, 0xFFFFFFFFU};
    const std::uint16_t* const end = tables.body_volumes + tables.body_volume_first[body + 1];
    for (const std::uint16_t* at = tables.body_volumes + tables.body_volume_first[body]; at != end; ++at) {
        const SimdVolume& volume = tables.volumes[*at];
        const float reach = volume.radius + volume.error + primitive.radius;
        const Lanes3 from_end = seen - splat3(volume.ends);
        const Lanes share = clamp01(dot(from_end, splat3(volume.axis_share)));
        const Lanes3 apart = from_end - share * splat3(volume.axis);
        const Lanes apart2 = dot(apart, apart);
        if (beyond(apart2, max(query.local, splat(0.0F)) + needed_and_slack, reach, grow)) continue;
        const Lanes spare = root(apart2) * shrink - (needed + splat(reach));
        query.bits = static_cast<std::uint8_t>(query.bits | lanes_not_above(spare, splat(0.0F)));
        if (!all_above(spare, query.local)) query.closest = *at;
        query.local = min(spare, query.local);
    }
    return query;
}

/// All volumes of a body against one obstacle that is no sphere. `first_volume` is checked first.
[[gnu::noinline]] VolumesQuery test_volumes(const SimdTables& tables, const SimdGroup& group, std::uint32_t body, const SimdPrimitive& primitive,
                                           Lanes needed, std::uint32_t first_volume, Lanes best) {
    need_middles(tables, group, body);
    const float* const frame = group.frame + frame_stride * body;
    const float* const middles = group.middle;
    const SimdVolume* const volumes = tables.volumes;
    const std::uint16_t* at = tables.body_volumes + tables.body_volume_first[body];
    const std::uint16_t* const end = tables.body_volumes + tables.body_volume_first[body + 1];
    const bool first_valid = first_volume < tables.volume_count && volumes[first_volume].body == body;
    const Lanes needed_and_slack = needed + splat(tables.slack);
    VolumesQuery query{best, 0, first_volume};
    std::uint32_t index = first_volume;
    if (!first_valid) {
        if (at == end) return query;
        index = *at++;
    }
    for (;;) {
        const SimdVolume& volume = volumes[index];
        const float reach = volume.radius + volume.error;
        const float sphere_reach = reach + volume.half_length;
        const Lanes gap2 = gap2_to_bounds(load3(middles + vector_stride * std::size_t{index}), primitive);
        const Lanes floor = max(query.local, splat(0.0F)) + needed_and_slack;
        if (!beyond(gap2, floor, sphere_reach)) {
            Lanes lower_bound = root(gap2) - (needed + splat(sphere_reach));
            Lanes3 a = place_point(frame, volume.ends);
            Lanes3 b = place_point(frame, volume.ends + 3);
            Lanes distance = lower_bound;
            bool open = true;
            if (has_box(primitive)) {
                const Lanes in_capsule = primitive.kind == kind_cylinder ? distance_primitive(volume, a, b, primitive) : lower_bound;
                a = into_frame(primitive, a);
                b = into_frame(primitive, b);
                const Lanes3 half = splat3(primitive.half);
                const Lanes bound2 = bound2_box(a, b, half);
                open = !beyond(bound2, floor, reach);
                if (open) {
                    lower_bound = max(lower_bound, root(bound2) - (needed + splat(reach)));
                    distance = distance_box(a, b, half);
                    if (primitive.kind == kind_cylinder) distance = max(distance, in_capsule);
                }
            } else {
                distance = distance_primitive(volume, a, b, primitive);
            }
            if (open) {
                const Lanes spare = max(distance - (needed + splat(reach)), lower_bound);
                query.bits = static_cast<std::uint8_t>(query.bits | lanes_not_above(spare, splat(0.0F)));
                if (!all_above(spare, query.local)) query.closest = index;
                query.local = min(spare, query.local);
            }
        }
        do {
            if (at == end) return query;
            index = *at++;
        } while (first_valid && index == first_volume);
    }
}

/// Whether the plane through the point of a box that is nearest to `centre`, square to the way there, keeps all volumes of a body
/// more than `wanted` from the box. The box lies behind that plane wherever the centre is, so this never claims too much. Rounding:
/// the frame of the box moves the plane by a few u of its coordinates, which is in the obstacle's error (world_snapshot.cpp), and
/// the reach of a volume by what is in the volume's error, as between two bodies.
[[gnu::noinline]] bool separated_from_box(const SimdTables& tables, const SimdGroup& group, std::uint32_t body, const SimdPrimitive& primitive,
                                          Lanes3 centre, Lanes wanted) {
    const Lanes3 seen = into_frame(primitive, centre);
    const Lanes3 way = clamp_to_box(seen, splat3(primitive.half)) - seen;
    const float* f = primitive.frame;
    const Lanes3 towards_box = way.x * splat3(f) + way.y * splat3(f + 3) + way.z * splat3(f + 6);
    const Lanes length = root(dot(way, way)) + splat(direction_floor);
    Reaches reach;
    reach_along(tables, group, body, towards_box, length, centre + towards_box, reach);
    return all_above(-reach.greatest, wanted * length);
}

/// All volumes of a body against one obstacle; set bits are unresolved lanes. `first_volume` is checked first.
inline std::uint8_t test_entry(const SimdTables& tables, const SimdGroup& group, BodyPrimitive entry, const SimdPrimitive& primitive,
                               float margin_m, std::uint32_t first_volume, Query& query) {
    const std::uint32_t body = entry.body;
    const Lanes needed = splat(margin_m + primitive.error) + load(group.tail + lane_count * tables.tail_first[body]);
    const Lanes3 centre = load3(group.centre + vector_stride * body);
    const bool sphere = primitive.kind == 0;
    const Lanes3 between = centre - splat3(primitive.capsule_axis);
    const Lanes gap2 = sphere ? dot(between, between) : gap2_to_bounds(centre, primitive);
    const float reach = sphere ? tables.bodies[body].sphere_radius + primitive.radius : tables.bodies[body].sphere_radius;
    const Lanes wanted = max(query.best, splat(0.0F)) + needed + splat(tables.slack);
    if (beyond(gap2, wanted, reach)) return 0;
    if (has_box(primitive) && separated_from_box(tables, group, body, primitive, centre, wanted)) return 0;
    const VolumesQuery volumes = sphere ? test_volumes_sphere(tables, group, body, primitive, needed, query.best)
                                     : test_volumes(tables, group, body, primitive, needed, first_volume, query.best);
    const Lanes floor = root(gap2) - (needed + splat(reach));
    if (take(query, max(volumes.local, floor))) {
        query.closest_entry = body << 16 | entry.primitive;
        query.closest_pair = volumes.closest;
    }
    return volumes.bits & lanes_not_above(floor, splat(0.0F));
}

inline void remember(const Query& query, std::uint32_t before, SimdHint* hint) {
    if (query.closest_entry == before) return;
    hint->body = query.closest_entry >> 16;
    hint->primitive = query.closest_entry & 0xFFFF;
    hint->volume = query.closest_pair;
}

/// Which obstacles (blocks of eight: low x y z, high x y z) come within `wanted_m` of a box.
template <typename Found>
inline void for_near_boxes(const SimdWorld& world, Lanes3 from, Lanes3 to, Lanes wanted_m, const Found& found) {
    const Lanes wanted2 = wanted_m * wanted_m;
    const Lanes zero = splat(0.0F);
    const float* bounds = world.bounds;
    const std::uint32_t count = world.count;
    const std::uint32_t in_last = 0xFFU >> (lane_count - 1 - (count - 1) % lane_count);  // the last block holds what was there before
    for (std::uint32_t first = 0; first < count; first += lane_count, bounds += bounds_stride) {
        const Lanes3 gap{max(max(load(bounds) - to.x, from.x - load(bounds + 3 * lane_count)), zero),
                         max(max(load(bounds + lane_count) - to.y, from.y - load(bounds + 4 * lane_count)), zero),
                         max(max(load(bounds + 2 * lane_count) - to.z, from.z - load(bounds + 5 * lane_count)), zero)};
        std::uint32_t bits = lanes_not_above(dot(gap, gap), wanted2);
        if (count - first < lane_count) bits &= in_last;
        while (bits != 0) {
            const std::uint32_t index = first + static_cast<std::uint32_t>(__builtin_ctz(bits));
            bits &= bits - 1;
            found(index);
        }
    }
}

/// Everything the sphere of a body touches in some of the groups, in every lane.
inline void bound_body(const SimdGroup* groups, std::size_t group_count, const SimdMover& mover, Lanes3& low, Lanes3& high) {
    const Lanes huge = splat(1e30F);
    Lanes3 from{huge, huge, huge};
    Lanes3 to{-huge, -huge, -huge};
    for (std::size_t index = 0; index < group_count; ++index) {
        const Lanes reach = load(groups[index].tail + mover.tail) + splat(mover.sphere_radius);
        const Lanes3 centre = load3(groups[index].centre + mover.centre);
        from = {min(from.x, centre.x - reach), min(from.y, centre.y - reach), min(from.z, centre.z - reach)};
        to = {max(to.x, centre.x + reach), max(to.y, centre.y + reach), max(to.z, centre.z + reach)};
    }
    low = {least_everywhere(from.x), least_everywhere(from.y), least_everywhere(from.z)};
    high = {greatest_everywhere(to.x), greatest_everywhere(to.y), greatest_everywhere(to.z)};
}

/// The obstacle that was closest last time, so that its clearance can skip others. Whatever is unresolved stays so.
void test_hint(const SimdTables& tables, const SimdGroup& group, const SimdWorld& world, float margin_m, bool together, float* min_clearance_m,
               const SimdHint* hint) noexcept {
    if (hint->primitive >= world.count || hint->body >= tables.body_count) return;
    Query query{load(min_clearance_m), together, 0, 0};
    const BodyPrimitive entry{static_cast<std::uint16_t>(hint->body), static_cast<std::uint16_t>(hint->primitive)};
    (void)test_entry(tables, group, entry, world.primitives[hint->primitive], margin_m, hint->volume, query);
    store(min_clearance_m, query.best);
}

/// Which bodies come within `wanted_m` of which obstacles in any of the groups; `found` has room for all.
std::uint32_t shortlist(const SimdTables& tables, const SimdGroup* groups, std::size_t group_count, const SimdWorld& world, float wanted_m,
                        BodyPrimitive* found) noexcept {
    std::uint32_t count = 0;
    for (std::uint32_t at = 0; at < tables.mover_count; ++at) {
        const SimdMover& mover = tables.movers[at];
        const auto body = static_cast<std::uint16_t>(mover.body);
        Lanes3 low, high;
        bound_body(groups, group_count, mover, low, high);
        for_near_boxes(world, low, high, splat(wanted_m), [&](std::uint32_t index) { found[count++] = {body, static_cast<std::uint16_t>(index)}; });
    }
    return count;
}

/// The entries of a shortlist for one group; `unresolved` gets the unresolved lanes of each, the result those of all.
std::uint8_t test_entries(const SimdTables& tables, const SimdGroup& group, const SimdWorld& world, const BodyPrimitive* entries,
                          std::uint32_t count, float margin_m, bool together, float* min_clearance_m, std::uint8_t* unresolved, SimdHint* hint) noexcept {
    const std::uint32_t hinted = hint->body << 16 | (hint->primitive & 0xFFFF);
    const std::uint32_t hinted_volume = hint->volume;
    Query query{load(min_clearance_m), together, hinted, hinted_volume};
    std::uint8_t bits = 0;
    for (std::uint32_t at = 0; at < count; ++at) {
        const BodyPrimitive entry = entries[at];
        const std::uint32_t first_volume = (std::uint32_t{entry.body} << 16 | entry.primitive) == hinted ? hinted_volume : 0xFFFFFFFFU;
        unresolved[at] = test_entry(tables, group, entry, world.primitives[entry.primitive], margin_m, first_volume, query);
        bits = static_cast<std::uint8_t>(bits | unresolved[at]);
    }
    remember(query, hinted, hint);
    store(min_clearance_m, query.best);
    return bits;
}

/// What the cores from `first` to `second` need. Sums of three and roots of sums of squares are off by less than 16 u, which is
/// below the millionth that is added.
void query_field(const float* first, const float* second, const float* needed_m, float radius_m, const float* min_clearance_m, SimdFieldQuery* query) noexcept {
    const Lanes upwards = splat(1.0F + 1e-6F);
    // Distances between points that move straight are convex: the ends bound everything between them.
    const auto away2 = [](const float* points) {
        const Lanes3 from{splat(points[representative_lane]), splat(points[lane_count + representative_lane]), splat(points[2 * lane_count + representative_lane])};
        const Lanes3 away = load3(points) - from;
        return dot(away, away);
    };
    const Lanes shift = root(max(away2(first), away2(second))) * upwards;
    const Lanes required = (load(needed_m) + splat(radius_m)) * upwards;
    store(query->shift_m, shift);
    store(query->required_m, required);
    query->farthest_m = greatest_everywhere(shift)[0];
    query->reach_m = greatest_everywhere(shift + required + max(load(min_clearance_m), splat(0.0F)))[0] * simd_reach_slack;
}

/// Lanes that a distance of the representative settles: clear, and by more than the smallest clearance known so far.
std::uint8_t settle(const SimdFieldQuery& query, float distance_m, const float* min_clearance_m) noexcept {
    const Lanes spare = splat(distance_m * (1.0F - 1e-6F)) - (load(query.shift_m) + load(query.required_m)) * splat(1.0F + 1e-6F);
    const Mask clear = (spare > splat(0.0F)) & (spare >= load(min_clearance_m));
    return static_cast<std::uint8_t>(~lanes_not_above(reinterpret_cast<Lanes>(clear & reinterpret_cast<Mask>(splat(1.0F))), splat(0.5F)));
}

/// Bit k is set when the tool point of an effector is not certified inside the box for configuration k.
std::uint8_t test_box(const SimdTables& tables, const SimdGroup& group, std::uint32_t effector, const float* low, const float* high) noexcept {
    const SimdVolume& tool = tables.volumes[tables.volume_count + effector];
    const Lanes needed = load(group.tail + lane_count * tables.tail_first[tool.body]) + splat(tool.error);
    const Lanes3 p = load3(group.tool + frame_stride * effector + frame_origin);
    const Lanes inside = min(min(min(p.x - splat(low[0]), splat(high[0]) - p.x), min(p.y - splat(low[1]), splat(high[1]) - p.y)),
                             min(p.z - splat(low[2]), splat(high[2]) - p.z));
    return lanes_not_above(inside, needed);
}

/// Bit k is set when a tool is not certified to move at most `move_m` and to turn so little that its rotation matrix
/// changes by at most `turn_chord` (Frobenius norm) from the configuration before k to k. Lane 0 follows lane 7 of
/// `before`.
std::uint8_t test_tool_steps(const float* before, const float* here, float move_m, float turn_chord) noexcept {
    const auto change2 = [&](std::uint32_t from, std::uint32_t to) {
        Lanes sum = splat(0.0F);
        for (std::uint32_t at = from; at < to; at += lane_count) {
            const Lanes lanes = load(here + at);
            const Lanes shifted = pick_lanes<7, 8, 9, 10, 11, 12, 13, 14>(load(before + at), lanes);
            sum = sum + (lanes - shifted) * (lanes - shifted);
        }
        return sum;
    };
    const Lanes turned = root(change2(0, frame_origin));
    const Lanes moved = root(change2(frame_origin, frame_stride));
    return lanes_not_above(splat(move_m), moved) | lanes_not_above(splat(turn_chord), turned);
}

}  // namespace
}  // namespace lastgate::detail::LASTGATE_SIMD_ISA
