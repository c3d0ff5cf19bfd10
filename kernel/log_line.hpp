// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>
#include <unistd.h>

#include <string_view>

namespace lastgate::kernel {

/// Says something on stderr, unless that would have to wait: a full pipe must not hold up a thread of
/// the kernel. Lines stay below what a pipe takes whole. Tells whether it was said.
inline bool say_without_waiting(std::string_view line) noexcept {
    pollfd out{STDERR_FILENO, POLLOUT, 0};
    if (poll(&out, 1, 0) != 1 || out.revents != POLLOUT) return false;  // room for it, and a reader at the other end
    return write(STDERR_FILENO, line.data(), line.size()) == static_cast<ssize_t>(line.size());
}

}  // namespace lastgate::kernel
