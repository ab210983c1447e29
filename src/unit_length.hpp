// SPDX-License-Identifier: BSD-3-Clause
// The arithmetic of spherical k-means (docs/exactness.md), where flags are the library's.
#pragma once

#include "kopse/point_set.hpp"

namespace kopse {

/// By how much the squared length of a row may differ from 1; its length by half. What is nearer to its
/// centroid than this may differ from it in length alone.
inline constexpr double unit_tolerance = 1e-6;

/// Divides x, all finite, by its length, unless it has length 1 but for rounding: what was divided once stays
/// as it is. False, and x stays too, if it is 0.
bool to_unit_length(double* x, index d);

/// What comes before rows are divided: throws error for values that validate() refuses and a row of zeros,
/// the first of each, with its number.
template <class Real> void check_directions(point_set<Real> const& points, int threads);

} // namespace kopse
