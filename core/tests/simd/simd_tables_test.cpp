// SPDX-License-Identifier: Apache-2.0
// What the SIMD code reads: tables that stay with their owner. And what they say of tools.
#include <algorithm>
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
    const double at_the_sphere[1] = {0.0};
    std::uint8_t accepted = 9;
    double clearance_m = 0.0;
    const auto accepts = [&](const WorldSnapshot& world) {
        gate.check_configurations(at_the_sphere, 1, {}, world, {&accepted, 1}, {&clearance_m, 1});
        return accepted == 1;
    };
    const PrimitiveSpec inside = sphere({1.0, 0.0, 0.0}, 0.1);
    const PrimitiveSpec beside = sphere({1.0, 0.5, 0.0}, 0.1);
    for (const auto& [obstacle, wanted] : {std::pair{inside, false}, std::pair{beside, true}}) {
        auto original = std::make_unique<WorldSnapshot>(make_world({&obstacle, 1}));
        const WorldSnapshot copied = *original;
        original->begin(8, 1.0, true);
        original->add(sphere({500.0, 0.0, 0.0}, 0.1));  // what the copy must not check
        REQUIRE(accepts(copied) == wanted, wanted);
        original.reset();
        REQUIRE(accepts(copied) == wanted, wanted);
        WorldSnapshot source = copied;
        const WorldSnapshot moved = std::move(source);
        REQUIRE(accepts(moved) == wanted, wanted);
    }
}

namespace {

/// The peak speed of a tool in each step, by double kinematics. Step 0 leads away from the measured state.
struct StepSpeeds {
    std::vector<double> peak;

    void take(double speed, std::size_t step) {
        peak.resize(std::max(peak.size(), step + 1), 0.0);
        peak[step] = std::max(peak[step], speed);
    }
    double fastest() const { return *std::max_element(peak.begin(), peak.end()); }
    /// The first step beyond a limit: the gate may name an earlier one, but only one it cannot tell from the limit.
    std::size_t first_beyond(double limit) const {
        return static_cast<std::size_t>(std::find_if(peak.begin(), peak.end(), [&](double speed) { return speed > limit; }) - peak.begin());
    }
};

/// The gate rejects a speed within this share below its limit, because it halves no further there (decision 0031).
constexpr double resolution_share = 1e-3;
/// A peak between two sampled instants exceeds them by less than this share. The joints of a step turn by at most 0.04 rad each, 0.28 rad
/// together, so a speed's second derivative along the step is at most (2 * 0.28)^2 of its bound, 0.32; a peak is at most 0.01 of a step
/// away from a sample: 0.5 * 0.32 * 0.01^2 = 1.6e-5, of a bound that is at most three times the speed.
constexpr double sampling_share = 5e-5;

/// The tool at a share of the way between two steps, or a little beyond.
Transform tool_between(const RobotModel& model, std::span<const double> from, std::span<const double> to, double t) {
    std::vector<double> configuration(model.variable_count(), 0.0);
    for (std::size_t joint = 0; joint < from.size(); ++joint) configuration[joint] = from[joint] + t * (to[joint] - from[joint]);
    std::vector<Transform> frames(model.bodies().size());
    forward_kinematics(model, configuration.data(), frames);
    return frames[model.effectors()[0].body] * model.effectors()[0].in_body;
}

}  // namespace

TEST(tool_steps_are_evaluated_as_double_kinematics_evaluate_them) {
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
        StepSpeeds move, rotation;
        for (std::size_t row = 0; row < row_count; ++row) {
            const std::array<double, width> from = at;
            for (double& joint : at) joint += (row == hasty_row ? 2.0 : 1.0) * step(random);
            rows.insert(rows.end(), at.begin(), at.end());
            // The speed at an instant, from where the tool is shortly before and after it.
            constexpr double shortly = 1e-3;
            for (int instant = 0; instant <= 50; ++instant) {
                const double t = instant / 50.0;
                const Transform before = tool_between(model, from, at, t - shortly);
                const Transform after = tool_between(model, from, at, t + shortly);
                move.take(norm(after.translation - before.translation) / (2.0 * shortly * 0.02), row);
                rotation.take(angle_between(before.rotation, after.rotation) / (2.0 * shortly * 0.02), row);
            }
        }
        const CheckRequest request = make_request(ControlMode::joint_position, rows, width, panda_home, world);
        for (const SimdBuild build : {SimdBuild::generic, best_simd_build()}) {
            const auto check_limited = [&](double move_limit, double turn_limit) {
                GateConfig config = wide_config(spec);
                config.simd_build = build;
                config.max_ee_speed_m_s = move_limit;
                config.max_ee_angular_speed_rad_s = turn_limit;
                return make_gate(spec, config).check(request);
            };
            const double above = 1.0 / (1.0 - resolution_share) + sampling_share;
            REQUIRE(check_limited(above * move.fastest(), above * rotation.fastest()).accepted == 1, turn);
            // A limit just below the fastest instant, and one that several steps exceed.
            for (const double below : {1.0 - 1e-6, 0.9}) {
                const double move_limit = below * move.fastest();
                const double turn_limit = below * rotation.fastest();
                const Violation moved = check_limited(move_limit, 10.0 * rotation.fastest()).violation;
                const Violation turned = check_limited(10.0 * move.fastest(), turn_limit).violation;
                REQUIRE(moved.code == ViolationCode::ee_speed && turned.code == ViolationCode::ee_angular_speed, turn, below);
                REQUIRE(moved.row <= move.first_beyond(move_limit), turn, moved.row);
                REQUIRE(turned.row <= rotation.first_beyond(turn_limit), turn, turned.row);
                REQUIRE(move.peak[moved.row] >= (1.0 - resolution_share - sampling_share) * move_limit, turn, moved.row);
                REQUIRE(rotation.peak[turned.row] >= (1.0 - resolution_share - sampling_share) * turn_limit, turn, turned.row);
            }
        }
    }
}

TEST_MAIN
