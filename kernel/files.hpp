// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace lastgate::kernel {

/// What the latch asks of a file system, and no more: a test puts one in its place that loses power, fills up or fails.
/// Calls return 0 or more on success and a negative errno otherwise; none of them throws or follows a symbolic link.
class Files {
  public:
    virtual ~Files() = default;

    /// Opens a folder that only its owner, who is this user, can write to; makes it (0700) when `make` and it is not there.
    virtual int open_folder(const std::string& path, bool make) noexcept = 0;
    /// Opens a plain file that belongs to this user alone.
    virtual int open_file(int folder, const std::string& name) noexcept = 0;
    /// Makes a file that was not there before.
    virtual int create_file(int folder, const std::string& name) noexcept = 0;
    /// Gives a file a second name, which must be free.
    virtual int link(int folder, const std::string& from, const std::string& to) noexcept = 0;
    /// Gives a file another name, in the place of what has it.
    virtual int rename(int folder, const std::string& from, const std::string& to) noexcept = 0;
    virtual int remove(int folder, const std::string& name) noexcept = 0;
    virtual int lock(int file) noexcept = 0;
    virtual int duplicate(int handle) noexcept = 0;
    virtual void close(int handle) noexcept = 0;

    /// How many bytes were read.
    virtual int read(int file, std::span<std::byte> bytes) noexcept = 0;
    /// Overwrites the beginning, all of it or an error.
    virtual int write(int file, std::span<const std::byte> bytes) noexcept = 0;
    /// Waits until the disk has kept the bytes of a file, or the names in a folder.
    virtual int sync_file(int file) noexcept = 0;
    virtual int sync_folder(int folder) noexcept = 0;
    /// Whether this path leads to this file, and it has no other name.
    virtual bool is_named(int file, const std::string& path) noexcept = 0;
};

/// Those of the system.
Files& system_files() noexcept;

}  // namespace lastgate::kernel
