// SPDX-License-Identifier: Apache-2.0
// What a chunk costs near contact: the motions of benchmarks/near_contact.py above a table, at rest far from it and at every rung of the ladder.
//
// Usage: near_contact CONFIG LADDER CORE ROUNDS. Prints one JSON object: nanoseconds per call of every case, and its evaluations.
#include <string>

#include "measure.hpp"
#include "scene.hpp"

using namespace lastgate;

namespace {

/// One motion above one table; every one of them is clear.
struct Rung {
    std::string name;
    Scene scene;
    WorldSnapshot world;
};

/// Per case a name, then numbers: rows, state, fingers, and the table as (kind, three sizes, seven pose numbers).
std::vector<Rung> read_ladder(const char* path) {
    std::ifstream file(path);
    std::vector<Rung> rungs;
    for (std::string name; file >> name;) {
        Rung rung;
        rung.name = name;
        rung.scene.rows = read_numbers(file);
        rung.scene.state = read_numbers(file);
        rung.scene.fingers = read_numbers(file);
        const std::vector<double> table = read_numbers(file);
        if (!file || table.size() != 11) throw std::invalid_argument("the ladder is cut short");
        rung.world.begin(1, 1.0, true);
        rung.world.add(make_primitive(static_cast<PrimitiveKind>(static_cast<int>(table[0])),
                                      {table[1], table[2], table[3]}, &table[4]));
        rungs.push_back(std::move(rung));
    }
    return rungs;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 5) {
        std::fprintf(stderr, "usage: near_contact CONFIG LADDER CORE ROUNDS\n");
        return 2;
    }
    pin_to_core(std::atoi(argv[3]));
    const auto rounds = static_cast<std::size_t>(std::atoi(argv[4]));
    Gate gate = read_gate(argv[1]);
    std::printf("{");
    for (const Rung& rung : read_ladder(argv[2])) {
        const Verdict verdict = gate.check(chunk_request(rung.scene, rung.world));
        measure(rung.name.c_str(), rounds, false,
                [&]() -> std::size_t { return gate.check(chunk_request(rung.scene, rung.world)).accepted; });
        print_case(rung.name.c_str(), "_evaluations", {static_cast<double>(verdict.evaluations)});
    }
    std::printf("}\n");
    return 0;
}
