// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "lastgate/world_snapshot.hpp"

namespace lastgate {

/// Hands snapshots from the one thread that fills them to the one thread that checks against them.
///
/// Of three buffers one is being filled, one was published last, one is being read. Publishing and taking are one
/// exchange of an index each, so neither side waits for the other or copies anything, however long filling takes.
/// This is the only atomic of the core: everything else belongs to one thread.
/// Old fields are let go by the filling thread, when it begins the buffer again, never by a check.
class SnapshotExchange {
  public:
    /// The buffer to fill; begin it first. Only for the filling thread.
    WorldSnapshot& filling() noexcept { return buffers_[filling_]; }

    /// Makes what was filled the newest snapshot. Only for the filling thread.
    void publish() noexcept { filling_ = middle_.exchange(static_cast<std::uint8_t>(filling_ | fresh), std::memory_order_acq_rel) & index_mask; }

    /// The newest snapshot published so far, unchanged until the next call. Before the first it is one that nobody
    /// filled, which every check calls unavailable. Only for the checking thread.
    const WorldSnapshot& newest() noexcept {
        if ((middle_.load(std::memory_order_relaxed) & fresh) != 0) reading_ = middle_.exchange(reading_, std::memory_order_acq_rel) & index_mask;
        return buffers_[reading_];
    }

  private:
    static constexpr std::uint8_t index_mask = 3;
    static constexpr std::uint8_t fresh = 4;  ///< Set while nobody has taken what is in the middle.

    std::array<WorldSnapshot, 3> buffers_;
    std::uint8_t filling_ = 0;
    std::uint8_t reading_ = 1;
    std::atomic<std::uint8_t> middle_{2};
};

}  // namespace lastgate
