// SPDX-License-Identifier: BSD-3-Clause
// Centroids in float32 for `dense`, in an order in which those that stand together are near one another, and
// how far what is computed from them can be off.
//
// Seen from an origin and scaled, ½·d²(x, c) − ½·‖x‖² = s(c) = ½·‖c‖² − x·c, a *score* (as in screen.hpp).
// With u = 2⁻²⁴, C the largest ‖c‖, r = ‖x‖ and m sums in a row, a computed score is off by at most
//   u·((m + 4)·r·C + C²) <= ½·(m + 8)·u·(C + r)²:
// two roundings of coordinates, m of sums, those of ½·‖c‖² and of the last difference. The squared norm of x
// is a product, too, off by (m + 3)·u·r². So twice a score and that norm are d² but for less than
//   W = (2·m + 24)·u·(C + r)²,
// which also covers what roots and sums of bounds are rounded by before they are rounded outward, and, m
// being less than 2¹⁸, the (d + 3)·2⁻⁵²·(C + r)² by which two computed d² in double can be off: where two
// scores differ by more than W, their d² in double are in the same order. Sums go over 64 dimensions at a
// time (dense_kernels.cpp), or over lanes: m <= min(d, 64) + d / 16 + 8.
#pragma once

#include <cmath>
#include <vector>

#include "dense_kernels.hpp"
#include "kopse/matrix.hpp"

namespace kopse {

class centroid_blocks {
public:
  /// Squares from here on are out of float32's reach.
  static constexpr float out_of_reach = 1e30f;

  /// Chooses the order: groups of `size` centroids that are near one another, the last group of what is left.
  void arrange(matrix_view<double> centroids, index size);

  /// Takes the coordinates; arrange() must have been called, for as many. Returns whether a new origin or
  /// scale had to be chosen, so that what was measured before says nothing.
  bool take(matrix_view<double> centroids);

  /// Whether float32 can hold them. Else nothing below means anything.
  bool usable() const { return usable_; }
  double const* origin() const { return origin_.data(); }
  double scale() const { return scale_; } ///< a power of two
  label centroid(index place) const { return order_[static_cast<std::size_t>(place)]; }
  index place(label centroid) const { return places_[static_cast<std::size_t>(centroid)]; }
  float half(index place) const { return half_[static_cast<std::size_t>(place)]; }
  /// Its coordinates, and zeros up to whole_blocks(d).
  float const* row(index place) const { return rows_.data() + place * dense::whole_blocks(d_); }
  index block_count() const { return dense::whole_blocks(k_) / dense::block; }
  dense::block_view block(index b) const {
    return {columns_.data() + b * dense::block * d_, half_.data() + b * dense::block,
            static_cast<std::int32_t>(b * dense::block)};
  }
  /// W, for a row of that squared norm.
  float doubt(float norm2) const {
    float const both = far_ + std::sqrt(norm2) * (1 + 1e-3f);
    return rounding_ * both * both;
  }

private:
  bool choose_scale(matrix_view<double> centroids);

  index k_ = 0, d_ = 0;
  std::vector<label> order_;
  std::vector<index> places_;
  std::vector<double> origin_;
  double scale_ = 0; // none yet
  bool usable_ = false;
  float far_ = 0;      // C
  float rounding_ = 0; // (2·m + 24)·u
  std::vector<float> rows_, columns_, half_;
};

} // namespace kopse
