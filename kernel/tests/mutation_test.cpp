// SPDX-License-Identifier: Apache-2.0
// The short, repeatable half of `make fuzz`: whole messages, bytes of them changed, cut, doubled or moved.
#include <limits>
#include <random>

#include "../fuzz/kernel_input.hpp"
#include "require.hpp"

using namespace lastgate;
using namespace lastgate::kernel;

namespace {

void mutate(std::vector<std::uint8_t>& input, std::mt19937_64& random) {
    const auto below = [&](std::size_t count) { return static_cast<std::size_t>(random() % count); };
    for (std::size_t left = 1 + below(4); left > 0 && !input.empty(); --left) {
        const std::size_t at = below(input.size());
        switch (below(6)) {
            case 0: input[at] = static_cast<std::uint8_t>(random()); break;
            case 1: input[at] ^= static_cast<std::uint8_t>(1U << below(8)); break;
            case 2: input[at] = below(2) == 0 ? 0 : 255; break;
            case 3: input.resize(at); break;
            case 4: input.insert(input.begin() + static_cast<std::ptrdiff_t>(at), 1 + below(8), static_cast<std::uint8_t>(random())); break;
            default: {
                const double numbers[] = {std::nan(""), std::numeric_limits<double>::infinity(), -1e300, 1e-300, 0.0};
                const double number = numbers[below(5)];
                if (at + sizeof number <= input.size()) std::memcpy(input.data() + at, &number, sizeof number);
            }
        }
    }
}

}  // namespace

TEST(whole_inputs_pass_so_that_mutations_of_them_say_something) {
    for (const auto& input : fuzz::whole_inputs()) {
        fuzz::Tally tally;
        fuzz::feed(input, tally);
        REQUIRE(tally.passed >= 1 && tally.reported == 0, tally.passed, tally.reported);
    }
}

TEST(message_whose_text_is_not_utf8_is_none) {
    std::vector<std::byte> memory(64);
    for (const std::string_view text : {"cup", "\xC3\xA9", "\xF0\x9F\x9B\x91"}) {
        REQUIRE(read_detach(write_detach(text, memory)) == text, text);
    }
    for (const std::string_view text : {"\xFF", "cup\xC3", "\xC0\xAF", "\xED\xA0\x80", "\x80"}) {
        REQUIRE(!read_detach(write_detach(text, memory)), text.size());
    }
}

TEST(mutated_messages_break_no_promise) {
    const auto whole = fuzz::whole_inputs();
    std::mt19937_64 random(20260610);
    fuzz::Tally tally;
    constexpr int count = 30'000;
    for (int number = 0; number < count; ++number) {
        auto input = whole[static_cast<std::size_t>(number) % whole.size()];
        mutate(input, random);
        fuzz::feed(input, tally);
    }
    std::cout << count << " inputs, " << tally.messages << " messages: " << tally.passed << " chunks passed, " << tally.reported << " reported\n";
    REQUIRE(tally.passed > count / 10 && tally.reported > count / 10, tally.passed, tally.reported);
}

TEST_MAIN
