// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

namespace lastgate::kernel {

/// Reads the plain CDR that ROS 2 puts on the wire (XCDR version 1, final types), from bytes that no other part has
/// checked. After the first number that is not there, nothing is believed any more: every read gives zero and
/// `ok()` stays false. Text and arrays point into the bytes; nothing is copied, nothing is allocated.
class CdrReader {
  public:
    /// The four bytes in front of every payload: byte order, and two that mean nothing.
    static constexpr std::size_t encapsulation_bytes = 4;

    explicit CdrReader(std::span<const std::byte> payload) noexcept : bytes_(payload) {
        if (payload.size() < encapsulation_bytes || payload[0] != std::byte{0}) {
            ok_ = false;
            return;
        }
        // 0 is big, 1 little endian; parameter lists and version 2 have other numbers and another layout.
        const auto order = static_cast<std::uint8_t>(payload[1]);
        if (order > 1) ok_ = false;
        swap_ = (order == 0) == (std::endian::native == std::endian::little);
        bytes_ = payload.subspan(encapsulation_bytes);
    }

    bool ok() const noexcept { return ok_; }
    bool swaps_bytes() const noexcept { return swap_; }

    template <typename Number>
    Number number() noexcept {
        static_assert(std::is_arithmetic_v<Number>);
        Number value{};
        if (!take(sizeof(Number), sizeof(Number))) return value;
        std::memcpy(&value, bytes_.data() + position_ - sizeof(Number), sizeof(Number));
        return swap_ ? swapped(value) : value;
    }

    /// A string with its closing zero, which must be the only one, in UTF-8.
    std::string_view text() noexcept {
        const auto length = number<std::uint32_t>();
        if (!ok_ || length == 0 || !take(length, 1)) return fail<std::string_view>();
        const auto* first = reinterpret_cast<const char*>(bytes_.data() + position_ - length);
        const std::string_view text(first, length - 1);
        if (first[length - 1] != '\0' || text.find('\0') != std::string_view::npos || !is_utf8(text)) return fail<std::string_view>();
        return text;
    }

    /// The bytes of a sequence of numbers, still in the order of the sender. `count` is what the sender says.
    template <typename Number>
    std::span<const std::byte> sequence() noexcept {
        const auto count = number<std::uint32_t>();
        if (!ok_) return {};
        if (count == 0) return {};
        // Asked by division, so that no length can overflow.
        if (!align(sizeof(Number)) || count > (bytes_.size() - position_) / sizeof(Number)) return fail<std::span<const std::byte>>();
        const auto found = bytes_.subspan(position_, count * sizeof(Number));
        position_ += found.size();
        return found;
    }

    /// Whether all of it was read. Senders round up to four bytes, with whatever stood there.
    bool at_end() const noexcept { return ok_ && bytes_.size() - position_ < 4; }

    /// Whether these are UTF-8: no stray, overlong or surrogate bytes.
    static bool is_utf8(std::string_view text) noexcept;

    template <typename Number>
    static Number swapped(Number value) noexcept {
        std::byte bytes[sizeof(Number)];
        std::memcpy(bytes, &value, sizeof(Number));
        for (std::size_t i = 0; i < sizeof(Number) / 2; ++i) std::swap(bytes[i], bytes[sizeof(Number) - 1 - i]);
        std::memcpy(&value, bytes, sizeof(Number));
        return value;
    }

  private:
    template <typename Nothing>
    Nothing fail() noexcept {
        ok_ = false;
        return Nothing{};
    }

    bool align(std::size_t alignment) noexcept {
        const std::size_t aligned = (position_ + alignment - 1) & ~(alignment - 1);
        if (aligned > bytes_.size()) ok_ = false;
        if (ok_) position_ = aligned;
        return ok_;
    }

    bool take(std::size_t size, std::size_t alignment) noexcept {
        if (!ok_ || !align(alignment) || size > bytes_.size() - position_) {
            ok_ = false;
            return false;
        }
        position_ += size;
        return true;
    }

    std::span<const std::byte> bytes_;
    std::size_t position_ = 0;
    bool ok_ = true;
    bool swap_ = false;
};

/// Writes the same into memory it was given, little endian. What does not fit makes `ok()` false for good.
class CdrWriter {
  public:
    explicit CdrWriter(std::span<std::byte> memory) noexcept : memory_(memory) {
        constexpr std::byte little_endian[CdrReader::encapsulation_bytes] = {std::byte{0}, std::byte{1}, std::byte{0}, std::byte{0}};
        append(little_endian, sizeof little_endian, 1);
    }

    bool ok() const noexcept { return ok_; }
    std::span<const std::byte> bytes() const noexcept { return ok_ ? std::span<const std::byte>(memory_.first(size_)) : std::span<const std::byte>{}; }

    template <typename Number>
    void number(Number value) noexcept {
        static_assert(std::is_arithmetic_v<Number>);
        if constexpr (std::endian::native == std::endian::big) value = CdrReader::swapped(value);
        append(&value, sizeof value, sizeof value);
    }

    void text(std::string_view value) noexcept {
        number(static_cast<std::uint32_t>(value.size() + 1));
        append(value.data(), value.size(), 1);
        append("", 1, 1);
    }

    void doubles(std::span<const double> values) noexcept {
        number(static_cast<std::uint32_t>(values.size()));
        for (const double value : values) number(value);
    }

    void octets(std::span<const std::uint8_t> values) noexcept {
        number(static_cast<std::uint32_t>(values.size()));
        append(values.data(), values.size(), 1);
    }

  private:
    void append(const void* source, std::size_t size, std::size_t alignment) noexcept {
        // Positions count from behind the encapsulation, which itself is written first.
        const std::size_t start = size_ < CdrReader::encapsulation_bytes ? 0 : CdrReader::encapsulation_bytes;
        const std::size_t padding = (alignment - (size_ - start) % alignment) % alignment;
        if (!ok_ || padding + size > memory_.size() - size_) {
            ok_ = false;
            return;
        }
        for (std::size_t i = 0; i < padding; ++i) memory_[size_ + i] = std::byte{0};
        size_ += padding;
        if (size > 0) std::memcpy(memory_.data() + size_, source, size);
        size_ += size;
    }

    std::span<std::byte> memory_;
    std::size_t size_ = 0;
    bool ok_ = true;
};

}  // namespace lastgate::kernel
