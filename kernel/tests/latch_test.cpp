// SPDX-License-Identifier: Apache-2.0
#include "latch.hpp"

#include <cmath>
#include <limits>

#include "latch_file.hpp"
#include "require.hpp"

using namespace lastgate;
using namespace lastgate::kernel;

TEST(stop_latches_whatever_the_clock_says) {
    for (const double now_s : {0.0, -5.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
        Latch latch(0.5);
        latch.trip("kernel", "why", now_s);
        REQUIRE(latch.latched() && latch.record().sequence == 1);
    }
}

TEST(reset_waits_for_the_cooldown_after_the_most_recent_stop) {
    Latch latch(0.5);
    latch.trip("kernel", "first", 1.0);
    latch.trip("human", "second", 1.4);
    REQUIRE(!latch.reset(1.8).success);
    REQUIRE(latch.record().reason.view() == "second");
    REQUIRE(latch.reset(1.9).success && !latch.latched() && latch.record().sequence == 2);
}

TEST(clock_that_runs_backwards_makes_the_cooldown_longer) {
    Latch latch(0.5);
    latch.trip("kernel", "why", 10.0);
    REQUIRE(!latch.reset(9.0).success);
    REQUIRE(!latch.reset(10.4).success);
    REQUIRE(latch.reset(10.5).success);
}

TEST(more_sources_than_there_is_room_for_keep_it_latched) {
    Latch latch(0.1);
    for (std::size_t i = 0; i <= sources_max; ++i) latch.assert_source("source " + std::to_string(i), "held", 0.0);
    for (std::size_t i = 0; i <= sources_max; ++i) latch.release_source("source " + std::to_string(i));
    REQUIRE(!latch.reset(100.0).success);
}

TEST(record_survives_its_file_form_and_every_changed_byte_reads_as_latched) {
    LatchRecord record;
    record.sequence = 41;
    std::array<std::byte, latch_file_bytes> bytes{};
    encode_latch(record, bytes);
    REQUIRE(!decode_latch(bytes).latched && decode_latch(bytes).sequence == 41);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        for (const unsigned bit : {0x01U, 0x80U}) {
            auto broken = bytes;
            broken[i] ^= static_cast<std::byte>(bit);
            REQUIRE(decode_latch(broken).latched, i);
        }
    }
    REQUIRE(decode_latch({}).latched && decode_latch(std::span(bytes).first(255)).latched);
}

TEST(what_was_held_is_written_down_and_a_stop_for_the_next_process) {
    LatchRecord record;
    record.held = true;
    std::array<std::byte, latch_file_bytes> bytes{};
    encode_latch(record, bytes);
    const LatchRecord read = decode_latch(bytes);
    REQUIRE(read.held && !read.latched);
    Latch latch(0.1);
    latch.restore(read);
    REQUIRE(latch.latched() && latch.record().sequence == 1 && !latch.record().held);
    REQUIRE(!latch.reset(5.0).success && latch.reset(5.2).success);
    record.held = false;
    encode_latch(record, bytes);
    latch.restore(decode_latch(bytes));
    REQUIRE(!latch.latched());
}

TEST(long_texts_are_cut_at_whole_characters) {
    const SourceName name("0123456789012345678901234567890é");  // 31 bytes, then one of two
    REQUIRE(name.view() == "0123456789012345678901234567890", name.view());
}

TEST_MAIN
