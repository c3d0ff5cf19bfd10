// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

/// What the lane kernels read and write: plain data, so that builds for different machines share bytes
/// and no code.
namespace lastgate {

/// Configurations per group. Eight floats fill one AVX2 register.
inline constexpr std::size_t lane_count = 8;

/// Which build of the lanes runs. All give the same bits, because no operation is contracted,
/// reassociated or approximated.
enum class LaneBuild : std::uint8_t { generic = 0, avx2 = 1 };

struct LaneBody {
    float rotation[9];  ///< By columns, in the parent's frame at joint position zero.
    float translation[3];
    float ball_centre[3];
    float ball_radius;
    std::uint16_t parent;
    std::uint16_t prismatic;
};

struct LaneVolume {
    float ends[6];
    float radius;
    float error;  ///< Bound on how far a computed end can be from the true one.
    float half_length;
    std::uint16_t body;
};

struct LanePair {
    std::uint16_t a;
    std::uint16_t b;
    float reach;  ///< Both radii and both errors: what the core distance must exceed before any margin.
    float ball_reach;  ///< The same for the middles of the cores: both half lengths on top.
};

struct LaneBodyPair {
    std::uint16_t a;
    std::uint16_t b;
    std::uint16_t tail_a;  ///< Where the motion of each body above the common joints stands in `tails`.
    std::uint16_t tail_b;
    std::uint32_t first;
    std::uint32_t count;
    float ball_reach;
};

/// An obstacle for the lanes. `error` bounds what rounding its numbers to single precision moves.
struct LanePrimitive {
    float low[3];
    float high[3];
    float frame[12];  ///< Rotation by columns, then translation.
    float half[3];    ///< Box.
    float core[6];    ///< Sphere, capsule.
    float radius;
    float error;
    std::uint8_t kind;
};

/// What one group of eight configurations looks like to the lanes. `step` holds how far each body's
/// joint can be from the configuration.
struct LaneGroup {
    float* position;  ///< bodies x 8: joint positions.
    float* step;      ///< bodies x 8.
    float* centre;    ///< bodies x 3 x 8.
    float* core;      ///< volumes x 9 x 8: both ends and the middle.
    float* tail;      ///< tails x 8.
};

struct LaneTables {
    const LaneBody* bodies;
    const LaneVolume* volumes;
    const LanePair* pairs;
    const LaneBodyPair* body_pairs;
    const std::uint16_t* order;         ///< Body pairs, those that are usually closest first.
    const float* reach;                 ///< Per tail entry: reach of the joint it adds.
    const std::uint16_t* tail_joint;    ///< Per tail entry: the body whose joint it adds.
    const std::uint16_t* tail_first;    ///< Per body: its entry for depth 0; deeper ones follow, and a zero ends the list.
    std::uint32_t body_count;
    std::uint32_t volume_count;
    std::uint32_t body_pair_count;
    std::uint32_t tail_count;
    std::uint32_t effector_count;  ///< Tool points, kept as volumes behind the others.
};

}  // namespace lastgate
