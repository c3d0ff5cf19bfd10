// SPDX-License-Identifier: Apache-2.0
// Single configurations, eight at once, for planners. Nothing here sees a chunk.
#pragma once

#include "simd_world.hpp"

namespace lastgate::detail::LASTGATE_SIMD_ISA {
namespace {

/// All eight, in one register: a load cannot wait for two stores of half its size as it can for one.
inline Lanes to_single(Doubles low, Doubles high) {
    const HalfLanes first = __builtin_convertvector(low, HalfLanes);
    const HalfLanes second = __builtin_convertvector(high, HalfLanes);
    return Lanes{first[0], first[1], first[2], first[3], second[0], second[1], second[2], second[3]};
}

inline Doubles splat_double(double value) { return Doubles{value, value, value, value}; }

inline void store_doubles(double* to, Doubles lanes) { __builtin_memcpy(to, &lanes, sizeof lanes); }

/// Set bits are lanes of a mask that are set.
inline unsigned lanes_set(LongMask mask) {
#if defined(__AVX__)
    return static_cast<unsigned>(__builtin_ia32_movmskpd256(reinterpret_cast<Doubles>(mask)));
#else
    return (mask[0] != 0 ? 1U : 0U) | (mask[1] != 0 ? 2U : 0U) | (mask[2] != 0 ? 4U : 0U) | (mask[3] != 0 ? 8U : 0U);
#endif
}

inline void fill_bodies(const SimdTables& tables, const SimdGroup& group, const std::uint16_t* bodies, std::uint32_t count, const double* variables) {
    for (std::uint32_t at = 0; at < count; ++at) {
        const SimdBody& body = tables.bodies[bodies[at]];
        const double* lanes = variables + lane_count * std::size_t{body.variable};
        float* to = group.position + lane_count * std::size_t{bodies[at]};
        store_positions(body, load_doubles(lanes), to);
        store_positions(body, load_doubles(lanes + half_count), to + half_count);
    }
}

/// The bodies that joint rows do not move, from `variables` x 8 numbers: the same for all configurations.
void fill_resting(const SimdTables& tables, const SimdGroup& group, const double* variables) noexcept {
    fill_bodies(tables, group, tables.resting, tables.resting_count, variables);
}

/// Single configurations, one joint row each; idle lanes repeat the last. `variables` x 8 numbers get what rows command, for
/// its mimic joints. Set bits are outside the limits (NaN included) and stand at zero instead, which keeps NaN and huge angles
/// out of the SIMD code.
std::uint8_t fill_configurations(const SimdTables& tables, const SimdGroup& group, const double* rows, std::size_t count,
                                        double* variables) noexcept {
    const std::size_t width = tables.column_count;
    const double* row[lane_count] = {rows};
    for (std::size_t lane = 1; lane < lane_count; ++lane) row[lane] = row[lane - 1] + (lane < count ? width : 0);
    float* const positions = group.position;
    const SimdColumn* const columns = tables.columns;
    const bool followed = tables.derived_count != 0;
    LongMask kept_low = LongMask{} - 1;
    LongMask kept_high = kept_low;
    const auto take_column = [&](const SimdColumn& column, Doubles given_low, Doubles given_high) {
        const Doubles least = splat_double(column.position_min);
        const Doubles most = splat_double(column.position_max);
        const LongMask inside_low = (given_low >= least) & (given_low <= most);
        const LongMask inside_high = (given_high >= least) & (given_high <= most);
        kept_low &= inside_low;
        kept_high &= inside_high;
        Doubles low = reinterpret_cast<Doubles>(reinterpret_cast<LongMask>(given_low) & inside_low);
        Doubles high = reinterpret_cast<Doubles>(reinterpret_cast<LongMask>(given_high) & inside_high);
        if (followed) {
            store_doubles(variables + lane_count * std::size_t{column.variable}, low);
            store_doubles(variables + lane_count * std::size_t{column.variable} + half_count, high);
        }
        if (column.body == 0) return;
        if (column.wrapped != 0) {
            low = reduce(low);
            high = reduce(high);
        }
        store(positions + lane_count * std::size_t{column.body}, splat(column.sign) * to_single(low, high));
    };
    for (std::size_t at = 0; at < width; ++at) {
        take_column(columns[at], Doubles{row[0][at], row[1][at], row[2][at], row[3][at]}, Doubles{row[4][at], row[5][at], row[6][at], row[7][at]});
    }
    fill_bodies(tables, group, tables.derived, tables.derived_count, variables);
    return static_cast<std::uint8_t>(~(lanes_set(kept_low) | lanes_set(kept_high) << 4));
}

/// All bodies that joints carry against all obstacles; set bits are unresolved lanes.
std::uint8_t test_world(const SimdTables& tables, const SimdGroup& group, const SimdWorld& world, float margin_m, float* min_clearance_m,
                        SimdHint* hint) noexcept {
    const std::uint32_t hinted = hint->body << 16 | (hint->primitive & 0xFFFF);
    const std::uint32_t hinted_volume = hint->volume;
    Query query{load(min_clearance_m), false, hinted, hinted_volume};
    std::uint8_t bits = 0;
    const float added = margin_m + 2.0F * tables.slack;
    const float* const tail = group.tail;
    const SimdMover* const end = tables.movers + tables.mover_count;
    for (const SimdMover* mover = tables.movers; mover != end; ++mover) {
        const std::uint32_t body = mover->body;
        // What is farther from the sphere of one lane than another lane's sphere is, and than is of interest there, is
        // of interest in neither. A dozen roundings of coordinates are less than the slack.
        const float* const centre = group.centre + mover->centre;
        const Lanes3 representative{splat(centre[representative_lane]), splat(centre[lane_count + representative_lane]), splat(centre[2 * lane_count + representative_lane])};
        const Lanes3 away = load3(centre) - representative;
        const Lanes wanted_m = splat(added + mover->sphere_radius) +
                               greatest_everywhere(root(dot(away, away)) + load(tail + mover->tail) + max(query.best, splat(0.0F)));
        for_near_boxes(world, representative, representative, wanted_m, [&](std::uint32_t index) {
            const BodyPrimitive entry{static_cast<std::uint16_t>(body), static_cast<std::uint16_t>(index)};
            const std::uint32_t first_volume = (body << 16 | index) == hinted ? hinted_volume : 0xFFFFFFFFU;
            bits = static_cast<std::uint8_t>(bits | test_entry(tables, group, entry, world.primitives[index], margin_m, first_volume, query));
        });
    }
    remember(query, hinted, hint);
    store(min_clearance_m, query.best);
    return bits;
}

}  // namespace
}  // namespace lastgate::detail::LASTGATE_SIMD_ISA
