// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdio>
#include <span>
#include <string_view>

namespace lastgate::kernel {

/// Writes one flat JSON object into memory it was given. What does not fit makes `view()` empty.
class JsonText {
  public:
    explicit JsonText(std::span<char> memory) noexcept : memory_(memory) { put('{'); }

    void text(std::string_view key, std::string_view value) noexcept {
        begin(key);
        quoted(value);
    }
    void number(std::string_view key, double value) noexcept {
        begin(key);
        plain(value);
    }
    void count(std::string_view key, std::uint64_t value) noexcept {
        begin(key);
        char digits[32];
        std::snprintf(digits, sizeof digits, "%llu", static_cast<unsigned long long>(value));
        raw(digits);
    }
    void triple(std::string_view key, double x, double y, double z) noexcept {
        begin(key);
        put('[');
        plain(x);
        put(',');
        plain(y);
        put(',');
        plain(z);
        put(']');
    }
    /// Ends the object.
    std::string_view view() noexcept {
        put('}');
        return ok_ ? std::string_view(memory_.data(), size_) : std::string_view{};
    }

  private:
    void put(char character) noexcept {
        if (size_ >= memory_.size()) ok_ = false;
        if (ok_) memory_[size_++] = character;
    }
    void raw(std::string_view value) noexcept {
        for (const char character : value) put(character);
    }
    void begin(std::string_view key) noexcept {
        if (size_ > 1) put(',');
        quoted(key);
        put(':');
    }
    void plain(double value) noexcept {
        // JSON has no infinity and no NaN; a number that is none is the largest there is, on its side.
        if (std::isnan(value)) value = 0.0;
        if (std::isinf(value)) value = std::copysign(1.7976931348623157e308, value);
        char digits[40];
        std::snprintf(digits, sizeof digits, "%.17g", value);
        raw(digits);
    }
    void quoted(std::string_view value) noexcept {
        put('"');
        for (const char character : value) {
            const auto code = static_cast<unsigned char>(character);
            if (character == '"' || character == '\\') {
                put('\\');
                put(character);
            } else if (code < 0x20U || code == 0x7FU || character == '<' || character == '>' || character == '&') {
                // Angle brackets and ampersands too: evidence is shown on pages.
                char escape[8];
                std::snprintf(escape, sizeof escape, "\\u%04x", code);
                raw(escape);
            } else {
                put(character);
            }
        }
        put('"');
    }

    std::span<char> memory_;
    std::size_t size_ = 0;
    bool ok_ = true;
};

}  // namespace lastgate::kernel
