// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "world/obstacle_field.hpp"
#include "lastgate/verdict.hpp"
#include "lastgate/world_snapshot.hpp"

namespace lastgate {

/// What the nearest obstacle is; `link` between two links of one robot, where no obstacle is involved.
enum class ObstacleSource : std::uint8_t { nothing = 0, sphere = 1, primitive = 2, point = 3, cell = 4, link = 5 };

struct NearestObstacle {
    double distance_m = 0.0;
    Vec3 on_sphere;      ///< The point of the asked sphere that is nearest.
    Vec3 on_obstacle;  ///< The point of the obstacle that is nearest.
    ObstacleSource source = ObstacleSource::nothing;
    std::uint32_t index = none;  ///< As it was given: number of the sphere, primitive or point, or the cell, x fastest.
};

/// Obstacles of every kind for planners that ask about spheres. Built once, then only read, from any thread.
///
/// Distances are signed and never above the true one; they are below it by `distance_slack_m` at most, and zero
/// or below means contact. How deep a sphere lies inside a solid cell is not measured: its distance is then minus its
/// radius.
class CollisionEnvironment {
  public:
    /// Rounding of a distance between coordinates of up to 1e4 m: a few times 9e-13 m. It is taken off every
    /// distance, so that a contact is not missed by rounding.
    static constexpr double distance_slack_m = 1.0e-11;

    /// Throws std::invalid_argument for numbers that are not finite, negative radii, and shapes without size.
    void add_spheres(std::span<const double> xyzr, double block_m_min);
    void add_primitive(const PrimitiveSpec& spec);
    /// Points as spheres of one radius.
    void add_points(std::span<const double> xyz, double radius_m);
    void add_cells(std::shared_ptr<const ObstacleField> grid);

    /// The obstacle nearest to a sphere, if it is nearer than `cutoff_m`; otherwise `cutoff_m` and no source.
    NearestObstacle nearest(Vec3 centre, double radius_m, double cutoff_m) const noexcept;

    /// The same over all of several spheres (x y z radius); `sphere` is the number of the nearest.
    NearestObstacle nearest_of(std::span<const double> spheres, double cutoff_m, std::size_t& sphere) const noexcept;

    /// Whether any of the spheres comes as near as `margin_m` to an obstacle; touching counts.
    bool any_within(std::span<const double> spheres, double margin_m) const noexcept;

    std::size_t memory_bytes() const noexcept;

    struct Field {
        std::shared_ptr<const ObstacleField> obstacles;
        double radius_m = 0.0;  ///< Of every point.
        ObstacleSource source = ObstacleSource::nothing;
    };
    std::span<const Field> fields() const noexcept { return fields_; }
    std::span<const Primitive> primitives() const noexcept { return primitives_; }

  private:
    std::vector<Field> fields_;
    std::vector<Primitive> primitives_;
};

}  // namespace lastgate
