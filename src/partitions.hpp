// SPDX-License-Identifier: BSD-3-Clause
// What partitions of the data tell one another before a fit, and of their rows.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kopse/kmeans.hpp"

namespace kopse {

/// The whole, and where the rows of this partition begin in it.
struct whole_data {
  index rows = 0, first = 0;
  bool weighted = false; ///< a partition without rows has no weights either
};

/// Throws error where partitions do not belong together: other widths, types or options, weights for some.
template <class Real>
whole_data join(point_set<Real> const& points, index k, options const& o, reduction& all);

/// Rows of the whole, which `points` are part of, in this order: in the hands of every partition.
template <class Real>
matrix<double> rows_of_all(point_set<Real> const& points, std::span<index const> rows, reduction& all);

/// The greatest of each partition's.
double largest_of(double mine, reduction& all);
/// What scaled() makes of weights by the largest of all partitions. Throws error where that is 0.
std::vector<double> scaled_by_all(std::span<double const> weights, int& exponent, reduction& all);
/// The sum, in 64 bits.
std::uint64_t sum_of(std::uint64_t mine, reduction& all);
/// What the first has.
std::optional<std::string> that_of_first(std::optional<std::string> const& mine, reduction& all);

} // namespace kopse
