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
// bytes a point and, a node, 28 bytes and its exact sum, besides the tree. Use it for large n and k in low
// dimension (d to about 8).
#pragma once

#include <algorithm>
#include <atomic>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "kopse/dual_tree.hpp"
#include "kopse/tree/neighbours.hpp"
#include "kopse/tree_step.hpp"

namespace kopse {

template <space_tree Tree> class dual_tree_step final : public tree_step<Tree> {
  using base = tree_step<Tree>;
  using base::centroids_, base::drift_, base::k_, base::slack_, base::tree_, base::work_, base::several;

public:
  using real = typename Tree::real;
  using reference_tree = typename Tree::reference;

  /// The tree is on points.rows. `bisector`: a further rule, see rescore(); false: the paper's alone.
  dual_tree_step(std::shared_ptr<Tree const> tree, point_set<real> points, sum_layout const& layout, index k,
                 std::atomic<bool> const* stop = nullptr, bool bisector = true)
      : base(std::move(tree), points, layout, k, stop), bisector_(bisector),
        nodes_(static_cast<std::size_t>(tree_->node_count())),
        points_(static_cast<std::size_t>(points.size())) {
    at(tree_->root()) = {0, 0, -1, tree_->root()};
  }

  // Algorithm 1, one iteration of it.
  cluster_sums assign(matrix_view<double> centroids) override {
    cluster_sums changes = this->begin(centroids);
    changes_ = &changes;
    path_.clear();
    reference_tree const reference(centroids, 1);
    reference_ = &reference;
    half_gap_.assign(static_cast<std::size_t>(k_), -1);
    if (this->first_ || update_tree(tree_->root())) traverse(*this, *tree_, reference);
    return changes;
  }

  // The rules of the traversal (dual_tree.hpp); public for it alone.
  node_id stand_in(node_id q) const { return at(q).next; }
  void enter(node_id q);
  double score(node_id q, node_id r);
  double rescore(node_id q, node_id r, double lo2);
  bool descend(node_id q);
  void base_cases(node_id q, scored_node const* first, scored_node const* last);
  void leave(node_id q);

private:
  static constexpr node_id unchanging = no_node; // canchange is false

  // ub and lb bound true distances; they are valid where the node has one owner, for the centroids last seen.
  struct node_state {
    double upper, lower;
    label closest; // the centroid that gave the upper bound; -1 before there is one
    node_id next;  // the coalesced view: the node to visit in place of this one, or `unchanging`
  };
  struct point_state {
    double upper, lower;
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

  bool too_far(node_id r, double lo2);
  void prune(node_id r, double lo2, prune_rule rule);
  double half_gap(label j);
  bool update_tree(node_id q);
  bool settle_by_bounds(double upper, double& lower, label owner, prune_rule gap, prune_rule bounds);
  bool test_node(node_id q);
  bool test_point(index position);
  void hand_down_bounds(node_id q);
  template <class State> void shift(State& state, label owner) {
    state.upper = slack_.up(state.upper + drift_[owner]); // strategy four
    state.lower = slack_.down(state.lower - drift_.largest_but(owner));
  }

  bool bisector_;
  std::vector<node_state> nodes_;
  std::vector<point_state> points_; // in tree order

  // Of the iteration in hand.
  reference_tree const* reference_ = nullptr;
  cluster_sums* changes_ = nullptr;
  std::vector<double> half_gap_; // half the distance to the nearest other centroid; -1: not asked for yet
  std::vector<frame> path_;
  std::vector<label> candidates_;             // of a leaf
  std::vector<double> coordinates_, squares_; // theirs, by dimension; their d² to a point
};

// ---- UpdateTree: strategies three and four

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
  if (label const owner = this->owner(q); owner != several) {
    shift(state, owner);
    return test_node(q);
  }
  state.next = q;
  bool any = false;
  if (this->is_leaf(q)) {
    point_range const range = tree_->points(q);
    for (index i = range.first; i < range.last; ++i) {
      shift(point_at(i), this->point_owner(i));
      any = test_point(i) || any;
    }
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
  label const owner = this->owner(q);
  auto const settled = [&] {
    return settle_by_bounds(state.upper, state.lower, owner, prune_rule::static_node_gap,
                            prune_rule::static_node_bounds);
  };
  state.next = unchanging;
  if (settled()) return false;
  ++work_.node_scores;
  state.upper = std::min(state.upper, slack_.upper(tree_->distance(q, centroids_.row(owner)).hi));
  if (settled()) return false;
  state.next = q;
  return true;
}

template <space_tree Tree> bool dual_tree_step<Tree>::test_point(index position) {
  point_state& p = point_at(position);
  label const owner = this->point_owner(position);
  auto const settled = [&] {
    return settle_by_bounds(p.upper, p.lower, owner, prune_rule::static_point_gap,
                            prune_rule::static_point_bounds);
  };
  p.can_change = false;
  if (settled()) return false;
  ++work_.distances;
  p.upper = slack_.upper(squared_distance(tree_->point(position), centroids_.row(owner), tree_->dims()));
  if (settled()) return false;
  p.can_change = true;
  return true;
}

// q was owned and is no longer sure to be: its children, or points, take over its owner and its bounds (which
// update_tree has shifted once, whether or not q could change) and are tested in its place.
template <space_tree Tree> void dual_tree_step<Tree>::hand_down_bounds(node_id q) {
  if (this->owner(q) == several) return;
  this->hand_down(q);
  node_state const& state = at(q);
  for (node_id const c : tree_->children(q)) {
    at(c) = {state.upper, state.lower, state.closest, c};
    if (!this->first_) test_node(c);
  }
  if (!this->is_leaf(q)) return;
  point_range const range = tree_->points(q);
  for (index i = range.first; i < range.last; ++i) {
    point_at(i) = {state.upper, state.lower, true};
    if (!this->first_) test_point(i);
  }
}

// ---- Score and BaseCase: strategies one and two

// Lines 4 to 6 of Score: what is known of the parent (the last node entered and not left) holds for the
// child. The carried bound of strategy four is the carried `closest`: d_max to it, for the moved centroids,
// is never above the shifted bound.
template <space_tree Tree> void dual_tree_step<Tree>::enter(node_id q) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  frame f = path_.empty() ? frame{infinity, infinity, 0, -1} : path_.back();
  label const closest = at(q).closest >= 0 ? at(q).closest : f.closest;
  if (closest >= 0) {
    ++work_.node_scores;
    double const hi = tree_->distance(q, centroids_.row(closest)).hi;
    if (hi < f.upper2) f.upper2 = hi, f.closest = closest;
  }
  path_.push_back(f);
  this->check_stop();
}

template <space_tree Tree> double dual_tree_step<Tree>::score(node_id q, node_id r) {
  frame& f = path_.back();
  ++work_.node_scores;
  interval const d2 = tree_->distance(q, *reference_, r);
  if (too_far(r, d2.lo)) return pruned_score;
  // Lines 17 to 20: some centroid of r may give a smaller upper bound.
  point_range const range = reference_->points(r);
  index const some = (range.first + range.last) / 2;
  double const hi = range.size() == 1 ? d2.hi : tree_->distance(q, reference_->point(some)).hi;
  if (hi < f.upper2) {
    f.upper2 = hi;
    f.closest = static_cast<label>(reference_->row(some));
  }
  return d2.lo;
}

// Strategy one, equation 2: d_min(q, r) > ub(q): no centroid of r owns a point of q. Strict, so that ties are
// evaluated. The centroid that gave ub is never in such an r: its own distances are between d_min and ub.
template <space_tree Tree> bool dual_tree_step<Tree>::too_far(node_id r, double lo2) {
  frame& f = path_.back();
  if (!(lo2 > f.upper2)) return false;
  prune(r, lo2, prune_rule::score);
  return true;
}

// Past the paper: a single centroid that is nowhere in q as near as `closest` (on the far side of their
// bisector) owns nothing there, however near it comes. `closest` itself is never nearer than itself.
template <space_tree Tree> double dual_tree_step<Tree>::rescore(node_id q, node_id r, double lo2) {
  if (too_far(r, lo2)) return pruned_score;
  if (!bisector_ || reference_->points(r).size() != 1) return lo2;
  frame const& f = path_.back();
  index const c = reference_->row(reference_->points(r).first);
  if (c == f.closest) return lo2;
  ++work_.node_scores;
  if (!tree_->nearer(q, centroids_.row(f.closest), centroids_.row(c), f.upper2)) return lo2;
  prune(r, lo2, prune_rule::bisector);
  return pruned_score;
}

// Lines 12 to 16 of Score.
template <space_tree Tree> void dual_tree_step<Tree>::prune(node_id r, double lo2, prune_rule rule) {
  frame& f = path_.back();
  f.lower2 = std::min(f.lower2, lo2);
  f.pruned += reference_->points(r).size();
  ++work_[rule];
}

// Strategy two: all centroids but one are pruned, so `closest`, which never is, owns every point of q.
template <space_tree Tree> bool dual_tree_step<Tree>::descend(node_id q) {
  frame const& f = path_.back();
  if (f.pruned < k_ - 1) {
    hand_down_bounds(q);
    return true;
  }
  ++work_[prune_rule::owned_node];
  this->give(*changes_, q, f.closest);
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
    this->give_point(*changes_, i, candidates_[nearest]);
    p.upper = slack_.upper(nearest2);
    p.lower = slack_.lower(second2);
  }
}

template <space_tree Tree> void dual_tree_step<Tree>::leave(node_id q) {
  if (this->owner(q) == several) at(q).closest = path_.back().closest;
  path_.pop_back();
}

} // namespace kopse
