// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <vector>

#include "cdr.hpp"
#include "trigger.hpp"
#include "wire.hpp"

namespace lastgate {
namespace {

constexpr std::size_t number_bytes = 16;  // whose question, and which
constexpr std::int32_t service_depth = 10;
constexpr std::size_t frame_bytes_max = 1024;

class CycloneServer final : public TriggerServer {
  public:
    CycloneServer(const Participant& participant, const std::string& service, TriggerHandler handler)
        : request_name_("rq" + service + "Request"), reply_name_("rr" + service + "Reply"), handler_(std::move(handler)),
          replies_(participant, {.name = reply_name_, .type = "std_srvs/srv/Trigger_Response", .depth = service_depth, .bytes_max = frame_bytes_max}),
          requests_(participant, {.name = request_name_, .type = "std_srvs/srv/Trigger_Request", .depth = service_depth, .bytes_max = frame_bytes_max}, TypeCheck::anybody,
                    [this](std::span<const std::byte> payload, std::int64_t) { answer(payload); }, true) {}

  private:
    void answer(std::span<const std::byte> payload) {
        if (!is_trigger_request(payload, number_bytes)) return;
        CdrReader reader(payload);
        const auto client = reader.number<std::uint64_t>();
        const auto question = reader.number<std::uint64_t>();
        const TriggerAnswer said = handler_();
        std::vector<std::byte> memory(frame_bytes_max);
        CdrWriter writer(memory);
        writer.number(client);
        writer.number(question);
        writer.number(static_cast<std::uint8_t>(said.success ? 1 : 0));
        writer.text(said.message);
        if (writer.ok()) (void)replies_.write(writer.bytes());
    }

    std::string request_name_;
    std::string reply_name_;
    TriggerHandler handler_;
    Writer replies_;
    Reader requests_;  ///< Last: its handler uses the others.
};

}  // namespace

bool is_trigger_request(std::span<const std::byte> payload, std::size_t number_bytes) noexcept {
    const std::size_t size = CdrReader::encapsulation_bytes + number_bytes + 1;
    const std::size_t padded = (size + 3) / 4 * 4;
    if (payload.size() != size && payload.size() != padded) return false;
    return CdrReader(payload).ok() && payload[size - 1] == std::byte{0};
}

std::unique_ptr<TriggerServer> serve_trigger_over_cyclone(const Participant& participant, const std::string& service, TriggerHandler handler) {
    return std::make_unique<CycloneServer>(participant, service, std::move(handler));
}

#ifndef LASTGATE_FASTDDS
std::unique_ptr<TriggerServer> serve_trigger_over_fastdds(std::uint32_t, bool, const std::string&, TriggerHandler) { return nullptr; }
bool has_fastdds() noexcept { return false; }
#endif

}  // namespace lastgate
