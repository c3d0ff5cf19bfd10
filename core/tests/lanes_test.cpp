// SPDX-License-Identifier: Apache-2.0
// What the lanes read: tables that stay with their owner. And what they say of tools.
#include <memory>
#include <random>
#include <utility>

#include "mode_chunks.hpp"
#include "require.hpp"
#include "robots.hpp"

using namespace lastgate;
using namespace lastgate::robots;

TEST(copied_and_moved_worlds_keep_their_obstacles) {
    Gate gate = make_gate(planar_arm(1));
    const double at_the_ball[1] = {0.0};
    std::uint8_t accepted = 9;
    double clearance_m = 0.0;
    const auto accepts = [&](const WorldSnapshot& world) {
        gate.check_configurations(at_the_ball, 1, {}, world, {&accepted, 1}, {&clearance_m, 1});
        return accepted == 1;
    };
    const PrimitiveSpec inside = sphere({1.0, 0.0, 0.0}, 0.1);
    const PrimitiveSpec beside = sphere({1.0, 0.5, 0.0}, 0.1);
    for (const auto& [obstacle, wanted] : {std::pair{inside, false}, std::pair{beside, true}}) {
        auto original = std::make_unique<WorldSnapshot>(make_world({&obstacle, 1}));
        const WorldSnapshot copied = *original;
        original->begin(8, 1.0, true);
        original->add(sphere({500.0, 0.0, 0.0}, 0.1));  // what the copy must not look at
        REQUIRE(accepts(copied) == wanted, wanted);
        original.reset();
        REQUIRE(accepts(copied) == wanted, wanted);
        WorldSnapshot source = copied;
        const WorldSnapshot moved = std::move(source);
        REQUIRE(accepts(moved) == wanted, wanted);
    }
}

namespace {

/// The fastest step of a tool along rows, by double kinematics. Row 0 leads away from the measured state.
struct FastestStep {
    double speed = 0.0;
    std::uint32_t row = 0;

    void take(double step_speed, std::size_t step_row) {
        if (step_speed > speed) *this = {step_speed, static_cast<std::uint32_t>(step_row)};
    }
};

}  // namespace

TEST(tool_steps_are_judged_as_double_kinematics_judge_them) {
    const RobotModelSpec spec = panda();
    const RobotModel model(spec);
    const WorldSnapshot world = no_world();
    constexpr std::size_t width = panda_home.size();
    constexpr std::size_t row_count = 20;  // three groups of lanes, the last not full
    std::mt19937 random(20261116);
    std::uniform_real_distribution<double> step(-0.02, 0.02);
    for (std::size_t turn = 0; turn < 40; ++turn) {
        // Every row is the fastest at times, the first among them.
        const std::size_t hasty_row = turn % row_count;
        std::vector<double> rows;
        std::array<double, width> at = panda_home;
        FastestStep move, rotation;
        Transform before = tool_at_home(model);
        for (std::size_t row = 0; row < row_count; ++row) {
            for (double& joint : at) joint += (row == hasty_row ? 2.0 : 1.0) * step(random);
            rows.insert(rows.end(), at.begin(), at.end());
            std::vector<double> configuration(model.variable_count(), 0.0);
            std::copy(at.begin(), at.end(), configuration.begin());
            std::vector<Transform> frames(model.bodies().size());
            forward_kinematics(model, configuration.data(), frames);
            const Transform here = frames[model.effectors()[0].body] * model.effectors()[0].in_body;
            move.take(norm(here.translation - before.translation) / 0.02, row);
            rotation.take(angle_between(before.rotation, here.rotation) / 0.02, row);
            before = here;
        }
        const CheckRequest request = make_request(ControlMode::joint_position, rows, width, panda_home, world);
        for (const LaneBuild build : {LaneBuild::generic, best_lane_build()}) {
            const auto judge = [&](double move_share, double turn_share) {
                GateConfig config = wide_config(spec);
                config.lane_build = build;
                config.max_ee_speed_m_s = move_share * move.speed;
                config.max_ee_angular_speed_rad_s = turn_share * rotation.speed;
                return make_gate(spec, config).check(request);
            };
            for (const double slower : {1e-12, 1e-6, 0.1}) {
                REQUIRE(judge(1.0 + slower, 1.0 + slower).accepted == 1, turn, slower);
                const Verdict moved = judge(1.0 - slower, 10.0);
                REQUIRE(moved.violation.code == ViolationCode::ee_speed, turn, slower);
                const Verdict turned = judge(10.0, 1.0 - slower);
                REQUIRE(turned.violation.code == ViolationCode::ee_angular_speed, turn, slower);
                if (slower > 0.01) continue;  // then an earlier row may be too fast as well
                REQUIRE(moved.violation.row == move.row && turned.violation.row == rotation.row, turn, moved.violation.row, turned.violation.row);
            }
        }
    }
}

TEST_MAIN
