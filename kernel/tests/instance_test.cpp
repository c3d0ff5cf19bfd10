// SPDX-License-Identifier: Apache-2.0
// Who is the kernel of a name, and what lies in memory under it when nobody is.
#include "instance.hpp"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "doors.hpp"
#include "require.hpp"

using namespace lastgate;

namespace {

std::string unique_instance(const char* what) { return "instance-test-" + std::to_string(getpid()) + "-" + what; }

bool is_there(const std::string& name) {
    try {
        return SharedMemory::open(name, 0).bytes().size() > 0;
    } catch (const std::runtime_error&) {
        return false;
    }
}

bool can_claim(const std::string& instance) {
    try {
        const Instance claimed(instance);
        return true;
    } catch (const std::runtime_error&) {
        return false;
    }
}

/// What a kernel that was killed leaves: all of it, and nobody who holds the lock.
void leave_everything(const std::string& instance) {
    (void)SharedMemory::create(ring_name(instance, "lock"), 8);
    (void)SharedMemory::create(ring_name(instance, "board"), 8);
    (void)SharedMemory::create(door_ring_name(instance, "verdicts", doors_max - 1), 8);
}

}  // namespace

TEST(name_belongs_to_one_at_a_time) {
    const std::string name = unique_instance("one");
    {
        const Instance first(name);
        REQUIRE(!can_claim(name));
        REQUIRE(!remove_what_a_killed_kernel_left(name));
        REQUIRE(is_there(ring_name(name, "lock")));
    }
    REQUIRE(can_claim(name));
}

TEST(nothing_is_left_under_a_name_that_was_given_back) {
    const std::string name = unique_instance("left");
    {
        const Instance first(name);
        (void)SharedMemory::create(ring_name(name, "board"), 8);
        REQUIRE(is_there(ring_name(name, "lock")) && is_there(ring_name(name, "board")));
    }
    REQUIRE(!is_there(ring_name(name, "lock")) && !is_there(ring_name(name, "board")));
}

TEST(what_a_killed_kernel_left_keeps_nobody_out_and_can_be_removed) {
    const std::string name = unique_instance("killed");
    leave_everything(name);
    REQUIRE(can_claim(name));
    leave_everything(name);
    REQUIRE(remove_what_a_killed_kernel_left(name));
    for (const char* ring : {"lock", "board"}) REQUIRE(!is_there(ring_name(name, ring)));
    REQUIRE(!is_there(door_ring_name(name, "verdicts", doors_max - 1)));
}

TEST(memory_knows_whether_it_still_has_its_name) {
    const std::string name = ring_name(unique_instance("named"), "lock");
    const SharedMemory first = SharedMemory::create(name, 8);
    REQUIRE(first.is_named(name));
    const SharedMemory second = SharedMemory::create(name, 8);
    REQUIRE(!first.is_named(name) && second.is_named(name));
    SharedMemory::remove(name);
    REQUIRE(!second.is_named(name));
}

TEST(many_who_come_and_go_never_have_it_together) {
    const std::string name = unique_instance("many");
    std::atomic<int> holders{0};
    std::atomic<int> most{0};
    std::atomic<int> turns{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] {
            for (int round = 0; round < 3000; ++round) {
                std::optional<Instance> claimed;
                try {
                    claimed.emplace(name);
                } catch (const std::runtime_error&) {
                    continue;
                }
                const int now = ++holders;
                if (now > most) most = now;
                ++turns;
                std::this_thread::sleep_for(std::chrono::microseconds(20));
                --holders;
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    REQUIRE(turns > 0);
    REQUIRE(most == 1);
}

TEST_MAIN
