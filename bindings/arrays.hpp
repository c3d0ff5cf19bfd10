// SPDX-License-Identifier: Apache-2.0
// What all bindings share: how arrays come in and go out.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <span>
#include <stdexcept>
#include <vector>

#include "lastgate/math.hpp"

namespace lastgate::bindings {

namespace nb = nanobind;

/// Exactly what the core reads. A float32 or strided array is refused, not silently copied.
using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Vector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Kinds = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Bytes3 = nb::ndarray<const std::uint8_t, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Voxels = nb::ndarray<const std::uint32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using MutableVector = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
/// Configurations below which giving up and taking back the interpreter's lock costs more than they do.
inline constexpr std::size_t batch_under_lock_max = 64;

using MutableFlags = nb::ndarray<bool, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

inline std::span<const double> span_of(const Vector& array) { return {array.data(), array.size()}; }
inline std::span<const double> span_of(const std::optional<Vector>& array) {
    return array ? span_of(*array) : std::span<const double>{};
}

// Spelled out so that the generated stub can say what is inside.
using Triple = nb::typed<nb::tuple, double, double, double>;
using WitnessTuple = nb::typed<nb::tuple, double, Triple, Triple>;
using Array = nb::ndarray<nb::numpy, double>;

inline Triple tuple_of(Vec3 v) { return nb::make_tuple(v.x, v.y, v.z); }

template <typename T>
auto* new_array(std::vector<T>&& values) {
    return new std::vector<T>(std::move(values));
}

/// Hands a vector over to NumPy.
inline Array matrix_of(std::vector<double>&& values, std::vector<std::size_t> shape) {
    auto* owned = new_array(std::move(values));
    nb::capsule owner(owned, [](void* pointer) noexcept { delete static_cast<std::vector<double>*>(pointer); });
    return Array(owned->data(), shape.size(), shape.data(), owner);
}

inline Segment segment_of(const Vector& ends) {
    if (ends.size() != 6) throw std::invalid_argument("a segment needs six numbers");
    const double* e = ends.data();
    return {{e[0], e[1], e[2]}, {e[3], e[4], e[5]}};
}

inline WitnessTuple tuple_of(const Witness& witness) {
    return nb::make_tuple(witness.distance_m, tuple_of(witness.on_first), tuple_of(witness.on_second));
}

}  // namespace lastgate::bindings
