// SPDX-License-Identifier: BSD-3-Clause
// line, on data made to break what it goes by: that rows of one owner are neighbours, that the nearest
// centroid is one of two. All that a step says is compared with the oracle after every assignment.
#include "exactness.hpp"

namespace {

using namespace exactness;
using families::start;
using kopse::index;

config const line{.algorithm = "line", .tree = "kd", .leaf_size = 20, .threads = 2, .uses_tree = false};

template <class Real> AssertionResult check(scenario<Real> const& s) { return check_steps(s, line); }

/// Rows and centroids of one column.
scenario<double> of(std::string name, std::vector<double> const& x, std::vector<double> const& c) {
  matrix<double> rows(static_cast<index>(x.size()), 1), start(static_cast<index>(c.size()), 1);
  std::copy(x.begin(), x.end(), rows.row(0));
  std::copy(c.begin(), c.end(), start.row(0));
  return scenario<double>(std::move(name), std::move(rows), std::move(start));
}

/// Visits the centroids in several orders, so that ties go to the left, to the right and to the middle.
void visit_orders(scenario<double>& s, std::uint64_t seed) {
  families::random r(seed);
  matrix<double> c = s.start;
  for (int pass = 0; pass < 12; ++pass) {
    s.visit(c);
    for (index j = 0; j + 1 < c.rows(); ++j) std::swap(c(j, 0), c(j + r.below(c.rows() - j), 0));
  }
}

template <class Real> void every_family() {
  for (std::size_t f = 0; f < families::family_names.size(); ++f)
    for (std::uint64_t seed = 1; seed <= (sanitized ? 5 : 25); ++seed) {
      plan p{.data = static_cast<family>(f),
             .seed = seed,
             .n = static_cast<index>(10 + seed * 23 % 190),
             .k = static_cast<index>(1 + seed * 5 % 10 * (seed % 3 + 1)),
             .d = 1,
             .weights = static_cast<weighting>(seed % 5),
             .start = static_cast<start>(seed % families::start_names.size())};
      p.settings = {40, 0, seed % 2 ? empty_policy::relocate : empty_policy::keep};
      scenario<Real> s(p);
      s.run_oracle();
      ASSERT_TRUE(check(s));
      ASSERT_TRUE(check_fit(s, line));
      if (seed % 5 != 0) continue;
      scenario<Real> free(p);
      wander(free, seed);
      ASSERT_TRUE(check(free));
    }
}
TEST(line, is_exact_in_every_iteration_of_double) { every_family<double>(); }
TEST(line, is_exact_in_every_iteration_of_float) { every_family<float>(); }

TEST(line, decides_at_a_hairs_breadth) {
  for (std::uint64_t seed = 0; seed < (sanitized ? 240 : 2400); seed += 6) { // one column
    ASSERT_TRUE(check(hairline<double>(seed)));
    ASSERT_TRUE(check(hairline<float>(seed)));
  }
}

// From far away some centroids are equally near and others not, in turns: x - 0.4 and x - 0.6 are rounded to
// the same number, or to two.
TEST(line, clusters_need_not_be_intervals) {
  for (double const scale : {0x1p51, 0x1p52, 0x1p53, 0x1p54})
    for (double const sign : {1., -1.}) {
      std::vector<double> x;
      for (int i = -40; i < 40; ++i)
        x.push_back(sign * scale * (1 + i * 0x1p-52)), x.push_back(sign * i * .05);
      scenario<double> s = of("far " + bits(sign * scale), x, {.4, .6, .1, .6, -.3, .45, .55, .5, .5});
      visit_orders(s, 1);
      ASSERT_TRUE(check(s));
    }
}

TEST(line, finds_such_rows_between_centroids_too) {
  // Two groups of centroids, each a few units in the last place wide, and rows everywhere between them.
  families::random r(3);
  for (int turn = 0; turn < (sanitized ? 20 : 200); ++turn) {
    double const left = r.unit() * std::ldexp(1, turn % 60 - 50), right = 1 + r.unit();
    std::vector<double> x, c;
    for (int i = 0; i < 5; ++i) {
      c.push_back(left + static_cast<double>(r.below(9)) * 0x1p-54);
      c.push_back(right + static_cast<double>(r.below(9)) * 0x1p-52);
    }
    for (int i = 0; i < 60; ++i) x.push_back(left + (right - left) * i / 59);
    double const middle = left / 2 + right / 2;
    for (int i = -20; i < 20; ++i) x.push_back(middle + i * 0x1p-53);
    scenario<double> s = of("groups " + std::to_string(turn), x, c);
    visit_orders(s, static_cast<std::uint64_t>(turn));
    ASSERT_TRUE(check(s));
  }
}

TEST(line, squares_that_underflow_are_ties) {
  std::vector<double> x, c;
  for (int i = -30; i <= 30; ++i)
    x.push_back(i * 0x1p-540), x.push_back(i * 1e-300), x.push_back(i * 0x1p-537);
  for (int i = 0; i < 9; ++i) c.push_back((i * 4 % 9 - 4) * 0x1p-538);
  scenario<double> s = of("underflow", x, c);
  visit_orders(s, 5);
  ASSERT_TRUE(check(s));
}

TEST(line, zeros_of_either_sign_are_one_value) {
  scenario<double> s = of("zeros", {0., -0., 1, 0., -0., -1, 2}, {0., -0., 1});
  std::vector<std::vector<double>> const turns{{0., -0., 1}, {-0., 0., -1}, {1., -1., -0.}};
  for (std::vector<double> const& c : turns) {
    matrix<double> m(3, 1);
    std::copy(c.begin(), c.end(), m.row(0));
    s.visit(m);
  }
  ASSERT_TRUE(check(s));
}

TEST(line, numbers_at_the_limits) {
  scenario<double> s =
      of("limits", {-1e150, 1e150, 0, 1e149, -1e149, 5e149, 1e-320}, {-1e150, 1e150, 1e150, 0});
  visit_orders(s, 7);
  ASSERT_TRUE(check(s));
}

/// Work of each assignment of a step that follows the passes.
std::vector<index> distances(scenario<double> const& s, int threads) {
  kopse::sum_layout const layout = kopse::summarise(s.points(), false).layout();
  kopse::options o = line.options();
  o.threads = threads;
  kopse::step_maker<double> maker(s.points(), layout, o);
  auto const step = maker.make(s.start.rows());
  std::vector<index> counts;
  for (record const& p : s.passes) step->assign(p.centroids.view()), counts.push_back(step->work().distances);
  return counts;
}

TEST(line, threads_change_no_bit_and_no_count) {
  plan p{.data = family::clustered, .seed = 2, .n = sanitized ? 20000 : 50000, .k = 600, .d = 1};
  p.weights = weighting::random, p.start = start::far;
  p.settings.max_iter = sanitized ? 2 : 5;
  scenario<double> s(p);
  s.run_oracle();
  for (int const threads : {1, 2, 3, 8}) {
    config c = line;
    c.threads = threads;
    ASSERT_TRUE(check_steps(s, c));
    ASSERT_TRUE(check_fit(s, c));
    EXPECT_EQ(distances(s, threads), distances(s, 1)) << threads << " threads";
  }
}

TEST(line, computes_few_distances_whatever_n) {
  for (index const n : {2000, 20000}) {
    plan const p{.data = family::uniform, .seed = 4, .n = n, .k = 100, .d = 1};
    scenario<double> s(p);
    matrix<double> c = s.start;
    s.visit(c);
    s.visit(c);
    c(7, 0) = std::nextafter(c(7, 0), 1);
    s.visit(c);
    std::vector<index> const counts = distances(s, 1);
    EXPECT_LE(counts[0], 99 * 2 * 10)
        << "ends are guessed by the middle: one step or two, for each of two searches";
    EXPECT_EQ(counts[1], 0) << "nothing has moved";
    EXPECT_GT(counts[2], 0);
    EXPECT_LE(counts[2], 2 * 2 * 10) << "one has, so two ends may have";
  }
}

TEST(line, is_for_one_column) {
  plan const p{.data = family::uniform, .n = 30, .k = 3, .d = 2};
  scenario<double> const s(p);
  try {
    kopse::fit(s.user_points(), 3, line.options());
    ADD_FAILURE() << "two columns were taken";
  } catch (kopse::usage_error const& e) {
    EXPECT_STREQ(e.what(), "algorithm 'line' is for one column, and the data have 2");
  }
}

} // namespace
