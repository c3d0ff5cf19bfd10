// SPDX-License-Identifier: Apache-2.0
// Between taking a chunk and answering, nothing is allocated: not when it passes, not when it does not.
#include <array>
#include <atomic>
#include <cstdlib>
#include <new>

#include "config_text.hpp"
#include "kernel.hpp"
#include "require.hpp"

namespace {
std::atomic<long> allocations{0};
}

void* operator new(std::size_t size) {
    allocations += 1;
    if (void* memory = std::malloc(size)) return memory;
    throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

using namespace lastgate;
using namespace lastgate::kernel;

TEST(deciding_allocates_nothing) {
    KernelSettings settings;
    settings.without_world = true;
    settings.on_violation = OnViolation::hold;
    settings.on_stale = OnStale::drop;
    Kernel kernel(read_config(tests::config_text), settings, "digest", {});
    REQUIRE(kernel.activate(std::array{deadman_name}));
    std::vector<double> memory(4096);
    auto* payload = reinterpret_cast<std::byte*>(memory.data()) + payload_offset;
    std::vector<std::byte> state(1024);
    const std::string_view names[] = {"shoulder"};
    const double position[] = {0.1};
    long passed = 0;
    const long before = allocations;
    for (int round = 0; round < 3000; ++round) {
        const Now now{100.0 + 0.001 * round, 5.0 + 0.001 * round};
        const auto measured = write_joint_state({100, 0}, names, position, {}, state);
        if (round % 100 == 0) (void)kernel.observe(measured, now);
        ActionChunkMessage chunk;
        const double row[] = {round % 3 == 0 ? 9.0 : 0.1001};
        chunk.horizon = 1;
        chunk.n_dof = 1;
        chunk.flat = row;
        chunk.rskill_id = "a skill with a name";
        const auto bytes = write_action_chunk(chunk, {payload, 4096});
        const Finding finding = kernel.evaluate({payload, round % 7 == 0 ? bytes.size() - 5 : bytes.size()}, nullptr, now);
        passed += kernel.decide(finding, nullptr, now).pass ? 1 : 0;
        (void)kernel.status(nullptr, now);
    }
    REQUIRE(allocations == before, allocations - before);
    REQUIRE(passed > 50 && passed < 2500, passed);
}

TEST_MAIN
