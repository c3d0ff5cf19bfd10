// SPDX-License-Identifier: Apache-2.0
// The occupancy map: columns as far as boxes, solid off the map, and swept under a base that moves.
#include <limits>
#include <random>

#include "mode_chunks.hpp"
#include "geometry/distance.hpp"
#include "require.hpp"
#include "world/obstacle_field.hpp"

using namespace lastgate;
using namespace lastgate::detail;
using namespace lastgate::robots;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// 4 m by 4 m in cells of 10 cm around the origin, as high as `high_m`.
FloorSpec floor_spec(double high_m = 1.0) {
    FloorSpec spec;
    spec.in_base.translation = {-2.0, -2.0, 0.0};
    spec.resolution_m = 0.1;
    spec.size = {40, 40};
    spec.high_m = high_m;
    return spec;
}

std::shared_ptr<const ObstacleField> floor_with(std::initializer_list<std::array<std::size_t, 2>> cells_yx, double high_m = 1.0) {
    std::vector<std::uint8_t> blocked(1600, 0);
    for (const auto& [row, column] : cells_yx) blocked[row * 40 + column] = 1;
    return std::make_shared<const ObstacleField>(ObstacleField::from_floor(floor_spec(high_m), blocked));
}

/// A sphere of 10 cm on wheels, 20 cm above the floor.
RobotModelSpec sphere_on_wheels() {
    RobotModelSpec spec;
    spec.mobile_base = true;
    spec.links.resize(2);
    spec.links[1].parent = 0;
    spec.links[1].kind = JointKind::revolute;
    spec.links[1].dof = 0;
    spec.dofs.push_back({-3.0, 3.0, true});
    spec.volumes.push_back({0, 0.1, {0.0, 0.0, 0.2}, {0.0, 0.0, 0.2}});
    return spec;
}

Verdict drive(std::vector<double> row, std::shared_ptr<const ObstacleField> floor, const std::vector<Vec3>& vertices = {}, double radius_m = 0.0,
              double stamp_s = 1.0, double expires_s = 2.0) {
    GateConfig config = wide_config(sphere_on_wheels(), 1.0);
    config.workspace_box.reset();
    config.enabled_modes.reset();
    config.enabled_modes.set(static_cast<std::size_t>(ControlMode::body_twist));
    config.footprint_vertices = vertices;
    config.footprint_radius_m = radius_m;
    Gate gate = make_gate(sphere_on_wheels(), config);
    WorldSnapshot world = make_world({});
    world.set_field(floor_slot, std::move(floor), stamp_s, expires_s);
    const double positions[1] = {0.0};
    return gate.check(make_request(ControlMode::body_twist, row, 6, positions, world));
}

const std::vector<double> ahead{1.0, 0.0, 0.0, 0.0, 0.0, 0.0};
const std::vector<double> turn{0.0, 0.0, 0.0, 0.0, 0.0, 1.0};
const std::vector<double> still{0.0, 0.0, 0.0, 0.0, 0.0, 0.0};
const std::vector<Vec3> square{{-0.4, -0.4, 0.0}, {0.4, -0.4, 0.0}, {0.4, 0.4, 0.0}, {-0.4, 0.4, 0.0}};

}  // namespace

TEST(columns_measure_like_boxes_above_below_and_beside) {
    // A block of three by three, whose inner cell no side view meets first.
    std::vector<std::array<std::size_t, 2>> cells;
    std::vector<std::uint8_t> blocked(1600, 0);
    for (std::size_t row = 18; row < 21; ++row) {
        for (std::size_t column = 25; column < 28; ++column) blocked[row * 40 + column] = 1;
    }
    const ObstacleField field = ObstacleField::from_floor(floor_spec(0.5), blocked);
    PrimitiveSpec block = box({0.65, -0.05, 0.25}, {0.15, 0.15, 0.25});
    const WorldSnapshot world = make_world({&block, 1});
    std::mt19937_64 engine(3);
    std::uniform_real_distribution<double> place(-0.6, 0.6);
    constexpr double cutoff_m = 0.4;  // beyond it the edge of the map may be nearer than the block
    for (int index = 0; index < 5000; ++index) {
        const Vec3 a{0.65 + place(engine), place(engine), 0.25 + 1.5 * place(engine)};
        const Vec3 b = a + Vec3{0.5 * place(engine), 0.5 * place(engine), place(engine)};
        const double wanted = std::min(cutoff_m, distance_segment_primitive({a, b}, world.primitives()[0]).distance_m);
        std::uint32_t obstacle = 0;
        const double found = field.distance({a, b}, cutoff_m, obstacle).distance_m;
        REQUIRE(std::abs(found - wanted) <= 1e-9, index, found, wanted);
        REQUIRE(field.clearance(a) <= distance_segment_primitive({a, a}, world.primitives()[0]).distance_m + 1e-9, index);
    }
}

TEST(everything_off_the_map_is_solid) {
    const auto field = floor_with({});
    std::uint32_t obstacle = 0;
    REQUIRE(std::abs(field->distance({{1.9, 0.0, 0.5}, {1.9, 0.0, 0.6}}, 1.0, obstacle).distance_m - 0.1) <= 1e-12);
    for (const Vec3 place : {Vec3{2.05, 0.0, 0.5}, Vec3{30.0, 0.0, 0.5}, Vec3{0.0, -2.5, 0.5}}) {
        REQUIRE(field->distance({place, place}, 1.0, obstacle).distance_m == 0.0, place.x, place.y);
        REQUIRE(field->clearance(place) == 0.0, place.x, place.y);
    }
    REQUIRE(std::abs(field->distance({{30.0, 0.0, 1.3}, {30.0, 0.0, 1.5}}, 1.0, obstacle).distance_m - 0.3) <= 1e-12);
}

TEST(base_meets_a_column_between_the_steps) {
    REQUIRE(drive(ahead, floor_with({})).accepted == 1);
    const Verdict verdict = drive(ahead, floor_with({{20, 25}}));  // from x = 0.5: the sphere passes over it within one row
    REQUIRE(verdict.accepted == 0 && verdict.violation.code == ViolationCode::world_collision);
    REQUIRE(verdict.violation.against_kind == AgainstKind::floor);
    // Beside its way, so that its middle never stands in the column: then the cell has a name.
    const Verdict beside = drive(ahead, floor_with({{21, 25}}));
    REQUIRE(beside.accepted == 0 && beside.violation.against_kind == AgainstKind::floor && beside.violation.against == 21 * 40 + 25, beside.violation.against);
    REQUIRE(drive(ahead, floor_with({{22, 25}})).accepted == 1);
    REQUIRE(drive(ahead, floor_with({{20, 25}}, 0.09)).accepted == 1);  // the sphere begins at 0.1 m
    REQUIRE(drive({2.0, 0.0, 0.0, 0.0, 0.0, 0.0}, floor_with({})).accepted == 0);  // too fast, and off the map
}

TEST(footprint_is_swept_with_its_vertices_and_its_inside) {
    REQUIRE(drive(ahead, floor_with({{20, 32}}), {{0.0, 0.0, 0.0}}, 0.15).accepted == 1);
    REQUIRE(drive(ahead, floor_with({{20, 32}}), {{0.0, 0.0, 0.0}}, 0.25).accepted == 0);
    REQUIRE(drive(still, floor_with({{25, 20}}), square).accepted == 1);
    REQUIRE(drive(turn, floor_with({{25, 20}}), square).accepted == 0);  // a vertex reaches 0.566 m
    REQUIRE(drive(turn, floor_with({{26, 20}}), square).accepted == 1);
    REQUIRE(drive(still, floor_with({{22, 22}}), square).accepted == 0);  // inside, touched by no edge
    REQUIRE(drive(ahead, floor_with({{20, 25}}), square).accepted == 0);
}

TEST(map_is_believed_until_it_expires) {
    REQUIRE(drive(ahead, floor_with({}), {}, 0.0, 1.0, 1.0).accepted == 1);
    for (const double expires_s : {0.9, -1.0, not_a_number}) {
        const Verdict verdict = drive(ahead, floor_with({}), {}, 0.0, 1.0, expires_s);
        REQUIRE(verdict.accepted == 0 && verdict.stage == 9, expires_s, verdict.stage);
    }
    REQUIRE(drive(ahead, floor_with({}), {}, 0.0, 0.4, 2.0).accepted == 0);
}

TEST(base_motion_without_a_map_says_so) {
    GateConfig config = wide_config(sphere_on_wheels(), 1.0);
    config.workspace_box.reset();
    config.enabled_modes.reset();
    config.enabled_modes.set(static_cast<std::size_t>(ControlMode::body_twist));
    Gate gate = make_gate(sphere_on_wheels(), config);
    const double positions[1] = {0.0};
    const WorldSnapshot world = make_world({});
    const Verdict verdict = gate.check(make_request(ControlMode::body_twist, ahead, 6, positions, world));
    REQUIRE(verdict.accepted == 1);
    REQUIRE((verdict.unchecked & static_cast<std::uint32_t>(Unchecked::floor_map)) != 0);
    REQUIRE((drive(ahead, floor_with({})).unchecked & static_cast<std::uint32_t>(Unchecked::floor_map)) == 0);
}

TEST(floor_and_footprint_that_cannot_be_used_are_refused) {
    const std::vector<std::uint8_t> cells(1600, 0);
    REQUIRE_REFUSED(ObstacleField::from_floor(floor_spec(), std::span(cells).first(1599)), "");
    REQUIRE_REFUSED(ObstacleField::from_floor(floor_spec(-1.0), cells), "");
    REQUIRE_REFUSED(ObstacleField::from_floor(floor_spec(not_a_number), cells), "");
    FloorSpec tilted = floor_spec();
    tilted.in_base.rotation.x.x = 1.1;
    REQUIRE_REFUSED(ObstacleField::from_floor(tilted, cells), "");
    REQUIRE_REFUSED((void)drive(ahead, floor_with({}), {{0.0, 0.0, 0.0}}, 0.0), "");
    REQUIRE_REFUSED((void)drive(ahead, floor_with({}), {{0.0, 0.0, 0.0}, {1.0, 0.0, 0.0}}), "");
    REQUIRE_REFUSED((void)drive(ahead, floor_with({}), {{not_a_number, 0.0, 0.0}}, 0.3), "");
    REQUIRE_REFUSED((void)drive(ahead, floor_with({}), square, 0.1), "");
}

TEST_MAIN
