// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sweep.hpp"

namespace lastgate::detail {

/// Asks of one pair after the other whether a box of configurations around the sampled one keeps it certified.
class BoxTest {
  public:
    /// A box is one segment: a declared contact counts for all of it or not at all.
    BoxTest(Sweep& sweep, PairKind kind, std::span<const double> half_width, std::size_t segment) noexcept
        : sweep_(sweep), kind_(kind), half_width_(half_width), segment_(segment) {}

    /// True when the pair is not certified; `item` and `witness` then tell about it.
    bool is_uncertified(std::uint16_t a, std::uint16_t b) noexcept;

    OpenItem item;
    Witness witness{};
    bool violated_here = false;  ///< The pair is too close in the middle of the box already.

  private:
    bool is_certified_by_hulls() noexcept;

    Sweep& sweep_;
    PairKind kind_;
    std::span<const double> half_width_;
    std::size_t segment_;
};

}  // namespace lastgate::detail
