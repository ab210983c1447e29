// SPDX-License-Identifier: BSD-3-Clause
// Euclidean distance: the one arithmetic that decides labels, and the slack that keeps bounds on the safe
// side of it.
//
// d²(x, c) = Σ (x_j − c_j)², dimensions in order from zero, every difference, square and sum rounded by
// itself in double. That is the distance whose smallest value owns a point; it is compiled in the library,
// where no flag of a user's reaches it. Everything else (node distances, shifted bounds) is only ever
// compared with a margin.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "kopse/core.hpp"

namespace kopse {

/// The deciding distance of d coordinates.
template <class Real> double squared_distance(Real const* x, double const* c, index d);
extern template double squared_distance<float>(float const*, double const*, index);
extern template double squared_distance<double>(double const*, double const*, index);

/// The same for one x and m centroids stored by dimension (coordinate j of centroid i at c[j·stride + i]):
/// out[i].
void squared_distances(float const* x, index d, double const* c, index m, index stride, double* out);
void squared_distances(double const* x, index d, double const* c, index m, index stride, double* out);

/// [lo, hi] of something over all pairs of points of two sets; of *computed* d² in this library.
struct interval {
  double lo, hi;
};

/// A computed d² is the true one within a factor 1 ± γ, γ = (d + 3)·2⁻⁵³, and d·2⁻¹⁰⁷⁴. Bounds on distances
/// are kept as bounds on *true* distances, rounded outward here by more than all of that, and turned into
/// bounds on computed d².
class slack {
public:
  explicit slack(index d)
      : relative_(4 * static_cast<double>(d + 3) * 0x1p-53),
        absolute_(std::sqrt(static_cast<double>(d)) * 0x1p-535),
        subnormal_(static_cast<double>(d + 3) * 0x1p-1070) {}

  double up(double x) const { return x * (1 + relative_) + absolute_; }
  double down(double x) const { return x * (1 - relative_) - absolute_; }
  /// A true distance is at most, at least this, when its computed square is d2 (or at most, at least d2).
  double upper(double d2) const { return up(std::sqrt(d2)); }
  double lower(double d2) const { return down(std::sqrt(d2)); }
  /// A computed d² is at most this when the true distance is at most u.
  double squared(double u) const { return up(u) * up(u) * (1 + relative_); }
  /// A computed d² is at least this when the true distance is at least l.
  double squared_down(double l) const {
    double const least = std::max(0.0, down(l));
    return least * least * (1 - relative_);
  }
  /// True distances are at most u and at least l: is the first computed d² smaller than the second, beyond
  /// doubt?
  bool nearer(double u, double l) const { return up(u) < down(l); }
  /// By how much a difference of two squares must exceed 0 at one point of a node, for the computed squares
  /// to be in that order at all its points, the smaller of them at most `largest`; what the difference is
  /// summed up from is at most `here` (boxes::lead).
  double of_squares(double largest, double here) const {
    return 4 * relative_ * (largest + here) + subnormal_;
  }
  /// The true distances to two points are u, at most, and at least `gap` more. By how much can the gap fall,
  /// u rising by no more than half of that, before the order of the computed squares is in doubt?
  double lease(double u, double gap) const {
    return gap - 8 * (relative_ * (2 * std::abs(u) + std::abs(gap)) + absolute_);
  }
  /// Widens an interval of squares that was computed with the flags of whoever compiles this.
  interval outward(interval s) const {
    return {s.lo * (1 - relative_) - subnormal_, s.hi * (1 + relative_) + subnormal_};
  }

  double relative() const { return relative_; }
  double subnormal() const { return subnormal_; }

private:
  double relative_, absolute_;
  double subnormal_; // of squares: each may be off by 2⁻¹⁰⁷⁴ where it underflows
};

} // namespace kopse
