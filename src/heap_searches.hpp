// SPDX-License-Identifier: BSD-3-Clause
// Searches in the tree on the centroids: how far centroids moved around each of a few (behind
// cluster_clocks::advance()), and the nearest three of a point.
#pragma once

#include <array>
#include <limits>
#include <vector>

#include "centroid_heap.hpp"

namespace kopse {

/// The centroids of one leaf of the heap, a lane each, and for each of them some reaches, ascending.
struct surroundings {
  static constexpr int shells = 7;
  using lanes_of_shells = std::array<std::array<double, centroid_heap::most>, shells>;

  int used = 0; ///< shells in use by any of them
  /// Computed d² of what is within reach is at most this; negative where a lane has no such shell.
  lanes_of_shells reach2;
  /// The largest movement that is known within reach; infinite where a lane has no such shell.
  lanes_of_shells most;
  std::vector<double> box; ///< of the leaf: low corner, high corner
  struct entry {
    node_id q;
    double lo2;
  };
  std::vector<entry> stack;
};

/// Raises `most` to what is true, over all centroids of the heap. Counts the distances it computed.
void find_movements(centroid_heap const& heap, node_id leaf, surroundings& around, index& distances);

/// The nearest four of what was offered; of equal distances the lowest centroid is the first.
struct nearest_four {
  double first2 = std::numeric_limits<double>::infinity(), second2 = first2, third2 = first2,
         fourth2 = first2; // computed d²
  label first = -1, second = -1, third = -1;
  void offer(label j, double d2) {
    if (d2 < first2 || (d2 == first2 && j < first)) {
      fourth2 = third2, third2 = second2, third = second, second2 = first2, second = first;
      first2 = d2, first = j;
    } else if (d2 < second2) {
      fourth2 = third2, third2 = second2, third = second, second2 = d2, second = j;
    } else if (d2 < third2) {
      fourth2 = third2, third2 = d2, third = j;
    } else {
      fourth2 = d2 < fourth2 ? d2 : fourth2;
    }
  }
};

/// The nearest four centroids of x (d numbers): it starts with those of `leaf`, which should be near.
nearest_four find_nearest_four(centroid_heap const& heap, double const* x, node_id leaf, index& distances);

/// m centroids, eight to a block, coordinate j of the i-th at c[j·stride + i], infinite up to the end of the
/// last block. Those of block b and all behind it are at least from[b] − nearer from x, others beyond −
/// nearer.
struct centroid_blocks_around {
  double const* c;
  index m, stride;
  label const* who;
  double const* from;
  double beyond, nearer;
};

/// The nearest four centroids of x, or false if they may not all be among these: `found` is those that are.
bool find_nearest_four(centroid_blocks_around const& around, double const* x, index d, slack const& rounding,
                       nearest_four& found, index& distances);

} // namespace kopse
