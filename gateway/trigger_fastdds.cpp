// SPDX-License-Identifier: Apache-2.0
#include <fastdds/dds/publisher/DataWriter.hpp>
#include <fastdds/dds/publisher/Publisher.hpp>
#include <fastdds/dds/subscriber/DataReader.hpp>
#include <fastdds/dds/subscriber/DataReaderListener.hpp>
#include <fastdds/dds/subscriber/SampleInfo.hpp>
#include <fastdds/dds/subscriber/Subscriber.hpp>
#include <fastdds/dds/topic/Topic.hpp>

#include "cdr.hpp"
#include "fastdds_frame.hpp"
#include "trigger.hpp"

namespace lastgate {
namespace {

namespace dds = eprosima::fastdds::dds;
namespace rtps = eprosima::fastrtps::rtps;

constexpr std::size_t frame_bytes_max = 1024;

class FastServer final : public TriggerServer, private dds::DataReaderListener {
  public:
    FastServer(std::uint32_t domain, bool loopback_only, const std::string& service, TriggerHandler handler)
        : handler_(std::move(handler)), participant_(make_fastdds_participant(domain, loopback_only, "lastgate_gateway"), delete_fastdds_participant) {
        const auto topic = [&](const std::string& name, const dds::TypeSupport& type) {
            type.register_type(participant_.get());
            return require_fastdds(participant_->create_topic(name, type.get_type_name(), dds::TOPIC_QOS_DEFAULT), "topic");
        };
        const auto as_service = [](auto qos) {
            qos.reliability().kind = dds::RELIABLE_RELIABILITY_QOS;
            qos.durability().kind = dds::VOLATILE_DURABILITY_QOS;
            qos.history().kind = dds::KEEP_LAST_HISTORY_QOS;
            qos.history().depth = 10;
            qos.endpoint().history_memory_policy = rtps::PREALLOCATED_WITH_REALLOC_MEMORY_MODE;
            return qos;
        };
        dds::Publisher* publisher = require_fastdds(participant_->create_publisher(dds::PUBLISHER_QOS_DEFAULT), "publisher");
        dds::Subscriber* subscriber = require_fastdds(participant_->create_subscriber(dds::SUBSCRIBER_QOS_DEFAULT), "subscriber");
        const dds::TypeSupport reply(new FrameType("std_srvs::srv::dds_::Trigger_Response_", frame_bytes_max));
        const dds::TypeSupport request(new FrameType("std_srvs::srv::dds_::Trigger_Request_", frame_bytes_max));
        replies_ = require_fastdds(publisher->create_datawriter(topic("rr" + service + "Reply", reply), as_service(dds::DATAWRITER_QOS_DEFAULT)), "writer");
        // Last: from here on questions come, and need everything above.
        (void)require_fastdds(subscriber->create_datareader(topic("rq" + service + "Request", request), as_service(dds::DATAREADER_QOS_DEFAULT), this), "reader");
    }

  private:
    void on_data_available(dds::DataReader* reader) override {
        Frame frame;
        dds::SampleInfo info;
        while (reader->take_next_sample(&frame, &info) == eprosima::fastrtps::types::ReturnCode_t::RETCODE_OK) {
            if (!info.valid_data || !is_trigger_request(frame.bytes, 0)) continue;
            const TriggerAnswer said = handler_();
            Frame reply{std::vector<std::byte>(frame_bytes_max)};
            CdrWriter writer(reply.bytes);
            writer.number(static_cast<std::uint8_t>(said.success ? 1 : 0));
            writer.text(said.message);
            if (!writer.ok()) continue;
            reply.bytes.resize(writer.bytes().size());
            // Addressed to the client's reader where it names one, with the number of its question.
            rtps::SampleIdentity question = info.sample_identity;
            if (info.related_sample_identity.writer_guid() != rtps::GUID_t::unknown()) question.writer_guid() = info.related_sample_identity.writer_guid();
            rtps::WriteParams parameters;
            parameters.related_sample_identity(question);
            replies_->write(&reply, parameters);
        }
    }

    TriggerHandler handler_;
    std::unique_ptr<dds::DomainParticipant, decltype(&delete_fastdds_participant)> participant_;
    dds::DataWriter* replies_ = nullptr;
};

}  // namespace

std::unique_ptr<TriggerServer> serve_trigger_over_fastdds(std::uint32_t domain, bool loopback_only, const std::string& service, TriggerHandler handler) {
    return std::make_unique<FastServer>(domain, loopback_only, service, std::move(handler));
}
bool has_fastdds() noexcept { return true; }

}  // namespace lastgate
