// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace lastgate::kernel {

/// A block of memory that processes share under a name, in a folder that its user alone can look into. The creator removes what stood under that name;
/// processes that still check the old one keep it, and notice that it is no longer written.
class SharedMemory {
  public:
    SharedMemory() = default;
    ~SharedMemory();
    SharedMemory(SharedMemory&& other) noexcept;
    SharedMemory& operator=(SharedMemory&& other) noexcept;
    SharedMemory(const SharedMemory&) = delete;
    SharedMemory& operator=(const SharedMemory&) = delete;

    /// When the system must find room: now, or, for what is large and may never be used, with the first byte that is
    /// written to a page. A process that writes that byte when there is no room any more is killed.
    enum class Pages : std::uint8_t { now, when_written };
    /// Throws std::runtime_error that says what the system answered.
    static SharedMemory create(const std::string& name, std::size_t bytes, Pages pages = Pages::now);
    /// Opens what is there, or creates it.
    static SharedMemory create_or_open(const std::string& name, std::size_t bytes);
    /// `USER/NAME` is the memory of that user, a plain name that of one's own, for root too. Throws std::runtime_error when
    /// there is no such memory, less of it than `bytes_min`, or it is another user's.
    static SharedMemory open(const std::string& name, std::size_t bytes_min);

    /// Claims the right to write, for as long as this object lives; false when another process has it.
    /// The system gives it back when a process dies, however it dies.
    [[nodiscard]] bool claim() noexcept;
    /// False when the name was removed since, or belongs to other memory now.
    [[nodiscard]] bool is_named(const std::string& name) const noexcept;

    std::span<std::byte> bytes() const noexcept { return {bytes_, size_}; }
    /// Removes the name; the memory goes when the last process unmaps it.
    static void remove(const std::string& name) noexcept;
    /// Where the memory of a user lies (a login name, a number, or empty for one's own); empty when there is none.
    static std::string folder(const std::string& user);

  private:
    SharedMemory(int file, std::byte* bytes, std::size_t size) noexcept : file_(file), bytes_(bytes), size_(size) {}
    static SharedMemory map(int file, std::size_t bytes, const std::string& name);

    int file_ = -1;
    std::byte* bytes_ = nullptr;
    std::size_t size_ = 0;
};

/// Wakes every waiting thread, in whatever process. Signalling costs no system call while no thread waits. All zero is
/// an event.
class Event {
  public:
    void signal() noexcept;
    std::uint32_t signals() const noexcept { return count_.load(std::memory_order_acquire); }
    /// Waits until it was signalled more often than `seen`, for at most `timeout_ns`.
    void wait(std::uint32_t seen, std::int64_t timeout_ns) noexcept;

  private:
    std::atomic<std::uint32_t> count_;
    std::atomic<std::uint32_t> waiting_;  ///< A thread that died waiting stays in here: then ringing costs the call, no more.
};

/// Between two polls of a thread that waits without sleeping: leaves the core to its other thread, and the memory
/// alone.
inline void rest_while_spinning() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

/// The monotonic clock, which cannot be set.
std::int64_t monotonic_ns() noexcept;
/// The clock that sources stamp by.
double wall_clock_s() noexcept;

}  // namespace lastgate::kernel
