// SPDX-License-Identifier: BSD-3-Clause
// The arithmetic that the algorithms with bounds share. All bounds are on true distances: upper ones rounded
// up, lower ones down, and only slack::nearer says that they settle a label.
#pragma once

#include <vector>

#include "kopse/assignment_step.hpp"
#include "kopse/metric.hpp"
#include "kopse/tree/binary_tree.hpp"
#include "kopse/tree/neighbours.hpp"

namespace kopse {

/// Most centroids in a leaf of a tree that is searched from single points.
inline constexpr index centroid_leaf = 16;

/// d(p, owner) <= upper, d(p, any other centroid) >= lower.
struct point_bounds {
  double upper, lower;
};

/// What all points of one owner share in an assignment.
struct owner_shift {
  double moved;  ///< the owner moved no farther than this
  double others; ///< and no other centroid farther than this
  double gap;    ///< no other centroid is nearer to the owner than this, after the move
};

/// Bounds that hold after the move: by the triangle inequality the distance to a centroid changes by no more
/// than the centroid moved.
inline point_bounds shifted(point_bounds b, owner_shift const& s, slack const& rounding) {
  return {rounding.up(b.upper + s.moved), rounding.down(b.lower - s.others)};
}

/// Whether the owner stays. `lower` rises to gap − upper where that is more: another centroid is at least the
/// gap away from the owner, so at least gap − upper from the point. (With upper < gap / 2 that settles it,
/// which is the half gap of Elkan and Hamerly.)
inline bool settle(point_bounds& b, owner_shift const& s, slack const& rounding, work_counters& work) {
  if (rounding.nearer(b.upper, b.lower)) {
    ++work[prune_rule::point_bounds];
    return true;
  }
  b.lower = std::max(b.lower, rounding.down(s.gap - b.upper));
  if (!rounding.nearer(b.upper, b.lower)) return false;
  ++work[prune_rule::point_gap];
  return true;
}

/// The shifts of all owners; their gaps by k searches in a tree on the centroids, not by k² distances.
std::vector<owner_shift> owner_shifts(kd_tree<double> const& tree, matrix_view<double> centroids,
                                      centroid_drift const& drift, slack const& rounding, int threads,
                                      work_counters& work);

/// Centroids by dimension, so that the distances of one point to eight of them cost little more than to one.
class centroid_columns {
public:
  static constexpr index width = 8;
  /// Numbers that `count` squares take: whole eights.
  static constexpr index padded(index count) { return (count + width - 1) / width * width; }

  void assign(matrix_view<double> centroids);
  /// The centroids of the given rows, in that order.
  void assign(matrix_view<double> centroids, std::vector<label> const& rows);

  /// Computed d² of x to `count` centroids from `first` on; `out` has room for padded(count).
  template <class Real> void squares(Real const* x, index first, index count, double* out) const {
    squared_distances(x, dims_, columns_.data() + first, padded(count), stride_, out);
  }
  /// Offers all centroids, numbered as they were given.
  template <class Real> void find_nearest_two(Real const* x, nearest_two& found) const {
    constexpr index chunk = 8 * width;
    double d2[chunk];
    for (index first = 0; first < size_; first += chunk) {
      index const count = std::min(chunk, size_ - first);
      squares(x, first, count, d2);
      for (index i = 0; i < count; i += width)
        offer_eight(d2 + i, count - i, found, [&](index m) { return first + i + m; });
    }
  }
  /// Offers the first `count` of eight squares, of the centroids row(0), row(1), ... Most eights have none
  /// that matters, which takes no branch to see.
  template <class Row> static void offer_eight(double* d2, index count, nearest_two& found, Row const& row) {
    for (index m = std::max<index>(count, 0); m < width; ++m) d2[m] = std::numeric_limits<double>::infinity();
    double least = d2[0];
    for (index m = 1; m < width; ++m) least = std::min(least, d2[m]);
    if (least > found.second2) return;
    for (index m = 0; m < std::min(count, width); ++m) found.offer(row(m), d2[m]);
  }

private:
  void resize(index size, index dims);
  void set(index i, double const* centroid);

  index size_ = 0, dims_ = 0, stride_ = 0;
  std::vector<double> columns_; // past the end of each, an eight of zeros: what an eight may read there
};

} // namespace kopse
