// SPDX-License-Identifier: BSD-3-Clause
// D² of each row of one partition: the computed square of its distance to the nearest of some centroids, to
// which more are added one by one. What k-means++ draws from.
//
// D. Arthur, S. Vassilvitskii, "k-means++: the advantages of careful seeding" (SODA 2007), evaluates n
// distances for each new centroid. Here each node of a tree holds the largest D² of its points, and a new
// centroid enters only nodes to which it may be nearer than that. After i centroids it lowers about n / i
// rows, and not many more are looked at, so k centroids cost O(n log k) distances where the tree serves at
// all (up to about 10 columns), and O(n·k), as ever, at worst.
//
// A row's mass is w·D², rounded to double, in a mass_table by row: what is drawn depends neither on the
// tree nor on threads, and a partition has its part of one sum. Memory: 24 bytes a row, 8 a node.
#pragma once

#include <atomic>
#include <limits>
#include <memory>
#include <vector>

#include "kopse/parallel.hpp"
#include "kopse/point_set.hpp"
#include "kopse/seeding.hpp"
#include "kopse/tree/space_tree.hpp"
#include "mass_table.hpp"
#include "squares.hpp"
#include "step_common.hpp"

namespace kopse {

class d2_field {
public:
  virtual ~d2_field() = default;
  /// One more centroid.
  virtual void add(double const* x) = 0;
  /// By how much that would lessen the total.
  virtual mass_sum gain(double const* x) = 0;
  /// Many more centroids: the square of each row to the nearest of these, by row, computed elsewhere.
  virtual void add_squares(std::vector<double> const& d2) = 0;

  /// The sums of the masses, and the row on which a number below their total lies.
  mass_sum total() const { return masses_.total(); }
  virtual index find(mass_sum target) const = 0;
  seeding_work const& work() const { return work_; }

protected:
  d2_field(mass_layout layout, index rows) : masses_(layout, rows) {}
  mass_table masses_;
  seeding_work work_;
};

template <space_tree Tree> class tree_field final : public d2_field {
  using real = typename Tree::real;

public:
  tree_field(std::shared_ptr<Tree const> tree, point_set<real> const& points, mass_layout layout, int threads,
             std::atomic<bool> const* stop)
      : d2_field(layout, points.size()), tree_(std::move(tree)), weights_(points.weights), threads_(threads),
        stop_(stop), d2_(static_cast<std::size_t>(points.size()), infinity),
        largest_(static_cast<std::size_t>(tree_->node_count()), infinity), lowered_(points.size()),
        position_(static_cast<std::size_t>(points.size())) {
    for_blocks(points.size(), 1 << 16, threads, [this](index first, index last) {
      for (index i = first; i < last; ++i) position_[static_cast<std::size_t>(tree_->row(i))] = i;
    });
  }

  void add(double const* x) override {
    look_from_root<true>(x);
    lowered_ = 0;
    for_each_visit([&](visit& v) {
      for (auto const& [row, before, now] : v.nearer)
        masses_.change(row, before < infinity ? weight(row) * before : 0, weight(row) * now);
      lowered_ += std::ssize(v.nearer);
    });
  }

  mass_sum gain(double const* x) override {
    look_from_root<false>(x);
    mass_sum sum(masses_.layout().words);
    for_each_visit([&](visit& v) {
      for (auto const& [row, before, now] : v.nearer) {
        add_mass(sum, weight(row) * before, masses_.layout().unit, false);
        add_mass(sum, weight(row) * now, masses_.layout().unit, true);
      }
    });
    return sum;
  }

  void add_squares(std::vector<double> const& d2) override {
    lowered_ = 0;
    for (index i = 0; i < masses_.rows(); ++i) {
      index const row = tree_->row(i);
      double const now = d2[static_cast<std::size_t>(row)];
      double& before = d2_[static_cast<std::size_t>(i)];
      if (!(now < before)) continue;
      masses_.change(row, before < infinity ? weight(row) * before : 0, weight(row) * now);
      before = now;
      ++lowered_;
    }
    refresh(tree_->root(), 0);
  }

  index find(mass_sum target) const override {
    return masses_.find(std::move(target), [this](index row) {
      return weight(row) * d2_[static_cast<std::size_t>(position_[static_cast<std::size_t>(row)])];
    });
  }

private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  static constexpr index many_rows = 1 << 16; // a search that lowered so many is followed by one by branches
  static constexpr index small_branch = 1 << 13;

  struct change {
    index row;
    double before, now; // its D²
  };
  struct visit {
    std::vector<change> nearer; // rows nearer to x than to all centroids so far
    seeding_work work;
  };

  double weight(index row) const { return weights_.empty() ? 1.0 : weights_[static_cast<std::size_t>(row)]; }

  // Finds the rows that x lowers, and lowers them if Keep.
  template <bool Keep> void look_from_root(double const* x) {
    check_stop(stop_);
    if (lowered_ < many_rows) {
      visits_.lend([&](visit& v) { look<Keep>(tree_->root(), x, v); });
      return;
    }
    for_branches(
        tree_->root(), threads_, [&](node_id q) { return tree_->points(q).size() <= small_branch; },
        [&](node_id q, std::vector<node_id>& below) {
          for (node_id const c : tree_->children(q)) below.push_back(c);
          if (below.empty()) visits_.lend([&](visit& v) { look<Keep>(q, x, v); }); // a large leaf
        },
        [&](node_id q) {
          check_stop(stop_);
          visits_.lend([&](visit& v) { look<Keep>(q, x, v); });
        });
    if (Keep) refresh(tree_->root(), small_branch);
  }

  // No computed d² to a point of q is below the lower bound of q, and none of their D² above largest_: where
  // that is not above the bound no row is lowered. Equal is enough, as it is the smaller one that is kept.
  template <bool Keep> void look(node_id q, double const* x, visit& v) {
    double& largest = largest_[static_cast<std::size_t>(q)];
    ++v.work.node_scores;
    if (largest == 0 || tree_->distance(q, x).lo >= largest) return;
    double remaining = 0;
    auto const below = tree_->children(q);
    if (std::ranges::empty(below)) {
      point_range const range = tree_->points(q);
      v.work.distances += range.size();
      double* const squares = d2_.data() + range.first;
      for_each_below(
          range.size(), [&](index i) { return tree_->point(range.first + i); }, x, tree_->dims(),
          [&](index i) { return squares[i]; },
          [&](index i, double d2) {
            v.nearer.push_back({tree_->row(range.first + i), squares[i], d2});
            if (Keep) squares[i] = d2;
          });
      for (index i = 0; i < range.size(); ++i) remaining = std::max(remaining, squares[i]);
    } else {
      for (node_id const c : below) {
        look<Keep>(c, x, v);
        remaining = std::max(remaining, largest_[static_cast<std::size_t>(c)]);
      }
    }
    if (Keep) largest = remaining;
  }

  // Sets largest_ of q and of the nodes below it with more points than `least`, whose children are right.
  void refresh(node_id q, index least) {
    point_range const range = tree_->points(q);
    if (range.size() <= least) return;
    double remaining = 0;
    auto const below = tree_->children(q);
    for (node_id const c : below) {
      refresh(c, least);
      remaining = std::max(remaining, largest_[static_cast<std::size_t>(c)]);
    }
    if (std::ranges::empty(below))
      for (index i = range.first; i < range.last; ++i)
        remaining = std::max(remaining, d2_[static_cast<std::size_t>(i)]);
    largest_[static_cast<std::size_t>(q)] = remaining;
  }

  // What the threads have found; the order does not matter to sums of integers.
  template <class F> void for_each_visit(F const& f) {
    visits_.for_each([&](visit& v) {
      f(v);
      work_.distances += v.work.distances;
      work_.node_scores += v.work.node_scores;
      v.nearer.clear();
      v.work = {};
    });
  }

  std::shared_ptr<Tree const> tree_;
  std::span<double const> weights_;
  int threads_;
  std::atomic<bool> const* stop_;
  std::vector<double> d2_;      // by position
  std::vector<double> largest_; // D² of each node's points
  index lowered_;               // rows, by the last centroid
  std::vector<index> position_; // of each row
  per_thread<visit> visits_{[] { return visit(); }};
};

} // namespace kopse
