// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <memory>

#include "kernel.hpp"

namespace lastgate::kernel {

/// Hands worlds from the thread that builds them to the thread that decides. Handing over is one pointer swap;
/// what is no longer used goes back the same way and is freed by the thread that built it.
class SnapshotMailbox {
  public:
    ~SnapshotMailbox() {
        delete incoming_.load();
        for (auto& old : retired_) delete old.load();
        delete current_;
    }

    /// Builder: puts a newer world in; one that was never taken is replaced.
    void put(std::unique_ptr<NamedWorld> world) {
        free_retired();
        delete incoming_.exchange(world.release(), std::memory_order_acq_rel);
    }
    /// Builder: frees what the other side no longer checks.
    void free_retired() {
        for (auto& old : retired_) delete old.exchange(nullptr, std::memory_order_acq_rel);
    }

    /// Decider: the newest world there is, or null before the first. Never waits, never frees.
    const NamedWorld* take() noexcept {
        // Checked before it is taken: a spinning decider comes by ten million times a second.
        if (incoming_.load(std::memory_order_acquire) == nullptr) return current_;
        // Room for the old one first; without it the old world is kept, and grows stale, until there is.
        for (auto& room : retired_) {
            if (room.load(std::memory_order_acquire) != nullptr) continue;
            NamedWorld* newer = incoming_.exchange(nullptr, std::memory_order_acq_rel);
            if (newer != nullptr) {
                room.store(current_, std::memory_order_release);
                current_ = newer;
            }
            break;
        }
        return current_;
    }

  private:
    std::atomic<NamedWorld*> incoming_{nullptr};
    std::array<std::atomic<NamedWorld*>, 4> retired_{};
    NamedWorld* current_ = nullptr;
};

}  // namespace lastgate::kernel
