// SPDX-License-Identifier: BSD-3-Clause
// The centroids around a cluster, kept from one iteration to the next.
//
// A list is itself a lease (as Verlet's lists in molecular dynamics): built to hold all centroids within r of
// c_j when the clock of a reach of at least r read b, it promises at any later time that every other centroid
// is at least r − (now − b) away, and each one on it no less than its distance then less the same. For in
// each iteration the distance of one that is within reach after the move has fallen by no more than the clock
// advances; one that is not is farther than r.
#pragma once

#include <algorithm>
#include <array>
#include <mutex>
#include <vector>

#include "cluster_clocks.hpp"
#include "kopse/tree/neighbours.hpp"

namespace kopse {

class neighbour_lists {
public:
  static constexpr index most = 48;  ///< on a list
  static constexpr index width = 8;  ///< taken at a time

  /// A list with the coordinates of now, one thread's.
  struct block {
    label owner = -1;
    index iteration = -1;
    index size = 0, filled = 0;
    double beyond = 0; ///< a centroid not on the list is no nearer to the owner
    double used = 0;   ///< of the list's lease
    label const* names = nullptr;
    double const* distances = nullptr;
    std::vector<double> coordinates; ///< eights: of each, by dimension
    label const* who() const { return names; } ///< by their distance when the list was built
    /// A centroid on the list is at least so far from the owner, and so are all behind it.
    double away(index m) const { return distances[m] - used; }
    double const* eight(index first, index d) const { return coordinates.data() + first * d; }
  };

  neighbour_lists(index k, index dims) : d_(dims), slack_(dims), lists_(static_cast<std::size_t>(k)) {}

  /// All have to be built anew.
  void forget() {
    for (list& l : lists_) l.reach = -1;
  }

  /// Makes `b` the list of j.
  void fetch(label j, index iteration, matrix_view<double> centroids, cluster_clocks const& clocks, block& b,
             index& distances) {
    b.owner = j;
    b.iteration = iteration;
    std::lock_guard const lock(guards_[static_cast<std::size_t>(j) % guards_.size()]);
    list& l = lists_[static_cast<std::size_t>(j)];
    double used = clocks.now(l.clock) - l.built;
    if (!(l.reach >= 0) || used > 0.15 * l.reach) {
      build(j, centroids, clocks, l, distances);
      used = 0;
    }
    used = slack_.up(used);
    b.size = static_cast<index>(l.who.size());
    b.beyond = slack_.down(l.reach - used);
    b.used = used;
    b.names = l.who.data();
    b.distances = l.away.data();
    b.coordinates.resize(static_cast<std::size_t>(most * d_));
    b.filled = 0;
  }

  /// The coordinates of eight centroids on the list, from `first` = b.filled on.
  static void fill_eight(block& b, index first, matrix_view<double> centroids) {
    index const d = centroids.cols();
    b.filled = first + width;
    if (b.size < b.filled)
      std::fill_n(b.coordinates.data() + first * d, width * d, std::numeric_limits<double>::infinity());
    for (index m = first; m < std::min(b.size, b.filled); ++m) {
      double const* const c = centroids.row(b.names[m]);
      double* const eight = b.coordinates.data() + first * d + (m - first);
      for (index n = 0; n < d; ++n) eight[n * width] = c[n];
    }
  }

private:
  struct list {
    double reach = -1; // not built
    double built = 0;  // the reading of the clock then
    cluster_clocks::clock_id clock = 0;
    std::vector<label> who;
    std::vector<double> away;
  };

  void build(label j, matrix_view<double> centroids, cluster_clocks const& clocks, list& l, index& distances) {
    thread_local std::vector<neighbour> found;
    double const reach2 = gather(clocks.heap(), centroids.row(j), j, clocks.reach(j, cluster_clocks::shells - 2),
                                 l.reach, found, distances);
    l.who.resize(found.size());
    l.away.resize(found.size());
    for (std::size_t m = 0; m < found.size(); ++m) {
      l.who[m] = static_cast<label>(found[m].row);
      l.away[m] = slack_.lower(found[m].d2);
    }
    int shell = cluster_clocks::shells - 1;
    if (static_cast<index>(found.size()) == centroids.rows() - 1) {
      l.reach = std::numeric_limits<double>::infinity();
    } else {
      l.reach = std::max(0.0, slack_.lower(reach2));
      while (shell > 0 && clocks.reach(j, shell - 1) >= l.reach) --shell;
    }
    l.clock = cluster_clocks::of(j, shell);
    l.built = clocks.now(l.clock);
  }

  // The nearest of x, sorted; returns the d² that no other is below. What the last list reached is what this
  // one should.
  double gather(centroid_heap const& heap, double const* x, label except, double widest, double last,
                std::vector<neighbour>& found, index& distances) const {
    if (last > 0 && last < widest) {
      found.clear();
      double const limit2 = last * last * 1.1;
      thread_local std::vector<node_id> stack;
      heap.for_each_leaf(x, stack, [&] { return limit2; }, [&](node_id q) {
        double d2[centroid_heap::most];
        heap.squares(q, x, d2);
        point_range const range = heap.points(q);
        distances += range.size();
        for (index i = 0; i < range.size(); ++i)
          if (d2[i] <= limit2) found.push_back({d2[i], heap.row(range.first + i)});
      });
      std::erase_if(found, [&](neighbour const& n) { return n.row == except; });
      if (static_cast<index>(found.size()) >= most / 2) {
        std::sort(found.begin(), found.end(), nearer);
        if (static_cast<index>(found.size()) <= most) return limit2;
        double const reach2 = found[most].d2;
        found.resize(most);
        return reach2;
      }
    }
    return find_nearest(heap, x, except, most, widest * widest, found, distances);
  }

  index d_;
  slack slack_;
  std::vector<list> lists_;
  std::array<std::mutex, 64> guards_;
};

} // namespace kopse
