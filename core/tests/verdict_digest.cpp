// SPDX-License-Identifier: Apache-2.0
// Prints one number made of the bytes of many verdicts and clearances, so that two machines can be compared.
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <random>

#include "robots.hpp"

using namespace lastgate;
using namespace lastgate::robots;

namespace {

std::uint64_t digest = 14695981039346656037U;  // FNV-1a

void add(const void* bytes, std::size_t count) {
    const auto* at = static_cast<const unsigned char*>(bytes);
    for (std::size_t index = 0; index < count; ++index) digest = (digest ^ at[index]) * 1099511628211U;
}

}  // namespace

int main() {
    Gate gate = make_gate(panda());
    std::mt19937_64 engine(2026);
    std::uniform_real_distribution<double> place(-0.9, 0.9);
    std::uniform_real_distribution<double> turn(-0.04, 0.04);
    int accepted_count = 0;
    for (int index = 0; index < 300; ++index) {
        std::vector<PrimitiveSpec> obstacles;
        for (std::size_t count = engine() % 20; count > 0; --count) {
            const Vec3 centre{place(engine), place(engine), 0.6 + 0.5 * place(engine)};
            obstacles.push_back(count % 2 == 0 ? sphere(centre, 0.05) : box(centre, {0.05, 0.02, 0.03}));
        }
        const WorldSnapshot world = make_world(obstacles);
        std::vector<double> rows;
        double at[7];
        std::copy(std::begin(panda_home), std::end(panda_home), at);
        for (std::size_t row = 1 + engine() % 20; row > 0; --row) {
            for (double& joint : at) rows.push_back(joint += turn(engine));
        }
        const Verdict verdict = gate.check(make_request(ControlMode::joint_position, rows, 7, panda_home, world));
        add(&verdict, sizeof verdict);
        accepted_count += verdict.accepted;
        std::vector<std::uint8_t> accepted(rows.size() / 7);
        std::vector<double> clearance_m(accepted.size());
        gate.check_configurations(rows, accepted.size(), {}, world, accepted, clearance_m);
        add(accepted.data(), accepted.size());
        add(clearance_m.data(), clearance_m.size() * sizeof(double));
    }
    std::printf("%016" PRIx64 " over 300 chunks, %d accepted\n", digest, accepted_count);
    return accepted_count > 30 && accepted_count < 270 ? 0 : 1;
}
