// SPDX-License-Identifier: Apache-2.0
// Snapshots go from the thread that fills them to the one that checks, whole, newest first, without waiting. `make
// test-threads` runs this under the thread sanitizer, which sees what the assertions cannot.
#include "lastgate/snapshot_exchange.hpp"

#include <atomic>
#include <thread>

#include "require.hpp"
#include "robots.hpp"

using namespace lastgate;
using namespace lastgate::robots;

namespace {

/// Snapshots with an even number block the slide, with a primitive or a point by turns; the others do not.
void fill(WorldSnapshot& world, std::uint64_t number) {
    world.begin(number, 1.0, true);
    const bool blocks = number % 2 == 0;
    const double away_m = blocks ? 0.0 : 3.0;
    if (number % 3 == 0) {
        const double point[3] = {0.3, away_m, 0.0};
        world.set_field(point_slot, std::make_shared<const ObstacleField>(ObstacleField::from_points(point)), 1.0);
        return;
    }
    for (std::uint64_t index = 0; index < number % 40; ++index) world.add(sphere({0.0, 5.0, 0.1 * static_cast<double>(index)}, 0.1));
    world.add(sphere({0.3, away_m, 0.0}, 0.05));
}

Verdict check_against(Gate& gate, const WorldSnapshot& world) {
    const double start[1] = {0.0};
    const double row[1] = {0.3};
    return gate.check(make_request(ControlMode::joint_position, row, 1, start, world));
}

Gate slider_gate() {
    GateConfig config = wide_config(slider(), 1.0);
    config.velocity_max = {100.0};
    return make_gate(slider(), config);
}

}  // namespace

TEST(nothing_published_is_unavailable) {
    SnapshotExchange exchange;
    Gate gate = slider_gate();
    REQUIRE(check_against(gate, exchange.newest()).violation.code == ViolationCode::world_unavailable);
    fill(exchange.filling(), 1);
    REQUIRE(check_against(gate, exchange.newest()).violation.code == ViolationCode::world_unavailable);
    exchange.publish();
    REQUIRE(check_against(gate, exchange.newest()).accepted == 1);
}

TEST(newest_is_what_was_published_last_and_stays_while_another_is_filled) {
    SnapshotExchange exchange;
    for (std::uint64_t number = 1; number <= 20; ++number) {
        fill(exchange.filling(), number);
        exchange.publish();
        if (number % 3 != 0) continue;  // some are never looked at
        const WorldSnapshot& held = exchange.newest();
        REQUIRE(held.id() == number, held.id());
        fill(exchange.filling(), 99);
        REQUIRE(held.id() == number && exchange.newest().id() == number, held.id());
    }
}

TEST(snapshots_arrive_whole_while_another_thread_publishes) {
    SnapshotExchange exchange;
    Gate gate = slider_gate();
    constexpr std::uint64_t last = 4000;
    std::atomic<bool> stop{false};
    std::thread filler([&] {
        for (std::uint64_t number = 1; number <= last; ++number) {
            fill(exchange.filling(), number);
            exchange.publish();
        }
        stop = true;
    });
    std::uint64_t seen = 0;
    std::uint64_t different = 0;
    while (true) {
        const bool finished = stop;
        const WorldSnapshot& world = exchange.newest();
        if (world.is_filled()) {
            const Verdict verdict = check_against(gate, world);
            REQUIRE(verdict.world_id >= seen, verdict.world_id, seen);
            REQUIRE((verdict.accepted == 1) == (verdict.world_id % 2 == 1), verdict.world_id);
            different += verdict.world_id != seen ? 1 : 0;
            seen = verdict.world_id;
        }
        if (finished) break;
    }
    filler.join();
    REQUIRE(check_against(gate, exchange.newest()).world_id == last);
    REQUIRE(different > 0, different);
}

TEST_MAIN
