// SPDX-License-Identifier: Apache-2.0
// People set clocks. Whatever they set them to, old data must not become young, and a kernel must not forget a stop.
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "config_text.hpp"
#include "kernel.hpp"
#include "require.hpp"
#include "world_builder.hpp"

using namespace lastgate;
using namespace lastgate::kernel;

namespace {

struct Bench {
    KernelConfig config = read_config(tests::config_text);
    Kernel kernel;
    std::vector<double> memory = std::vector<double>(256);
    std::vector<std::byte> state = std::vector<std::byte>(256);
    NamedWorld world;
    bool with_world;

    explicit Bench(bool checks_world = false)
        : kernel(config, settings(!checks_world), "digest", {}), with_world(checks_world) {
        (void)kernel.activate(std::array{deadman_name});
    }
    static KernelSettings settings(bool without_world) {
        KernelSettings made;
        made.without_world = without_world;
        made.on_stale = OnStale::drop;
        made.reset_cooldown_s = 0.5;
        return made;
    }
    void observe(Now now) {
        const std::string_view names[] = {"shoulder"};
        const double position[] = {0.1};
        REQUIRE(kernel.observe(write_joint_state(Stamp::of_seconds(now.wall_s), names, position, {}, state), now));
    }
    void see_world(Now now) {
        world.snapshot.begin(1, now.wall_s, true);
        world.arrived_s = now.monotonic_s;
    }
    /// Why the last chunk was rejected, as the wire is told.
    std::string evidence;
    Violation rejection;
    ViolationCode submit(Now now) {
        const double row[] = {0.1};
        ActionChunkMessage chunk;
        chunk.horizon = 1;
        chunk.n_dof = 1;
        chunk.flat = row;
        auto* payload = reinterpret_cast<std::byte*>(memory.data()) + payload_offset;
        const auto bytes = write_action_chunk(chunk, {payload, 1024});
        const NamedWorld* seen = with_world ? &world : nullptr;
        const Decision decision = kernel.decide(kernel.evaluate({payload, bytes.size()}, seen, now), seen, now);
        evidence = decision.evidence;
        rejection = decision.verdict.violation;
        return decision.pass ? ViolationCode::not_checked : decision.verdict.violation.code;
    }
};

constexpr auto passes = ViolationCode::not_checked;
constexpr double age_s = 0.5;  // beyond what a state may have

}  // namespace

TEST(state_grows_old_though_the_clock_is_set_back) {
    for (const double step_s : {-1e6, -3600.0, -0.5, -0.3, 0.0}) {
        Bench bench;
        bench.observe({1e6, 50.0});
        REQUIRE(bench.submit({1e6, 50.0}) == passes);
        REQUIRE(bench.submit({1e6 + age_s + step_s, 50.0 + age_s}) == ViolationCode::state_unavailable, step_s);
    }
}

TEST(state_is_rejected_when_the_clock_is_set_forward_and_taken_when_its_source_follows) {
    Bench bench;
    bench.observe({1e6, 50.0});
    REQUIRE(bench.submit({1e6 + 3600.0, 50.01}) == ViolationCode::state_unavailable);
    bench.observe({1e6 + 3600.0, 50.02});
    REQUIRE(bench.submit({1e6 + 3600.0, 50.02}) == passes);
}

TEST(world_grows_old_though_the_clock_is_set_back) {
    for (const double step_s : {-3600.0, -1.0, 0.0}) {
        Bench bench(true);
        bench.see_world({1e6, 50.0});
        bench.observe({1e6, 50.0});
        REQUIRE(bench.submit({1e6, 50.0}) == passes);
        const Now later{1e6 + 60.0 + step_s, 110.0};
        bench.observe(later);
        REQUIRE(bench.submit(later) == ViolationCode::world_unavailable, step_s);
        // It was given, and is old: by its stamp, or, where the clock was set back, by how long it has been here.
        REQUIRE(bench.evidence.find("the world is stale") != std::string::npos, bench.evidence);
        REQUIRE(bench.rejection.value == 60.0 + step_s, bench.rejection.value);
        // Set back by just as much as it has aged: its stamp says that it is fresh.
        const Now again{1e6, 110.0};
        bench.observe(again);
        REQUIRE(bench.submit(again) == ViolationCode::world_unavailable);
        REQUIRE(bench.evidence.find("the world is stale: its age in s is 60,") != std::string::npos, bench.evidence);
    }
}

TEST(world_is_rejected_one_instant_after_it_has_been_here_for_as_long_as_it_may) {
    Bench bench(true);
    const double age_s_max = bench.config.gate.world_age_s_max;
    bench.see_world({1e6, 64.0});
    // The clock that people set stands still; the other one goes on.
    bench.observe({1e6, 64.0 + age_s_max});
    REQUIRE(bench.submit({1e6, 64.0 + age_s_max}) == passes);
    REQUIRE(bench.submit({1e6, std::nextafter(64.0 + age_s_max, 1e9)}) == ViolationCode::world_unavailable);
    REQUIRE(bench.evidence.find("the world is stale") != std::string::npos, bench.evidence);
    // One that comes from the future of that clock was not here at all.
    REQUIRE(bench.submit({1e6, 63.0}) == ViolationCode::world_unavailable);
}

TEST(obstacles_that_no_longer_come_grow_old_though_voxels_still_do) {
    for (const bool obstacles_end : {true, false}) {
        for (const double step_s : {0.0, -60.0}) {
            Bench bench(true);
            WorldBuilder builder(WorldFrames{.base = "base", .root = {}});
            // A world of one empty list, or of free voxels all round.
            const auto see = [&](MessageType type, Now now) {
                std::vector<std::byte> memory(1024);
                CdrWriter writer(memory);
                const Stamp stamp = Stamp::of_seconds(now.wall_s);
                writer.number(stamp.seconds);
                writer.number(stamp.nanoseconds);
                writer.text("base");
                if (type == MessageType::world_collision) {
                    for (int list = 0; list < 4; ++list) writer.number(std::uint32_t{0});
                } else {
                    for (const double number : {-4.0, -4.0, -4.0, 1.0}) writer.number(number);
                    for (int axis = 0; axis < 3; ++axis) writer.number(std::uint32_t{8});
                    const std::vector<std::uint8_t> free(512);
                    writer.octets(free);
                }
                const auto world = builder.take(type, writer.bytes(), now);
                REQUIRE(world != nullptr);
                bench.world.snapshot = world->snapshot;
                bench.world.arrived_s = world->arrived_s;
            };
            const MessageType ends = obstacles_end ? MessageType::world_collision : MessageType::occupancy_voxels;
            const MessageType goes_on = obstacles_end ? MessageType::occupancy_voxels : MessageType::world_collision;
            see(ends, {1e6, 50.0});
            see(goes_on, {1e6, 50.0});
            bench.observe({1e6, 50.0});
            const ViolationCode first = bench.submit({1e6, 50.0});
            REQUIRE(first == passes, bench.evidence);
            // A minute later the clock may have been set back by just as much, and the stamp of what ended be fresh.
            const Now later{1e6 + 60.0 + step_s, 110.0};
            see(goes_on, later);
            bench.observe(later);
            REQUIRE(bench.submit(later) != passes, obstacles_end, step_s);
            see(ends, later);
            const ViolationCode again = bench.submit(later);
            REQUIRE(again == passes, bench.evidence);
        }
    }
}

TEST(world_that_no_source_gave_is_not_called_stale) {
    Bench bench(true);
    bench.with_world = false;
    bench.observe({1e6, 50.0});
    REQUIRE(bench.submit({1e6, 50.0}) == ViolationCode::world_unavailable);
    REQUIRE(bench.evidence.find("no world was given") != std::string::npos, bench.evidence);
}

TEST(cooldown_is_not_shortened_by_the_clock_that_people_set) {
    Bench bench;
    bench.kernel.estop("human", "pressed", {1e6, 50.0});
    // The reset is told the monotonic clock, whatever the other one says.
    REQUIRE(!bench.kernel.latch().reset(50.1).success);
    REQUIRE(bench.kernel.latch().reset(50.6).success);
}

TEST_MAIN
