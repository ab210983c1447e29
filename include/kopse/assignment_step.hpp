// SPDX-License-Identifier: BSD-3-Clause
// The assignment step: what every algorithm is. It keeps the labels and bounds of one partition of the data
// and knows nothing of the others, of seeding, of empty clusters or of when to stop.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kopse/exact_sum.hpp"
#include "kopse/metric.hpp"
#include "kopse/point_set.hpp"
#include "kopse/tree/measures.hpp"

namespace kopse {

/// Why work was not done, by rule; what each rule says stands in docs/algorithm.md (nodes) and
/// docs/algorithms.md (points).
enum class prune_rule {
  score,
  bisector,
  owned_node,
  static_node_gap,
  static_node_bounds,
  static_point_gap,
  static_point_bounds,
  point_gap,
  point_bounds,
  group,
  centroid,
  count
};
char const* name(prune_rule rule);

/// Work of one assignment.
struct work_counters {
  index distances = 0;   ///< point to centroid, centroid to centroid
  index node_scores = 0; ///< node to node or centroid
  std::array<index, static_cast<std::size_t>(prune_rule::count)> prunes{};
  index& operator[](prune_rule rule) { return prunes[static_cast<std::size_t>(rule)]; }
  work_counters& operator+=(work_counters const& other);
};

/// Per-cluster sums, or changes of them: a monoid, so threads, partitions and machines merge with +=.
struct cluster_sums {
  exact_sums sums;          ///< k rows: Σ w·x and Σ w by cluster
  index labels_changed = 0; ///< rows whose label differs from the one before (all, at first)
  work_counters work;       ///< of the assignment, where the driver merges changes; else 0
  cluster_sums() = default;
  cluster_sums(sum_layout const& layout, index k) : sums(layout, k) {}
  cluster_sums& operator+=(cluster_sums const& other);
};

/// A candidate for an empty cluster (docs/exactness.md, empty clusters).
struct far_row {
  index row;   ///< in the whole data
  double d2;   ///< squared distance to the centroid it is assigned to, computed, unweighted
  label owner; ///< that centroid
  double weight;
  std::vector<double> x;
};
/// Sorted by d² descending, then row ascending.
using far_rows = std::vector<far_row>;
bool farther(far_row const& a, far_row const& b);

/// Keeps the first `count` far rows of all that are offered.
class far_collector {
public:
  explicit far_collector(index count) : count_(count) {}

  /// Rows at or below this d² need not be offered unless they tie.
  bool wants(double d2) const { return count_ > 0 && d2 > 0 && (!full() || d2 >= heap_.front().d2); }
  template <class Real> void offer(index row, double d2, label owner, double weight, Real const* x, index d) {
    if (weight == 0 || !wants(d2)) return;
    far_row candidate{row, d2, owner, weight, {}};
    if (full() && !farther(candidate, heap_.front())) return;
    candidate.x.assign(x, x + d);
    keep(std::move(candidate));
  }
  /// Offers all that the other has kept.
  far_collector& operator+=(far_collector&& other) {
    for (far_row& row : other.heap_)
      if (!full() || farther(row, heap_.front())) keep(std::move(row));
    return *this;
  }
  far_rows sorted() && {
    std::sort(heap_.begin(), heap_.end(), farther);
    return std::move(heap_);
  }

private:
  bool full() const { return static_cast<index>(heap_.size()) == count_; }
  void keep(far_row&& candidate) {
    if (full()) {
      std::pop_heap(heap_.begin(), heap_.end(), farther);
      heap_.pop_back();
    }
    heap_.push_back(std::move(candidate));
    std::push_heap(heap_.begin(), heap_.end(), farther);
  }

  index count_;
  far_rows heap_; // the least far on top
};

/// How far each centroid moved between two assignments: true distances, rounded up.
class centroid_drift {
public:
  void measure(matrix_view<double> now, matrix_view<double> before, slack const& rounding);
  double operator[](label j) const { return moved_[static_cast<std::size_t>(j)]; }
  double largest() const { return largest_; }
  /// The largest movement of any centroid but j.
  double largest_but(label j) const { return j == fastest_ ? second_ : largest_; }

private:
  std::vector<double> moved_;
  double largest_ = 0, second_ = 0;
  label fastest_ = -1;
};

/// What a step of the algorithm `auto` runs from an iteration (from 1) on.
struct algorithm_choice {
  index iteration;
  std::string algorithm, why;
};

class assignment_step {
public:
  virtual ~assignment_step() = default;

  /// Assigns every point to its nearest centroid (ties to the lowest index) and returns the CHANGES of the
  /// sums since the last call; all of them at the first. Any centroids may come: how far each has moved since
  /// the last call is measured here, so relocations, warm starts and restarts are nothing but movement. k
  /// never changes.
  virtual cluster_sums assign(matrix_view<double> centroids) = 0;

  /// The first `count` candidates for empty clusters, d² to the centroids of the last assign().
  virtual far_rows farthest(index count) const = 0;

  /// The exact sum of w·d² from each row to its own centroid, or, with one row, to that centroid.
  virtual exact_sum inertia(matrix_view<double> centroids) const = 0;

  /// Labels by the last assign(), in the order of the rows of the partition.
  virtual void labels(std::span<label> out) const = 0;

  /// Work of the last assign().
  virtual work_counters work() const = 0;

  /// Of `auto`: what it chose so far. None of others.
  virtual std::vector<algorithm_choice> choices() const { return {}; }
};

struct step_options {
  std::string algorithm = "auto"; ///< one of algorithms()
  std::string tree = "kd";        ///< one of trees(); only for algorithms that use one
  index leaf_size = 40;           ///< most points in a leaf of the tree, >= 1
  index groups = 0;               ///< of centroids, for yinyang; 0 = k / 10
  bool bisector = true;           ///< dualtree: with rules past the paper's (docs/algorithm.md)
  int threads = 0; ///< most at work; 0 = as many as cores are available, and fit(): one if n·k is small
  std::atomic<bool> const* stop = nullptr; ///< polled often; when true, interrupted is thrown
};

/// The names that step_options::algorithm and ::tree may take, aliases aside.
std::span<std::string_view const> algorithms();
std::span<std::string_view const> trees();

/// Whether an algorithm (not an alias) uses a tree on the points; `auto` may.
bool uses_tree(std::string_view algorithm);

/// Resolves aliases (naive = lloyd, dualtree-kd = dualtree over kd) in place; throws usage_error with the
/// list of names for an unknown one, and for a leaf size, number of groups or of threads that cannot be.
/// 0 threads become as many as there are.
void resolve(step_options& options);

/// What there is to tell of a tree, beside its size.
struct tree_report : tree_size {
  /// Of a cover tree alone (tree/cover_tree.hpp).
  struct cover {
    double base;
    index imbalance;
    expansion points; ///< of its points, an estimate
    index build_distances, build_scores;
  };
  std::optional<cover> of_cover;
};

template <class Real> class any_tree; // src/any_tree.hpp
template <class Real> struct tree_access;
template <class Real> class step_maker;

/// A tree on rows, for fits of any k, start, weights and algorithm to share, at the same time if need be.
/// Copies of the handle share it too. It holds its own copy of the rows.
template <class Real> class built_tree {
public:
  built_tree() = default; ///< no tree
  built_tree(std::string name, std::shared_ptr<any_tree<Real> const> tree)
      : name_(std::move(name)), tree_(std::move(tree)) {}
  std::string const& name() const { return name_; } ///< one of trees(), or "" of no tree
  index node_count() const;
  tree_report report() const; ///< all 0 of no tree
  explicit operator bool() const { return tree_ != nullptr; }

private:
  friend class step_maker<Real>;
  friend struct tree_access<Real>; // for the library's own use
  std::string name_;
  std::shared_ptr<any_tree<Real> const> tree_;
};

/// Builds a tree, the same for any number of threads (0: all). Throws error for values that fit() refuses,
/// usage_error for a name that is not one of trees(), or a tree that is not for so many columns.
built_tree<double> build_tree(matrix_view<double> rows, std::string_view name = "kd", index leaf_size = 40,
                              int threads = 0);
built_tree<float> build_tree(matrix_view<float> rows, std::string_view name = "kd", index leaf_size = 40,
                             int threads = 0);

/// Makes steps for one partition. The tree, where the algorithm needs one and none is given, is built at the
/// first make() or by build(), and shared by all steps. One that is given takes the place of options.tree and
/// leaf_size, and must be of the rows of the points (else usage_error).
template <class Real> class step_maker {
public:
  step_maker(point_set<Real> points, sum_layout layout, step_options options, built_tree<Real> tree = {});
  ~step_maker();
  step_maker(step_maker&&) noexcept;
  void build();                        ///< not for `auto`, which builds one when it needs it
  void adopt(built_tree<Real> const&); ///< a tree of these rows that was built for something else: for `auto`
  built_tree<Real> const& tree() const; ///< none before it is built, or if the algorithm uses none
  std::unique_ptr<assignment_step> make(index k);

private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

} // namespace kopse
