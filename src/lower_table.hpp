// SPDX-License-Identifier: BSD-3-Clause
// Many lower bounds a point, for elkan (one a centroid) and yinyang (one a group of centroids).
//
// Instead of lowering n·m bounds whenever centroids move, each column has a meter: the sum of all movements
// so far. A bound is stored with the reading of its meter added, and what it is now is what was stored less
// what the meter reads now. So a point that is settled without them costs nothing. Where old, large movements
// would drown the bounds in rounding, all meters go back to zero, which costs one pass.
//
// Stored as float, 4 bytes each, rounded down; meters are rounded up. Distances beyond 1e38 or below 1e-38
// have no useful float: there the bounds are only weak, never wrong.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "kopse/matrix.hpp"
#include "kopse/metric.hpp"
#include "kopse/parallel.hpp"

namespace kopse {

/// A float that is at most x, or, far below zero where no distance is, some negative one.
inline float float_down(double x) {
  constexpr double largest = std::numeric_limits<float>::max();
  x = std::clamp(x, -largest, largest);
  return static_cast<float>(std::max(x - std::abs(x) * 0x1p-23 - 0x1p-149, -largest));
}
/// A float that is at least x >= 0.
inline float float_up(double x) {
  constexpr double largest = std::numeric_limits<float>::max();
  double const up = x + x * 0x1p-23 + 0x1p-149;
  return up > largest ? std::numeric_limits<float>::infinity() : static_cast<float>(up);
}

/// A bound that is rounded once more, as the difference of two floats, and is still greater than this limit
/// says what slack::nearer(upper, bound) says. (2⁻²⁰ is more than a float's rounding and all of the
/// slack's for any number of dimensions below 2²⁸.)
inline float lower_limit(double upper, slack const& rounding) {
  return float_up(rounding.up(rounding.up(upper)) * (1 + 0x1p-20));
}

class lower_table {
public:
  lower_table() = default;
  /// All bounds are 0 at first: nothing is known.
  lower_table(index rows, index columns, slack const& rounding)
      : stored_(rows, columns), travelled_(static_cast<std::size_t>(columns), 0.0),
        meters_(static_cast<std::size_t>(columns), 0.0F), rounding_(rounding) {}
  static double bytes(index rows, index columns) {
    return 4 * static_cast<double>(rows) * static_cast<double>(columns);
  }

  float const* row(index i) const { return stored_.row(i); }
  float* row(index i) { return stored_.row(i); }
  /// The bound is row(i)[j] − meters()[j].
  float const* meters() const { return meters_.data(); }
  /// The bound in double, before the last advance too, by the readings given.
  double bound(index i, index j, double travelled) const {
    return rounding_.down(static_cast<double>(stored_(i, j)) - travelled);
  }
  std::vector<double> const& travelled() const { return travelled_; }

  void set(index i, index j, double lower) {
    stored_(i, j) = float_down(lower + travelled_[static_cast<std::size_t>(j)]);
  }
  /// The same for `count` columns from `first` on, by computed d².
  void set(index i, index first, index count, double const* d2) {
    float* const row = stored_.row(i) + first;
    double const* const travelled = travelled_.data() + first;
    for (index j = 0; j < count; ++j) row[j] = float_down(rounding_.lower(d2[j]) + travelled[j]);
  }
  /// Lowers the bound, if it is higher.
  void lower(index i, index j, double lower) {
    stored_(i, j) = std::min(stored_(i, j), float_down(lower + travelled_[static_cast<std::size_t>(j)]));
  }

  /// What column j bounds came nearer by at most this.
  void advance(index j, double moved) {
    double& travelled = travelled_[static_cast<std::size_t>(j)];
    travelled = rounding_.up(travelled + moved);
    meters_[static_cast<std::size_t>(j)] = float_up(travelled);
  }
  /// Before the movements of an assignment, the largest of which is given: sets the meters back where their
  /// rounding, 2⁻²³ of a reading, is no longer small beside it.
  void set_back(double largest, int threads) {
    if (largest == 0 || *std::max_element(travelled_.begin(), travelled_.end()) <= 4096 * largest) return;
    for_blocks(stored_.rows(), 256, threads, [&](index first, index last) {
      for (index i = first; i < last; ++i)
        for (index j = 0; j < stored_.cols(); ++j)
          stored_(i, j) = float_down(bound(i, j, travelled_[static_cast<std::size_t>(j)]));
    });
    std::fill(travelled_.begin(), travelled_.end(), 0.0);
    std::fill(meters_.begin(), meters_.end(), 0.0F);
  }

private:
  matrix<float> stored_;
  std::vector<double> travelled_; // rounded up
  std::vector<float> meters_;     // the same as float, rounded up
  slack rounding_{1};
};

} // namespace kopse
