// SPDX-License-Identifier: BSD-3-Clause
// The switches of paper_algorithm.hpp: the places where the paper's printed rule is not the one that works.
#pragma once

#include <bitset>
#include <initializer_list>

namespace paper {

/// A printed rule, named after its place; what is right in its stead is said where the switch is read.
enum class erratum {
  strategy3_gap,               // 2 min d in place of ½ min d
  strategy3_largest_movement,  // max_i m_i in place of max_{i≠j} m_i
  strategy4_upper_of_shared,   // Equation 7: ub + max_i m_i for a node of several owners
  lower_not_reset,             // lb = ∞ at the very start only
  score_own_upper,             // Score 4-6: ub and closest are not taken from the parent
  score_upper_without_closest, // Score 4-6 and "bounds may be taken from a parent": ub is, closest is not
  score_child_too_early,       // Score 4-6: the parent's lb as it is at the child's first visit
  score_hidden_parent,         // Score 4-6: from the tree's parent though coalescing hid it
  score_single_cluster,        // Score 7: k = 1 prunes before any closest is known
  score_count,                 // Score 15: counts the clusters of N_r that were already pruned
  score_upper,                 // Score 19: stores d_max(N_q, N_r)
  base_case_tie,               // BaseCase 3: of equal distances the first visited wins
  base_case_repeat,            // BaseCase 7: the same centroid again counts as second nearest
  update_child_of_owned, // UpdateTree 4-10: of static parents only; own ub; lb + max m; pruned untouched
  update_lower_of_child, // UpdateTree 9: lb + max_i m_i alone
  update_points_of_owned_leaf,  // UpdateTree 31-35: points of an owned leaf use what they had
  update_lower_is_gap,          // UpdateTree 15: stores max(lb - max m, ½ min d) though ub is not below it
  update_point_lower_is_least,  // UpdateTree 34: min(lb(p) - max m, ½ min d)
  update_point_lower_is_most,   // the obvious mending of it: max(lb(p) - max m, ½ min d), without lb(N)
  update_point_stays_frozen,    // UpdateTree 42-45: canchange(p) is not set back to true
  update_static_points_stale,   // UpdateTree 47: only points with canchange = false are shifted
  coalesce_pushes_twice,        // CoalesceTree 11-18: the root's children are pushed twice
  coalesce_visits_static_root,  // CoalesceTree: a static root is traversed all the same
  coalesce_keeps_static_points, // CoalesceTree: static points still go through BaseCase
  coalesce_stale_score,         // a cached score read as if against the parent that coalescing hid
  decoalesce_restores_bounds,   // DecoalesceTree: the pristine copy brings back bounds, pruned, closest
  centroids_empty_is_zero,      // UpdateCentroids 3, 20: an empty cluster's centroid becomes 0
  figure_smallest_movement,     // Figure 1 b, c: min_k m_k in place of max
  count
};
using errata = std::bitset<static_cast<std::size_t>(erratum::count)>;
inline errata printed(std::initializer_list<erratum> rules) {
  errata set;
  for (erratum const rule : rules) set.set(static_cast<std::size_t>(rule));
  return set;
}

enum class order {
  references_first, // all references of a query node before its children
  depth_first       // each pair of nodes, then at once the pairs of their children
};

struct setting {
  errata rules; // the printed rules in force; the corrected ones elsewhere
  order traversal = order::references_first;
  bool cached_scores = false; // references_first: bound a pair by the distance of the pair above it first
};

} // namespace paper
