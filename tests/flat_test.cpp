// SPDX-License-Identifier: BSD-3-Clause
// What the algorithms with bounds on points promise beyond exactness_test: that their bounds prune, that they
// hold whatever moves centroids, and that they ask for memory before they take it.
#include <sys/resource.h>

#include "exactness.hpp"
#include "lower_table.hpp"
#include "memory.hpp"

namespace {

using namespace exactness;
using families::start;
using kopse::index;
using kopse::prune_rule;
using kopse::work_counters;

constexpr char const* algorithms[] = {"hamerly", "elkan", "yinyang", "exponion", "dense"};

template <class Real>
std::unique_ptr<kopse::assignment_step> make(scenario<Real> const& s, kopse::options o) {
  kopse::step_maker<Real> maker(s.points(), kopse::summarise(s.points(), false).layout(), std::move(o));
  return maker.make(s.start.rows());
}
kopse::options options(std::string const& algorithm, index groups = 0, int threads = 1) {
  kopse::options o;
  o.algorithm = algorithm, o.groups = groups, o.threads = threads;
  return o;
}

/// Work of each iteration.
template <class Real> std::vector<work_counters> work_of(scenario<Real> const& s, kopse::options const& o) {
  std::vector<work_counters> all;
  auto const step = make(s, o);
  for (record const& p : s.passes) {
    step->assign(p.centroids.view());
    all.push_back(step->work());
  }
  return all;
}
work_counters sum(std::vector<work_counters> const& all) {
  work_counters total;
  for (work_counters const& one : all) total += one;
  return total;
}

scenario<double> clustered(index n, index k, index d, index max_iter = 30) {
  plan p{.data = family::clustered, .seed = 6, .n = n, .k = k, .d = d};
  p.settings.max_iter = max_iter;
  scenario<double> s(p);
  s.run_oracle();
  return s;
}

// ---------------------------------------------------------------- pruning

TEST(bounds, save_distances_by_the_rules_of_each_algorithm) {
  if (thread_sanitized) GTEST_SKIP();
  struct expectation {
    char const* algorithm;
    index d, share; ///< distances are fewer than n·k·iterations / share
    std::vector<prune_rule> rules;
  };
  std::vector<expectation> const all = {
      {"hamerly", 2, 3, {prune_rule::point_bounds, prune_rule::point_gap}},
      {"elkan", 2, 4, {prune_rule::point_gap, prune_rule::centroid}},
      {"elkan", 20, 4, {prune_rule::point_gap, prune_rule::centroid}},
      {"yinyang", 2, 4, {prune_rule::point_bounds, prune_rule::group}},
      {"yinyang", 20, 4, {prune_rule::point_bounds, prune_rule::group, prune_rule::centroid}},
      {"exponion", 2, 6, {prune_rule::point_bounds, prune_rule::point_gap, prune_rule::centroid}},
      {"dense", 2, 2, {prune_rule::point_bounds, prune_rule::group}},
      {"dense", 20, 2, {prune_rule::point_bounds, prune_rule::group}}};
  index const n = sanitized ? 1200 : 4000;
  scenario<double> const flat = clustered(n, 40, 2), deep = clustered(n, 40, 20);
  for (expectation const& e : all) {
    scenario<double> const& s = e.d == 2 ? flat : deep;
    work_counters work = sum(work_of(s, options(e.algorithm)));
    EXPECT_LT(work.distances, n * 40 * s.expected.iterations / e.share) << e.algorithm << " d " << e.d;
    for (prune_rule const rule : e.rules) EXPECT_GT(work[rule], 0) << e.algorithm << ' ' << name(rule);
  }
}

TEST(bounds, settle_every_point_when_nothing_moves) {
  scenario<double> s = clustered(3000, 30, 3, 1);
  for (char const* algorithm : algorithms) {
    auto const step = make(s, options(algorithm));
    step->assign(s.start.view());
    step->assign(s.start.view());
    kopse::cluster_sums const change = step->assign(s.start.view());
    EXPECT_EQ(change.labels_changed, 0);
    // Between centroids, and for points as near to a second centroid as rounding can tell.
    EXPECT_LE(step->work().distances, algorithm == std::string("dense") ? 2000 : 30 * 30 + 100) << algorithm;
  }
}

TEST(exponion, is_not_brute_force_from_the_first_iteration_on) {
  plan p{.data = family::uniform, .seed = 2, .n = 20000, .k = 500, .d = 2};
  p.settings.max_iter = 3;
  scenario<double> s(p);
  s.run_oracle();
  for (work_counters const& work : work_of(s, options("exponion")))
    EXPECT_LT(work.distances, 20000 * 500 / 10);
}

TEST(exponion, needs_no_square_of_k) {
  plan p{.data = family::uniform, .seed = 3, .n = 3000, .k = 2000, .d = 2};
  p.settings.max_iter = 3;
  scenario<double> s(p);
  s.run_oracle();
  for (char const* algorithm : {"exponion", "hamerly"}) {
    auto const work = work_of(s, options(algorithm));
    index const searches =
        algorithm == std::string("hamerly") ? 3000 * 2000 : 0; // each a scan, from this start
    EXPECT_LT(work[1].distances - searches, 2000 * 2000 / 4) << algorithm;
  }
}

TEST(exponion, gives_far_points_to_the_tree) {
  // One point of each cluster is far from all: lists for the others must not reach out to it.
  matrix<double> rows(4000, 2), centroids(1000, 2);
  families::random r(1);
  for (index i = 0; i < 4000; ++i)
    for (index j = 0; j < 2; ++j) rows(i, j) = r.unit() * (i % 50 == 0 ? 1000 : 1);
  for (index c = 0; c < 1000; ++c)
    for (index j = 0; j < 2; ++j) centroids(c, j) = r.unit();
  scenario<double> s("far points", rows, centroids, {.max_iter = 4});
  s.run_oracle();
  auto const work = work_of(s, options("exponion"));
  for (work_counters const& one : work) EXPECT_LT(one.distances, 4000 * 1000 / 8);
  EXPECT_TRUE(check_steps(s, {"exponion", "kd"}));
}

// ---------------------------------------------------------------- groups

TEST(yinyang, is_right_with_any_number_of_groups) {
  for (index const d : {2, 12}) {
    scenario<double> const s = clustered(400, 25, d);
    kopse::sum_layout const layout = kopse::summarise(s.points(), false).layout();
    for (index const groups : {0, 1, 2, 7, 24, 25, 26, 1000}) {
      auto const step = make(s, options("yinyang", groups));
      EXPECT_TRUE(check_step(s, {"yinyang", "kd"}, *step, layout)) << groups << " groups";
    }
  }
}

TEST(yinyang, filters_by_the_number_of_groups) {
  scenario<double> const s = clustered(3000, 60, 3);
  auto const groups_passed = [&](index groups) {
    return sum(work_of(s, options("yinyang", groups)))[prune_rule::group];
  };
  EXPECT_EQ(groups_passed(1), 0); // a point's only group is searched, or the point is settled
  EXPECT_EQ(groups_passed(0), groups_passed(6));
  EXPECT_GT(groups_passed(30), groups_passed(6));
}

TEST(yinyang, refuses_a_number_of_groups_that_cannot_be) {
  kopse::options o = options("yinyang", -1);
  EXPECT_THROW(kopse::resolve(o), kopse::usage_error);
}

// ---------------------------------------------------------------- k = 1

TEST(one_cluster, costs_nothing_after_the_first_assignment) {
  plan p{.data = family::outlier, .seed = 5, .n = 500, .k = 1, .d = 3};
  scenario<double> s(p);
  s.run_oracle();
  for (char const* algorithm : algorithms) {
    ASSERT_TRUE(check_steps(s, {algorithm, "kd"}));
    auto const step = make(s, options(algorithm));
    step->assign(s.start.view());
    EXPECT_LE(step->work().distances, 2 * 500 + 10) << algorithm;
    step->assign(s.rows.view().slice(7, 8));
    EXPECT_EQ(step->work().distances, 0) << algorithm;
  }
}

// ---------------------------------------------------------------- any movement

/// The centroids of the next step: jumps of all scales, of all or of one, onto each other and back.
matrix<double> jump(matrix<double> c, matrix<double> const& home, families::random& r, int step) {
  index const k = c.rows(), d = c.cols(), j = r.below(k);
  double const scale = std::ldexp(1.0, static_cast<int>(r.below(60)) - 40);
  switch (step % 10) {
  case 0: // all, by little or much
  case 1:
    for (index i = 0; i < k * d; ++i) c.row(0)[i] += scale * (r.unit() - 0.5);
    return c;
  case 2: // one goes away
    for (index i = 0; i < d; ++i) c(j, i) += 1e9 * (r.unit() - 0.5);
    return c;
  case 3: // onto another
    std::copy_n(c.row(r.below(k)), d, c.row(j));
    return c;
  case 4: // two change places
    std::swap_ranges(c.row(j), c.row(j) + d, c.row(r.below(k)));
    return c;
  case 5: // by one unit in the last place
    for (index i = 0; i < k; ++i) c(i, 0) = std::nextafter(c(i, 0), r.one_in(2) ? 1e300 : -1e300);
    return c;
  case 6: // back home, but for one
    c = home;
    std::copy_n(home.row(r.below(k)), d, c.row(j));
    return c;
  case 7: // all at one place
    if (r.one_in(2))
      for (index i = 0; i < k; ++i) std::copy_n(home.row(j), d, c.row(i));
    return c;
  default: // small steps, which bounds live on
    for (index i = 0; i < k * d; ++i) c.row(0)[i] += 1e-3 * (home.row(0)[i] - c.row(0)[i]);
    return c;
  }
}

template <class Real> void expect_right_after_jumps(plan const& p) {
  scenario<Real> s(p);
  families::random r(p.seed);
  matrix<double> const home = s.start;
  for (int step = 0; step < 50; ++step) {
    s.start = jump(s.start, home, r, step);
    s.visit(s.start);
  }
  for (char const* algorithm : algorithms)
    for (int threads = sanitized ? 3 : 1; threads <= 3; ++threads)
      ASSERT_TRUE(check_steps(s, {algorithm, "kd", 20, threads}));
}

TEST(any_movement, in_fifty_jumps) {
  for (std::uint64_t seed = 1; seed <= (thread_sanitized ? 0 : sanitized ? 1 : 4); ++seed)
    for (index const d : {1, 3, 10})
      for (family const data : {family::clustered, family::lattice, family::uniform}) {
        plan const p{.data = data, .seed = seed, .n = sanitized ? 70 : 120, .k = 30, .d = d};
        expect_right_after_jumps<double>(p);
        expect_right_after_jumps<float>(p);
      }
  // More than a block of points.
  expect_right_after_jumps<float>({.data = family::clustered, .seed = 9, .n = 2500, .k = 12, .d = 2});
}

TEST(any_movement, leaves_bounds_that_prune) {
  // A centroid goes far away and comes back; then all is still. Bounds drowned in its way would settle
  // nothing.
  scenario<double> s = clustered(2000, 20, 8, 1);
  matrix<double> away = s.start, near = s.start;
  away(3, 0) += 1e9;
  for (char const* algorithm : algorithms) {
    auto const step = make(s, options(algorithm));
    for (matrix<double> const* c : {&s.start, &away, &s.start}) step->assign(c->view());
    for (int i = 0; i < 6; ++i) {
      near(5, 1) += 1e-9;
      step->assign(near.view());
    }
    EXPECT_LE(step->work().distances, 20 * 20 + 100) << algorithm;
  }
}

// ---------------------------------------------------------------- tables of bounds

TEST(floats, are_rounded_outward) {
  families::random r(1);
  for (int i = 0; i < 100000; ++i) {
    double const x = families::of_exponent(r, r.below(400) - 200);
    ASSERT_LE(static_cast<double>(kopse::float_down(x)), std::max(x, -1e38));
    ASSERT_GE(static_cast<double>(kopse::float_up(std::abs(x))), std::abs(x));
    if (std::abs(x) > 1e-37 && std::abs(x) < 1e37) {
      ASSERT_NEAR(kopse::float_down(x), x, std::abs(x) * 0x1p-22);
      ASSERT_NEAR(kopse::float_up(std::abs(x)), std::abs(x), std::abs(x) * 0x1p-22);
    }
  }
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr float largest = std::numeric_limits<float>::max();
  for (double const x : {infinity, 1e200, static_cast<double>(largest)}) {
    EXPECT_LE(kopse::float_down(x), largest);
    EXPECT_GT(kopse::float_down(x), 0.999F * largest);
  }
  EXPECT_TRUE(std::isinf(kopse::float_up(largest)));
  EXPECT_LE(kopse::float_down(0), 0);
  EXPECT_GE(kopse::float_up(0), 0);
  EXPECT_GT(kopse::float_up(1e-300), 0);
}

TEST(lower_bounds, stay_below_and_close_under_any_movement) {
  kopse::slack const rounding(3);
  families::random r(2);
  kopse::lower_table table(3, 2, rounding);
  long double truth[3][2] = {}; // what a bound may be at most
  long double error[2] = {};    // how much less it may be: 2^-21 of what its meter read
  for (int step = 0; step < 3000; ++step) {
    double const scale = std::ldexp(1.0, static_cast<int>(r.below(30)) - 15);
    double const moved[2] = {scale * r.unit(), r.one_in(3) ? 0.0 : scale * r.unit()};
    table.set_back(std::max(moved[0], moved[1]), 1);
    for (index j = 0; j < 2; ++j) {
      table.advance(j, moved[j]);
      error[j] += 1e-6L * table.meters()[j];
      for (auto& row : truth) row[j] -= moved[j];
    }
    index const i = r.below(3), j = r.below(2);
    double const lower = 4 * scale * r.unit();
    if (r.one_in(4)) {
      table.set(i, j, lower);
      truth[i][j] = lower;
    } else if (r.one_in(2)) {
      table.lower(i, j, lower);
      truth[i][j] = std::min(truth[i][j], static_cast<long double>(lower));
    }
    for (index a = 0; a < 3; ++a)
      for (index b = 0; b < 2; ++b) {
        auto const meter = table.travelled()[static_cast<std::size_t>(b)];
        // Never above; and a limit above which it stands is below the truth.
        if (truth[a][b] > 0) {
          ASSERT_LE(table.bound(a, b, meter), truth[a][b]);
        }
        double const upper = 3 * scale * r.unit();
        if (table.row(a)[b] - table.meters()[b] > kopse::lower_limit(upper, rounding)) {
          ASSERT_TRUE(rounding.nearer(upper, static_cast<double>(truth[a][b])));
        }
      }
  }
}

// ---------------------------------------------------------------- memory

std::string message(std::function<void()> const& f) {
  try {
    f();
  } catch (kopse::error const& e) {
    return e.what();
  }
  return "";
}

TEST(memory, is_refused_with_both_numbers) {
  EXPECT_EQ(message([] { kopse::require_memory("a table", 4000, 4000); }), "");
  EXPECT_EQ(message([] { kopse::require_memory("a table", 12884901888, 1073741824); }),
            "a table needs 12884901888 bytes (12 GiB) of memory, 1073741824 bytes (1 GiB) are available");
}

TEST(memory, there_is_some) {
  EXPECT_GT(kopse::available_memory(), 1e6);
  EXPECT_LT(kopse::available_memory(), 1e15);
}

TEST(memory, is_no_more_than_the_limit_on_the_address_space_leaves) {
  rlimit old{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &old), 0);
  rlimit limited = old;
  limited.rlim_cur = rlim_t{1} << 47; // sanitizers reserve terabytes
  double const before = kopse::available_memory();
  ASSERT_EQ(setrlimit(RLIMIT_AS, &limited), 0);
  double const after = kopse::available_memory();
  setrlimit(RLIMIT_AS, &old);
  EXPECT_LT(after, 0x1p47);
  EXPECT_NEAR(after, before, 0.5 * before);
}

TEST(memory, is_asked_for_before_a_run_begins) {
  index const n = 1000000; // elkan: 8 TB
  matrix<double> const rows(n, 1);
  kopse::point_set<double> const points(rows.view());
  kopse::sum_layout const layout = kopse::summarise(points, false).layout();
  auto const refusal = [&](kopse::options const& o) {
    return message([&] { kopse::step_maker<double>(points, layout, o).make(n); });
  };
  std::string const elkan = refusal(options("elkan")), yinyang = refusal(options("yinyang", n));
  EXPECT_NE(elkan.find("elkan needs 8000008000000 bytes"), std::string::npos) << elkan;
  EXPECT_NE(yinyang.find("yinyang with 1000000 groups needs 4000008000000 bytes"), std::string::npos)
      << yinyang;
  EXPECT_EQ(refusal(options("hamerly")), "");
  EXPECT_EQ(refusal(options("exponion")), "");
}

} // namespace
