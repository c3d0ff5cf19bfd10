// SPDX-License-Identifier: Apache-2.0
// A program of another DDS vendor, without ROS: fastdds_peer DOMAIN TYPE_HASH
// For each line of stdin, a joint state and a chunk as two hexadecimal words, it publishes both and prints the bytes of
// the safe action that came back, or `none`. TYPE_HASH is what it states about its chunks; `-` for nothing.
#include <fastdds/dds/publisher/DataWriter.hpp>
#include <fastdds/dds/publisher/Publisher.hpp>
#include <fastdds/dds/subscriber/DataReader.hpp>
#include <fastdds/dds/subscriber/SampleInfo.hpp>
#include <fastdds/dds/subscriber/Subscriber.hpp>
#include <fastdds/dds/topic/Topic.hpp>

#include <chrono>
#include <cstdio>
#include <iostream>
#include <stdexcept>
#include <thread>

#include "fastdds_frame.hpp"
#include "type_hashes.hpp"

namespace {

namespace fast = eprosima::fastdds::dds;
using namespace lastgate;
using namespace lastgate::gateway;

std::vector<std::byte> bytes_of(const std::string& text) {
    std::vector<std::byte> bytes;
    for (std::size_t i = 0; i + 1 < text.size(); i += 2) bytes.push_back(static_cast<std::byte>(std::stoi(text.substr(i, 2), nullptr, 16)));
    return bytes;
}

template <typename Met>
void wait_for(Met met) {
    for (int i = 0; i < 500 && !met(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (!met()) throw std::runtime_error("no participant is there");
}

}  // namespace

int main(int count, char** values) try {
    if (count != 3) throw std::invalid_argument("usage: fastdds_peer DOMAIN TYPE_HASH");
    auto* participant = make_fastdds_participant(static_cast<std::uint32_t>(std::stoul(values[1])), true, "fastdds_peer");
    const fast::TypeSupport chunk(new FrameType("openral_msgs::msg::dds_::ActionChunk_", 65536));
    const fast::TypeSupport state(new FrameType("sensor_msgs::msg::dds_::JointState_", 65536));
    chunk.register_type(participant);
    state.register_type(participant);
    const auto topic = [&](const char* name, const fast::TypeSupport& type) { return require_fastdds(participant->create_topic(name, type.get_type_name(), fast::TOPIC_QOS_DEFAULT), "topic"); };
    fast::Publisher* publisher = require_fastdds(participant->create_publisher(fast::PUBLISHER_QOS_DEFAULT), "publisher");
    fast::Subscriber* subscriber = require_fastdds(participant->create_subscriber(fast::SUBSCRIBER_QOS_DEFAULT), "subscriber");
    const auto writer = [&](const char* name, const fast::TypeSupport& type, std::string_view hash) {
        fast::DataWriterQos qos = fast::DATAWRITER_QOS_DEFAULT;
        qos.reliability().kind = fast::RELIABLE_RELIABILITY_QOS;
        qos.endpoint().history_memory_policy = eprosima::fastrtps::rtps::PREALLOCATED_WITH_REALLOC_MEMORY_MODE;
        const std::string user_data = hash == "-" ? "" : "typehash=" + std::string(hash) + ";";
        qos.user_data().assign(user_data.begin(), user_data.end());
        return require_fastdds(publisher->create_datawriter(topic(name, type), qos), "writer");
    };
    fast::DataWriter* states = writer("rt/joint_states", state, type_hash("sensor_msgs/msg/JointState"));
    fast::DataWriter* candidates = writer("rt/openral/candidate_action", chunk, values[2]);
    fast::DataReaderQos qos = fast::DATAREADER_QOS_DEFAULT;
    qos.reliability().kind = fast::RELIABLE_RELIABILITY_QOS;
    qos.endpoint().history_memory_policy = eprosima::fastrtps::rtps::PREALLOCATED_WITH_REALLOC_MEMORY_MODE;
    fast::DataReader* safe = require_fastdds(subscriber->create_datareader(topic("rt/openral/safe_action", chunk), qos), "reader");
    for (fast::DataWriter* any : {states, candidates}) {
        wait_for([&] {
            fast::PublicationMatchedStatus status;
            any->get_publication_matched_status(status);
            return status.current_count > 0;
        });
    }
    wait_for([&] {
        fast::SubscriptionMatchedStatus status;
        safe->get_subscription_matched_status(status);
        return status.current_count > 0;
    });
    std::puts("ready");
    std::fflush(stdout);
    std::string first;
    std::string second;
    while (std::cin >> first >> second) {
        Frame measured{bytes_of(first)};
        Frame proposed{bytes_of(second)};
        states->write(&measured);
        candidates->write(&proposed);
        Frame heard;
        fast::SampleInfo info;
        bool found = false;
        if (safe->wait_for_unread_message({1, 0})) found = safe->take_next_sample(&heard, &info) == eprosima::fastrtps::types::ReturnCode_t::RETCODE_OK && info.valid_data;
        if (!found) std::printf("none");
        for (const std::byte byte : heard.bytes) std::printf("%02x", static_cast<unsigned>(byte));
        std::printf("\n");
        std::fflush(stdout);
    }
    delete_fastdds_participant(participant);
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
}
