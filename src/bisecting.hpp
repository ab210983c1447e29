// SPDX-License-Identifier: BSD-3-Clause
// Splits the clusters of the largest inertia in two, again and again.
#pragma once

#include "node_split.hpp"

namespace kopse {

/// Until there are k clusters, or none can be split: then all their rows are at one place each. `number`
/// counts the splits and says which random directions are taken. Clusters of at least half the largest
/// inertia are split at the same time, on so many threads, the largest first where fewer are wanted; the
/// first half takes the place of the cluster, the other comes last.
void bisect(node_splitter const& splitter, std::vector<cluster_part>& clusters, index k,
            random_stream const& random, std::uint64_t& number, int threads);

} // namespace kopse
