// SPDX-License-Identifier: BSD-3-Clause
// Candidates passed down a tree: what `filter` and `blacklist` are, but for the choice of the candidate that
// the others are tested against.
//
// A node is visited with the list of centroids that may own some of its points. One of them is chosen; those
// that it is nearer than all over the node leave the list, and a node whose list has one entry is given to it
// whole. Lists are kept by dimension, so that a node's distances to all of them are one vector loop, and in
// ascending order, so that ties at the leaves go to the lowest index. Where a list comes from is all that a
// subtree knows of the rest of the tree, so subtrees go to threads.
#pragma once

#include <numeric>

#include "kopse/tree_step.hpp"

namespace kopse {

template <class Tree, class Choice> class candidate_step : public tree_step<Tree> {
  using base = tree_step<Tree>;

public:
  candidate_step(std::shared_ptr<Tree const> tree, point_set<typename Tree::real> points,
                 sum_layout const& layout, index k, step_options const& options)
      : base(std::move(tree), points, layout, k, options.stop, options.threads) {}

  cluster_sums assign(matrix_view<double> centroids) override {
    worker_scope const workers;
    cluster_sums changes = this->begin(centroids);
    assign_all(changes);
    return changes;
  }

protected:
  using base::centroids_, base::k_, base::tree_, base::threads_;

  void assign_all(cluster_sums& changes) {
    per_thread<walk> walks([&] { return walk(*this, this->take_share(changes)); });
    auto const everybody = std::make_shared<std::vector<label>>(static_cast<std::size_t>(k_));
    std::iota(everybody->begin(), everybody->end(), 0);
    for_branches(
        task{tree_->root(), everybody}, threads_,
        [&](task const& t) { return tree_->points(t.node).size() <= this->branch_points(); },
        [&](task const& t, std::vector<task>& below) { walks.lend([&](walk& w) { w.open(t, below); }); },
        [&](task const& t) { walks.lend([&](walk& w) { w.run(t); }); });
    walks.for_each([&](walk& w) { this->merge(changes, w.mine); });
  }

private:
  // A node that is to be visited with these candidates; siblings share the list.
  struct task {
    node_id node;
    std::shared_ptr<std::vector<label> const> candidates;
  };
  // m candidates: their numbers from names_[name], their coordinates by dimension from
  // coordinates_[coordinate].
  struct list {
    std::size_t name, coordinate;
    index m;
  };
  class walk;
};

// What one thread needs to visit nodes.
template <class Tree, class Choice> class candidate_step<Tree, Choice>::walk {
public:
  typename base::share mine;

  walk(candidate_step& step, typename base::share share)
      : mine(std::move(share)), step_(step), tree_(*step.tree_), centroids_(step.centroids_) {}

  void run(task const& t) { visit(t.node, load(*t.candidates)); }

  // The node of the task alone; its children become tasks.
  void open(task const& t, std::vector<task>& below) {
    list const left = filter(t.node, load(*t.candidates));
    if (settle(t.node, left)) return;
    auto const names = std::make_shared<std::vector<label>>(names_.begin() + at(left.name), names_.end());
    for (node_id const c : tree_.children(t.node)) below.push_back({c, names});
  }

private:
  // The list of a task, as the only one there is.
  list load(std::vector<label> const& candidates) {
    index const m = std::ssize(candidates), d = tree_.dims();
    names_ = candidates;
    coordinates_.resize(static_cast<std::size_t>(m * d));
    for (index i = 0; i < m; ++i)
      for (index j = 0; j < d; ++j)
        coordinates_[static_cast<std::size_t>(j * m + i)] =
            centroids_(candidates[static_cast<std::size_t>(i)], j);
    return {0, 0, m};
  }

  void visit(node_id q, list const& all) {
    list const left = filter(q, all);
    if (!settle(q, left))
      for (node_id const c : tree_.children(q)) visit(c, left);
    names_.resize(left.name);
    coordinates_.resize(left.coordinate);
  }

  // Gives q, or a leaf's points, to their owners; false if that is for its children to do.
  bool settle(node_id q, list const& left) {
    if (left.m == 1) {
      step_.give(mine.changes, q, names_[left.name]);
      return true;
    }
    step_.hand_down(q);
    if (!step_.is_leaf(q)) return false;
    base_cases(q, left);
    return true;
  }

  // The candidates that may own a point of q, on top of the stacks.
  list filter(node_id q, list const& all) {
    step_.check_stop();
    lo2_.resize(static_cast<std::size_t>(all.m));
    hi2_.resize(static_cast<std::size_t>(all.m));
    distances_to(tree_, q, coordinates_.data() + all.coordinate, all.m, all.m, lo2_.data(), hi2_.data());
    mine.work.node_scores += all.m;
    kept_.clear();
    std::size_t const chosen = Choice::choose(lo2_, hi2_); // or none
    double const upper2 = *std::min_element(hi2_.begin(), hi2_.end());
    for (std::size_t i = 0; i < lo2_.size(); ++i) {
      // Farther than another candidate's farthest point, or beyond the chosen one's bisector, over the whole
      // node: not the owner of any point. Never when equal.
      if (lo2_[i] > upper2) continue;
      if (chosen < lo2_.size() && i != chosen && beyond_bisector(q, all, i, chosen)) continue;
      kept_.push_back(static_cast<index>(i));
    }
    mine.work[prune_rule::score] += all.m - static_cast<index>(kept_.size());
    return push(all);
  }

  bool beyond_bisector(node_id q, list const& all, std::size_t i, std::size_t chosen) {
    ++mine.work.node_scores;
    return dominates(tree_, q, centroids_.row(names_[all.name + chosen]),
                     centroids_.row(names_[all.name + i]), hi2_[chosen]);
  }

  list push(list const& all) {
    list const left{names_.size(), coordinates_.size(), static_cast<index>(kept_.size())};
    for (index const i : kept_) names_.push_back(names_[all.name + static_cast<std::size_t>(i)]);
    for (index j = 0; j < tree_.dims(); ++j)
      for (index const i : kept_)
        coordinates_.push_back(coordinates_[all.coordinate + static_cast<std::size_t>(j * all.m + i)]);
    return left;
  }

  void base_cases(node_id q, list const& all) {
    squares_.resize(static_cast<std::size_t>(all.m));
    point_range const range = tree_.points(q);
    mine.work.distances += range.size() * all.m;
    for (index i = range.first; i < range.last; ++i) {
      squared_distances(tree_.point(i), tree_.dims(), coordinates_.data() + all.coordinate, all.m, all.m,
                        squares_.data());
      auto const nearest = std::min_element(squares_.begin(), squares_.end()); // the first of equals
      step_.give_point(mine.changes, i,
                       names_[all.name + static_cast<std::size_t>(nearest - squares_.begin())]);
    }
  }

  static std::ptrdiff_t at(std::size_t i) { return static_cast<std::ptrdiff_t>(i); }

  candidate_step& step_;
  Tree const& tree_;
  matrix<double> const& centroids_;
  std::vector<label> names_;        // a stack of lists, each node's on top of its parent's
  std::vector<double> coordinates_; // the same
  std::vector<double> lo2_, hi2_, squares_;
  std::vector<index> kept_;
};

} // namespace kopse
