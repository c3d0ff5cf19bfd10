// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

/// What the SIMD kernels read and write: plain data, so that builds for different machines share bytes
/// and no code.
namespace lastgate::detail {

/// Configurations per group. Eight floats fill one AVX2 register.
inline constexpr std::uint32_t lane_count = 8;
/// Eight doubles are two registers.
inline constexpr std::uint32_t half_count = lane_count / 2;

/// What lies in a group is written number by number, each in all lanes: floats from one thing to the next.
inline constexpr std::uint32_t vector_stride = 3 * lane_count;  ///< A point: x, y, z.
inline constexpr std::uint32_t turn_stride = 2 * lane_count;    ///< Sine, cosine.
inline constexpr std::uint32_t core_stride = 2 * vector_stride;  ///< Both ends.
inline constexpr std::uint32_t bounds_stride = 2 * vector_stride;  ///< Low, high; the lanes are obstacles.
inline constexpr std::uint32_t frame_stride = 4 * vector_stride;  ///< The axes x, y, z, then the origin.
inline constexpr std::uint32_t frame_y = vector_stride;
inline constexpr std::uint32_t frame_z = 2 * vector_stride;
inline constexpr std::uint32_t frame_origin = 3 * vector_stride;

/// Says that the axis of a joint, or a constant offset, is along no axis of the parent.
inline constexpr std::uint8_t simd_dense = 4;
/// Says that a constant offset is zero.
inline constexpr std::uint8_t simd_zero = 3;

/// The largest angle whose sine the SIMD code takes as it is.
inline constexpr double simd_angle_max = 4.0;

/// What of a body's volumes stands in a group.
inline constexpr std::uint8_t simd_middles = 1;
inline constexpr std::uint8_t simd_axes = 2;

/// One column of joint rows: which variable it sets, and between which limits.
struct SimdColumn {
    double position_min;
    double position_max;
    std::uint32_t variable;
    std::uint16_t body;    ///< Whose joint position it is as it stands; 0 when there is none.
    std::uint8_t wrapped;  ///< The limits allow angles that must be reduced first.
    float sign;            ///< Of the joint position, as in SimdBody.
};

/// The SIMD code need not place a body's own frame: any that stands firmly in the body will do, when everything else in
/// the body is written down in it. They place the one that takes the fewest multiplications (SimdModel::choose_frames).
struct SimdBody {
    double multiplier;  ///< Joint position = multiplier * variable + offset, with its sign.
    double offset;
    float rotation[9];  ///< By columns, in the parent's frame at joint position zero; slides go along the third.
    float translation[3];
    float sphere_centre[3];
    float sphere_radius;
    float shrink;  ///< Times a length measured in this body's frame is never longer than it is, by its rotation.
    float grow;    ///< One over it, upwards.
    std::uint16_t parent;
    std::uint16_t variable;
    std::uint8_t prismatic;
    /// Which axis of the parent the joint turns about or slides along, and which its offset is along: `simd_dense`
    /// where it is none, `simd_zero` without an offset. Most joints are a quarter turn apart.
    std::uint8_t joint_axis;
    std::uint8_t translation_axis;
};

struct SimdVolume {
    float ends[6];
    float middle[3];
    float axis[3];          ///< From the first end to the second,
    float axis_share[3];    ///< and divided by its square: what a point's share of the way is multiplied with.
    float radius;
    float error;  ///< Bound on how far a computed end can be from the true one.
    float half_length;
    float length2;          ///< Of the capsule axis, squared; only steers where distances are looked for.
    float inverse_length2;  ///< Zero for a sphere.
    std::uint16_t body;
};

struct SimdPair {
    std::uint16_t a;
    std::uint16_t b;
    float reach;  ///< Both radii and both errors: what the distance of the axes must exceed before any margin.
    float sphere_reach;  ///< The same for the middles of the cores: both half lengths on top.
};

struct SimdBodyPair {
    std::uint16_t a;
    std::uint16_t b;
    std::uint16_t tail_a;  ///< Where the motion of each body above the common joints stands in `tails`.
    std::uint16_t tail_b;
    std::uint32_t first;
    std::uint32_t count;
    float sphere_reach;
};

/// What the first query at a body pair needs, in the order of the queries. Places are numbers of floats into the group.
struct SimdTurn {
    std::uint32_t centre_a;
    std::uint32_t centre_b;
    std::uint32_t tail_a;
    std::uint32_t tail_b;
    float sphere_reach;
    std::uint32_t index;  ///< Of the body pair.
};

/// A body with volumes that a joint carries: the sphere around it, and what moves it. Places as in SimdTurn.
struct SimdMover {
    std::uint32_t body;
    std::uint32_t centre;
    std::uint32_t tail;
    float sphere_radius;
};

/// An obstacle for the SIMD code. `error` bounds what rounding its numbers to single precision moves.
struct SimdPrimitive {
    float low[3];
    float high[3];
    float frame[12];  ///< Rotation by columns, then translation.
    float half[3];    ///< Box, and the box around a cylinder.
    float capsule_axis[6];    ///< Sphere, capsule, cylinder.
    float length2;    ///< Capsule, cylinder: of the axis, squared.
    float inverse_length2;
    float radius;
    float error;
    std::uint8_t kind;
};

/// A body that may come near an obstacle within this chunk.
struct BodyPrimitive {
    std::uint16_t body = 0;
    std::uint16_t primitive = 0;
};

/// The obstacles of one snapshot.
struct SimdWorld {
    const SimdPrimitive* primitives;
    const float* bounds;  ///< Blocks of eight obstacles: low x, y, z, high x, y, z.
    std::uint32_t count;
};

/// What one group of eight configurations looks like to the SIMD code. `step` holds how far each body's
/// joint can be from the configuration.
struct SimdGroup {
    float* position;       ///< bodies x 8: joint positions.
    float* turn;           ///< bodies x 2 x 8: their sines and cosines.
    float* step;           ///< bodies x 8. These three are not read once the group is placed: groups may share them.
    float* frame;          ///< bodies x 12 x 8: rotation by columns, then translation. The root stands there before (place_root).
    float* centre;         ///< bodies x 3 x 8.
    float* middle;         ///< volumes x 3 x 8: of the bodies that are `placed`.
    float* capsule_axis;           ///< volumes x 6 x 8: both ends, of the bodies that fields were asked about.
    float* tool;           ///< effectors x 12 x 8: rotation of its body by columns, then the tool point.
    float* tail;           ///< tails x 8.
    std::uint8_t* placed;  ///< bodies: `simd_middles`, `simd_cores`.
};

/// What was closest last time. Checked first it lets bounds skip everything farther away. It changes no
/// answer: a skipped pair could not have lowered the result, whatever the order (simd_robot.hpp).
struct SimdHint {
    std::uint32_t body_pair = 0xFFFFFFFFU;
    std::uint32_t* closest_pair = nullptr;  ///< Per body pair: which of its volume pairs; null when it is not kept.
    std::uint32_t body = 0;
    std::uint32_t volume = 0;
    std::uint32_t primitive = 0xFFFFFFFFU;
};

/// What one volume, or the sphere around a body, needs of a field in every lane.
struct SimdFieldQuery {
    alignas(32) float shift_m[lane_count];   ///< No point of the core is farther than this from the representative's core.
    alignas(32) float required_m[lane_count];  ///< Distance of the core from obstacles that must be exceeded.
    float farthest_m;                        ///< The largest shift.
    float reach_m;                           ///< How far the representative must see to settle every lane that can be settled.
};

/// How much farther than wanted a field is asked about, so that finding nothing there still shows what was wanted after
/// every rounding.
inline constexpr float simd_reach_slack = 1.0F + 1e-5F;

/// The lane that speaks for the others before a field: in the middle of eight rows, so that it is near all of them.
inline constexpr std::size_t representative_lane = lane_count / 2;

struct SimdTables {
    const SimdBody* bodies;
    const SimdVolume* volumes;
    const SimdPair* pairs;
    const SimdBodyPair* body_pairs;
    const SimdTurn* turns;              ///< Body pairs, those that are usually closest first.
    const float* reach;                 ///< Per tail entry: reach of the joint it adds.
    const std::uint16_t* tail_joint;    ///< Per tail entry: the body whose joint it adds.
    const std::uint16_t* tail_first;    ///< Per body: its entry for depth 0; deeper ones follow, and a zero ends the list.
    const std::uint16_t* body_volumes;  ///< Volumes, body by body.
    const std::uint32_t* body_volume_first;
    const SimdMover* movers;
    const SimdColumn* columns;          ///< Of joint rows.
    const std::uint16_t* derived;       ///< Bodies that a column moves by a multiple or an offset.
    const std::uint16_t* resting;       ///< Bodies that no column moves.
    std::uint32_t column_count;
    std::uint32_t derived_count;
    std::uint32_t resting_count;
    std::uint32_t body_count;
    std::uint32_t volume_count;
    std::uint32_t body_pair_count;
    std::uint32_t tail_count;
    std::uint32_t effector_count;  ///< Tool points, kept as volumes behind the others.
    std::uint32_t mover_count;
    float slack;  ///< More than what two roundings of one distance differ by.
};

}  // namespace lastgate::detail
