// SPDX-License-Identifier: Apache-2.0
#include "ring.hpp"

#include <unistd.h>

#include <cstring>
#include <thread>
#include <vector>

#include "require.hpp"

using namespace lastgate;
using namespace lastgate::kernel;

namespace {

std::string unique_name(const char* what) { return "lastgate.test-" + std::to_string(getpid()) + "." + what; }

/// A ring that is gone with the test.
struct TestRing {
    std::string name;
    Ring ring;
    TestRing(const char* what, RingShape shape) : name(unique_name(what)), ring(Ring::create(name, shape)) {}
    ~TestRing() { SharedMemory::remove(name); }
};

std::vector<std::byte> message(std::uint64_t number, std::size_t size) {
    std::vector<std::byte> bytes(size);
    for (std::size_t i = 0; i + 8 <= size; i += 8) {
        const std::uint64_t word = number * 1000003U + i;
        std::memcpy(bytes.data() + i, &word, 8);
    }
    return bytes;
}

}  // namespace

TEST(what_is_written_is_read_in_order) {
    TestRing test("order", {4, 64});
    std::uint64_t cursor = 0;
    std::uint64_t lost = 0;
    MessageHead head;
    std::vector<std::byte> into(64);
    REQUIRE(!test.ring.read(cursor, head, into, lost));
    for (std::uint64_t number = 1; number <= 3; ++number) REQUIRE(test.ring.write(MessageType::action_chunk, message(number, 40), 77) == number);
    for (std::uint64_t number = 1; number <= 3; ++number) {
        REQUIRE(test.ring.read(cursor, head, into, lost));
        REQUIRE(head.sequence == number && head.origin == 77 && head.size == 40 && head.type == MessageType::action_chunk, head.sequence);
        REQUIRE(std::memcmp(into.data(), message(number, 40).data(), 40) == 0, number);
    }
    REQUIRE(!test.ring.read(cursor, head, into, lost) && lost == 0);
}

TEST(slow_reader_loses_the_oldest_and_knows_how_many) {
    TestRing test("slow", {4, 64});
    for (std::uint64_t number = 1; number <= 10; ++number) (void)test.ring.write(MessageType::action_chunk, message(number, 16), 0);
    std::uint64_t cursor = 0;
    std::uint64_t lost = 0;
    MessageHead head;
    std::vector<std::byte> into(64);
    REQUIRE(test.ring.read(cursor, head, into, lost));
    REQUIRE(head.sequence == 7 && lost == 6, head.sequence, lost);
}

TEST(message_that_does_not_fit_is_refused_by_the_writer_and_lost_to_a_small_reader) {
    TestRing test("size", {4, 64});
    REQUIRE(test.ring.write(MessageType::action_chunk, message(1, 72), 0) == 0);
    REQUIRE(test.ring.write(MessageType::action_chunk, {}, 0) == 0);
    REQUIRE(test.ring.write(MessageType::action_chunk, message(1, 64), 0) == 1);
    std::uint64_t cursor = 0;
    std::uint64_t lost = 0;
    MessageHead head;
    std::vector<std::byte> small(32);
    REQUIRE(!test.ring.read(cursor, head, small, lost) && lost == 1, lost);
}

TEST(size_that_no_writer_could_have_written_is_not_believed) {
    TestRing test("lies", {4, 64});
    (void)test.ring.write(MessageType::action_chunk, message(1, 64), 0);
    // The size stands behind the turn, the origin, the time and the type of the first slot.
    const SharedMemory memory = SharedMemory::open(test.name, RingShape{4, 64}.bytes());
    const std::uint32_t lie = 0xFFFFFFF0U;
    std::memcpy(memory.bytes().data() + 192 + 28, &lie, sizeof lie);
    std::uint64_t cursor = 0;
    std::uint64_t lost = 0;
    MessageHead head;
    std::vector<std::byte> into(64);
    REQUIRE(!test.ring.read(cursor, head, into, lost) && lost == 1, lost);
}

TEST(second_writer_is_refused_until_the_first_is_gone) {
    TestRing test("claim", {4, 64});
    Ring second = Ring::open(test.name, {4, 64});
    {
        Ring first = Ring::open(test.name, {4, 64});
        REQUIRE(first.claim());
        REQUIRE(!second.claim());
    }
    REQUIRE(second.claim());
}

TEST(ring_of_another_shape_is_refused) {
    TestRing test("shape", {4, 64});
    bool refused = false;
    try {
        (void)Ring::open(test.name, {2, 128});
    } catch (const std::runtime_error&) {
        refused = true;
    }
    REQUIRE(refused);
}

TEST(reader_beside_a_fast_writer_never_sees_a_mixed_message) {
    TestRing test("torn", {4, 4096});
    constexpr std::uint64_t count = 200'000;
    std::thread writer([&] {
        for (std::uint64_t number = 1; number <= count; ++number) (void)test.ring.write(MessageType::action_chunk, message(number, 8 * (1 + number % 500)), number);
    });
    std::uint64_t cursor = 0;
    std::uint64_t lost = 0;
    std::uint64_t seen = 0;
    std::uint64_t last = 0;
    bool whole = true;
    std::vector<std::byte> into(4096);
    while (last < count) {
        MessageHead head;
        if (!test.ring.read(cursor, head, into, lost)) continue;
        ++seen;
        const auto expected = message(head.sequence, 8 * (1 + head.sequence % 500));
        whole = whole && head.sequence > last && head.size == expected.size() && head.origin == head.sequence && std::memcmp(into.data(), expected.data(), expected.size()) == 0;
        last = head.sequence;
    }
    writer.join();
    REQUIRE(whole);
    REQUIRE(seen + lost == count, seen, lost);
}

TEST(message_passes_while_every_stop_was_heard_and_none_after_one_that_was_not) {
    const std::string name = "ring-test-" + std::to_string(getpid()) + "-stopped";
    Ring ring = Ring::create(name, {4, 64});
    const std::array<std::byte, 8> payload{};
    std::array<std::byte, 64> into{};
    std::uint64_t cursor = 0;
    std::uint64_t lost = 0;
    MessageHead head;
    REQUIRE(ring.stops_asked() == 0 && ring.write_unless_stopped(MessageType::twist, payload, 1, 0) == 1);
    ring.ask_stop();
    for (int attempt = 0; attempt < 3; ++attempt) REQUIRE(ring.write_unless_stopped(MessageType::twist, payload, 1, 0) == 0);
    REQUIRE(ring.stops_asked() == 1 && ring.newest() == 1);
    REQUIRE(ring.read(cursor, head, into, lost) && head.sequence == 1);
    REQUIRE(!ring.read(cursor, head, into, lost));
    REQUIRE(ring.write_unless_stopped(MessageType::twist, payload, 1, 1) == 2);
    REQUIRE(ring.read(cursor, head, into, lost) && head.sequence == 2 && lost == 0);
    SharedMemory::remove(name);
}

TEST_MAIN
