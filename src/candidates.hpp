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

#include "kopse/kernels.hpp"
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
  // m candidates, by dimension: rows of `stride` from stack_[first], the last of them their numbers.
  struct list {
    std::size_t first;
    index m, stride;
  };
  class walk;
};

// What one thread needs to visit nodes.
template <class Tree, class Choice> class candidate_step<Tree, Choice>::walk {
public:
  typename base::share mine;

  walk(candidate_step& step, typename base::share share)
      : mine(std::move(share)), step_(step), tree_(*step.tree_), centroids_(step.centroids_),
        x_(static_cast<std::size_t>(most_points * tree_.dims())) {}

  void run(task const& t) { visit(t.node, load(*t.candidates)); }

  // The node of the task alone; its children become tasks.
  void open(task const& t, std::vector<task>& below) {
    list const left = filter(t.node, load(*t.candidates));
    if (settle(t.node, left)) return;
    auto const candidates = std::make_shared<std::vector<label>>(static_cast<std::size_t>(left.m));
    for (index i = 0; i < left.m; ++i) (*candidates)[static_cast<std::size_t>(i)] = name(left, i);
    for (node_id const c : tree_.children(t.node)) below.push_back({c, candidates});
  }

private:
  // The list of a task, as the only one there is.
  list load(std::vector<label> const& candidates) {
    list const all{0, std::ssize(candidates), padded(std::ssize(candidates))};
    make_room(all);
    for (index i = 0; i < all.m; ++i) {
      label const who = candidates[static_cast<std::size_t>(i)];
      for (index j = 0; j < tree_.dims(); ++j) row(all, j)[i] = centroids_(who, j);
      row(all, tree_.dims())[i] = who;
    }
    return all;
  }

  // A list that may get as long as `all`, on top of it.
  list above(list const& all) {
    list const next{all.first + static_cast<std::size_t>(all.stride * rows()), 0, padded(all.m)};
    make_room(next);
    return next;
  }
  // The stack only ever grows: what is above the top list is not looked at.
  void make_room(list const& top) {
    std::size_t const end = top.first + static_cast<std::size_t>(top.stride * rows());
    if (stack_.size() < end) stack_.resize(2 * end);
  }
  index rows() const { return tree_.dims() + 1; }
  double* row(list const& l, index j) { return stack_.data() + l.first + j * l.stride; }
  label name(list const& l, index i) { return static_cast<label>(row(l, tree_.dims())[i]); }

  void visit(node_id q, list const& all) {
    list const left = filter(q, all);
    if (!settle(q, left))
      for (node_id const c : tree_.children(q)) visit(c, left);
  }

  // Gives q, or a leaf's points, to their owners; false if that is for its children to do.
  bool settle(node_id q, list const& left) {
    if (left.m == 1) {
      step_.give(mine.changes, q, name(left, 0));
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
    if (std::ssize(lo2_) < all.stride)
      for (std::vector<double>* const v : {&lo2_, &hi2_, &leads_})
        v->resize(static_cast<std::size_t>(all.stride));
    distances_to(tree_, q, row(all, 0), padded(all.m), all.stride, lo2_.data(), hi2_.data());
    mine.work.node_scores += all.m;
    double const upper2 = least_of(hi2_.data(), all.m);
    index const chosen = Choice::choose(lo2_.data(), hi2_.data(), all.m, upper2); // or none
    label const near = chosen < all.m ? name(all, chosen) : -1;
    // Farther than another candidate's farthest point over the whole node: not the owner of any point. Never
    // when equal.
    list left = above(all);
    left.m = keep(upper2, lo2_, all, left);
    if (near >= 0 && left.m > 1) {
      // Nor is what lies beyond the chosen one's bisector; itself it leads by nothing.
      leads_of(tree_, q, centroids_.row(near), row(left, 0), padded(left.m), left.stride,
               hi2_[static_cast<std::size_t>(chosen)], leads_.data());
      mine.work.node_scores += left.m - 1;
      left.m = keep(0, leads_, left, left);
    }
    mine.work[prune_rule::score] += all.m - left.m;
    return left;
  }

  index keep(double limit, std::vector<double> const& values, list const& from, list const& to) {
    return keep_at_most(limit, values.data(), from.m, rows(), row(from, 0), from.stride, row(to, 0),
                        to.stride);
  }

  // A leaf's points, a few at a time, by dimension.
  void base_cases(node_id q, list const& all) {
    point_range const range = tree_.points(q);
    mine.work.distances += range.size() * all.m;
    for (index first = range.first; first < range.last; first += most_points)
      nearest_of_points({first, std::min(range.last, first + most_points)}, all);
  }

  void nearest_of_points(point_range range, list const& all) {
    index const n = range.size(), whole = padded(n), d = tree_.dims();
    for (index i = 0; i < n; ++i) {
      typename Tree::real const* const x = tree_.point(range.first + i);
      for (index j = 0; j < d; ++j) x_[static_cast<std::size_t>(j * whole + i)] = static_cast<double>(x[j]);
    }
    std::fill_n(best_.begin(), whole, std::numeric_limits<double>::infinity());
    std::fill_n(who_.begin(), whole, 0.0);
    offer_centroids(x_.data(), whole, whole, d, row(all, 0), all.m, 1, all.stride, 0, best_.data(),
                    who_.data());
    for (index i = 0; i < n; ++i)
      step_.give_point(mine.changes, range.first + i,
                       name(all, static_cast<index>(who_[static_cast<std::size_t>(i)])));
  }

  static constexpr index most_points = 64; // looked at together

  candidate_step& step_;
  Tree const& tree_;
  matrix<double> const& centroids_;
  std::vector<double> stack_; // of lists, each node's on top of its parent's
  std::vector<double> lo2_, hi2_, leads_;
  std::vector<double> x_; // points by dimension
  std::array<double, most_points> best_, who_;
};

} // namespace kopse
