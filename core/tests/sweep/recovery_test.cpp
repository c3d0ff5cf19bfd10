// SPDX-License-Identifier: Apache-2.0
// The retreat rule: from inside a margin only apart, slowly, and only when asked for.
#include <cmath>

#include "require.hpp"
#include "robots.hpp"
#include "world/obstacle_field.hpp"

using namespace lastgate;
using namespace lastgate::robots;

namespace {

/// A slide whose sphere starts 1 cm inside a wall at x >= 0.04.
struct InContact {
    Gate gate = make_gate(slider());
    PrimitiveSpec wall = box({1.04, 0.0, 0.0}, {1.0, 1.0, 1.0});
    WorldSnapshot world = make_world({&wall, 1});
    double from[1] = {0.0};
    Verdict check(std::vector<double> rows, bool recovery) {
        CheckRequest request = make_request(ControlMode::joint_position, rows, 1, from, world);
        request.recovery = recovery;
        return gate.check(request);
    }
};

}  // namespace

TEST(retreat_is_rejected_unless_it_is_asked_for) {
    InContact contact;
    REQUIRE(contact.check({-0.005, -0.010, -0.015}, false).accepted == 0);
    const Verdict verdict = contact.check({-0.005, -0.010, -0.015}, true);
    REQUIRE(verdict.accepted == 1 && verdict.recovery == 1, static_cast<int>(verdict.violation.code));
}

TEST(retreat_that_goes_deeper_first_is_rejected) {
    InContact contact;
    const Verdict verdict = contact.check({0.005, -0.005, -0.015}, true);
    REQUIRE(verdict.accepted == 0, static_cast<int>(verdict.violation.code));
}

TEST(staying_in_contact_is_no_retreat) {
    InContact contact;
    const Verdict verdict = contact.check({0.0, 0.0}, true);
    REQUIRE(verdict.accepted == 0 && verdict.violation.code == ViolationCode::recovery_not_growing, static_cast<int>(verdict.violation.code));
}

TEST(retreat_at_full_speed_is_rejected) {
    InContact contact;
    const Verdict verdict = contact.check({-0.04}, true);  // 2 m/s, a quarter of 2.5 m/s is allowed
    REQUIRE(verdict.accepted == 0 && verdict.violation.code == ViolationCode::recovery_speed);
}

TEST(recovery_gives_no_leave_to_enter_something_else) {
    InContact contact;
    const PrimitiveSpec second = box({-0.07, 0.0, 0.0}, {0.01, 1.0, 1.0});
    contact.world.add(second);
    REQUIRE(contact.check({-0.005}, true).accepted == 1);
    REQUIRE(contact.check({-0.005, -0.010, -0.015}, true).accepted == 0);
}

TEST(recovery_without_contact_is_an_ordinary_check) {
    InContact contact;
    contact.from[0] = -1.0;
    const Verdict verdict = contact.check({-1.005}, true);
    REQUIRE(verdict.accepted == 1 && verdict.recovery == 0);
}

TEST(leaving_one_point_does_not_lead_into_another_of_its_cloud) {
    // The sphere is 1 cm deep in the first point and 12 mm clear of the second, which would end 8 mm deep in it.
    const double points[6] = {0.04, 0.0, 0.0, -0.062, 0.0, 0.0};
    for (const std::size_t count : {std::size_t{3}, std::size_t{6}}) {
        InContact contact;
        contact.world = make_world({});
        contact.world.set_field(point_slot, std::make_shared<const ObstacleField>(ObstacleField::from_points({points, count})), 1.0);
        REQUIRE(contact.check({-0.01, -0.02}, true).accepted == (count == 3 ? 1 : 0), count);
        REQUIRE(contact.check({-0.01}, true).recovery == 1, count);
    }
}

TEST(one_step_away_from_a_point_does_not_end_inside_another) {
    // Within one step what the first point lacks of the margin is still 1 cm; the second, 5 mm clear at the start, must not profit from it.
    const double points[6] = {0.04, 0.0, 0.0, -0.055, 0.0, 0.0};
    for (const std::size_t count : {std::size_t{3}, std::size_t{6}}) {
        InContact contact;
        contact.world = make_world({});
        contact.world.set_field(point_slot, std::make_shared<const ObstacleField>(ObstacleField::from_points({points, count})), 1.0);
        REQUIRE(contact.check({-0.01}, true).accepted == (count == 3 ? 1 : 0), count);
        REQUIRE(contact.check({-0.004}, true).accepted == 1, count);
    }
}

TEST(columns_of_a_floor_are_left_one_by_one) {
    // Columns of 10 cm: one 1 cm inside the sphere at x >= 0.04, another behind it whose face is 2 cm clear.
    for (const bool behind : {false, true}) {
        FloorSpec spec;
        spec.in_base.translation = {-0.76, -0.75, 0.0};
        spec.resolution_m = 0.1;
        spec.size = {15, 15};
        spec.low_m = -1.0;
        spec.high_m = 1.0;
        std::vector<std::uint8_t> blocked(15 * 15, 0);
        blocked[7 * 15 + 8] = 1;               // x from 0.04 to 0.14
        if (behind) blocked[7 * 15 + 5] = 1;  // x from -0.26 to -0.16
        InContact contact;
        contact.world = make_world({});
        contact.world.set_field(floor_slot, std::make_shared<const ObstacleField>(ObstacleField::from_floor(spec, blocked)), 1.0);
        std::vector<double> out;
        for (int step = 1; step <= 13; ++step) out.push_back(-0.009 * step);
        const Verdict verdict = contact.check(out, true);
        REQUIRE(verdict.accepted == (behind ? 0 : 1), static_cast<int>(verdict.violation.code));
        REQUIRE(contact.check({-0.005, -0.01}, true).recovery == 1);
        REQUIRE(contact.check({0.005}, true).accepted == 0);
    }
}

TEST_MAIN
