// SPDX-License-Identifier: Apache-2.0
// How long it takes to build fields of points and voxels, to change them, and to ask them about one sphere.
//
// Usage: field_query CLUTTER CORE ROUNDS. Prints one JSON object: nanoseconds per call of every round.
#include <algorithm>

#include "clutter.hpp"
#include "measure.hpp"

using namespace lastgate;

namespace {

/// Asks about every sphere; returns how many there are.
std::size_t ask(const ObstacleField& field, const std::vector<double>& spheres) {
    std::size_t hits = 0;
    for (std::size_t at = 0; at < spheres.size(); at += 4) {
        std::uint32_t obstacle = 0;
        const Vec3 centre{spheres[at], spheres[at + 1], spheres[at + 2]};
        hits += field.distance({centre, centre}, spheres[at + 3], obstacle).distance_m < spheres[at + 3] ? 1 : 0;
    }
    sink = sink + hits;
    return spheres.size() / 4;
}

/// The spheres that touch nothing, for which no answer comes early.
std::vector<double> free_spheres(const ObstacleField& field, const std::vector<double>& spheres) {
    std::vector<double> free;
    for (std::size_t at = 0; at < spheres.size(); at += 4) {
        std::uint32_t obstacle = 0;
        const Vec3 centre{spheres[at], spheres[at + 1], spheres[at + 2]};
        const bool hit = field.distance({centre, centre}, spheres[at + 3], obstacle).distance_m < spheres[at + 3];
        if (!hit) free.insert(free.end(), spheres.begin() + static_cast<std::ptrdiff_t>(at), spheres.begin() + static_cast<std::ptrdiff_t>(at + 4));
    }
    return free;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) {
        std::fprintf(stderr, "usage: field_query CLUTTER CORE ROUNDS\n");
        return 2;
    }
    const Clutter clutter = read_clutter(argv[1]);
    pin_to_core(std::atoi(argv[2]));
    const auto rounds = static_cast<std::size_t>(std::atoi(argv[3]));
    const ObstacleField grid = clutter.grid();
    const ObstacleField small = ObstacleField::from_points(clutter.clouds[1]);
    const ObstacleField large = ObstacleField::from_points(clutter.clouds[2]);
    const std::vector<double> free_of_grid = free_spheres(grid, clutter.queries);
    const std::vector<double> free_of_small = free_spheres(small, clutter.queries);
    const std::vector<double> free_of_large = free_spheres(large, clutter.queries);
    std::fprintf(stderr, "%zu spheres; free of the grid %zu, of 10,000 points %zu, of 100,000 points %zu\n", clutter.queries.size() / 4,
                 free_of_grid.size() / 4, free_of_small.size() / 4, free_of_large.size() / 4);
    std::printf("{");
    measure("sphere_grid_128", rounds, false, [&] { return ask(grid, clutter.queries); });
    measure("sphere_grid_128_free", rounds, false, [&] { return ask(grid, free_of_grid); });
    measure("sphere_points_10000", rounds, false, [&] { return ask(small, clutter.queries); });
    measure("sphere_points_10000_free", rounds, false, [&] { return ask(small, free_of_small); });
    measure("sphere_points_100000", rounds, false, [&] { return ask(large, clutter.queries); });
    measure("sphere_points_100000_free", rounds, false, [&] { return ask(large, free_of_large); });
    const std::size_t builds = std::max<std::size_t>(rounds / 10, 5);
    measure("build_points_5000", builds, false, [&] { return ObstacleField::from_points(clutter.clouds[0]).obstacle_count() > 0 ? 1U : 0U; });
    measure("build_points_100000", builds, false, [&] { return ObstacleField::from_points(clutter.clouds[2]).obstacle_count() > 0 ? 1U : 0U; });
    measure("build_grid_128", builds, false, [&] { return clutter.grid().obstacle_count() > 0 ? 1U : 0U; });
    std::vector<VoxelIndex> changed;
    for (std::uint32_t index = 0; index < 100; ++index) changed.push_back({40 + index % 10, 40 + index / 10, 40});
    measure("change_grid_128", builds, false, [&] { return grid.with_voxels(changed, {}).obstacle_count() > 0 ? 1U : 0U; });
    std::printf(", \"memory_points_100000\": [%zu]}\n", large.memory_bytes());
    return 0;
}
