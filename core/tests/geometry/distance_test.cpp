// SPDX-License-Identifier: Apache-2.0
// Distances against cases computed on paper and against a search over parameters that shares no code
// with the closed forms. Tolerance 1e-9 m on paper cases; the search only bounds from above.
#include "geometry/distance.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "lastgate/world_snapshot.hpp"
#include "require.hpp"
#include "robots.hpp"

using namespace lastgate;
using namespace lastgate::detail;

namespace {

constexpr double paper_m = 1e-9;

bool near(double a, double b, double tolerance) { return std::abs(a - b) <= tolerance; }

Vec3 along(const Segment& segment, double t) { return segment.a + t * (segment.b - segment.a); }

/// The smallest of `distance(t)` for t in 0 … 1 by golden sections; the functions here are convex.
template <typename Distance>
double smallest(const Distance& distance) {
    double low = 0.0;
    double high = 1.0;
    constexpr double golden = 0.6180339887498949;
    for (int step = 0; step < 48; ++step) {
        const double left = high - golden * (high - low);
        const double right = low + golden * (high - low);
        (distance(left) < distance(right) ? high : low) = distance(left) < distance(right) ? right : left;
    }
    return std::min({distance(0.5 * (low + high)), distance(0.0), distance(1.0)});
}

double searched_segment_segment(const Segment& first, const Segment& second) {
    return smallest([&](double s) { return smallest([&](double t) { return norm(along(first, s) - along(second, t)); }); });
}

double point_box(Vec3 p, Vec3 half) {
    const auto beyond = [](double value, double size) { return std::max(std::abs(value) - size, 0.0); };
    return norm({beyond(p.x, half.x), beyond(p.y, half.y), beyond(p.z, half.z)});
}

double searched_segment_box(const Segment& segment, Vec3 half) {
    return smallest([&](double t) { return point_box(along(segment, t), half); });
}

struct Numbers {
    std::mt19937_64 engine{20251115};
    double uniform(double low, double high) { return std::uniform_real_distribution<double>(low, high)(engine); }
    Vec3 point(double extent) { return {uniform(-extent, extent), uniform(-extent, extent), uniform(-extent, extent)}; }
    std::size_t below(std::size_t count) { return static_cast<std::size_t>(engine() % count); }
};

/// Segments that a random draw would never give: points, parallels, shared ends, crossings, hair lengths.
Segment awkward(Numbers& numbers, const Segment& other) {
    const Vec3 d = other.b - other.a;
    const Vec3 shift = numbers.point(0.5);
    switch (numbers.below(6)) {
        case 0: return {other.a, other.a};
        case 1: return {other.a + shift, other.a + shift + numbers.uniform(-2.0, 2.0) * d};
        case 2: return {other.b, other.b + shift};
        case 3: return {along(other, 0.5) - shift, along(other, 0.5) + shift};
        case 4: return {other.a + shift, other.b + shift + 1e-10 * numbers.point(1.0)};
        default: return {other.a + shift, other.a + shift + 1e-10 * numbers.point(1.0)};
    }
}

}  // namespace

TEST(crossed_segments_are_one_apart) {
    const Witness found = distance_segment_segment({{-1, 0, 0}, {1, 0, 0}}, {{0, -1, 1}, {0, 1, 1}});
    REQUIRE(near(found.distance_m, 1.0, paper_m), found.distance_m);
    REQUIRE(near(found.on_second.z, 1.0, paper_m) && near(found.on_first.x, 0.0, paper_m));
}

TEST(parallel_segments_with_a_gap_along_the_line_measure_end_to_end) {
    const Witness found = distance_segment_segment({{0, 0, 0}, {1, 0, 0}}, {{4, 3, 0}, {9, 3, 0}});
    REQUIRE(near(found.distance_m, std::sqrt(18.0), paper_m), found.distance_m);
}

TEST(two_points_measure_like_points) {
    const Witness found = distance_segment_segment({{1, 1, 1}, {1, 1, 1}}, {{1, 1, 3}, {1, 1, 3}});
    REQUIRE(near(found.distance_m, 2.0, paper_m), found.distance_m);
}

TEST(segment_distances_are_never_above_a_search_and_never_below_it_by_a_micrometre) {
    Numbers numbers;
    for (int index = 0; index < 1500; ++index) {
        const Segment first{numbers.point(1.0), numbers.point(1.0)};
        const Segment second = index % 3 == 0 ? awkward(numbers, first) : Segment{numbers.point(1.0), numbers.point(1.0)};
        const double found = distance_segment_segment(first, second).distance_m;
        const double searched = searched_segment_segment(first, second);
        if (!REQUIRE(near(found, searched, 1e-6), index, found, searched)) return;
    }
}

TEST(witnesses_lie_on_their_segments_and_have_the_distance) {
    Numbers numbers;
    for (int index = 0; index < 1000; ++index) {
        const Segment first{numbers.point(1.0), numbers.point(1.0)};
        const Segment second = awkward(numbers, first);
        const Witness found = distance_segment_segment(first, second);
        const Segment at_first{found.on_first, found.on_first};
        if (!REQUIRE(near(norm(found.on_first - found.on_second), found.distance_m, 1e-12), index)) return;
        if (!REQUIRE(searched_segment_segment(at_first, first) < 1e-7, index)) return;
    }
}

TEST(box_distance_is_face_edge_or_vertex_distance) {
    const Vec3 half{1, 2, 3};
    REQUIRE(near(distance_segment_box({{2, 0, 0}, {5, 0, 0}}, half).distance_m, 1.0, paper_m));
    REQUIRE(near(distance_segment_box({{2, 3, 0}, {2, 3, 1}}, half).distance_m, std::sqrt(2.0), paper_m));
    REQUIRE(near(distance_segment_box({{2, 3, 4}, {9, 9, 9}}, half).distance_m, std::sqrt(3.0), paper_m));
}

TEST(segment_through_a_box_has_distance_zero) {
    const double found = distance_segment_box({{-9, 0.5, 0.5}, {9, 0.5, 0.5}}, {1, 1, 1}).distance_m;
    REQUIRE(found == 0.0, found);
    REQUIRE(distance_segment_box({{0, 0, 0}, {0.1, 0, 0}}, {1, 1, 1}).distance_m == 0.0);
}

TEST(segment_passing_one_millimetre_beside_a_box_is_not_at_zero) {
    const double found = distance_segment_box({{-9, 1.001, 0}, {9, 1.001, 0}}, {1, 1, 1}).distance_m;
    REQUIRE(near(found, 0.001, paper_m), found);
}

TEST(box_distances_are_those_of_a_search) {
    Numbers numbers;
    for (int index = 0; index < 10000; ++index) {
        const Vec3 half{numbers.uniform(1e-4, 0.7), numbers.uniform(1e-4, 0.7), numbers.uniform(1e-4, 0.7)};
        Segment segment{numbers.point(1.0), numbers.point(1.0)};
        if (index % 4 == 1) segment.b = segment.a;
        if (index % 4 == 2) segment.b.y = segment.a.y;
        if (index % 4 == 3) segment.a.z = half.z;
        const double found = distance_segment_box(segment, half).distance_m;
        const double searched = searched_segment_box(segment, half);
        if (!REQUIRE(near(found, searched, 1e-7), index, found, searched)) return;
    }
}

TEST(half_space_distance_is_signed_by_the_lower_end) {
    REQUIRE(distance_segment_half_space({{0, 0, 2}, {5, 5, 1}}).distance_m == 1.0);
    REQUIRE(distance_segment_half_space({{0, 0, 2}, {5, 5, -0.25}}).distance_m == -0.25);
}

TEST(turned_obstacles_measure_as_if_the_segment_were_turned_back) {
    Numbers numbers;
    for (int index = 0; index < 1000; ++index) {
        PrimitiveSpec spec;
        spec.kind = index % 2 == 0 ? PrimitiveKind::box : PrimitiveKind::capsule;
        spec.half_extents_m = {0.2, 0.3, 0.1};
        spec.radius_m = 0.1;
        spec.half_length_m = 0.3;
        spec.in_base = {rotation_from_rpy(numbers.point(3.0)), numbers.point(1.0)};
        const WorldSnapshot world = robots::make_world({&spec, 1});
        REQUIRE(world.is_usable() && world.primitives().size() == 1);
        const Segment segment{numbers.point(1.5), numbers.point(1.5)};
        const Segment local{inverse_times(spec.in_base, segment.a), inverse_times(spec.in_base, segment.b)};
        const double found = distance_segment_primitive(segment, world.primitives()[0]).distance_m;
        const double wanted = index % 2 == 0 ? searched_segment_box(local, spec.half_extents_m)
                                             : searched_segment_segment(local, {{0, 0, -0.3}, {0, 0, 0.3}}) - 0.1;
        if (!REQUIRE(near(found, wanted, 1e-6), index, found, wanted)) return;
    }
}

TEST(unusable_obstacle_makes_the_whole_snapshot_unusable) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    for (const double radius_m : {0.0, -1.0, nan, 1e9}) {
        const PrimitiveSpec bad = robots::sphere({}, radius_m);
        REQUIRE(!robots::make_world({&bad, 1}).is_usable(), radius_m);
    }
    PrimitiveSpec skewed = robots::box({}, {1, 1, 1});
    skewed.in_base.rotation.x = {1.0, 0.1, 0.0};
    REQUIRE(!robots::make_world({&skewed, 1}).is_usable());
    const PrimitiveSpec good = robots::sphere({}, 0.1);
    REQUIRE(robots::make_world({&good, 1}).is_usable());
}

TEST(quaternion_without_a_direction_is_refused_and_a_long_one_is_scaled) {
    const auto usable = [](double scale) {
        const double pose[7] = {0.0, 0.0, 0.0, scale, 0.0, 0.0, scale};
        const PrimitiveSpec box = make_primitive(PrimitiveKind::box, {0.1, 0.2, 0.3}, pose);
        return robots::make_world({&box, 1}).is_usable();
    };
    for (const double scale : {0.0, 1e-200, 1e200, 1e308, std::numeric_limits<double>::infinity(), std::nan("")}) REQUIRE(!usable(scale), scale);
    for (const double scale : {1e-100, 0.5, 1.0, 1e100}) REQUIRE(usable(scale), scale);
}

TEST(one_obstacle_too_many_overflows_and_the_last_that_fits_does_not) {
    std::vector<PrimitiveSpec> obstacles(capacity::primitives_max, robots::sphere({5, 5, 5}, 0.1));
    REQUIRE(!robots::make_world(obstacles).is_overflowing());
    obstacles.push_back(obstacles.front());
    REQUIRE(robots::make_world(obstacles).is_overflowing());
}

TEST_MAIN
