// SPDX-License-Identifier: Apache-2.0
// The narrow-phase query by convex hulls: it clears what the volumes only seem to touch, between the steps too, and
// nothing else.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "require.hpp"
#include "robots.hpp"
#include "world/obstacle_field.hpp"

using namespace lastgate;
using namespace lastgate::detail;
using namespace lastgate::robots;

namespace {

constexpr double pi = 3.141592653589793;

Gate jumping_gate(const RobotModelSpec& spec, double margin_m = 0.0) {
    GateConfig config = wide_config(spec, 1.0);
    config.velocity_max.assign(spec.dofs.size(), 20.0);
    config.max_ee_speed_m_s = 100.0;
    config.max_ee_angular_speed_rad_s = 100.0;
    config.self_margin_m = margin_m;
    config.world_margin_m = margin_m;
    return make_gate(spec, config);
}

/// One bar with a sphere of 5 cm at its end, of which only a box of 2 cm is solid.
RobotModelSpec boxed_arm() {
    RobotModelSpec spec = planar_arm(1);
    spec.hulls.push_back({1, 0.0, box_vertices({1.0, 0.0, 0.0}, {0.01, 0.01, 0.01})});
    return spec;
}

RobotModelSpec boxed_slider(double radius_m = 0.0) {
    RobotModelSpec spec = slider();
    spec.hulls.push_back({1, radius_m, box_vertices({}, {0.01, 0.01, 0.01})});
    return spec;
}

/// Two spheres of 5 cm on parallel slides `apart_m` from each other.
RobotModelSpec two_slides(double apart_m) {
    RobotModelSpec spec;
    spec.links.push_back({});
    add_joint(spec, 0, JointKind::prismatic, {}, {}, {1.0, 0.0, 0.0}, -5.0, 5.0);
    add_joint(spec, 0, JointKind::prismatic, {0.0, apart_m, 0.0}, {}, {1.0, 0.0, 0.0}, -5.0, 5.0);
    for (const std::int32_t link : {1, 2}) spec.volumes.push_back({link, 0.05, {}, {}});
    spec.effectors.push_back({1, {}, {}});
    return spec;
}

Verdict turn(const RobotModelSpec& spec, PrimitiveSpec obstacle, double margin_m = 0.0) {
    Gate gate = jumping_gate(spec, margin_m);
    const WorldSnapshot world = make_world({&obstacle, 1});
    const double from[1] = {0.0};
    const double rows[1] = {pi};
    return gate.check(make_request(ControlMode::joint_position, rows, 1, from, world));
}

Verdict slide(const RobotModelSpec& spec, const WorldSnapshot& world, double from, double to, bool recovery = false) {
    Gate gate = jumping_gate(spec);
    const double positions[1] = {from};
    const double rows[1] = {to};
    CheckRequest request = make_request(ControlMode::joint_position, rows, 1, positions, world);
    request.recovery = recovery;
    return gate.check(request);
}

Verdict slide_past(const RobotModelSpec& spec) {
    Gate gate = jumping_gate(spec);
    const double from[2] = {-1.0, 0.0};
    const double rows[2] = {1.0, 0.0};
    const WorldSnapshot world = no_world();
    return gate.check(make_request(ControlMode::joint_position, rows, 2, from, world));
}

Vec3 on_circle(double radius_m, double angle) { return {radius_m * std::cos(angle), radius_m * std::sin(angle), 0.0}; }
bool world_rejected(const Verdict& verdict) { return verdict.accepted == 0 && verdict.violation.code == ViolationCode::world_collision; }

}  // namespace

TEST(pole_that_only_the_sphere_touches_is_passed_and_one_that_the_box_touches_is_not) {
    const double vertex_m = std::hypot(1.01, 0.01);
    for (int index = 1; index < 100; ++index) {
        const double angle = 0.08 + (pi - 0.16) * index / 100.0;
        REQUIRE(world_rejected(turn(planar_arm(1), sphere(on_circle(vertex_m + 0.0022, angle), 0.002))), angle);
        REQUIRE(turn(boxed_arm(), sphere(on_circle(vertex_m + 0.0022, angle), 0.002)).accepted == 1, angle);
        const Verdict verdict = turn(boxed_arm(), sphere(on_circle(vertex_m + 0.0018, angle), 0.002));
        REQUIRE(world_rejected(verdict), angle);
        REQUIRE(verdict.violation.distance_m <= 1e-4, angle, verdict.violation.distance_m);
    }
}

TEST(margin_counts_from_the_hull) {
    const double vertex_m = std::hypot(1.01, 0.01);
    REQUIRE(turn(boxed_arm(), sphere(on_circle(vertex_m + 0.0122, 1.0), 0.002), 0.01).accepted == 1);
    REQUIRE(world_rejected(turn(boxed_arm(), sphere(on_circle(vertex_m + 0.0118, 1.0), 0.002), 0.01)));
}

TEST(radius_of_a_hull_counts) {
    RobotModelSpec spec = boxed_arm();
    spec.hulls[0].radius_m = 0.001;
    const double vertex_m = std::hypot(1.01, 0.01) + 0.001;
    REQUIRE(turn(spec, sphere(on_circle(vertex_m + 0.0022, 1.0), 0.002)).accepted == 1);
    REQUIRE(world_rejected(turn(spec, sphere(on_circle(vertex_m + 0.0018, 1.0), 0.002))));
}

TEST(every_hull_of_a_crowded_link_counts) {
    // All but one of the hulls are a grain at the middle of the sphere; the one box is first, last or in between.
    const double vertex_m = std::hypot(1.01, 0.01);
    for (const std::size_t place : {std::size_t{0}, std::size_t{63}, std::size_t{64}, capacity::hulls_per_link_max - 1}) {
        RobotModelSpec spec = boxed_arm();
        spec.hulls.resize(capacity::hulls_per_link_max, {1, 0.0, {{1.0, 0.0, 0.0}}});
        std::swap(spec.hulls[0], spec.hulls[place]);
        REQUIRE(turn(spec, sphere(on_circle(vertex_m + 0.0022, 1.0), 0.002)).accepted == 1, place);
        REQUIRE(world_rejected(turn(spec, sphere(on_circle(vertex_m + 0.0018, 1.0), 0.002))), place);
        spec.hulls[place] = {1, 0.0, {{1.0, 0.0, 0.0}}};
        REQUIRE(turn(spec, sphere(on_circle(vertex_m + 0.0018, 1.0), 0.002)).accepted == 1, place);
    }
}

TEST(volume_stands_for_the_hulls_it_meets_and_no_others) {
    // Two spheres on one link, two boxes in each.
    RobotModelSpec spec = planar_arm(1);
    spec.volumes.push_back({1, 0.05, {0.5, 0.0, 0.0}, {0.5, 0.0, 0.0}});
    for (const double x : {1.0, 0.5, 1.0, 0.5}) spec.hulls.push_back({1, 0.0, box_vertices({x, 0.0, 0.0}, {0.01, 0.01, 0.01})});
    const RobotModel model(spec);
    for (std::size_t index = 0; index < model.volumes().size(); ++index) {
        const std::vector<std::uint16_t> inside = model.volumes()[index].end_a.x > 0.75 ? std::vector<std::uint16_t>{0, 2} : std::vector<std::uint16_t>{1, 3};
        REQUIRE(std::ranges::equal(model.hulls_of_volume(index), inside), index);
    }
    REQUIRE(model.hulls_of_volume(model.volumes().size()).empty());
}

TEST(boxes_capsules_and_half_spaces_are_met_by_hulls) {
    PrimitiveSpec floor;
    floor.kind = PrimitiveKind::half_space;
    PrimitiveSpec pole = sphere({}, 0.002);
    pole.kind = PrimitiveKind::capsule;
    pole.half_length_m = 0.5;
    for (const double gap_m : {-0.0005, 0.0002}) {
        const double y = 0.01 + gap_m;
        floor.in_base.translation = {0.0, 0.0, -y};
        pole.in_base.translation = {0.5, y + 0.002, 0.0};
        for (const PrimitiveSpec& obstacle : {floor, pole, box({0.5, y + 0.1, 0.0}, {0.02, 0.1, 0.3})}) {
            const WorldSnapshot world = make_world({&obstacle, 1});
            REQUIRE(slide(slider(), world, 0.0, 1.0).accepted == 0, gap_m);
            REQUIRE((slide(boxed_slider(), world, 0.0, 1.0).accepted == 1) == (gap_m > 0.0), gap_m, static_cast<int>(obstacle.kind));
        }
    }
}

TEST(self_pairs_are_cleared_by_hulls_of_either_link) {
    for (const double apart_m : {0.0202, 0.0602, 0.099}) {
        RobotModelSpec spec = two_slides(apart_m);
        REQUIRE(slide_past(spec).violation.code == ViolationCode::self_collision, apart_m);
        spec.hulls.push_back({1, 0.0, box_vertices({}, {0.01, 0.01, 0.01})});
        REQUIRE((slide_past(spec).accepted == 1) == (apart_m > 0.0601), apart_m);
        spec.hulls.push_back({2, 0.0, box_vertices({}, {0.01, 0.01, 0.01})});
        REQUIRE(slide_past(spec).accepted == 1, apart_m);
    }
    for (const double apart_m : {0.0, 0.01, 0.0199}) {
        RobotModelSpec spec = two_slides(apart_m);
        for (const std::int32_t link : {1, 2}) spec.hulls.push_back({link, 0.0, box_vertices({}, {0.01, 0.01, 0.01})});
        REQUIRE(slide_past(spec).violation.code == ViolationCode::self_collision, apart_m);
    }
}

TEST(hull_of_one_link_does_not_clear_another) {
    RobotModelSpec spec = planar_arm(2);
    spec.hulls.push_back({2, 0.0, box_vertices({1.0, 0.0, 0.0}, {0.01, 0.01, 0.01})});
    Gate gate = jumping_gate(spec);
    const PrimitiveSpec obstacle = sphere({1.0, 0.03, 0.0}, 0.002);
    const WorldSnapshot world = make_world({&obstacle, 1});
    const double from[2] = {0.0, 1.5};
    const double rows[2] = {0.001, 1.5};
    const Verdict verdict = gate.check(make_request(ControlMode::joint_position, rows, 2, from, world));
    REQUIRE(world_rejected(verdict) && verdict.violation.subject == 1, verdict.violation.subject);
}

TEST(attached_objects_are_not_refined_away) {
    Gate gate = jumping_gate(boxed_arm());
    const PrimitiveSpec obstacle = sphere(on_circle(1.04, 1.0), 0.002);
    const WorldSnapshot world = make_world({&obstacle, 1});
    const double from[1] = {0.0};
    const double rows[1] = {pi};
    const CheckRequest request = make_request(ControlMode::joint_position, rows, 1, from, world);
    REQUIRE(gate.check(request).accepted == 1);
    Attachment held;
    held.id = 1;
    held.volume = {1, 0.04, {1.0, 0.0, 0.0}, {1.0, 0.0, 0.0}};
    held.touch.set(1);
    REQUIRE(gate.attach(held));
    REQUIRE(world_rejected(gate.check(request)));
}

TEST(points_and_voxels_are_met_by_hulls) {
    for (const double gap_m : {-0.0005, 0.0002}) {
        const double cloud[3] = {0.5, 0.01 + gap_m, 0.0};
        WorldSnapshot points = make_world({});
        points.set_field(point_slot, std::make_shared<const ObstacleField>(ObstacleField::from_points(cloud)), 1.0);
        REQUIRE(slide(slider(), points, 0.0, 1.0).accepted == 0, gap_m);
        REQUIRE((slide(boxed_slider(), points, 0.0, 1.0).accepted == 1) == (gap_m > 0.0), gap_m);
        VoxelSpec grid;
        grid.origin = {-2.0, 0.01 + gap_m - 1.0, -1.0};
        grid.resolution_m = 0.1;
        grid.size = {40, 20, 20};
        grid.outside_is_free = true;
        std::vector<std::uint8_t> occupancy(40 * 20 * 20, 0);
        occupancy[25 + 40 * (10 + 20 * 10)] = 1;  // its face lies `gap_m` beside the box
        WorldSnapshot voxels = make_world({});
        voxels.set_field(voxel_slot, std::make_shared<const ObstacleField>(ObstacleField::from_voxels(grid, occupancy)), 1.0);
        REQUIRE(slide(slider(), voxels, 0.0, 1.0).accepted == 0, gap_m);
        REQUIRE((slide(boxed_slider(), voxels, 0.0, 1.0).accepted == 1) == (gap_m > 0.0), gap_m);
    }
}

TEST(hull_inside_something_solid_or_unknown_is_not_cleared) {
    VoxelSpec grid;
    grid.origin = {-2.0, -2.0, -2.0};
    grid.resolution_m = 0.1;
    grid.size = {40, 40, 40};
    for (const std::uint8_t value : {std::uint8_t{1}, std::uint8_t{255}}) {
        const std::vector<std::uint8_t> occupancy(64000, value);
        WorldSnapshot world = make_world({});
        world.set_field(voxel_slot, std::make_shared<const ObstacleField>(ObstacleField::from_voxels(grid, occupancy)), 1.0);
        REQUIRE(world_rejected(slide(boxed_slider(), world, 0.0, 0.5)), static_cast<int>(value));
    }
    const std::vector<std::uint8_t> empty(64000, 0);
    for (const bool outside_is_free : {true, false}) {
        grid.outside_is_free = outside_is_free;
        WorldSnapshot world = make_world({});
        world.set_field(voxel_slot, std::make_shared<const ObstacleField>(ObstacleField::from_voxels(grid, empty)), 1.0);
        REQUIRE((slide(boxed_slider(), world, 0.0, 3.0).accepted == 1) == outside_is_free);
        REQUIRE(slide(boxed_slider(), world, 0.0, 1.98).accepted == 1);  // the box is inside by 1 cm, the sphere is not
        REQUIRE((slide(boxed_slider(), world, 0.0, 1.9905).accepted == 1) == outside_is_free);
    }
}

TEST(retreat_is_evaluated_by_the_volumes_of_what_is_in_contact) {
    const PrimitiveSpec wall = sphere({0.53, 0.0, 0.0}, 0.5);  // its face stands at x = 0.03
    const WorldSnapshot world = make_world({&wall, 1});
    REQUIRE(slide(boxed_slider(), world, 0.0, 0.015).accepted == 1);         // no contact of the box: an ordinary step
    REQUIRE(slide(boxed_slider(), world, 0.0, 0.015, true).accepted == 1);
    REQUIRE(slide(boxed_slider(), world, 0.025, -0.1).accepted == 0);        // the box starts inside the wall
    REQUIRE(slide(boxed_slider(), world, 0.025, -0.1, true).accepted == 1);
    REQUIRE(slide(boxed_slider(), world, 0.025, 0.03, true).accepted == 0);
    REQUIRE(slide(boxed_slider(), world, 0.0, 0.025, true).accepted == 0);   // and may not be entered under that name
}

TEST(what_started_in_contact_is_evaluated_by_its_volumes_when_it_comes_by_again) {
    // A bar that turns, and at its end a sphere that turns too: of it only a small box on one side is solid.
    RobotModelSpec spec;
    spec.links.push_back({});
    add_joint(spec, 0, JointKind::revolute, {}, {}, {0.0, 0.0, 1.0}, -20.0, 20.0);
    add_joint(spec, 1, JointKind::revolute, {1.0, 0.0, 0.0}, {}, {0.0, 0.0, 1.0}, -20.0, 20.0);
    spec.volumes.push_back({2, 0.05, {}, {}});
    spec.effectors.push_back({2, {}, {}});
    spec.hulls.push_back({2, 0.0, box_vertices({0.04, 0.0, 0.0}, {0.005, 0.005, 0.005})});
    const PrimitiveSpec pole = sphere({1.54, 0.0, 0.0}, 0.5);  // the sphere comes 1 cm into it at an angle of 0
    const WorldSnapshot world = make_world({&pole, 1});
    const double touching[2] = {0.05, -0.05};
    const double away[2] = {pi, pi};
    // Once round: the box is on the far side when the sphere comes by, deeper than it was at the start.
    const double rows[6] = {pi, pi, 1.5 * pi, pi, 2.5 * pi, pi};
    Gate gate = jumping_gate(spec);
    CheckRequest request = make_request(ControlMode::joint_position, {rows + 2, 4}, 2, away, world);
    REQUIRE(gate.check(request).accepted == 1);
    request = make_request(ControlMode::joint_position, {rows, 2}, 2, touching, world);
    request.recovery = true;
    REQUIRE(gate.check(request).accepted == 1);
    request = make_request(ControlMode::joint_position, rows, 2, touching, world);
    request.recovery = true;
    REQUIRE(world_rejected(gate.check(request)));
}

/// A bar of 18 cm that turns on a slide along x, known by the sphere around it.
RobotModelSpec bar_on_a_slide() {
    RobotModelSpec spec;
    spec.links.push_back({});
    add_joint(spec, 0, JointKind::prismatic, {}, {}, {1.0, 0.0, 0.0}, -1.0, 1.0);
    add_joint(spec, 1, JointKind::revolute, {}, {}, {0.0, 0.0, 1.0}, -3.0, 3.0);
    spec.volumes.push_back({2, 0.1005, {}, {}});
    spec.effectors.push_back({2, {}, {}});
    spec.hulls.push_back({2, 0.01, {{0.0, -0.09, 0.0}, {0.0, 0.09, 0.0}}});
    return spec;
}

Verdict retreat(const RobotModelSpec& spec, const WorldSnapshot& world, std::vector<double> from, std::vector<double> rows) {
    Gate gate = jumping_gate(spec, 0.005);
    CheckRequest request = make_request(ControlMode::joint_position, rows, from.size(), from, world);
    request.recovery = true;
    return gate.check(request);
}

TEST(hulls_do_not_swing_into_what_their_volumes_leave) {
    // The bar stands along a wall, 2 mm from it, which is inside the margin; the sphere around it is 9 cm inside the
    // wall.
    std::vector<WorldSnapshot> worlds;
    for (const PrimitiveSpec& wall : {box({0.112, 0.0, 0.0}, {0.1, 0.5, 0.5}), sphere({0.512, 0.0, 0.0}, 0.5)}) {
        worlds.push_back(make_world({&wall, 1}));
    }
    std::vector<double> points;
    for (int step = -50; step <= 50; ++step) points.insert(points.end(), {0.012, 0.002 * step, 0.0});
    worlds.push_back(make_world({}));
    worlds.back().set_field(point_slot, std::make_shared<const ObstacleField>(ObstacleField::from_points(points)), 1.0);
    for (std::size_t index = 0; index < worlds.size(); ++index) {
        const WorldSnapshot& world = worlds[index];
        // The sphere moves away by 6 mm while the bar turns into the wall by more than 7 cm, in one step or in two.
        for (const std::vector<double>& swing : {std::vector<double>{-0.006, 1.2}, std::vector<double>{-0.004, 0.02, -0.006, 1.2}}) {
            const Verdict verdict = retreat(bar_on_a_slide(), world, {0.0, 0.0}, swing);
            REQUIRE(verdict.accepted == 0 && verdict.violation.code == ViolationCode::recovery_not_growing, index);
            REQUIRE(verdict.violation.distance_m < verdict.violation.margin_m + 1e-4, index);
        }
        // Its end passes the wall: farther away at the row than at the start, and closer between them.
        REQUIRE(retreat(bar_on_a_slide(), world, {-0.09035, 1.45}, {-0.0906, 1.69}).accepted == 0, index);
        REQUIRE(retreat(bar_on_a_slide(), world, {-0.09035, 1.45}, {-0.0906, 1.45}).accepted == 1, index);
        // Three millimetres inside it already: out of it, and not farther in.
        REQUIRE(retreat(bar_on_a_slide(), world, {0.005, 0.0}, {-0.001, 1.2}).violation.code == ViolationCode::recovery_not_growing, index);
        REQUIRE(retreat(bar_on_a_slide(), world, {0.005, 0.0}, {-0.001, 0.0, -0.1, 0.0}).accepted == 1, index);
        // Straight back, and then a turn that there is room for.
        const Verdict back = retreat(bar_on_a_slide(), world, {0.0, 0.0}, {-0.01, 0.0, -0.1, 0.0, -0.1, 1.5});
        REQUIRE(back.accepted == 1 && back.recovery == 1, index);
        REQUIRE(retreat(bar_on_a_slide(), world, {0.0, 0.0}, {-0.01, 0.0, -0.05, 0.0, -0.05, 1.5}).accepted == 0, index);
    }
}

TEST(hulls_that_leave_one_point_do_not_swing_into_another_of_its_cloud) {
    // The bar is 4 mm deep in the first point; the second, which the sphere around the bar contains as well, is 3 cm clear of it.
    const double points[6] = {0.006, -0.05, 0.0, 0.04, 0.07, 0.0};
    WorldSnapshot world = make_world({});
    world.set_field(point_slot, std::make_shared<const ObstacleField>(ObstacleField::from_points(points)), 1.0);
    // Turned by 0.475 the bar has left the first and is 2 mm deep in the second, less than it was in the first.
    REQUIRE(retreat(bar_on_a_slide(), world, {0.0, 0.0}, {-0.005, -0.475}).violation.code == ViolationCode::recovery_not_growing);
    const Verdict clear = retreat(bar_on_a_slide(), world, {0.0, 0.0}, {-0.005, -0.2});
    REQUIRE(clear.accepted == 1 && clear.recovery == 1, static_cast<int>(clear.violation.code));
}

TEST(hulls_may_clear_points_beside_those_that_were_touched) {
    // The second point comes into the sphere around the bar and never near the bar.
    const double points[6] = {0.006, -0.05, 0.0, -0.107, 0.0, 0.0};
    WorldSnapshot world = make_world({});
    world.set_field(point_slot, std::make_shared<const ObstacleField>(ObstacleField::from_points(points)), 1.0);
    REQUIRE(retreat(bar_on_a_slide(), world, {0.0, 0.0}, {-0.02, 0.0}).accepted == 1);
    REQUIRE(retreat(bar_on_a_slide(), world, {0.0, 0.0}, {-0.095, 0.0}).accepted == 0);
}

TEST(spent_budget_is_not_an_acceptance) {
    RobotModelSpec spec = boxed_arm();
    GateConfig config = wide_config(spec, 1.0);
    config.velocity_max = {20.0};
    config.max_ee_speed_m_s = 100.0;
    config.max_ee_angular_speed_rad_s = 100.0;
    config.evaluations_max = capacity::rows_max + 1;
    Gate gate = make_gate(spec, config);
    std::vector<PrimitiveSpec> poles;
    for (int index = 0; index < 40; ++index) poles.push_back(sphere(on_circle(std::hypot(1.01, 0.01) + 0.0022, 0.05 + 0.075 * index), 0.002));
    const WorldSnapshot world = make_world(poles);
    const double from[1] = {0.0};
    const double rows[1] = {pi};
    const Verdict verdict = gate.check(make_request(ControlMode::joint_position, rows, 1, from, world));
    REQUIRE(verdict.accepted == 0 && verdict.violation.code == ViolationCode::budget_exceeded, static_cast<int>(verdict.violation.code));
    REQUIRE(jumping_gate(spec).check(make_request(ControlMode::joint_position, rows, 1, from, world)).accepted == 1);
}

TEST(hulls_equal_to_the_volumes_change_no_verdict) {
    std::mt19937_64 engine(9);
    std::uniform_real_distribution<double> place(-1.0, 1.0);
    Gate plain = jumping_gate(panda());
    Gate refined = jumping_gate(with_hulls(panda()));
    int accepted = 0;
    for (int index = 0; index < 2000; ++index) {
        std::vector<PrimitiveSpec> obstacles;
        for (int count = 0; count < 3; ++count) obstacles.push_back(sphere({place(engine), place(engine), 0.5 + 0.5 * place(engine)}, 0.05));
        obstacles.push_back(box({0.8, 0.6 * place(engine), 0.3}, {0.1, 0.1, 0.1}));
        const WorldSnapshot world = make_world(obstacles);
        std::vector<double> rows(panda_home.begin(), panda_home.end());
        for (double& value : rows) value += 0.4 * place(engine);
        const CheckRequest request = make_request(ControlMode::joint_position, rows, 7, panda_home, world);
        const Verdict a = plain.check(request);
        const Verdict b = refined.check(request);
        accepted += a.accepted;
        // The bound of a whole capsule and of its two ends are the same number up to rounding.
        if (!REQUIRE(a.accepted == b.accepted && a.violation.code == b.violation.code, index, static_cast<int>(a.violation.code), static_cast<int>(b.violation.code))) return;
    }
    REQUIRE(accepted > 200 && accepted < 1900, accepted);
}

TEST(single_configurations_are_refined_too) {
    Gate gate = jumping_gate(boxed_arm());
    const PrimitiveSpec obstacle = sphere({1.03, 0.0, 0.0}, 0.002);
    const WorldSnapshot world = make_world({&obstacle, 1});
    const double configurations[2] = {0.0, 0.02};
    std::uint8_t accepted[2] = {};
    double clearance_m[2] = {};
    gate.check_configurations(configurations, 2, {}, world, accepted, clearance_m);
    REQUIRE(accepted[0] == 1 && std::abs(clearance_m[0] - 0.018) < 1e-6, clearance_m[0]);
    const PrimitiveSpec nearer = sphere({1.011, 0.0, 0.0}, 0.002);
    gate.check_configurations(configurations, 2, {}, make_world({&nearer, 1}), accepted, clearance_m);
    REQUIRE(accepted[0] == 0 && clearance_m[0] <= 0.0, clearance_m[0]);
}

TEST(reach_of_torque_is_refined_too) {
    RobotModelSpec spec = boxed_slider();
    GateConfig config = wide_config(spec, 0.02);
    config.velocity_max = {1.0};
    Gate gate = make_gate(spec, config);
    for (const double gap_m : {-0.0005, 0.0003}) {
        const PrimitiveSpec wall = box({0.03 + gap_m + 0.1, 0.0, 0.0}, {0.1, 0.3, 0.3});
        const WorldSnapshot world = make_world({&wall, 1});
        const double from[1] = {0.0};
        const double rows[1] = {0.0};
        const Verdict verdict = gate.check(make_request(ControlMode::joint_torque, rows, 1, from, world));
        REQUIRE((verdict.accepted == 1) == (gap_m > 0.0), gap_m, static_cast<int>(verdict.violation.code));
    }
}

TEST(hulls_that_cannot_be_used_are_refused) {
    const auto try_hull = [](HullSpec hull, const char* why) {
        RobotModelSpec spec = planar_arm(2);
        spec.hulls.push_back(std::move(hull));
        REQUIRE_REFUSED(RobotModel(spec), why);
    };
    const double bad = std::numeric_limits<double>::quiet_NaN();
    try_hull({3, 0.0, {{}}}, "hull 0: is on no link");
    try_hull({-1, 0.0, {{}}}, "hull 0: is on no link");
    try_hull({1, -1e-9, {{}}}, "radius");
    try_hull({1, bad, {{}}}, "radius");
    try_hull({1, 0.0, {}}, "vertices");
    try_hull({1, 0.0, std::vector<Vec3>(capacity::hull_vertices_max + 1)}, "vertices");
    try_hull({1, 0.0, {{}, {0.0, bad, 0.0}}}, "not finite");
    try_hull({1, 0.0, {{101.0, 0.0, 0.0}}}, "beyond 100 m");
    RobotModelSpec unordered = planar_arm(2);
    unordered.hulls = {{2, 0.0, {{}}}, {1, 0.0, {{}}}};
    REQUIRE_REFUSED(RobotModel(unordered), "after a hull of a later link");
    RobotModelSpec crowded = planar_arm(2);
    crowded.hulls.assign(capacity::hulls_per_link_max + 1, {1, 0.0, {{}}});
    REQUIRE_REFUSED(RobotModel(crowded), "hulls_per_link_max");
    RobotModelSpec too_many = planar_arm(2);
    too_many.hulls.assign(capacity::hulls_max + 1, {1, 0.0, {{}}});
    REQUIRE_REFUSED(RobotModel(too_many), "hulls_max");
}

TEST_MAIN
