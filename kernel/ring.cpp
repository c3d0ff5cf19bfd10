// SPDX-License-Identifier: Apache-2.0
#include "ring.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace lastgate {

static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "processes share these");
static_assert(std::atomic<std::uint32_t>::is_always_lock_free, "processes share these");

struct Ring::Header {
    std::uint32_t magic;
    std::uint32_t version;
    std::uint32_t slots;
    std::uint32_t slot_bytes;
    alignas(64) std::atomic<std::uint64_t> newest;
    alignas(64) Bell bell;
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
constexpr std::uint32_t ring_version = 1;
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

std::uint64_t Ring::write(MessageType type, std::span<const std::byte> payload, std::uint64_t origin) noexcept {
    if (payload.empty() || payload.size() > shape_.slot_bytes) return 0;
    Header* header = this->header();
    const std::uint64_t sequence = header->newest.load(std::memory_order_relaxed) + 1;
    Slot* slot = this->slot(sequence);
    slot->turn.store(2 * sequence - 1, std::memory_order_relaxed);
    // Every store releases the turn before it: who reads one of these words sees, after it, that a write began.
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
    header->newest.store(sequence, std::memory_order_release);
    header->bell.ring();
    return sequence;
}

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
        // Copied out first; believed only if nobody wrote meanwhile.
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

std::uint64_t Ring::newest() const noexcept { return header()->newest.load(std::memory_order_acquire); }

Bell& Ring::bell() const noexcept { return header()->bell; }

}  // namespace lastgate
