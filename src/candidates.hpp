// SPDX-License-Identifier: BSD-3-Clause
// Candidates passed down a tree: what `filter` and `blacklist` are, but for the choice of the candidate that
// the others are tested against.
//
// A node is visited with the list of centroids that may own some of its points. One of them is chosen; those
// that it is nearer than all over the node leave the list, and a node whose list has one entry is given to it
// whole. Lists are kept by dimension, so that a node's distances to all of them are one vector loop, and in
// ascending order, so that ties at the leaves go to the lowest index.
#pragma once

#include "kopse/tree_step.hpp"

namespace kopse {

template <class Tree, class Choice> class candidate_step : public tree_step<Tree> {
  using base = tree_step<Tree>;

protected:
  using base::centroids_, base::k_, base::tree_, base::work_;

public:
  candidate_step(std::shared_ptr<Tree const> tree, point_set<typename Tree::real> points,
                 sum_layout const& layout, index k, step_options const& options)
      : base(std::move(tree), points, layout, k, options.stop) {}

  cluster_sums assign(matrix_view<double> centroids) override {
    cluster_sums changes = this->begin(centroids);
    assign_all(changes);
    return changes;
  }

protected:
  void assign_all(cluster_sums& changes) {
    matrix<double> const& centroids = centroids_;
    changes_ = &changes;
    index const d = tree_->dims();
    names_.resize(static_cast<std::size_t>(k_));
    coordinates_.resize(static_cast<std::size_t>(k_ * d));
    for (index c = 0; c < k_; ++c) {
      names_[static_cast<std::size_t>(c)] = static_cast<label>(c);
      for (index j = 0; j < d; ++j) coordinates_[static_cast<std::size_t>(j * k_ + c)] = centroids(c, j);
    }
    visit(tree_->root(), {0, 0, k_});
  }

private:
  // m candidates: their numbers from names_[name], their coordinates by dimension from
  // coordinates_[coordinate].
  struct list {
    std::size_t name, coordinate;
    index m;
  };

  void visit(node_id q, list const& all) {
    list const left = filter(q, all);
    if (left.m == 1) {
      this->give(*changes_, q, names_[left.name]);
    } else {
      this->hand_down(q);
      if (this->is_leaf(q)) base_cases(q, left);
      for (node_id const c : tree_->children(q)) visit(c, left);
    }
    names_.resize(left.name);
    coordinates_.resize(left.coordinate);
  }

  // The candidates that may own a point of q, on top of the stacks.
  list filter(node_id q, list const& all) {
    this->check_stop();
    lo2_.resize(static_cast<std::size_t>(all.m));
    hi2_.resize(static_cast<std::size_t>(all.m));
    distances_to(*tree_, q, coordinates_.data() + all.coordinate, all.m, all.m, lo2_.data(), hi2_.data());
    work_.node_scores += all.m;
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
    work_[prune_rule::score] += all.m - static_cast<index>(kept_.size());
    return push(all);
  }

  bool beyond_bisector(node_id q, list const& all, std::size_t i, std::size_t chosen) {
    ++work_.node_scores;
    return dominates(*tree_, q, centroids_.row(names_[all.name + chosen]),
                     centroids_.row(names_[all.name + i]), hi2_[chosen]);
  }

  list push(list const& all) {
    list const left{names_.size(), coordinates_.size(), static_cast<index>(kept_.size())};
    for (index const i : kept_) names_.push_back(names_[all.name + static_cast<std::size_t>(i)]);
    for (index j = 0; j < tree_->dims(); ++j)
      for (index const i : kept_)
        coordinates_.push_back(coordinates_[all.coordinate + static_cast<std::size_t>(j * all.m + i)]);
    return left;
  }

  void base_cases(node_id q, list const& all) {
    squares_.resize(static_cast<std::size_t>(all.m));
    point_range const range = tree_->points(q);
    work_.distances += range.size() * all.m;
    for (index i = range.first; i < range.last; ++i) {
      squared_distances(tree_->point(i), tree_->dims(), coordinates_.data() + all.coordinate, all.m, all.m,
                        squares_.data());
      auto const nearest = std::min_element(squares_.begin(), squares_.end()); // the first of equals
      this->give_point(*changes_, i, names_[all.name + static_cast<std::size_t>(nearest - squares_.begin())]);
    }
  }

  cluster_sums* changes_ = nullptr;
  std::vector<label> names_;        // a stack of lists, each node's on top of its parent's
  std::vector<double> coordinates_; // the same
  std::vector<double> lo2_, hi2_, squares_;
  std::vector<index> kept_;
};

} // namespace kopse
