// SPDX-License-Identifier: BSD-3-Clause
// What `filter` and `blacklist` are, but for the choice of the candidate that the others are tested against:
// a node is visited with the centroids that may own some of its points (candidate_lists.hpp), and one with a
// single candidate is given to it whole. The list that a node gets is all that its subtree knows of the rest
// of the tree, so subtrees go to threads.
#pragma once

#include <numeric>

#include "kopse/candidate_lists.hpp"
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

  // The candidates of the root.
  std::shared_ptr<std::vector<label> const> everybody() const {
    auto const all = std::make_shared<std::vector<label>>(static_cast<std::size_t>(k_));
    std::iota(all->begin(), all->end(), 0);
    return all;
  }

  void assign_all(cluster_sums& changes) {
    per_thread<walk> walks([&] { return walk(*this, this->take_share(changes)); });
    for_branches(
        task{tree_->root(), everybody()}, threads_,
        [&](task const& t) { return tree_->points(t.node).size() <= this->branch_points(); },
        [&](task const& t, std::vector<task>& below) { walks.lend([&](walk& w) { w.open(t, below); }); },
        [&](task const& t) { walks.lend([&](walk& w) { w.run(t); }); });
    effort_ = 0;
    walks.for_each([&](walk& w) {
      this->merge(changes, w.mine);
      effort_ += w.effort + w.mine.work.node_scores;
    });
  }

  index effort_ = 0; // of the last assign_all(), in scores: what it takes in time

private:
  // A node that is to be visited with these candidates; siblings share the list.
  struct task {
    node_id node;
    std::shared_ptr<std::vector<label> const> candidates;
  };
  class walk;
};

// What one thread needs to visit nodes.
template <class Tree, class Choice> class candidate_step<Tree, Choice>::walk {
public:
  typename base::share mine;
  index effort = 0; // besides the scores

  walk(candidate_step& step, typename base::share share)
      : mine(std::move(share)), step_(step), tree_(*step.tree_), lists_(tree_, step.centroids_, step.slack_),
        points_(tree_.dims()) {}

  void run(task const& t) { visit(t.node, lists_.load(*t.candidates)); }

  // The node of the task alone; its children become tasks.
  void open(task const& t, std::vector<task>& below) {
    list const left = lists_.filter(t.node, lists_.load(*t.candidates), mine.work);
    if (settle(t.node, left, std::ssize(*t.candidates))) return;
    auto const candidates = std::make_shared<std::vector<label> const>(lists_.names(left));
    for (node_id const c : tree_.children(t.node)) below.push_back({c, candidates});
  }

private:
  using list = typename candidate_lists<Tree, Choice>::list;
  using tile = point_tile<typename base::real>;

  void visit(node_id q, list const& all) {
    step_.check_stop();
    effort += scores_a_node;
    list const left = lists_.filter(q, all, mine.work);
    if (!settle(q, left, all.m))
      for (node_id const c : tree_.children(q)) visit(c, left);
  }

  // Gives q, or its points, to their owners; false if that is for its children to do. There were `before`
  // candidates.
  bool settle(node_id q, list const& left, index before) {
    if (left.m == 1) {
      step_.give(mine.changes, q, lists_.name(left, 0));
      return true;
    }
    step_.hand_down(q);
    if (!step_.is_leaf(q)) {
      if (!tile::pays(tree_.points(q).size(), before, left.m)) return false;
      hand_down_below(q);
    }
    point_range const range = tree_.points(q);
    mine.work.distances += range.size() * left.m;
    effort += scores_a_point * range.size();
    for (index first = range.first; first < range.last; first += tile::most) {
      points_.clear();
      for (index i = first; i < std::min(range.last, first + tile::most); ++i) points_.add(tree_.point(i));
      label const* const who = points_.nearest(lists_.coordinates(left), left.m, left.stride);
      for (index i = 0; i < points_.size(); ++i)
        step_.give_point(mine.changes, first + i, lists_.name(left, who[i]));
    }
    return true;
  }
  void hand_down_below(node_id q) {
    for (node_id const c : tree_.children(q)) {
      step_.hand_down(c);
      hand_down_below(c);
    }
  }

  static constexpr index scores_a_node = 40, scores_a_point = 3; // measured

  candidate_step& step_;
  Tree const& tree_;
  candidate_lists<Tree, Choice> lists_;
  tile points_;
};

} // namespace kopse
