// SPDX-License-Identifier: Apache-2.0
// Translation only: robots as planners ask about them, many configurations at a time, and certificates of paths.
#include <memory>

#include "arrays.hpp"
#include "config.hpp"
#include "guarded_environment.hpp"
#include "guarded_gate.hpp"
#include "lastgate/planning.hpp"
#include "link_frames.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace lastgate;
using namespace lastgate::kernel;
using namespace lastgate::bindings;

namespace {

using Links = nb::ndarray<const std::uint16_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Indices = nb::ndarray<const std::uint32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

/// Frames of one configuration after another, every variable given.
class Placer {
  public:
    Placer(const RobotModel& model, const Matrix& configurations, const Vector& uncertainty)
        : model_(model), configurations_(configurations), uncertainty_(span_of(uncertainty)), frames_(model.bodies().size()) {
        if (configurations.shape(1) != model.variable_count() || uncertainty.size() != model.variable_count()) {
            throw std::invalid_argument("configurations need one column per variable");
        }
    }

    PlacedRobot at(std::size_t index) {
        forward_kinematics(model_, configurations_.data() + index * model_.variable_count(), frames_);
        return {model_, frames_, uncertainty_};
    }

  private:
    const RobotModel& model_;
    const Matrix& configurations_;
    std::span<const double> uncertainty_;
    std::vector<Transform> frames_;
};

void require_links(const Indices& wanted, std::size_t columns, std::size_t configurations, const RobotModel& model) {
    if (wanted.shape(1) != columns) throw std::invalid_argument("another number of columns is needed");
    for (std::size_t index = 0; index < wanted.shape(0); ++index) {
        bool known = wanted(index, 0) < configurations;
        for (std::size_t column = 1; column < columns; ++column) known = known && wanted(index, column) < model.link_count();
        if (!known) throw std::invalid_argument("no such configuration or link");
    }
}

/// distance, on the link x y z, on the other x y z, source, index.
constexpr std::size_t nearest_columns = 9;

void write_nearest(const NearestObstacle& found, double* out) {
    const double values[nearest_columns] = {found.distance_m, found.on_sphere.x, found.on_sphere.y, found.on_sphere.z, found.on_obstacle.x, found.on_obstacle.y,
                                            found.on_obstacle.z, static_cast<double>(found.source), static_cast<double>(found.index)};
    std::copy(std::begin(values), std::end(values), out);
}

Array rows_of(std::vector<double>&& values, std::size_t columns) {
    const std::size_t count = values.size() / columns;
    return matrix_of(std::move(values), {count, columns});
}

}  // namespace

void bind_planning(nb::module_& module) {
    nb::class_<SphereCover>(module, "SphereCover")
        .def("__init__", [](SphereCover* self, const KernelConfig& config, Matrix xyzr_in_link, Links links) {
            new (self) SphereCover(std::make_shared<const RobotModel>(config.model), {xyzr_in_link.data(), xyzr_in_link.size()}, {links.data(), links.size()});
        }, "config"_a, "xyzr_in_link"_a.noconvert(), "links"_a.noconvert())
        .def_prop_ro("variable_count", [](const SphereCover& cover) { return cover.model().variable_count(); })
        .def("link_frames", [](const SphereCover& cover, Matrix configurations) { return link_frames(cover.model(), configurations); }, "configurations"_a.noconvert())
        .def("place", [](const SphereCover& cover, Matrix configurations, Vector uncertainty) {
            Placer placer(cover.model(), configurations, uncertainty);
            const std::size_t count = configurations.shape(0);
            std::vector<double> out(count * cover.sphere_count() * 4);
            {
                const nb::gil_scoped_release release;
                for (std::size_t index = 0; index < count; ++index) {
                    const PlacedRobot robot = placer.at(index);
                    cover.place(robot.frames, robot.uncertainty, out.data() + index * cover.sphere_count() * 4);
                }
            }
            return matrix_of(std::move(out), {count, cover.sphere_count(), 4});
        }, "configurations"_a.noconvert(), "uncertainty"_a.noconvert())
        .def("link_distances", [](const SphereCover& cover, Matrix configurations, Vector uncertainty, Links links, const GuardedEnvironment& environment, double cutoff_m) {
            const Reading reading(environment.entry, environment_name);
            Placer placer(cover.model(), configurations, uncertainty);
            for (std::size_t at = 0; at < links.size(); ++at) {
                if (links(at) >= cover.model().link_count()) throw std::invalid_argument("no such link");
            }
            const std::size_t count = configurations.shape(0);
            std::vector<double> out(count * links.size());
            {
                const nb::gil_scoped_release release;
                std::vector<double> spheres(cover.sphere_count() * 4);
                for (std::size_t index = 0; index < count; ++index) {
                    const PlacedRobot robot = placer.at(index);
                    cover.place(robot.frames, robot.uncertainty, spheres.data());
                    for (std::size_t at = 0; at < links.size(); ++at) {
                        const std::size_t first = cover.sphere_first(links(at));
                        const std::size_t last = cover.sphere_first(links(at) + std::size_t{1});
                        std::size_t nearest = 0;
                        out[index * links.size() + at] = environment.nearest_of({spheres.data() + 4 * first, 4 * (last - first)}, cutoff_m, nearest).distance_m;
                    }
                }
            }
            return matrix_of(std::move(out), {count, links.size()});
        }, "configurations"_a.noconvert(), "uncertainty"_a.noconvert(), "links"_a.noconvert(), "environment"_a, "cutoff_m"_a)
        .def("pair_distances", [](const SphereCover& cover, Matrix configurations, Vector uncertainty, Indices pairs, double cutoff_m) {
            Placer placer(cover.model(), configurations, uncertainty);
            if (pairs.shape(1) != 2) throw std::invalid_argument("pairs are two links each");
            for (std::size_t at = 0; at < pairs.shape(0); ++at) {
                if (pairs(at, 0) >= cover.model().link_count() || pairs(at, 1) >= cover.model().link_count()) throw std::invalid_argument("no such link");
            }
            const std::size_t count = configurations.shape(0);
            const std::size_t pair_count = pairs.shape(0);
            std::vector<double> out(count * pair_count);
            {
                const nb::gil_scoped_release release;
                std::vector<double> spheres(cover.sphere_count() * 4);
                for (std::size_t index = 0; index < count; ++index) {
                    const PlacedRobot robot = placer.at(index);
                    cover.place(robot.frames, robot.uncertainty, spheres.data());
                    for (std::size_t at = 0; at < pair_count; ++at) {
                        out[index * pair_count + at] = cover.distance_of_links(spheres.data(), pairs(at, 0), pairs(at, 1), cutoff_m);
                    }
                }
            }
            return matrix_of(std::move(out), {count, pair_count});
        }, "configurations"_a.noconvert(), "uncertainty"_a.noconvert(), "pairs"_a.noconvert(), "cutoff_m"_a)
        .def("convex_link_distances", [](const SphereCover& cover, Matrix configurations, Vector uncertainty, Indices wanted, const GuardedEnvironment& environment, double cutoff_m) {
            const Reading reading(environment.entry, environment_name);
            Placer placer(cover.model(), configurations, uncertainty);
            require_links(wanted, 2, configurations.shape(0), cover.model());
            std::vector<double> out(wanted.shape(0) * nearest_columns);
            {
                const nb::gil_scoped_release release;
                for (std::size_t at = 0; at < wanted.shape(0); ++at) {
                    write_nearest(distance_link_environment(placer.at(wanted(at, 0)), wanted(at, 1), environment, cutoff_m), out.data() + at * nearest_columns);
                }
            }
            return rows_of(std::move(out), nearest_columns);
        }, "configurations"_a.noconvert(), "uncertainty"_a.noconvert(), "wanted"_a.noconvert(), "environment"_a, "cutoff_m"_a)
        .def("convex_pair_distances", [](const SphereCover& cover, Matrix configurations, Vector uncertainty, Indices wanted, double cutoff_m) {
            Placer placer(cover.model(), configurations, uncertainty);
            require_links(wanted, 3, configurations.shape(0), cover.model());
            std::vector<double> out(wanted.shape(0) * nearest_columns);
            {
                const nb::gil_scoped_release release;
                for (std::size_t at = 0; at < wanted.shape(0); ++at) {
                    write_nearest(distance_link_link(placer.at(wanted(at, 0)), wanted(at, 1), wanted(at, 2), cutoff_m), out.data() + at * nearest_columns);
                }
            }
            return rows_of(std::move(out), nearest_columns);
        }, "configurations"_a.noconvert(), "uncertainty"_a.noconvert(), "wanted"_a.noconvert(), "cutoff_m"_a);

    module.def("hull_planes", [](Matrix vertices) {
        if (vertices.shape(1) != 3) throw std::invalid_argument("vertices need three numbers each");
        if (vertices.shape(0) > capacity::hull_vertices_max) throw std::invalid_argument("more vertices than a hull may have");
        std::vector<Vec3> points;
        for (std::size_t index = 0; index < vertices.shape(0); ++index) points.push_back({vertices(index, 0), vertices(index, 1), vertices(index, 2)});
        std::vector<double> out;
        {
            const nb::gil_scoped_release release;
            for (const HullPlane& plane : hull_planes(points)) out.insert(out.end(), {plane.out.x, plane.out.y, plane.out.z, plane.offset_m});
        }
        return rows_of(std::move(out), 4);
    }, "vertices"_a.noconvert());
    module.def("certify_path", [](const GuardedGate& gate, const WorldSnapshot& world) {
        const PathCertificate certificate = [&] {
            const Alone alone(gate.entry, gate_name);
            return certify_path(gate, world);
        }();
        std::vector<double> records;
        for (const CertificateRecord& r : certificate.records) {
            records.insert(records.end(), {static_cast<double>(r.kind), r.by_hulls ? 1.0 : 0.0, double(r.a), double(r.b), r.hull_a ? 1.0 : 0.0, double(r.shape_a),
                                           r.hull_b ? 1.0 : 0.0, double(r.shape_b), r.low, r.high, r.at, r.direction.x, r.direction.y, r.direction.z, r.distance_m,
                                           r.motion_m, r.required_m});
        }
        std::vector<double> apart;
        for (const ApartRecord& r : certificate.apart) apart.insert(apart.end(), {double(r.volume), double(r.hull), r.direction.x, r.direction.y, r.direction.z});
        using Answer = nb::typed<nb::tuple, bool, Array, Array>;
        return Answer(nb::make_tuple(certificate.complete, rows_of(std::move(records), 17), rows_of(std::move(apart), 5)));
    }, "gate"_a, "world"_a);
    module.def("gate_uncertainty", [](const GuardedGate& gate) {
        const Alone alone(gate.entry, gate_name);
        const auto uncertainty = gate.uncertainty();
        return std::vector<double>(uncertainty.begin(), uncertainty.end());
    }, "gate"_a);
}
