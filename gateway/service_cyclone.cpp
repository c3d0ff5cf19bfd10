// SPDX-License-Identifier: Apache-2.0
#include "cdr.hpp"
#include "service.hpp"
#include "wire.hpp"

namespace lastgate::gateway {

using namespace kernel;
namespace {

constexpr std::size_t number_bytes = 16;  // whose question, and which; the fields behind it stay aligned

class CycloneServer final : public ServiceServer {
  public:
    CycloneServer(const Participant& participant, const ServiceSpec& spec, ServiceHandler handler)
        : request_name_("rq" + spec.name + "Request"), reply_name_("rr" + spec.name + "Reply"), request_type_(spec.type + "_Request"), reply_type_(spec.type + "_Response"),
          handler_(std::move(handler)),
          replies_(participant, {.name = reply_name_, .type = reply_type_, .depth = service_depth, .bytes_max = service_frame_bytes_max}),
          requests_(participant, {.name = request_name_, .type = request_type_, .depth = service_depth, .bytes_max = service_frame_bytes_max}, TypeCheck::any_type,
                    [this](std::span<const std::byte> payload, std::int64_t) { answer(payload); }, true) {}

  private:
    void answer(std::span<const std::byte> payload) {
        constexpr std::size_t front = CdrReader::encapsulation_bytes + number_bytes;
        if (payload.size() < front) return;
        const auto number = payload.subspan(CdrReader::encapsulation_bytes, number_bytes);
        std::vector<std::byte> request(payload.begin(), payload.begin() + CdrReader::encapsulation_bytes);
        request.insert(request.end(), payload.begin() + front, payload.end());
        const auto said = handler_(request);
        if (!said) return;
        const std::vector<std::byte> frame = answer_frame(number, *said);
        if (!frame.empty()) (void)replies_.write(frame);
    }

    std::string request_name_;
    std::string reply_name_;
    std::string request_type_;
    std::string reply_type_;
    ServiceHandler handler_;
    Writer replies_;
    Reader requests_;  ///< Last: its handler uses the others.
};

}  // namespace

std::vector<std::byte> answer_frame(std::span<const std::byte> number, const ServiceAnswer& answer) {
    std::vector<std::byte> frame(service_frame_bytes_max);
    CdrWriter writer(frame);
    for (const std::byte byte : number) writer.number(static_cast<std::uint8_t>(byte));
    writer.number(static_cast<std::uint8_t>(answer.success ? 1 : 0));
    writer.text(answer.message);
    frame.resize(writer.bytes().size());
    return frame;
}

bool is_trigger_request(std::span<const std::byte> request) noexcept {
    constexpr std::size_t size = CdrReader::encapsulation_bytes + 1;
    constexpr std::size_t padded = CdrReader::encapsulation_bytes + 4;
    if (request.size() != size && request.size() != padded) return false;
    return CdrReader(request).ok() && request[size - 1] == std::byte{0};
}

std::unique_ptr<ServiceServer> serve_over_cyclone(const Participant& participant, const ServiceSpec& spec, ServiceHandler handler) {
    return std::make_unique<CycloneServer>(participant, spec, std::move(handler));
}

#ifndef LASTGATE_FASTDDS
std::unique_ptr<ServiceServer> serve_over_fastdds(std::uint32_t, bool, const ServiceSpec&, ServiceHandler) { return nullptr; }
bool has_fastdds() noexcept { return false; }
#endif

}  // namespace lastgate::gateway
