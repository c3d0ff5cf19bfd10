// SPDX-License-Identifier: Apache-2.0
// The validation order: each stage rejects by itself, earlier stages decide first, and the twin one
// step away is accepted.
#include <cmath>
#include <limits>

#include "require.hpp"
#include "robots.hpp"

using namespace lastgate;
using namespace lastgate::robots;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

/// Two planar links at rest, straight; tests change one thing.
struct Rest {
    Gate gate = make_gate(planar_arm(2));
    double positions[2] = {0.0, 0.0};
    double rows[6] = {0.0, 0.0, 0.01, 0.01, 0.02, 0.02};
    WorldSnapshot world = make_world({});
    CheckRequest request = make_request(ControlMode::joint_position, rows, 2, positions, world);
    Verdict check() { return gate.check(request); }
};

void require_rejected(const Verdict& verdict, int stage, ViolationCode code, const char* what) {
    REQUIRE(verdict.accepted == 0, what);
    REQUIRE(verdict.stage == stage, what, verdict.stage);
    REQUIRE(verdict.violation.code == code, what, static_cast<int>(verdict.violation.code));
}

}  // namespace

TEST(rest_is_accepted) {
    Rest rest;
    const Verdict verdict = rest.check();
    REQUIRE(verdict.accepted == 1, static_cast<int>(verdict.violation.code));
    REQUIRE(verdict.world_id == 7 && verdict.state_age_s == 0.0);
}

TEST(unknown_mode_is_rejected_at_stage_2) {
    for (const std::size_t mode : {std::size_t{8}, std::size_t{13}, std::size_t{255}, std::numeric_limits<std::size_t>::max()}) {
        Rest rest;
        rest.request.chunk.control_mode = mode;
        require_rejected(rest.check(), 2, ViolationCode::control_mode, "mode");
    }
}

TEST(mode_that_is_not_enabled_is_rejected_at_stage_2) {
    GateConfig config = wide_config(planar_arm(2));
    config.enabled_modes.reset(0);
    Rest rest;
    Gate gate = make_gate(planar_arm(2), config);
    require_rejected(gate.check(rest.request), 2, ViolationCode::control_mode, "joint_position");
    rest.request.chunk.control_mode = 3;
    REQUIRE(gate.check(rest.request).accepted == 1);
}

TEST(wrong_width_is_rejected_at_stage_3) {
    for (const std::size_t width : {std::size_t{0}, std::size_t{1}, std::size_t{3}, std::numeric_limits<std::size_t>::max()}) {
        Rest rest;
        rest.request.chunk.width = width;
        require_rejected(rest.check(), 3, ViolationCode::ndof_mismatch, "width");
    }
}

TEST(row_count_that_does_not_fit_the_numbers_is_rejected_at_stage_4) {
    for (const std::size_t rows : {std::size_t{0}, std::size_t{2}, std::size_t{4}, std::size_t{257}, std::numeric_limits<std::size_t>::max(),
                                   std::numeric_limits<std::size_t>::max() / 2 + 4}) {
        Rest rest;
        rest.request.chunk.row_count = rows;
        require_rejected(rest.check(), 4, ViolationCode::dim_mismatch, "rows");
    }
}

TEST(chunk_at_the_row_capacity_is_accepted_and_one_row_more_is_not) {
    Rest rest;
    std::vector<double> rows(2 * (capacity::rows_max + 1), 0.0);
    rest.request.chunk.flat = {rows.data(), 2 * capacity::rows_max};
    rest.request.chunk.row_count = capacity::rows_max;
    REQUIRE(rest.check().accepted == 1);
    rest.request.chunk.flat = rows;
    rest.request.chunk.row_count = capacity::rows_max + 1;
    require_rejected(rest.check(), 4, ViolationCode::dim_mismatch, "rows_max + 1");
}

TEST(number_that_is_not_finite_is_rejected_in_any_element_at_stage_5) {
    for (const double poison : {not_a_number, -not_a_number, infinity, -infinity}) {
        for (std::size_t element = 0; element < 6; ++element) {
            Rest rest;
            rest.rows[element] = poison;
            const Verdict verdict = rest.check();
            require_rejected(verdict, 5, ViolationCode::nan_in_action, "poison");
            REQUIRE(verdict.violation.element == element, verdict.violation.element, element);
        }
    }
}

TEST(position_at_its_limit_passes_and_one_ulp_beyond_is_rejected_at_stage_6) {
    for (const double sign : {-1.0, 1.0}) {
        Rest rest;
        rest.positions[1] = rest.rows[1] = rest.rows[3] = rest.rows[5] = sign * 3.2;
        REQUIRE(rest.check().stage > 6, rest.check().stage);
        rest.rows[3] = std::nextafter(sign * 3.2, sign * 4.0);
        const Verdict verdict = rest.check();
        require_rejected(verdict, 6, ViolationCode::joint_position_limit, "limit");
        REQUIRE(verdict.violation.row == 1 && verdict.violation.subject == 1);
    }
}

TEST(huge_and_tiny_numbers_are_evaluated_like_any_other) {
    for (const double value : {1e308, -1e308, 1e17, 4.0}) {
        Rest rest;
        rest.rows[4] = value;
        require_rejected(rest.check(), 6, ViolationCode::joint_position_limit, "huge");
    }
    Rest rest;
    rest.rows[4] = std::numeric_limits<double>::denorm_min();
    REQUIRE(rest.check().accepted == 1);
}

TEST(state_that_is_missing_incomplete_or_not_finite_is_rejected_at_stage_7) {
    Rest rest;
    rest.request.state.given = false;
    require_rejected(rest.check(), 7, ViolationCode::state_unavailable, "missing");
    Rest shorter;
    shorter.request.state.positions = {shorter.positions, 1};
    require_rejected(shorter.check(), 7, ViolationCode::state_unavailable, "one joint short");
    for (const double poison : {not_a_number, infinity, 1e5}) {
        Rest poisoned;
        poisoned.positions[1] = poison;
        require_rejected(poisoned.check(), 7, ViolationCode::state_unavailable, "position");
        Rest moving;
        const double velocities[2] = {0.0, poison};
        moving.request.state.velocities = velocities;
        if (poison != 1e5) require_rejected(moving.check(), 7, ViolationCode::state_unavailable, "velocity");
    }
    Rest unasked;
    const double gripper[1] = {0.0};
    unasked.request.state.gripper_positions = gripper;
    require_rejected(unasked.check(), 7, ViolationCode::state_unavailable, "a gripper it does not have");
}

TEST(state_at_its_age_limit_passes_and_older_is_rejected) {
    Rest rest;
    rest.request.state.stamp_s = 0.0;
    rest.world = make_world({}, 0.0);
    rest.request.now_s = 0.2;
    REQUIRE(rest.check().accepted == 1);
    rest.request.now_s = std::nextafter(0.2, 1.0);
    require_rejected(rest.check(), 7, ViolationCode::state_unavailable, "one ulp too old");
}

TEST(state_from_the_future_or_at_no_time_is_rejected) {
    for (const double now_s : {0.99, not_a_number, infinity, -infinity}) {
        Rest rest;
        rest.request.now_s = now_s;
        require_rejected(rest.check(), 7, ViolationCode::state_unavailable, "now");
    }
    for (const double stamp_s : {1.01, not_a_number, infinity, -infinity}) {
        Rest rest;
        rest.request.state.stamp_s = stamp_s;
        require_rejected(rest.check(), 7, ViolationCode::state_unavailable, "stamp");
    }
}

TEST(one_stale_joint_among_fresh_ones_is_rejected_by_name) {
    Rest rest;
    double stamps[2] = {1.0, 1.0};
    rest.request.state.stamps_s = stamps;
    rest.request.state.stamp_s = not_a_number;  // not used when joints carry their own
    REQUIRE(rest.check().accepted == 1);
    stamps[1] = 0.5;
    const Verdict verdict = rest.check();
    require_rejected(verdict, 7, ViolationCode::state_unavailable, "one joint");
    REQUIRE(verdict.violation.subject == 1, verdict.violation.subject);
}

TEST(step_at_the_velocity_limit_passes_and_one_faster_is_rejected_at_stage_8) {
    Rest rest;
    std::fill_n(rest.rows, 6, 0.0);
    rest.rows[1] = rest.rows[3] = rest.rows[5] = 2.5 * 0.02;
    REQUIRE(rest.check().accepted == 1, static_cast<int>(rest.check().violation.code));
    rest.rows[1] = rest.rows[3] = rest.rows[5] = 2.501 * 0.02;
    const Verdict verdict = rest.check();
    require_rejected(verdict, 8, ViolationCode::joint_velocity_limit, "from the measured state to row 0");
    REQUIRE(verdict.violation.row == 0 && verdict.violation.subject == 1);
}

TEST(acceleration_is_evaluated_from_the_measured_velocity_on) {
    GateConfig config = wide_config(planar_arm(2));
    config.acceleration_max.emplace(std::vector<double>{10.0, 10.0});
    Gate gate = make_gate(planar_arm(2), config);
    Rest rest;
    const double velocities[2] = {0.0, 0.0};
    rest.request.state.velocities = velocities;
    std::fill_n(rest.rows, 6, 0.0);
    REQUIRE(gate.check(rest.request).accepted == 1);
    rest.rows[0] = rest.rows[2] = rest.rows[4] = 10.0 * 0.02 * 0.02 * 1.01;
    const Verdict verdict = gate.check(rest.request);
    require_rejected(verdict, 8, ViolationCode::joint_acceleration_limit, "first step");
    REQUIRE(verdict.violation.row == 0);
}

TEST(tool_faster_than_its_limit_is_rejected_in_joint_modes_too) {
    GateConfig config = wide_config(planar_arm(2));
    config.max_ee_speed_m_s = 2.0 * 0.5;
    Gate gate = make_gate(planar_arm(2), config);
    Rest rest;
    std::fill_n(rest.rows, 6, 0.0);
    rest.rows[0] = rest.rows[2] = rest.rows[4] = 0.49 * 0.02;  // the tool is 2 m from joint 0
    REQUIRE(gate.check(rest.request).accepted == 1);
    rest.rows[0] = rest.rows[2] = rest.rows[4] = 0.51 * 0.02;
    require_rejected(gate.check(rest.request), 8, ViolationCode::ee_speed, "tool");
}

TEST(world_that_is_missing_elsewhere_overflowing_or_unusable_is_rejected_at_stage_9) {
    Rest rest;
    rest.request.world = nullptr;
    require_rejected(rest.check(), 9, ViolationCode::world_unavailable, "missing");
    Rest never;
    never.world = WorldSnapshot();
    require_rejected(never.check(), 9, ViolationCode::world_unavailable, "never begun");
    Rest elsewhere;
    elsewhere.world.begin(1, 1.0, false);
    require_rejected(elsewhere.check(), 9, ViolationCode::world_unavailable, "another frame");
    Rest overflowing;
    for (std::size_t index = 0; index <= capacity::primitives_max; ++index) overflowing.world.add(sphere({9, 9, 9}, 0.1));
    require_rejected(overflowing.check(), 9, ViolationCode::world_overflow, "overflow");
    Rest unusable;
    unusable.world.add(sphere({9, 9, 9}, not_a_number));
    require_rejected(unusable.check(), 9, ViolationCode::world_unavailable, "NaN radius");
}

TEST(world_at_its_age_limit_passes_and_older_is_rejected) {
    Rest rest;
    rest.request.state.stamp_s = 0.4;
    rest.request.now_s = 0.5;
    rest.world = make_world({}, 0.0);
    REQUIRE(rest.check().accepted == 1);
    rest.request.now_s = std::nextafter(0.5, 1.0);
    require_rejected(rest.check(), 9, ViolationCode::world_unavailable, "one ulp too old");
    rest.request.now_s = 0.5;
    for (const double stamp_s : {0.51, not_a_number, infinity, -infinity}) {
        rest.world = make_world({}, stamp_s);
        require_rejected(rest.check(), 9, ViolationCode::world_unavailable, "stamp");
    }
}

TEST(world_that_has_been_here_for_longer_than_it_may_is_rejected_whatever_its_stamp_says) {
    Rest rest;
    rest.request.world_held_s = 0.5;
    REQUIRE(rest.check().accepted == 1);
    for (const double held_s : {std::nextafter(0.5, 1.0), 1e9, -1e-9, not_a_number, infinity}) {
        rest.request.world_held_s = held_s;
        require_rejected(rest.check(), 9, ViolationCode::world_unavailable, "held");
    }
}

TEST(earlier_stage_decides_when_everything_is_wrong) {
    Rest rest;
    rest.rows[0] = 9.0;
    rest.request.state.given = false;
    rest.request.world = nullptr;
    require_rejected(rest.check(), 6, ViolationCode::joint_position_limit, "limit before state");
    rest.rows[5] = not_a_number;
    require_rejected(rest.check(), 5, ViolationCode::nan_in_action, "NaN before limit");
    rest.request.chunk.width = 9;
    require_rejected(rest.check(), 3, ViolationCode::ndof_mismatch, "width before NaN");
}

TEST(default_request_is_rejected) {
    Gate gate = make_gate(planar_arm(2));
    const Verdict verdict = gate.check(CheckRequest{});
    require_rejected(verdict, 2, ViolationCode::control_mode, "nothing given");
}

TEST_MAIN
