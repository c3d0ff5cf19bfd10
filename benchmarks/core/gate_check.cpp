// SPDX-License-Identifier: Apache-2.0
// How long the gate takes, on the robot and scene that benchmarks/run.py wrote, pinned to one core.
//
// Usage: gate_check CONFIG SCENE CORE ROUNDS. Prints one JSON object: nanoseconds per call of every round.
#include <sched.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <numeric>
#include <string>
#include <vector>

#include "config.hpp"
#include "lastgate/lanes.hpp"

using namespace lastgate;

namespace {

struct Scene {
    std::vector<double> rows, state, fingers, configurations;
    std::vector<WorldSnapshot> worlds;
};

std::vector<double> read_numbers(std::istream& file) {
    std::size_t count = 0;
    file >> count;
    std::vector<double> values(count);
    for (double& value : values) file >> value;
    return values;
}

/// Numbers in order: rows, state, fingers, configurations, then worlds of (kind, three sizes, seven pose numbers).
Scene read_scene(const char* path) {
    std::ifstream file(path);
    Scene scene;
    scene.rows = read_numbers(file);
    scene.state = read_numbers(file);
    scene.fingers = read_numbers(file);
    scene.configurations = read_numbers(file);
    for (int index = 0; index < 2; ++index) {
        const std::vector<double> numbers = read_numbers(file);
        WorldSnapshot world;
        world.begin(1, 1.0, true);
        for (std::size_t at = 0; at + 11 <= numbers.size(); at += 11) {
            world.add(make_primitive(static_cast<PrimitiveKind>(static_cast<int>(numbers[at])), {numbers[at + 1], numbers[at + 2], numbers[at + 3]}, &numbers[at + 4]));
        }
        scene.worlds.push_back(world);
    }
    if (!file) throw std::invalid_argument("the scene file is cut short");
    return scene;
}

/// Larger than the last-level cache share of one core, so that nothing of the gate stays in it.
std::vector<std::uint8_t> sweeper(64U * 1024 * 1024);
volatile std::uint64_t sink = 0;

void sweep_caches() {
    for (std::size_t at = 0; at < sweeper.size(); at += 64) sweeper[at] = static_cast<std::uint8_t>(sweeper[at] + 1);
    sink = sink + sweeper[sweeper.size() / 2];
}

bool first_case = true;

/// `work` says how many items it did, or 0 when a verdict was not the expected one.
template <typename Work>
void measure(const char* name, std::size_t rounds, bool cold, const Work& work) {
    using clock = std::chrono::steady_clock;
    for (int warm = 0; warm < 3; ++warm) (void)work();
    std::printf("%s\"%s\": [", first_case ? "" : ", ", name);
    first_case = false;
    std::vector<double> took_ns(rounds);
    for (double& sample : took_ns) {
        if (cold) sweep_caches();
        const auto start = clock::now();
        const std::size_t items = work();
        const std::chrono::duration<double, std::nano> took = clock::now() - start;
        if (items == 0) {
            std::fprintf(stderr, "%s: the verdict is not the expected one\n", name);
            std::exit(1);
        }
        sample = took.count() / static_cast<double>(items);
    }
    for (std::size_t index = 0; index < rounds; ++index) std::printf("%s%.1f", index == 0 ? "" : ",", took_ns[index]);
    std::printf("]");
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 5) {
        std::fprintf(stderr, "usage: gate_check CONFIG SCENE CORE ROUNDS\n");
        return 2;
    }
    cpu_set_t core;
    CPU_ZERO(&core);
    CPU_SET(static_cast<unsigned>(std::atoi(argv[3])), &core);
    if (sched_setaffinity(0, sizeof core, &core) != 0) std::fprintf(stderr, "warning: not pinned to a core\n");
    const auto rounds = static_cast<std::size_t>(std::atoi(argv[4]));

    std::ifstream file(argv[1]);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    KernelConfig config = read_config(text);
    config.gate.lane_build = best_lane_build();
    Gate gate(std::make_shared<const RobotModel>(config.model), config.gate);
    const Scene scene = read_scene(argv[2]);
    const std::size_t width = scene.state.size();

    const auto check_chunk = [&](const WorldSnapshot& world) -> std::size_t {
        CheckRequest request;
        request.chunk = {0, scene.rows.size() / width, width, scene.rows, 0, CartesianFrame::base};
        request.state.positions = scene.state;
        request.state.gripper_positions = scene.fingers;
        request.state.stamp_s = request.now_s = 1.0;
        request.state.given = true;
        request.world = &world;
        return gate.check(request).accepted;
    };
    std::vector<std::uint8_t> accepted(scene.configurations.size() / width);
    std::vector<double> clearance_m(accepted.size());
    const auto check_configurations = [&](std::size_t count) -> std::size_t {
        gate.check_configurations({scene.configurations.data(), count * width}, count, scene.fingers, scene.worlds[0], {accepted.data(), count},
                                  {clearance_m.data(), count});
        return std::accumulate(accepted.begin(), accepted.begin() + static_cast<std::ptrdiff_t>(count), std::size_t{0}) == count ? count : 0;
    };
    std::vector<double> configuration(gate.model().variable_count(), 0.0);
    std::copy(scene.state.begin(), scene.state.end(), configuration.begin());
    std::vector<Transform> frames(gate.model().bodies().size());
    const auto place = [&](std::size_t count) -> std::size_t {
        for (std::size_t index = 0; index < count; ++index) {
            configuration[index % width] += 1e-9;
            forward_kinematics(gate.model(), configuration.data(), frames);
        }
        sink = sink + static_cast<std::uint64_t>(frames.back().translation.x > 0.0);
        return count;
    };

    std::printf("{");
    measure("chunk_14", rounds, false, [&] { return check_chunk(scene.worlds[0]); });
    measure("chunk_100", rounds, false, [&] { return check_chunk(scene.worlds[1]); });
    measure("configuration", rounds, false, [&] { return check_configurations(1); });
    measure("batch_4096", std::max<std::size_t>(rounds / 100, 20), false, [&] { return check_configurations(accepted.size()); });
    measure("forward_kinematics", rounds / 10, false, [&] { return place(100); });
    const std::size_t cold_rounds = std::max<std::size_t>(rounds / 100, 20);
    measure("chunk_14_cold", cold_rounds, true, [&] { return check_chunk(scene.worlds[0]); });
    measure("chunk_100_cold", cold_rounds, true, [&] { return check_chunk(scene.worlds[1]); });
    measure("configuration_cold", cold_rounds, true, [&] { return check_configurations(1); });
    measure("batch_4096_cold", 20, true, [&] { return check_configurations(accepted.size()); });
    measure("forward_kinematics_cold", cold_rounds, true, [&] { return place(1); });
    std::printf("}\n");
    return 0;
}
