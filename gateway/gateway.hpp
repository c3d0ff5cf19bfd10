// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <shared_mutex>
#include <string>
#include <vector>

#include "reports.hpp"
#include "service.hpp"
#include "session.hpp"
#include "wire.hpp"

namespace lastgate::gateway {

/// `/arm_a`, `/voxel_1/arm_a`: words of letters, digits and `_` that start with no digit, each behind a slash.
bool is_namespace(std::string_view name) noexcept;

struct GatewayOptions {
    std::string instance;
    std::uint32_t domain = 0;
    std::string name_space;     ///< Before every topic and service but `/diagnostics`: `/arm_a`; empty for none.
    bool loopback_only = true;  ///< Peers beyond this machine are neither heard nor told anything.
    bool allow_reset = false;   ///< Whether a service call may clear a latched stop; DDS does not say who calls.
    std::string enclave;        ///< A folder of SROS 2: only participants that its files allow are met; empty for none.
    std::int32_t chunk_depth = 1;
    TypeCheck type_check = TypeCheck::same_hash;
    GidWidth gid_width = GidWidth::since_iron;
    bool serve_cyclone = false;
    bool serve_fastdds = true;
    int parent = -1;  ///< End when this process is no longer the one that started us; -1: whatever happens to it.
};

/// The topics and services of the contract on one side, the channels of a kernel on the other. It decides nothing: what
/// it cannot hand on is rejected here or becomes a stop, and its death is silence, which kernel and drivers take for
/// stale.
class Gateway {
  public:
    /// Throws std::runtime_error when there is no kernel to stand in front of, or DDS does not start.
    explicit Gateway(GatewayOptions options);

    /// Serves until `end` is called.
    void run();
    void end() noexcept { ending_.store(true, std::memory_order_release); }  ///< May be called from a signal handler.

    const GatewayOptions& options() const noexcept { return options_; }
    bool loopback_only() const noexcept { return participant_.loopback_only(); }

  private:
    std::string named(std::string_view topic) const { return options_.name_space + std::string(topic); }
    TopicSpec empty_topic(std::string_view name) const;
    TopicSpec chunk_topic(std::string_view name) const;
    TopicSpec twist_topic(std::string_view name) const;
    KernelListener outputs();
    void take_chunk(std::span<const std::byte> payload, std::int64_t sent_ns);
    void take_twist(std::span<const std::byte> payload, std::int64_t sent_ns);
    void take_world(MessageType type, std::span<const std::byte> payload);
    void stop(const char* reason, bool by_human);
    void pass_status(std::span<const std::byte> payload);
    std::optional<ServiceAnswer> reset(std::span<const std::byte> request);
    std::optional<ServiceAnswer> check_nav_goal(std::span<const std::byte> request);
    template <typename Ask>
    ServiceAnswer asked_of_kernel(Ask ask);
    void serve(const ServiceSpec& spec, const ServiceHandler& handler);

    template <typename Use>
    bool with_session(Use use);
    bool is_late(std::int64_t sent_ns);
    void watch_kernel();
    void kernel_is_gone();
    void join_kernel(bool it_was_gone);
    void publish_diagnostics();
    void publish_node();

    GatewayOptions options_;
    Participant participant_;
    std::atomic<bool> ending_{false};
    std::atomic<std::uint64_t> late_{0};      ///< Chunks that arrived too long after they were sent.
    std::atomic<std::uint64_t> homeless_{0};  ///< Messages for which there was no kernel.
    std::atomic<bool> latched_{false};        ///< As the wire was last told.
    std::atomic<std::uint64_t> passed_{0};
    std::atomic<std::uint64_t> dropped_{0};
    std::int64_t diagnosed_ns_ = 0;

    Writer safe_action_;
    Writer safe_cmd_vel_;
    Writer estop_out_;
    Writer failure_;
    Writer safety_status_;
    Writer diagnostics_;
    Writer discovery_info_;

    std::shared_mutex session_lock_;  ///< Shared by the users of the session, exclusive for its replacement.
    std::unique_ptr<Session> session_;

    // Last: they are called from the moment they exist, and use everything above.
    Reader estop_in_;
    Reader human_estop_;
    Reader candidate_action_;
    Reader cmd_vel_;
    Reader joint_states_;
    Reader world_collision_;
    Reader world_voxels_;
    std::vector<std::unique_ptr<ServiceServer>> servers_;
};

}  // namespace lastgate::gateway
