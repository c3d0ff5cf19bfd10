// SPDX-License-Identifier: Apache-2.0
// The directional bound: never above the distance that sampling finds anywhere in the interval, whatever the joints, the pair and the direction;
// exact where paper says so; and worth more than the motion bound where it matters.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "sweep/directional_bound.hpp"
#include "sweep/motion_bound.hpp"
#include "geometry/tolerance.hpp"
#include "require.hpp"
#include "robots.hpp"

using namespace lastgate;
using namespace lastgate::detail;
using namespace lastgate::robots;

namespace {

constexpr int samples = 24;

struct Draw {
    std::mt19937_64 engine;
    double uniform(double low, double high) { return std::uniform_real_distribution<double>(low, high)(engine); }
    Vec3 vector() { return {uniform(-1.0, 1.0), uniform(-1.0, 1.0), uniform(-1.0, 1.0)}; }
    std::size_t below(std::size_t count) { return engine() % count; }
};

/// A chain in which two joints follow one degree of freedom, one of them backwards and twice as far, with a slide between them.
RobotModelSpec mimic_chain() {
    RobotModelSpec spec;
    spec.links.push_back({});
    add_joint(spec, 0, JointKind::revolute, {}, {}, {0.0, 0.0, 1.0}, -3.0, 3.0);
    add_joint(spec, 1, JointKind::prismatic, {0.3, 0.0, 0.1}, {0.4, 0.0, 0.0}, {1.0, 0.0, 0.0}, -0.3, 0.3);
    add_joint(spec, 2, JointKind::revolute, {0.3, 0.0, 0.0}, {0.0, 0.7, 0.0}, {0.0, 1.0, 0.0}, -1.0, 1.0);
    for (const double multiplier : {-2.0, 0.5}) {
        LinkSpec follower;
        follower.parent = last_link(spec);
        follower.kind = multiplier < 0.0 ? JointKind::revolute : JointKind::prismatic;
        follower.dof = 2;
        follower.multiplier = multiplier;
        follower.offset = 0.1;
        follower.origin_xyz = {0.25, 0.05, 0.0};
        follower.axis = {0.0, 0.6, 0.8};
        spec.links.push_back(follower);
    }
    for (std::int32_t link = 0; link <= last_link(spec); ++link)
        spec.volumes.push_back({link, 0.02, {0.0, 0.0, 0.0}, {0.15, 0.02, 0.05}});
    spec.effectors.push_back({last_link(spec), {}, {}});
    return spec;
}

/// A robot somewhere, and a straight way on both sides of there.
struct Moving {
    const RobotModel& model;
    std::vector<double> at;
    std::vector<double> before;
    std::vector<double> after;
    std::vector<Transform> frames;

    Moving(const RobotModel& robot, Draw& draw, double reach)
        : model(robot), at(robot.variable_count()), before(at), after(at), frames(robot.bodies().size()) {
        const std::size_t only = draw.below(2 * at.size());  // every other time one joint alone
        for (std::size_t variable = 0; variable < at.size(); ++variable) {
            const bool is_base = variable >= model.dof_count();
            at[variable] = is_base ? draw.uniform(-2.0, 2.0)
                                   : draw.uniform(model.dof(variable).position_min, model.dof(variable).position_max);
            const bool moves = only >= at.size() || only == variable;
            before[variable] = moves ? draw.uniform(-reach, reach) : 0.0;
            after[variable] = moves ? draw.uniform(-reach, reach) : 0.0;
        }
        forward_kinematics(model, at.data(), frames);
    }
    PathInterval interval() const { return {frames.data(), before, after, 1.0}; }
    std::vector<Transform> frames_after(const std::vector<double>& way, double share) const {
        std::vector<double> sample(at);
        for (std::size_t variable = 0; variable < at.size(); ++variable) sample[variable] += share * way[variable];
        std::vector<Transform> placed(frames.size());
        forward_kinematics(model, sample.data(), placed);
        return placed;
    }
};

Segment core_of(const Volume& volume, const std::vector<Transform>& frames) {
    return {frames[volume.body] * volume.end_a, frames[volume.body] * volume.end_b};
}

/// The least distance over the interval, by sampling.
template <typename Distance>
double least_distance(const Moving& moving, const Distance& distance) {
    double least_m = 1e9;
    for (const auto* way : {&moving.before, &moving.after}) {
        for (int index = 0; index <= samples; ++index)
            least_m = std::min(least_m, distance(moving.frames_after(*way, static_cast<double>(index) / samples)));
    }
    return least_m;
}

struct Tally {
    int compared = 0;
    int known = 0;
    int better = 0;  ///< Than the motion bound.
};

double motion_of(const Moving& moving, const PlacedShape& shape, std::size_t common) {
    if (shape.reach == nullptr) return 0.0;
    double most_m = 0.0;
    for (const auto* way : {&moving.before, &moving.after}) {
        std::vector<double> step(*way);
        for (double& part : step) part = std::abs(part);
        most_m = std::max(most_m, detail::motion_bound(moving.model, shape.body, shape.reach, common, step));
    }
    return most_m;
}

/// Along the direction between nearest points, and along any other.
void compare(const Moving& moving, const PlacedShape& first, const PlacedShape& second, Vec3 nearest, double least_m,
             double now_m, Draw& draw, Tally& tally) {
    const PairMotion motion(moving.model, first, second, moving.interval());
    for (const Vec3 direction : {nearest, nearest + 0.1 * norm(nearest) * draw.vector(), draw.vector()}) {
        const double bound_m = detail::directional_distance(motion, direction);
        REQUIRE(bound_m <= least_m, bound_m, least_m);
        ++tally.compared;
        tally.known += std::isfinite(bound_m) ? 1 : 0;
    }
    const std::size_t common = moving.model.common_depth(first.body, second.body);
    const double length_m = now_m - motion_of(moving, first, common) - motion_of(moving, second, common);
    tally.better += detail::directional_distance(motion, nearest) > length_m ? 1 : 0;
}

void compare_self(const RobotModelSpec& spec, int rounds, std::uint64_t seed) {
    const RobotModel model(spec);
    Draw draw{std::mt19937_64(seed)};
    Tally tally;
    for (int round = 0; round < rounds; ++round) {
        const Moving moving(model, draw, std::pow(10.0, draw.uniform(-3.0, -0.8)));
        const auto volumes = model.volumes();
        const Volume& a = volumes[draw.below(volumes.size())];
        const Volume& b = volumes[draw.below(volumes.size())];
        if (a.body == b.body) continue;
        PlacedShape first;
        PlacedShape second;
        first.set_volume(a, moving.frames.data());
        second.set_volume(b, moving.frames.data());
        const auto distance = [&](const std::vector<Transform>& frames) {
            return distance_segment_segment(core_of(a, frames), core_of(b, frames)).distance_m - a.radius_m -
                   b.radius_m;
        };
        const Witness axes = distance_segment_segment(core_of(a, moving.frames), core_of(b, moving.frames));
        compare(moving, first, second, axes.on_second - axes.on_first, least_distance(moving, distance),
                distance(moving.frames), draw, tally);
    }
    REQUIRE(tally.compared > rounds && tally.known > tally.compared / 2 && tally.better > rounds / 4, tally.compared,
            tally.known, tally.better);
}

void compare_world(const RobotModelSpec& spec, int rounds, std::uint64_t seed) {
    const RobotModel model(spec);
    Draw draw{std::mt19937_64(seed)};
    Tally tally;
    for (int round = 0; round < rounds; ++round) {
        const Moving moving(model, draw, std::pow(10.0, draw.uniform(-3.0, -0.8)));
        const auto volumes = model.volumes();
        const Volume& a = volumes[draw.below(volumes.size())];
        if (model.bodies()[a.body].depth == 0) continue;
        PrimitiveSpec obstacle = round % 3 == 0 ? sphere(draw.vector(), 0.05) : box(draw.vector(), {0.1, 0.2, 0.05});
        if (round % 3 == 2) obstacle.kind = PrimitiveKind::half_space;
        obstacle.in_base.rotation = rotation_from_rpy(3.0 * draw.vector());
        const WorldSnapshot world = make_world({&obstacle, 1});
        const Primitive& primitive = world.primitives()[0];
        PlacedShape first;
        PlacedShape second;
        first.set_volume(a, moving.frames.data());
        REQUIRE(second.set_obstacle(primitive));
        const auto distance = [&](const std::vector<Transform>& frames) {
            return distance_segment_primitive(core_of(a, frames), primitive).distance_m - a.radius_m;
        };
        const Witness axes = distance_segment_primitive(core_of(a, moving.frames), primitive);
        compare(moving, first, second, axes.on_second - axes.on_first, least_distance(moving, distance),
                distance(moving.frames), draw, tally);
    }
    REQUIRE(tally.compared > rounds && tally.known > tally.compared / 2 && tally.better > rounds / 4, tally.compared,
            tally.known, tally.better);
}

struct Curvature {
    double found_m = 0.0;  ///< Largest second difference of any point of the shape.
    double bound_m = 0.0;
};

Curvature curvature_of(const RobotModel& model, const Volume& volume, const Moving& moving) {
    PlacedShape shape;
    shape.set_volume(volume, moving.frames.data());
    const double bound_m = detail::motion_to(model, shape, 0, moving.frames.data(), moving.after, 1.0).curvature_m;
    double most_m = 0.0;
    constexpr double h = 1e-3;
    for (const double t : {0.0, 0.3, 0.7, 1.0}) {
        const auto low = moving.frames_after(moving.after, t - h);
        const auto middle = moving.frames_after(moving.after, t);
        const auto high = moving.frames_after(moving.after, t + h);
        for (const Vec3 end : {volume.end_a, volume.end_b}) {
            const Vec3 second = (1.0 / (h * h)) *
                                (low[volume.body] * end + high[volume.body] * end - 2.0 * (middle[volume.body] * end));
            most_m = std::max(most_m, norm(second));
        }
    }
    return {most_m, bound_m};
}

/// The end of a straight planar arm, all joints turning alike, and a small sphere `gap_m` behind it, towards the root: the one place to which
/// the curvature leads and nothing else does.
double bound_behind_straight_arm(std::size_t joints, double step, double gap_m, double& true_m) {
    const RobotModel model(planar_arm(joints));
    Draw draw{std::mt19937_64(1)};
    Moving moving(model, draw, 0.1);
    std::fill(moving.at.begin(), moving.at.end(), 0.0);
    std::fill(moving.before.begin(), moving.before.end(), -step);
    std::fill(moving.after.begin(), moving.after.end(), step);
    forward_kinematics(model, moving.at.data(), moving.frames);
    const Volume& tip = model.volumes().back();
    const PrimitiveSpec obstacle = sphere({static_cast<double>(joints) - 0.05 - 0.001 - gap_m, 0.0, 0.0}, 0.001);
    const WorldSnapshot world = make_world({&obstacle, 1});
    PlacedShape first;
    PlacedShape second;
    first.set_volume(tip, moving.frames.data());
    (void)second.set_obstacle(world.primitives()[0]);
    true_m = 1e9;
    for (const auto* way : {&moving.before, &moving.after}) {
        const auto end = moving.frames_after(*way, 1.0);
        true_m = std::min(true_m, (end[tip.body] * tip.end_a).x - obstacle.in_base.translation.x - 0.051);
    }
    return detail::directional_distance({model, first, second, moving.interval()}, {-1.0, 0.0, 0.0});
}

}  // namespace

TEST(no_sample_of_a_self_pair_is_below_the_bound) {
    compare_self(panda(), 6000, 1);
    compare_self(two_arms(), 4000, 2);
    compare_self(mobile_manipulator(), 4000, 3);
    compare_self(mimic_chain(), 6000, 4);
}

TEST(no_sample_of_a_pair_with_an_obstacle_is_below_the_bound) {
    compare_world(planar_arm(3), 4000, 5);
    compare_world(panda(), 6000, 6);
    compare_world(mobile_manipulator(), 4000, 7);
    compare_world(mimic_chain(), 6000, 8);
    compare_world(slider(), 1000, 9);
}

TEST(second_derivative_stays_below_its_bound_and_reaches_it) {
    double most = 0.0;
    for (const RobotModelSpec& spec : {planar_arm(3), panda(), mobile_manipulator(), mimic_chain(), slider()}) {
        const RobotModel model(spec);
        Draw draw{std::mt19937_64(11)};
        for (int round = 0; round < 2000; ++round) {
            const Moving moving(model, draw, 0.1);
            const auto [found_m, bound_m] =
                curvature_of(model, model.volumes()[draw.below(model.volumes().size())], moving);
            // Positions are off by some 1e-15 m, and second differences of a thousandth by a million times that.
            if (!REQUIRE(found_m <= bound_m * (1.0 + 1e-6) + 1e-8, found_m, bound_m, round)) return;
            if (bound_m > 1e-4) most = std::max(most, found_m / bound_m);
        }
    }
    REQUIRE(most > 0.95, most);
}

TEST(behind_a_straight_arm_the_bound_is_exact_to_third_order) {
    for (const std::size_t joints : {1U, 2U, 3U}) {
        for (const double step : {0.01, 0.05, 0.1}) {
            double true_m = 0.0;
            const double bound_m = bound_behind_straight_arm(joints, step, 0.3, true_m);
            REQUIRE(bound_m <= true_m, joints, step, bound_m, true_m);
            const double turned = step * static_cast<double>(joints);
            REQUIRE(bound_m >= true_m - static_cast<double>(joints) * std::pow(turned, 4) / 24.0 - 1e-8, joints, step,
                    bound_m, true_m);
        }
    }
}

TEST(slides_parallel_to_a_face_lose_nothing) {
    const RobotModel model(slider());
    Draw draw{std::mt19937_64(3)};
    Moving moving(model, draw, 0.1);
    moving.before[0] = -0.4;
    moving.after[0] = 0.4;
    PrimitiveSpec floor;
    floor.kind = PrimitiveKind::half_space;
    floor.in_base.translation = {0.0, 0.0, -0.0505};
    const WorldSnapshot world = make_world({&floor, 1});
    PlacedShape first;
    PlacedShape second;
    first.set_volume(model.volumes()[0], moving.frames.data());
    REQUIRE(second.set_obstacle(world.primitives()[0]));
    const PairMotion motion(model, first, second, moving.interval());
    REQUIRE(std::abs(detail::directional_distance(motion, {0.0, 0.0, -1.0}) - 0.0005) < 1e-8);
    // A half-space has one side: a direction that is not its normal is replaced by it.
    REQUIRE(std::abs(detail::directional_distance(motion, {1.0, 0.0, 0.0}) - 0.0005) < 1e-8);
}

TEST(what_is_not_known_is_minus_infinity) {
    const RobotModel model(planar_arm(1));
    Draw draw{std::mt19937_64(3)};
    Moving moving(model, draw, 0.1);
    const PrimitiveSpec obstacle = sphere({0.0, 0.0, 3.0}, 0.1);
    const WorldSnapshot world = make_world({&obstacle, 1});
    PlacedShape first;
    PlacedShape second;
    first.set_volume(model.volumes()[0], moving.frames.data());
    REQUIRE(second.set_obstacle(world.primitives()[0]));
    const auto bound = [&](Vec3 direction) {
        return detail::directional_distance({model, first, second, moving.interval()}, direction);
    };
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const auto is_unknown = [](double bound_m) { return std::isinf(bound_m) && bound_m < 0.0; };
    REQUIRE(bound({0.0, 0.0, 1.0}) > 2.0);
    for (const Vec3 direction : {Vec3{}, Vec3{nan, 0.0, 1.0}, Vec3{0.0, 0.0, std::numeric_limits<double>::infinity()}})
        REQUIRE(is_unknown(bound(direction)));
    moving.after[0] = nan;
    REQUIRE(is_unknown(bound({0.0, 0.0, 1.0})));
    for (const double way :
         {std::nextafter(tolerance::directional_way_max, 2.0), -1.5, std::numeric_limits<double>::infinity()}) {
        moving.after[0] = way;
        REQUIRE(is_unknown(bound({0.0, 0.0, 1.0})), way);
    }
    moving.after[0] = tolerance::directional_way_max;
    REQUIRE(bound({0.0, 0.0, 1.0}) > 2.0);
    first.vertices.count = 0;
    REQUIRE(is_unknown(bound({0.0, 0.0, 1.0})));
}

TEST_MAIN
