// SPDX-License-Identifier: Apache-2.0
// What planners ask: kinematics of many configurations, and straight motions, certified and sampled by the same code.
//
// Usage: planning_check CONFIG SCENE CORE ROUNDS. Prints one JSON object: nanoseconds per item of every round.
#include <cmath>
#include <limits>
#include <random>

#include "measure.hpp"
#include "scene.hpp"
#include "simd/simd_kernels.hpp"
#include "simd/simd_model.hpp"

using namespace lastgate;
using namespace lastgate::detail;
using namespace lastgate::kernel;

namespace {

constexpr double edge_length = 0.5;
constexpr double sample_step = 1.0 / 32.0;
constexpr double certified_step = 1.0 / 32.0;  // as continuous.py asks
constexpr std::size_t edge_count = 64;

/// Straight motions of half a radian that touch nothing, so that neither check ends early.
struct Edges {
    std::vector<double> starts, ends, samples;
    std::size_t samples_per_edge = 0;
};

Edges free_edges(Gate& gate, const Scene& scene, std::size_t width) {
    std::mt19937 random(20261116);
    std::normal_distribution<double> normal;
    Edges edges;
    edges.samples_per_edge = static_cast<std::size_t>(std::ceil(edge_length / sample_step)) + 1;
    const std::size_t configurations = scene.configurations.size() / width;
    for (std::size_t tried = 0; tried < 100 * edge_count && edges.starts.size() < edge_count * width; ++tried) {
        const double* start = scene.configurations.data() + (random() % configurations) * width;
        std::vector<double> step(width);
        double length = 0.0;
        for (double& part : step) {
            part = normal(random);
            length += part * part;
        }
        std::vector<double> end(width);
        for (std::size_t joint = 0; joint < width; ++joint) end[joint] = start[joint] + edge_length / std::sqrt(length) * step[joint];
        double first_contact = 0.0;
        gate.check_edges({start, width}, end, 1, scene.fingers, scene.worlds[0], certified_step, {&first_contact, 1});
        if (std::isfinite(first_contact)) continue;
        edges.starts.insert(edges.starts.end(), start, start + width);
        edges.ends.insert(edges.ends.end(), end.begin(), end.end());
        for (std::size_t sample = 0; sample < edges.samples_per_edge; ++sample) {
            const double t = static_cast<double>(sample) / static_cast<double>(edges.samples_per_edge - 1);
            for (std::size_t joint = 0; joint < width; ++joint) edges.samples.push_back(start[joint] + t * (end[joint] - start[joint]));
        }
    }
    return edges;
}

/// Memory of one group of eight configurations, for the part of the SIMD code that places them.
struct PlacingMemory {
    std::vector<float> floats;
    std::vector<std::uint8_t> placed;
    std::vector<double> variables;
    SimdGroup group{};

    PlacingMemory(const RobotModel& model, const SimdModel& simd)
        : floats(lane_count * (model.bodies().size() * 19 + model.effectors().size() * 12 + simd.tail_count() + 9 * (model.volumes().size() + capacity::attached_max)) + 16),
          placed(model.bodies().size()), variables(lane_count * model.variable_count()) {
        const std::size_t bodies = model.bodies().size();
        const std::size_t skipped = (0 - reinterpret_cast<std::uintptr_t>(floats.data()) / sizeof(float)) % 16;
        float* at = floats.data() + skipped;
        const auto take = [&](std::size_t count) {
            float* from = at;
            at += lane_count * count;
            return from;
        };
        group.position = take(bodies);
        group.turn = take(2 * bodies);
        group.step = take(bodies);
        group.frame = take(12 * bodies);
        group.centre = take(3 * bodies);
        group.tool = take(12 * model.effectors().size());
        group.tail = take(simd.tail_count());
        group.middle = take(3 * (model.volumes().size() + capacity::attached_max));
        group.capsule_axis = take(6 * (model.volumes().size() + capacity::attached_max));
        group.placed = placed.data();
        place_root(group);
    }
};

}  // namespace

int main(int argc, char** argv) {
    if (argc != 5) {
        std::fprintf(stderr, "usage: planning_check CONFIG SCENE CORE ROUNDS\n");
        return 2;
    }
    const int core = std::atoi(argv[3]);
    pin_to_core(core);
    CoreWatch watch(core);
    const auto rounds = static_cast<std::size_t>(std::atoi(argv[4]));
    Gate gate = read_gate(argv[1]);
    const Scene scene = read_scene(argv[2]);
    const std::size_t width = scene.state.size();
    const std::size_t configurations = scene.configurations.size() / width;
    const Edges edges = free_edges(gate, scene, width);
    const std::size_t found = edges.starts.size() / width;
    if (found < edge_count) {
        std::fprintf(stderr, "only %zu of %zu motions touch nothing\n", found, edge_count);
        return 1;
    }
    const SimdModel simd(gate.model(), gate.shapes(), best_simd_build());
    PlacingMemory memory(gate.model(), simd);
    const SimdTables tables = simd.tables();
    simd.kernels().fill_resting(tables, memory.group, memory.variables.data());
    const auto place = [&]() -> std::size_t {
        for (std::size_t first = 0; first + lane_count <= configurations; first += lane_count) {
            (void)simd.kernels().fill_configurations(tables, memory.group, scene.configurations.data() + first * width, lane_count, memory.variables.data());
            simd.kernels().place(tables, memory.group);
        }
        sink = sink + static_cast<std::uint64_t>(memory.group.frame[0] > 0.0F);
        return configurations;
    };
    std::vector<double> first_contact(edge_count);
    const auto certify = [&]() -> std::size_t {
        gate.check_edges(edges.starts, edges.ends, edge_count, scene.fingers, scene.worlds[0], certified_step, first_contact);
        for (const double share : first_contact) {
            if (std::isfinite(share)) return 0;
        }
        return edge_count;
    };
    const std::size_t samples = edge_count * edges.samples_per_edge;
    std::vector<std::uint8_t> accepted(samples);
    std::vector<double> clearance_m(samples);
    const auto sample = [&]() -> std::size_t {
        // One motion at a time, as a planner asks.
        for (std::size_t edge = 0; edge < edge_count; ++edge) {
            const std::size_t at = edge * edges.samples_per_edge;
            gate.check_configurations({edges.samples.data() + at * width, edges.samples_per_edge * width}, edges.samples_per_edge, scene.fingers, scene.worlds[0],
                                      {accepted.data() + at, edges.samples_per_edge}, {clearance_m.data() + at, edges.samples_per_edge});
        }
        for (const std::uint8_t yes : accepted) {
            if (yes == 0) return 0;
        }
        return edge_count;
    };
    std::printf("{");
    measure_watched("lanes_kinematics", watch, std::max<std::size_t>(rounds / 100, 20), 1, false, place);
    measure("edge_certified", std::max<std::size_t>(rounds / 20, 20), false, certify);
    measure("edge_sampled", std::max<std::size_t>(rounds / 20, 20), false, sample);
    std::printf("}\n");
    return 0;
}
