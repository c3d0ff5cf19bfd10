// SPDX-License-Identifier: Apache-2.0
// Worlds go from the thread that builds them to the one that checks, whole and in order, without waiting. `make
// test-threads` runs this under the thread sanitizer, which sees what the assertions cannot.
#include "snapshot_mailbox.hpp"

#include <atomic>
#include <thread>

#include "require.hpp"
#include "robots.hpp"

using namespace lastgate;
using namespace lastgate::kernel;
using namespace lastgate::robots;

namespace {

/// Snapshots with an even number block the slide, with a primitive or a point by turns; the others do not.
std::unique_ptr<NamedWorld> made(std::uint64_t number) {
    auto named = std::make_unique<NamedWorld>();
    WorldSnapshot& world = named->snapshot;
    world.begin(number, 1.0, true);
    const bool blocks = number % 2 == 0;
    const double away_m = blocks ? 0.0 : 3.0;
    if (number % 3 == 0) {
        const double point[3] = {0.3, away_m, 0.0};
        world.set_field(point_slot, field_of_points(point), 1.0);
        return named;
    }
    for (std::uint64_t index = 0; index < number % 40; ++index) world.add(sphere({0.0, 5.0, 0.1 * static_cast<double>(index)}, 0.1));
    world.add(sphere({0.3, away_m, 0.0}, 0.05));
    return named;
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

TEST(newest_world_is_taken_and_stays_until_a_newer_one_is) {
    SnapshotMailbox mailbox;
    REQUIRE(mailbox.take() == nullptr);
    for (std::uint64_t number = 1; number <= 20; ++number) {
        mailbox.put(made(number));
        if (number % 3 != 0) continue;  // some are never checked
        const NamedWorld* held = mailbox.take();
        REQUIRE(held != nullptr && held->snapshot.id() == number, number);
        REQUIRE(mailbox.take() == held);
    }
}

TEST(worlds_arrive_whole_while_another_thread_builds_them) {
    SnapshotMailbox mailbox;
    Gate gate = slider_gate();
    constexpr std::uint64_t last = 3000;
    std::atomic<bool> stop{false};
    std::thread builder([&] {
        for (std::uint64_t number = 1; number <= last; ++number) mailbox.put(made(number));
        stop = true;
    });
    std::uint64_t seen = 0;
    std::uint64_t different = 0;
    while (true) {
        const bool finished = stop;
        if (const NamedWorld* world = mailbox.take(); world != nullptr) {
            const Verdict verdict = check_against(gate, world->snapshot);
            REQUIRE(verdict.world_id >= seen, verdict.world_id, seen);
            REQUIRE((verdict.accepted == 1) == (verdict.world_id % 2 == 1), verdict.world_id);
            different += verdict.world_id != seen ? 1 : 0;
            seen = verdict.world_id;
        }
        if (finished) break;
    }
    builder.join();
    mailbox.free_retired();
    REQUIRE(mailbox.take()->snapshot.id() == last);
    REQUIRE(different > 0, different);
}

TEST_MAIN
