// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace lastgate {

/// A piece of memory that processes share under a name. Whoever creates it removes what stood under that name;
/// processes that still look at the old one keep it, and notice that nobody writes to it any more.
class SharedMemory {
  public:
    SharedMemory() = default;
    ~SharedMemory();
    SharedMemory(SharedMemory&& other) noexcept;
    SharedMemory& operator=(SharedMemory&& other) noexcept;
    SharedMemory(const SharedMemory&) = delete;
    SharedMemory& operator=(const SharedMemory&) = delete;

    /// When the system must find room: now, or, for what is large and may never be used, with the first byte that is
    /// written to a page. Whoever writes that byte when there is no room any more is killed.
    enum class Pages : std::uint8_t { now, when_written };
    /// Throws std::runtime_error that says what the system answered.
    static SharedMemory create(const std::string& name, std::size_t bytes, Pages pages = Pages::now);
    /// Opens what is there, or creates it.
    static SharedMemory create_or_open(const std::string& name, std::size_t bytes);
    /// Throws std::runtime_error when there is no such memory, less of it than `bytes_min`, or it is another user's.
    static SharedMemory open(const std::string& name, std::size_t bytes_min);

    /// Claims the right to write, for as long as this object lives; false when another process has it.
    /// The system gives it back when a process dies, however it dies.
    [[nodiscard]] bool claim() noexcept;
    /// False when the name was removed since, or belongs to other memory now.
    [[nodiscard]] bool is_named(const std::string& name) const noexcept;

    std::span<std::byte> bytes() const noexcept { return {bytes_, size_}; }
    /// Removes the name; the memory goes when the last process lets go of it.
    static void remove(const std::string& name) noexcept;

  private:
    SharedMemory(int file, std::byte* bytes, std::size_t size) noexcept : file_(file), bytes_(bytes), size_(size) {}
    static SharedMemory map(int file, std::size_t bytes, const std::string& name);

    int file_ = -1;
    std::byte* bytes_ = nullptr;
    std::size_t size_ = 0;
};

/// Wakes those who wait, in whatever process. Ringing costs no system call while nobody waits. All zero is a bell.
class Bell {
  public:
    void ring() noexcept;
    std::uint32_t rung() const noexcept { return count_.load(std::memory_order_acquire); }
    /// Waits until it was rung more often than `seen`, for at most `timeout_ns`.
    void wait(std::uint32_t seen, std::int64_t timeout_ns) noexcept;

  private:
    std::atomic<std::uint32_t> count_;
    std::atomic<std::uint32_t> waiting_;  ///< One who died waiting stays in here: then ringing costs the call, no more.
};

/// Between two looks of somebody who waits without sleeping: leaves the core to its other thread, and the memory alone.
inline void rest_while_spinning() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

/// A clock that nobody can set.
std::int64_t monotonic_ns() noexcept;
/// The clock that sources stamp by.
double wall_clock_s() noexcept;

}  // namespace lastgate
