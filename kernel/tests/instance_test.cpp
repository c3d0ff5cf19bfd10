// SPDX-License-Identifier: Apache-2.0
// Who is the kernel of a name, and what lies in memory under it when nobody is.
#include "instance.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
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

TEST(room_is_found_when_memory_is_made_and_not_when_somebody_writes) {
    // Whoever writes to a page that the system has no room for is killed: that must not be a kernel in the middle of a motion.
    const std::string name = ring_name(unique_instance("room"), "inputs");
    constexpr std::size_t bytes = 1 << 20;
    const auto blocks = [&] {
        struct stat about {};
        const int file = shm_open(("/" + name).c_str(), O_RDONLY, 0);
        REQUIRE(file >= 0 && fstat(file, &about) == 0);
        close(file);
        return static_cast<std::size_t>(about.st_blocks) * 512;
    };
    {
        const SharedMemory made = SharedMemory::create(name, bytes);
        REQUIRE(blocks() >= bytes, blocks());
    }
    const SharedMemory made = SharedMemory::create(name, bytes, SharedMemory::Pages::when_written);
    REQUIRE(blocks() == 0, blocks());
    SharedMemory::remove(name);
}

TEST(memory_of_another_user_is_no_kernels) {
    if (getuid() != 0) return;  // only root can be two users
    const std::string name = ring_name(unique_instance("stranger"), "board");
    const SharedMemory made = SharedMemory::create(name, 64);
    REQUIRE(is_there(name));
    constexpr uid_t stranger = 65533;
    constexpr uid_t victim = 65534;
    const std::string path = "/dev/shm/" + name;
    const auto opens_as = [&](uid_t user) {
        const pid_t child = fork();
        if (child == 0) _exit(setuid(user) == 0 && is_there(name) ? 0 : 1);
        int status = 1;
        (void)waitpid(child, &status, 0);
        return WIFEXITED(status) && WEXITSTATUS(status) == 0;
    };
    REQUIRE(!opens_as(victim));  // 0600
    // Somebody else put it there, and lets everybody in.
    REQUIRE(chmod(path.c_str(), 0666) == 0 && chown(path.c_str(), stranger, stranger) == 0);
    REQUIRE(opens_as(stranger));
    REQUIRE(!opens_as(victim));
    SharedMemory::remove(name);
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
