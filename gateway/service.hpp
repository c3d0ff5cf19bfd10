// SPDX-License-Identifier: Apache-2.0
// Service servers. ROS 2 has two ways to say which answer belongs to which question, and a client of the one never hears a
// server of the other: it sees the service, calls it and waits. So each way has a server here, and each ignores the frames
// of the other. Unless asked for, only that of ROS 2's default is offered: with both, a client calls a service ready as
// soon as it has met either.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lastgate::gateway {

class Participant;

/// What both services of the contract answer: yes or no, and a sentence.
struct ServiceAnswer {
    bool success = false;
    std::string message;
};
/// Gets a request as rmw_fastrtps sends it: the encapsulation and the fields. Nothing for what is not one: it gets no answer.
using ServiceHandler = std::function<std::optional<ServiceAnswer>(std::span<const std::byte> request)>;

struct ServiceSpec {
    std::string name;  ///< `/openral/estop_reset`
    std::string type;  ///< `std_srvs/srv/Trigger`
};

class ServiceServer {
  public:
    virtual ~ServiceServer() = default;
};

/// Of rmw_cyclonedds: the question's number stands in front of the fields.
std::unique_ptr<ServiceServer> serve_over_cyclone(const Participant& participant, const ServiceSpec& spec, ServiceHandler handler);

/// Of rmw_fastrtps, ROS 2's default: the number travels beside the payload, which Cyclone cannot send and Fast DDS can.
/// Null when this program was built without Fast DDS.
std::unique_ptr<ServiceServer> serve_over_fastdds(std::uint32_t domain, bool loopback_only, const ServiceSpec& spec, ServiceHandler handler);
bool has_fastdds() noexcept;

/// Requests and answers are short; longer ones are not ours.
inline constexpr std::size_t service_frame_bytes_max = 1024;
inline constexpr std::int32_t service_depth = 10;

/// The answer as it goes out, with whatever stands in front of the fields; empty when it does not fit.
std::vector<std::byte> answer_frame(std::span<const std::byte> number, const ServiceAnswer& answer);

/// A Trigger request has no fields; ROS 2 sends one byte in their place, and pads to four. Anything of another length is a
/// frame of the other kind, or of none.
bool is_trigger_request(std::span<const std::byte> request) noexcept;

}  // namespace lastgate::gateway
