// SPDX-License-Identifier: Apache-2.0
#include "cdr.hpp"

namespace lastgate::kernel {

bool CdrReader::is_utf8(std::string_view text) noexcept {
    const auto continues = [&](std::size_t index) { return index < text.size() && (static_cast<std::uint8_t>(text[index]) & 0xC0U) == 0x80U; };
    for (std::size_t i = 0; i < text.size();) {
        const auto first = static_cast<std::uint8_t>(text[i]);
        std::size_t length = 1;
        if (first >= 0x80U) {
            if (first >= 0xC2U && first <= 0xDFU) length = 2;
            else if (first >= 0xE0U && first <= 0xEFU) length = 3;
            else if (first >= 0xF0U && first <= 0xF4U) length = 4;
            else return false;  // a continuation without a start, or a start that no character has
            for (std::size_t k = 1; k < length; ++k) {
                if (!continues(i + k)) return false;
            }
            const auto second = static_cast<std::uint8_t>(text[i + 1]);
            const bool overlong = (first == 0xE0U && second < 0xA0U) || (first == 0xF0U && second < 0x90U);
            const bool surrogate = first == 0xEDU && second >= 0xA0U;
            const bool too_large = first == 0xF4U && second >= 0x90U;
            if (overlong || surrogate || too_large) return false;
        }
        i += length;
    }
    return true;
}

}  // namespace lastgate::kernel
