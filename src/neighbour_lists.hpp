// SPDX-License-Identifier: BSD-3-Clause
// The centroids around a cluster, nearest first, kept from one iteration to the next.
//
// A list is itself a lease (as the lists of L. Verlet, Phys. Rev. 159, 1967, are in molecular dynamics).
// Built to hold all centroids within r of c_j, when the clock of a reach of at least r read b, it promises at
// any later time that every other centroid is at least r − (now − b) away, and each on the list no less than
// its distance was then, less the same: in an iteration the distance of one that is within reach after the
// move has fallen by no more than the clock advanced, and one that is not is farther away than r. The promise
// belongs to the r that the list was built with, however far the reach has grown since.
//
// Memory: 12 bytes an entry, at most 48 of them a cluster that was searched.
#pragma once

#include <algorithm>
#include <array>
#include <mutex>
#include <vector>

#include "cluster_clocks.hpp"

namespace kopse {

class neighbour_lists {
public:
  static constexpr index most = 48; ///< on a list
  static constexpr index width = 8; ///< taken at a time

  /// A list as it stands in one iteration, with coordinates of now: what one thread works with.
  class view {
  public:
    label owner = -1;
    index iteration = -1;

    index size() const { return size_; }
    label who(index m) const { return who_[m]; }
    /// Entry m and all behind it are at least so far from the owner.
    double away(index m) const { return away_[m] - used_; }
    /// And so is every centroid that is not on the list.
    double beyond() const { return beyond_; }
    /// The coordinates of eight entries by dimension; infinite behind the last one.
    double const* eight(index first, matrix_view<double> centroids) {
      index const d = centroids.cols();
      while (filled_ <= first) fill(centroids, d);
      return coordinates_.data() + first * d;
    }

  private:
    friend class neighbour_lists;
    void fill(matrix_view<double> centroids, index d) {
      coordinates_.resize(static_cast<std::size_t>(most * d));
      double* const eight = coordinates_.data() + filled_ * d;
      std::fill_n(eight, width * d, std::numeric_limits<double>::infinity());
      for (index m = filled_; m < std::min(size_, filled_ + width); ++m)
        for (index j = 0; j < d; ++j) eight[j * width + (m - filled_)] = centroids(who_[m], j);
      filled_ += width;
    }

    index size_ = 0, filled_ = 0;
    label const* who_ = nullptr;
    double const* away_ = nullptr;
    double used_ = 0, beyond_ = 0;
    std::vector<double> coordinates_;
  };

  neighbour_lists(index k, index dims)
      : slack_(dims), length_(std::min(most, width * (dims + dims / 2))),
        lists_(static_cast<std::size_t>(k)) {}

  /// All are to be built anew: the clocks have been set back.
  void forget() {
    for (list& l : lists_) l.leased = false;
  }

  /// Makes `v` the list of j in this iteration; builds it anew if its promise has worn. Any thread may ask;
  /// of those that ask for the same list in an iteration, the first builds it.
  void fetch(label j, index iteration, matrix_view<double> centroids, cluster_clocks& clocks, view& v,
             index& distances) {
    std::lock_guard const lock(guards_[static_cast<std::size_t>(j) % guards_.size()]);
    list& l = lists_[static_cast<std::size_t>(j)];
    bool const today = l.iteration == iteration;
    if (!today && (!l.leased || clocks.now(l.clock) - l.built > worn * l.reach)) {
      build(j, centroids, clocks, l, distances);
      l.iteration = iteration;
    }
    v.owner = j;
    v.iteration = iteration;
    v.size_ = static_cast<index>(l.who.size());
    v.filled_ = 0;
    v.who_ = l.who.data();
    v.away_ = l.away.data(); // rounded down by more than one subtraction can round up
    v.used_ = slack_.up(clocks.now(l.clock) - l.built);
    v.beyond_ = slack_.down(l.reach - v.used_);
  }

private:
  static constexpr double worn = 0.15;
  struct list {
    double reach = 0;     // r
    bool leased = false;  // or good for this iteration alone
    index iteration = -1; // of the last search
    double built = 0;     // b
    cluster_clocks::clock_id clock = 0;
    std::vector<label> who;
    std::vector<double> away; // then, rounded down
  };

  void build(label j, matrix_view<double> centroids, cluster_clocks& clocks, list& l, index& distances) {
    thread_local std::vector<neighbour> found;
    double const reach2 =
        gather(clocks.heap(), centroids.row(j), j,
               clocks.reach(j, clocks.charged(j) < 2 ? 3 : clocks.charged(j)), l.reach, found, distances);
    l.who.resize(found.size());
    l.away.resize(found.size());
    for (std::size_t m = 0; m < found.size(); ++m) {
      l.who[m] = static_cast<label>(found[m].row);
      l.away[m] = slack_.lower(found[m].d2);
    }
    bool const all = static_cast<index>(found.size()) == centroids.rows() - 1;
    l.reach = all ? std::numeric_limits<double>::infinity() : std::max(0.0, slack_.lower(reach2));
    int shell = cluster_clocks::shells - 1;
    while (shell > 0 && clocks.reach(j, shell - 1) >= l.reach) --shell;
    l.leased = shell <= clocks.charged(j) || shell == cluster_clocks::shells - 1;
    l.clock = cluster_clocks::of(j, shell);
    l.built = clocks.now(l.clock);
  }

  // The nearest of x but for one, within `widest`; returns the d² that no other is below. The reach of the
  // last list is a good guess at that of this one, and saves the search for it.
  double gather(centroid_heap const& heap, double const* x, label except, double widest, double last,
                std::vector<neighbour>& found, index& distances) const {
    if (last > 0 && last < widest) {
      double const limit2 = last * last * 1.1;
      found.clear();
      heap.for_each_within(
          x, limit2,
          [&](label j, double d2) {
            found.push_back({d2, j});
          },
          distances);
      std::erase_if(found, [&](neighbour const& n) { return n.row == except; });
      if (std::ssize(found) >= length_ / 2) {
        std::sort(found.begin(), found.end(), nearer);
        if (std::ssize(found) <= length_) return limit2;
        double const reach2 = found[static_cast<std::size_t>(length_)].d2;
        found.resize(static_cast<std::size_t>(length_));
        return reach2;
      }
    }
    return find_nearest(heap, x, except, length_, widest * widest, found, distances);
  }

  slack slack_;
  index length_; // more are needed in more dimensions
  std::vector<list> lists_;
  std::array<std::mutex, 64> guards_;
};

} // namespace kopse
