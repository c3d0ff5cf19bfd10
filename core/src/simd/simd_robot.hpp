// SPDX-License-Identifier: Apache-2.0
// Eight configurations of a robot: read, placed, and tested against each other body by body.
//
// Bounds skip what cannot lower the result. A pair counts with the largest of its distance and the bounds
// that could have skipped it, so the result is the same in whatever order pairs are checked, and a
// configuration gets the same answer whichever seven stand beside it.

#pragma once

#include "simd_math.hpp"

namespace lastgate::detail::LASTGATE_SIMD_ISA {
namespace {

inline Lanes3 turn(const float* frame, const float* v) {
    return splat(v[0]) * load3(frame) + splat(v[1]) * load3(frame + frame_y) + splat(v[2]) * load3(frame + frame_z);
}

inline Lanes3 place_point(const float* frame, const float* v) { return load3(frame + frame_origin) + turn(frame, v); }

/// The axes of a body: they stay in registers from one body to the next, which origins would not.
struct Axes {
    Lanes3 x, y, z;
};

inline Axes load_axes(const float* frame) { return {load3(frame), load3(frame + frame_y), load3(frame + frame_z)}; }

/// A constant vector in the axes of a body; most are along one of them.
inline Lanes3 turn(const Axes& axes, const float* v, std::uint8_t axis) {
    switch (axis) {
        case 0: return splat(v[0]) * axes.x;
        case 1: return splat(v[1]) * axes.y;
        case 2: return splat(v[2]) * axes.z;
        default: return splat(v[0]) * axes.x + splat(v[1]) * axes.y + splat(v[2]) * axes.z;
    }
}

/// Two axes turn about the third.
inline void turn_axes(Lanes3& first, Lanes3& second, Lanes sine, Lanes cosine) {
    const Lanes3 before = first;
    first = {cosine * before.x + sine * second.x, cosine * before.y + sine * second.y, cosine * before.z + sine * second.z};
    second = {cosine * second.x - sine * before.x, cosine * second.y - sine * before.y, cosine * second.z - sine * before.z};
}

/// Where a body stands: a constant from its parent, whose axes these are, and on along a slide.
inline Lanes3 place_origin(const SimdBody& body, Lanes3 parent, const float* position, const Axes& axes) {
    const Lanes3 origin = body.translation_axis == simd_zero ? parent : parent + turn(axes, body.translation, body.translation_axis);
    return body.prismatic == 0 ? origin : origin + load(position) * turn(axes, body.rotation + 6, body.joint_axis);
}

/// Turns the axes of a parent into those of a body.
inline void turn_joint(const SimdBody& body, const float* turned, Axes& axes) {
    if (body.prismatic != 0) return;
    const Lanes sine = load(turned);
    const Lanes cosine = load(turned + lane_count);
    switch (body.joint_axis) {
        case 0: return turn_axes(axes.y, axes.z, sine, cosine);
        case 1: return turn_axes(axes.z, axes.x, sine, cosine);
        case 2: return turn_axes(axes.x, axes.y, sine, cosine);
        default: break;
    }
    axes = {turn(axes, body.rotation, simd_dense), turn(axes, body.rotation + 3, simd_dense), turn(axes, body.rotation + 6, simd_dense)};
    turn_axes(axes.x, axes.y, sine, cosine);
}

/// Middles stand in the group once a test asks for them: most bodies are certified clear by their spheres. Ends are
/// computed where a distance is: most pairs are certified clear by their middles.
inline void need_middles(const SimdTables& tables, const SimdGroup& group, std::uint32_t body) {
    if ((group.placed[body] & simd_middles) != 0) return;
    group.placed[body] = static_cast<std::uint8_t>(group.placed[body] | simd_middles);
    const float* frame = group.frame + frame_stride * body;
    for (std::uint32_t at = tables.body_volume_first[body]; at < tables.body_volume_first[body + 1]; ++at) {
        const std::uint32_t index = tables.body_volumes[at];
        store3(group.middle + vector_stride * index, place_point(frame, tables.volumes[index].middle));
    }
}

/// An angle that sine_cosine takes.
inline Doubles reduce(Doubles angle) {
    constexpr double turn_rad = 6.283185307179586476925;
    constexpr double magic = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to a whole number
    const Doubles turns = (angle * (1.0 / turn_rad) + magic) - magic;
    const LongMask small = (angle <= simd_angle_max) & (angle >= -simd_angle_max);
    const Doubles reduced = angle - turn_rad * turns;
    return small ? angle : reduced;
}

inline void store_single(Doubles position, float* to) {
    const HalfLanes single = __builtin_convertvector(position, HalfLanes);
    __builtin_memcpy(to, &single, sizeof single);
}

/// A joint position as a small angle in single precision.
inline void store_positions(const SimdBody& body, Doubles variable, float* to) {
    const Doubles position = body.multiplier * variable + body.offset;
    store_single(body.prismatic == 0 ? reduce(position) : position, to);
}

inline Doubles load_doubles(const double* from) {
    Doubles lanes;
    __builtin_memcpy(&lanes, from, sizeof lanes);
    return lanes;
}

inline Doubles magnitude(Doubles v) { return v < 0.0 ? -v : v; }

/// Positions and steps of rows `first` to `first + 7` (idle lanes repeat the last row). Row 0 has no lane: row 1 covers
/// the whole first segment, every other row half of what is next to it. From 0 to 0 it is row 0 in all lanes.
void fill_rows(const SimdTables& tables, const SimdGroup& group, const double* path, std::size_t width, std::size_t first,
                      std::size_t last, const double* uncertainty) noexcept {
    std::size_t at_row[10];
    for (std::size_t at = 0; at < 10; ++at) at_row[at] = (first + at - 1 < last ? first + at - 1 : last) * width;
    Doubles share_before = Doubles{} + 0.5;
    if (first == 1) share_before[0] = 1.0;
    for (std::uint32_t index = 1; index < tables.body_count; ++index) {
        const SimdBody& body = tables.bodies[index];
        double rows[10];
        for (std::size_t at = 0; at < 10; ++at) rows[at] = path[at_row[at] + body.variable];
        for (std::uint32_t half = 0; half < lane_count; half += half_count) {
            const Doubles here = load_doubles(rows + half + 1);
            const Doubles step_before = (half == 0 ? share_before : Doubles{} + 0.5) * magnitude(here - load_doubles(rows + half));
            const Doubles step_after = 0.5 * magnitude(load_doubles(rows + half + 2) - here);
            const Doubles step = (step_before > step_after ? step_before : step_after) + uncertainty[body.variable];
            const HalfLanes single = __builtin_convertvector(step, HalfLanes);
            __builtin_memcpy(group.step + lane_count * index + half, &single, sizeof single);
            store_positions(body, here, group.position + lane_count * index + half);
        }
    }
}

/// Positions and steps of boxes `first` to `first + 7` (idle lanes repeat the last one), each with a half width of its own.
void fill_boxes(const SimdTables& tables, const SimdGroup& group, const double* centres, const double* halves, std::size_t width, std::size_t first,
                std::size_t last, const double* uncertainty) noexcept {
    std::size_t at_box[lane_count];
    for (std::size_t at = 0; at < lane_count; ++at) at_box[at] = (first + at < last ? first + at : last) * width;
    for (std::uint32_t index = 1; index < tables.body_count; ++index) {
        const SimdBody& body = tables.bodies[index];
        double here[lane_count];
        double step[lane_count];
        for (std::size_t at = 0; at < lane_count; ++at) {
            here[at] = centres[at_box[at] + body.variable];
            step[at] = halves[at_box[at] + body.variable] + uncertainty[body.variable];
        }
        for (std::uint32_t half = 0; half < lane_count; half += half_count) {
            store_single(load_doubles(step + half), group.step + lane_count * index + half);
            store_positions(body, load_doubles(here + half), group.position + lane_count * index + half);
        }
    }
}

/// The frames of all bodies but the root: forward kinematics. Sines come first, all of them: they wait for no other result, and their constants stay in
/// registers.
void place(const SimdTables& tables, const SimdGroup& group) noexcept {
    const std::size_t body_count = tables.body_count;
    const SimdBody* const bodies = tables.bodies;
    const float* const positions = group.position;
    float* const turns = group.turn;
    for (std::size_t body = 1; body < body_count; ++body) {
        if (bodies[body].prismatic != 0) continue;
        Lanes sine, cosine;
        sine_cosine(load(positions + lane_count * body), sine, cosine);
        store(turns + turn_stride * body, sine);
        store(turns + turn_stride * body + lane_count, cosine);
    }
    float* const frames = group.frame;
    Axes axes = load_axes(frames);  // of the body before: most often the parent
    for (std::size_t body = 1; body < body_count; ++body) {
        const float* const parent = frames + frame_stride * std::size_t{bodies[body].parent};
        float* const frame = frames + frame_stride * body;
        if (parent + frame_stride != frame) axes = load_axes(parent);
        store3(frame + frame_origin, place_origin(bodies[body], load3(parent + frame_origin), positions + lane_count * body, axes));
        turn_joint(bodies[body], turns + turn_stride * body, axes);
        store3(frame, axes.x);
        store3(frame + frame_y, axes.y);
        store3(frame + frame_z, axes.z);
    }
}

/// The middles of the spheres around all bodies; nothing else of their volumes stands there.
void place_spheres(const SimdTables& tables, const SimdGroup& group) noexcept {
    const float* frame = group.frame;
    float* centre = group.centre;
    std::uint8_t* placed = group.placed;
    const SimdBody* const end = tables.bodies + tables.body_count;
    for (const SimdBody* body = tables.bodies; body != end; ++body, frame += frame_stride, centre += vector_stride) {
        store3(centre, place_point(frame, body->sphere_centre));
        *placed++ = 0;
    }
}

/// The tools, each with the rotation of its body.
void place_tools(const SimdTables& tables, const SimdGroup& group) noexcept {
    for (std::uint32_t index = 0; index < tables.effector_count; ++index) {
        const SimdVolume& tool = tables.volumes[tables.volume_count + index];
        const float* const frame = group.frame + frame_stride * tool.body;
        float* const to = group.tool + frame_stride * index;
        for (std::uint32_t at = 0; at < frame_origin; at += lane_count) store(to + at, load(frame + at));
        store3(to + frame_origin, place_point(frame, tool.ends));
    }
}

/// Both ends of all volumes of a body, for tests of one lane after the other.
void place_axes(const SimdTables& tables, const SimdGroup& group, std::uint32_t body) noexcept {
    if ((group.placed[body] & simd_axes) != 0) return;
    group.placed[body] = static_cast<std::uint8_t>(group.placed[body] | simd_axes);
    const float* frame = group.frame + frame_stride * body;
    for (std::uint32_t at = tables.body_volume_first[body]; at < tables.body_volume_first[body + 1]; ++at) {
        const std::uint32_t index = tables.body_volumes[at];
        store3(group.capsule_axis + core_stride * index, place_point(frame, tables.volumes[index].ends));
        store3(group.capsule_axis + core_stride * index + vector_stride, place_point(frame, tables.volumes[index].ends + 3));
    }
}

/// Sums from the tip to the root, so that each entry holds the motion relative to the frame above it.
void sum_tails(const SimdTables& tables, const SimdGroup& group) noexcept {
    const std::uint16_t* const joints = tables.tail_joint;
    const float* const reach = tables.reach;
    const float* const steps = group.step;
    float* const tails = group.tail;
    Lanes sum = splat(0.0F);
    for (std::size_t entry = tables.tail_count; entry-- > 0;) {
        const std::size_t joint = joints[entry];
        sum = joint == 0 ? splat(0.0F) : sum + load(steps + lane_count * joint) * splat(reach[entry]);
        store(tails + lane_count * entry, sum);
    }
}

/// What is common to a query at all pairs of one group.
struct Query {
    Lanes best;          ///< Smallest spare distance so far, per lane.
    bool together;       ///< Only the smallest over all lanes is asked for.
    std::uint32_t closest_entry;  ///< What lowered `best` last, and by which of its pairs.
    std::uint32_t closest_pair;
};

/// Whether a distance, squared, exceeds `reach` by so much that its pair cannot lower the result. The slack keeps the
/// rounding of a square from skipping what `root` would have counted.
inline bool beyond(Lanes distance2, Lanes spare_and_needed, float reach) {
    const Lanes wanted = spare_and_needed + splat(reach);
    return all_above(distance2, wanted * wanted);
}

/// The same for a distance that may be `grow` times too long.
inline bool beyond(Lanes distance2, Lanes spare_and_needed, float reach, Lanes grow) {
    const Lanes wanted = (spare_and_needed + splat(reach)) * grow;
    return all_above(distance2, wanted * wanted);
}

/// Puts the result of one entry into `best`. What is unresolved does not count: the double path finds its distance.
inline bool take(Query& query, Lanes spare) {
    const Mask certified = spare > splat(0.0F);
    const Lanes best = certified ? min(query.best, spare) : query.best;
    const bool lower = lanes_not_above(query.best, best) != 0xFF;
    query.best = query.together ? least_everywhere(best) : best;
    return lower;
}

/// How far volumes reach along a direction, one after the other; times the length of the direction.
struct Reaches {
    Lanes of[capacity::volumes_max + capacity::attached_max];
    Lanes greatest;
};

/// The volumes of a body along `direction`, seen from `origin`, with their radii and rounding.
inline void reach_along(const SimdTables& tables, const SimdGroup& group, std::uint32_t body, Lanes3 direction, Lanes length, Lanes3 origin, Reaches& reach) {
    const float* frame = group.frame + frame_stride * body;
    const Lanes3 turned{dot(direction, load3(frame)), dot(direction, load3(frame + frame_y)), dot(direction, load3(frame + frame_z))};
    const Lanes start = dot(direction, load3(frame + frame_origin) - origin);
    reach.greatest = splat(-1e30F);
    const std::uint32_t first = tables.body_volume_first[body];
    for (std::uint32_t at = first; at < tables.body_volume_first[body + 1]; ++at) {
        const SimdVolume& volume = tables.volumes[tables.body_volumes[at]];
        const Lanes farther = max(dot(turned, splat3(volume.ends)), dot(turned, splat3(volume.ends + 3)));
        const Lanes here = start + farther + splat(volume.radius + volume.error) * length;
        reach.of[at - first] = here;
        reach.greatest = max(reach.greatest, here);
    }
}

struct SelfPairQuery {
    const SimdTables& tables;
    const SimdGroup& group;
    Lanes needed;
    Lanes local;
    std::uint8_t bits;

    /// What a pair must be apart to be of no interest.
    Lanes floor() const { return max(local, splat(0.0F)) + needed + splat(tables.slack); }

    /// How far both bodies reach along a direction from the first to the second, times its length. True when they leave more between
    /// them than is of interest.
    [[gnu::always_inline]] bool separated(std::uint32_t a, std::uint32_t b, Lanes3 direction, Lanes length, Reaches& reach_a, Reaches& reach_b) const {
        const Lanes3 origin = load3(group.frame + frame_stride * a + frame_origin);
        const Lanes3 back{-direction.x, -direction.y, -direction.z};
        reach_along(tables, group, a, direction, length, origin, reach_a);
        reach_along(tables, group, b, back, length, origin, reach_b);
        return all_above(-reach_a.greatest - reach_b.greatest, floor() * length);
    }

    /// Bounds by spheres first. True when the pair lowered `local`.
    bool query_pair(std::uint32_t at) {
        const SimdPair& pair = tables.pairs[at];
        const Lanes3 between = load3(group.middle + vector_stride * pair.a) - load3(group.middle + vector_stride * pair.b);
        const Lanes between2 = dot(between, between);
        if (beyond(between2, floor(), pair.sphere_reach)) return false;
        Separation unused;
        return measure(pair, between2, unused);
    }

    /// Checks one pair that is probably the closest, then at all volumes along the direction that separates it. What
    /// lies farther from the whole other body than is of interest gets a zero in `near`; the result is whether anything
    /// is left. Rounding: three dot products of a direction and points as seen from the first body, 12 u of their
    /// lengths; the error of each volume holds 64 u for a distance (simd_model.cpp).
    [[gnu::always_inline]] bool query_along(std::uint32_t at, std::uint8_t* near) {
        const SimdPair& pair = tables.pairs[at];
        const SimdVolume& first = tables.volumes[pair.a];
        const SimdVolume& second = tables.volumes[pair.b];
        const std::uint32_t a = first.body;
        const std::uint32_t b = second.body;
        const Lanes3 between = place_point(group.frame + frame_stride * a, first.middle) - place_point(group.frame + frame_stride * b, second.middle);
        Separation apart;
        (void)measure(pair, dot(between, between), apart);
        Reaches reach_a, reach_b;
        if (separated(a, b, apart.direction, apart.length, reach_a, reach_b)) return false;
        const Lanes wanted = floor() * apart.length;
        note_near(a, reach_a, reach_b.greatest + wanted, near);
        note_near(b, reach_b, reach_a.greatest + wanted, near);
        return true;
    }

  private:
    void note_near(std::uint32_t body, const Reaches& reach, Lanes limit, std::uint8_t* near) {
        const std::uint32_t first = tables.body_volume_first[body];
        for (std::uint32_t at = first; at < tables.body_volume_first[body + 1]; ++at) {
            near[tables.body_volumes[at]] = all_above(-reach.of[at - first], limit) ? 0 : 1;
        }
    }

    [[gnu::always_inline]] bool measure(const SimdPair& pair, Lanes between2, Separation& apart) {
        const SimdVolume& first = tables.volumes[pair.a];
        const SimdVolume& second = tables.volumes[pair.b];
        const float* frame_a = group.frame + frame_stride * first.body;
        const float* frame_b = group.frame + frame_stride * second.body;
        apart = separate_segments(place_point(frame_a, first.ends), place_point(frame_a, first.ends + 3), splat(first.length2),
                                                   splat(first.inverse_length2), place_point(frame_b, second.ends), place_point(frame_b, second.ends + 3),
                                                   splat(second.length2), splat(second.inverse_length2));
        const Lanes spare = max(apart.distance - (needed + splat(pair.reach)), root(between2) - (needed + splat(pair.sphere_reach)));
        bits = static_cast<std::uint8_t>(bits | lanes_not_above(spare, splat(0.0F)));
        const bool lower = !all_above(spare, local);
        local = min(spare, local);
        return lower;
    }
};

/// All volume pairs of two bodies; set bits are unresolved lanes. `closest` is checked first, and becomes what was
/// closest.
[[gnu::noinline]] std::uint8_t test_body_pair(const SimdTables& tables, const SimdGroup& group, std::uint32_t index, float margin_m, std::uint32_t* closest,
                                   bool closest_last, Query& query) {
    const SimdBodyPair& bodies = tables.body_pairs[index];
    const Lanes needed = splat(margin_m) + load(group.tail + lane_count * bodies.tail_a) + load(group.tail + lane_count * bodies.tail_b);
    const Lanes3 apart = load3(group.centre + vector_stride * bodies.a) - load3(group.centre + vector_stride * bodies.b);
    const Lanes apart2 = dot(apart, apart);
    SelfPairQuery pairs{tables, group, needed, query.best, 0};
    if (!closest_last) {  // the one that was would hardly be certified by the line between the spheres
        Reaches reach_a, reach_b;
        const Lanes3 direction{-apart.x, -apart.y, -apart.z};
        if (pairs.separated(bodies.a, bodies.b, direction, root(apart2) + splat(direction_floor), reach_a, reach_b)) return 0;
    }
    const std::uint32_t hinted = closest == nullptr ? bodies.first : *closest;
    std::uint8_t near[capacity::volumes_max + capacity::attached_max];
    if (pairs.query_along(hinted, near)) {
        std::uint32_t nearest = hinted;
        const SimdPair* const all = tables.pairs;
        for (std::uint32_t at = bodies.first, end = bodies.first + bodies.count; at < end; ++at) {
            if ((near[all[at].a] & near[all[at].b]) == 0 || at == hinted) continue;
            need_middles(tables, group, bodies.a);
            need_middles(tables, group, bodies.b);
            if (pairs.query_pair(at)) nearest = at;
        }
        if (closest != nullptr) *closest = nearest;
    }
    const Lanes floor = root(apart2) - (needed + splat(bodies.sphere_reach));
    if (take(query, max(pairs.local, floor))) query.closest_entry = index;
    return pairs.bits & lanes_not_above(floor, splat(0.0F));
}

/// Tests body pairs; bit k of `unresolved[p]` is set when configuration k does not clear pair p by `margin_m` plus
/// motion.
std::uint8_t test_self(const SimdTables& tables, const SimdGroup& group, float margin_m, bool together, float* min_clearance_m, std::uint8_t* unresolved,
                       SimdHint* hint) noexcept {
    Query query{load(min_clearance_m), together, hint->body_pair, 0};
    const auto closest = [hint](std::uint32_t index) { return hint->closest_pair == nullptr ? nullptr : hint->closest_pair + index; };
    const std::uint32_t hinted = hint->body_pair;
    std::uint8_t any = 0;
    if (hinted < tables.body_pair_count) any = unresolved[hinted] = test_body_pair(tables, group, hinted, margin_m, closest(hinted), true, query);
    const float* const centre = group.centre;
    const float* const tail = group.tail;
    const Lanes added = splat(margin_m + tables.slack);
    const SimdTurn* const end = tables.turns + tables.body_pair_count;
    for (const SimdTurn* turn = tables.turns; turn != end; ++turn) {
        const std::uint32_t index = turn->index;
        if (index == hinted) continue;
        // Most are certified by the spheres around their bodies: those that cannot lower the result.
        const Lanes3 apart = load3(centre + turn->centre_a) - load3(centre + turn->centre_b);
        const Lanes wanted = max(query.best, splat(0.0F)) + added + (load(tail + turn->tail_a) + load(tail + turn->tail_b));
        unresolved[index] = 0;
        if (beyond(dot(apart, apart), wanted, turn->sphere_reach)) continue;
        unresolved[index] = test_body_pair(tables, group, index, margin_m, closest(index), false, query);
        any = static_cast<std::uint8_t>(any | unresolved[index]);
    }
    hint->body_pair = query.closest_entry;
    store(min_clearance_m, query.best);
    return any;
}

}  // namespace
}  // namespace lastgate::detail::LASTGATE_SIMD_ISA
