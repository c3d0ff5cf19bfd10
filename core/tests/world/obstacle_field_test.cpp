// SPDX-License-Identifier: Apache-2.0
// Voxels and points: never farther than a plain loop over all of them says, unknown counts as occupied,
// and the sweep meets them between the steps.
#include "world/obstacle_field.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "geometry/distance.hpp"
#include "require.hpp"
#include "robots.hpp"

using namespace lastgate;
using namespace lastgate::detail;
using namespace lastgate::robots;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

std::shared_ptr<const ObstacleField> shared(ObstacleField field) { return std::make_shared<const ObstacleField>(std::move(field)); }

/// A grid of 10 cm voxels, 20 x 20 x 20, around the origin; all free but the listed voxels.
ObstacleField grid_with(std::initializer_list<std::array<std::uint32_t, 3>> voxels, std::uint8_t value, bool outside_is_free = true) {
    VoxelSpec spec;
    spec.origin = {-1.0, -1.0, -1.0};
    spec.resolution_m = 0.1;
    spec.size = {20, 20, 20};
    spec.outside_is_free = outside_is_free;
    std::vector<std::uint8_t> occupancy(8000, 0);
    for (const auto& voxel : voxels) occupancy[voxel[0] + 20 * (voxel[1] + 20 * voxel[2])] = value;
    return ObstacleField::from_voxels(spec, occupancy);
}

Verdict check_slide(double from, double to, ObstacleField field, double field_stamp_s = 1.0) {
    GateConfig config = wide_config(slider(), 1.0);
    config.max_ee_speed_m_s = 100.0;
    config.velocity_max = {100.0};
    Gate gate = make_gate(slider(), config);
    WorldSnapshot world = make_world({});
    world.set_field(voxel_slot, shared(std::move(field)), field_stamp_s);
    const double positions[1] = {from};
    const double rows[1] = {to};
    return gate.check(make_request(ControlMode::joint_position, rows, 1, positions, world));
}

}  // namespace

TEST(points_measure_like_a_plain_loop_over_them) {
    std::mt19937_64 engine(5);
    std::uniform_real_distribution<double> place(-1.0, 1.0);
    std::vector<double> cloud;
    for (int index = 0; index < 3 * 800; ++index) cloud.push_back(place(engine));
    const ObstacleField field = ObstacleField::from_points(cloud);
    for (int index = 0; index < 2000; ++index) {
        const Segment segment{{place(engine), place(engine), place(engine)}, {place(engine), place(engine), place(engine)}};
        double wanted = 0.3;
        for (std::size_t at = 0; at < cloud.size(); at += 3) {
            const Vec3 point{cloud[at], cloud[at + 1], cloud[at + 2]};
            wanted = std::min(wanted, distance_segment_segment(segment, {point, point}).distance_m);
        }
        std::uint32_t obstacle = 0;
        const double found = field.distance(segment, 0.3, obstacle).distance_m;
        if (!REQUIRE(std::abs(found - wanted) < 1e-9, index, found, wanted)) return;
        if (!REQUIRE(field.clearance(segment.a) <= wanted + norm(segment.b - segment.a) + 1e-9, index)) return;
    }
}

TEST(unknown_voxel_counts_as_occupied) {
    REQUIRE(check_slide(-0.6, 0.6, grid_with({}, 0)).accepted == 1);
    for (const std::uint8_t value : {std::uint8_t{1}, std::uint8_t{100}, std::uint8_t{255}}) {
        const Verdict verdict = check_slide(-0.6, 0.6, grid_with({{10, 10, 10}}, value));
        REQUIRE(verdict.accepted == 0 && verdict.violation.code == ViolationCode::world_collision, static_cast<int>(value));
    }
}

TEST(unknown_is_free_only_when_said_aloud) {
    VoxelSpec spec;
    spec.origin = {-1.0, -1.0, -1.0};
    spec.resolution_m = 0.1;
    spec.size = {20, 20, 20};
    const std::vector<std::uint8_t> unknown(8000, 255);
    spec.outside_is_free = true;
    REQUIRE(check_slide(-0.6, 0.6, ObstacleField::from_voxels(spec, unknown)).accepted == 0);
    spec.unknown_is_free = true;
    REQUIRE(check_slide(-0.6, 0.6, ObstacleField::from_voxels(spec, unknown)).accepted == 1);
}

TEST(outside_of_the_grid_is_occupied_unless_said_otherwise) {
    REQUIRE(check_slide(-0.6, 0.6, grid_with({}, 0, false)).accepted == 1);
    REQUIRE(check_slide(-0.6, 1.6, grid_with({}, 0, false)).accepted == 0);
    REQUIRE(check_slide(-0.6, 1.6, grid_with({}, 0, true)).accepted == 1);
}

TEST(voxel_beside_the_path_is_passed_and_one_on_it_is_not) {
    REQUIRE(check_slide(-0.6, 0.6, grid_with({{10, 11, 10}}, 1)).accepted == 1, "5 cm of sphere, 10 cm to the voxel");
    REQUIRE(check_slide(-0.6, 0.6, grid_with({{10, 10, 10}}, 1)).accepted == 0);
}

TEST(point_between_two_steps_is_found_wherever_it_is) {
    for (int index = 0; index < 100; ++index) {
        const double point[3] = {-0.5 + 0.01 * index, 0.04, 0.0};
        REQUIRE(check_slide(-0.6, 0.6, ObstacleField::from_points(point)).accepted == 0, index);
        const double beside[3] = {point[0], 0.0502, 0.0};
        REQUIRE(check_slide(-0.6, 0.6, ObstacleField::from_points(beside)).accepted == 1, index);
    }
}

TEST(stale_field_is_rejected_even_in_a_fresh_world) {
    REQUIRE(check_slide(-0.6, 0.6, grid_with({}, 0), 0.6).accepted == 1);
    for (const double stamp_s : {0.4, 1.1, not_a_number}) {
        const Verdict verdict = check_slide(-0.6, 0.6, grid_with({}, 0), stamp_s);
        REQUIRE(verdict.accepted == 0 && verdict.stage == 9, stamp_s, verdict.stage);
    }
}

TEST(field_that_cannot_be_used_is_refused) {
    VoxelSpec spec;
    spec.resolution_m = 0.1;
    spec.size = {2, 2, 2};
    const std::vector<std::uint8_t> eight(8, 0);
    REQUIRE_REFUSED(ObstacleField::from_voxels(spec, std::span(eight).first(7)), "");
    // One whose reciprocal is infinite put a voxel where no block is.
    for (const double resolution_m : {0.0, -0.1, not_a_number, 5e-324, 1e-309, 1e-13, std::nextafter(1e-6, 0.0), 10.1}) {
        VoxelSpec bad = spec;
        bad.resolution_m = resolution_m;
        REQUIRE_REFUSED(ObstacleField::from_voxels(bad, eight), "");
    }
    VoxelSpec smallest = spec;
    smallest.resolution_m = 1e-6;
    std::vector<std::uint8_t> solid(8, 1);
    REQUIRE(ObstacleField::from_voxels(smallest, solid).is_solid({1e-6, 1e-6, 1e-6}));
    // Spheres may ask for finer blocks than there are: they get the finest.
    const double sphere[] = {0.0, 0.0, 0.0, 0.1};
    const std::uint32_t label[] = {0};
    REQUIRE(ObstacleField::from_spheres(sphere, label, 5e-324).obstacle_count() == 1);
    VoxelSpec nowhere = spec;
    nowhere.origin.x = not_a_number;
    REQUIRE_REFUSED(ObstacleField::from_voxels(nowhere, eight), "");
    const double point[3] = {0.0, not_a_number, 0.0};
    REQUIRE_REFUSED(ObstacleField::from_points(point), "");
    REQUIRE_REFUSED(ObstacleField::from_points({}), "");
}

TEST_MAIN
