// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <span>

#include "lastgate/capacity.hpp"
#include "lastgate/math.hpp"
#include "lastgate/robot_model.hpp"

namespace lastgate {

/// Marks a volume that belongs to the robot itself rather than to something it holds.
inline constexpr std::uint16_t not_attached = 0xFFFF;

/// A convex solid in a frame of its own on a link: the hull of some vertices, or of discs of one radius around them, square to local z. Two such
/// discs are the ends of a cylinder. Without vertices there is no solid.
struct AttachedSolid {
    Transform in_link;
    double disc_m = 0.0;
    std::uint32_t vertex_count = 0;
    std::array<Vec3, capacity::hull_vertices_max> vertices{};
};

/// A solid by six numbers of its frame on the link (x y z, roll pitch yaw) and three per vertex; without vertices where those do not fit.
AttachedSolid make_attached_solid(std::span<const double> origin_xyz_rpy, double disc_m, std::span<const double> vertices_m) noexcept;

/// A sphere or capsule that contains a solid, in the frame of the link. The radius is negative where there is none.
VolumeSpec cover_of(const AttachedSolid& solid, std::int32_t link) noexcept;

/// Something held that moves with a link: a sphere or capsule or, where it has vertices, a solid.
struct Attachment {
    std::uint16_t id = not_attached;  ///< Chosen by the caller; several shapes may share one.
    VolumeSpec volume;                ///< Of a solid only the link is read: its volume is worked out.
    std::bitset<capacity::links_max> touch;  ///< Links it may touch.
    AttachedSolid solid;
};

}  // namespace lastgate
