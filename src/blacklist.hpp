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
  // The place of the least lo2, or lo2.size() if it stands twice.
  static std::size_t choose(std::vector<double> const& lo2, std::vector<double> const&, double) {
    auto const least = std::min_element(lo2.begin(), lo2.end());
    bool const twice = std::find(least + 1, lo2.end(), *least) != lo2.end();
    return static_cast<std::size_t>((twice ? lo2.end() : least) - lo2.begin());
  }
};

template <class Tree> using blacklist_step = candidate_step<Tree, only_nearest>;

} // namespace kopse
