// SPDX-License-Identifier: Apache-2.0
#include "lastgate/robot_model.hpp"

namespace lastgate {

void forward_kinematics(const RobotModel& model, const double* configuration, std::span<Transform> frames) noexcept {
    const std::span<const Body> bodies = model.bodies();
    frames[0] = Transform{};
    for (std::size_t index = 1; index < bodies.size(); ++index) {
        const Body& body = bodies[index];
        const Transform& parent = frames[body.parent];
        Transform& frame = frames[index];
        frame = parent * body.in_parent;
        const double position = body.multiplier * configuration[body.dof] + body.offset;
        if (body.kind == JointKind::revolute) {
            const auto [s, c] = sincos(position);
            const Vec3 x = frame.rotation.x;
            const Vec3 y = frame.rotation.y;
            frame.rotation.x = c * x + s * y;
            frame.rotation.y = c * y - s * x;
        } else {
            frame.translation = frame.translation + position * frame.rotation.z;
        }
    }
}

}  // namespace lastgate
