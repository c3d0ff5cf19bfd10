// SPDX-License-Identifier: Apache-2.0
// Where the links of a robot stand, as NumPy reads it.
#pragma once

#include "arrays.hpp"
#include "lastgate/robot_model.hpp"

namespace lastgate::bindings {

/// (configurations, links, 3, 4): rotation by rows, and the translation.
inline Array link_frames(const RobotModel& model, const Matrix& configurations) {
    if (configurations.shape(1) != model.variable_count()) throw std::invalid_argument("configurations need one column per variable");
    const std::size_t count = configurations.shape(0);
    std::vector<double> out(count * model.link_count() * 12);
    {
        const nb::gil_scoped_release release;
        std::vector<Transform> frames(model.bodies().size());
        double* at = out.data();
        for (std::size_t index = 0; index < count; ++index) {
            forward_kinematics(model, configurations.data() + index * model.variable_count(), frames);
            for (std::size_t link = 0; link < model.link_count(); ++link) {
                const Transform pose = frames[model.body_of_link(link)] * model.link_in_body(link);
                const Mat3 rows = transposed(pose.rotation);
                const double translation[3] = {pose.translation.x, pose.translation.y, pose.translation.z};
                const Vec3 row[3] = {rows.x, rows.y, rows.z};
                for (int axis = 0; axis < 3; ++axis) {
                    *at++ = row[axis].x;
                    *at++ = row[axis].y;
                    *at++ = row[axis].z;
                    *at++ = translation[axis];
                }
            }
        }
    }
    return matrix_of(std::move(out), {count, model.link_count(), 3, 4});
}

}  // namespace lastgate::bindings
