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

#include <array>
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
    std::size_t const m = static_cast<std::size_t>(all.m);
    lo2_.resize(m);
    hi2_.resize(m);
    distances_to(tree_, q, coordinates_.data() + all.coordinate, all.m, all.m, lo2_.data(), hi2_.data());
    mine.work.node_scores += all.m;
    double const upper2 = least_of(hi2_);
    std::size_t const chosen = Choice::choose(lo2_, hi2_, upper2); // or none
    // Farther than another candidate's farthest point over the whole node: not the owner of any point. Never
    // when equal.
    keep(m, [&](std::size_t i) { return !(lo2_[i] > upper2); });
    list left = push(all);
    if (chosen < m) {
      // Nor is what lies beyond the chosen one's bisector.
      label const near = names_[all.name + chosen];
      leads_.resize(static_cast<std::size_t>(left.m));
      leads_of(tree_, q, centroids_.row(near), coordinates_.data() + left.coordinate, left.m, left.m,
               hi2_[chosen], leads_.data());
      mine.work.node_scores += left.m - 1;
      keep(leads_.size(), [&](std::size_t i) { return !(leads_[i] > 0) || names_[left.name + i] == near; });
      left = shrink(left);
    }
    mine.work[prune_rule::score] += all.m - left.m;
    return left;
  }

  // A few at a time, so that they need not wait for each other.
  static double least_of(std::vector<double> const& values) {
    std::array<double, 8> least;
    least.fill(values[0]);
    std::size_t i = 0;
    for (; i + 8 <= values.size(); i += 8)
      for (std::size_t lane = 0; lane < 8; ++lane) least[lane] = std::min(least[lane], values[i + lane]);
    for (; i < values.size(); ++i) least[0] = std::min(least[0], values[i]);
    return *std::min_element(least.begin(), least.end());
  }

  // Sets kept_ to the places below m that are to stay, without a branch on which they are.
  template <class Stays> void keep(std::size_t m, Stays const& stays) {
    kept_.resize(m);
    std::size_t count = 0;
    for (std::size_t i = 0; i < m; ++i) {
      kept_[count] = i;
      count += stays(i) ? 1 : 0;
    }
    kept_.resize(count);
  }

  // What is kept of a list, as a new one on top; or in its place, if it is on top.
  list push(list const& all) {
    list const left{names_.size(), coordinates_.size(), static_cast<index>(kept_.size())};
    names_.resize(left.name + kept_.size());
    coordinates_.resize(left.coordinate + kept_.size() * static_cast<std::size_t>(tree_.dims()));
    copy_kept(all, left);
    return left;
  }
  list shrink(list const& top) {
    list const left{top.name, top.coordinate, static_cast<index>(kept_.size())};
    if (left.m == top.m) return top;
    copy_kept(top, left);
    names_.resize(left.name + kept_.size());
    coordinates_.resize(left.coordinate + kept_.size() * static_cast<std::size_t>(tree_.dims()));
    return left;
  }
  // Nothing is written where something is still to be read: no place moves up.
  void copy_kept(list const& from, list const& to) {
    std::size_t const d = static_cast<std::size_t>(tree_.dims()), m = static_cast<std::size_t>(from.m);
    for (std::size_t t = 0; t < kept_.size(); ++t) names_[to.name + t] = names_[from.name + kept_[t]];
    for (std::size_t j = 0; j < d; ++j) {
      double const* const source = coordinates_.data() + from.coordinate + j * m;
      double* const target = coordinates_.data() + to.coordinate + j * kept_.size();
      for (std::size_t t = 0; t < kept_.size(); ++t) target[t] = source[kept_[t]];
    }
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
  std::vector<double> lo2_, hi2_, leads_, squares_;
  std::vector<std::size_t> kept_;
};

} // namespace kopse
