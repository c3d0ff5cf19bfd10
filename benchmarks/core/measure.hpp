// SPDX-License-Identifier: Apache-2.0
// How every benchmark of the core measures: pinned, warm or with swept caches, one JSON list per case.
#pragma once

#include <sched.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace lastgate {

inline void pin_to_core(int number) {
    cpu_set_t core;
    CPU_ZERO(&core);
    CPU_SET(static_cast<unsigned>(number), &core);
    if (sched_setaffinity(0, sizeof core, &core) != 0) std::fprintf(stderr, "warning: not pinned to a core\n");
}

/// Larger than the last-level cache share of one core, so that nothing of the gate stays in it.
inline std::vector<std::uint8_t> sweeper(64U * 1024 * 1024);
inline volatile std::uint64_t sink = 0;

inline void sweep_caches() {
    for (std::size_t at = 0; at < sweeper.size(); at += 64) sweeper[at] = static_cast<std::uint8_t>(sweeper[at] + 1);
    sink = sink + sweeper[sweeper.size() / 2];
}

inline bool first_case = true;

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

}  // namespace lastgate
