// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "lastgate/collision_environment.hpp"
#include "lastgate/robot_model.hpp"

/// How far links are from each other and from obstacles, by their convex pieces (a link without any: by its volumes).
/// For planners: signed, never above the true distance of what the pieces contain, and zero or below is contact.
namespace lastgate {

/// One placed robot: frames of its bodies, and by how much each variable may be off.
struct PlacedRobot {
    const RobotModel& model;
    std::span<const Transform> frames;
    std::span<const double> uncertainty;
};

/// If it is below `cutoff_m`; otherwise `cutoff_m` and no source. The first witness lies on the link.
NearestObstacle distance_link_environment(const PlacedRobot& robot, std::size_t link, const CollisionEnvironment& environment, double cutoff_m) noexcept;

/// Of two links; the source says `link` when they are nearer than `cutoff_m`.
NearestObstacle distance_link_link(const PlacedRobot& robot, std::size_t link_a, std::size_t link_b, double cutoff_m) noexcept;

}  // namespace lastgate
