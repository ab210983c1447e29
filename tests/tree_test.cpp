// SPDX-License-Identifier: BSD-3-Clause
// Every built-in tree is a space tree on hostile data, of bounded depth, the same for any number of threads;
// and one tree serves many fits.
#include <thread>

#include "exactness.hpp"
#include "halving_tree.hpp"
#include "kopse/dual_tree_step.hpp"
#include "kopse/tree/octree.hpp"

namespace {

using namespace exactness;
using kopse::index;
using kopse::node_id;
using kopse::point_range;

/// Calls f<Tree>(name) for every built-in tree on rows of that type.
template <class Real, class F> void for_each_tree(F const& f) {
  f.template operator()<kopse::kd_tree<Real>>("kd");
  f.template operator()<kopse::kd_median_tree<Real>>("kd-median");
  f.template operator()<kopse::ball_tree<Real>>("ball");
  f.template operator()<kopse::octree<Real>>("octree");
}

/// The depth that all of them promise: 100 + 2·log2 n + 2·d; without the 100 by medians alone.
double depth_limit(std::string const& tree, index n, index d) {
  return (tree == "kd-median" ? 0 : 100) + 2 * std::ceil(std::log2(static_cast<double>(n)))
         + 2 * static_cast<double>(d);
}

template <class Tree> index depth(Tree const& t, node_id q) {
  index below = 0;
  for (node_id const c : t.children(q)) below = std::max(below, 1 + depth(t, c));
  return below;
}

/// A leaf holds no more than leaf_size points unless all are equal, and a node of equal rows is a leaf.
template <class Tree> AssertionResult check_leaves(Tree const& t, index leaf_size) {
  for (node_id q = 0; q < t.node_count(); ++q) {
    point_range const range = t.points(q);
    bool equal = true;
    for (index i = range.first; i < range.last; ++i)
      equal = equal && std::equal(t.point(i), t.point(i) + t.dims(), t.point(range.first));
    bool const leaf = std::ranges::empty(t.children(q));
    if (leaf && !equal && range.size() > leaf_size)
      return AssertionFailure() << "leaf " << q << " has " << range.size() << " points";
    if (!leaf && (equal || range.size() <= leaf_size))
      return AssertionFailure() << "node " << q << " was cut";
  }
  return AssertionSuccess();
}

/// Rows that are not of the data: far away on all sides, between, at the origin.
template <class Real> matrix<double> others(matrix<Real> const& rows) {
  index const d = rows.cols(), n = rows.rows();
  matrix<double> some(6, d);
  for (index j = 0; j < d; ++j) {
    double const a = static_cast<double>(rows(0, j)), b = static_cast<double>(rows(n - 1, j));
    some(1, j) = a;
    some(2, j) = a / 2 + b / 2;
    some(3, j) = std::clamp(3 * b - 2 * a, -1e150, 1e150);
    some(4, j) = std::clamp(3 * a - 2 * b, -1e150, 1e150);
    some(5, j) = j % 2 ? 1e150 : -1e150;
  }
  return some;
}

template <class Real> void check_all(std::string const& what, matrix<Real> const& rows) {
  matrix<double> const away = others(rows);
  for_each_tree<Real>([&]<class Tree>(char const* name) {
    if (std::string_view(name) == "octree" && rows.cols() > 16) return;
    for (index const leaf_size : {1, 5, 20}) {
      SCOPED_TRACE(what + " " + name + " leaf " + std::to_string(leaf_size));
      Tree const t(rows, leaf_size);
      EXPECT_EQ(kopse::check_tree(t, rows.view()), "");
      EXPECT_EQ(kopse::check_tree(t, rows.view(), away), "");
      EXPECT_TRUE(check_leaves(t, leaf_size));
      EXPECT_LE(static_cast<double>(depth(t, t.root())), depth_limit(name, rows.rows(), rows.cols()));
    }
  });
}

template <class Real> void every_family() {
  for (std::size_t f = 0; f < families::family_names.size(); ++f)
    for (index const d : {1, 2, 3, 7, 16, 30})
      for (index const n : {1, 2, 23, sanitized ? 120 : 400})
        check_all(families::family_names[f] + (" " + std::to_string(n) + " x " + std::to_string(d)),
                  families::make_rows<Real>(static_cast<family>(f), n, d, 5));
}
TEST(trees, hold_on_every_family_double) {
  if (thread_sanitized) GTEST_SKIP();
  every_family<double>();
}
TEST(trees, hold_on_every_family_float) {
  if (thread_sanitized) GTEST_SKIP();
  every_family<float>();
}

/// Each row halves the distance of the one before to a corner, until nothing is left but zeros: as deep as
/// data of n rows can be cut in the middle.
template <class Real> matrix<Real> geometric(index n, index d) {
  matrix<Real> rows(n, d);
  for (index i = 0; i < n; ++i)
    rows(i, i % d) =
        static_cast<Real>(std::ldexp(1 + 0.25 * static_cast<double>(i % 3), static_cast<int>(-i / d)));
  return rows;
}

TEST(trees, stay_shallow_on_geometric_data) {
  if (thread_sanitized) GTEST_SKIP();
  for (index const d : {1, 2, 5}) {
    check_all("geometric", geometric<double>((sanitized ? 250 : 1200) * d, d));
    check_all("geometric float", geometric<float>(170 * d, d));
  }
}

TEST(trees, hold_near_the_limits_of_doubles) {
  for (double const scale : {5e-324, 3e-320, 1e-160, 1e149}) {
    families::random r(3);
    matrix<double> rows(300, 3);
    for (index i = 0; i < 900; ++i) rows.row(0)[i] = scale * static_cast<double>(r.below(9) - 4);
    check_all("scale " + std::to_string(std::log10(scale)), rows);
  }
}

TEST(trees, take_equal_rows_as_one) {
  matrix<double> rows(sanitized ? 30007 : 300007, 2);
  for (index i = 0; i < 7; ++i) rows(i * 4001, 0) = static_cast<double>(1 + i), rows(i * 4001, 1) = 0.5;
  for_each_tree<double>([&]<class Tree>(char const* name) {
    Tree const t(rows, 1);
    EXPECT_EQ(kopse::check_tree(t, rows.view()), "") << name;
    EXPECT_LE(t.node_count(), 15) << name;
  });
}

TEST(trees, are_the_same_for_any_number_of_threads) {
  for (family const f : {family::clustered, family::few_distinct, family::spread}) {
    matrix<float> const rows = families::make_rows<float>(
        f, sanitized ? 40000 : 70000, 3, 1); // several pieces of work and blocks to partition
    for_each_tree<float>([&]<class Tree>(char const* name) {
      Tree const one(rows, 10);
      for (int const threads : {2, 3, 8}) {
        if (sanitized && threads != 3) continue;
        Tree const other(rows, 10, threads);
        SCOPED_TRACE(name + std::to_string(threads));
        ASSERT_EQ(one.node_count(), other.node_count());
        for (node_id q = 0; q < one.node_count(); ++q) {
          ASSERT_EQ(one.points(q).first, other.points(q).first);
          ASSERT_EQ(one.points(q).last, other.points(q).last);
          ASSERT_TRUE(std::ranges::equal(one.children(q), other.children(q)));
          ASSERT_EQ(one.extent(q), other.extent(q));
        }
        for (index i = 0; i < rows.rows(); ++i) ASSERT_EQ(one.row(i), other.row(i));
      }
    });
  }
}

/// A tree that offers what the concept asks for and no more.
class plain_tree {
public:
  using real = double;
  using reference = plain_tree;
  plain_tree(matrix_view<double> rows, index leaf_size) : tree_(rows, leaf_size) {}
  index dims() const { return tree_.dims(); }
  index node_count() const { return tree_.node_count(); }
  node_id root() const { return tree_.root(); }
  auto children(node_id q) const { return tree_.children(q); }
  point_range points(node_id q) const { return tree_.points(q); }
  double const* point(index i) const { return tree_.point(i); }
  index row(index i) const { return tree_.row(i); }
  kopse::interval distance(node_id q, plain_tree const& o, node_id r) const {
    return tree_.distance(q, o.tree_, r);
  }
  kopse::interval distance(node_id q, double const* x) const { return tree_.distance(q, x); }
  double lowest(node_id q, double const* w) const { return tree_.lowest(q, w); }
  double extent(node_id q) const { return tree_.extent(q); }

private:
  kopse::kd_tree<double> tree_;
};

TEST(trees, need_no_more_than_the_concept) {
  index by_bisector = 0;
  for (std::size_t f = 0; f < families::family_names.size(); ++f) {
    scenario<double> s({.data = static_cast<family>(f), .seed = 6, .n = 300, .k = 20, .d = 3});
    s.run_oracle();
    auto const tree = std::make_shared<plain_tree const>(s.rows, 4);
    EXPECT_EQ(kopse::check_tree(*tree, s.rows.view(), others(s.rows)), "") << s.name;
    kopse::sum_layout const layout = kopse::summarise(s.points(), false).layout();
    kopse::dual_tree_step<plain_tree> step(tree, s.points(), layout, s.start.rows());
    ASSERT_TRUE(check_step(s, {"dualtree", "plain"}, step, layout));
    step.assign(s.start);
    by_bisector += step.work()[kopse::prune_rule::bisector];
  }
  EXPECT_GT(by_bisector, 0); // by lowest()
}

TEST(check_tree, finds_what_is_wrong) {
  matrix<double> rows = families::make_rows<double>(family::uniform, 50, 2, 1);
  halving_tree const t(rows, 3);
  EXPECT_EQ(kopse::check_tree(t, rows.view()), "");
  rows(17, 1) += 1e-9;
  EXPECT_NE(kopse::check_tree(t, rows.view()).find("not its row"), std::string::npos);
  EXPECT_NE(kopse::check_tree(t, rows.view().slice(0, 49)), "");
}

// ---------------------------------------------------------------- one tree, many fits

AssertionResult same_result(kopse::result const& a, kopse::result const& b) {
  return all({same_labels(a.labels, b.labels), same_matrix(a.centroids.view(), b.centroids.view()),
              same_number("inertia", a.inertia, b.inertia),
              same_count("iterations", a.iterations, b.iterations)});
}

TEST(built_tree, serves_every_k_start_weight_and_algorithm) {
  matrix<float> const rows = families::make_rows<float>(family::clustered, 900, 3, 2);
  std::vector<double> const weights = families::make_weights(weighting::random, 900, 1);
  for (auto const name : kopse::trees()) {
    kopse::built_tree<float> const tree = kopse::build_tree(rows.view(), name, 7, 2);
    EXPECT_EQ(tree.name(), name);
    EXPECT_GT(tree.node_count(), 100);
    for (config const& c : algorithms_and_trees())
      for (index const k : {3, 40}) {
        if (c.tree != name) continue;
        kopse::options o = c.options();
        o.seed = static_cast<std::uint64_t>(k), o.restarts = 2;
        kopse::point_set<float> const points(rows, k == 3 ? std::span<double const>() : std::span(weights));
        kopse::result const shared = kopse::fit(points, k, o, tree);
        EXPECT_TRUE(same_result(shared, kopse::fit(points, k, o))) << exactness::name(c) << " k " << k;
        if (c.algorithm != "auto") { // which may do without
          EXPECT_EQ(shared.tree, c.uses_tree ? name : "");
        }
      }
  }
}

TEST(built_tree, serves_fits_at_the_same_time) {
  matrix<double> const rows = families::make_rows<double>(family::uniform, 2000, 2, 2);
  kopse::built_tree<double> const tree = kopse::build_tree(rows.view());
  std::vector<kopse::result> found(4), expected(4);
  std::vector<std::thread> threads;
  auto const k = [](std::size_t i) { return static_cast<index>(10 + 7 * i); };
  for (std::size_t i = 0; i < found.size(); ++i)
    threads.emplace_back([&, i] { found[i] = kopse::fit(rows.view(), k(i), kopse::options(), tree); });
  for (std::thread& t : threads) t.join();
  for (std::size_t i = 0; i < found.size(); ++i)
    EXPECT_TRUE(same_result(found[i], kopse::fit(rows.view(), k(i)))) << i;
}

TEST(built_tree, refuses_what_cannot_be) {
  matrix<double> const rows = families::make_rows<double>(family::uniform, 100, 2, 2);
  matrix<double> other = rows;
  other(99, 1) += 1;
  kopse::built_tree<double> const tree = kopse::build_tree(rows.view());
  kopse::options const o;
  EXPECT_NO_THROW(kopse::fit(matrix<double>(rows).view(), 3, o, tree)); // equal rows elsewhere
  EXPECT_THROW(kopse::fit(other.view(), 3, o, tree), kopse::usage_error);
  EXPECT_THROW(kopse::fit(rows.view().slice(0, 99), 3, o, tree), kopse::usage_error);
  EXPECT_THROW(kopse::fit(rows.view().columns(0, 1), 3, o, tree), kopse::usage_error);
  EXPECT_THROW(kopse::build_tree(rows.view(), "oak"), kopse::usage_error);
  EXPECT_THROW(kopse::build_tree(rows.view(), "kd", 0), kopse::usage_error);
  EXPECT_THROW(kopse::build_tree(rows.view(), "kd", 20, -1), kopse::usage_error);
  EXPECT_THROW(kopse::build_tree(rows.view().slice(0, 0)), kopse::error);
  other(3, 0) = std::nan("");
  EXPECT_THROW(kopse::build_tree(other.view()), kopse::error);
  EXPECT_FALSE(kopse::built_tree<double>());
  EXPECT_NO_THROW(kopse::fit(rows.view(), 3, o, kopse::built_tree<double>())); // no tree: it builds one
}

TEST(octree, says_how_many_columns_it_takes) {
  matrix<double> const rows = families::make_rows<double>(family::uniform, 40, 17, 2);
  EXPECT_NO_THROW(kopse::build_tree(rows.view().columns(0, 16), "octree"));
  try {
    kopse::build_tree(rows.view(), "octree");
    FAIL();
  } catch (kopse::usage_error const& e) {
    EXPECT_NE(std::string(e.what()).find("17 columns"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("at most 16"), std::string::npos) << e.what();
  }
}

} // namespace
