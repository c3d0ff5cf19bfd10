// SPDX-License-Identifier: Apache-2.0
// Objects with memory of their own answer one caller at a time. Being documented did not keep a second thread out: a batch
// runs without the interpreter's lock, and a check in another thread then read the batch's numbers. Here the second
// entrant gets an exception before it touches anything; it never waits, because a control loop must not.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <string>

namespace lastgate::bindings {

namespace nb = nanobind;

/// Sets `lastgate.ConcurrentUseError` as Python's current exception. The interpreter's lock is held.
inline void set_concurrent_use_error(const char* what) noexcept {
    try {
        const std::string text = std::string(what) + " is in use by another thread, or by the call this one was made from; nothing was answered or changed: make one per thread";
        const nb::object type = nb::module_::import_("lastgate.contracts").attr("ConcurrentUseError");
        PyErr_SetString(type.ptr(), text.c_str());
    } catch (nb::python_error& error) {
        error.restore();
    } catch (const std::exception&) {
        PyErr_NoMemory();
    }
}

/// Whether a caller is inside: alone to write, or together to read. Never blocks; starts empty.
class EntryFlag {
  public:
    bool enter_alone() noexcept {
        int expected = 0;
        return inside_.compare_exchange_strong(expected, alone, std::memory_order_acquire, std::memory_order_relaxed);
    }
    bool enter_to_read() noexcept {
        int readers = inside_.load(std::memory_order_relaxed);
        while (readers != alone) {
            if (inside_.compare_exchange_weak(readers, readers + 1, std::memory_order_acquire, std::memory_order_relaxed)) return true;
        }
        return false;
    }
    void leave_alone() noexcept { inside_.store(0, std::memory_order_release); }
    void leave_reading() noexcept { inside_.fetch_sub(1, std::memory_order_release); }

  private:
    static constexpr int alone = -1;
    std::atomic<int> inside_{0};  ///< Readers, or `alone`.
};

/// Inside alone, from here to the end of the block. Made while the interpreter's lock is held, before it is given up.
class Alone {
  public:
    Alone(EntryFlag& flag, const char* what) : flag_(flag) {
        if (flag_.enter_alone()) return;
        set_concurrent_use_error(what);
        throw nb::python_error();
    }
    ~Alone() { flag_.leave_alone(); }
    Alone(const Alone&) = delete;
    Alone& operator=(const Alone&) = delete;

  private:
    EntryFlag& flag_;
};

/// Inside with other readers, from here to the end of the block; a writer stays out meanwhile.
class Reading {
  public:
    Reading(EntryFlag& flag, const char* what) : flag_(flag) {
        if (flag_.enter_to_read()) return;
        set_concurrent_use_error(what);
        throw nb::python_error();
    }
    ~Reading() { flag_.leave_reading(); }
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;

  private:
    EntryFlag& flag_;
};

/// An object that Python sees, with the flag that belongs to it.
template <typename Object>
struct Guarded : Object {
    using Object::Object;
    mutable EntryFlag entry;
};

/// For what Python does in several calls: `with entry:` is alone, or raises. Made here and not of a Python lock, because an
/// interrupt may come between taking such a lock and the block that would release it.
class CompoundEntry {
  public:
    explicit CompoundEntry(std::string what) : what_(std::move(what)) {}
    void enter() {
        if (flag_.enter_alone()) return;
        set_concurrent_use_error(what_.c_str());
        throw nb::python_error();
    }
    void leave() noexcept { flag_.leave_alone(); }

  private:
    std::string what_;
    EntryFlag flag_;
};

}  // namespace lastgate::bindings
