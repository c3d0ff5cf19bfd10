// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "latch.hpp"

namespace lastgate {

/// The latch on disk. Its file has one fixed size and is overwritten in place, so that a stop can be written down
/// when the disk is full; the system keeps what was written even if the process is killed in the next instant.
class LatchFile {
  public:
    /// Opens or creates the file and claims it. Throws std::runtime_error when that is not possible, or when another
    /// kernel holds it.
    explicit LatchFile(const std::string& path);
    ~LatchFile();
    LatchFile(const LatchFile&) = delete;
    LatchFile& operator=(const LatchFile&) = delete;

    /// What the kernel before this one left. A new file is a latch that was never used; any other file that cannot
    /// be read is a stop.
    LatchRecord read() const noexcept;
    /// Hands the record to the system; false when it would not take it. `sync` waits for the disk.
    [[nodiscard]] bool write(const LatchRecord& record) noexcept;
    void sync() noexcept;

  private:
    int file_ = -1;
};

}  // namespace lastgate
