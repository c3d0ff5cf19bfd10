// SPDX-License-Identifier: Apache-2.0
// Names, hashes and frames, without a network.
#include <string>

#include "reports.hpp"
#include "require.hpp"
#include "service.hpp"
#include "type_hashes.hpp"
#include "wire.hpp"

using namespace lastgate;
using namespace lastgate::kernel;
using namespace lastgate::gateway;

TEST(names_are_those_of_ros_2) {
    REQUIRE(dds_topic_name("/openral/failure/safety") == "rt/openral/failure/safety");
    REQUIRE(dds_topic_name("ros_discovery_info") == "ros_discovery_info");
    REQUIRE(dds_type_name("openral_msgs/msg/ActionChunk") == "openral_msgs::msg::dds_::ActionChunk_");
    REQUIRE(dds_type_name("std_srvs/srv/Trigger_Request") == "std_srvs::srv::dds_::Trigger_Request_");
}

TEST(hash_is_found_among_what_else_is_said) {
    REQUIRE(hash_in_user_data("typehash=RIHS01_ab;") == "RIHS01_ab");
    REQUIRE(hash_in_user_data("enclave=/;typehash=RIHS01_ab") == "RIHS01_ab");
    REQUIRE(hash_in_user_data("a=1;;typehash=RIHS01_ab;b=2;") == "RIHS01_ab");
}

TEST(hash_that_is_not_stated_is_not_found) {
    for (const char* text : {"", ";", ";;;", "typehash", "xtypehash=RIHS01_ab;", "enclave=/;", "typehash=;"}) REQUIRE(hash_in_user_data(text).empty());
}

TEST(every_message_of_the_wire_has_a_hash_and_nothing_else_has) {
    REQUIRE(type_hash("openral_msgs/msg/ActionChunk").starts_with("RIHS01_") && type_hash("openral_msgs/msg/ActionChunk").size() == 7 + 64);
    REQUIRE(type_hash("openral_msgs/msg/Actionchunk").empty() && type_hash("").empty());
}

TEST(trigger_request_has_exactly_one_length) {
    std::vector<std::byte> frame(64);
    frame[1] = std::byte{1};
    for (std::size_t size = 0; size <= frame.size(); ++size) {
        const std::span<const std::byte> cut(frame.data(), size);
        REQUIRE(is_trigger_request(cut) == (size == 5 || size == 8));
    }
}

TEST(trigger_request_with_another_byte_or_encapsulation_is_none) {
    std::vector<std::byte> frame(8);
    frame[1] = std::byte{1};
    REQUIRE(is_trigger_request(frame));
    frame[4] = std::byte{228};
    REQUIRE(!is_trigger_request(frame));
    frame[4] = std::byte{0};
    frame[1] = std::byte{7};
    REQUIRE(!is_trigger_request(frame));
    // What pads a frame is whatever stood in the sender's memory.
    frame[1] = std::byte{1};
    frame[6] = std::byte{0x55};
    REQUIRE(is_trigger_request(frame));
}

TEST(answer_stands_behind_its_number_and_one_that_does_not_fit_is_none) {
    const std::vector<std::byte> number(16, std::byte{9});
    const auto frame = answer_frame(number, {true, "yes"});
    REQUIRE(frame.size() == 4 + 16 + 4 + 4 + 4 && frame[19] == std::byte{9} && frame[20] == std::byte{1});
    REQUIRE(answer_frame({}, {false, "no"}).size() == 4 + 4 + 4 + 3);
    REQUIRE(answer_frame({}, {false, std::string(service_frame_bytes_max, 'x')}).empty());
}

TEST(status_is_read_as_it_was_written_and_not_when_it_is_cut) {
    SafetyStatusMessage status;
    status.state = 3;
    status.source = "human";
    status.reason = "because";
    status.sequence = 7;
    status.passed = 1ULL << 40U;
    status.dropped = 2;
    status.model_digest = "abc";
    std::vector<std::byte> memory(1024);
    const auto bytes = write_safety_status(status, memory);
    const auto read = read_status(bytes);
    REQUIRE(read && read->state == 3 && read->source == "human" && read->sequence == 7 && read->passed == status.passed && read->dropped == 2 && read->model_digest == "abc");
    for (std::size_t size = 0; size + 4 < bytes.size(); ++size) REQUIRE(!read_status(bytes.first(size)));
}

TEST(node_is_described_with_the_identity_of_the_release) {
    const Guid guid{1, 2, 3};
    const auto since_iron = participant_info(GidWidth::since_iron, guid, "/arm_a", "node", {guid}, {});
    const auto humble = participant_info(GidWidth::humble, guid, "/arm_a", "node", {guid}, {});
    REQUIRE(humble.size() == since_iron.size() + 2 * 8);
}
TEST_MAIN
