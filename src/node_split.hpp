// SPDX-License-Identifier: BSD-3-Clause
// 2-means inside one cluster, on the nodes of the tree that all points share: what X-means and bisecting
// k-means are made of.
//
// D. Pelleg, A. Moore, "X-means" (ICML 2000), section 3.2: the tree and its sums were paid for by the global
// run; a cluster is the nodes that it owns whole, and the single points where no node of theirs is. A local
// iteration gives a node to one of the two centroids if it dominates there (as in filter and blacklist), and
// goes below it only if neither does. So it costs as much as the border between the two is long.
//
// Only what the tree decides and exact sums are used, so a split is the same over any tree. Memory: an exact
// sum a node, once for all splits.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "kopse/exact_sum.hpp"
#include "kopse/parallel.hpp"
#include "kopse/point_set.hpp"
#include "kopse/random.hpp"
#include "kopse/seeding.hpp"
#include "kopse/tree/node_sums.hpp"
#include "kopse/tree/space_tree.hpp"
#include "squares.hpp"
#include "step_common.hpp"

namespace kopse {

/// The points of a cluster: all of some nodes, and some others by their positions.
struct cluster_items {
  std::vector<node_id> nodes;
  std::vector<index> points;
};

/// What a cluster is to the criteria.
struct cluster_facts {
  double weight = 0;
  double inertia = 0;       ///< about its mean
  std::vector<double> mean; ///< none without weight
};

struct cluster_part {
  cluster_items items;
  cluster_facts facts;
};
using cluster_halves = std::array<cluster_part, 2>;

class node_splitter {
public:
  virtual ~node_splitter() = default;
  virtual cluster_part whole() const = 0;
  /// By the labels of the rows; each of k clusters.
  virtual std::vector<cluster_items> clusters(std::span<label const> labels, index k) const = 0;
  virtual cluster_facts measure(cluster_items const& items) const = 0;
  /// Two clusters of one by Lloyd's iterations from mean ± a random vector of the length of the cluster's
  /// standard deviation, drawn by `number`. Nothing if its points are all at one place.
  virtual std::optional<cluster_halves> split(cluster_part const& cluster, random_stream const& random,
                                              std::uint64_t number) const = 0;
  /// Nodes that were given to a centroid at once, so far.
  index nodes_taken_whole() const { return taken_; }
  /// Of the splits and of measuring, so far; the same for any number of threads.
  seeding_work work() const { return {distances_, node_scores_}; }

protected:
  mutable std::atomic<index> taken_ = 0, distances_ = 0, node_scores_ = 0;
};

template <space_tree Tree> class tree_splitter final : public node_splitter {
  using real = typename Tree::real;

public:
  tree_splitter(std::shared_ptr<Tree const> tree, point_set<real> const& points, sum_layout layout,
                int threads, std::atomic<bool> const* stop)
      : tree_(std::move(tree)), weights_(points.weights), layout_(std::move(layout)), stop_(stop),
        sums_(node_sums(*tree_, weights_, layout_, threads)) {}

  cluster_part whole() const override {
    cluster_part all;
    all.items.nodes = {tree_->root()};
    all.facts = measure(all.items);
    return all;
  }

  std::vector<cluster_items> clusters(std::span<label const> labels, index k) const override {
    std::vector<cluster_items> all(static_cast<std::size_t>(k));
    label const root = collect(tree_->root(), labels, all);
    if (root != mixed) all[static_cast<std::size_t>(root)].nodes.push_back(tree_->root());
    return all;
  }

  cluster_facts measure(cluster_items const& items) const override {
    exact_sums sums(layout_, 1);
    for (node_id const q : items.nodes) sums.add(0, sums_, q, 1);
    for (index const i : items.points) sums.add(0, tree_->point(i), weight(i), 1);
    return facts_of(items, sums, 0);
  }

  std::optional<cluster_halves> split(cluster_part const& cluster, random_stream const& random,
                                      std::uint64_t number) const override {
    if (!(cluster.facts.inertia > 0)) return {};
    std::optional<cluster_halves> found =
        two_means(cluster.items, along_random(cluster.facts, random, number));
    return found ? found : two_means(cluster.items, mean_and_farthest(cluster));
  }

private:
  static constexpr label mixed = -1;
  static constexpr int most_iterations = 50;

  double weight(index position) const {
    return weights_.empty() ? 1.0 : weights_[static_cast<std::size_t>(tree_->row(position))];
  }

  // The cluster of all points of q, or mixed when these have been handed out.
  label collect(node_id q, std::span<label const> labels, std::vector<cluster_items>& all) const {
    std::vector<std::pair<node_id, label>> below;
    bool same = true;
    for (node_id const c : tree_->children(q)) {
      below.emplace_back(c, collect(c, labels, all));
      same = same && below.back().second == below.front().second;
    }
    if (below.empty()) return collect_leaf(q, labels, all);
    if (same) return below.front().second;
    for (auto const& [c, owner] : below)
      if (owner != mixed) all[static_cast<std::size_t>(owner)].nodes.push_back(c);
    return mixed;
  }

  label collect_leaf(node_id q, std::span<label const> labels, std::vector<cluster_items>& all) const {
    auto const [first, last] = tree_->points(q);
    auto const owner = [&](index i) { return labels[static_cast<std::size_t>(tree_->row(i))]; };
    index i = first;
    while (i < last && owner(i) == owner(first)) ++i;
    if (i == last) return owner(first);
    for (i = first; i < last; ++i) all[static_cast<std::size_t>(owner(i))].points.push_back(i);
    return mixed;
  }

  template <class F> void for_each_point(cluster_items const& items, F const& f) const {
    for (node_id const q : items.nodes)
      for (index i = tree_->points(q).first; i < tree_->points(q).last; ++i) f(i);
    for (index const i : items.points) f(i);
  }

  cluster_facts facts_of(cluster_items const& items, exact_sums const& sums, index row) const {
    cluster_facts facts;
    if (sums.weightless(row)) return facts;
    facts.weight = sums.weight(row);
    facts.mean.resize(static_cast<std::size_t>(tree_->dims()));
    sums.mean(row, facts.mean.data());
    exact_sum inertia;
    index distances = 0;
    for_each_point(items, [&](index i) {
      inertia.add(weight(i) * square(tree_->point(i), facts.mean.data(), tree_->dims()));
      ++distances;
    });
    count({distances, 0});
    facts.inertia = inertia.value();
    return facts;
  }

  // Normal coordinates make every direction as likely; sums of twelve uniform numbers are near enough, and
  // the same on every machine.
  matrix<double> along_random(cluster_facts const& facts, random_stream const& random,
                              std::uint64_t number) const {
    index const d = tree_->dims();
    std::vector<double> direction(static_cast<std::size_t>(d));
    double length2 = 0;
    for (index j = 0; j < d; ++j) {
      double sum = -6;
      for (std::uint32_t i = 0; i < 12; ++i)
        sum += static_cast<double>(random.bits((number << 24) + static_cast<std::uint64_t>(j), i) >> 11)
               * 0x1p-53;
      direction[static_cast<std::size_t>(j)] = sum;
      length2 += sum * sum;
    }
    double const step = std::sqrt(facts.inertia / facts.weight) / std::sqrt(length2);
    matrix<double> centroids(2, d);
    for (index j = 0; j < d; ++j) {
      double const mean = facts.mean[static_cast<std::size_t>(j)],
                   shift = step * direction[static_cast<std::size_t>(j)];
      centroids(0, j) = mean - shift;
      centroids(1, j) = mean + shift;
    }
    return centroids;
  }

  // Where a random direction separates nothing: the mean and the row of weight farthest from it, the first of
  // several.
  matrix<double> mean_and_farthest(cluster_part const& cluster) const {
    index best = -1;
    double far = -1;
    index distances = 0;
    for_each_point(cluster.items, [&](index i) {
      if (!(weight(i) > 0)) return;
      ++distances;
      double const d2 = square(tree_->point(i), cluster.facts.mean.data(), tree_->dims());
      if (d2 < far || (d2 == far && tree_->row(i) > tree_->row(best))) return;
      far = d2, best = i;
    });
    count({distances, 0});
    matrix<double> centroids(2, tree_->dims());
    std::copy(cluster.facts.mean.begin(), cluster.facts.mean.end(), centroids.row(0));
    std::copy_n(tree_->point(best), tree_->dims(), centroids.row(1));
    return centroids;
  }

  struct assignment {
    std::array<cluster_items, 2> items;
    exact_sums sums;
    seeding_work work;
    index taken = 0;
  };

  void count(seeding_work const& work) const {
    distances_.fetch_add(work.distances, std::memory_order_relaxed);
    node_scores_.fetch_add(work.node_scores, std::memory_order_relaxed);
  }

  std::optional<cluster_halves> two_means(cluster_items const& items, matrix<double> centroids) const {
    assignment found;
    for (int iteration = 0; iteration < most_iterations; ++iteration) {
      check_stop(stop_);
      found = {{}, exact_sums(layout_, 2), {}};
      for (node_id const q : items.nodes) assign(q, centroids, found);
      for (index const i : items.points) assign_point(i, centroids, found);
      count(found.work);
      taken_.fetch_add(found.taken, std::memory_order_relaxed);
      matrix<double> moved = centroids;
      for (index side = 0; side < 2; ++side) {
        if (found.sums.weightless(side)) return {};
        found.sums.mean(side, moved.row(side));
      }
      if (std::equal(moved.row(0), moved.row(0) + 2 * tree_->dims(), centroids.row(0))) break;
      centroids = std::move(moved);
    }
    cluster_halves halves;
    for (std::size_t side = 0; side < 2; ++side) {
      halves[side].items = std::move(found.items[side]);
      halves[side].facts = facts_of(halves[side].items, found.sums, static_cast<index>(side));
    }
    return halves;
  }

  void assign_point(index i, matrix<double> const& c, assignment& found) const {
    real const* const x = tree_->point(i);
    std::size_t const side = square(x, c.row(1), tree_->dims()) < square(x, c.row(0), tree_->dims()) ? 1 : 0;
    found.work.distances += 2;
    found.items[side].points.push_back(i);
    found.sums.add(static_cast<index>(side), x, weight(i), 1);
  }

  // A node is given whole to the nearer centroid if the other is farther from all its points, beyond doubt
  // and without ties: by the distances to its bound, or by the bisector (Pelleg & Moore 1999).
  void assign(node_id q, matrix<double> const& c, assignment& found) const {
    interval const first = tree_->distance(q, c.row(0)), second = tree_->distance(q, c.row(1));
    found.work.node_scores += 2;
    std::size_t const near = second.hi < first.hi ? 1 : 0;
    interval const &to_near = near == 0 ? first : second, &to_far = near == 0 ? second : first;
    bool const decided = to_near.hi < to_far.lo
                         || dominates(*tree_, q, c.row(static_cast<index>(near)),
                                      c.row(1 - static_cast<index>(near)), to_near.hi);
    if (decided) {
      ++found.taken;
      found.items[near].nodes.push_back(q);
      found.sums.add(static_cast<index>(near), sums_, q, 1);
      return;
    }
    bool leaf = true;
    for (node_id const below : tree_->children(q)) {
      assign(below, c, found);
      leaf = false;
    }
    if (!leaf) return;
    for (index i = tree_->points(q).first; i < tree_->points(q).last; ++i) assign_point(i, c, found);
  }

  std::shared_ptr<Tree const> tree_;
  std::span<double const> weights_;
  sum_layout layout_;
  std::atomic<bool> const* stop_;
  exact_sums sums_; // of each node
};

} // namespace kopse
