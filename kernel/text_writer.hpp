// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdio>
#include <cstring>
#include <span>
#include <string_view>

namespace lastgate::kernel {

/// Writes a sentence into memory it was given; what does not fit is cut at a whole character.
class TextWriter {
  public:
    explicit TextWriter(std::span<char> memory) noexcept : memory_(memory) {}

    TextWriter& text(std::string_view text) noexcept {
        if (cut_) return *this;
        std::size_t size = text.size() < memory_.size() - size_ ? text.size() : memory_.size() - size_;
        cut_ = size < text.size();
        while (cut_ && size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0U) == 0x80U) --size;
        if (size > 0) std::memcpy(memory_.data() + size_, text.data(), size);
        size_ += size;
        return *this;
    }
    TextWriter& count(std::uint64_t value) noexcept {
        char digits[32];
        std::snprintf(digits, sizeof digits, "%llu", static_cast<unsigned long long>(value));
        return text(digits);
    }
    /// A number of a size that robots have with these decimals, and any other in short.
    TextWriter& number(double value, int decimals) noexcept {
        char digits[40];
        if (std::isnan(value)) return text("nan");
        if (std::abs(value) < 1e12) std::snprintf(digits, sizeof digits, "%.*f", decimals, value);
        else std::snprintf(digits, sizeof digits, "%.6g", value);
        return text(digits);
    }
    std::string_view view() const noexcept { return {memory_.data(), size_}; }

  private:
    std::span<char> memory_;
    std::size_t size_ = 0;
    bool cut_ = false;
};

}  // namespace lastgate::kernel
