// SPDX-License-Identifier: Apache-2.0
#include "channels.hpp"

#include <cstring>
#include <stdexcept>

namespace lastgate::kernel {
StatusBlockView StatusBlockView::create(std::string_view instance) {
    StatusBlockView view;
    view.memory_ = SharedMemory::create(ring_name(instance, "board"), sizeof(StatusBlock));
    view->version = StatusBlock::version_value;
    return view;
}

StatusBlockView StatusBlockView::open(std::string_view instance) {
    StatusBlockView view;
    view.memory_ = SharedMemory::open(ring_name(instance, "board"), sizeof(StatusBlock));
    if (view->magic != StatusBlock::magic_value || view->version != StatusBlock::version_value) throw std::runtime_error("the kernel `" + std::string(instance) + "` is not ready, or of another version");
    return view;
}

bool StatusBlockView::is_alive(std::int64_t now_ns) const noexcept {
    const std::int64_t age_ns = now_ns - (*this)->heartbeat_ns.load(std::memory_order_acquire);
    return age_ns >= -heartbeat_age_ns_max && age_ns <= heartbeat_age_ns_max;
}

LifecycleState StopLine::kernel_state() const noexcept {
    // In this order: where as many were heard as had been asked for before, `state` was written with all of them known.
    const std::uint32_t asked = safe_actions_.stops_asked();
    if (status_block_->stops_heard.load(std::memory_order_acquire) != asked) return LifecycleState::latched;
    return static_cast<LifecycleState>(status_block_->state.load(std::memory_order_acquire));
}

RegistrationSlot* register_as(std::array<RegistrationSlot, sources_max>& registrations, std::string_view name, std::uint64_t owner, std::int64_t now_ns, std::string_view holding) noexcept {
    const auto take = [&](RegistrationSlot& registration, std::uint64_t before) -> bool {
        if (!registration.owner.compare_exchange_strong(before, owner)) return false;
        registration.named.store(0, std::memory_order_release);
        put_text(registration.name, name);
        // What a source that comes back does not hold it has released; the latch it caused stays.
        if (!holding.empty()) put_text(registration.reason, holding);
        registration.asserted.store(holding.empty() ? 0 : 1, std::memory_order_relaxed);
        registration.acknowledged.store(0, std::memory_order_relaxed);
        registration.heartbeat_ns.store(now_ns, std::memory_order_relaxed);
        registration.named.store(1, std::memory_order_release);
        return true;
    };
    for (RegistrationSlot& registration : registrations) {
        const std::uint64_t holder = registration.owner.load(std::memory_order_acquire);
        if (holder == 0 || text_of(registration.name) != name) continue;
        // One name, one registration: the newcomer takes over from an owner that is gone, and waits for one that is
        // not.
        if (!live_name(registration, now_ns).empty()) return nullptr;
        return take(registration, holder) ? &registration : nullptr;
    }
    for (RegistrationSlot& registration : registrations) {
        if (registration.owner.load(std::memory_order_acquire) == 0 && take(registration, 0)) return &registration;
    }
    // Programs that died without leaving must not fill the status block. A stop that one of them holds is still held.
    for (RegistrationSlot& registration : registrations) {
        const std::uint64_t holder = registration.owner.load(std::memory_order_acquire);
        const bool sitting_down = registration.named.load(std::memory_order_acquire) != 1;
        const bool abandoned = !sitting_down && live_name(registration, now_ns).empty() && registration.asserted.load(std::memory_order_acquire) == 0;
        if (abandoned && take(registration, holder)) return &registration;
    }
    return nullptr;
}

std::string_view live_name(const RegistrationSlot& registration, std::int64_t now_ns) noexcept {
    if (registration.owner.load(std::memory_order_acquire) == 0 || registration.named.load(std::memory_order_acquire) != 1) return {};
    const std::int64_t age_ns = now_ns - registration.heartbeat_ns.load(std::memory_order_acquire);
    if (!(age_ns >= -registration_age_ns_max && age_ns <= registration_age_ns_max)) return {};
    return text_of(registration.name);
}

}  // namespace lastgate::kernel
