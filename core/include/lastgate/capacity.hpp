// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

/// Every bound of the core, with its reason. Over a bound is a rejection, never a truncation.
namespace lastgate::capacity {

/// Rows in one chunk. The longest action horizon in wide use is 100 (ACT); 256 leaves room without
/// letting a caller hand over an unbounded loop.
inline constexpr std::size_t rows_max = 256;

/// Rows for what a running motion still does before a chunk takes over, and for the stop beyond a chunk's last row: more than a second of
/// each at 50 Hz. A longer stop gets longer segments, a longer hand-over is rejected.
inline constexpr std::size_t lead_rows_max = 64;
inline constexpr std::size_t stop_rows_max = 64;
inline constexpr std::size_t path_rows_max = lead_rows_max + rows_max + stop_rows_max;

/// Degrees of freedom: two 7-joint arms, two 16-joint hands, legs and a torso need 61.
inline constexpr std::size_t dofs_max = 64;

/// Links of the description, fixed ones included. The largest humanoid checked has 98.
inline constexpr std::size_t links_max = 256;

/// Rigid bodies after fixed joints are folded: one per moving joint (mimic joints included) and the root.
inline constexpr std::size_t bodies_max = 128;

/// Moving joints between the root and the deepest body; a finger tip of a humanoid hand sits 17 deep.
inline constexpr std::size_t chain_max = 40;

/// Shapes on the robot: eight per body for 40 bodies.
inline constexpr std::size_t volumes_max = 320;

/// Convex hulls on the robot and on one link, and vertices of one hull: twelve hulls per body for 64 bodies; two
/// links are then at most 16,384 comparisons, and a shell with holes in it is followed within millimetres by
/// a hundred; beyond 256 vertices a hull is rounder than any link is made.
inline constexpr std::size_t hulls_max = 768;
inline constexpr std::size_t hulls_per_link_max = 128;
inline constexpr std::size_t hull_vertices_max = 256;

/// Shapes a gripper may hold. A tray of 16 things is a lot for two hands.
inline constexpr std::size_t attached_max = 16;

/// End effectors: four limbs and a head, and room.
inline constexpr std::size_t effectors_max = 8;

/// Obstacles in one snapshot. Sixteen times the 64 of the peer that speaks this wire contract.
inline constexpr std::size_t primitives_max = 1024;

/// Voxels along one edge of a grid: 20 m at 1 cm, more than a robot reaches within a chunk.
inline constexpr std::size_t voxels_per_edge_max = 2048;

/// Zones the robot must stay inside. A cell has a handful of walls, a floor and a ceiling.
inline constexpr std::size_t keep_in_zones_max = 16;

/// Contacts that may be declared at once: two hands, each on two things, and what either puts down.
inline constexpr std::size_t declared_contacts_max = 8;

/// How deep a declared contact may let shapes overlap: what a camera, a calibration and a soft finger are off by together. More is not touching.
inline constexpr double contact_depth_m_max = 0.05;

/// Pairs of volumes that rows could not clear, waiting for bisection. The humanoid with the most has 15,278; a step of
/// half a radian in all its joints leaves some 2,000 of them open. What fills this sweeps the robot through itself.
inline constexpr std::size_t items_max = 65536;

/// Pairs or (body, obstacle) entries whose lane results are kept for a whole chunk. More than this many
/// near things at once are left to the double path.
inline constexpr std::size_t simd_entries_max = 8192;

/// Single points and voxels of fields that a recovery may start inside the margin of, over all volumes: a hand of 20 cm length
/// and 5 cm radius along a wall seen every centimetre meets a few hundred. Each is followed on its own.
inline constexpr std::size_t touched_max = 4096;

/// Vertices of a footprint. Navigation stacks use four to a dozen.
inline constexpr std::size_t footprint_vertices_max = 64;

/// Bisections of one segment. The motion bound of a segment is at most a few hundred metres, and
/// 2^-23 of that is below the resolution.
inline constexpr std::size_t depth_max = 24;

/// Coordinates of a robot in metres, of a joint in radians or metres (per second, for a measured velocity), and of
/// obstacles. They keep
/// double rounding below `rounding_m` (tolerance.hpp) and the sine reduction exact.
inline constexpr double robot_extent_m_max = 100.0;
inline constexpr double joint_position_max = 1.0e4;
/// How far a base may drive within one chunk: 256 rows of 20 ms at 2 m/s. Bounds the rounding of the SIMD code.
inline constexpr double base_travel_m_max = 10.0;
inline constexpr double world_extent_m_max = 1.0e4;

}  // namespace lastgate::capacity
