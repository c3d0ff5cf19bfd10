// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>

namespace lastgate::fuzz {

/// Numbers out of raw bytes; zeros when they run out.
class ByteSource {
  public:
    ByteSource(const std::uint8_t* data, std::size_t size) : rest_(data, size) {}

    bool empty() const { return rest_.empty(); }

    template <typename Value>
    Value take() {
        Value value{};
        const std::size_t count = std::min(sizeof value, rest_.size());
        std::memcpy(&value, rest_.data(), count);
        rest_ = rest_.subspan(count);
        return value;
    }

    std::uint8_t byte() { return take<std::uint8_t>(); }

    /// Mostly plausible values around `scale`, sometimes any bit pattern, sometimes the famous ones.
    double number(double scale) {
        const std::uint8_t kind = byte();
        constexpr double famous[] = {0.0, -0.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                                     -std::numeric_limits<double>::infinity(), std::numeric_limits<double>::denorm_min(),
                                     std::numeric_limits<double>::max(), -std::numeric_limits<double>::max(), 1e4, -1e4, 1e-300};
        if (kind < 200) return scale * static_cast<double>(take<std::int16_t>()) / 32768.0;
        if (kind < 211) return famous[kind - 200];
        if (kind < 230) return take<double>();
        return scale * static_cast<double>(take<std::int32_t>()) / 2147483648.0;
    }

  private:
    std::span<const std::uint8_t> rest_;
};

}  // namespace lastgate::fuzz
