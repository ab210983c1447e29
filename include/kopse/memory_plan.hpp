// SPDX-License-Identifier: BSD-3-Clause
// What a fit will take, before it takes it.
#pragma once

#include <algorithm>

#include "kopse/kmeans.hpp"

namespace kopse {

/// Bytes that a fit takes beside its rows and weights, at their most: an estimate by n, d, k and options
/// alone, so what depends on the values is as it is for most data (the nodes of a tree, the words of a sum,
/// the lists of exponion). Of `auto` what most data of so many columns take; in 6 to 16 the larger of two.
struct memory_plan {
  double tree = 0;     ///< on the points: of the algorithm, or of the start
  double start = 0;    ///< what seeding takes beside it, until there is a start
  double step = 0;     ///< what the algorithm keeps of points and nodes
  double clusters = 0; ///< centroids and sums, of all threads
  double labels = 0;   ///< of the result
  double threads = 0;  ///< what each takes for itself
  double peak() const { return tree + std::max(start, step + labels) + clusters + threads; }
};

/// `restarts` > 1: labels of the best run are kept while another is started.
memory_plan plan_memory(index n, index d, bool float32, index k, options const& options);

} // namespace kopse
