// SPDX-License-Identifier: Apache-2.0
#include "shared_memory.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace lastgate::kernel {
namespace {

[[noreturn]] void refuse(const std::string& name, const std::string& what) {
    throw std::runtime_error("shared memory `" + name + "`: " + what);
}

// Only the user who runs the kernel may look in.
constexpr mode_t owner_only = 0600;
constexpr mode_t folder_mode = 0700;
/// Every user may make folders in the system's memory, and none but root can remove another's. Of the names that a user's
/// folder may have, this many would have to be taken by strangers before a kernel cannot start, and then it says so.
constexpr int folders_max = 1000;
std::string folder_path(uid_t user, int number) { return "/dev/shm/lastgate-" + std::to_string(user) + (number == 0 ? "" : "-" + std::to_string(number)); }

/// Opens it, if it is a folder that this user alone can look into; -1 otherwise, with errno 0 when it is another's.
int open_if_of(uid_t user, const std::string& path) noexcept {
    const int folder = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0) return -1;
    struct stat about {};
    if (fstat(folder, &about) == 0 && about.st_uid == user && (about.st_mode & 0077) == 0) return folder;
    close(folder);
    errno = 0;
    return -1;
}

struct Folder {
    int file = -1;
    std::string path;
};

/// The folder in which a user's kernels meet their clients: the first that belongs to the user.
Folder find_folder(uid_t user) {
    for (int number = 0; number < folders_max; ++number) {
        const std::string path = folder_path(user, number);
        const int file = open_if_of(user, path);
        if (file >= 0) return {file, path};
    }
    return {};
}

Folder find_or_make_folder() {
    const uid_t user = geteuid();
    if (Folder found = find_folder(user); found.file >= 0) return found;
    for (int number = 0; number < folders_max; ++number) {
        const std::string path = folder_path(user, number);
        if (mkdir(path.c_str(), folder_mode) != 0 && errno != EEXIST) return {};
        const int file = open_if_of(user, path);
        if (file >= 0) return {file, path};
    }
    return {};
}

/// The user that a name begins with, by login name or by number; nothing when there is no such user.
std::optional<uid_t> user_of(std::string_view text) {
    uid_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc{} && end == text.data() + text.size()) return number;
    const passwd* found = text.empty() ? nullptr : getpwnam(std::string(text).c_str());
    if (found == nullptr) return std::nullopt;
    return found->pw_uid;
}

/// A name is that of a file in a folder, and nothing that leads anywhere else.
bool is_plain(const std::string& name) noexcept { return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos; }

/// Opens or makes a file in this user's folder; -1 with errno when it cannot.
int open_own(const std::string& name, int flags) {
    errno = EINVAL;
    if (!is_plain(name)) return -1;
    const Folder folder = (flags & O_CREAT) != 0 ? find_or_make_folder() : find_folder(geteuid());
    if (folder.file < 0) {
        if ((flags & O_CREAT) == 0 || errno == 0) errno = ENOENT;
        return -1;
    }
    const int file = openat(folder.file, name.c_str(), flags | O_NOFOLLOW | O_CLOEXEC, owner_only);
    const int why = errno;
    close(folder.file);
    errno = why;
    return file;
}

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
    const int file = open_own(name, O_RDWR | O_CREAT | O_EXCL);
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
    const int file = open_own(name, O_RDWR | O_CREAT);
    if (file < 0) refuse(name, std::strerror(errno));
    if (ftruncate(file, static_cast<off_t>(bytes)) != 0) {
        const int why = errno;
        close(file);
        refuse(name, std::strerror(why));
    }
    return map(file, bytes, name);
}

SharedMemory SharedMemory::open(const std::string& name, std::size_t bytes_min) {
    const std::size_t slash = name.find('/');
    const std::string file_name = slash == std::string::npos ? name : name.substr(slash + 1);
    // Without a user the caller means its own, and so does root: another's kernel could say anything.
    const std::optional<uid_t> user = slash == std::string::npos ? geteuid() : user_of(std::string_view(name).substr(0, slash));
    if (!user) refuse(name, "there is no such user");
    if (!is_plain(file_name)) refuse(name, "not a name");
    const Folder folder = find_folder(*user);
    if (folder.file < 0) refuse(name, "not there; is the kernel running?");
    const int file = openat(folder.file, file_name.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    const int why = errno;
    close(folder.file);
    if (file < 0) refuse(name, why == ENOENT ? "not there; is the kernel running?" : std::strerror(why));
    struct stat about {};
    if (fstat(file, &about) != 0 || about.st_uid != *user || !S_ISREG(about.st_mode)) {
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
    const int other = open_own(name, O_RDONLY);
    if (other < 0) return false;
    struct stat mine {};
    struct stat theirs {};
    const bool same = fstat(file_, &mine) == 0 && fstat(other, &theirs) == 0 && mine.st_dev == theirs.st_dev && mine.st_ino == theirs.st_ino;
    close(other);
    return same;
}

void SharedMemory::remove(const std::string& name) noexcept {
    if (!is_plain(name)) return;
    const Folder folder = find_folder(geteuid());
    if (folder.file < 0) return;
    unlinkat(folder.file, name.c_str(), 0);
    close(folder.file);
}

std::string SharedMemory::folder(const std::string& user) {
    const std::optional<uid_t> number = user.empty() ? geteuid() : user_of(user);
    if (!number) return {};
    const Folder found = find_folder(*number);
    if (found.file >= 0) close(found.file);
    return found.path;
}

void Event::signal() noexcept {
    // Both sides: first say what is, then check the other. In one total order, one of them sees the other.
    count_.fetch_add(1, std::memory_order_seq_cst);
    if (waiting_.load(std::memory_order_seq_cst) > 0) syscall(SYS_futex, &count_, FUTEX_WAKE, 0x7FFFFFFF, nullptr, nullptr, 0);
}

void Event::wait(std::uint32_t seen, std::int64_t timeout_ns) noexcept {
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

}  // namespace lastgate::kernel
