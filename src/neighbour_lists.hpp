// SPDX-License-Identifier: BSD-3-Clause
// The centroids around each cluster's, kept from one iteration to the next, for points to look through.
//
// The idea is Verlet's (molecular dynamics, 1967): a list of all that is within a radius R, made when it is
// needed, stays good while nothing can have come near enough from outside. Here that is a lease like those of
// points: a list of cluster j is made with R no larger than a reach of j, and runs on the clock of that shell
// (cluster_clocks.hpp). While this has advanced by a,
//     every centroid that was at least l <= R away when the list was made is at least l − a away now:
// in each iteration it comes nearer by δ_i + δ_j at most if it is within reach after the move, no more than
// the clock advances, and is farther than R otherwise. So it is at least l − a − u away from a point that is
// u from c_j, and once that exceeds the fourth nearest of those that have been looked at, all are found. The
// list is in order of the distances when it was made, and is read no farther than that.
//
// A list pays where several points of a cluster are to be looked at: it is made when so many had to search
// the tree. Memory: 300 bytes a cluster that has one; threads put the coordinates of those they use in
// vectors, for as long as they are in the same iteration (packed_lists).
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "cluster_clocks.hpp"

namespace kopse {

class neighbour_lists {
public:
  static constexpr index most = 64, block = 8;
  struct list {
    double radius; ///< all that are nearer than this were on it
    float end;     ///< of its lease, on the clock of this shell:
    int shell;
    index m = 0;
    std::array<label, most> who;
    std::array<double, most / block> from; ///< how far the first of each block was, at least
  };

  explicit neighbour_lists(index k) : lists_(at(k)), missed_(at(k)) {}

  /// The list of j, or null.
  list const* of(label j) const { return lists_[at(j)].get(); }
  /// A point of j had to search elsewhere what a new list would have told.
  void miss(label j) { std::atomic_ref(missed_[at(j)]).fetch_add(1, std::memory_order_relaxed); }
  /// New lists where enough were missed since the last time; the counted distances are added.
  void renew(cluster_clocks& clocks, matrix<double> const& centroids, slack const& rounding, int threads,
             index& distances);
  /// The clocks are to be rebased.
  void rebase(cluster_clocks const& clocks);
  /// The clocks have started anew.
  void clear();

private:
  static constexpr int widest_shell = 4;
  static constexpr std::int32_t enough = 8; // searches that cost what a list does

  struct entry {
    double d2;
    label who;
  };
  static std::size_t at(index i) { return static_cast<std::size_t>(i); }
  void make(label j, cluster_clocks& clocks, double const* c, slack const& rounding,
            std::vector<entry>& around, index& distances);

  std::vector<std::unique_ptr<list>> lists_;
  std::vector<std::int32_t> missed_;
};

/// One thread's copies of the coordinates of lists, those of the last clusters it asked for.
class packed_lists {
public:
  packed_lists(matrix<double> const& centroids)
      : centroids_(centroids), whose_(slots, -1), c_(slots * at(stride * centroids.cols())) {}

  /// Coordinate d of the i-th of the list of j is at [d·stride + i]; infinite behind the last one.
  double const* of(label j, neighbour_lists::list const& l);

  static constexpr index stride = neighbour_lists::most;

private:
  static constexpr std::size_t slots = 128;
  static std::size_t at(index i) { return static_cast<std::size_t>(i); }

  matrix<double> const& centroids_;
  std::vector<label> whose_;
  std::vector<double> c_;
};

} // namespace kopse
