// SPDX-License-Identifier: BSD-3-Clause
// What exactness_test, partitions_test, the fuzzer and others share: a scenario with all that the oracle
// knows of it, the configurations to run it with, and comparisons whose message names the first bit that
// differs.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <memory>
#include <string>
#include <type_traits>

#include "families.hpp"
#include "kopse/parallel.hpp"
#include "oracle.hpp"
#include "sanitized.hpp"

namespace exactness {

using families::family;
using families::weighting;
using kopse::empty_policy;
using kopse::index;
using kopse::label;
using kopse::matrix;
using kopse::matrix_view;
using testing::AssertionFailure;
using testing::AssertionResult;
using testing::AssertionSuccess;

inline bool same(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

std::string bits(double x);

/// One way to compute the same.
struct config {
  std::string algorithm, tree;
  index leaf_size = 20;
  int threads = 1;
  bool uses_tree = true;
  kopse::options options() const {
    kopse::options o;
    o.algorithm = algorithm, o.tree = tree, o.leaf_size = leaf_size, o.threads = threads;
    return o;
  }
};
std::string name(config const& c);

inline constexpr std::array<index, 5> leaf_sizes{1, 2, 7, 20, 1000};
inline constexpr std::array<int, 4> thread_counts{1, 2, 3, 8};

/// Every algorithm that is for any number of columns, over every tree if it uses one.
std::vector<config> const& algorithms_and_trees();

/// Which algorithms besides: those for one column as well, where check_steps() and check_fit() leave out what
/// is not for the data.
enum class columns { any, of_the_data };

/// Every leaf size too, over the first tree; over the others they take turns, as thread counts do, and come
/// round with `turn`.
std::vector<config> configs(std::size_t turn, columns d = columns::any);

/// Is it for so many columns? (An octree is for 16 at most, line for one.)
inline bool suits(config const& c, index d) {
  return (c.tree != "octree" || d <= 16) && (c.algorithm != "line" || d == 1);
}

/// One leaf size for each, by turn.
std::vector<config> few_configs(std::size_t turn, columns d = columns::any);

/// What to make a scenario of.
struct plan {
  family data = family::uniform;
  std::uint64_t seed = 1;
  index n = 100, k = 8, d = 2;
  weighting weights = weighting::none;
  families::start start = families::start::rows;
  oracle::settings settings{};
};

/// A pass of the oracle with the inertias of its labels.
struct record : oracle::pass {
  double inertia = 0;       ///< about the centroids of the pass
  double inertia_moved = 0; ///< about the centroids after the move
  double inertia_one = 0;   ///< of all rows about the first centroid
  explicit record(oracle::pass p) : oracle::pass(std::move(p)) {}
};

template <class Real> struct scenario {
  std::string name;
  matrix<Real> rows;
  std::vector<double> weights; ///< the user's
  std::vector<double> scaled;  ///< one a row, the largest in [1, 2)
  matrix<double> start;
  oracle::settings settings;
  oracle::run expected;
  std::vector<record> passes;

  explicit scenario(plan const& p);
  /// Of given rows.
  scenario(std::string n, matrix<Real> x, matrix<double> c, oracle::settings const& o = {},
           std::vector<double> w = {});

  kopse::point_set<Real> user_points() const { return {rows.view(), weights}; }
  /// As fit() gives them to a step.
  kopse::point_set<Real> points() const {
    return {rows.view(), weights.empty() ? std::span<double const>() : std::span<double const>(scaled)};
  }

  void run_oracle();
  /// Centroids that anybody may choose, in place of those of Lloyd's iterations.
  void visit(matrix<double> const& centroids);

private:
  void add(oracle::pass const& p);
};

// ---------------------------------------------------------------- comparisons

AssertionResult same_labels(std::span<label const> got, std::span<label const> expected);
AssertionResult same_number(char const* what, double got, double expected);
AssertionResult same_count(char const* what, index got, index expected);
AssertionResult same_matrix(matrix_view<double> got, matrix_view<double> expected);
AssertionResult same_sums(kopse::exact_sums const& sums, oracle::pass const& p);
template <class Real>
AssertionResult same_farthest(kopse::assignment_step const& step, index count, scenario<Real> const& s,
                              record const& p, index offset = 0);

/// The first of several results that failed.
AssertionResult all(std::initializer_list<AssertionResult> results);

// ---------------------------------------------------------------- scenarios

/// Centroids as a caller may move them, whom no iteration of Lloyd's binds.
template <class Real> void wander(scenario<Real>& s, std::uint64_t seed);

/// Rows within a few units in the last place of the middle between two centroids, which then move by as
/// little: here bounds differ from the computed distances by rounding alone.
template <class Real> scenario<Real> hairline(std::uint64_t seed);

// ---------------------------------------------------------------- the two checks

/// Feeds the centroids of every pass to one step and compares all that a step can say, after each.
template <class Real>
AssertionResult check_step(scenario<Real> const& s, config const& c, kopse::assignment_step& step,
                           kopse::sum_layout const& layout);
/// The same with a step of that configuration.
template <class Real> AssertionResult check_steps(scenario<Real> const& s, config const& c);

/// A whole run through the front door.
template <class Real> AssertionResult check_fit(scenario<Real> const& s, config const& c);

} // namespace exactness
