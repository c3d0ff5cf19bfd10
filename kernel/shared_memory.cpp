// SPDX-License-Identifier: Apache-2.0
#include "shared_memory.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace lastgate {
namespace {

[[noreturn]] void refuse(const std::string& name, const std::string& what) {
    throw std::runtime_error("shared memory `" + name + "`: " + what);
}

// Only the user who runs the kernel may look in.
constexpr mode_t owner_only = 0600;

/// What a kernel makes can be opened by its own user and by root. Anything else that can be opened is no kernel's: anybody
/// may put a file of this name there while no kernel runs.
bool is_ours(const struct stat& about) noexcept { return geteuid() == 0 || about.st_uid == geteuid() || about.st_uid == 0; }

}  // namespace

SharedMemory::~SharedMemory() {
    if (bytes_ != nullptr) munmap(bytes_, size_);
    if (file_ >= 0) close(file_);
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept : file_(std::exchange(other.file_, -1)), bytes_(std::exchange(other.bytes_, nullptr)), size_(std::exchange(other.size_, 0)) {}

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
    std::swap(file_, other.file_);
    std::swap(bytes_, other.bytes_);
    std::swap(size_, other.size_);
    return *this;
}

SharedMemory SharedMemory::map(int file, std::size_t bytes, const std::string& name) {
    void* address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (address == MAP_FAILED) {
        const int why = errno;
        close(file);
        refuse(name, std::strerror(why));
    }
    return {file, static_cast<std::byte*>(address), bytes};
}

SharedMemory SharedMemory::create(const std::string& name, std::size_t bytes, Pages pages) {
    remove(name);
    const int file = shm_open(("/" + name).c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, owner_only);
    if (file < 0) refuse(name, std::strerror(errno));
    int why = ftruncate(file, static_cast<off_t>(bytes)) == 0 ? 0 : errno;
    if (why == 0 && pages == Pages::now) why = posix_fallocate(file, 0, static_cast<off_t>(bytes));
    if (why != 0) {
        close(file);
        remove(name);
        refuse(name, std::strerror(why));
    }
    return map(file, bytes, name);
}

SharedMemory SharedMemory::create_or_open(const std::string& name, std::size_t bytes) {
    const int file = shm_open(("/" + name).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, owner_only);
    if (file < 0) refuse(name, std::strerror(errno));
    if (ftruncate(file, static_cast<off_t>(bytes)) != 0) {
        const int why = errno;
        close(file);
        refuse(name, std::strerror(why));
    }
    return map(file, bytes, name);
}

SharedMemory SharedMemory::open(const std::string& name, std::size_t bytes_min) {
    const int file = shm_open(("/" + name).c_str(), O_RDWR | O_CLOEXEC, 0);
    if (file < 0) refuse(name, errno == ENOENT ? "not there; is the kernel running?" : std::strerror(errno));
    struct stat about {};
    if (fstat(file, &about) != 0 || !is_ours(about)) {
        close(file);
        refuse(name, "belongs to another user, who could say anything in it");
    }
    if (about.st_size < 0 || static_cast<std::size_t>(about.st_size) < bytes_min) {
        close(file);
        refuse(name, "smaller than it must be; is the kernel of another version?");
    }
    return map(file, static_cast<std::size_t>(about.st_size), name);
}

bool SharedMemory::claim() noexcept { return flock(file_, LOCK_EX | LOCK_NB) == 0; }

bool SharedMemory::is_named(const std::string& name) const noexcept {
    const int other = shm_open(("/" + name).c_str(), O_RDONLY | O_CLOEXEC, 0);
    if (other < 0) return false;
    struct stat mine {};
    struct stat theirs {};
    const bool same = fstat(file_, &mine) == 0 && fstat(other, &theirs) == 0 && mine.st_dev == theirs.st_dev && mine.st_ino == theirs.st_ino;
    close(other);
    return same;
}

void SharedMemory::remove(const std::string& name) noexcept { shm_unlink(("/" + name).c_str()); }

void Bell::ring() noexcept {
    // Both sides: first say what is, then look at the other. In one total order, one of them sees the other.
    count_.fetch_add(1, std::memory_order_seq_cst);
    if (waiting_.load(std::memory_order_seq_cst) > 0) syscall(SYS_futex, &count_, FUTEX_WAKE, 0x7FFFFFFF, nullptr, nullptr, 0);
}

void Bell::wait(std::uint32_t seen, std::int64_t timeout_ns) noexcept {
    static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t), "the system waits on the plain word");
    timespec timeout{};
    timeout.tv_sec = timeout_ns / 1'000'000'000;
    timeout.tv_nsec = timeout_ns % 1'000'000'000;
    waiting_.fetch_add(1, std::memory_order_seq_cst);
    if (count_.load(std::memory_order_seq_cst) == seen) syscall(SYS_futex, &count_, FUTEX_WAIT, seen, &timeout, nullptr, 0);
    waiting_.fetch_sub(1, std::memory_order_seq_cst);
}

std::int64_t monotonic_ns() noexcept {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

double wall_clock_s() noexcept {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace lastgate
