// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lastgate/gate.hpp"
#include "world_frames.hpp"

namespace lastgate::kernel {

/// What a deployment consists of: the robot by index for the core, and the names for all other parts.
struct KernelConfig {
    std::string robot_name;
    std::string base_frame;
    WorldFrames frames;  ///< `base_frame`, and the second frame that worlds may be in.
    std::string skill_id;
    std::string skill_version;
    std::vector<std::string> link_names;
    std::vector<std::string> joint_names;  ///< Per degree of freedom.
    std::vector<std::string> effector_names;
    std::vector<std::string> zone_names;
    std::vector<std::string> keep_in_names;
    bool deadman_required = true;
    RobotModelSpec model;
    GateConfig gate;
};

/// Reads the flat YAML of `lastgate kernel config` (schema_version 1): one `key: value` per line, a value
/// being a number, a string in double quotes, true, false, or a list of those in brackets. Throws
/// std::invalid_argument with the line for anything else: an unknown, repeated or missing key, a wrong
/// length, a number that is not finite.
KernelConfig read_config(std::string_view text);

}  // namespace lastgate::kernel
