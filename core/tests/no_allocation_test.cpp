// SPDX-License-Identifier: Apache-2.0
// After construction the gate never asks for memory: every way to the heap is counted, in every mode.
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <new>

#include "mode_chunks.hpp"
#include "require.hpp"
#include "world/obstacle_field.hpp"

namespace {

std::atomic<bool> counting{false};
std::atomic<long> calls{0};

void count_call() noexcept {
    if (counting.load(std::memory_order_relaxed)) calls.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

// glibc's own names for the real functions; the wrappers below replace the public ones for the whole
// process, the C++ library included.
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void __libc_free(void*);

void* malloc(std::size_t size) {
    count_call();
    return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
    count_call();
    return __libc_calloc(count, size);
}
void* realloc(void* block, std::size_t size) {
    count_call();
    return __libc_realloc(block, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
    count_call();
    return __libc_memalign(alignment, size);
}
int posix_memalign(void** block, std::size_t alignment, std::size_t size) {
    count_call();
    *block = __libc_memalign(alignment, size);
    return *block == nullptr ? ENOMEM : 0;
}
void free(void* block) {
    if (block != nullptr) count_call();
    __libc_free(block);
}
}

// Through the real functions, so that one `new` counts once.
void* operator new(std::size_t size) {
    count_call();
    void* block = __libc_malloc(size == 0 ? 1 : size);
    if (block == nullptr) throw std::bad_alloc();
    return block;
}
void* operator new[](std::size_t size) { return operator new(size); }
void* operator new(std::size_t size, std::align_val_t alignment) {
    count_call();
    void* block = __libc_memalign(static_cast<std::size_t>(alignment), size);
    if (block == nullptr) throw std::bad_alloc();
    return block;
}
void operator delete(void* block) noexcept {
    if (block != nullptr) count_call();
    __libc_free(block);
}
void operator delete[](void* block) noexcept { operator delete(block); }
void operator delete(void* block, std::size_t) noexcept { operator delete(block); }
void operator delete[](void* block, std::size_t) noexcept { operator delete(block); }
void operator delete(void* block, std::align_val_t) noexcept { operator delete(block); }
void operator delete(void* block, std::size_t, std::align_val_t) noexcept { operator delete(block); }

using namespace lastgate;
using namespace lastgate::robots;

namespace {

constexpr int accepted_checks = 10000;
constexpr int rejected_checks = 5000;

/// How often the heap was entered while `work` ran.
template <typename Work>
long heap_calls(const Work& work) {
    calls = 0;
    counting = true;
    work();
    counting = false;
    return calls;
}

struct Mobile {
    Gate gate;
    std::vector<ModeChunk> chunks;
    WorldSnapshot empty = make_world({});
    WorldSnapshot blocked;
    double fingers[1] = {0.02};

    explicit Mobile(const RobotModelSpec& spec = mobile_manipulator()) : gate(make_gate(spec)), chunks(mode_chunks(gate.model())) {
        const Vec3 tool = tool_at_home(gate.model()).translation;
        blocked.begin(2, 1.0, true);
        blocked.add(sphere({tool.x, tool.y, tool.z + 0.1}, 0.02));
        for (int index = 0; index < 40; ++index) blocked.add(box({0.8, 0.02 * index - 0.4, 0.2}, {0.05, 0.005, 0.05}));
    }
    CheckRequest request(const ModeChunk& chunk, const std::vector<double>& rows, const WorldSnapshot& world) {
        CheckRequest made = make_request(chunk.mode, rows, chunk.width, panda_home, world);
        made.state.gripper_positions = fingers;
        return made;
    }
};

// Kept from the optimiser, which may remove an allocation whose result is not read.
void* volatile sink = nullptr;

}  // namespace

TEST(every_way_to_the_heap_is_counted) {
    REQUIRE(heap_calls([] { sink = std::malloc(16); std::free(sink); }) == 2);
    REQUIRE(heap_calls([] { sink = std::calloc(2, 16); std::free(sink); }) == 2);
    REQUIRE(heap_calls([] { sink = std::realloc(nullptr, 16); std::free(sink); }) == 2);
    REQUIRE(heap_calls([] { sink = std::aligned_alloc(64, 64); std::free(sink); }) == 2);
    REQUIRE(heap_calls([] {
                void* block = nullptr;
                if (posix_memalign(&block, 64, 64) == 0) sink = block;
                std::free(sink);
            }) == 2);
    REQUIRE(heap_calls([] {
                auto* made = new std::array<double, 4>{};
                sink = made;
                delete made;
            }) == 2);
    REQUIRE(heap_calls([] { std::vector<double> grown(100, 1.0); sink = grown.data(); }) == 2);
    REQUIRE(heap_calls([] {}) == 0);
}

TEST(accepted_checks_do_not_allocate_in_any_mode) {
    Mobile mobile;
    for (const ModeChunk& chunk : mobile.chunks) {
        if (chunk.accepted.empty()) continue;
        const CheckRequest request = mobile.request(chunk, chunk.accepted, mobile.empty);
        int accepted = 0;
        const long found = heap_calls([&] {
            for (int index = 0; index < accepted_checks; ++index) accepted += mobile.gate.check(request).accepted;
        });
        REQUIRE(found == 0, static_cast<int>(chunk.mode), found);
        REQUIRE(accepted == accepted_checks, static_cast<int>(chunk.mode), accepted);
    }
}

TEST(checks_with_convex_hulls_do_not_allocate_in_any_mode) {
    Mobile mobile(with_hulls(mobile_manipulator(), 0.001));
    const std::vector<double> cloud{0.8, 0.0, 0.2, 0.7, 0.1, 0.9};
    mobile.blocked.set_field(point_slot, std::make_shared<const ObstacleField>(ObstacleField::from_points(cloud)), 1.0);
    for (const ModeChunk& chunk : mobile.chunks) {
        if (chunk.accepted.empty()) continue;
        const CheckRequest request = mobile.request(chunk, chunk.accepted, mobile.blocked);
        int decided = 0;
        const long found = heap_calls([&] {
            for (int index = 0; index < 500; ++index) decided += mobile.gate.check(request).stage > 0 ? 1 : 0;
        });
        REQUIRE(found == 0 && decided == 500, static_cast<int>(chunk.mode), found, decided);
    }
}

TEST(rejected_checks_do_not_allocate_in_any_mode) {
    Mobile mobile;
    for (const ModeChunk& chunk : mobile.chunks) {
        // Half of them break a limit, half of them meet an obstacle after a whole sweep.
        const CheckRequest by_limit = mobile.request(chunk, chunk.rejected, mobile.empty);
        const CheckRequest by_obstacle = mobile.request(chunk, chunk.accepted.empty() ? chunk.rejected : chunk.accepted, mobile.blocked);
        int accepted = 0;
        const long found = heap_calls([&] {
            for (int index = 0; index < rejected_checks; ++index) accepted += mobile.gate.check(index % 2 == 0 ? by_limit : by_obstacle).accepted;
        });
        REQUIRE(found == 0, static_cast<int>(chunk.mode), found);
        REQUIRE(accepted == 0, static_cast<int>(chunk.mode), accepted);
    }
}

TEST(base_motion_over_a_map_does_not_allocate) {
    GateConfig config = wide_config(mobile_manipulator());
    config.footprint_vertices = {{-0.4, -0.3, 0.0}, {0.4, -0.3, 0.0}, {0.4, 0.3, 0.0}, {-0.4, 0.3, 0.0}};
    Gate gate = make_gate(mobile_manipulator(), config);
    FloorSpec floor;
    floor.in_base.translation = {-2.0, -2.0, 0.0};
    floor.resolution_m = 0.05;
    floor.size = {80, 80};
    floor.high_m = 0.3;
    std::vector<std::uint8_t> voxels(6400, 0);
    const std::vector<double> rows = repeated(8, {1.0, 0.0, 0.0, 0.0, 0.0, 0.3});
    const double fingers[1] = {0.02};
    for (const int blocked : {0, 1}) {
        voxels[80 * 40 + 49] = static_cast<std::uint8_t>(blocked);  // from x = 0.45: the front of the footprint drives over it
        WorldSnapshot world = make_world({});
        world.set_field(floor_slot, std::make_shared<const ObstacleField>(ObstacleField::from_floor(floor, voxels)), 1.0);
        CheckRequest request = make_request(ControlMode::body_twist, rows, 6, panda_home, world);
        request.state.gripper_positions = fingers;
        int accepted = 0;
        const long found = heap_calls([&] {
            for (int index = 0; index < 500; ++index) accepted += gate.check(request).accepted;
        });
        REQUIRE(found == 0, found);
        REQUIRE(accepted == (blocked == 0 ? 500 : 0), accepted);
    }
}

TEST(single_configurations_do_not_allocate) {
    Mobile mobile;
    const std::vector<double> rows = joint_rows_around_home(256, 0.003);
    std::array<std::uint8_t, 256> accepted{};
    std::array<double, 256> clearance_m{};
    for (const WorldSnapshot* world : {&mobile.empty, &mobile.blocked}) {
        const long found = heap_calls([&] { mobile.gate.check_configurations(rows, 256, mobile.fingers, *world, accepted, clearance_m); });
        REQUIRE(found == 0, found);
    }
}

TEST(attaching_and_detaching_do_not_allocate) {
    Mobile mobile;
    Attachment held;
    held.id = 3;
    held.volume = {8, 0.02, {0.0, 0.0, 0.13}, {0.0, 0.0, 0.2}};
    held.touch.set(8);
    int attached = 0;
    const long found = heap_calls([&] {
        for (int round = 0; round < 100; ++round) {
            // One more than fits, so that the refusal is counted too.
            for (std::size_t index = 0; index <= capacity::attached_max; ++index) attached += mobile.gate.attach(held) ? 1 : 0;
            (void)mobile.gate.check(mobile.request(mobile.chunks[0], mobile.chunks[0].accepted, mobile.blocked));
            (void)mobile.gate.detach(3);
        }
    });
    REQUIRE(found == 0, found);
    REQUIRE(attached == 100 * static_cast<int>(capacity::attached_max), attached);
}

TEST(recovery_does_not_allocate) {
    Mobile mobile;
    int decided = 0;
    for (const ModeChunk& chunk : mobile.chunks) {
        if (chunk.accepted.empty()) continue;
        CheckRequest request = mobile.request(chunk, chunk.accepted, mobile.blocked);
        request.recovery = true;
        const long found = heap_calls([&] {
            for (int index = 0; index < 1000; ++index) decided += mobile.gate.check(request).stage > 0 ? 1 : 0;
        });
        REQUIRE(found == 0, static_cast<int>(chunk.mode), found);
    }
    REQUIRE(decided == 12000, decided);
}

TEST(keep_in_zones_and_declared_contacts_do_not_allocate) {
    Mobile mobile;
    const RobotModelSpec spec = mobile_manipulator();
    GateConfig config = wide_config(spec);
    config.world_margin_m = 0.05;
    config.keep_in_zones.push_back({box({0.0, 0.0, 1.0}, {3.0, 3.0, 3.0}), {}});
    config.keep_in_zones.push_back({sphere({0.0, 0.0, 0.5}, 1.0), {}});
    Gate gate = make_gate(spec, config);
    DeclaredContact contact;
    contact.links.set(8);
    contact.obstacles.set(0);
    contact.region = box({0.5, 0.0, 0.8}, {1.0, 1.0, 1.0});
    contact.expires_s = 10.0;
    int decided = 0;
    for (const ModeChunk& chunk : mobile.chunks) {
        if (chunk.accepted.empty()) continue;
        for (const WorldSnapshot* world : {&mobile.empty, &mobile.blocked}) {
            CheckRequest request = mobile.request(chunk, chunk.accepted, *world);
            if (world == &mobile.blocked) request.contacts = {&contact, 1};
            const long found = heap_calls([&] {
                for (int index = 0; index < 200; ++index) decided += gate.check(request).stage > 0 ? 1 : 0;
            });
            REQUIRE(found == 0, static_cast<int>(chunk.mode), found);
        }
    }
    REQUIRE(decided == 12 * 2 * 200, decided);
}

TEST(filling_a_snapshot_does_not_allocate) {
    WorldSnapshot world;
    const long found = heap_calls([&] {
        for (int round = 0; round < 10; ++round) {
            world.begin(static_cast<std::uint64_t>(round), 1.0, true);
            for (std::size_t index = 0; index < capacity::primitives_max + 1; ++index) world.add(sphere({1, 1, 1}, 0.1));
        }
    });
    REQUIRE(found == 0, found);
    REQUIRE(world.is_overflowing());
}

TEST_MAIN
