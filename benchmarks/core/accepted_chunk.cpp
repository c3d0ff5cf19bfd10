// SPDX-License-Identifier: Apache-2.0
// Checks the scene's chunk a few times and nothing else, for tools that watch which instructions an accepted chunk runs.
//
// Usage: accepted_chunk CONFIG SCENE.
#include <cstdio>

#include "scene.hpp"

using namespace lastgate;
using namespace lastgate::kernel;

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fprintf(stderr, "usage: accepted_chunk CONFIG SCENE\n");
        return 2;
    }
    Gate gate = read_gate(argv[1]);
    const Scene scene = read_scene(argv[2]);
    for (int turn = 0; turn < 3; ++turn) {
        if (gate.check(chunk_request(scene, scene.worlds[0])).accepted != 1) return 1;
    }
    return 0;
}
