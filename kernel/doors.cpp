// SPDX-License-Identifier: Apache-2.0
#include "doors.hpp"

#include <cstring>
#include <stdexcept>

namespace lastgate {
BoardView BoardView::create(std::string_view instance) {
    BoardView view;
    view.memory_ = SharedMemory::create(ring_name(instance, "board"), sizeof(Board));
    view->version = Board::version_value;
    return view;
}

BoardView BoardView::open(std::string_view instance) {
    BoardView view;
    view.memory_ = SharedMemory::open(ring_name(instance, "board"), sizeof(Board));
    if (view->magic != Board::magic_value || view->version != Board::version_value) throw std::runtime_error("the kernel `" + std::string(instance) + "` is not ready, or of another version");
    return view;
}

bool BoardView::is_alive(std::int64_t now_ns) const noexcept {
    const std::int64_t age_ns = now_ns - (*this)->heartbeat_ns.load(std::memory_order_acquire);
    return age_ns >= -heartbeat_age_ns_max && age_ns <= heartbeat_age_ns_max;
}

BoardSeat* take_seat(std::array<BoardSeat, sources_max>& seats, std::string_view name, std::uint64_t owner, std::int64_t now_ns, std::string_view holding) noexcept {
    const auto take = [&](BoardSeat& seat, std::uint64_t before) -> bool {
        if (!seat.owner.compare_exchange_strong(before, owner)) return false;
        seat.named.store(0, std::memory_order_release);
        put_text(seat.name, name);
        // What a source that comes back does not hold it has let go of; the latch it caused stays.
        if (!holding.empty()) put_text(seat.reason, holding);
        seat.asserted.store(holding.empty() ? 0 : 1, std::memory_order_relaxed);
        seat.acknowledged.store(0, std::memory_order_relaxed);
        seat.heartbeat_ns.store(now_ns, std::memory_order_relaxed);
        seat.named.store(1, std::memory_order_release);
        return true;
    };
    for (BoardSeat& seat : seats) {
        const std::uint64_t holder = seat.owner.load(std::memory_order_acquire);
        if (holder == 0 || text_of(seat.name) != name) continue;
        // One name, one seat: the newcomer takes over from an owner that is gone, and waits for one that is not.
        if (!live_name(seat, now_ns).empty()) return nullptr;
        return take(seat, holder) ? &seat : nullptr;
    }
    for (BoardSeat& seat : seats) {
        if (seat.owner.load(std::memory_order_acquire) == 0 && take(seat, 0)) return &seat;
    }
    // Those who died without leaving must not fill the board. A stop that one of them holds is still held.
    for (BoardSeat& seat : seats) {
        const std::uint64_t holder = seat.owner.load(std::memory_order_acquire);
        const bool sitting_down = seat.named.load(std::memory_order_acquire) != 1;
        const bool abandoned = !sitting_down && live_name(seat, now_ns).empty() && seat.asserted.load(std::memory_order_acquire) == 0;
        if (abandoned && take(seat, holder)) return &seat;
    }
    return nullptr;
}

std::string_view live_name(const BoardSeat& seat, std::int64_t now_ns) noexcept {
    if (seat.owner.load(std::memory_order_acquire) == 0 || seat.named.load(std::memory_order_acquire) != 1) return {};
    const std::int64_t age_ns = now_ns - seat.heartbeat_ns.load(std::memory_order_acquire);
    if (!(age_ns >= -seat_age_ns_max && age_ns <= seat_age_ns_max)) return {};
    return text_of(seat.name);
}

}  // namespace lastgate
