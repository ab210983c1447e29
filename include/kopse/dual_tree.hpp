// SPDX-License-Identifier: BSD-3-Clause
// One pruning dual-tree traversal, for any two space trees and any rules; it knows nothing of k-means.
//
// Pairs (query node, reference node) are scored, and where a score is infinite no pair below is visited
// (Curtin et al. 2013; the paper's Definition 2). The order kept here: for one query node *all* its reference
// nodes are scored before any of its children is entered, and each pair is scored once. A child thus inherits
// what is known of its whole parent, which is what makes counts and lower bounds of pruned nodes complete (a
// child entered early would see too few pruned). A reference node larger than the query node gives way to its
// children at once; the others are handed down.
#pragma once

#include <concepts>
#include <limits>
#include <vector>

#include "kopse/tree/space_tree.hpp"

namespace kopse {

inline constexpr node_id no_node = -1;
inline constexpr double pruned_score = std::numeric_limits<double>::infinity();

/// A reference node and its score against the query node in hand.
struct scored_node {
  node_id node;
  double score;
};

template <class Rules>
concept dual_tree_rules = requires(Rules& rules, node_id q, node_id r, double s, scored_node const* refs) {
  {
    rules.stand_in(q)
    } -> std::same_as<node_id>;             // what a coalesced view of the query tree shows for q, or no_node
  { rules.enter(q) } -> std::same_as<void>; // before the first score of q; its parent was entered before
  { rules.score(q, r) } -> std::same_as<double>; // infinity: prune
  {
    rules.rescore(q, r, s)
    } -> std::same_as<double>; // again, with what the later scores taught; computes no distance
  { rules.descend(q) } -> std::same_as<bool>; // after the last score of q: is there anything to find below?
  {
    rules.base_cases(q, refs, refs)
    } -> std::same_as<void>;                // q a leaf: its points against the leaves [refs, refs)
  { rules.leave(q) } -> std::same_as<void>; // after all below q
};

template <space_tree Query, space_tree Reference, dual_tree_rules Rules> class dual_tree_traversal {
public:
  dual_tree_traversal(Rules& rules, Query const& query, Reference const& reference)
      : rules_(rules), query_(query), reference_(reference) {}

  void run() {
    survivors_.assign(1, {reference_.root(), 0});
    visit(query_.root(), 0, 1);
  }

private:
  // The references of q are survivors_[first, last), those that its parent could not prune.
  void visit(node_id q, std::size_t first, std::size_t last) {
    rules_.enter(q);
    bool const leaf = std::ranges::empty(query_.children(q));
    double const extent = query_.extent(q);
    std::size_t const begin = survivors_.size();
    for (std::size_t i = first; i < last; ++i) score(q, survivors_[i].node, leaf, extent);
    std::size_t end = begin;
    for (std::size_t i = begin; i < survivors_.size(); ++i) {
      scored_node const r = survivors_[i];
      double const s = rules_.rescore(q, r.node, r.score);
      if (s != pruned_score) survivors_[end++] = {r.node, s};
    }
    survivors_.resize(end);
    if (rules_.descend(q)) {
      if (leaf)
        rules_.base_cases(q, survivors_.data() + begin, survivors_.data() + end);
      else
        for (node_id const c : query_.children(q))
          if (node_id const shown = rules_.stand_in(c); shown != no_node) visit(shown, begin, end);
    }
    rules_.leave(q);
    survivors_.resize(begin);
  }

  void score(node_id q, node_id r, bool leaf, double extent) {
    double const s = rules_.score(q, r);
    if (s == pruned_score) return;
    auto const below = reference_.children(r);
    if (std::ranges::empty(below) || !(leaf || reference_.extent(r) > extent))
      survivors_.push_back({r, s});
    else
      for (node_id const c : below) score(q, c, leaf, extent);
  }

  Rules& rules_;
  Query const& query_;
  Reference const& reference_;
  std::vector<scored_node> survivors_; // a stack: the lists of the query nodes from the root to here
};

/// Runs the traversal of two trees under the rules.
template <space_tree Query, space_tree Reference, dual_tree_rules Rules>
void traverse(Rules& rules, Query const& query, Reference const& reference) {
  dual_tree_traversal<Query, Reference, Rules>(rules, query, reference).run();
}

} // namespace kopse
