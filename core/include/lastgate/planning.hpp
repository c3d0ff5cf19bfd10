// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "lastgate/gate.hpp"

/// For planners, and for what is written down after a verdict. Nothing here decides about a chunk.
namespace lastgate {

/// What the nearest obstacle is; `link` between two links of one robot, where no obstacle is involved.
enum class ObstacleSource : std::uint8_t { nothing = 0, sphere = 1, primitive = 2, point = 3, voxel = 4, link = 5 };

struct NearestObstacle {
    double distance_m = 0.0;
    Vec3 on_sphere;      ///< The point of the asked sphere that is nearest.
    Vec3 on_obstacle;  ///< The point of the obstacle that is nearest.
    ObstacleSource source = ObstacleSource::nothing;
    std::uint32_t index = none;  ///< As it was given: number of the sphere, primitive or point, or the voxel, x fastest.
};

/// Obstacles of every kind for planners that ask about spheres. Built once, then only read, from any thread.
///
/// Distances are signed and never above the true one; they are below it by `distance_slack_m` at most, and zero
/// or below means contact. How deep a sphere lies inside a solid voxel is not measured: its distance is then minus its
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
    void add_voxels(std::shared_ptr<const ObstacleField> grid);

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

/// Spheres fixed to the links of a robot, kept by coordinate. Built once, then only read, from any thread.
class SphereCover {
  public:
    /// `xyzr_in_link` holds four numbers per sphere, `link` its link, in ascending order. Throws std::invalid_argument
    /// for a link that does not exist or numbers that are not finite.
    SphereCover(std::shared_ptr<const RobotModel> model, std::span<const double> xyzr_in_link, std::span<const std::uint16_t> link);

    const RobotModel& model() const noexcept { return *model_; }
    std::size_t sphere_count() const noexcept { return x_.size(); }
    /// The first sphere of a link; that of the link after the last is the number of spheres.
    std::uint32_t sphere_first(std::size_t link) const noexcept { return sphere_first_[link]; }

    /// The spheres (x y z radius) of one placed robot. Each grows by what its joints may be off: `uncertainty` per
    /// variable.
    void place(std::span<const Transform> frames, std::span<const double> uncertainty, double* xyzr) const noexcept;

    /// Never above the distance of two links by their placed spheres, if it is below `cutoff_m`; otherwise `cutoff_m`.
    /// Negative when spheres overlap.
    double distance_of_links(const double* xyzr, std::size_t link_a, std::size_t link_b, double cutoff_m) const noexcept;

  private:
    std::shared_ptr<const RobotModel> model_;
    std::vector<double> x_;  ///< In the frame of the body.
    std::vector<double> y_;
    std::vector<double> z_;
    std::vector<double> radius_;
    std::vector<std::uint16_t> body_;
    std::vector<double> reach_;  ///< spheres x chain_max; see Volume.
    std::vector<std::uint32_t> sphere_first_;
};

// How far links are from each other and from obstacles, by their convex hulls (a link without any: by its volumes).
// For planners: signed, never above the true distance of what the hulls contain, and zero or below is contact.

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

/// All of a hull lies where out . x <= offset_m, and some vertex reaches it.
struct HullPlane {
    Vec3 out;
    double offset_m = 0.0;
};

/// The planes of all faces of the hull of some vertices, by trying every three of them that may lie on one; a few more may
/// be among them. None when the vertices lie on a line. Of faces that are nearly parallel one stands for the others, so that a depth
/// read off them is too large by a millionth of the hull's extent at most.
std::vector<HullPlane> hull_planes(std::span<const Vec3> vertices);

// Why the path of an accepted chunk is clear, written down so that an independent program can check it with a few dot products.
// Made outside the check, by a sweep of its own that allocates; what it cannot certify it does not write.

enum class CertificateKind : std::uint8_t { self = 0, world = 1, zone = 2, points = 3 };

/// Between two instants of the path a pair of shapes stays apart: at `at` a slab of `distance_m` across `direction`
/// separates them, radii subtracted, and neither comes closer than `motion_m` by leaving that instant. A cloud lies on all
/// sides of a volume, so it has no slab: `distance_m` is then that of its nearest point, and the direction is zero. Hulls are
/// certified against each point that the volume is too near, by slabs.
struct CertificateRecord {
    CertificateKind kind = CertificateKind::self;
    bool by_hulls = false;
    std::uint16_t a = 0;  ///< The pair that is certified: a volume,
    std::uint16_t b = 0;  ///< and a volume, obstacle or zone; 0 for the cloud.
    std::uint16_t shape_a = 0;  ///< What shows it: the volume itself, or a hull that the volume meets.
    std::uint32_t shape_b = 0;
    bool hull_a = false;
    bool hull_b = false;
    double low = 0.0;  ///< In rows, counted from the measured state.
    double high = 0.0;
    double at = 0.0;
    Vec3 direction;  ///< From the first towards the second.
    double distance_m = 0.0;
    double motion_m = 0.0;
    double required_m = 0.0;
};

/// A hull and a volume of the same link that do not meet: what the volume stands for is not in that hull.
struct ApartRecord {
    std::uint16_t volume = 0;
    std::uint16_t hull = 0;
    Vec3 direction;  ///< From the volume towards the hull, in the frame of the link.
};

struct PathCertificate {
    std::vector<CertificateRecord> records;
    std::vector<ApartRecord> apart;
    bool complete = false;  ///< Every pair is certified at every instant; otherwise the rest means nothing.
};

/// Of the path behind the gate's last check, which must have been accepted, in the same world. Volumes, held ones too, against
/// volumes, obstacles, zones and points; no voxels, no floor.
PathCertificate certify_path(const Gate& gate, const WorldSnapshot& world);

}  // namespace lastgate
