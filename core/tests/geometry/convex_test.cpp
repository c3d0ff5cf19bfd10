// SPDX-License-Identifier: Apache-2.0
// The distance of two polytopes: never above the truth, close to it, and nothing for whatever is degenerate.
#include "geometry/convex.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "require.hpp"
#include "robots.hpp"

using namespace lastgate;
using namespace lastgate::detail;
using namespace lastgate::robots;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

struct Vertices {
    std::vector<double> x, y, z;
    explicit Vertices(const std::vector<Vec3>& points) {
        for (const Vec3 p : points) {
            x.push_back(p.x);
            y.push_back(p.y);
            z.push_back(p.z);
        }
    }
    ConvexView view() const { return {x.data(), y.data(), z.data(), static_cast<std::uint32_t>(x.size())}; }
};

ConvexDistance apart(const std::vector<Vec3>& a, const std::vector<Vec3>& b, const Transform& pose = {}, const ConvexGoal& goal = {}) {
    const Vertices first(a);
    const Vertices second(b);
    return convex_distance(first.view(), second.view(), pose, goal);
}

}  // namespace

TEST(boxes_are_as_far_apart_as_on_paper) {
    std::mt19937_64 engine(3);
    std::uniform_real_distribution<double> place(-1.0, 1.0);
    std::uniform_real_distribution<double> size(0.001, 0.4);
    for (int index = 0; index < 20000; ++index) {
        const Vec3 half_a{size(engine), size(engine), size(engine)};
        const Vec3 half_b{size(engine), size(engine), size(engine)};
        const Vec3 to{place(engine), place(engine), place(engine)};
        const Vec3 gap{std::max(std::abs(to.x) - half_a.x - half_b.x, 0.0), std::max(std::abs(to.y) - half_a.y - half_b.y, 0.0),
                       std::max(std::abs(to.z) - half_a.z - half_b.z, 0.0)};
        const double wanted = norm(gap);
        const ConvexDistance found = apart(box_vertices({}, half_a), box_vertices({}, half_b), {Mat3{}, to});
        if (!REQUIRE(found.lower_m <= wanted + 1e-12 && found.upper_m >= wanted - 1e-12, index, found.lower_m, found.upper_m, wanted)) return;
        if (!REQUIRE(found.upper_m - found.lower_m <= 2e-6 * wanted + 1e-8, index, found.lower_m, found.upper_m, wanted)) return;
        if (!REQUIRE(found.iterations <= convex_iterations_max, found.iterations)) return;
    }
}

TEST(turned_polytopes_are_never_said_to_be_farther_than_two_of_their_points) {
    std::mt19937_64 engine(4);
    std::normal_distribution<double> place(0.0, 0.2);
    for (int index = 0; index < 5000; ++index) {
        std::vector<Vec3> a, b;
        for (int vertex = 0; vertex < 30; ++vertex) {
            a.push_back({place(engine), place(engine), 0.3 * place(engine)});
            b.push_back({place(engine), 0.2 * place(engine), place(engine)});
        }
        const Transform pose{rotation_from_rpy({8.0 * place(engine), 8.0 * place(engine), 8.0 * place(engine)}),
                             {4.0 * place(engine), 4.0 * place(engine), 4.0 * place(engine)}};
        const ConvexDistance found = apart(a, b, pose);
        double nearest = 1e300;
        for (const Vec3 p : a) {
            for (const Vec3 q : b) nearest = std::min(nearest, norm(p - pose * q));
        }
        if (!REQUIRE(found.lower_m <= nearest + 1e-12 && found.lower_m <= found.upper_m + 1e-12, index, found.lower_m, nearest)) return;
        const double witness = norm(found.on_first - found.on_second);
        if (!REQUIRE(found.upper_m == 0.0 || std::abs(witness - found.upper_m) < 1e-9, index, witness, found.upper_m)) return;
    }
}

TEST(degenerate_polytopes_measure_like_what_they_are) {
    const std::vector<Vec3> point{{0.0, 0.0, 0.0}};
    const std::vector<Vec3> repeated(9, Vec3{0.0, 0.0, 1.0});
    const std::vector<Vec3> segment{{-1.0, 0.5, 0.0}, {1.0, 0.5, 0.0}, {0.0, 0.5, 0.0}};
    const std::vector<Vec3> flat{{-1.0, -1.0, 0.3}, {1.0, -1.0, 0.3}, {1.0, 1.0, 0.3}, {-1.0, 1.0, 0.3}, {0.0, 0.0, 0.3}};
    REQUIRE(std::abs(apart(point, repeated).lower_m - 1.0) < 1e-9);
    REQUIRE(std::abs(apart(point, segment).lower_m - 0.5) < 1e-9);
    REQUIRE(std::abs(apart(point, flat).lower_m - 0.3) < 1e-9);
    REQUIRE(std::abs(apart(segment, flat).lower_m - 0.3) < 1e-9);
    REQUIRE(std::abs(apart(flat, repeated).lower_m - 0.7) < 1e-9);
}

TEST(touching_overlapping_and_unusable_polytopes_are_never_apart) {
    const std::vector<Vec3> unit = box_vertices({}, {0.5, 0.5, 0.5});
    for (const double shift : {0.0, 0.3, 0.999, 1.0}) {
        REQUIRE(apart(unit, unit, {Mat3{}, {shift, 0.0, 0.0}}).lower_m <= 1e-12, shift);
        REQUIRE(apart(unit, unit, {Mat3{}, {shift, shift, shift}}).lower_m <= 1e-12, shift);
    }
    REQUIRE(apart(unit, {{0.0, 0.0, 0.0}}).lower_m == 0.0);
    REQUIRE(apart({{0.1, 0.2, 0.3}}, {{0.1, 0.2, 0.3}}).lower_m == 0.0);
    REQUIRE(apart(unit, {}).lower_m == 0.0);
    REQUIRE(apart({}, {}).lower_m == 0.0);
    for (const double bad : {not_a_number, std::numeric_limits<double>::infinity()}) {
        REQUIRE(!(apart(unit, {{5.0, 0.0, 0.0}}, {Mat3{}, {bad, 0.0, 0.0}}).lower_m > 0.0), bad);
        REQUIRE(!(apart({{bad, 0.0, 0.0}}, unit, {Mat3{}, {5.0, 0.0, 0.0}}).lower_m > 0.0), bad);
    }
}

TEST(stopping_early_is_still_below_the_truth) {
    const std::vector<Vec3> unit = box_vertices({}, {0.5, 0.5, 0.5});
    const Transform pose{rotation_from_rpy({0.3, 0.4, 0.5}), {2.0, 1.0, 0.5}};
    const double truth = apart(unit, unit, pose).upper_m;
    for (const double enough : {0.1, 0.5, 1.0, 1.2}) {
        const ConvexDistance found = apart(unit, unit, pose, {enough, 0.0});
        REQUIRE(found.lower_m <= truth + 1e-12 && (found.lower_m > enough || found.upper_m - found.lower_m < 1e-5), enough, found.lower_m, truth);
    }
    REQUIRE(apart(unit, unit, pose, {1e300, 10.0}).lower_m <= truth);
}

TEST_MAIN
