# SPDX-License-Identifier: Apache-2.0
"""Writes gateway/type_hashes.hpp: what ROS 2 calls the definition of each message that the gateway moves.

The hashes follow from the .msg files under ros2/ and from those that every ROS 2 has, as `rosbags` computes them; the
tests compare them with what a real ROS 2 says about its own.
"""

import sys
from pathlib import Path

from rosbags.typesys import Stores, get_types_from_msg, get_typestore

ROOT = Path(__file__).parents[1]
OURS = ROOT / "ros2" / "openral_msgs" / "msg"
TARGET = ROOT / "gateway" / "type_hashes.hpp"

FROM_ROS = (
    "diagnostic_msgs/msg/DiagnosticArray",
    "geometry_msgs/msg/Twist",
    "sensor_msgs/msg/JointState",
    "std_msgs/msg/Empty",
)

HEAD = """// SPDX-License-Identifier: Apache-2.0
// Written by tools/generate_type_hashes.py from the message definitions.
#pragma once

#include <string_view>
#include <utility>

namespace lastgate::gateway {

/// The hash of a definition as ROS 2 states it; empty for halves of services, of which it states none.
constexpr std::string_view type_hash(std::string_view ros_type) noexcept {
    constexpr std::pair<std::string_view, std::string_view> hashes[] = {
"""
TAIL = """    };
    for (const auto& [type, hash] : hashes) {
        if (type == ros_type) return hash;
    }
    return {};
}

}  // namespace lastgate::gateway
"""


def text() -> str:
    """Returns the file as it should be."""
    store = get_typestore(Stores.ROS2_JAZZY)
    names = list(FROM_ROS)
    for path in sorted(OURS.glob("*.msg")):
        name = f"openral_msgs/msg/{path.stem}"
        store.register(get_types_from_msg(path.read_text(encoding="utf-8"), name))
        names.append(name)
    rows = [f'        {{"{name}", "{store.hash_rihs01(name)}"}},\n' for name in sorted(names)]
    return HEAD + "".join(rows) + TAIL


if __name__ == "__main__":
    TARGET.write_text(text(), encoding="utf-8")
    print(TARGET.relative_to(ROOT), file=sys.stderr)
