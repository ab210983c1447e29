// SPDX-License-Identifier: BSD-3-Clause
// Faults that users of k-means tools met only with many rows, many clusters, little memory or a small stack.
#include "cases.hpp"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>

namespace {

using namespace cases;
using kopse::index;

matrix<double> uniform_rows(index n, index d, std::uint64_t seed) {
  return families::make_rows<double>(family::uniform, n, d, seed);
}

index distinct(labels const& all) {
  return static_cast<index>(std::set<label>(all.begin(), all.end()).size());
}

/// Every algorithm and every tree, but not each over each: what goes wrong with many rows goes wrong in one
/// of them, and that pairs are right is tested with fewer.
std::vector<config> some_pairs() {
  auto const trees = kopse::trees();
  index const over_trees = std::ranges::count_if(kopse::algorithms(), kopse::uses_tree);
  std::vector<config> chosen;
  index turn = -1; // of the algorithms over trees
  for (config const& c : algorithms_and_trees()) {
    index const tree = std::ranges::find(trees, c.tree) - trees.begin();
    if (c.uses_tree && tree == 0) ++turn;
    if (tree == 0 || tree % over_trees == turn) chosen.push_back(c);
  }
  return chosen;
}

/// Labels of every step-th row against brute force.
AssertionResult nearest_of_some(matrix<double> const& x, result const& r, index step) {
  for (index i = 0; i < x.rows(); i += step) {
    labels nearest;
    numbers d2;
    oracle::assign(x.view().slice(i, i + 1), r.centroids.view(), nearest, d2);
    if (r.labels[static_cast<std::size_t>(i)] != nearest[0])
      return AssertionFailure() << "row " << i << " has label " << r.labels[static_cast<std::size_t>(i)]
                                << " for " << nearest[0];
  }
  return AssertionSuccess();
}

TEST(cases, H22_more_rows_than_a_float_can_count) {
  index const many = sanitized ? 200000 : 17000000, few = 500;
  matrix<float> x(many + few, 1);
  for (index i = 0; i < many + few; ++i) x(i, 0) = i < many ? 1.0F : 5.0F;
  for (char const* algorithm : {"lloyd", "filter", "dualtree", "frontier", "line"}) {
    config const c{.algorithm = algorithm, .tree = "kd"};
    result const r = kopse::fit(point_set<float>(x.view()), 2, from(c, column({0, 9})));
    EXPECT_EQ(values(r.centroids), (numbers{1, 5})) << name(c);
    EXPECT_EQ(std::count(r.labels.begin(), r.labels.end(), 0), many) << name(c);
    EXPECT_EQ(std::count(r.labels.begin(), r.labels.end(), 1), few) << name(c);
    EXPECT_EQ(r.inertia, 0) << name(c);
  }
}

TEST(cases, H39_products_of_sizes_beyond_32_bits) {
  // n · k · d is 2.25e9.
  index const n = sanitized ? 2000 : 30000, k = sanitized ? 200 : 2500;
  matrix<double> const x = uniform_rows(n, 30, 1);
  for (config const& c : some_pairs()) {
    if (!suits(c, 30)) continue;
    options o = c.options();
    o.init = "random"; // in 30 columns k-means++ computes all n·k distances too
    o.max_iter = 1, o.threads = 2;
    EXPECT_TRUE(nearest_of_some(x, kopse::fit(point_set<double>(x.view()), k, o), n / 1000)) << name(c);
  }
}

/// Not those that compute all n · k distances, at first at least, or keep a table of n · k bounds (and refuse
/// what does not fit: flat_test).
bool for_many_clusters(config const& c) { return c.uses_tree || c.algorithm == "exponion"; }

TEST(cases, H40_more_clusters_than_8_or_16_bits_can_number) {
  matrix<double> x(300, 1);
  for (index i = 0; i < 300; ++i) x(i, 0) = static_cast<double>(i);
  with_all([&](config const& c) {
    result const r = kopse::fit(point_set<double>(x.view()), 300, c.options());
    EXPECT_EQ(distinct(r.labels), 300);
    EXPECT_EQ(r.inertia, 0);
  });
  index const n = sanitized ? 3000 : 70000;
  matrix<double> const many = uniform_rows(n, 2, 2);
  for (config const& c : algorithms_and_trees()) {
    if (!for_many_clusters(c)) continue;
    options o = c.options();
    o.max_iter = 1;
    result const r = kopse::fit(point_set<double>(many.view()), n, o);
    EXPECT_EQ(distinct(r.labels), n) << name(c);
    EXPECT_EQ(r.inertia, 0) << name(c);
  }
}

/// In a process with 2 GB of address space: fits and exits with 0 if rows are at their nearest centroids.
[[noreturn]] void fit_in_little_memory(config const& c, index k) {
  rlimit const two_gigabytes{2000000000, 2000000000};
  if (setrlimit(RLIMIT_AS, &two_gigabytes) != 0) std::_Exit(3);
  matrix<double> const x = uniform_rows(250000, 2, 3);
  options o = c.options();
  o.max_iter = 4; // five passes, with the last assignment
  result const r = kopse::fit(point_set<double>(x.view()), k, o);
  std::_Exit(nearest_of_some(x, r, 1000) ? 0 : 4);
}

TEST(cases, H41_memory_for_rows_and_centroids_but_not_for_their_product) {
  if (sanitized) GTEST_SKIP() << "sanitizers need address space of their own";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (config const& c : some_pairs()) {
    if (!for_many_clusters(c)) continue;
    EXPECT_EXIT(fit_in_little_memory(c, 6000), testing::ExitedWithCode(0), "") << name(c);
    EXPECT_EXIT(fit_in_little_memory(c, 60000), testing::ExitedWithCode(0), "") << name(c);
  }
}

TEST(cases, H32_a_forked_child_fits_on_threads_of_its_own) {
  if (sanitized) GTEST_SKIP() << "sanitizers' own threads do not survive a fork";
  matrix<double> const x = uniform_rows(20000, 3, 4);
  for (config c : algorithms_and_trees()) {
    c.threads = 4;
    options o = c.options();
    o.max_iter = 3;
    result const parent = kopse::fit(point_set<double>(x.view()), 50, o);
    pid_t const child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      alarm(60); // a child that waits for its parent's threads waits for ever
      result const r = kopse::fit(point_set<double>(x.view()), 50, o);
      std::_Exit(r.labels == parent.labels && same(r.inertia, parent.inertia) ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << name(c) << " ended with status " << status;
  }
}

/// Runs f on a thread with a stack of 512 KB (a sanitizer's frames are several times as large).
void with_small_stack(std::function<void()> f) {
  pthread_attr_t attributes;
  pthread_t thread;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, (sanitized ? 8 : 1) * 512 * 1024), 0);
  auto const body = [](void* work) -> void* {
    (*static_cast<std::function<void()>*>(work))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, body, &f), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

TEST(cases, H42_many_equal_rows_on_a_small_stack) {
  index const threes = sanitized ? 20000 : 300000, all = sanitized ? 50000 : 1000000;
  matrix<double> two(threes + 7, 2), one(all, 2);
  for (index i = 0; i < threes + 7; ++i) two(i, 0) = two(i, 1) = i < threes ? 3 : 4;
  for (index i = 0; i < all; ++i) one(i, 0) = one(i, 1) = 7;
  for (config c : algorithms_and_trees()) {
    c.leaf_size = 1;
    with_small_stack([&] {
      for (auto const& start : {rows({{3, 3}, {4, 4}}), rows({{3, 3}, {3, 3}})}) {
        result const r = kopse::fit(point_set<double>(two.view()), 2, from(c, start));
        EXPECT_EQ(r.inertia, 0) << name(c);
        EXPECT_EQ(std::count(r.labels.begin(), r.labels.end(), 1), 7) << name(c);
      }
      result const r = kopse::fit(point_set<double>(one.view()), 1, c.options());
      EXPECT_EQ(values(r.centroids), (numbers{7, 7})) << name(c);
      EXPECT_EQ(r.inertia, 0) << name(c);
    });
  }
}

TEST(cases, H42_a_deep_tree_on_a_small_stack) {
  // Each row twice as far as the one before: trees that cut at the middle of the box lose one row a level.
  matrix<double> x(900, 1);
  for (index i = 0; i < 900; ++i) x(i, 0) = std::ldexp(1, static_cast<int>(i) - 450);
  scenario<double> s("H42 deep", x, first_rows(x, 9), {.max_iter = 20});
  s.run_oracle();
  for (config c : algorithms_and_trees()) {
    c.leaf_size = 1;
    with_small_stack([&] {
      EXPECT_TRUE(check_fit(s, c));
      EXPECT_TRUE(check_steps(s, c));
    });
  }
}

} // namespace
