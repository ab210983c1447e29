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

} // namespace kopse
