// SPDX-License-Identifier: Apache-2.0
// The narrow phase by convex hulls (GJK): the second query of a pair that its volumes could not certify.
#pragma once

#include <limits>

#include "directional_bound.hpp"
#include "geometry/convex.hpp"
#include "sweep.hpp"

namespace lastgate::detail {

/// What the convex hulls of a pair's links say about it.
struct Refined {
    bool applies = false;  ///< False where no hulls were checked: then only `violated` counts.
    bool certified = false;
    bool violated =
        true;  ///< Touching at the instant itself; also where there are no hulls, so that the volumes decide.
    double spare_m =
        0.0;  ///< Least certified distance minus required distance, of the worst two hulls; queries end at the first that are not certified.
    double motion_m = 0.0;  ///< Of the fastest two that were checked.
    double required_m = 0.0;
    Witness witness{};  ///< Of the nearest two hulls, radii subtracted; its distance is never above the truth.
    std::uint32_t obstacle = none;
};

/// Joint motion that an instant must vouch for: `share` of `step`, per variable; and where it leads, if it is straight.
struct MotionShare {
    std::span<const double> step;
    double share = 1.0;
    PathInterval interval{};
};

/// What is known of the distance of two shapes besides a lower bound at the instant.
struct HullBounds {
    double at_most_m = std::numeric_limits<double>::infinity();  ///< Never below the distance at the instant.
    double directional_m =
        -std::numeric_limits<double>::infinity();  ///< Never above it at any instant of the interval.
};

/// One narrow-phase query.
class ConvexRefinement {
  public:
    ConvexRefinement(Sweep& of, PairKind kind, const OpenItem& pair, const Transform* frames, const MotionShare& motion) noexcept
        : sweep_(of), kind_(kind), item_(pair), frames_(frames), motion_(motion) {}

    /// The pair, which has hulls, against a margin.
    Refined query(double margin_m) noexcept;
    /// The same against a required distance that may be negative: what overlaps so far that its depth cannot be told is
    /// as deep as can be.
    Refined hold(double required_m) noexcept {
        deepest_m_ = -std::numeric_limits<double>::infinity();
        return query(required_m);
    }
    /// The same without ending at the first two that are not certified: `Refined::witness` is that of the nearest, up
    /// to the margin.
    Refined measure(double margin_m) noexcept {
        measuring_ = true;
        return hold(margin_m);
    }
    /// The hulls against those obstacles of a field that were touched at the start, each with a required distance of
    /// its own.
    Refined hold_touched(std::span<const TouchedObstacle> entries) noexcept;
    /// How far the hulls are from one obstacle of a field, up to the margin.
    Refined measure_one(std::uint32_t obstacle, double margin_m) noexcept;
    double signed_distance_to(const PlacedShape& second) const noexcept;
    /// Leaves these obstacles of a field out: something else holds them.
    void leave_out(std::span<const TouchedObstacle> entries) noexcept { left_out_ = entries; }

    // For the kinds of pairs (pairs/): one shape of the first volume against all of the second.
    const Sweep& sweep() const noexcept { return sweep_; }
    const OpenItem& item() const noexcept { return item_; }
    void compare_with_second(const PlacedShape& shape) noexcept;
    void compare_with_primitive(const PlacedShape& shape, const Primitive& primitive) noexcept;
    void compare_with_field(const PlacedShape& shape, const ObstacleField& field) noexcept;

  private:
    double motion_of(const PlacedShape& shape, std::size_t from_depth, std::span<const double> step) const noexcept;
    template <typename Visit>
    void for_each_shape(std::uint16_t volume, Visit visit) const noexcept;

    bool compare(const PlacedShape& a, const PlacedShape& b, std::size_t common_depth) noexcept;
    void compare_with_half_space(const PlacedShape& shape, const PlacedShape& half_space) noexcept;
    /// Whether a declared contact certifies two shapes; nothing is recorded where none is about them.
    bool is_touching_as_declared(const PlacedShape& a, const PlacedShape& b, double moved_m, Vec3 towards, const PairMotion* motion) noexcept;
    bool compare_with_obstacle(const PlacedShape& shape, const ObstacleField& field, std::uint32_t obstacle) noexcept;
    bool is_left_out(std::uint32_t obstacle) const noexcept;
    bool moves_little() noexcept;
    bool record(const Witness& witness, double required_m, double moved_m, const HullBounds& bounds) noexcept;
    void give_up() noexcept;

    Sweep& sweep_;
    PairKind kind_;
    const OpenItem& item_;
    const Transform* frames_;
    MotionShare motion_;
    Vec3 hint_{};  ///< A separating direction to try first, in the base frame.
    double margin_m_ = 0.0;
    double deepest_m_ = 0.0;  ///< What shapes without a distance count as.
    bool measuring_ = false;
    bool touches_ = false;  ///< The two shapes at hand lie in a declared contact, at the instant.
    std::span<const TouchedObstacle> left_out_;
    Refined refined_;
};

/// Tries the convex hulls of a pair that its volumes could not certify.
Refined refine(Sweep& sweep, PairKind kind, const OpenItem& item, const Transform* frames, const MotionShare& motion) noexcept;
/// How far the hulls of a pair are apart, up to its margin; see StartContact.
double distance_of_hulls(Sweep& sweep, PairKind kind, const OpenItem& item, const Transform* frames) noexcept;
/// The same from one obstacle of a field.
double distance_of_hulls(Sweep& sweep, const OpenItem& item, std::uint32_t obstacle, const Transform* frames) noexcept;
/// Never above the signed distance of the hulls of a pair, or of volumes where there are none, from an obstacle that has one shape; minus
/// infinity elsewhere.
double signed_distance_of_hulls(Sweep& sweep, PairKind kind, const OpenItem& item, const Transform* frames) noexcept;
/// Whether the hulls of a pair that started in contact exceed a required distance of their own: with a field, one for each obstacle.
Refined hold_hulls(Sweep& sweep, const StartContact& contact, const MotionShare& motion, double required_m) noexcept;
/// What hulls that started `hulls_m` apart must keep (recovery.cpp).
double required_of_hull(double hulls_m, double margin_m) noexcept;

}  // namespace lastgate::detail
