// SPDX-License-Identifier: Apache-2.0
// The clutter that benchmarks/clutter.py wrote: a grid, clouds of 5,000, 10,000 and 100,000 points, and spheres to ask
// about.
#pragma once

#include <array>
#include <cstdint>
#include <fstream>
#include <stdexcept>
#include <vector>

#include "world/obstacle_field.hpp"

namespace lastgate {

struct Clutter {
    VoxelSpec spec;
    std::vector<std::uint8_t> occupancy;
    std::array<std::vector<double>, 3> clouds;
    std::vector<double> queries;  ///< x, y, z, radius.

    ObstacleField grid() const { return ObstacleField::from_voxels(spec, occupancy); }
};

inline Clutter read_clutter(const char* path) {
    std::ifstream file(path, std::ios::binary);
    const auto read = [&](void* to, std::size_t bytes) { file.read(static_cast<char*>(to), static_cast<std::streamsize>(bytes)); };
    Clutter clutter;
    double head[5];
    read(head, sizeof head);
    clutter.spec.origin = {head[0], head[1], head[2]};
    clutter.spec.resolution_m = head[3];
    const auto voxels = static_cast<std::uint32_t>(head[4]);
    clutter.spec.size = {voxels, voxels, voxels};
    clutter.spec.outside_is_free = true;
    clutter.occupancy.resize(std::size_t{voxels} * voxels * voxels);
    read(clutter.occupancy.data(), clutter.occupancy.size());
    const auto read_block = [&](std::vector<double>& block) {
        double count = 0.0;
        read(&count, sizeof count);
        block.resize(static_cast<std::size_t>(count));
        read(block.data(), block.size() * sizeof(double));
    };
    for (auto& cloud : clutter.clouds) read_block(cloud);
    read_block(clutter.queries);
    if (!file) throw std::invalid_argument("the clutter file is cut short");
    return clutter;
}

}  // namespace lastgate
