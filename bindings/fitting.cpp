// SPDX-License-Identifier: Apache-2.0
// Translation only: checks shapes and hands arrays to fitting/.
#include "capsules.hpp"
#include "growing_hull.hpp"
#include "points.hpp"

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

}  // namespace

NB_MODULE(_fitting, module) {
    module.doc() = "Inner loops of lowering. Capsules are rows of seven: start, end, radius.";
    module.def("capsules_along", &capsules_along, "points"_a.noconvert(), "axes"_a.noconvert(),
               "Returns per unit axis a capsule parallel to it that contains every point up to rounding.");
    module.def("covered", &covered, "points"_a.noconvert(), "capsules"_a.noconvert(),
               "Returns which points lie in some capsule.");
    module.def("clearances", &clearances, "poses"_a.noconvert(), "a"_a.noconvert(), "b"_a.noconvert(),
               "Returns (poses, a, b) clearances; a pose (3, 4) takes b's frame to a's.");
    module.def("any_within", &any_within, "poses"_a.noconvert(), "a"_a.noconvert(), "b"_a.noconvert(), "within_m"_a,
               "Returns per pose whether some capsule of a and some of b are within a distance of each other.");
    module.def("distinct", &distinct, "points"_a.noconvert(), "Returns where each point occurs first, in order.");
    module.def("growing_hulls", &growing_hulls, "points"_a.noconvert(), "height"_a.noconvert(),
               "offsets"_a.noconvert(),
               "Returns per offset, lowest first, the volume of the hull of the points not above it: 0 where they are "
               "flat, not a number where they are fewer than four. None where rounding tore the hull.");
    module.def("overlap_cost", &overlap_cost, "capsule"_a.noconvert(), "others"_a.noconvert(), nb::kw_only(),
               "near_m"_a, "half_m"_a,
               "Returns the summed d / (d + half_m) over others nearer than near_m by d, and its gradient.");
}
