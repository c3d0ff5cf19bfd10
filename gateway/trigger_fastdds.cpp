// SPDX-License-Identifier: Apache-2.0
#include <fastdds/dds/domain/DomainParticipant.hpp>
#include <fastdds/dds/domain/DomainParticipantFactory.hpp>
#include <fastdds/dds/publisher/DataWriter.hpp>
#include <fastdds/dds/publisher/Publisher.hpp>
#include <fastdds/dds/subscriber/DataReader.hpp>
#include <fastdds/dds/subscriber/DataReaderListener.hpp>
#include <fastdds/dds/subscriber/SampleInfo.hpp>
#include <fastdds/dds/subscriber/Subscriber.hpp>
#include <fastdds/dds/topic/Topic.hpp>
#include <fastdds/dds/topic/TopicDataType.hpp>
#include <fastdds/rtps/transport/UDPv4TransportDescriptor.h>
#include <fastrtps/utils/IPLocator.h>

#include <array>
#include <cstring>
#include <stdexcept>

#include "cdr.hpp"
#include "trigger.hpp"

namespace lastgate {
namespace {

namespace dds = eprosima::fastdds::dds;
namespace rtps = eprosima::fastrtps::rtps;

constexpr std::size_t frame_bytes_max = 1024;

/// The bytes as they were on the wire.
struct Frame {
    std::array<std::byte, frame_bytes_max> bytes{};
    std::size_t size = 0;
};

class FrameType final : public dds::TopicDataType {
  public:
    explicit FrameType(const char* name) {
        setName(name);
        m_typeSize = frame_bytes_max;
        m_isGetKeyDefined = false;
        auto_fill_type_object(false);
        auto_fill_type_information(false);
    }

    bool serialize(void* data, rtps::SerializedPayload_t* payload) override {
        const auto* frame = static_cast<const Frame*>(data);
        if (frame->size > payload->max_size) return false;
        std::memcpy(payload->data, frame->bytes.data(), frame->size);
        payload->length = static_cast<std::uint32_t>(frame->size);
        payload->encapsulation = CDR_LE;
        return true;
    }
    bool deserialize(rtps::SerializedPayload_t* payload, void* data) override {
        auto* frame = static_cast<Frame*>(data);
        // What is too long is not a frame of this service.
        frame->size = payload->length <= frame->bytes.size() ? payload->length : 0;
        std::memcpy(frame->bytes.data(), payload->data, frame->size);
        return true;
    }
    std::function<std::uint32_t()> getSerializedSizeProvider(void* data) override {
        return [data] { return static_cast<std::uint32_t>(static_cast<const Frame*>(data)->size); };
    }
    void* createData() override { return new Frame; }
    void deleteData(void* data) override { delete static_cast<Frame*>(data); }
    bool getKey(void*, rtps::InstanceHandle_t*, bool) override { return false; }
};

template <typename Made>
Made* require(Made* made, const char* what) {
    if (made == nullptr) throw std::runtime_error(std::string("Fast DDS: no ") + what);
    return made;
}

class FastServer final : public TriggerServer, private dds::DataReaderListener {
  public:
    FastServer(std::uint32_t domain, bool loopback_only, const std::string& service, TriggerHandler handler) : handler_(std::move(handler)) {
        dds::DomainParticipantQos qos;
        qos.name("lastgate_gateway");
        constexpr const char* enclave = "enclave=/;";
        qos.user_data().assign(enclave, enclave + std::strlen(enclave));
        // Over UDP alone: shared memory of a server that was killed would stay behind.
        qos.transport().use_builtin_transports = false;
        auto udp = std::make_shared<eprosima::fastdds::rtps::UDPv4TransportDescriptor>();
        udp->maxInitialPeersRange = 32;
        if (loopback_only) udp->interfaceWhiteList.emplace_back("127.0.0.1");
        qos.transport().user_transports.push_back(udp);
        // Some do not use multicast; they are asked at the ports that they have.
        rtps::Locator_t here;
        rtps::IPLocator::setIPv4(here, 127, 0, 0, 1);
        qos.wire_protocol().builtin.initialPeersList.push_back(here);
        if (!loopback_only) {
            rtps::Locator_t everybody;
            rtps::IPLocator::setIPv4(everybody, 239, 255, 0, 1);
            qos.wire_protocol().builtin.initialPeersList.push_back(everybody);
        }
        auto* factory = dds::DomainParticipantFactory::get_instance();
        dds::DomainParticipantFactoryQos factory_qos;
        factory->get_qos(factory_qos);
        factory_qos.entity_factory().autoenable_created_entities = true;
        factory->set_qos(factory_qos);
        participant_ = require(factory->create_participant(domain, qos), "participant");
        request_type_.register_type(participant_);
        reply_type_.register_type(participant_);
        dds::Topic* replies = require(participant_->create_topic("rr" + service + "Reply", reply_type_.get_type_name(), dds::TOPIC_QOS_DEFAULT), "reply topic");
        dds::Topic* requests = require(participant_->create_topic("rq" + service + "Request", request_type_.get_type_name(), dds::TOPIC_QOS_DEFAULT), "request topic");
        dds::Publisher* publisher = require(participant_->create_publisher(dds::PUBLISHER_QOS_DEFAULT), "publisher");
        dds::Subscriber* subscriber = require(participant_->create_subscriber(dds::SUBSCRIBER_QOS_DEFAULT), "subscriber");
        dds::DataWriterQos writer_qos = dds::DATAWRITER_QOS_DEFAULT;
        writer_qos.reliability().kind = dds::RELIABLE_RELIABILITY_QOS;
        writer_qos.durability().kind = dds::VOLATILE_DURABILITY_QOS;
        writer_qos.history().kind = dds::KEEP_LAST_HISTORY_QOS;
        writer_qos.history().depth = 10;
        writer_qos.endpoint().history_memory_policy = rtps::PREALLOCATED_WITH_REALLOC_MEMORY_MODE;
        replies_ = require(publisher->create_datawriter(replies, writer_qos), "reply writer");
        dds::DataReaderQos reader_qos = dds::DATAREADER_QOS_DEFAULT;
        reader_qos.reliability().kind = dds::RELIABLE_RELIABILITY_QOS;
        reader_qos.history().kind = dds::KEEP_LAST_HISTORY_QOS;
        reader_qos.history().depth = 10;
        reader_qos.endpoint().history_memory_policy = rtps::PREALLOCATED_WITH_REALLOC_MEMORY_MODE;
        // Last: from here on questions come, and need everything above.
        requests_ = require(subscriber->create_datareader(requests, reader_qos, this), "request reader");
    }

    ~FastServer() override {
        if (requests_ != nullptr) requests_->set_listener(nullptr);
        participant_->delete_contained_entities();
        dds::DomainParticipantFactory::get_instance()->delete_participant(participant_);
    }

  private:
    void on_data_available(dds::DataReader* reader) override {
        Frame frame;
        dds::SampleInfo info;
        while (reader->take_next_sample(&frame, &info) == eprosima::fastrtps::types::ReturnCode_t::RETCODE_OK) {
            if (!info.valid_data || !is_trigger_request({frame.bytes.data(), frame.size}, 0)) continue;
            const TriggerAnswer said = handler_();
            Frame reply;
            CdrWriter writer(reply.bytes);
            writer.number(static_cast<std::uint8_t>(said.success ? 1 : 0));
            writer.text(said.message);
            if (!writer.ok()) continue;
            reply.size = writer.bytes().size();
            // Addressed to the client's reader where it names one, with the number of its question.
            rtps::SampleIdentity question = info.sample_identity;
            if (info.related_sample_identity.writer_guid() != rtps::GUID_t::unknown()) question.writer_guid() = info.related_sample_identity.writer_guid();
            rtps::WriteParams parameters;
            parameters.related_sample_identity(question);
            replies_->write(&reply, parameters);
        }
    }

    TriggerHandler handler_;
    dds::TypeSupport request_type_{new FrameType("std_srvs::srv::dds_::Trigger_Request_")};
    dds::TypeSupport reply_type_{new FrameType("std_srvs::srv::dds_::Trigger_Response_")};
    dds::DomainParticipant* participant_ = nullptr;
    dds::DataWriter* replies_ = nullptr;
    dds::DataReader* requests_ = nullptr;
};

}  // namespace

std::unique_ptr<TriggerServer> serve_trigger_over_fastdds(std::uint32_t domain, bool loopback_only, const std::string& service, TriggerHandler handler) {
    return std::make_unique<FastServer>(domain, loopback_only, service, std::move(handler));
}
bool has_fastdds() noexcept { return true; }

}  // namespace lastgate
