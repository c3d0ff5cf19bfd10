// SPDX-License-Identifier: Apache-2.0
// What the lanes read: tables that stay with their owner.
#include <memory>
#include <utility>

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

TEST_MAIN
