// SPDX-License-Identifier: Apache-2.0
// Whether a core was ours while something was measured on it: interrupts of the system and neighbours on its other
// hardware thread take longer than what is measured here, and say nothing about it.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>

namespace lastgate {

class CoreWatch {
  public:
    explicit CoreWatch(int core) : core_(core), file_(open("/proc/interrupts", O_RDONLY | O_CLOEXEC)) {}
    ~CoreWatch() {
        if (file_ >= 0) close(file_);
    }
    CoreWatch(const CoreWatch&) = delete;
    CoreWatch& operator=(const CoreWatch&) = delete;

    /// What the core has seen up to now. Take one before and one after; `is_ours` compares.
    struct Sample {
        std::optional<std::uint64_t> interrupts;
        double additions_ns = 0.0;
    };

    Sample sample_before() {
        const auto interrupts = count_interrupts();
        return {interrupts, time_additions()};
    }
    Sample sample_after() {
        const double took_ns = time_additions();
        return {count_interrupts(), took_ns};
    }

    /// To be asked when everything is measured: only then is it known how fast the core is by itself.
    bool is_ours(const Sample& before, const Sample& after) const {
        const double allowed_ns = slowest_share * fastest_ns_;
        return before.interrupts && before.interrupts == after.interrupts && before.additions_ns <= allowed_ns && after.additions_ns <= allowed_ns;
    }

    /// As many additions as the core does side by side, in registers. What takes them long is not memory, nor the code.
    static void add(int steps) {
        std::uint64_t a = 0, b = 0, c = 0, d = 0, e = 0, f = 0;
        for (int step = 0; step < steps; ++step) {
            ++a, ++b, ++c, ++d, ++e, ++f;
            asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
        }
    }

  private:
    /// Two threads that both add share the units that add, and take nearly twice as long. The fastest of all samples is
    /// up to a fifth faster than most.
    static constexpr double slowest_share = 1.4;

    /// The sum of the core's column; nothing when the system does not say.
    std::optional<std::uint64_t> count_interrupts() {
        static std::array<char, 1 << 16> text;
        std::size_t size = 0;
        for (;;) {
            const ssize_t got = file_ < 0 ? -1 : pread(file_, text.data() + size, text.size() - 1 - size, static_cast<off_t>(size));
            if (got < 0 || size + static_cast<std::size_t>(got) >= text.size() - 1) return std::nullopt;
            if (got == 0) break;
            size += static_cast<std::size_t>(got);
        }
        text[size] = '\0';
        std::uint64_t sum = 0;
        const char* at = text.data();
        for (bool heading = true; at < text.data() + size; heading = false) {
            const char* const end = std::find(at, static_cast<const char*>(text.data() + size), '\n');
            const char* colon = std::find(at, end, ':');
            if (!heading && colon != end) {
                char* next = const_cast<char*>(colon + 1);
                std::uint64_t count = 0;
                for (int column = 0; column <= core_ && next < end; ++column) count = std::strtoull(next, &next, 10);
                sum += count;
            }
            at = end + 1;
        }
        return sum;
    }

    /// The first pass fetches its own code.
    double time_additions() {
        double took_ns = 0.0;
        for (int pass = 0; pass < 2; ++pass) {
            using clock = std::chrono::steady_clock;
            const auto start = clock::now();
            add(1000);
            took_ns = std::chrono::duration<double, std::nano>(clock::now() - start).count();
        }
        fastest_ns_ = std::min(fastest_ns_, took_ns);
        return took_ns;
    }

    int core_;
    int file_;
    double fastest_ns_ = std::numeric_limits<double>::infinity();
};

}  // namespace lastgate
