// SPDX-License-Identifier: Apache-2.0
// How every benchmark of the core measures: pinned, warm or with swept caches, one JSON list per case.
#pragma once

#include <sched.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "core_watch.hpp"

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

inline void print_case(const char* name, const char* suffix, const std::vector<double>& took_ns) {
    std::printf("%s\"%s%s\": [", first_case ? "" : ", ", name, suffix);
    first_case = false;
    for (std::size_t index = 0; index < took_ns.size(); ++index) std::printf("%s%.1f", index == 0 ? "" : ",", took_ns[index]);
    std::printf("]");
}

/// `work` says how many items it did, or 0 when a verdict was not the expected one.
template <typename Work>
double time_once_ns(const char* name, const Work& work) {
    using clock = std::chrono::steady_clock;
    const auto start = clock::now();
    const std::size_t items = work();
    const std::chrono::duration<double, std::nano> took = clock::now() - start;
    if (items == 0) {
        std::fprintf(stderr, "%s: the verdict is not the expected one\n", name);
        std::exit(1);
    }
    return took.count() / static_cast<double>(items);
}

template <typename Work>
void measure(const char* name, std::size_t rounds, bool cold, const Work& work) {
    for (int warm = 0; warm < 3; ++warm) (void)work();
    std::vector<double> took_ns(rounds);
    for (double& sample : took_ns) {
        if (cold) sweep_caches();
        sample = time_once_ns(name, work);
    }
    print_case(name, "", took_ns);
}

/// The same in bursts of `burst` calls, as many again until `rounds` of them had the core to themselves, and at most four times as
/// many. Prints a second case of those alone.
template <typename Work>
void measure_watched(const char* name, CoreWatch& watch, std::size_t rounds, std::size_t burst, bool cold, const Work& work) {
    struct Burst {
        CoreWatch::Sample before, after;
    };
    std::vector<Burst> bursts;
    std::vector<double> took_ns;
    took_ns.reserve(4 * rounds);
    std::size_t ours = 0;
    while (ours < rounds && took_ns.size() < 4 * rounds) {
        if (cold) sweep_caches();
        const CoreWatch::Sample before = watch.sample_before();
        for (int warm = 0; warm < 3 && !cold; ++warm) (void)work();
        for (std::size_t call = 0; call < burst; ++call) took_ns.push_back(time_once_ns(name, work));
        bursts.push_back({before, watch.sample_after()});
        if (watch.is_ours(bursts.back().before, bursts.back().after)) ours += burst;
    }
    std::vector<double> undisturbed_ns;
    for (std::size_t index = 0; index < bursts.size(); ++index) {
        if (!watch.is_ours(bursts[index].before, bursts[index].after)) continue;
        const auto first = took_ns.begin() + static_cast<std::ptrdiff_t>(index * burst);
        undisturbed_ns.insert(undisturbed_ns.end(), first, first + static_cast<std::ptrdiff_t>(burst));
    }
    print_case(name, "", took_ns);
    print_case(name, "_undisturbed", undisturbed_ns);
}

}  // namespace lastgate
