// SPDX-License-Identifier: BSD-3-Clause
// The squares of k-means++ without a tree, for rows that are larger than memory: each new centroid takes a
// pass over all of them, so k centroids cost n·k distances. Memory: 8 bytes a row. The sums, and so the
// draws, are those of d2_field.hpp.
#pragma once

#include <limits>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "d2_field.hpp"

namespace kopse {

template <class Real> class row_field final : public d2_field {
public:
  row_field(point_set<Real> const& points, mass_layout layout, int threads, std::atomic<bool> const* stop)
      : d2_field(layout, points.size()), points_(points), threads_(threads), stop_(stop),
        d2_(static_cast<std::size_t>(points.size()), infinity) {}

  void add(double const* x) override {
    for_each_nearer(x, [this](index row, double now) {
      double& before = d2_[static_cast<std::size_t>(row)];
      masses_.change(row, mass(row, before), mass(row, now));
      before = now;
    });
  }

  mass_sum gain(double const* x) override {
    mass_sum sum(masses_.layout().words);
    for_each_nearer(x, [&](index row, double now) {
      add_mass(sum, mass(row, d2_[static_cast<std::size_t>(row)]), masses_.layout().unit, false);
      add_mass(sum, mass(row, now), masses_.layout().unit, true);
    });
    return sum;
  }

  void add_squares(std::vector<double> const& d2) override {
    for (index row = 0; row < points_.size(); ++row) {
      double& before = d2_[static_cast<std::size_t>(row)];
      double const now = d2[static_cast<std::size_t>(row)];
      if (!(now < before)) continue;
      masses_.change(row, mass(row, before), mass(row, now));
      before = now;
    }
  }

  index find(mass_sum target) const override {
    return masses_.find(std::move(target),
                        [this](index row) { return mass(row, d2_[static_cast<std::size_t>(row)]); });
  }

private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  static constexpr index block_rows = 1 << 13;

  // Before there is a centroid, no row has a mass.
  double mass(index row, double d2) const { return d2 < infinity ? points_.weight(row) * d2 : 0; }

  // f(row, d²) for each row that is nearer to x than to all before; the order does not matter to sums of
  // integers, so whichever block is ready goes next.
  template <class F> void for_each_nearer(double const* x, F const& f) {
    std::mutex guard;
    for_blocks(points_.size(), block_rows, threads_, [&](index first, index last) {
      check_stop(stop_);
      std::vector<std::pair<index, double>> nearer;
      by_pages(points_.rows, first, last, [&](index a, index b) {
        for_each_below(
            b - a, [&](index i) { return points_.rows.row(a + i); }, x, points_.dims(),
            [&](index i) { return d2_[static_cast<std::size_t>(a + i)]; },
            [&](index i, double now) { nearer.emplace_back(a + i, now); });
      });
      std::lock_guard const lock(guard);
      work_.distances += last - first;
      for (auto const& [row, now] : nearer) f(row, now);
    });
  }

  point_set<Real> points_;
  int threads_;
  std::atomic<bool> const* stop_;
  std::vector<double> d2_; // by row
};

} // namespace kopse
