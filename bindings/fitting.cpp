// SPDX-License-Identifier: Apache-2.0
// Translation only: checks shapes and hands arrays to fitting/.
#include "capsules.hpp"
#include "deep_sphere.hpp"
#include "growing_hull.hpp"
#include "overshoot.hpp"
#include "plane_section.hpp"
#include "points.hpp"
#include "winding_number.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;
using namespace lastgate;

namespace {

using Points = nb::ndarray<const double, nb::shape<-1, 3>, nb::c_contig, nb::device::cpu>;
using Capsules = nb::ndarray<const double, nb::shape<-1, 7>, nb::c_contig, nb::device::cpu>;
using Numbers = nb::ndarray<const double, nb::shape<-1>, nb::c_contig, nb::device::cpu>;
using Planes = nb::ndarray<const double, nb::shape<-1, 4>, nb::c_contig, nb::device::cpu>;
using Ends = nb::ndarray<const std::int64_t, nb::shape<-1>, nb::c_contig, nb::device::cpu>;
using Vector3 = nb::ndarray<const double, nb::shape<3>, nb::c_contig, nb::device::cpu>;
using Triangles = nb::ndarray<const double, nb::shape<-1, 3, 3>, nb::c_contig, nb::device::cpu>;
using Vector7 = nb::ndarray<const double, nb::shape<7>, nb::c_contig, nb::device::cpu>;
using Poses = nb::ndarray<const double, nb::shape<-1, 3, 4>, nb::c_contig, nb::device::cpu>;

template <typename T>
nb::ndarray<nb::numpy, T> owned(std::unique_ptr<T[]> values, std::initializer_list<std::size_t> shape) {
    nb::capsule owner(values.get(), [](void* pointer) noexcept { delete[] static_cast<T*>(pointer); });
    return nb::ndarray<nb::numpy, T>(values.release(), shape, owner);
}

template <typename Array>
std::span<const double> span_of(const Array& array) {
    return {array.data(), array.size()};
}

nb::ndarray<nb::numpy, double> capsules_along(const Points& points, const Points& axes) {
    if (points.shape(0) == 0) {
        throw std::invalid_argument("a capsule needs at least one point");
    }
    const std::size_t size = axes.shape(0) * fitting::capsule_columns;
    auto capsules = std::make_unique<double[]>(size);
    fitting::capsules_along(span_of(points), span_of(axes), {capsules.get(), size});
    return owned(std::move(capsules), {axes.shape(0), fitting::capsule_columns});
}

nb::ndarray<nb::numpy, bool> covered(const Points& points, const Capsules& capsules) {
    auto inside = std::make_unique<bool[]>(points.shape(0));
    fitting::covered(span_of(points), span_of(capsules), {inside.get(), points.shape(0)});
    return owned(std::move(inside), {points.shape(0)});
}

nb::ndarray<nb::numpy, double> clearances(const Poses& poses, const Capsules& a, const Capsules& b) {
    const std::size_t size = poses.shape(0) * a.shape(0) * b.shape(0);
    auto clearance_m = std::make_unique<double[]>(size);
    fitting::clearances(span_of(poses), span_of(a), span_of(b), {clearance_m.get(), size});
    return owned(std::move(clearance_m), {poses.shape(0), a.shape(0), b.shape(0)});
}

nb::ndarray<nb::numpy, bool> any_within(const Poses& poses, const Capsules& a, const Capsules& b, double within_m) {
    auto found = std::make_unique<bool[]>(poses.shape(0));
    fitting::any_within(span_of(poses), span_of(a), span_of(b), within_m, {found.get(), poses.shape(0)});
    return owned(std::move(found), {poses.shape(0)});
}

nb::typed<nb::tuple, double, nb::ndarray<nb::numpy, double>> overlap_cost(const Vector7& capsule,
                                                                          const Capsules& others, double near_m,
                                                                          double half_m) {
    const fitting::OverlapCost cost = fitting::overlap_cost(span_of(capsule), span_of(others), near_m, half_m);
    auto gradient = std::make_unique<double[]>(fitting::capsule_columns);
    std::copy(std::begin(cost.gradient), std::end(cost.gradient), gradient.get());
    return nb::make_tuple(cost.value, owned(std::move(gradient), {fitting::capsule_columns}));
}

nb::ndarray<nb::numpy, std::int64_t> distinct(const Points& points) {
    const std::vector<std::size_t> first = fitting::distinct(span_of(points));
    auto index = std::make_unique<std::int64_t[]>(first.size());
    std::copy(first.begin(), first.end(), index.get());
    return owned(std::move(index), {first.size()});
}

std::optional<nb::ndarray<nb::numpy, double>> growing_hulls(const Points& points, const Numbers& height, const Numbers& offsets) {
    if (points.shape(0) != height.shape(0)) {
        throw std::invalid_argument("every point needs a height");
    }
    auto volume_m3 = std::make_unique<double[]>(offsets.shape(0));
    if (!fitting::growing_hulls(span_of(points), span_of(height), span_of(offsets),
                                {volume_m3.get(), offsets.shape(0)})) {
        return std::nullopt;
    }
    return owned(std::move(volume_m3), {offsets.shape(0)});
}

std::span<const std::int64_t> ends_of(const Planes& planes, const Ends& hull_ends) {
    std::int64_t before = 0;
    for (std::size_t i = 0; i < hull_ends.shape(0); ++i) {
        if (hull_ends.data()[i] < before) {
            throw std::invalid_argument("hull_ends must not fall");
        }
        before = hull_ends.data()[i];
    }
    if (before != static_cast<std::int64_t>(planes.shape(0))) {
        throw std::invalid_argument("the last of hull_ends must be the number of planes");
    }
    return {hull_ends.data(), hull_ends.shape(0)};
}

fitting::Solid solid_of(const Planes& planes, const Ends& hull_ends, const Points& surface) {
    return {span_of(planes), ends_of(planes, hull_ends), span_of(surface)};
}

nb::ndarray<nb::numpy, double> depths(const Points& points, const Planes& planes, const Ends& hull_ends,
                                      const Points& surface) {
    const fitting::Solid solid = solid_of(planes, hull_ends, surface);
    auto depth_m = std::make_unique<double[]>(points.shape(0));
    for (std::size_t i = 0; i < points.shape(0); ++i) {
        depth_m[i] = fitting::depth_in(solid, points.data() + 3 * i);
    }
    return owned(std::move(depth_m), {points.shape(0)});
}

nb::typed<nb::tuple, double, double, double, double, double> deep_sphere(const Planes& vertices, const Planes& centres,
                                                                       const Planes& planes, const Ends& hull_ends,
                                                                       const Points& surface) {
    if (vertices.shape(0) == 0 || centres.shape(0) == 0) {
        throw std::invalid_argument("a sphere needs a vertex and a centre");
    }
    const fitting::Solid solid = solid_of(planes, hull_ends, surface);
    fitting::DeepSphere sphere;
    {
        const nb::gil_scoped_release release;
        sphere = fitting::deep_sphere(span_of(vertices), span_of(centres), solid);
    }
    return nb::make_tuple(sphere.centre[0], sphere.centre[1], sphere.centre[2], sphere.radius_m, sphere.overshoot_m);
}

double overshoot_bound(const Vector3& centre, double radius_m, const Planes& planes, const Ends& hull_ends) {
    const fitting::Solid solid{span_of(planes), ends_of(planes, hull_ends), {}};
    const nb::gil_scoped_release release;
    return fitting::overshoot_bound(centre.data(), radius_m, solid);
}

nb::ndarray<nb::numpy, double> plane_section(const Points& vertices, const Numbers& height, const Vector3& axis) {
    if (vertices.shape(0) != height.shape(0)) {
        throw std::invalid_argument("every vertex needs a height");
    }
    const std::vector<double> section =
        fitting::plane_section(span_of(vertices), span_of(height), std::span<const double, 3>(axis.data(), 3));
    auto rows = std::make_unique<double[]>(section.size());
    std::copy(section.begin(), section.end(), rows.get());
    return owned(std::move(rows), {section.size() / 3, 3});
}

double winding_number(const Vector3& point, const Triangles& triangles) {
    const double* at = point.data();
    return fitting::winding_number({at[0], at[1], at[2]}, span_of(triangles));
}

}  // namespace

NB_MODULE(_fitting, module) {
    module.doc() = "Inner loops of fitting volumes and spheres. Capsules are rows of seven: start, end, radius.";
    module.def("capsules_along", &capsules_along, "points"_a.noconvert(), "axes"_a.noconvert(),
               "Returns per unit axis a capsule parallel to it that contains every point up to rounding.");
    module.def("covered", &covered, "points"_a.noconvert(), "capsules"_a.noconvert(),
               "Returns which points lie in some capsule.");
    module.def("clearances", &clearances, "poses"_a.noconvert(), "a"_a.noconvert(), "b"_a.noconvert(),
               "Returns (poses, a, b) clearances; a pose (3, 4) takes b's frame to a's.");
    module.def("any_within", &any_within, "poses"_a.noconvert(), "a"_a.noconvert(), "b"_a.noconvert(), "within_m"_a,
               "Returns per pose whether some capsule of a and some of b are within a distance of each other.");
    module.def("depths", &depths, "points"_a.noconvert(), "planes"_a.noconvert(), "hull_ends"_a.noconvert(),
               "surface"_a.noconvert(),
               "Returns how deep each point lies in a union of hulls, by points of its surface; minus infinity outside.");
    module.def("deep_sphere", &deep_sphere, "vertices"_a.noconvert(), "centres"_a.noconvert(), "planes"_a.noconvert(),
               "hull_ends"_a.noconvert(), "surface"_a.noconvert(),
               "Returns x, y, z, radius and estimated overshoot of a sphere that holds every vertex (x, y, z, grown by) and "
               "stands out of the union of hulls by little. Centres to start from are x, y, z, depth.");
    module.def("distinct", &distinct, "points"_a.noconvert(), "Returns where each point occurs first, in order.");
    module.def("growing_hulls", &growing_hulls, "points"_a.noconvert(), "height"_a.noconvert(),
               "offsets"_a.noconvert(),
               "Returns per offset, lowest first, the volume of the hull of the points not above it: 0 where they are "
               "flat, not a number where they are fewer than four. None where rounding tore the hull.");
    module.def("overshoot_bound", &overshoot_bound, "centre"_a.noconvert(), "radius_m"_a, "planes"_a.noconvert(),
               "hull_ends"_a.noconvert(),
               "Returns a bound on how far any point of a sphere is from a union of hulls; infinite where it finds none.");
    module.def("plane_section", &plane_section, "vertices"_a.noconvert(), "height"_a.noconvert(), "axis"_a.noconvert(),
               "Returns the vertices of where a plane cuts the hull of vertices with these heights above it.");
    module.def("overlap_cost", &overlap_cost, "capsule"_a.noconvert(), "others"_a.noconvert(), nb::kw_only(),
               "near_m"_a, "half_m"_a,
               "Returns the summed d / (d + half_m) over others nearer than near_m by d, and its gradient.");
    module.def("winding_number", &winding_number, "point"_a.noconvert(), "triangles"_a.noconvert(),
               "Returns how often a surface goes round a point: near 1 inside, near 0 outside, also for leaky meshes.");
}
