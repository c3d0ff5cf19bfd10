// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <string>

#include "files.hpp"
#include "latch.hpp"

namespace lastgate::kernel {

/// The latch on disk. Its file has one fixed size and is overwritten in place, so that a stop can be written down
/// when the disk is full; the system keeps what was written even if the process is killed in the next instant.
///
/// A record stands in the file, for the next kernel, once `write` has returned true, and is there after a power cut once
/// `sync` has. A file that was removed, replaced or moved away under us is made anew by the next `write`.
class LatchFile {
  public:
    /// Opens or creates the file and claims it. Throws std::runtime_error when that is not possible, when another kernel
    /// holds it, or when the file or its folder could be written by another user.
    explicit LatchFile(const std::string& path, Files& files = system_files());
    ~LatchFile();
    LatchFile(const LatchFile&) = delete;
    LatchFile& operator=(const LatchFile&) = delete;

    /// What the kernel before this one left. A new file is a latch that was never used; any other file that cannot
    /// be read is a stop.
    LatchRecord read() const noexcept;
    /// Hands the record to the system; false when it would not take it. Does not wait for the disk.
    [[nodiscard]] bool write(const LatchRecord& record) noexcept;
    /// Waits for the disk; false when it has not kept all that was written before. May run beside `write`.
    [[nodiscard]] bool sync() noexcept;
    /// False when the file no longer has its name, or has another one beside it.
    [[nodiscard]] bool is_in_place() const noexcept;

  private:
    int create(const LatchRecord& record, bool replaces) noexcept;

    Files& files_;
    std::string path_;
    std::string folder_path_;
    std::string name_;
    mutable std::mutex handles_;  ///< Held to exchange or to copy a handle, never while the disk is waited for.
    int folder_ = -1;
    int file_ = -1;
};

}  // namespace lastgate::kernel
