// SPDX-License-Identifier: BSD-3-Clause
// What `auto` (auto.cpp) needs of whoever makes it: a tree that is built when it is first asked for.
#pragma once

#include <functional>
#include <memory>
#include <mutex>

#include "any_tree.hpp"

namespace kopse {

/// The tree of a step_maker and of all steps it made.
template <class Real> class tree_source {
public:
  /// `tree` may be none; then build() makes it.
  tree_source(built_tree<Real> tree, std::function<built_tree<Real>()> build)
      : tree_(std::move(tree)), build_(std::move(build)) {}

  /// Builds it if need be.
  built_tree<Real> const& get() {
    std::lock_guard const lock(guard_);
    if (!tree_) tree_ = build_();
    return tree_;
  }
  /// What there is; it must not be built at the same time.
  built_tree<Real> const& now() const { return tree_; }
  /// Takes a tree of the same rows that others built, if there is none yet.
  void adopt(built_tree<Real> const& tree) {
    std::lock_guard const lock(guard_);
    if (!tree_) tree_ = tree;
  }

private:
  std::mutex guard_;
  built_tree<Real> tree_;
  std::function<built_tree<Real>()> build_;
};

/// A step that chooses among the algorithms, and again while it runs.
template <class Real>
std::unique_ptr<assignment_step> make_auto(point_set<Real> points, sum_layout const& layout, index k,
                                           step_options const& options,
                                           std::shared_ptr<tree_source<Real>> tree);

} // namespace kopse
