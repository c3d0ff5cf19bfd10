// SPDX-License-Identifier: Apache-2.0
// A stream accepts what a second gate accepts of the chunk of the same one step, and rejects the rest. 20,000 steps here; LASTGATE_STREAM_STEPS
// asks for more.
#include <cstdlib>
#include <random>

#include "require.hpp"
#include "robots.hpp"

using namespace lastgate;
using namespace lastgate::robots;

namespace {

std::size_t wanted_steps() {
    const char* text = std::getenv("LASTGATE_STREAM_STEPS");
    return text == nullptr ? 20000 : static_cast<std::size_t>(std::max(std::atoll(text), 1LL));
}

struct Draw {
    std::mt19937_64 engine;
    double uniform(double low, double high) { return std::uniform_real_distribution<double>(low, high)(engine); }
    bool one_in(std::uint64_t count) { return engine() % count == 0; }
};

/// What a stream answers by, said again with a gate of its own and the whole check.
struct Reference {
    Gate gate;
    std::vector<double> last;
    std::vector<double> velocity;
    bool has_moved = false;

    Verdict step(const StreamStep& step) {
        CheckRequest request = make_request(ControlMode::joint_position, step.row, step.row.size(), last, *step.world);
        request.state.velocities = velocity;
        request.state.gripper_positions = step.gripper_positions;
        request.state.stamp_s = step.state_stamp_s;
        request.now_s = step.now_s;
        request.world_held_s = step.world_held_s;
        const Verdict verdict = gate.check(request);
        if (verdict.accepted != 0) {
            velocity.resize(last.size());
            for (std::size_t column = 0; column < last.size(); ++column) velocity[column] = (step.row[column] - last[column]) / gate.config().step_s;
            last.assign(step.row.begin(), step.row.end());
            has_moved = true;
        } else if (has_moved) {
            std::fill(velocity.begin(), velocity.end(), 0.0);
        }
        return verdict;
    }
};

struct Count {
    std::size_t accepted = 0, rejected = 0, known = 0;
};

WorldSnapshot random_world(Draw& draw, double stamp_s) {
    std::vector<PrimitiveSpec> obstacles;
    for (int index = 0; index < 6; ++index) {
        const Vec3 place{draw.uniform(-1.0, 1.0), draw.uniform(-1.0, 1.0), draw.uniform(-0.2, 1.2)};
        obstacles.push_back(draw.one_in(2) ? sphere(place, draw.uniform(0.01, 0.1)) : box(place, {draw.uniform(0.01, 0.2), draw.uniform(0.01, 0.2), draw.uniform(0.01, 0.2)}));
    }
    return draw.one_in(20) ? no_world() : make_world(obstacles, stamp_s);
}

/// Streams joints that accelerate at random, in worlds, and with stamps, that change now and then.
void compare(const RobotModelSpec& spec, GateConfig config, std::uint64_t seed, std::size_t steps, Count& count) {
    Draw draw{std::mt19937_64(seed)};
    config.acceleration_max = std::vector<double>(spec.dofs.size(), 40.0);
    config.keep_in_zones.push_back({box({0.0, 0.0, 0.5}, {1.4, 1.4, 1.6}), {}});
    config.no_go_zones.push_back(box({0.6, 0.6, 0.2}, {0.1, 0.1, 0.1}));
    config.workspace_box = WorkspaceBox{{-0.8, -0.8, 0.0}, {0.8, 0.8, 1.2}};
    Gate gate = make_gate(spec, config);
    Reference reference{make_gate(spec, config), {}, {}};
    Stream stream(gate);
    const std::size_t columns = gate.model().row_dofs().size();
    std::vector<double> speed(columns, 0.0);
    std::vector<double> row(columns);
    std::vector<double> gripper;
    double now_s = 1.0;
    WorldSnapshot world = random_world(draw, now_s);
    for (std::size_t index = 0; index < steps; ++index) {
        now_s += config.step_s;
        const bool begins = index == 0 || draw.one_in(500);
        if (begins) {
            reference.last.resize(columns);
            for (std::size_t column = 0; column < columns; ++column) {
                const double middle = columns % 7 == 0 ? panda_home[column % 7] : 0.0;
                reference.last[column] = middle + draw.uniform(-0.3, 0.3);
            }
            std::fill(speed.begin(), speed.end(), 0.0);
            reference.velocity = draw.one_in(2) ? std::vector<double>{} : speed;
            reference.has_moved = false;
            StateView measured;
            measured.positions = reference.last;
            measured.velocities = reference.velocity;
            measured.given = true;
            stream.begin(measured);
            gripper.clear();
            if (draw.one_in(2)) gripper.assign(gate.model().dof_count() - columns, draw.uniform(-0.001, 0.04));
        }
        if (draw.one_in(97)) world = random_world(draw, now_s);
        if (draw.one_in(60)) world.begin(7, now_s, true);  // seen again, empty: most steps are free
        if (!gripper.empty()) gripper[0] += draw.uniform(-0.0005, 0.0005);
        const double push = draw.one_in(200) ? 60.0 : 15.0;
        for (std::size_t column = 0; column < columns; ++column) {
            speed[column] += draw.uniform(-push, push) * config.step_s - 0.02 * speed[column];
            row[column] = reference.last[column] + speed[column] * config.step_s;
        }
        if (draw.one_in(3000)) row[0] = std::numeric_limits<double>::quiet_NaN();
        StreamStep step{row, &world, gripper, now_s - (draw.one_in(300) ? 0.5 : 0.001), now_s, draw.one_in(900) ? 2.0 : 0.0};
        if (draw.one_in(2500)) step.row = step.row.first(columns - 1);
        const std::uint64_t full_before = stream.full_checks();
        const Verdict wanted = reference.step(step);
        const Verdict found = stream.step(step);
        if (!REQUIRE(found.accepted == wanted.accepted && found.violation.code == wanted.violation.code, seed, index, int{found.accepted}, int{wanted.accepted})) return;
        REQUIRE(found.unchecked == wanted.unchecked && found.world_id == wanted.world_id && found.stage == wanted.stage && found.certified_rows == wanted.certified_rows, seed, index);
        REQUIRE(found.state_age_s == wanted.state_age_s && found.world_age_s == wanted.world_age_s, seed, index);
        (found.accepted != 0 ? count.accepted : count.rejected) += 1;
        count.known += stream.full_checks() == full_before ? 1 : 0;
        if (found.accepted == 0) std::fill(speed.begin(), speed.end(), 0.0);
    }
}

}  // namespace

TEST(a_stream_answers_as_the_full_check_of_each_step) {
    const RobotModelSpec robots[] = {panda(), with_hulls(panda(), 0.004), mobile_manipulator(), two_arms()};
    Count count;
    std::uint64_t seed = 1;
    for (std::size_t left = wanted_steps(); left > 0;) {
        const std::size_t steps = std::min<std::size_t>(left, 2500);
        const RobotModelSpec& spec = robots[seed % std::size(robots)];
        compare(spec, wide_config(spec, seed % 3 == 0 ? 0.02 : 0.001), seed, steps, count);
        left -= steps;
        ++seed;
    }
    std::printf("%zu accepted, %zu rejected, %zu without a full check\n", count.accepted, count.rejected, count.known);
    REQUIRE(count.accepted > 100 && count.rejected > 100 && count.known > 100, count.accepted, count.rejected, count.known);
}

namespace {

/// A slide towards a wall, 10 mm per step.
struct TowardsAWall {
    RobotModelSpec spec = slider();
    GateConfig config = [this] {
        GateConfig wide = wide_config(spec, 0.01);
        wide.max_ee_speed_m_s = 100.0;
        return wide;
    }();
    Gate gate = make_gate(spec, config);
    Stream stream{gate};
    WorldSnapshot world = make_world(std::array{box({1.05, 0.0, 0.0}, {0.5, 0.5, 0.5})});  // free until x = 0.5
    double start = 0.0;
    double row = 0.0;
    StreamStep step{{&row, 1}, &world, {}, 1.0, 1.0, 0.0};

    TowardsAWall() {
        StateView measured;
        measured.positions = {&start, 1};
        measured.given = true;
        stream.begin(measured);
    }
    Verdict advance(double way) {
        row += way;
        return stream.step(step);
    }
};

}  // namespace

TEST(a_budget_is_spent_before_a_wall_is_touched) {
    TowardsAWall run;
    std::size_t accepted = 0;
    while (accepted < 100 && run.advance(0.01).accepted != 0) ++accepted;
    REQUIRE(accepted == 49, accepted);  // 0.50 touches
    REQUIRE(run.stream.full_checks() < 40, run.stream.full_checks());
    REQUIRE(run.row == 0.5 || std::abs(run.row - 0.5) < 1e-12, run.row);
}

TEST(a_new_world_takes_the_budget_away) {
    TowardsAWall run;
    REQUIRE(run.advance(0.01).accepted != 0);
    const std::uint64_t full = run.stream.full_checks();
    REQUIRE(run.advance(0.01).accepted != 0 && run.stream.full_checks() == full);
    // At the same address, with the same number and stamp.
    run.world.begin(7, 1.0, true);
    run.world.add(box({0.5, 0.0, 0.0}, {0.5, 0.5, 0.5}));
    const Verdict verdict = run.advance(0.01);
    REQUIRE(verdict.accepted == 0 && verdict.violation.code == ViolationCode::world_collision);
}

TEST(something_attached_takes_the_budget_away) {
    TowardsAWall run;
    REQUIRE(run.advance(0.01).accepted != 0);
    Attachment held;
    held.id = 1;
    held.volume = {1, 0.3, {0.25, 0.0, 0.0}, {0.25, 0.0, 0.0}};
    REQUIRE(run.gate.attach(held));
    REQUIRE(run.advance(0.01).accepted == 0);
    REQUIRE(run.gate.detach(1));
    run.row -= 0.01;
    REQUIRE(run.advance(0.01).accepted != 0);
}

TEST(a_rejected_step_leaves_the_robot_at_rest_where_it_was) {
    TowardsAWall run;
    run.config.acceleration_max = std::vector<double>{50.0};
    Gate gate = make_gate(run.spec, run.config);
    Stream stream(gate);
    StateView measured;
    measured.positions = {&run.start, 1};
    const double standing = 0.0;
    measured.velocities = {&standing, 1};
    measured.given = true;
    stream.begin(measured);
    const auto to = [&](double x) {
        run.row = x;
        return stream.step(run.step);
    };
    REQUIRE(to(0.004).accepted != 0 && to(0.012).accepted != 0 && to(0.024).accepted != 0);  // 0.4, 0.8 and 1.2 m/s
    REQUIRE(to(0.049).violation.code == ViolationCode::joint_acceleration_limit);
    // From rest 1.2 m/s at once is too much; without the rejection it would have been steady.
    REQUIRE(to(0.036).violation.code == ViolationCode::joint_acceleration_limit);
    REQUIRE(to(0.028).accepted != 0);
}

TEST(stale_states_and_worlds_are_noticed_without_a_full_check_of_the_rest) {
    TowardsAWall run;
    REQUIRE(run.advance(0.001).accepted != 0 && run.advance(0.001).accepted != 0);
    run.step.now_s = 1.3;
    REQUIRE(run.advance(0.001).violation.code == ViolationCode::state_unavailable);
    run.step.state_stamp_s = 1.3;
    REQUIRE(run.stream.step(run.step).accepted != 0);
    run.step.now_s = run.step.state_stamp_s = 1.6;
    REQUIRE(run.stream.step(run.step).violation.code == ViolationCode::world_unavailable);
    run.step.state_stamp_s = std::numeric_limits<double>::quiet_NaN();
    REQUIRE(run.stream.step(run.step).violation.code == ViolationCode::state_unavailable);
    run.step.world = nullptr;
    run.step.state_stamp_s = 1.6;
    REQUIRE(run.stream.step(run.step).violation.code == ViolationCode::world_unavailable);
}

TEST(a_stream_that_was_not_begun_rejects) {
    TowardsAWall run;
    Stream stream(run.gate);
    REQUIRE(stream.step(run.step).violation.code == ViolationCode::state_unavailable);
    REQUIRE(stream.step(run.step).violation.code == ViolationCode::state_unavailable);
    REQUIRE_REFUSED(Stream(run.gate, ControlMode::joint_velocity), "a stream takes joint positions");
}

TEST_MAIN
