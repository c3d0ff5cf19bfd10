// SPDX-License-Identifier: Apache-2.0
#include "fastdds_frame.hpp"

#include <fastdds/rtps/transport/UDPv4TransportDescriptor.h>
#include <fastrtps/utils/IPLocator.h>

#include <stdexcept>

#include "wire.hpp"

namespace lastgate::gateway {
namespace dds = eprosima::fastdds::dds;
namespace rtps = eprosima::fastrtps::rtps;

dds::DomainParticipant* make_fastdds_participant(std::uint32_t domain, bool loopback_only, const std::string& name) {
    dds::DomainParticipantQos qos;
    qos.name(name);
    constexpr std::string_view enclave = "enclave=/;";
    qos.user_data().assign(enclave.begin(), enclave.end());
    qos.transport().use_builtin_transports = false;
    auto udp = std::make_shared<eprosima::fastdds::rtps::UDPv4TransportDescriptor>();
    udp->maxInitialPeersRange = 32;  // how many participants of one machine are asked
    qos.transport().user_transports.push_back(udp);
    rtps::Locator_t here;
    rtps::IPLocator::setIPv4(here, 127, 0, 0, 1);
    if (loopback_only) {
        // Not by a list of interfaces: with one, programs of this machine that give another of its addresses are not answered.
        bind_to_loopback_alone();
        qos.wire_protocol().builtin.metatrafficUnicastLocatorList.push_back(here);
        qos.wire_protocol().default_unicast_locator_list.push_back(here);
    }
    qos.wire_protocol().builtin.initialPeersList.push_back(here);
    if (!loopback_only) {
        rtps::Locator_t multicast;
        rtps::IPLocator::setIPv4(multicast, 239, 255, 0, 1);
        qos.wire_protocol().builtin.initialPeersList.push_back(multicast);
    }
    return require_fastdds(dds::DomainParticipantFactory::get_instance()->create_participant(domain, qos), "participant");
}

void delete_fastdds_participant(dds::DomainParticipant* participant) noexcept {
    if (participant == nullptr) return;
    participant->delete_contained_entities();
    dds::DomainParticipantFactory::get_instance()->delete_participant(participant);
}

}  // namespace lastgate::gateway
