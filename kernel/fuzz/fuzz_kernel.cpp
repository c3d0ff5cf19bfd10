// SPDX-License-Identifier: Apache-2.0
// libFuzzer's channel to `kernel_input.hpp`.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "kernel_input.hpp"

using namespace lastgate;
using namespace lastgate::kernel;

namespace {

fuzz::Tally tally;

}  // namespace

/// `tools/fuzz.py` adds these up: an input is a list of messages, and what is promised is about messages.
extern "C" int LLVMFuzzerInitialize(int*, char***) {
    return std::atexit([] { std::fprintf(stderr, "fed: %ld messages, %ld passed, %ld reported\n", tally.messages, tally.passed, tally.reported); });
}

/// Starts mutation from whole inputs, and goes back to them every fourth time: what mutation has led to is mostly refused
/// by the decoder, and the checks behind it are to be reached as well.
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t size_max);
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t size_max, unsigned int seed) {
    static const auto whole = fuzz::whole_inputs();
    const auto& start = whole[seed / 4 % whole.size()];
    if ((size < 16 || seed % 4 == 0) && start.size() <= size_max) {
        std::memcpy(data, start.data(), start.size());
        size = start.size();
    }
    return LLVMFuzzerMutate(data, size, size_max);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::feed({data, size}, tally);
    return 0;
}
