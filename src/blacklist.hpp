// SPDX-License-Identifier: BSD-3-Clause
// `blacklist`: the owner of a node, and who can't be.
//
// D. Pelleg, A. Moore, "Accelerating exact k-means algorithms with geometric reasoning" (KDD 1999). The
// candidate nearest to a node's box is chosen, if it is the only one at that distance; what lies beyond its
// bisector for the whole node is blacklisted. Where several are as near (all that lie in the box are), no
// bisector is tried, and only what is farther than some other candidate's farthest point drops out: there
// `filter`, which always has a choice, is ahead. Remembers nothing but owners from one iteration to the next.
// Memory: that of tree_step, and 8·d + 4 bytes a candidate along one path of the tree. Use it to compare with
// the literature; `filter` does the same work sooner.
#pragma once

#include "candidates.hpp"

namespace kopse {

struct only_nearest {
  // The place of the least lo2, or m if it stands twice.
  static index choose(double const* lo2, index m) {
    double const* const least = std::min_element(lo2, lo2 + m);
    return std::find(least + 1, lo2 + m, *least) == lo2 + m ? least - lo2 : m;
  }
};

template <class Tree> using blacklist_step = candidate_step<Tree, only_nearest>;

} // namespace kopse
