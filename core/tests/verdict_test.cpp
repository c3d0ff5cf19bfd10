// SPDX-License-Identifier: Apache-2.0
// What a verdict is worth before, after and without a check, and that equal input gives equal bytes.
#include "lastgate/verdict.hpp"

#include <cstring>
#include <random>

#include "require.hpp"
#include "robots.hpp"

using namespace lastgate;
using namespace lastgate::robots;

namespace {

bool same_bytes(const Verdict& a, const Verdict& b) { return std::memcmp(&a, &b, sizeof a) == 0; }

/// Chunks of all kinds of luck: clear ones, colliding ones, ones beyond limits.
std::vector<double> random_rows(std::mt19937_64& engine, std::size_t rows) {
    std::normal_distribution<double> step(0.0, 0.02);
    std::vector<double> flat;
    std::vector<double> at(panda_home.begin(), panda_home.end());
    for (std::size_t row = 0; row < rows; ++row) {
        for (double& position : at) {
            position += step(engine);
            flat.push_back(position);
        }
    }
    return flat;
}

}  // namespace

TEST(verdict_of_zero_bytes_rejects) {
    Verdict verdict;
    std::memset(static_cast<void*>(&verdict), 0, sizeof verdict);
    REQUIRE(verdict.accepted == 0);
    REQUIRE(verdict.violation.code == ViolationCode::not_checked);
    REQUIRE(verdict.certified_rows == 0);
}

TEST(default_verdict_rejects) {
    const Verdict verdict{};
    REQUIRE(verdict.accepted == 0 && verdict.violation.code == ViolationCode::not_checked);
}

TEST(accepted_verdict_carries_no_violation_and_every_row) {
    Gate gate = make_gate(panda());
    const std::vector<double> rows(3 * 7, 0.0);
    std::vector<double> still;
    for (int row = 0; row < 3; ++row) still.insert(still.end(), panda_home.begin(), panda_home.end());
    const WorldSnapshot world = no_world();
    const Verdict verdict = gate.check(make_request(ControlMode::joint_position, still, 7, panda_home, world));
    REQUIRE(verdict.accepted == 1, static_cast<int>(verdict.violation.code), verdict.stage);
    REQUIRE(verdict.certified_rows == 3 && verdict.stage == 12);
    REQUIRE(verdict.violation.code == ViolationCode::not_checked);
    REQUIRE((verdict.unchecked & static_cast<std::uint32_t>(Unchecked::world)) != 0);
}

TEST(same_input_gives_the_same_bytes_again_in_another_gate_and_in_every_simd_build) {
    GateConfig scalar_config = wide_config(panda());
    scalar_config.simd_build = SimdBuild::generic;
    Gate gate = make_gate(panda());
    Gate other = make_gate(panda());
    Gate scalar = make_gate(panda(), scalar_config);
    std::mt19937_64 engine(42);
    std::uniform_real_distribution<double> place(-0.9, 0.9);
    int accepted = 0;
    int rejected = 0;
    for (int index = 0; index < 1000; ++index) {
        std::vector<PrimitiveSpec> obstacles;
        for (std::size_t count = engine() % 30; count > 0; --count) {
            const Vec3 centre{place(engine), place(engine), 0.6 + 0.5 * place(engine)};
            obstacles.push_back(count % 2 == 0 ? sphere(centre, 0.05) : box(centre, {0.05, 0.02, 0.03}));
        }
        const WorldSnapshot world = make_world(obstacles);
        const std::vector<double> rows = random_rows(engine, 1 + engine() % 20);
        const CheckRequest request = make_request(ControlMode::joint_position, rows, 7, panda_home, world);
        const Verdict first = gate.check(request);
        (first.accepted == 1 ? accepted : rejected) += 1;
        if (!REQUIRE(same_bytes(first, gate.check(request)), index)) return;
        if (!REQUIRE(same_bytes(first, other.check(request)), index)) return;
        if (!REQUIRE(same_bytes(first, scalar.check(request)), index, first.min_clearance_m, scalar.check(request).min_clearance_m)) return;
    }
    REQUIRE(accepted > 50 && rejected > 50, accepted, rejected);
}

TEST(verdict_does_not_depend_on_what_was_checked_before) {
    Gate gate = make_gate(panda());
    Gate fresh = make_gate(panda());
    const WorldSnapshot world = no_world();
    std::mt19937_64 engine(7);
    const std::vector<double> rows = random_rows(engine, 8);
    const CheckRequest request = make_request(ControlMode::joint_position, rows, 7, panda_home, world);
    const std::vector<double> wild(256 * 7, 3.0);
    (void)gate.check(make_request(ControlMode::joint_velocity, wild, 7, panda_home, world));
    (void)gate.check(make_request(ControlMode::joint_torque, rows, 7, panda_home, world));
    std::uint8_t accepted[2];
    double clearance[2];
    gate.check_configurations({rows.data(), 14}, 2, {}, world, accepted, clearance);
    REQUIRE(same_bytes(gate.check(request), fresh.check(request)));
}

TEST(attach_and_detach_leave_no_trace_in_the_bytes) {
    Gate gate = make_gate(panda());
    Gate fresh = make_gate(panda());
    Attachment held;
    held.id = 1;
    held.volume = {8, 0.02, {0.0, 0.0, 0.12}, {0.0, 0.0, 0.2}};
    held.touch.set(8);
    REQUIRE(gate.attach(held) && gate.detach(1) && !gate.detach(1));
    const WorldSnapshot world = no_world();
    std::mt19937_64 engine(9);
    const std::vector<double> rows = random_rows(engine, 8);
    const CheckRequest request = make_request(ControlMode::joint_position, rows, 7, panda_home, world);
    REQUIRE(same_bytes(gate.check(request), fresh.check(request)));
}

TEST_MAIN
