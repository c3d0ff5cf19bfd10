// SPDX-License-Identifier: Apache-2.0
// How long the gate takes, on the robot and scene that benchmarks/run.py wrote, pinned to one core.
//
// Usage: gate_check CONFIG SCENE CLUTTER CORE ROUNDS. Prints one JSON object: nanoseconds per call of every round.
#include <memory>
#include <numeric>

#include "clutter.hpp"
#include "measure.hpp"
#include "scene.hpp"

using namespace lastgate;
using namespace lastgate::kernel;

namespace {

/// They take about as long as a chunk: how often the machine itself holds up what takes that long.
constexpr int additions_like_a_chunk = 7000;

}  // namespace

int main(int argc, char** argv) {
    if (argc != 6) {
        std::fprintf(stderr, "usage: gate_check CONFIG SCENE CLUTTER CORE ROUNDS\n");
        return 2;
    }
    const int core = std::atoi(argv[4]);
    pin_to_core(core);
    CoreWatch watch(core);
    const auto rounds = static_cast<std::size_t>(std::atoi(argv[5]));

    Gate gate = read_gate(argv[1]);
    const Scene scene = read_scene(argv[2]);
    const std::size_t width = scene.state.size();
    const Clutter clutter = read_clutter(argv[3]);
    const auto world_with = [](std::size_t slot, ObstacleField field) {
        WorldSnapshot world;
        world.begin(1, 1.0, true);
        world.set_field(slot, std::make_shared<const ObstacleField>(std::move(field)), 1.0);
        return world;
    };
    const WorldSnapshot grid = world_with(voxel_slot, clutter.grid());
    const WorldSnapshot points_10000 = world_with(point_slot, ObstacleField::from_points(clutter.clouds[1]));
    const WorldSnapshot points_100000 = world_with(point_slot, ObstacleField::from_points(clutter.clouds[2]));

    const auto check_chunk = [&](const WorldSnapshot& world) -> std::size_t {
        return gate.check(chunk_request(scene, world)).accepted;
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
    measure_watched("chunk_14", watch, rounds, 50, false, [&] { return check_chunk(scene.worlds[0]); });
    measure("additions", rounds, false, [] { return CoreWatch::add(additions_like_a_chunk), std::size_t{1}; });
    measure("chunk_100", rounds, false, [&] { return check_chunk(scene.worlds[1]); });
    measure("chunk_grid_128", rounds, false, [&] { return check_chunk(grid); });
    measure("chunk_points_10000", rounds, false, [&] { return check_chunk(points_10000); });
    measure("chunk_points_100000", rounds, false, [&] { return check_chunk(points_100000); });
    measure("configuration", rounds, false, [&] { return check_configurations(1); });
    measure_watched("batch_4096", watch, std::max<std::size_t>(rounds / 100, 20), 1, false, [&] { return check_configurations(accepted.size()); });
    measure("forward_kinematics", rounds / 10, false, [&] { return place(100); });
    const std::size_t cold_rounds = std::max<std::size_t>(rounds / 100, 20);
    measure_watched("chunk_14_cold", watch, cold_rounds, 1, true, [&] { return check_chunk(scene.worlds[0]); });
    measure("chunk_100_cold", cold_rounds, true, [&] { return check_chunk(scene.worlds[1]); });
    measure("configuration_cold", cold_rounds, true, [&] { return check_configurations(1); });
    measure("batch_4096_cold", 20, true, [&] { return check_configurations(accepted.size()); });
    measure("forward_kinematics_cold", cold_rounds, true, [&] { return place(1); });
    std::printf("}\n");
    return 0;
}
