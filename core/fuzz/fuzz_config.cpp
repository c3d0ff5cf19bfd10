// SPDX-License-Identifier: Apache-2.0
// Any text is either refused with std::invalid_argument or read to a robot that is refused or armed.
#include <cstdint>
#include <stdexcept>
#include <string_view>

#include "config.hpp"
#include "config_text.hpp"

using namespace lastgate;
using namespace lastgate::kernel;

/// Starts mutation from a whole file, which random bytes would not become within a minute.
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t size_max);
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t size_max, unsigned int) {
    const std::string& whole = tests::config_text;
    if (size < whole.size() / 4 && whole.size() <= size_max) {
        whole.copy(reinterpret_cast<char*>(data), whole.size());
        size = whole.size();
    }
    return LLVMFuzzerMutate(data, size, size_max);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        const KernelConfig config = read_config(std::string_view(reinterpret_cast<const char*>(data), size));
        const Gate gate(std::make_shared<const RobotModel>(config.model), config.gate);
        (void)gate;
    } catch (const std::invalid_argument&) {
        // The one way to say no; anything else that escapes is a finding.
    }
    return 0;
}
