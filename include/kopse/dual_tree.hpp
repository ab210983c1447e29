// SPDX-License-Identifier: BSD-3-Clause
// One pruning dual-tree traversal, for any two space trees and any rules; it knows nothing of k-means.
//
// Pairs (query node, reference node) are scored, and where a score is infinite no pair below is visited
// (Curtin et al. 2013; the paper's Definition 2). The order kept here: for one query node *all* its reference
// nodes are scored before any of its children is entered, and each pair is scored once. A child thus inherits
// what is known of its whole parent, which is what makes counts and lower bounds of pruned nodes complete (a
// child entered early would see too few pruned). A reference node larger than the query node gives way to its
// children at once; the others are handed down.
//
// As a query node passes on nothing but the references it is left with and what is known of it, its children
// may go to different threads, each with rules of its own.
#pragma once

#include <concepts>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "kopse/parallel.hpp"
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
    } -> std::same_as<bool>; // all points below q against all of [refs, refs), which the rules may leave to
                             // the children of q (false), but for a leaf, whose references are leaves
  { rules.leave(q) } -> std::same_as<void>; // after all below q; on several threads, before it
};

/// Rules for a traversal on several threads: known() is what was learnt of the node entered last and has not
/// been left; after resume(known), perhaps on another thread, its children may be entered.
template <class Rules>
concept branching_rules = dual_tree_rules<Rules> && requires(Rules& rules) {
  rules.resume(rules.known());
};

template <space_tree Query, space_tree Reference, dual_tree_rules Rules> class dual_tree_traversal {
public:
  dual_tree_traversal(Rules& rules, Query const& query, Reference const& reference)
      : rules_(rules), query_(query), reference_(reference) {}

  /// The traversal of a query node's subtree; `references` are those that its parent could not prune.
  void run(node_id q, std::vector<scored_node> const& references) {
    survivors_ = references;
    visit(q, 0, references.size());
  }

  /// Of the query node alone. Calls below(child, references, known) for each child that is to be visited; all
  /// share one list of references.
  template <class Below>
  void open(node_id q, std::vector<scored_node> const& references, Below const& below) {
    survivors_ = references;
    enter(q, 0, references.size());
    if (rules_.descend(q)) {
      auto const left = std::make_shared<std::vector<scored_node> const>(
          survivors_.begin() + static_cast<std::ptrdiff_t>(references.size()), survivors_.end());
      if (!rules_.base_cases(q, left->data(), left->data() + left->size()))
        for (node_id const c : query_.children(q))
          if (node_id const shown = rules_.stand_in(c); shown != no_node) below(shown, left, rules_.known());
    }
    rules_.leave(q);
  }

private:
  // The references of q are survivors_[first, last), those that its parent could not prune.
  void visit(node_id q, std::size_t first, std::size_t last) {
    std::size_t const begin = survivors_.size();
    enter(q, first, last);
    std::size_t const end = survivors_.size();
    if (rules_.descend(q)) {
      if (!rules_.base_cases(q, survivors_.data() + begin, survivors_.data() + end))
        for (node_id const c : query_.children(q))
          if (node_id const shown = rules_.stand_in(c); shown != no_node) visit(shown, begin, end);
    }
    rules_.leave(q);
    survivors_.resize(begin);
  }

  // Puts those that q cannot prune either on top of the stack.
  void enter(node_id q, std::size_t first, std::size_t last) {
    rules_.enter(q);
    bool const leaf = is_leaf(q);
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

  bool is_leaf(node_id q) const { return std::ranges::empty(query_.children(q)); }

  Rules& rules_;
  Query const& query_;
  Reference const& reference_;
  std::vector<scored_node> survivors_; // a stack: the lists of the query nodes from the root to here
};

/// Runs the traversal of two trees under the rules.
template <space_tree Query, space_tree Reference, dual_tree_rules Rules>
void traverse(Rules& rules, Query const& query, Reference const& reference) {
  dual_tree_traversal<Query, Reference, Rules>(rules, query, reference)
      .run(query.root(), {{reference.root(), 0}});
}

/// The same on several threads, the rules of which come from `rules`: subtrees of at most `branch` query
/// points are not divided further.
template <space_tree Query, space_tree Reference, branching_rules Rules>
void traverse(per_thread<Rules>& rules, Query const& query, Reference const& reference, index branch,
              int threads) {
  using known = decltype(std::declval<Rules&>().known());
  struct task {
    node_id node;
    std::shared_ptr<std::vector<scored_node> const> references;
    known above;
  };
  auto const work = [&](task const& t, auto const& f) {
    rules.lend([&](Rules& mine) {
      mine.resume(t.above);
      f(dual_tree_traversal<Query, Reference, Rules>(mine, query, reference));
    });
  };
  for_branches(
      task{query.root(),
           std::make_shared<std::vector<scored_node> const>(1, scored_node{reference.root(), 0}), known()},
      threads, [&](task const& t) { return query.points(t.node).size() <= branch; },
      [&](task const& t, std::vector<task>& below) {
        work(t, [&](auto traversal) {
          traversal.open(t.node, *t.references, [&](node_id c, auto const& left, known const& above) {
            below.push_back({c, left, above});
          });
        });
      },
      [&](task const& t) { work(t, [&](auto traversal) { traversal.run(t.node, *t.references); }); });
}

} // namespace kopse
