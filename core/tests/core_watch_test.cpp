// SPDX-License-Identifier: Apache-2.0
// What the benchmarks leave out as disturbed must have been, and the rest must not be nothing.
#include "core_watch.hpp"

#include <sched.h>

#include <chrono>

#include "require.hpp"

using namespace lastgate;

namespace {

/// On some core that this process may use.
int pin_somewhere() {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 0;
    unsigned core = 0;
    while (core + 1 < CPU_SETSIZE && !CPU_ISSET(core, &allowed)) ++core;
    CPU_ZERO(&allowed);
    CPU_SET(core, &allowed);
    (void)sched_setaffinity(0, sizeof allowed, &allowed);
    return static_cast<int>(core);
}

}  // namespace

TEST(core_that_the_system_interrupted_was_not_ours) {
    CoreWatch watch(pin_somewhere());
    const CoreWatch::Sample before = watch.sample_before();
    // Long enough for a timer of 100 Hz to come several times.
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
    while (std::chrono::steady_clock::now() < end) {
    }
    const CoreWatch::Sample after = watch.sample_after();
    REQUIRE(!watch.is_ours(before, after));
    if (before.interrupts) REQUIRE(*after.interrupts > *before.interrupts, *before.interrupts, *after.interrupts);
}

TEST(core_is_ours_at_some_moment) {
    CoreWatch watch(pin_somewhere());
    if (!watch.sample_before().interrupts) {
        std::cout << "skipped: this system does not count interrupts\n";
        return;
    }
    bool ours = false;
    for (int attempt = 0; attempt < 1000 && !ours; ++attempt) {
        const CoreWatch::Sample before = watch.sample_before();
        ours = watch.is_ours(before, watch.sample_after());
    }
    REQUIRE(ours);
}

TEST(shared_or_uncounted_core_was_not_ours) {
    CoreWatch watch(pin_somewhere());
    const double usual_ns = watch.sample_before().additions_ns;
    const CoreWatch::Sample alone{7, usual_ns};
    REQUIRE(watch.is_ours(alone, alone));
    REQUIRE(!watch.is_ours(alone, {7, 2.0 * usual_ns}));
    REQUIRE(!watch.is_ours({7, 2.0 * usual_ns}, alone));
    REQUIRE(!watch.is_ours({std::nullopt, usual_ns}, {std::nullopt, usual_ns}));
    REQUIRE(!watch.is_ours(alone, {8, usual_ns}));
}

TEST_MAIN
