// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "shared_memory.hpp"

namespace lastgate::kernel {

/// The right to be the kernel of a name, for as long as this object lives. The system gives it back when a process dies,
/// however it dies; what a killed one left under the name is removed by the next owner of the name.
class Instance {
  public:
    /// Throws std::runtime_error when another process has it.
    explicit Instance(const std::string& name);
    /// Removes everything that has this name, the lock last.
    ~Instance();
    Instance(const Instance&) = delete;
    Instance& operator=(const Instance&) = delete;

  private:
    std::string name_;
    SharedMemory lock_;
};

/// Removes what a kernel that was killed left in memory; false when one is running, and nothing was removed.
bool remove_what_a_killed_kernel_left(const std::string& instance) noexcept;

}  // namespace lastgate::kernel
