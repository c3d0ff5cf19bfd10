// SPDX-License-Identifier: Apache-2.0
// Eight numbers at once, and the distances made of them.
//
// This and the other headers of SIMD code are compiled once per instruction set, each time in a namespace of its own. All of it has internal
// linkage: of an inline function that two instruction sets share the linker would keep one copy, and a machine without AVX2 would run AVX2 code.
#pragma once

#if defined(__AVX__)
#include <immintrin.h>
#endif

#include <cstddef>
#include <cstdint>

#include "lastgate/capacity.hpp"
#include "simd_tables.hpp"

#ifndef LASTGATE_SIMD_ISA
#error "included by simd_generic.cpp, simd_avx2.cpp and simd_neon.cpp, which name their instruction set"
#endif

namespace lastgate::detail::LASTGATE_SIMD_ISA {
namespace {

typedef float Lanes __attribute__((vector_size(32)));
typedef std::int32_t Mask __attribute__((vector_size(32)));
typedef double Doubles __attribute__((vector_size(32)));  // half of the lanes: four doubles fill a register
typedef std::int64_t LongMask __attribute__((vector_size(32)));
typedef float HalfLanes __attribute__((vector_size(16)));

struct Lanes3 {
    Lanes x, y, z;
};

inline Lanes splat(float value) { return Lanes{value, value, value, value, value, value, value, value}; }
inline Lanes load(const float* from) {
    Lanes lanes;
    __builtin_memcpy(&lanes, from, sizeof lanes);
    return lanes;
}
inline void store(float* to, Lanes lanes) { __builtin_memcpy(to, &lanes, sizeof lanes); }
inline Lanes3 load3(const float* from) { return {load(from), load(from + lane_count), load(from + 2 * lane_count)}; }
inline void store3(float* to, Lanes3 v) {
    store(to, v.x);
    store(to + lane_count, v.y);
    store(to + 2 * lane_count, v.z);
}
// Of two numbers of which one is NaN both give the second: what an AVX register does, in every build.
#if defined(__AVX__)
inline Lanes min(Lanes a, Lanes b) { return __builtin_ia32_minps256(a, b); }
inline Lanes max(Lanes a, Lanes b) { return __builtin_ia32_maxps256(a, b); }
inline Lanes root(Lanes v) { return _mm256_sqrt_ps(v); }  // the builtin of this name is GCC's alone
/// The second where the highest bit of `which` is set.
inline Lanes choose(Lanes first, Lanes second, Mask which) { return __builtin_ia32_blendvps256(first, second, reinterpret_cast<Lanes>(which)); }
#else
inline Lanes min(Lanes a, Lanes b) { return a < b ? a : b; }
inline Lanes max(Lanes a, Lanes b) { return a > b ? a : b; }
inline Lanes root(Lanes v) {
    for (int lane = 0; lane < 8; ++lane) v[lane] = __builtin_sqrtf(v[lane]);
    return v;
}
inline Lanes choose(Lanes first, Lanes second, Mask which) {
    const Mask all = which >> 31;
    return reinterpret_cast<Lanes>((reinterpret_cast<Mask>(second) & all) | (reinterpret_cast<Mask>(first) & ~all));
}
#endif
inline Lanes clamp01(Lanes v) { return min(max(v, splat(0.0F)), splat(1.0F)); }
inline Lanes3 operator+(Lanes3 a, Lanes3 b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
inline Lanes3 operator-(Lanes3 a, Lanes3 b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
inline Lanes3 operator*(Lanes s, Lanes3 a) { return {s * a.x, s * a.y, s * a.z}; }
inline Lanes dot(Lanes3 a, Lanes3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
inline Lanes3 splat3(const float* v) { return {splat(v[0]), splat(v[1]), splat(v[2])}; }

/// Set bits are lanes in which the comparison does not hold; NaN counts as not holding.
inline std::uint8_t lanes_not_above(Lanes value, Lanes limit) {
    const Mask above = value > limit;
#if defined(__AVX__)
    return static_cast<std::uint8_t>(~__builtin_ia32_movmskps256(reinterpret_cast<Lanes>(above)));
#else
    const Mask weight{1, 2, 4, 8, 16, 32, 64, 128};
    const Mask below = ~above & weight;
    const std::int32_t bits = below[0] + below[1] + below[2] + below[3] + below[4] + below[5] + below[6] + below[7];
    return static_cast<std::uint8_t>(bits);
#endif
}

inline bool all_above(Lanes value, Lanes limit) { return lanes_not_above(value, limit) == 0; }

/// Eight of the sixteen lanes of two, by number. GCC and clang have a builtin of their own each.
template <int... from>
inline Lanes pick_lanes(Lanes first, Lanes second) {
#if defined(__clang__)
    return __builtin_shufflevector(first, second, from...);
#else
    return __builtin_shuffle(first, second, Mask{from...});
#endif
}

inline Lanes least_everywhere(Lanes v) {
    v = min(v, pick_lanes<4, 5, 6, 7, 0, 1, 2, 3>(v, v));
    v = min(v, pick_lanes<2, 3, 0, 1, 6, 7, 4, 5>(v, v));
    return min(v, pick_lanes<1, 0, 3, 2, 5, 4, 7, 6>(v, v));
}
inline Lanes greatest_everywhere(Lanes v) {
    v = max(v, pick_lanes<4, 5, 6, 7, 0, 1, 2, 3>(v, v));
    v = max(v, pick_lanes<2, 3, 0, 1, 6, 7, 4, 5>(v, v));
    return max(v, pick_lanes<1, 0, 3, 2, 5, 4, 7, 6>(v, v));
}

/// Sine and cosine for |angle| <= 4, within 4 units of 2^-24 (the minimax polynomials of the Cephes library
/// after reduction by pi/2 in two parts). The first part has 22 bits: three times it is exact, and so is the difference.
inline void sine_cosine(Lanes angle, Lanes& sine, Lanes& cosine) {
    const Lanes magic = splat(12582912.0F);  // 1.5 * 2^23: adding it rounds to a whole number
    const Lanes rounded = angle * splat(0.636619772F) + magic;
    const Lanes turns = rounded - magic;
    const Lanes r = (angle - turns * splat(1.57079648971557617F)) - turns * splat(-1.62920684942946536e-7F);
    const Lanes z = r * r;
    const Lanes s = r + r * z * (splat(-1.6666654611e-1F) + z * (splat(8.3321608736e-3F) + z * splat(-1.9515295891e-4F)));
    const Lanes c = splat(1.0F) - splat(0.5F) * z +
                    z * z * (splat(4.166664568298827e-2F) + z * (splat(-1.388731625493765e-3F) + z * splat(2.443315711809948e-5F)));
    // The last bits of the rounded sum are the quadrant: bit 0 exchanges the two, bit 1 turns signs around.
    const Mask odd = reinterpret_cast<Mask>(rounded) << 31;
    const Mask sign_bit = Mask{} + std::int32_t(-2147483647 - 1);
    const Mask turned = reinterpret_cast<Mask>(rounded) << 30 & sign_bit;
    sine = reinterpret_cast<Lanes>(reinterpret_cast<Mask>(choose(s, c, odd)) ^ turned);
    cosine = reinterpret_cast<Lanes>(reinterpret_cast<Mask>(choose(c, s, odd)) ^ (turned ^ odd));
}

/// Added to the length of a direction before dividing by it. The direction only gets shorter, and with it the
/// distance it shows; below 3e-23 m, where squares vanish, the quotient stays below 1e-10.
constexpr float direction_floor = 1e-12F;

/// Never larger than the distance of two segments, whatever the parameters found: any direction v separates
/// by at most the true distance. With p = a0 + s d1, q = a1 + t d2 and v = q - p the ends of the second lie
/// v.v - t v.d2 and v.v + (1 - t) v.d2 beyond p along v, those of the first -s v.d1 and (1 - s) v.d1.
/// Rounding: v is off by 15 u of the coordinates, the dot products by 6 u of lengths; 64 u in all (simd_model.cpp).
struct Separation {
    Lanes distance;
    Lanes3 direction;  ///< From the first to the second,
    Lanes length;      ///< and no shorter than it is long.
};

inline Separation separate_segments(Lanes3 a0, Lanes3 b0, Lanes a, Lanes inverse_a, Lanes3 a1, Lanes3 b1, Lanes e, Lanes inverse_e) {
    const Lanes3 d1 = b0 - a0;
    const Lanes3 d2 = b1 - a1;
    const Lanes3 r = a0 - a1;
    const Lanes f = dot(d2, r);
    const Lanes c = dot(d1, r);
    const Lanes b = dot(d1, d2);
    const Lanes square = a * e;
    const Lanes denominator = square - b * b;
    const Lanes floor = splat(1e-6F) * square + splat(1e-30F);
    Lanes s = clamp01((b * f - c * e) / max(denominator, floor));
    const Lanes t = clamp01((b * s + f) * inverse_e);
    s = clamp01((b * t - c) * inverse_a);
    const Lanes3 v = t * d2 - s * d1 - r;
    const Lanes length2 = dot(v, v);
    const Lanes along1 = dot(v, d1);
    const Lanes along2 = dot(v, d2);
    const Lanes near2 = min(splat(0.0F) - t * along2, along2 - t * along2);
    const Lanes far1 = max(splat(0.0F) - s * along1, along1 - s * along1);
    const Lanes length = root(length2) + splat(direction_floor);
    return {(length2 + near2 - far1) / length, v, length};
}

inline Lanes distance_segments(Lanes3 a0, Lanes3 b0, Lanes a, Lanes inverse_a, Lanes3 a1, Lanes3 b1, Lanes e, Lanes inverse_e) {
    return separate_segments(a0, b0, a, inverse_a, a1, b1, e, inverse_e).distance;
}

inline Lanes clamp_to(Lanes v, Lanes half) { return max(min(v, half), -half); }
inline Lanes3 clamp_to_box(Lanes3 p, Lanes3 half) { return {clamp_to(p.x, half.x), clamp_to(p.y, half.y), clamp_to(p.z, half.z)}; }

/// Where the slope of the squared distance of a + t d from the box changes sign. It grows with t and is linear between
/// the parameters at which a coordinate enters or leaves its slab, so bracketing it by those makes the last step exact.
inline Lanes nearest_to_box(Lanes3 a, Lanes3 d, Lanes3 half) {
    const auto slope = [&](Lanes t) {
        const Lanes3 p = a + t * d;
        return dot(d, p - clamp_to_box(p, half));
    };
    const Lanes zero = splat(0.0F);
    Lanes lower = zero;
    Lanes upper = splat(1.0F);
    Lanes slope_lower = slope(lower);
    Lanes slope_upper = slope(upper);
    const auto narrow = [&](Lanes knot) {
        const Lanes at = slope(knot);
        const Mask inside = (knot > lower) & (knot < upper);  // false for the NaN of a direction along the slab
        const Mask below = inside & (at < zero);
        const Mask above = inside & ~below;
        lower = below ? knot : lower;
        slope_lower = below ? at : slope_lower;
        upper = above ? knot : upper;
        slope_upper = above ? at : slope_upper;
    };
    const Lanes one = splat(1.0F);
    const Lanes3 inverse{one / d.x, one / d.y, one / d.z};
    narrow((half.x - a.x) * inverse.x);
    narrow((-half.x - a.x) * inverse.x);
    narrow((half.y - a.y) * inverse.y);
    narrow((-half.y - a.y) * inverse.y);
    narrow((half.z - a.z) * inverse.z);
    narrow((-half.z - a.z) * inverse.z);
    const Lanes share = clamp01((zero - slope_lower) / max(slope_upper - slope_lower, splat(1e-30F)));
    const Lanes inner = lower + share * (upper - lower);
    return slope_lower >= zero ? lower : (slope_upper <= zero ? upper : inner);
}

/// Squared distance of the axis-aligned bounds of a segment, given in the box's frame, from the box: never more than that of
/// the segment, and a tenth of the work.
inline Lanes bound2_box(Lanes3 a, Lanes3 b, Lanes3 half) {
    const Lanes zero = splat(0.0F);
    const Lanes3 gap{max(max(min(a.x, b.x) - half.x, -half.x - max(a.x, b.x)), zero), max(max(min(a.y, b.y) - half.y, -half.y - max(a.y, b.y)), zero),
                     max(max(min(a.z, b.z) - half.z, -half.z - max(a.z, b.z)), zero)};
    return dot(gap, gap);
}

/// Never larger than the distance of a segment, given in the box's frame, from the box, whatever parameter is found:
/// any direction separates by at most the true distance.
inline Lanes distance_box(Lanes3 a, Lanes3 b, Lanes3 half) {
    const Lanes3 d = b - a;
    const Lanes3 p = a + nearest_to_box(a, d, half) * d;
    const Lanes3 v = p - clamp_to_box(p, half);
    const Lanes3 n = (splat(1.0F) / (root(dot(v, v)) + splat(direction_floor))) * v;
    const Lanes zero = splat(0.0F);
    const Lanes support = max(n.x, zero - n.x) * half.x + max(n.y, zero - n.y) * half.y + max(n.z, zero - n.z) * half.z;
    return min(dot(n, a), dot(n, b)) - support;
}

}  // namespace
}  // namespace lastgate::detail::LASTGATE_SIMD_ISA
