// SPDX-License-Identifier: Apache-2.0
// The narrow-phase query at a pair: its links by their convex hulls instead of their volumes. It may clear the pair it
// checked and nothing else.
#include "convex_refine.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "clearance.hpp"
#include "contact_depth.hpp"
#include "geometry/tolerance.hpp"
#include "pair_table.hpp"

namespace lastgate::detail {

namespace {

Transform relative(const Transform& from, const Transform& to) noexcept {
    return {{transposed_times(from.rotation, to.rotation.x), transposed_times(from.rotation, to.rotation.y), transposed_times(from.rotation, to.rotation.z)},
            inverse_times(from, to.translation)};
}

/// Hulls are checked once their volumes move less than this within half an interval. Before that, halving the
/// interval costs one placement for all pairs together, and the volumes alone show most of them. For g1's steps of
/// half a radian near contact this takes a tenth of the queries at hulls, with the same answers.
constexpr double refine_below_m = 0.02;

/// Or once the curvature of their way takes less than this: near contact a direction then certifies what the length of the way does not.
constexpr double bent_below_m = 0.002;

/// A separating direction that leaves this much less than what is known already is as good as the one that GJK would find.
constexpr double as_good_m = 1e-6;

}  // namespace

double ConvexRefinement::motion_of(const PlacedShape& shape, std::size_t from_depth, std::span<const double> step) const noexcept {
    return shape.reach == nullptr ? 0.0 : motion_bound(*sweep_.setup.model, shape.body, shape.reach, from_depth, step);
}

/// What a volume stands for: the hulls it meets or, where there are none, itself.
template <typename Visit>
void ConvexRefinement::for_each_shape(std::uint16_t volume, Visit visit) const noexcept {
    const RobotModel& model = *sweep_.setup.model;
    const Volume& own = sweep_.setup.shapes.volumes()[volume];
    PlacedShape shape;
    shape.body = own.body;
    shape.in_base = frames_[own.body];
    if (const SolidInBody* solid = sweep_.setup.shapes.solid_of(volume)) {
        shape.set_solid(*solid, own.body, frames_);
        visit(shape);
        return;
    }
    const auto met = model.hulls_of_volume(volume);
    if (met.empty()) {
        shape.set_volume(own, frames_);
        visit(shape);
        return;
    }
    for (const std::uint16_t index : met) {
        const Hull& hull = model.hulls()[index];
        shape.vertices = model.vertices(hull);
        shape.radius_m = hull.radius_m;
        shape.centre = shape.in_base * hull.centre;
        shape.sphere_radius_m = hull.sphere_radius_m;
        shape.reach = hull.reach.data();
        if (!visit(shape)) return;
    }
}

/// Keeps the worst; the distance never falls below what the motion bound and the directional bound leave of it. False when something was not
/// certified: checking the rest would cost more than looking again at half the motion, which must be done anyway.
bool ConvexRefinement::record(const Witness& witness, double required_m, double moved_m,
                              const HullBounds& bounds) noexcept {
    const double spare_m = std::max(witness.distance_m - moved_m, bounds.directional_m) - required_m;
    const bool first = !refined_.applies;
    refined_.applies = true;
    if (first || !(spare_m >= refined_.spare_m)) refined_.spare_m = spare_m;
    refined_.motion_m = std::max(refined_.motion_m, moved_m);
    if (first || witness.distance_m - required_m < refined_.witness.distance_m - refined_.required_m) {
        refined_.witness = witness;
        refined_.required_m = required_m;
        refined_.obstacle = none;
    }
    if (certified(witness.distance_m, required_m, moved_m) || certified(bounds.directional_m, required_m, 0.0))
        return true;
    refined_.certified = false;
    refined_.violated = !std::exchange(touches_, false) && violated(bounds.at_most_m, required_m);
    return measuring_;
}

void ConvexRefinement::give_up() noexcept {
    touches_ = false;
    (void)record({deepest_m_, {}, {}}, margin_m_, 0.0, {.at_most_m = 0.0});
}

/// Two convex shapes. False when the answer is settled.
bool ConvexRefinement::compare(const PlacedShape& a, const PlacedShape& b, std::size_t common_depth) noexcept {
    const double required_m = margin_m_ + motion_of(a, common_depth, sweep_.workspace.uncertainty) + motion_of(b, common_depth, sweep_.workspace.uncertainty);
    const double moved_m = motion_.share * (motion_of(a, common_depth, motion_.step) + motion_of(b, common_depth, motion_.step));
    const double needed_m = needed_distance(required_m, moved_m);
    const double wanted_m = needed_m + std::max(sweep_.min_clearance_m, 0.0);
    const Vec3 apart = b.centre - a.centre;
    const double length = norm(apart);
    const double gap_m = length - a.sphere_radius_m - b.sphere_radius_m;
    if (gap_m > wanted_m) {
        return record(
            {gap_m, a.centre + (a.sphere_radius_m / length) * apart, b.centre - (b.sphere_radius_m / length) * apart},
            required_m, moved_m, {.at_most_m = gap_m});
    }
    if (sweep_.is_budget_spent()) {
        give_up();
        return false;
    }
    const double radii_m = a.radius_m + b.radius_m;
    std::optional<PairMotion> motion;
    if (motion_.interval.is_straight()) {
        motion.emplace(*sweep_.setup.model, a, b, motion_.interval);
        HullBounds hinted{.directional_m = directional_distance(*motion, hint_)};
        sweep_.charge_queries(1);
        if (certified(hinted.directional_m, required_m, 0.0) &&
            hinted.directional_m - required_m >= sweep_.min_clearance_m - as_good_m) {
            return record({hinted.directional_m, a.centre, b.centre}, required_m, moved_m, hinted);
        }
    }
    const double least_m = motion ? needed_distance(required_m, std::min(moved_m, motion->bend_m())) : needed_m;
    const Vec3 guess = dot(hint_, hint_) > 0.0 ? hint_ : apart;
    const ConvexGoal goal{wanted_m + radii_m, measuring_ ? 0.0 : least_m + radii_m,
                          transposed_times(a.in_base.rotation, guess)};
    const ConvexDistance found = convex_distance(a.vertices, b.vertices, relative(a.in_base, b.in_base), goal);
    sweep_.charge_queries(found.iterations + 2);
    HullBounds bounds{.at_most_m = found.upper_m - radii_m};
    if (motion && !(found.lower_m - radii_m > needed_m) && bounds.at_most_m > least_m) {
        bounds.directional_m = directional_distance(*motion, a.in_base.rotation * (found.on_second - found.on_first));
        sweep_.charge_queries(1);
    }
    Witness witness{(found.lower_m > 0.0 ? found.lower_m : deepest_m_) - radii_m, a.in_base * found.on_first,
                    a.in_base * found.on_second};
    const Vec3 across = witness.on_second - witness.on_first;
    const double across_m = norm(across);
    if (is_touching_as_declared(a, b, moved_m, found.lower_m > 0.0 ? across : hint_, motion ? &*motion : nullptr)) return true;
    if (across_m > 0.0) {
        witness.on_first = witness.on_first + (a.radius_m / across_m) * across;
        witness.on_second = witness.on_second - (b.radius_m / across_m) * across;
    }
    return record(witness, required_m, moved_m, bounds);
}

/// What is declared is declared of what the narrow phase knows: each hull, or the volume where there are none, must lie inside the region of one
/// contact, whole, and overlap no deeper than that contact allows. Of a field a hull may touch single obstacles and overlap none: of what
/// lies behind a surface nothing is known.
bool ConvexRefinement::is_touching_as_declared(const PlacedShape& a, const PlacedShape& b, double moved_m, Vec3 towards, const PairMotion* motion) noexcept {
    touches_ = false;
    if (!sweep_.has_contact(kind_, item_, sweep_.contact_segment)) return false;
    const double touching_m = sweep_.extra_m + motion_of(a, 0, sweep_.workspace.uncertainty);
    const SignedDistance apart = signed_distance(a, b, towards);
    // The slab that parts them, or the shortest way that would, held fixed while they move.
    const double followed_m = motion != nullptr ? directional_distance(*motion, apart.direction) : -std::numeric_limits<double>::infinity();
    sweep_.charge_queries(contact_directions_max);
    double spare_m = -std::numeric_limits<double>::infinity();
    double now_m = spare_m;
    for (std::size_t index = 0; index < sweep_.declared.size(); ++index) {
        if (!sweep_.counts(index, kind_, item_, sweep_.contact_segment)) continue;
        const DeclaredContact& contact = sweep_.declared[index];
        const double depth_m = kind_ == PairKind::field ? 0.0 : contact.depth_m;
        const double inside_m = depth_in_region(a, contact.region);
        now_m = std::max(now_m, std::min(apart.distance_m + depth_m, inside_m) - touching_m);
        spare_m = std::max(spare_m, std::min(std::max(apart.distance_m - moved_m, followed_m) + depth_m, inside_m - moved_m) - touching_m);
    }
    touches_ = !violated(now_m, 0.0);
    if (!certified(spare_m, 0.0, 0.0)) return false;
    const bool first = !refined_.applies;
    refined_.applies = true;
    if (first || !(spare_m >= refined_.spare_m)) refined_.spare_m = spare_m;
    refined_.motion_m = std::max(refined_.motion_m, moved_m);
    return true;
}

void ConvexRefinement::compare_with_second(const PlacedShape& shape) noexcept {
    const auto volumes = sweep_.setup.shapes.volumes();
    const std::size_t common_depth = sweep_.setup.model->common_depth(volumes[item_.a].body, volumes[item_.b].body);
    for_each_shape(item_.b, [&](const PlacedShape& second) noexcept { return compare(shape, second, common_depth); });
}

void ConvexRefinement::compare_with_half_space(const PlacedShape& shape, const PlacedShape& half_space) noexcept {
    const Transform& in_base = half_space.in_base;
    const double required_m = margin_m_ + motion_of(shape, 0, sweep_.workspace.uncertainty);
    const double moved_m = motion_.share * motion_of(shape, 0, motion_.step);
    const Vec3 out = in_base.rotation.z;
    const Vec3 at = shape.in_base * support_point(shape.vertices, transposed_times(shape.in_base.rotation, -out));
    const double lowest_m = dot(out, at - in_base.translation);
    sweep_.charge_queries(1);
    std::optional<PairMotion> motion;
    if (motion_.interval.is_straight()) motion.emplace(*sweep_.setup.model, shape, half_space, motion_.interval);
    if (is_touching_as_declared(shape, half_space, moved_m, -out, motion ? &*motion : nullptr)) return;
    HullBounds bounds{.at_most_m = lowest_m - shape.radius_m};
    if (motion && !certified(bounds.at_most_m, required_m, moved_m)) {
        bounds.directional_m = directional_distance(*motion, -out);
        sweep_.charge_queries(1);
    }
    (void)record({lowest_m - shape.radius_m, at - shape.radius_m * out, at - lowest_m * out}, required_m, moved_m,
                 bounds);
}

void ConvexRefinement::compare_with_primitive(const PlacedShape& shape, const Primitive& primitive) noexcept {
    PlacedShape obstacle;
    if (!obstacle.set_obstacle(primitive)) return give_up();
    if (obstacle.is_half_space) return compare_with_half_space(shape, obstacle);
    (void)compare(shape, obstacle, 0);
}

/// A field keeps the surface of what is solid. A shape that meets no voxel of it and has one vertex outside all
/// solid voxels is outside altogether, because it is connected.
void ConvexRefinement::compare_with_field(const PlacedShape& shape, const ObstacleField& field) noexcept {
    const double required_m = margin_m_ + motion_of(shape, 0, sweep_.workspace.uncertainty);
    const double moved_m = motion_.share * motion_of(shape, 0, motion_.step);
    const double needed_m = needed_distance(required_m, moved_m);
    Vec3 low{1e300, 1e300, 1e300};
    Vec3 high{-1e300, -1e300, -1e300};
    for (std::uint32_t index = 0; index < shape.vertices.count; ++index) {
        const Vec3 p = shape.in_base * Vec3{shape.vertices.x[index], shape.vertices.y[index], shape.vertices.z[index]};
        low = {std::min(low.x, p.x), std::min(low.y, p.y), std::min(low.z, p.z)};
        high = {std::max(high.x, p.x), std::max(high.y, p.y), std::max(high.z, p.z)};
    }
    if (shape.vertices.disc_m > 0.0) {
        const Vec3 axis = shape.in_base.rotation.z;
        const auto aside_m = [&](double along) noexcept { return shape.vertices.disc_m * std::sqrt(std::max(1.0 - along * along, 0.0)) + tolerance::cylinder_m; };
        const Vec3 disc{aside_m(axis.x), aside_m(axis.y), aside_m(axis.z)};
        low = low - disc;
        high = high + disc;
    }
    const Vec3 vertex = shape.in_base * Vec3{shape.vertices.x[0], shape.vertices.y[0], shape.vertices.z[0]};
    if (field.is_solid(vertex)) return give_up();
    const double room_m = field.room(low, high) - shape.radius_m;
    if (!record({room_m, vertex, vertex}, required_m, moved_m, {.at_most_m = room_m})) return;
    // Nothing farther than the clearance that is still of interest needs to be checked.
    const double reach_m = needed_m + std::max(sweep_.min_clearance_m, tolerance::resolution_m) + shape.radius_m;
    const Vec3 reach{reach_m, reach_m, reach_m};
    (void)record({reach_m - shape.radius_m, vertex, vertex}, required_m, moved_m,
                 {.at_most_m = reach_m - shape.radius_m});
    (void)field.every_obstacle_in(low - reach, high + reach, [&](Vec3, std::uint32_t index) noexcept {
        return is_left_out(index) || compare_with_obstacle(shape, field, index);
    });
}

bool ConvexRefinement::is_left_out(std::uint32_t obstacle) const noexcept {
    const auto before = [](const TouchedObstacle& entry, std::uint32_t wanted) noexcept { return entry.obstacle < wanted; };
    const auto found = std::lower_bound(left_out_.begin(), left_out_.end(), obstacle, before);
    return found != left_out_.end() && found->obstacle == obstacle;
}

/// One point, voxel or sphere of a field. False when the answer is settled.
bool ConvexRefinement::compare_with_obstacle(const PlacedShape& shape, const ObstacleField& field, std::uint32_t obstacle) noexcept {
    PlacedShape voxel;
    if (field.half_m() > 0.0) {
        voxel.set_box({field.half_m(), field.half_m(), field.half_m()});
        voxel.sphere_radius_m = field.half_m() * 1.7320508075688773;
    } else {
        voxel.set_segment({});
        voxel.vertices.count = 1;
        voxel.radius_m = voxel.sphere_radius_m = field.radius_m(obstacle);
    }
    voxel.in_base.translation = voxel.centre = field.centre(obstacle);
    const double before_m = refined_.witness.distance_m;
    const bool first = !refined_.applies;
    const bool open = compare(shape, voxel, 0);
    if (first || refined_.witness.distance_m < before_m) refined_.obstacle = obstacle;
    return open;
}

/// Whether a query at hulls is likely to decide; a direction for them comes with the answer. What separates the volumes, or their axes where
/// the volumes overlap, often separates the hulls.
bool ConvexRefinement::moves_little() noexcept {
    const bool is_slow = motion_.share * sweep_.pair_motion(kind_, item_, motion_.step) <= refine_below_m;
    const PairFunctions& functions = functions_of(kind_);
    if (!motion_.interval.is_straight() || functions.place_second == nullptr) return is_slow;
    const Witness witness = functions.measure(sweep_, item_, frames_, 0.0);
    hint_ = (witness.distance_m < 0.0 ? -1.0 : 1.0) * (witness.on_second - witness.on_first);
    if (is_slow) return true;
    PlacedShape first;
    PlacedShape second;
    first.set_volume(sweep_.setup.shapes.volumes()[item_.a], frames_);
    return functions.place_second(sweep_, item_, frames_, second) &&
           PairMotion(*sweep_.setup.model, first, second, motion_.interval).bend_m() <= bent_below_m;
}

Refined ConvexRefinement::hold_touched(std::span<const TouchedObstacle> entries) noexcept {
    if (!moves_little()) return {.violated = false};
    deepest_m_ = -std::numeric_limits<double>::infinity();
    refined_.certified = true;
    refined_.violated = false;
    const ObstacleField& field = *sweep_.world->field(item_.b);
    const double margin_m = sweep_.whole_margin(kind_);
    for_each_shape(item_.a, [&](const PlacedShape& shape) noexcept {
        for (const TouchedObstacle& entry : entries) {
            if (!std::isfinite(entry.hulls_m)) continue;
            margin_m_ = required_of_hull(entry.hulls_m, margin_m);
            if (!compare_with_obstacle(shape, field, entry.obstacle)) return false;
        }
        return true;
    });
    return refined_;
}

Refined ConvexRefinement::measure_one(std::uint32_t obstacle, double margin_m) noexcept {
    measuring_ = true;
    deepest_m_ = -std::numeric_limits<double>::infinity();
    margin_m_ = margin_m;
    refined_.certified = true;
    const ObstacleField& field = *sweep_.world->field(item_.b);
    for_each_shape(item_.a, [&](const PlacedShape& shape) noexcept { return compare_with_obstacle(shape, field, obstacle); });
    return refined_;
}

Refined ConvexRefinement::query(double margin_m) noexcept {
    if (!moves_little()) return {.violated = false};
    margin_m_ = margin_m;
    // Until something speaks against it; what was never compared does not count as certified.
    refined_.certified = true;
    refined_.violated = false;
    for_each_shape(item_.a, [&](const PlacedShape& shape) noexcept {
        functions_of(kind_).compare_hulls(*this, shape);
        return measuring_ || refined_.certified;
    });
    if (!refined_.applies) return {};
    return refined_;
}

namespace {

/// Only pairs that must stay apart: what must stay inside a box or a zone is evaluated by its volumes.
bool has_hulls(const Sweep& sweep, PairKind kind, const OpenItem& item) noexcept {
    const PairFunctions& functions = functions_of(kind);
    return functions.has_hulls != nullptr && functions.has_hulls(sweep, item);
}

}  // namespace

/// A pair that starts in contact is held to its own distance, which its volumes measure: hulls that overlap all
/// have the distance 0 and could not tell closer from farther. Where they can, they are held to theirs as well (recovery.cpp).
/// Of a field that goes for the obstacles that were touched; hulls may clear the others.
Refined refine(Sweep& sweep, PairKind kind, const OpenItem& item, const Transform* frames, const MotionShare& motion) noexcept {
    if (!has_hulls(sweep, kind, item)) return {};
    ConvexRefinement refinement(sweep, kind, item, frames, motion);
    if (const StartContact* contact = sweep.start_contact(kind, item.a, item.b)) {
        if (kind != PairKind::field) return {};
        const double nearest_m = sweep.nearest_touched(*contact, frames, true);
        // Not certified yet, or really too close: the others may still be clear.
        if (!certified(nearest_m, sweep.whole_margin(kind), motion.share * sweep.pair_motion(kind, item, motion.step))) {
            return {.violated = violated(nearest_m, sweep.whole_margin(kind))};
        }
        refinement.leave_out(sweep.touched(*contact));
    }
    return refinement.query(sweep.whole_margin(kind));
}

double ConvexRefinement::signed_distance_to(const PlacedShape& second) const noexcept {
    double least_m = std::numeric_limits<double>::infinity();
    for_each_shape(item_.a, [&](const PlacedShape& shape) noexcept {
        least_m = std::min(least_m, signed_distance(shape, second, hint_).distance_m);
        return true;
    });
    return least_m;
}

double signed_distance_of_hulls(Sweep& sweep, PairKind kind, const OpenItem& item, const Transform* frames) noexcept {
    PlacedShape second;
    const PairFunctions& functions = functions_of(kind);
    if (functions.place_second == nullptr || !functions.place_second(sweep, item, frames, second)) return -std::numeric_limits<double>::infinity();
    return ConvexRefinement(sweep, kind, item, frames, {sweep.workspace.no_step, 0.0}).signed_distance_to(second);
}

double distance_of_hulls(Sweep& sweep, PairKind kind, const OpenItem& item, const Transform* frames) noexcept {
    if (!has_hulls(sweep, kind, item)) return StartContact{}.hulls_m;
    const Refined found = ConvexRefinement(sweep, kind, item, frames, {sweep.workspace.no_step, 0.0}).measure(sweep.whole_margin(kind));
    return found.applies ? found.witness.distance_m : StartContact{}.hulls_m;
}

double distance_of_hulls(Sweep& sweep, const OpenItem& item, std::uint32_t obstacle, const Transform* frames) noexcept {
    if (!has_hulls(sweep, PairKind::field, item)) return TouchedObstacle{}.hulls_m;
    const Refined found = ConvexRefinement(sweep, PairKind::field, item, frames, {sweep.workspace.no_step, 0.0}).measure_one(obstacle, sweep.whole_margin(PairKind::field));
    return found.applies ? found.witness.distance_m : TouchedObstacle{}.hulls_m;
}

Refined hold_hulls(Sweep& sweep, const StartContact& contact, const MotionShare& motion, double required_m) noexcept {
    const OpenItem item{0, contact.a, contact.b, 0.0, required_m};
    ConvexRefinement query(sweep, contact.kind, item, sweep.workspace.sample_frames.data(), motion);
    return contact.kind == PairKind::field ? query.hold_touched(sweep.touched(contact)) : query.hold(required_m);
}

}  // namespace lastgate::detail
