// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "lastgate/gate_config.hpp"
#include "simd/simd_model.hpp"
#include "lastgate/robot_model.hpp"
#include "robot/shape_set.hpp"
#include "lastgate/world_snapshot.hpp"
#include "sweep/workspace.hpp"

namespace lastgate::detail {

/// What a gate was built with. Attaching and detaching change it, checking never does.
struct GateSetup {
    /// Throws std::invalid_argument that says which number cannot be used.
    GateSetup(std::shared_ptr<const RobotModel> robot_model, GateConfig gate_config);

    /// Rewrites what is derived from the shapes.
    void follow_shapes() noexcept;

    std::shared_ptr<const RobotModel> model;
    GateConfig config;
    ShapeSet shapes;
    SimdModel simd;
    WorldSnapshot zones;    ///< To stay out of.
    WorldSnapshot keep_in;  ///< To stay inside of, in the order of the configuration.
    std::vector<double> body_reach;  ///< bodies x chain: the largest reach of its volumes.

  private:
    void bound_body_reach() noexcept;
};

/// All of a gate: what it was built with and the memory it works in.
struct GateState {
    GateState(std::shared_ptr<const RobotModel> robot_model, GateConfig gate_config);

    /// After something was attached or detached; never allocates.
    void follow_shapes() noexcept {
        setup.follow_shapes();
        workspace.forget_closest(setup.simd.tables());
        ++shapes_revision;
    }

    GateSetup setup;
    SweepWorkspace workspace;
    std::uint64_t shapes_revision = 0;  ///< Grows with everything attached or detached.
};

}  // namespace lastgate::detail
