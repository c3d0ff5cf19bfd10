// SPDX-License-Identifier: Apache-2.0
// libFuzzer's door to `kernel_input.hpp`.
#include <cstring>

#include "kernel_input.hpp"

using namespace lastgate;

/// Starts mutation from whole inputs.
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t size_max);
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t size_max, unsigned int seed) {
    static const auto whole = fuzz::whole_inputs();
    const auto& start = whole[seed % whole.size()];
    if (size < 16 && start.size() <= size_max) {
        std::memcpy(data, start.data(), start.size());
        size = start.size();
    }
    return LLVMFuzzerMutate(data, size, size_max);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    long passed = 0;
    long reported = 0;
    fuzz::feed({data, size}, passed, reported);
    return 0;
}
