// SPDX-License-Identifier: Apache-2.0
// Which process is the kernel of a name, and what lies in memory under it when there is none.
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

#include "channels.hpp"
#include "require.hpp"

using namespace lastgate;
using namespace lastgate::kernel;

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

/// What a kernel that was killed leaves: all of it, and no holder of the lock.
void leave_everything(const std::string& instance) {
    (void)SharedMemory::create(ring_name(instance, "lock"), 8);
    (void)SharedMemory::create(ring_name(instance, "board"), 8);
    (void)SharedMemory::create(channel_ring_name(instance, "verdicts", channels_max - 1), 8);
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

TEST(what_a_killed_kernel_left_keeps_no_kernel_out_and_can_be_removed) {
    const std::string name = unique_instance("killed");
    leave_everything(name);
    REQUIRE(can_claim(name));
    leave_everything(name);
    REQUIRE(remove_what_a_killed_kernel_left(name));
    for (const char* ring : {"lock", "board"}) REQUIRE(!is_there(ring_name(name, ring)));
    REQUIRE(!is_there(channel_ring_name(name, "verdicts", channels_max - 1)));
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

TEST(room_is_found_when_memory_is_made_and_not_when_a_process_writes) {
    // A process that writes to a page that the system has no room for is killed: that must not be a kernel in the middle of a motion.
    const std::string name = ring_name(unique_instance("room"), "inputs");
    constexpr std::size_t bytes = 1 << 20;
    const auto blocks = [&] {
        struct stat about {};
        REQUIRE(stat((SharedMemory::folder("") + "/" + name).c_str(), &about) == 0);
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

constexpr uid_t stranger = 65533;
constexpr uid_t victim = 65534;

/// Whether `act` says so as another user.
template <typename Act>
bool as_user(uid_t user, Act act) {
    const pid_t child = fork();
    if (child == 0) _exit(setgid(user) == 0 && setuid(user) == 0 && act() ? 0 : 1);
    int status = 1;
    (void)waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool makes(const std::string& name) {
    try {
        (void)SharedMemory::create(name, 64);
        return true;
    } catch (const std::runtime_error&) {
        return false;
    }
}

TEST(root_believes_a_kernel_of_another_user_only_where_it_names_that_user) {
    if (getuid() != 0) return;  // only root can be two users
    const std::string instance = unique_instance("stranger");
    REQUIRE(as_user(stranger, [&] { return makes(ring_name(instance, "board")); }));
    REQUIRE(!is_there(ring_name(instance, "board")));
    REQUIRE(is_there(ring_name(instance + "@65533", "board")));
    REQUIRE(!is_there(ring_name(instance + "@65534", "board")) && !is_there(ring_name(instance + "@no-such-user", "board")) && !is_there(ring_name(instance + "@", "board")));
    REQUIRE(as_user(stranger, [&] { return is_there(ring_name(instance, "board")); }));
    // And no other user can name them in vain.
    REQUIRE(!as_user(victim, [&] { return is_there(ring_name(instance + "@65533", "board")) || is_there(ring_name(instance, "board")); }));
    REQUIRE(as_user(stranger, [&] {
        SharedMemory::remove(ring_name(instance, "board"));
        return true;
    }));
    REQUIRE(!is_there(ring_name(instance + "@65533", "board")));
    rmdir(("/dev/shm/lastgate-" + std::to_string(stranger)).c_str());
}

TEST(folder_that_a_stranger_made_in_the_name_of_another_keeps_no_kernel_out) {
    if (getuid() != 0) return;  // only root can be two users
    const std::string instance = unique_instance("kept-out");
    const std::string folder = "/dev/shm/lastgate-65534";
    REQUIRE(as_user(stranger, [&] { return mkdir(folder.c_str(), 0777) == 0 && symlink("/tmp", (folder + "-1").c_str()) == 0; }));
    REQUIRE(as_user(victim, [&] {
        const Instance claimed(instance);
        const bool made = makes(ring_name(instance, "board"));
        return made && is_there(ring_name(instance, "board")) && !can_claim(instance);
    }));
    REQUIRE(as_user(victim, [&] { return can_claim(instance); }));
    REQUIRE(rmdir(folder.c_str()) == 0 && unlink((folder + "-1").c_str()) == 0 && rmdir((folder + "-2").c_str()) == 0);
}

TEST(name_that_leads_out_of_the_folder_is_refused) {
    const std::string instance = unique_instance("out");
    for (const char* name : {"../../tmp/x", "a/b/c", "/x", "a/", "..", ""}) REQUIRE(!is_there(name) && !makes(name), name);
    REQUIRE(makes(ring_name(instance, "board")));
    SharedMemory::remove(ring_name(instance, "board"));
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
