// SPDX-License-Identifier: BSD-3-Clause
// `filter`: the filtering algorithm.
//
// T. Kanungo, D. M. Mount, N. S. Netanyahu, C. D. Piatko, R. Silverman, A. Y. Wu, "An efficient k-means
// clustering algorithm: analysis and implementation", IEEE TPAMI 24 (2002). The candidate that is nearest to
// a node as a whole (the one with the least largest distance) is chosen; whatever lies beyond its bisector
// for the whole node is dropped. Remembers nothing but owners from one iteration to the next, so every
// iteration costs about the same. Memory: that of tree_step, and 8·d + 4 bytes a candidate along one path of
// the tree. Use it for d up to about 8 when n is large and k not in the many thousands, or when centroids
// move far in every iteration.
#pragma once

#include "candidates.hpp"

namespace kopse {

template <class Tree> using filter_step = candidate_step<Tree, least_largest>;

} // namespace kopse
