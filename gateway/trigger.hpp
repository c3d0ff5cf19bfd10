// SPDX-License-Identifier: Apache-2.0
// std_srvs/Trigger servers. ROS 2 has two ways to say which answer belongs to which question, and a client of the one
// never hears a server of the other: it sees the service, calls it and waits. So each way has a server here, and each
// ignores the frames of the other. Unless asked for, only that of ROS 2's default is offered: with both, a client calls
// a service ready as soon as it has met either.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace lastgate {

class Participant;

struct TriggerAnswer {
    bool success = false;
    std::string message;
};
using TriggerHandler = std::function<TriggerAnswer()>;

class TriggerServer {
  public:
    virtual ~TriggerServer() = default;
};

/// Of rmw_cyclonedds: the question's number stands in front of the fields.
std::unique_ptr<TriggerServer> serve_trigger_over_cyclone(const Participant& participant, const std::string& service, TriggerHandler handler);

/// Of rmw_fastrtps, ROS 2's default: the number travels beside the payload, which Cyclone cannot send and Fast DDS can.
/// Null when this program was built without Fast DDS.
std::unique_ptr<TriggerServer> serve_trigger_over_fastdds(std::uint32_t domain, bool loopback_only, const std::string& service, TriggerHandler handler);
bool has_fastdds() noexcept;

/// A Trigger request has no fields; ROS 2 sends one byte in their place, and pads to four.
/// `number_bytes`: what stands in front of it. Anything of another length is a frame of the other kind, or of nobody.
bool is_trigger_request(std::span<const std::byte> payload, std::size_t number_bytes) noexcept;

}  // namespace lastgate
