// SPDX-License-Identifier: Apache-2.0
#include <fastdds/dds/publisher/DataWriter.hpp>
#include <fastdds/dds/publisher/Publisher.hpp>
#include <fastdds/dds/subscriber/DataReader.hpp>
#include <fastdds/dds/subscriber/DataReaderListener.hpp>
#include <fastdds/dds/subscriber/SampleInfo.hpp>
#include <fastdds/dds/subscriber/Subscriber.hpp>
#include <fastdds/dds/topic/Topic.hpp>

#include "fastdds_frame.hpp"
#include "service.hpp"
#include "wire.hpp"

namespace lastgate::gateway {
namespace {

namespace dds = eprosima::fastdds::dds;
namespace rtps = eprosima::fastrtps::rtps;

class FastServer final : public ServiceServer, private dds::DataReaderListener {
  public:
    FastServer(std::uint32_t domain, bool loopback_only, const ServiceSpec& spec, ServiceHandler handler)
        : handler_(std::move(handler)), participant_(make_fastdds_participant(domain, loopback_only, "lastgate_gateway"), delete_fastdds_participant) {
        const auto topic = [&](const std::string& name, const dds::TypeSupport& type) {
            type.register_type(participant_.get());
            return require_fastdds(participant_->create_topic(name, type.get_type_name(), dds::TOPIC_QOS_DEFAULT), "topic");
        };
        const auto as_service = [](auto qos) {
            qos.reliability().kind = dds::RELIABLE_RELIABILITY_QOS;
            qos.durability().kind = dds::VOLATILE_DURABILITY_QOS;
            qos.history().kind = dds::KEEP_LAST_HISTORY_QOS;
            qos.history().depth = service_depth;
            qos.endpoint().history_memory_policy = rtps::PREALLOCATED_WITH_REALLOC_MEMORY_MODE;
            return qos;
        };
        dds::Publisher* publisher = require_fastdds(participant_->create_publisher(dds::PUBLISHER_QOS_DEFAULT), "publisher");
        dds::Subscriber* subscriber = require_fastdds(participant_->create_subscriber(dds::SUBSCRIBER_QOS_DEFAULT), "subscriber");
        const dds::TypeSupport reply(new FrameType(dds_type_name(spec.type + "_Response"), service_frame_bytes_max));
        const dds::TypeSupport request(new FrameType(dds_type_name(spec.type + "_Request"), service_frame_bytes_max));
        replies_ = require_fastdds(publisher->create_datawriter(topic("rr" + spec.name + "Reply", reply), as_service(dds::DATAWRITER_QOS_DEFAULT)), "writer");
        // Last: from here on questions come, and need everything above.
        (void)require_fastdds(subscriber->create_datareader(topic("rq" + spec.name + "Request", request), as_service(dds::DATAREADER_QOS_DEFAULT), this), "reader");
    }

  private:
    void on_data_available(dds::DataReader* reader) override {
        Frame frame;
        dds::SampleInfo info;
        while (reader->take_next_sample(&frame, &info) == eprosima::fastrtps::types::ReturnCode_t::RETCODE_OK) {
            if (!info.valid_data) continue;
            const auto said = handler_(frame.bytes);
            if (!said) continue;
            Frame reply{answer_frame({}, *said)};
            if (reply.bytes.empty()) continue;
            // Addressed to the client's reader where it names one, with the number of its question.
            rtps::SampleIdentity question = info.sample_identity;
            if (info.related_sample_identity.writer_guid() != rtps::GUID_t::unknown()) question.writer_guid() = info.related_sample_identity.writer_guid();
            rtps::WriteParams parameters;
            parameters.related_sample_identity(question);
            replies_->write(&reply, parameters);
        }
    }

    ServiceHandler handler_;
    std::unique_ptr<dds::DomainParticipant, decltype(&delete_fastdds_participant)> participant_;
    dds::DataWriter* replies_ = nullptr;
};

}  // namespace

std::unique_ptr<ServiceServer> serve_over_fastdds(std::uint32_t domain, bool loopback_only, const ServiceSpec& spec, ServiceHandler handler) {
    return std::make_unique<FastServer>(domain, loopback_only, spec, std::move(handler));
}
bool has_fastdds() noexcept { return true; }

}  // namespace lastgate::gateway
