// SPDX-License-Identifier: Apache-2.0
#include "latch.hpp"

#include <cmath>
#include <cstring>
#include <limits>

#include "text_writer.hpp"

namespace lastgate::kernel {
namespace {

constexpr std::uint32_t latch_magic = 0x4C474C31U;  // "LGL1"

/// FNV-1a: finds torn writes and bit rot, which is all that happens to a file of our own.
std::uint64_t digest(std::span<const std::byte> bytes) noexcept {
    std::uint64_t hash = 0xCBF29CE484222325U;
    for (const std::byte byte : bytes) hash = (hash ^ static_cast<std::uint64_t>(byte)) * 0x100000001B3U;
    return hash;
}

template <typename Text>
void put_text(const Text& text, std::byte*& at, std::size_t room) noexcept {
    const std::string_view view = text.view();
    *at++ = static_cast<std::byte>(view.size());
    if (!view.empty()) std::memcpy(at, view.data(), view.size());
    at += room;
}

template <typename Text>
bool get_text(Text& text, const std::byte*& at, std::size_t room) noexcept {
    const auto size = static_cast<std::size_t>(*at++);
    if (size > room) return false;
    text.assign({reinterpret_cast<const char*>(at), size});
    at += room;
    return true;
}

constexpr std::uint32_t latched_flag = 1;
constexpr std::uint32_t held_flag = 2;
constexpr std::size_t source_room = 32;
constexpr std::size_t reason_room = 160;
constexpr std::size_t digest_at = latch_file_bytes - sizeof(std::uint64_t);
static_assert(4 + 4 + 4 + 1 + source_room + 1 + reason_room <= digest_at);

}  // namespace

bool Latch::require_actuator(std::string_view name) noexcept {
    if (actuator_count_ == actuators_.size()) return false;
    actuators_[actuator_count_++].name.assign(name);
    return true;
}

void Latch::restore(const LatchRecord& record) noexcept {
    record_ = record;
    has_last_stop_ = false;
    record_.held = false;
    if (record.held) stop("kernel", "something was held when the kernel before this one ended: attach it again, then reset", std::numeric_limits<double>::quiet_NaN());
}

bool Latch::advance(double now_s) noexcept {
    if (!std::isfinite(now_s)) return false;
    latest_s_ = has_latest_ && latest_s_ > now_s ? latest_s_ : now_s;
    has_latest_ = true;
    return true;
}

void Latch::stop(std::string_view source, std::string_view reason, double now_s) noexcept {
    if (!record_.latched) {
        record_.latched = true;
        record_.sequence += 1;  // wraps like the uint32 of SafetyStatus
        for (Actuator& actuator : actuators_) actuator.acknowledged = false;
    }
    stops_ += 1;
    record_.source.assign(source);
    record_.reason.assign(reason);
    has_last_stop_ = advance(now_s);
    last_stop_s_ = latest_s_;
}

void Latch::trip(std::string_view source, std::string_view reason, double now_s) noexcept { stop(source, reason, now_s); }

void Latch::restore_source(std::string_view source, std::string_view reason) noexcept {
    const SourceName name(source);
    Held* place = nullptr;
    for (Held& held : held_) {
        if (held.asserted && held.source.view() == name.view()) {
            place = &held;
            break;
        }
        if (!held.asserted && place == nullptr) place = &held;
    }
    if (place != nullptr) *place = {name, reason, true};
    else too_many_held_ = true;
}

void Latch::restore_acknowledgement(std::string_view actuator) noexcept {
    for (Actuator& known : actuators_) {
        if (known.name.view() == actuator) known.acknowledged = true;
    }
}

void Latch::assert_source(std::string_view source, std::string_view reason, double now_s) noexcept {
    restore_source(source, reason);
    stop(source, reason, now_s);
}

bool Latch::release_source(std::string_view source) noexcept {
    const SourceName name(source);
    bool held_it = false;
    for (Held& held : held_) {
        if (!held.asserted || held.source.view() != name.view()) continue;
        held.asserted = false;
        held_it = true;
    }
    return held_it;
}

bool Latch::is_asserted(std::string_view source) const noexcept {
    const SourceName name(source);
    for (const Held& held : held_) {
        if (held.asserted && held.source.view() == name.view()) return true;
    }
    return false;
}

bool Latch::acknowledge(std::string_view actuator, std::uint32_t sequence) noexcept {
    if (!record_.latched || sequence != record_.sequence) return false;
    for (std::size_t i = 0; i < actuator_count_; ++i) {
        if (actuators_[i].name.view() != actuator) continue;
        actuators_[i].acknowledged = true;
        return true;
    }
    return false;
}

Latch::Reset Latch::reset(double now_s) noexcept {
    // Even a reset with nothing to do tells the time: a stop stamped earlier must not cool down sooner.
    const bool is_time = advance(now_s);
    if (!record_.latched) return {true, {"not latched, nothing to reset"}};
    std::array<char, reset_message_bytes_max> memory;
    TextWriter message(memory);
    std::string_view separator = "reset refused: ";
    const auto refused = [&]() -> TextWriter& {
        message.text(separator);
        separator = "; ";
        return message;
    };
    if (too_many_held_) refused().text("more than ").count(sources_max).text(" sources were asserted at once; restart");
    for (const Held& held : held_) {
        if (held.asserted) refused().text("source `").text(held.source.view()).text("` is still asserted (").text(held.reason.view()).text(")");
    }
    for (const Actuator& actuator : actuators()) {
        if (!actuator.acknowledged) refused().text("actuator `").text(actuator.name.view()).text("` has not acknowledged the stop");
    }
    if (!is_time) refused().text("what the clock says is not a time");
    if (is_time && !has_last_stop_) {
        last_stop_s_ = latest_s_;
        has_last_stop_ = true;
    }
    const double elapsed_s = latest_s_ - last_stop_s_;
    if (is_time && !(elapsed_s >= cooldown_s_)) {
        refused().text("cooling down, ").number(elapsed_s, 3).text(" s of ").number(cooldown_s_, 3).text(" s since the most recent stop");
    }
    if (!message.view().empty()) return {false, message.view()};
    record_.latched = false;
    record_.sequence += 1;
    record_.source = {};
    record_.reason = {};
    has_last_stop_ = false;
    return {true, {"reset"}};
}

void encode_latch(const LatchRecord& record, std::span<std::byte, latch_file_bytes> bytes) noexcept {
    std::memset(bytes.data(), 0, bytes.size());
    const std::uint32_t flags = (record.latched ? latched_flag : 0) | (record.held ? held_flag : 0);
    std::memcpy(bytes.data(), &latch_magic, 4);
    std::memcpy(bytes.data() + 4, &flags, 4);
    std::memcpy(bytes.data() + 8, &record.sequence, 4);
    std::byte* at = bytes.data() + 12;
    put_text(record.source, at, source_room);
    put_text(record.reason, at, reason_room);
    const std::uint64_t check = digest(bytes.first<digest_at>());
    std::memcpy(bytes.data() + digest_at, &check, sizeof check);
}

LatchRecord decode_latch(std::span<const std::byte> bytes) noexcept {
    LatchRecord damaged;
    damaged.latched = true;
    damaged.source.assign("kernel");
    damaged.reason.assign("the stored latch state cannot be used");
    if (bytes.size() != latch_file_bytes) return damaged;
    std::uint64_t check = 0;
    std::memcpy(&check, bytes.data() + digest_at, sizeof check);
    std::uint32_t magic = 0;
    std::uint32_t flags = 0;
    std::memcpy(&magic, bytes.data(), 4);
    std::memcpy(&flags, bytes.data() + 4, 4);
    if (magic != latch_magic || (flags & ~(latched_flag | held_flag)) != 0 || check != digest(bytes.first(digest_at))) return damaged;
    LatchRecord record;
    record.latched = (flags & latched_flag) != 0;
    record.held = (flags & held_flag) != 0;
    std::memcpy(&record.sequence, bytes.data() + 8, 4);
    const std::byte* at = bytes.data() + 12;
    if (!get_text(record.source, at, source_room) || !get_text(record.reason, at, reason_room)) return damaged;
    return record;
}

}  // namespace lastgate::kernel
