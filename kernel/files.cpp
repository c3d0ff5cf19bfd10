// SPDX-License-Identifier: Apache-2.0
#include "files.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace lastgate::kernel {
namespace {

constexpr mode_t folder_mode = 0700;
constexpr mode_t file_mode = 0600;

int or_errno(int result) noexcept { return result < 0 ? -errno : result; }

/// Opened, and of this user, and writable by no other user; otherwise closed again.
int if_ours(int opened, mode_t kind) noexcept {
    if (opened < 0) return -errno;
    struct stat about {};
    int why = fstat(opened, &about) == 0 ? 0 : errno;
    if (why == 0 && ((about.st_mode & S_IFMT) != kind || about.st_uid != geteuid() || (about.st_mode & (S_IWGRP | S_IWOTH)) != 0)) why = EPERM;
    if (why == 0) return opened;
    ::close(opened);
    return -why;
}

class SystemFiles : public Files {
  public:
    int open_folder(const std::string& path, bool make) noexcept override {
        constexpr int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
        const int opened = open(path.c_str(), flags);
        if (opened >= 0 || errno != ENOENT || !make) return if_ours(opened, S_IFDIR);
        if (mkdir(path.c_str(), folder_mode) != 0 && errno != EEXIST) return -errno;
        return if_ours(open(path.c_str(), flags | O_NOFOLLOW), S_IFDIR);
    }
    int open_file(int folder, const std::string& name) noexcept override { return if_ours(openat(folder, name.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), S_IFREG); }
    int create_file(int folder, const std::string& name) noexcept override { return or_errno(openat(folder, name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, file_mode)); }
    int link(int folder, const std::string& from, const std::string& to) noexcept override { return or_errno(linkat(folder, from.c_str(), folder, to.c_str(), 0)); }
    int rename(int folder, const std::string& from, const std::string& to) noexcept override { return or_errno(renameat(folder, from.c_str(), folder, to.c_str())); }
    int remove(int folder, const std::string& name) noexcept override { return or_errno(unlinkat(folder, name.c_str(), 0)); }
    int lock(int file) noexcept override { return or_errno(flock(file, LOCK_EX | LOCK_NB)); }
    int duplicate(int handle) noexcept override { return or_errno(fcntl(handle, F_DUPFD_CLOEXEC, 0)); }
    void close(int handle) noexcept override { ::close(handle); }
    int read(int file, std::span<std::byte> bytes) noexcept override { return or_errno(static_cast<int>(pread(file, bytes.data(), bytes.size(), 0))); }
    int write(int file, std::span<const std::byte> bytes) noexcept override {
        const ssize_t size = pwrite(file, bytes.data(), bytes.size(), 0);
        if (size < 0) return -errno;
        return static_cast<std::size_t>(size) == bytes.size() ? 0 : -ENOSPC;  // a part of a record is no record
    }
    int sync_file(int file) noexcept override { return or_errno(fdatasync(file)); }
    int sync_folder(int folder) noexcept override { return or_errno(fsync(folder)); }
    bool is_named(int file, const std::string& path) noexcept override {
        struct stat mine {};
        struct stat named {};
        return fstat(file, &mine) == 0 && lstat(path.c_str(), &named) == 0 && mine.st_nlink == 1 && mine.st_dev == named.st_dev && mine.st_ino == named.st_ino;
    }
};

}  // namespace

Files& system_files() noexcept {
    static SystemFiles files;
    return files;
}

}  // namespace lastgate::kernel
