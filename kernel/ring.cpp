// SPDX-License-Identifier: Apache-2.0
#include "ring.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "test_point.hpp"

namespace lastgate::kernel {

static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "processes share these");
static_assert(std::atomic<std::uint32_t>::is_always_lock_free, "processes share these");

struct Ring::Header {
    std::uint32_t magic;
    std::uint32_t version;
    std::uint32_t slots;
    std::uint32_t slot_bytes;
    /// How many stops were asked for, above `stops_shift`, and the newest message that can be read, below it. One word,
    /// so that one step can ask for the first and change the second. Rings that are never stopped count none.
    alignas(64) std::atomic<std::uint64_t> newest;
    alignas(64) Event event;
};

/// `turn` is 2n when message n can be read and 2n - 1 while it is being written. The words of a message are
/// atomic, so that a reader that meets the writer reads mixed words, never undefined ones, and then sees the turn.
struct Ring::Slot {
    std::atomic<std::uint64_t> turn;
    std::atomic<std::uint64_t> origin;
    std::atomic<std::int64_t> written_ns;
    std::atomic<std::uint32_t> type;
    std::atomic<std::uint32_t> size;
    std::atomic<std::uint64_t>* words() noexcept { return reinterpret_cast<std::atomic<std::uint64_t>*>(this + 1); }
};

namespace {

constexpr std::uint32_t ring_magic = 0x6C67526EU;
constexpr std::uint32_t ring_version = 2;
/// Below it, a thousand messages a second for 34 years; above it, 16 million stops before their number begins again.
constexpr unsigned stops_shift = 40;
constexpr std::uint64_t newest_mask = (std::uint64_t{1} << stops_shift) - 1;
constexpr std::size_t header_bytes = 192;
constexpr std::size_t slot_head_bytes = 32;

}  // namespace

std::size_t RingShape::bytes() const noexcept { return header_bytes + std::size_t{slots} * (slot_head_bytes + slot_bytes); }

Ring::Header* Ring::header() const noexcept {
    static_assert(sizeof(Header) <= header_bytes && sizeof(Slot) == slot_head_bytes);
    return reinterpret_cast<Header*>(memory_.bytes().data());
}

Ring::Slot* Ring::slot(std::uint64_t sequence) const noexcept {
    const std::size_t index = (sequence - 1) % shape_.slots;
    return reinterpret_cast<Slot*>(memory_.bytes().data() + header_bytes + index * (slot_head_bytes + shape_.slot_bytes));
}

Ring Ring::create(const std::string& name, RingShape shape, SharedMemory::Pages pages) {
    if (shape.slots == 0 || shape.slot_bytes == 0 || shape.slot_bytes % 8 != 0) throw std::runtime_error("ring `" + name + "`: slots must be a multiple of 8 bytes");
    Ring ring;
    ring.memory_ = SharedMemory::create(name, shape.bytes(), pages);
    ring.shape_ = shape;
    Header* header = ring.header();
    header->slots = shape.slots;
    header->slot_bytes = shape.slot_bytes;
    header->version = ring_version;
    header->magic = ring_magic;
    return ring;
}

Ring Ring::open(const std::string& name, RingShape shape) {
    Ring ring;
    ring.memory_ = SharedMemory::open(name, shape.bytes());
    ring.shape_ = shape;
    const Header* header = ring.header();
    const bool same = header->magic == ring_magic && header->version == ring_version && header->slots == shape.slots && header->slot_bytes == shape.slot_bytes;
    if (!same) throw std::runtime_error("ring `" + name + "`: made by another version");
    return ring;
}

std::uint64_t Ring::fill_next_slot(MessageType type, std::span<const std::byte> payload, std::uint64_t origin) noexcept {
    if (payload.empty() || payload.size() > shape_.slot_bytes) return 0;
    const std::uint64_t sequence = newest() + 1;
    Slot* slot = this->slot(sequence);
    slot->turn.store(2 * sequence - 1, std::memory_order_relaxed);
    // Every store releases the turn before it: a reader of one of these words sees, after it, that a write began.
    slot->origin.store(origin, std::memory_order_release);
    slot->written_ns.store(monotonic_ns(), std::memory_order_release);
    slot->type.store(static_cast<std::uint32_t>(type), std::memory_order_release);
    slot->size.store(static_cast<std::uint32_t>(payload.size()), std::memory_order_release);
    for (std::size_t offset = 0, word = 0; offset < payload.size(); offset += 8, ++word) {
        std::uint64_t bits = 0;
        std::memcpy(&bits, payload.data() + offset, std::min<std::size_t>(8, payload.size() - offset));
        slot->words()[word].store(bits, std::memory_order_release);
    }
    slot->turn.store(2 * sequence, std::memory_order_release);
    return sequence;
}

std::uint64_t Ring::write(MessageType type, std::span<const std::byte> payload, std::uint64_t origin) noexcept {
    const std::uint64_t sequence = fill_next_slot(type, payload, origin);
    if (sequence == 0) return 0;
    header()->newest.store(sequence, std::memory_order_release);
    header()->event.signal();
    return sequence;
}

// Why no message comes after a stop. Asking (`ask_stop`) and passing on (below) each change the same atomic word, in one
// indivisible step, and all changes of one atomic word happen one after the other. So a stop comes either before or after
// the step in which a message passes. If it comes before, the word no longer holds `stops_heard`, and the step does
// nothing, now and whenever it is tried with that number. If it comes after, the message had passed when the stop was asked
// for. There is no third case, wherever either side is held up: the point at which a message passes is the exchange, and
// readers find no message before it, because they look for none beyond `newest`.
std::uint64_t Ring::write_unless_stopped(MessageType type, std::span<const std::byte> payload, std::uint64_t origin, std::uint32_t stops_heard) noexcept {
    LASTGATE_POINT("slot not begun");
    const std::uint64_t sequence = fill_next_slot(type, payload, origin);
    if (sequence == 0) return 0;
    LASTGATE_POINT("slot written");
    std::uint64_t expected = (std::uint64_t{stops_heard} << stops_shift) | (sequence - 1);
    if (!header()->newest.compare_exchange_strong(expected, expected + 1, std::memory_order_seq_cst)) return 0;
    LASTGATE_POINT("passed on");
    header()->event.signal();
    LASTGATE_POINT("event signalled");
    return sequence;
}

void Ring::ask_stop() noexcept { header()->newest.fetch_add(std::uint64_t{1} << stops_shift, std::memory_order_seq_cst); }

std::uint32_t Ring::stops_asked() const noexcept { return static_cast<std::uint32_t>(header()->newest.load(std::memory_order_seq_cst) >> stops_shift); }

bool Ring::read(std::uint64_t& cursor, MessageHead& head, std::span<std::byte> into, std::uint64_t& lost) const noexcept {
    while (true) {
        const std::uint64_t newest = this->newest();
        // A cursor beyond the newest belongs to a ring that is gone; nothing is there to be read.
        if (newest <= cursor) return false;
        if (newest - cursor > shape_.slots) {
            lost += newest - cursor - shape_.slots;
            cursor = newest - shape_.slots;
        }
        const std::uint64_t sequence = cursor + 1;
        Slot* slot = this->slot(sequence);
        cursor = sequence;
        const std::uint64_t turn = slot->turn.load(std::memory_order_acquire);
        // Copied out first; believed only if the writer did not write meanwhile.
        const std::uint32_t size = slot->size.load(std::memory_order_acquire);
        const bool fits = turn == 2 * sequence && size <= shape_.slot_bytes && size <= into.size();
        if (fits) {
            head = {sequence, slot->origin.load(std::memory_order_acquire), slot->written_ns.load(std::memory_order_acquire),
                    static_cast<MessageType>(slot->type.load(std::memory_order_acquire)), size};
            for (std::size_t offset = 0, word = 0; offset < size; offset += 8, ++word) {
                const std::uint64_t bits = slot->words()[word].load(std::memory_order_acquire);
                std::memcpy(into.data() + offset, &bits, std::min<std::size_t>(8, size - offset));
            }
            if (slot->turn.load(std::memory_order_relaxed) == turn) return true;
        }
        lost += 1;
    }
}

std::uint64_t Ring::newest() const noexcept { return header()->newest.load(std::memory_order_acquire) & newest_mask; }

Event& Ring::event() const noexcept { return header()->event; }

}  // namespace lastgate::kernel
