// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <span>

inline std::span<const std::byte> span_of(const nanobind::bytes& bytes) { return {static_cast<const std::byte*>(bytes.data()), bytes.size()}; }
