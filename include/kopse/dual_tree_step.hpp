// SPDX-License-Identifier: BSD-3-Clause
// `dualtree`: dual-tree k-means over any space_tree.
//
// R. R. Curtin, "Dual-tree k-means with bounded iteration runtime" (arXiv:1601.03754, 2016), Algorithms 1 to
// 6, with the corrections listed in docs/algorithm.md. A tree on the points (the query tree) is traversed
// with a tree on the centroids (the reference tree, built anew in every iteration); many centroids are ruled
// out for many points at once.
//
// Kept for a node N between iterations: its owner, if one cluster owns all its points (the paper's pruned(N)
// = k − 1), else the last `closest`; ub(N) >= d(p, owner) and lb(N) <= d(p, any other centroid) for every
// point p of N. The same for each point of a leaf with several owners. The highest owned nodes and those
// points are all that an iteration touches: what lies below an owned node is told its owner and bounds only
// when the node stops being owned.
//
// Cost: O(N + k log k) an iteration under the paper's assumptions, far less when little moves. Memory: 24
// bytes a point and, a node, 32 bytes and its exact sum, besides the tree. Use it for large n and k in low
// dimension (d to about 8).
#pragma once

#include <algorithm>
#include <atomic>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "kopse/assignment_step.hpp"
#include "kopse/dual_tree.hpp"
#include "kopse/metric.hpp"
#include "kopse/tree/neighbours.hpp"
#include "kopse/tree/node_sums.hpp"

namespace kopse {

template <space_tree Tree> class dual_tree_step final : public assignment_step {
public:
  using real = typename Tree::real;
  using reference_tree = typename Tree::reference;

  /// The tree is on points.rows. reference_leaf: most centroids in a leaf of the reference tree.
  dual_tree_step(std::shared_ptr<Tree const> tree, point_set<real> points, sum_layout const& layout, index k,
                 std::atomic<bool> const* stop = nullptr, index reference_leaf = 1)
      : tree_(std::move(tree)), weights_(points.weights), offset_(points.offset), k_(k),
        reference_leaf_(reference_leaf), stop_(stop), slack_(points.dims()),
        sums_(node_sums(*tree_, weights_, layout)), nodes_(static_cast<std::size_t>(tree_->node_count())),
        points_(static_cast<std::size_t>(points.size())) {
    at(tree_->root()) = {0, 0, nobody, nobody, tree_->root()};
  }

  cluster_sums assign(matrix_view<double> centroids) override {
    cluster_sums changes(sums_.layout(), k_);
    changes_ = &changes;
    work_ = {};
    bool const first = centroids_.rows() == 0;
    if (!first) drift_.measure(centroids, centroids_, slack_);
    centroids_ = matrix<double>(centroids);
    reference_tree const reference(centroids, reference_leaf_);
    reference_ = &reference;
    half_gap_.assign(static_cast<std::size_t>(k_), -1);
    if (first || update_tree(tree_->root())) traverse(*this, *tree_, reference);
    return changes;
  }

  far_rows farthest(index count) const override;
  exact_sum inertia(matrix_view<double> centroids) const override;
  void labels(std::span<label> out) const override;
  work_counters work() const override { return work_; }

  // The rules of the traversal (dual_tree.hpp); public for it alone.
  node_id stand_in(node_id q) const { return at(q).next; }
  void enter(node_id q);
  double score(node_id q, node_id r);
  double rescore(node_id q, node_id r, double score);
  bool descend(node_id q);
  void base_cases(node_id q, scored_node const* first, scored_node const* last);
  void leave(node_id q);

private:
  static constexpr label nobody = -1;            // no owner yet
  static constexpr label several = -2;           // several owners: look below
  static constexpr node_id unchanging = no_node; // canchange is false

  // ub and lb are bounds on true distances and are valid where owner >= 0, for the centroids last seen.
  struct node_state {
    double upper, lower;
    label owner;
    label closest; // the owner, or the last centroid that gave the upper bound; `nobody` before there is one
    node_id next;  // the coalesced view: the node to visit in place of this one, or `unchanging`
  };
  struct point_state {
    double upper, lower;
    label owner;
    bool can_change;
  };
  // What the traversal knows of a node on the way to the current one. Squares are of computed distances.
  struct frame {
    double upper2, lower2;
    index pruned;
    label closest;
  };

  node_state& at(node_id q) { return nodes_[static_cast<std::size_t>(q)]; }
  node_state const& at(node_id q) const { return nodes_[static_cast<std::size_t>(q)]; }
  point_state& point_at(index position) { return points_[static_cast<std::size_t>(position)]; }
  double weight(index position) const {
    return weights_.empty() ? 1.0 : weights_[static_cast<std::size_t>(tree_->row(position))];
  }
  bool is_leaf(node_id q) const { return std::ranges::empty(tree_->children(q)); }

  // UpdateTree
  double half_gap(label j);
  bool update_tree(node_id q);
  bool update_owned(node_id q);
  bool update_point(index position);
  bool settle_by_bounds(double upper, double& lower, label owner, prune_rule gap, prune_rule bounds);
  bool test_node(node_id q);
  bool test_point(index position);
  void hand_down(node_id q);

  // Sums
  void give(node_id q, label owner);
  void give_point(index position, label owner);
  template <class F> void for_each_run(node_id q, F const& f) const;

  std::shared_ptr<Tree const> tree_;
  std::span<double const> weights_;
  index offset_, k_, reference_leaf_;
  std::atomic<bool> const* stop_;
  slack slack_;
  exact_sums sums_; // of each node
  std::vector<node_state> nodes_;
  std::vector<point_state> points_; // in tree order

  matrix<double> centroids_; // last seen
  centroid_drift drift_;
  std::vector<double> half_gap_; // half the distance to the nearest other centroid; -1: not asked for yet
  reference_tree const* reference_ = nullptr;
  cluster_sums* changes_ = nullptr;
  work_counters work_;
  std::vector<frame> path_;
  std::vector<label> candidates_;             // of a leaf
  std::vector<double> coordinates_, squares_; // theirs, by dimension; their d² to a point
};

// ---- UpdateTree: strategies three and four
// ------------------------------------------------------------------------------

// Half the distance of centroid j to the nearest other centroid, after the move, by the reference tree.
template <space_tree Tree> double dual_tree_step<Tree>::half_gap(label j) {
  double& gap = half_gap_[static_cast<std::size_t>(j)];
  if (gap < 0)
    gap = std::max(0.0, slack_.lower(nearest_other(*reference_, centroids_.row(j), j, work_.distances)) / 2);
  return gap;
}

// Algorithm 5 (UpdateTree) over the nodes that are not below an owned one, and Algorithm 6 (CoalesceTree) as
// it returns: an unchanging child is left out of the view, a node with one child left is passed over. Returns
// canchange(q).
template <space_tree Tree> bool dual_tree_step<Tree>::update_tree(node_id q) {
  node_state& state = at(q);
  if (state.owner >= 0) return update_owned(q);
  state.next = q;
  bool any = false;
  if (is_leaf(q)) {
    point_range const range = tree_->points(q);
    for (index i = range.first; i < range.last; ++i) any = update_point(i) || any;
  } else {
    int changing = 0;
    node_id only = q;
    for (node_id const c : tree_->children(q))
      if (update_tree(c)) ++changing, only = at(c).next;
    any = changing > 0;
    if (changing == 1 && q != tree_->root()) state.next = only;
  }
  if (!any) state.next = unchanging;
  return any;
}

template <space_tree Tree> bool dual_tree_step<Tree>::update_owned(node_id q) {
  node_state& state = at(q);
  state.upper = slack_.up(state.upper + drift_[state.owner]); // strategy four
  state.lower = slack_.down(state.lower - drift_.largest_but(state.owner));
  return test_node(q);
}

// Strategy three, for bounds that hold for the moved centroids: the owner stays when ub < lb (first rule) or
// when ub < half the way to the nearest other centroid (Elkan's; then every other one is at least that far).
template <space_tree Tree>
bool dual_tree_step<Tree>::settle_by_bounds(double upper, double& lower, label owner, prune_rule gap,
                                            prune_rule bounds) {
  if (slack_.nearer(upper, lower)) {
    ++work_[bounds];
    return true;
  }
  double const half = half_gap(owner);
  if (!slack_.nearer(upper, half)) return false;
  lower = std::max(lower, half);
  ++work_[gap];
  return true;
}

// Returns canchange(q) of an owned node, with its upper bound tightened by d_max if need be (line 21).
template <space_tree Tree> bool dual_tree_step<Tree>::test_node(node_id q) {
  node_state& state = at(q);
  auto const settled = [&] {
    return settle_by_bounds(state.upper, state.lower, state.owner, prune_rule::static_node_gap,
                            prune_rule::static_node_bounds);
  };
  state.next = unchanging;
  if (settled()) return false;
  ++work_.node_scores;
  state.upper = std::min(state.upper, slack_.upper(tree_->distance(q, centroids_.row(state.owner)).hi));
  if (settled()) return false;
  state.next = q;
  return true;
}

template <space_tree Tree> bool dual_tree_step<Tree>::update_point(index position) {
  point_state& p = point_at(position);
  p.upper = slack_.up(p.upper + drift_[p.owner]);
  p.lower = slack_.down(p.lower - drift_.largest_but(p.owner));
  return test_point(position);
}

template <space_tree Tree> bool dual_tree_step<Tree>::test_point(index position) {
  point_state& p = point_at(position);
  auto const settled = [&] {
    return settle_by_bounds(p.upper, p.lower, p.owner, prune_rule::static_point_gap,
                            prune_rule::static_point_bounds);
  };
  p.can_change = false;
  if (settled()) return false;
  ++work_.distances;
  p.upper = slack_.upper(squared_distance(tree_->point(position), centroids_.row(p.owner), tree_->dims()));
  if (settled()) return false;
  p.can_change = true;
  return true;
}

// q was owned and is no longer sure to be: its children, or points, take over its owner and bounds (shifted
// once, by update_owned) and are tested in its place.
template <space_tree Tree> void dual_tree_step<Tree>::hand_down(node_id q) {
  node_state const& state = at(q);
  bool const owned = state.owner >= 0;
  for (node_id const c : tree_->children(q)) {
    at(c) = {state.upper, state.lower, state.owner, state.closest, c};
    if (owned) test_node(c);
  }
  if (is_leaf(q)) {
    point_range const range = tree_->points(q);
    for (index i = range.first; i < range.last; ++i) {
      point_at(i) = {state.upper, state.lower, state.owner, true};
      if (owned) test_point(i);
    }
  }
  at(q).owner = several;
}

// ---- Score and BaseCase: strategies one and two
// --------------------------------------------------------------------------

// Lines 4 to 6 of Score: what is known of the parent (the last node entered and not left) holds for the
// child. The carried bound of strategy four is the carried `closest`: d_max to it, for the moved centroids,
// is never above the shifted bound.
template <space_tree Tree> void dual_tree_step<Tree>::enter(node_id q) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  frame f = path_.empty() ? frame{infinity, infinity, 0, nobody} : path_.back();
  label const closest = at(q).closest >= 0 ? at(q).closest : f.closest;
  if (closest >= 0) {
    ++work_.node_scores;
    double const hi = tree_->distance(q, centroids_.row(closest)).hi;
    if (hi < f.upper2) f.upper2 = hi, f.closest = closest;
  }
  path_.push_back(f);
  if (stop_ != nullptr && stop_->load(std::memory_order_relaxed)) {
    path_.clear();
    throw interrupted();
  }
}

template <space_tree Tree> double dual_tree_step<Tree>::score(node_id q, node_id r) {
  frame& f = path_.back();
  ++work_.node_scores;
  interval const d2 = tree_->distance(q, *reference_, r);
  double const s = rescore(q, r, d2.lo);
  if (s == pruned_score) return s;
  // Lines 17 to 20: some centroid of r may give a smaller upper bound.
  point_range const range = reference_->points(r);
  index const some = (range.first + range.last) / 2;
  double const hi = range.size() == 1 ? d2.hi : tree_->distance(q, reference_->point(some)).hi;
  if (hi < f.upper2) {
    f.upper2 = hi;
    f.closest = static_cast<label>(reference_->row(some));
  }
  return s;
}

// Strategy one, equation 2: d_min(q, r) > ub(q): no centroid of r owns a point of q. Strict, so that ties are
// evaluated. The centroid that gave ub is never in such an r: its own distances are between d_min and ub.
template <space_tree Tree> double dual_tree_step<Tree>::rescore(node_id, node_id r, double score) {
  frame& f = path_.back();
  if (!(score > f.upper2)) return score;
  f.lower2 = std::min(f.lower2, score);
  f.pruned += reference_->points(r).size();
  ++work_[prune_rule::score];
  return pruned_score;
}

// Strategy two: all centroids but one are pruned, so `closest`, which never is, owns every point of q.
template <space_tree Tree> bool dual_tree_step<Tree>::descend(node_id q) {
  frame const& f = path_.back();
  if (f.pruned < k_ - 1) {
    if (at(q).owner != several) hand_down(q);
    return true;
  }
  ++work_[prune_rule::owned_node];
  give(q, f.closest);
  node_state& state = at(q);
  state.upper = slack_.upper(f.upper2);
  state.lower = slack_.lower(f.lower2);
  state.closest = f.closest;
  return false;
}

template <space_tree Tree>
void dual_tree_step<Tree>::base_cases(node_id q, scored_node const* first, scored_node const* last) {
  index const d = tree_->dims();
  candidates_.clear();
  for (; first != last; ++first) {
    point_range const range = reference_->points(first->node);
    for (index i = range.first; i < range.last; ++i)
      candidates_.push_back(static_cast<label>(reference_->row(i)));
  }
  std::sort(candidates_.begin(),
            candidates_.end()); // ascending, so that of equal distances the lowest index comes first
  std::size_t const m = candidates_.size();
  coordinates_.resize(m * static_cast<std::size_t>(d));
  squares_.resize(m);
  for (std::size_t i = 0; i < m; ++i)
    for (index j = 0; j < d; ++j)
      coordinates_[static_cast<std::size_t>(j) * m + i] = centroids_(candidates_[i], j);

  double const pruned2 = path_.back().lower2; // lb(N): no nearer than this are those not among the candidates
  point_range const range = tree_->points(q);
  for (index i = range.first; i < range.last; ++i) {
    point_state& p = point_at(i);
    if (!p.can_change) continue;
    work_.distances += static_cast<index>(m);
    squared_distances(tree_->point(i), d, coordinates_.data(), static_cast<index>(m), static_cast<index>(m),
                      squares_.data());
    double nearest2 = squares_[0], second2 = pruned2;
    std::size_t nearest = 0;
    for (std::size_t c = 1; c < m; ++c) {
      double const d2 = squares_[c];
      if (d2 < nearest2)
        second2 = std::min(second2, nearest2), nearest2 = d2, nearest = c;
      else
        second2 = std::min(second2, d2);
    }
    give_point(i, candidates_[nearest]);
    p.upper = slack_.upper(nearest2);
    p.lower = slack_.lower(second2);
  }
}

template <space_tree Tree> void dual_tree_step<Tree>::leave(node_id q) {
  if (at(q).owner == several) at(q).closest = path_.back().closest;
  path_.pop_back();
}

// ---- Sums and labels
// ----------------------------------------------------------------------------------------------------

// Records that `owner` owns all of q; the sums of what had another owner move (Algorithm 4, UpdateCentroids,
// by changes).
template <space_tree Tree> void dual_tree_step<Tree>::give(node_id q, label owner) {
  node_state& state = at(q);
  if (state.owner == owner) return;
  if (state.owner == several) {
    for (node_id const c : tree_->children(q)) give(c, owner);
    if (is_leaf(q))
      for (index i = tree_->points(q).first; i < tree_->points(q).last; ++i) give_point(i, owner);
  } else {
    if (state.owner >= 0) changes_->sums.add(state.owner, sums_, q, -1);
    changes_->sums.add(owner, sums_, q, 1);
    changes_->labels_changed += tree_->points(q).size();
  }
  state.owner = owner;
}

template <space_tree Tree> void dual_tree_step<Tree>::give_point(index position, label owner) {
  point_state& p = point_at(position);
  if (p.owner == owner) return;
  if (p.owner >= 0) changes_->sums.add(p.owner, tree_->point(position), weight(position), -1);
  changes_->sums.add(owner, tree_->point(position), weight(position), 1);
  ++changes_->labels_changed;
  p.owner = owner;
}

// Calls f(first, last, owner) for runs of positions that together are all points below q.
template <space_tree Tree>
template <class F>
void dual_tree_step<Tree>::for_each_run(node_id q, F const& f) const {
  point_range const range = tree_->points(q);
  if (at(q).owner != several) return f(q, range.first, range.last, at(q).owner);
  for (node_id const c : tree_->children(q)) for_each_run(c, f);
  if (is_leaf(q))
    for (index i = range.first; i < range.last; ++i)
      f(q, i, i + 1, points_[static_cast<std::size_t>(i)].owner);
}

template <space_tree Tree> void dual_tree_step<Tree>::labels(std::span<label> out) const {
  for_each_run(tree_->root(), [&](node_id, index first, index last, label owner) {
    for (index i = first; i < last; ++i) out[static_cast<std::size_t>(tree_->row(i))] = owner;
  });
}

template <space_tree Tree> exact_sum dual_tree_step<Tree>::inertia(matrix_view<double> centroids) const {
  exact_sum sum;
  for_each_run(tree_->root(), [&](node_id, index first, index last, label owner) {
    double const* const c = centroids.row(centroids.rows() == 1 ? 0 : owner);
    for (index i = first; i < last; ++i)
      sum.add(weight(i) * squared_distance(tree_->point(i), c, tree_->dims()));
  });
  return sum;
}

template <space_tree Tree> far_rows dual_tree_step<Tree>::farthest(index count) const {
  far_collector collector(count);
  for_each_run(tree_->root(), [&](node_id q, index first, index last, label owner) {
    double const* const c = centroids_.row(owner);
    if (last - first > 1 && !collector.wants(tree_->distance(q, c).hi))
      return; // no point of the node is far enough
    for (index i = first; i < last; ++i) {
      real const* const x = tree_->point(i);
      collector.offer(offset_ + tree_->row(i), squared_distance(x, c, tree_->dims()), owner, weight(i), x,
                      tree_->dims());
    }
  });
  return std::move(collector).sorted();
}

} // namespace kopse
