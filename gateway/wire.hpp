// SPDX-License-Identifier: Apache-2.0
// DDS as ROS 2 uses it: names, qualities, type hashes. Everything that knows Cyclone is here and in raw_type.cpp.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <semaphore>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>

struct ddsi_sertype;

namespace lastgate::gateway {

/// Sixteen bytes that name a participant or one of its ends all over the network.
using Guid = std::array<std::uint8_t, 16>;

/// One topic, or one half of a service, as ROS 2 names it.
struct TopicSpec {
    std::string name;       ///< `/openral/estop`; for halves of services the DDS name, which starts without a slash.
    std::string_view type;  ///< `std_msgs/msg/Empty`
    bool reliable = true;
    bool transient_local = false;
    std::int32_t depth = 1;
    std::size_t bytes_max = 16 * 1024;  ///< Longer samples arrive as an unreadable beginning.
};

/// `rt/openral/estop`
std::string dds_topic_name(std::string_view ros_name);
/// `std_msgs::msg::dds_::Empty_`
std::string dds_type_name(std::string_view ros_type);
/// The value of `typehash=` in what an end says about itself; empty when it says none.
std::string_view hash_in_user_data(std::string_view user_data) noexcept;

/// From here on every socket of this process hears and reaches programs of this machine alone, whichever library makes it.
void bind_to_loopback_alone() noexcept;

class Participant {
  public:
    /// Throws std::runtime_error when DDS cannot start on this machine. Where only the loopback can be used it is.
    /// `enclave` is a folder as SROS 2 makes them; with one, only participants that its files allow are met.
    Participant(std::uint32_t domain, bool loopback_only, const std::string& enclave = {});
    ~Participant();
    Participant(const Participant&) = delete;
    Participant& operator=(const Participant&) = delete;

    std::int32_t handle() const noexcept { return handle_; }
    bool loopback_only() const noexcept { return loopback_only_; }

  private:
    std::int32_t domain_handle_ = 0;
    std::int32_t handle_ = 0;
    bool loopback_only_ = false;
};

Guid guid_of(std::int32_t entity);

class Writer {
  public:
    Writer(const Participant& participant, const TopicSpec& spec);
    /// False when DDS would not take it. Never waits for a reader: only the newest `depth` are kept.
    bool write(std::span<const std::byte> payload) noexcept;
    const std::string& name() const noexcept { return name_; }
    std::int32_t handle() const noexcept { return handle_; }
    /// How many readers DDS believes to be there.
    std::uint32_t subscribers() const noexcept;

  private:
    std::string name_;
    ddsi_sertype* type_ = nullptr;
    std::int32_t handle_ = 0;
};

/// Whose messages are believed.
enum class TypeCheck : std::uint8_t {
    same_hash,      ///< Of publishers that state the hash of the same definition.
    not_another,    ///< Also of those that state none (ROS 2 before Iron, programs without ROS).
    any_type,       ///< From every writer: stops.
};

class Reader {
  public:
    /// `sent_ns` is the sender's wall clock, 0 when it gave none.
    using Handler = std::function<void(std::span<const std::byte> payload, std::int64_t sent_ns)>;
    /// `handler` is called for one message at a time: where DDS receives, or, if it takes long, on a thread of its own, so
    /// that nothing else that arrives waits for it.
    Reader(const Participant& participant, const TopicSpec& spec, TypeCheck check, Handler handler, bool takes_long = false);
    ~Reader();
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;

    const std::string& name() const noexcept { return spec_.name; }
    std::int32_t handle() const noexcept { return handle_; }
    /// How many writers DDS believes to be there.
    std::uint32_t publishers() const noexcept;
    std::uint64_t refused() const noexcept { return refused_.load(std::memory_order_relaxed); }
    std::int64_t newest_ns() const noexcept { return newest_ns_.load(std::memory_order_relaxed); }  ///< Monotonic; 0 for none.

  private:
    static void on_data(std::int32_t reader, void* self);
    void take_all();
    bool is_believed(std::uint64_t publication);

    bool takes_long_;
    TopicSpec spec_;
    TypeCheck check_;
    std::string hash_;
    Handler handler_;
    std::mutex one_at_a_time_;
    std::counting_semaphore<> arrived_{0};
    std::atomic<bool> ending_{false};
    std::unordered_map<std::uint64_t, bool> believed_;
    std::atomic<std::uint64_t> refused_{0};
    std::atomic<std::int64_t> newest_ns_{0};
    std::atomic<std::int32_t> handle_{0};
    std::thread thread_;  ///< Runs only for handlers that take long.
};

}  // namespace lastgate::gateway
