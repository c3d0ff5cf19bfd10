// SPDX-License-Identifier: Apache-2.0
// Translation only: fields of voxels and points, and the environments that planners ask.
#include "lastgate/planning.hpp"

#include <memory>
#include <numeric>

#include "arrays.hpp"
#include "guarded_environment.hpp"
#include "world/obstacle_field.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace lastgate;
using namespace lastgate::bindings;

namespace {

VoxelSpec voxel_spec(std::tuple<double, double, double> origin, double resolution_m, std::array<std::uint32_t, 3> size, bool unknown_is_free, bool outside_is_free) {
    return {{std::get<0>(origin), std::get<1>(origin), std::get<2>(origin)}, resolution_m, size, unknown_is_free, outside_is_free};
}

std::vector<VoxelIndex> voxels_of(const Voxels& voxels) {
    if (voxels.shape(1) != 3) throw std::invalid_argument("voxels need three indices each");
    std::vector<VoxelIndex> indices(voxels.shape(0));
    for (std::size_t index = 0; index < indices.size(); ++index) {
        const std::uint32_t* voxel = voxels.data() + 3 * index;
        indices[index] = {voxel[0], voxel[1], voxel[2]};
    }
    return indices;
}

}  // namespace

/// Tables are built without the interpreter's lock: a check in another thread must not wait for one.
void bind_field(nb::module_& module) {
    nb::class_<ObstacleField>(module, "ObstacleField")
        .def_static("from_points", [](Matrix xyz) {
            if (xyz.shape(1) != 3) throw std::invalid_argument("points need three numbers each");
            const nb::gil_scoped_release release;
            return std::make_shared<ObstacleField>(ObstacleField::from_points({xyz.data(), xyz.size()}));
        }, "xyz"_a.noconvert())
        .def_static("from_spheres", [](Matrix xyzr, double block_m_min) {
            if (xyzr.shape(1) != 4) throw std::invalid_argument("spheres need four numbers each");
            std::vector<std::uint32_t> labels(xyzr.shape(0));
            std::iota(labels.begin(), labels.end(), 0U);
            const nb::gil_scoped_release release;
            return std::make_shared<ObstacleField>(ObstacleField::from_spheres({xyzr.data(), xyzr.size()}, labels, block_m_min));
        }, "xyzr"_a.noconvert(), "block_m_min"_a)
        .def_static("from_voxels", [](Bytes3 occupancy, std::tuple<double, double, double> origin, double resolution_m, bool unknown_is_free, bool outside_is_free) {
            const std::array<std::uint32_t, 3> size{static_cast<std::uint32_t>(std::min<std::size_t>(occupancy.shape(2), 0xFFFFFFFFU)),
                                                    static_cast<std::uint32_t>(std::min<std::size_t>(occupancy.shape(1), 0xFFFFFFFFU)),
                                                    static_cast<std::uint32_t>(std::min<std::size_t>(occupancy.shape(0), 0xFFFFFFFFU))};
            const nb::gil_scoped_release release;
            return std::make_shared<ObstacleField>(ObstacleField::from_voxels(voxel_spec(origin, resolution_m, size, unknown_is_free, outside_is_free), {occupancy.data(), occupancy.size()}));
        }, "occupancy"_a.noconvert(), nb::kw_only(), "origin"_a, "resolution_m"_a, "unknown_is_free"_a, "outside_is_free"_a)
        .def_static("from_sparse_voxels", [](Voxels occupied, Voxels free, std::array<std::uint32_t, 3> size, std::tuple<double, double, double> origin, double resolution_m, bool unknown_is_free, bool outside_is_free) {
            const auto solid = voxels_of(occupied);
            const auto open = voxels_of(free);
            const nb::gil_scoped_release release;
            return std::make_shared<ObstacleField>(ObstacleField::from_sparse_voxels(voxel_spec(origin, resolution_m, size, unknown_is_free, outside_is_free), solid, open));
        }, "occupied"_a.noconvert(), "free"_a.noconvert(), nb::kw_only(), "size"_a, "origin"_a, "resolution_m"_a, "unknown_is_free"_a, "outside_is_free"_a)
        .def_static("from_floor", [](Bytes3 blocked, Matrix in_base, double resolution_m, double low_m, double high_m) {
            if (in_base.shape(0) != 3 || in_base.shape(1) != 4) throw std::invalid_argument("a pose is 3 x 4");
            if (blocked.shape(0) != 1) throw std::invalid_argument("a floor is one layer of voxels");
            const double* m = in_base.data();
            FloorSpec spec;
            spec.in_base = {{{m[0], m[4], m[8]}, {m[1], m[5], m[9]}, {m[2], m[6], m[10]}}, {m[3], m[7], m[11]}};
            spec.resolution_m = resolution_m;
            spec.size = {static_cast<std::uint32_t>(std::min<std::size_t>(blocked.shape(2), 0xFFFFFFFFU)),
                         static_cast<std::uint32_t>(std::min<std::size_t>(blocked.shape(1), 0xFFFFFFFFU))};
            spec.low_m = low_m;
            spec.high_m = high_m;
            return std::make_shared<ObstacleField>(ObstacleField::from_floor(spec, {blocked.data(), blocked.size()}));
        }, "blocked"_a.noconvert(), "in_base"_a.noconvert(), nb::kw_only(), "resolution_m"_a, "low_m"_a, "high_m"_a)
        .def("with_voxels", [](const ObstacleField& field, Voxels occupied, Voxels free) {
            return std::make_shared<ObstacleField>(field.with_voxels(voxels_of(occupied), voxels_of(free)));
        }, "occupied"_a.noconvert(), "free"_a.noconvert())
        .def("distances", [](const ObstacleField& field, Matrix ends, double cutoff_m) {
            if (ends.shape(1) != 6) throw std::invalid_argument("segments need six numbers each");
            std::vector<double> out(ends.shape(0));
            for (std::size_t index = 0; index < out.size(); ++index) {
                const double* e = ends.data() + 6 * index;
                std::uint32_t obstacle = none;
                out[index] = field.distance({{e[0], e[1], e[2]}, {e[3], e[4], e[5]}}, cutoff_m, obstacle).distance_m;
            }
            const std::size_t count = out.size();
            return matrix_of(std::move(out), {count});
        }, "ends"_a.noconvert(), "cutoff_m"_a)
        .def("clearances", [](const ObstacleField& field, Matrix points) {
            if (points.shape(1) != 3) throw std::invalid_argument("points need three numbers each");
            std::vector<double> out(points.shape(0));
            for (std::size_t index = 0; index < out.size(); ++index) {
                const double* p = points.data() + 3 * index;
                out[index] = field.clearance({p[0], p[1], p[2]});
            }
            const std::size_t count = out.size();
            return matrix_of(std::move(out), {count});
        }, "points"_a.noconvert())
        .def_prop_ro("obstacle_count", &ObstacleField::obstacle_count)
        .def_prop_ro("memory_bytes", &ObstacleField::memory_bytes);
}

namespace {

using Spheres = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

/// One set of spheres per configuration; the interpreter's lock is given up while the core checks them.
std::size_t sphere_numbers_per_set(const Spheres& sets) {
    if (sets.shape(2) != 4) throw std::invalid_argument("spheres need four numbers each");
    return 4 * sets.shape(1);
}

}  // namespace

void bind_environment(nb::module_& module) {
    nb::class_<GuardedEnvironment>(module, "CollisionEnvironment")
        .def(nb::init<>())
        .def("add_spheres", [](GuardedEnvironment& env, Matrix spheres, double block_m_min) {
            const Alone alone(env.entry, environment_name);
            if (spheres.shape(1) != 4) throw std::invalid_argument("spheres need four numbers each");
            env.add_spheres({spheres.data(), spheres.size()}, block_m_min);
        }, "spheres"_a.noconvert(), "block_m_min"_a)
        .def("add_primitive", [](GuardedEnvironment& env, PrimitiveKind kind, Vector size, Vector pose) {
            const Alone alone(env.entry, environment_name);
            if (size.size() != 3 || pose.size() != 7) throw std::invalid_argument("an obstacle needs three sizes and seven pose numbers");
            env.add_primitive(make_primitive(kind, {size.data()[0], size.data()[1], size.data()[2]}, pose.data()));
        }, "kind"_a, "size"_a.noconvert(), "pose"_a.noconvert())
        .def("add_points", [](GuardedEnvironment& env, Matrix xyz, double radius_m) {
            const Alone alone(env.entry, environment_name);
            if (xyz.shape(1) != 3) throw std::invalid_argument("points need three numbers each");
            env.add_points({xyz.data(), xyz.size()}, radius_m);
        }, "xyz"_a.noconvert(), "radius_m"_a)
        .def("add_voxels", [](GuardedEnvironment& env, std::shared_ptr<ObstacleField> grid) {
            const Alone alone(env.entry, environment_name);
            env.add_voxels(std::move(grid));
        }, "grid"_a)
        .def("any_within", [](const GuardedEnvironment& env, Spheres sets, double margin_m, MutableFlags out) {
            const Reading reading(env.entry, environment_name);
            const std::size_t numbers = sphere_numbers_per_set(sets);
            if (out.size() != sets.shape(0)) throw std::invalid_argument("one answer per set is needed");
            nb::gil_scoped_release release;
            for (std::size_t set = 0; set < out.size(); ++set) out.data()[set] = env.any_within({sets.data() + set * numbers, numbers}, margin_m);
        }, "spheres"_a.noconvert(), "margin_m"_a, "out"_a.noconvert())
        .def("min_distances", [](const GuardedEnvironment& env, Spheres sets, double cutoff_m, MutableVector out) {
            const Reading reading(env.entry, environment_name);
            const std::size_t numbers = sphere_numbers_per_set(sets);
            if (out.size() != sets.shape(0)) throw std::invalid_argument("one answer per set is needed");
            nb::gil_scoped_release release;
            for (std::size_t set = 0; set < out.size(); ++set) {
                std::size_t sphere = 0;
                out.data()[set] = env.nearest_of({sets.data() + set * numbers, numbers}, cutoff_m, sphere).distance_m;
            }
        }, "spheres"_a.noconvert(), "cutoff_m"_a, "out"_a.noconvert())
        .def("nearest", [](const GuardedEnvironment& env, Matrix spheres, double cutoff_m) {
            const Reading reading(env.entry, environment_name);
            if (spheres.shape(1) != 4) throw std::invalid_argument("spheres need four numbers each");
            std::size_t sphere = 0;
            const NearestObstacle found = env.nearest_of({spheres.data(), spheres.size()}, cutoff_m, sphere);
            using Nearest = nb::typed<nb::tuple, double, std::size_t, ObstacleSource, std::uint32_t, Triple, Triple>;
            return Nearest(nb::make_tuple(found.distance_m, sphere, found.source, found.index, tuple_of(found.on_sphere), tuple_of(found.on_obstacle)));
        }, "spheres"_a.noconvert(), "cutoff_m"_a)
        .def_prop_ro("memory_bytes", [](const GuardedEnvironment& env) {
            const Reading reading(env.entry, environment_name);
            return env.memory_bytes();
        });
}
