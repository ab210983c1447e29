// SPDX-License-Identifier: BSD-3-Clause
// The data of one partition: rows, their weights, and where in the whole they start.
#pragma once

#include <span>

#include "kopse/exact_sum.hpp"
#include "kopse/matrix.hpp"

namespace kopse {

/// Values beyond this are refused: their squared distances could overflow.
inline constexpr double largest_value = 1e150;

template <class Real> struct point_set {
  matrix_view<Real> rows;
  std::span<double const> weights; ///< one a row, >= 0; empty = every row weighs 1
  index offset = 0;                ///< row number, in the whole, of the first row here

  point_set() = default;
  point_set(matrix_view<Real> r, std::span<double const> w = {}, index first = 0)
      : rows(r), weights(w), offset(first) {}

  index size() const { return rows.rows(); }
  index dims() const { return rows.cols(); }
  double weight(index i) const { return weights.empty() ? 1.0 : weights[static_cast<std::size_t>(i)]; }
};

/// What must be known of the whole data before a partition can be summed; summaries of partitions add up.
struct data_summary {
  index rows = 0;
  std::vector<bit_range> columns;       ///< of w·x by column
  bit_range weights;                    ///< of the weights that are not 0
  std::vector<exact_variance> variance; ///< unweighted, by column; only when asked for
  data_summary& operator+=(data_summary const& other);
  sum_layout layout() const { return {columns, weights, rows}; }
};

/// Throws error naming row and column (from 0) of a value that is not finite or beyond largest_value, and the
/// row of a weight that is negative or not finite; or when the number of weights is not the number of rows,
/// or all are 0. Of several faults it names the first, whatever the number of threads (0: all).
template <class Real> void validate(point_set<Real> const& points, int threads = 1);

/// Divides each row by its length (docs/exactness.md, spherical k-means), on so many threads (0: all). Throws
/// error, before any row changes, for values that validate() refuses and for a row of zeros.
void normalise_rows(matrix<double>& rows, int threads = 0);

/// Throws error naming the first row x whose length is not 1: | ‖x‖² − 1 | > 1e-6.
template <class Real> void check_unit_length(point_set<Real> const& points, int threads = 1);

template <class Real>
data_summary summarise(point_set<Real> const& points, bool with_variance, int threads = 1);

} // namespace kopse
