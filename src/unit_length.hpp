// SPDX-License-Identifier: BSD-3-Clause
// The arithmetic of spherical k-means (docs/exactness.md), where flags are the library's.
#pragma once

#include "kopse/core.hpp"

namespace kopse {

/// Rows may differ from length 1 by half of this, so a row at a squared distance below its square is at its
/// centroid but for its length.
inline constexpr double unit_tolerance = 1e-6;

/// Divides x, all finite, by its length, unless it has length 1 but for rounding: what was divided once stays
/// as it is. False, and x stays too, if it is 0.
bool to_unit_length(double* x, index d);

} // namespace kopse
