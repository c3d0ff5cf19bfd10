// SPDX-License-Identifier: Apache-2.0
#include "instance.hpp"

#include <stdexcept>

#include "channels.hpp"

namespace lastgate::kernel {
namespace {

SharedMemory claimed_lock(const std::string& instance) {
    const std::string name = ring_name(instance, "lock");
    while (true) {
        SharedMemory lock = SharedMemory::create_or_open(name, 8);
        if (!lock.claim()) throw std::runtime_error("a kernel for `" + instance + "` is already running");
        // The kernel before us removes the name when it ends. Opened before that and claimed after it, this would be a lock
        // that no other process can find.
        if (lock.is_named(name)) return lock;
    }
}

}  // namespace

Instance::Instance(const std::string& name) : name_(name), lock_(claimed_lock(name)) {}

Instance::~Instance() {
    for (const char* ring : {"board", "safe_actions", "failures", "statuses", "traces", "inputs"}) SharedMemory::remove(ring_name(name_, ring));
    for (std::size_t channel = 0; channel < channels_max; ++channel) {
        for (const char* ring : {"chunks", "states", "worlds", "verdicts"}) SharedMemory::remove(channel_ring_name(name_, ring, channel));
    }
    SharedMemory::remove(ring_name(name_, "lock"));  // last, and while it is still ours
}

bool remove_what_a_killed_kernel_left(const std::string& instance) noexcept try {
    const Instance claimed(instance);
    return true;
} catch (const std::exception&) {
    return false;
}

}  // namespace lastgate::kernel
