// SPDX-License-Identifier: Apache-2.0
// Written by tools/generate_type_hashes.py from the message definitions.
#pragma once

#include <string_view>
#include <utility>

namespace lastgate::gateway {

/// The hash of a definition as ROS 2 states it; empty for halves of services, of which it states none.
constexpr std::string_view type_hash(std::string_view ros_type) noexcept {
    constexpr std::pair<std::string_view, std::string_view> hashes[] = {
        {"diagnostic_msgs/msg/DiagnosticArray", "RIHS01_5a8a36efb05fb25070fa0fb3810290c0e6cd4862b54a8fb975a1ee8dc55a333e"},
        {"geometry_msgs/msg/Twist", "RIHS01_9c45bf16fe0983d80e3cfe750d6835843d265a9a6c46bd2e609fcddde6fb8d2a"},
        {"openral_msgs/msg/ActionChunk", "RIHS01_eb9c3da09a52bfe54449963c26d8de3ee6609a672f9801585ea2d67629e325c6"},
        {"openral_msgs/msg/FailureTrigger", "RIHS01_02d0a3868759a24d1bf9e8dfef2fa34c7627e7bab6e7f6ac17146b3e374dbc77"},
        {"openral_msgs/msg/OccupancyVoxels", "RIHS01_d34b359b7dfeecbe719970172175dd42b0135b73c1fd84ccc0035969af0f0219"},
        {"openral_msgs/msg/SafetyStatus", "RIHS01_4f070c957e7de3d88e87bd39024ed9a913c730a4f6aef3274c9e8e665eb41de5"},
        {"openral_msgs/msg/WorldCollision", "RIHS01_4f8ef3b38d85744f4de7c9854b460033bb2b93914ad34e19655692805a9ce05c"},
        {"sensor_msgs/msg/JointState", "RIHS01_a13ee3a330e346c9d87b5aa18d24e11690752bd33a0350f11c5882bc9179260e"},
        {"std_msgs/msg/Empty", "RIHS01_20b625256f32d5dbc0d04fee44f43c41e51c70d3502f84b4a08e7a9c26a96312"},
    };
    for (const auto& [type, hash] : hashes) {
        if (type == ros_type) return hash;
    }
    return {};
}

}  // namespace lastgate::gateway
