// SPDX-License-Identifier: Apache-2.0
// The robot and scene that benchmarks/run.py wrote.
#pragma once

#include <cstddef>
#include <fstream>
#include <istream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "config.hpp"
#include "lastgate/gate.hpp"
#include "lastgate/world_snapshot.hpp"

namespace lastgate {

struct Scene {
    std::vector<double> rows, state, fingers, configurations;
    std::vector<WorldSnapshot> worlds;
};

inline std::vector<double> read_numbers(std::istream& file) {
    std::size_t count = 0;
    file >> count;
    std::vector<double> values(count);
    for (double& value : values) file >> value;
    return values;
}

/// Numbers in order: rows, state, fingers, configurations, then worlds of (kind, three sizes, seven pose numbers).
inline Scene read_scene(const char* path) {
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

/// The gate of a flat configuration, with the fastest SIMD build of this machine.
inline Gate read_gate(const char* path) {
    std::ifstream file(path);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    kernel::KernelConfig config = kernel::read_config(text);
    config.gate.simd_build = best_simd_build();
    return Gate(std::make_shared<const RobotModel>(config.model), config.gate);
}

/// The scene's chunk from its state, as a gate is asked about it.
inline CheckRequest chunk_request(const Scene& scene, const WorldSnapshot& world) {
    const std::size_t width = scene.state.size();
    CheckRequest request;
    request.chunk = {0, scene.rows.size() / width, width, scene.rows, 0, CartesianFrame::base};
    request.state.positions = scene.state;
    request.state.gripper_positions = scene.fingers;
    request.state.stamp_s = request.now_s = 1.0;
    request.state.given = true;
    request.world = &world;
    return request;
}

}  // namespace lastgate
