// SPDX-License-Identifier: BSD-3-Clause
// What a fit will take, before it takes it.
#pragma once

#include <algorithm>
#include <string>

#include "kopse/kmeans.hpp"

namespace kopse {

/// Bytes that a fit takes beside its rows and weights, at their most: an estimate by n, d, k and options
/// alone, so what depends on the values is as it is for most data (the nodes of a tree, the words of a sum,
/// the lists of exponion). Of `auto` what most data of so many columns take; in 6 to 16 the larger of two.
struct memory_plan {
  std::string algorithm;  ///< of the options or, under options::memory_limit, what takes its place
  bool by_passes = false; ///< k-means++ without a tree: a pass over the rows for each centroid
  double tree = 0;        ///< on the points: of the algorithm, or of the start
  double start = 0;       ///< what seeding takes beside it, until there is a start
  double step = 0;        ///< what the algorithm keeps of points and nodes
  double clusters = 0;    ///< centroids and sums, of all threads
  double labels = 0;      ///< of the result
  double threads = 0;     ///< what each takes for itself
  double weights = 0;     ///< a scaled copy of them
  double others =
      0; ///< in the end, when no more than the labels is there: what the caller adds, as of other ranks
  double of_points() const { return std::max(tree + std::max(start, step + labels), labels + others); }
  double peak() const { return of_points() + clusters + threads + weights; }
  /// With room for what the estimate may be off, of trees most of all: what is held against
  /// options::memory_limit.
  double ample() const { return peak() + (tree > 0 ? 0.2 : 0.1) * of_points() + 0x1p19; }
};

/// `restarts` > 1: labels of the best run are kept while another is started.
///
/// Under options::memory_limit the first that fits of these, else the last, which takes least: the algorithm
/// of the options; then, for one that uses a tree or where d <= 8, `filter`; then `lloyd`; each with the
/// start as always, then with k-means++ by passes. The start stays the same, so other methods need their
/// tree. `auto` is counted as the largest of what it may choose.
memory_plan plan_memory(index n, index d, bool float32, index k, options const& options,
                        bool weighted = false);

} // namespace kopse
