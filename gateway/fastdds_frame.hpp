// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fastdds/dds/domain/DomainParticipant.hpp>
#include <fastdds/dds/domain/DomainParticipantFactory.hpp>
#include <fastdds/dds/topic/TopicDataType.hpp>

#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

namespace lastgate::gateway {

/// CDR bytes as they are on the wire, for Fast DDS.
struct Frame {
    std::vector<std::byte> bytes;
};

/// A type of which only the name is known: frames of at most `bytes_max`. A longer one arrives empty.
class FrameType final : public eprosima::fastdds::dds::TopicDataType {
  public:
    using Payload = eprosima::fastrtps::rtps::SerializedPayload_t;

    FrameType(const std::string& name, std::uint32_t bytes_max) {
        setName(name.c_str());
        m_typeSize = bytes_max;
        m_isGetKeyDefined = false;
        auto_fill_type_object(false);
        auto_fill_type_information(false);
    }

    bool serialize(void* data, Payload* payload) override {
        const auto& bytes = static_cast<const Frame*>(data)->bytes;
        if (bytes.size() > payload->max_size) return false;
        std::memcpy(payload->data, bytes.data(), bytes.size());
        payload->length = static_cast<std::uint32_t>(bytes.size());
        payload->encapsulation = CDR_LE;
        return true;
    }
    bool deserialize(Payload* payload, void* data) override {
        const std::size_t size = payload->length <= m_typeSize ? payload->length : 0;
        const auto* first = reinterpret_cast<const std::byte*>(payload->data);
        static_cast<Frame*>(data)->bytes.assign(first, first + size);
        return true;
    }
    std::function<std::uint32_t()> getSerializedSizeProvider(void* data) override {
        return [data] { return static_cast<std::uint32_t>(static_cast<const Frame*>(data)->bytes.size()); };
    }
    void* createData() override { return new Frame; }
    void deleteData(void* data) override { delete static_cast<Frame*>(data); }
    bool getKey(void*, eprosima::fastrtps::rtps::InstanceHandle_t*, bool) override { return false; }
};

/// A participant over UDP alone (shared memory of one that was killed would stay behind) that also finds participants that do
/// not use multicast. Throws std::runtime_error when there is none.
eprosima::fastdds::dds::DomainParticipant* make_fastdds_participant(std::uint32_t domain, bool loopback_only, const std::string& name);
void delete_fastdds_participant(eprosima::fastdds::dds::DomainParticipant* participant) noexcept;

template <typename Made>
Made* require_fastdds(Made* made, const char* what) {
    if (made == nullptr) throw std::runtime_error(std::string("Fast DDS: no ") + what);
    return made;
}

}  // namespace lastgate::gateway
