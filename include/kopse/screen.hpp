// SPDX-License-Identifier: BSD-3-Clause
// The nearest of many centroids, by screening in float32: where the nearest leads the second by more than
// all that rounding can have done, it is the owner; the other points are decided by the distance of
// metric.hpp. So the answer is that of brute force in double, for a small part of its time.
//
// Seen from an origin o and scaled by a power of two so that the farthest centroid is between 1 and 2 away,
//   ½·d²(x, c) − ½·‖x‖² = s(c) = ½·‖c‖² − x·c,
// one fused multiply-add a dimension and the same shift for all centroids. With u = 2⁻²⁴, C the largest ‖c‖
// and r = ‖x‖, the computed s(c) is off by at most
//   E = (2·d + 16)·u·(½·C² + r·C):
// two roundings of each coordinate (2·u·r·C at most), d of products and d of sums (u·(½·C² + r·C) each, their
// partial sums being no larger), one of ½·‖c‖², and the last two bits, in which the number of one in four is
// kept (6·u); the rest of the factor covers the rounding of r, of C and of E itself. Computed d² are within
// (d + 3)·2⁻⁵³ of true ones, those here at most (r + C)². So if
//   second − best > 2·E + 2·(d + 3)·2⁻⁵³·(r + C)²,
// the computed d² of all others are larger than that of the best: it owns x, and there is no tie. Where it is
// not so, all centroids whose s(c) exceeds the best by no more than the right side are looked at in double.
// (After Johnson, Douze & Jégou's use of ½·‖c‖² − x·c in faiss, which takes the best for true.)
//
// Cost: d + 5 vector operations for 16 (8, 4) distances. Memory: 4·(d + 1) bytes a centroid. Pays from about
// 16 centroids on; not where most points are as far from two of them (points and centroids on one lattice).
#pragma once

#include <vector>

#include "kopse/core.hpp"

namespace kopse {

class float_screen {
public:
  /// Most points of a call.
  static constexpr index most_points = 256;
  /// From so many centroids on it pays.
  static constexpr index least_centroids = 16;
  /// Most centroids: their numbers are float32, too.
  static constexpr index most_centroids = index{1} << 24;
  /// Most dimensions for which the bound is proved.
  static constexpr index most_dims = index{1} << 16;
  /// Of the scale: squares and products stay far from the ends of double.
  static constexpr int largest_exponent = 400;
  /// Half the squared norm of what stands for no centroid, in float32.
  static constexpr float nowhere = 1e38f;

  /// Takes m centroids of d dimensions, coordinate j of centroid i at c[j·stride + i]; they must stay there.
  /// `origin`, d numbers near points and centroids, makes roundings small.
  void take(double const* c, index m, index d, index stride, double const* origin);

  /// What one thread needs.
  struct scratch {
    std::vector<float> x;
    std::vector<double> squares;
    std::vector<label> near;
    index in_double = 0; ///< points decided in double, so far
  };
  /// who[i] = the number of the nearest centroid to the point at points[i], of n ≤ most_points; of equals the
  /// first.
  void find_nearest(float const* const* points, index n, scratch& room, label* who) const;
  void find_nearest(double const* const* points, index n, scratch& room, label* who) const;

private:
  template <class Real> label decide(Real const* point, index i, float limit, scratch& room) const;
  template <class Real> void find(Real const* const* points, index n, scratch& room, label* who) const;

  double const* exact_ = nullptr;
  index m_ = 0, d_ = 0, exact_stride_ = 0, stride_ = 0;
  bool usable_ = false;  // the numbers are such that float32 can hold them
  double scale_ = 1;     // a power of two
  float margin_[3] = {}; // second − best must exceed margin_[0] + r·(margin_[1] + r·margin_[2])
  std::vector<double> origin_, norms_;
  std::vector<float> c_; // by dimension, then ½·‖c‖²
};

} // namespace kopse
