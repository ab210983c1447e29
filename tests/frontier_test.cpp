// SPDX-License-Identifier: BSD-3-Clause
// frontier with leases from the second assignment on, whatever they are good for: each of its rules on data
// made to break it, and all that a step says compared with the oracle after every assignment.
#include "frontier.hpp"

#include "any_tree.hpp"
#include "exactness.hpp"
#include "halving_tree.hpp"
#include "kopse/tree/binary_tree.hpp"
#include "kopse/tree/cover_tree.hpp"
#include "kopse/tree/octree.hpp"

namespace {

using namespace exactness;
using families::start;
using kopse::frontier_step;
using kopse::index;

template <class Tree>
std::shared_ptr<Tree const> build(matrix_view<typename Tree::real> rows, index leaf_size) {
  return std::make_shared<Tree const>(rows, leaf_size);
}

/// Leases always. The library has compiled it for its own trees.
template <class Tree>
std::unique_ptr<kopse::assignment_step>
make(std::shared_ptr<Tree const> tree, kopse::point_set<typename Tree::real> const& points,
     kopse::sum_layout const& layout, index k, kopse::options const& o = {}) {
  if constexpr (std::is_same_v<Tree, halving_tree>)
    return std::make_unique<frontier_step<Tree>>(tree, points, layout, k, o,
                                                 frontier_step<Tree>::walks::always);
  else
    return kopse::make_frontier_always(tree, points, layout, k, o);
}

/// Over one tree.
template <class Tree>
AssertionResult check(scenario<typename Tree::real> const& s, index leaf_size, int threads = 1) {
  kopse::sum_layout const layout = kopse::summarise(s.points(), false).layout();
  kopse::options o;
  o.threads = threads;
  auto const step = make(build<Tree>(s.rows.view(), leaf_size), s.points(), layout, s.start.rows(), o);
  config c{"frontier, always,", typeid(Tree).name()};
  c.leaf_size = leaf_size, c.threads = threads;
  return check_step(s, c, *step, layout);
}

/// Over trees of boxes, balls and nets, and one of a user's that has no bisector test of its own.
template <class Real> AssertionResult check_all(scenario<Real> const& s, index leaf_size) {
  auto r = all({check<kopse::kd_tree<Real>>(s, leaf_size, 1 + static_cast<int>(leaf_size) % 3),
                check<kopse::ball_tree<Real>>(s, leaf_size), check<kopse::cover_tree<Real>>(s, leaf_size)});
  if (r && s.rows.cols() <= 16) r = check<kopse::octree<Real>>(s, leaf_size);
  if constexpr (std::is_same_v<Real, double>)
    if (r) r = check<halving_tree>(s, leaf_size);
  return r;
}

scenario<double> of(family data, std::uint64_t seed, index n, index k, index d) {
  return scenario<double>(plan{data, seed, n, k, d, weighting::none, start::rows});
}

TEST(frontier, is_exact_in_every_iteration_of_lloyd) {
  for (std::size_t f = 0; f < families::family_names.size(); ++f)
    for (std::uint64_t seed = 1; seed <= (sanitized ? 1 : 6); ++seed) {
      plan p{static_cast<family>(f),
             seed,
             sanitized ? 150 : 400,
             static_cast<index>(4 + 17 * seed),
             static_cast<index>(1 + seed % 4),
             static_cast<weighting>(seed % 3),
             static_cast<start>(seed % families::start_names.size())};
      p.settings = {40, 0, seed % 2 ? empty_policy::relocate : empty_policy::keep};
      scenario<double> s(p);
      s.run_oracle();
      ASSERT_TRUE(check_all(s, 1 + static_cast<index>(seed * 3) % 20));
      scenario<float> t(p);
      t.run_oracle();
      ASSERT_TRUE(check_all(t, 7));
    }
}

TEST(frontier, follows_centroids_wherever_they_are_moved) {
  for (std::size_t f = 0; f < families::family_names.size(); ++f)
    for (std::uint64_t seed = 1; seed <= (sanitized ? 1 : 3); ++seed) {
      scenario<double> s = of(static_cast<family>(f), seed, 90, 9, static_cast<index>(seed));
      wander(s, seed);
      ASSERT_TRUE(check_all(s, 4));
    }
}

TEST(frontier, gives_no_lease_across_a_tie) {
  if (thread_sanitized) GTEST_SKIP(); // one thread
  for (std::uint64_t seed = 0; seed < (sanitized ? 16 : 240); ++seed) {
    ASSERT_TRUE(check<kopse::kd_tree<double>>(hairline<double>(seed), 1 + static_cast<index>(seed) % 9));
    ASSERT_TRUE(check<kopse::ball_tree<float>>(hairline<float>(seed), 1 + static_cast<index>(seed) % 9));
  }
}

/// All centroids creep, and in each pass a few leap: into the midst of others, which have them on no list and
/// within no reach, out of it, or far away and back.
/// If `creepers` are given, in most passes only that many creep, and one more walks towards some row.
scenario<double> leaps(family data, std::uint64_t seed, index n, index k, index d, int passes, double creep,
                       index creepers = 0) {
  scenario<double> s = of(data, seed, n, k, d);
  families::random r(seed);
  matrix<double> c = s.start;
  double scale = 0;
  index goal = 0;
  for (index i = 0; i < n; ++i)
    for (index j = 0; j < d; ++j) scale = std::max(scale, std::abs(s.rows(i, j) - s.rows(0, j)));
  for (int pass = 0; pass < passes; ++pass) {
    s.visit(c);
    bool const all = creepers == 0 || r.one_in(12);
    if (r.one_in(10)) goal = r.below(n);
    for (index j = 0; j < d && !all; ++j) c(0, j) += (s.rows(goal, j) - c(0, j)) * 0.15;
    index const first = all ? 0 : r.below(k - creepers + 1), last = all ? k : first + creepers;
    for (index i = first * d; i < last * d; ++i) c.row(0)[i] += (r.unit() - 0.5) * creep * scale;
    for (index leap = r.below(3); leap > 0; --leap) {
      index const i = r.below(k), to = r.below(n);
      for (index j = 0; j < d; ++j) c(i, j) = s.rows(to, j) + (r.unit() - 0.5) * 0.01 * scale;
      if (r.one_in(10)) c(i, 0) += 1e4 * scale;
    }
  }
  return s;
}

TEST(frontier, charges_for_what_leaps_into_reach) {
  if (thread_sanitized) GTEST_SKIP(); // one thread
  for (std::uint64_t seed = 1; seed <= (sanitized ? 4 : 40); ++seed)
    for (family const data : {family::uniform, family::clustered, family::outlier, family::spread}) {
      scenario<double> const s = leaps(data, seed, 150, static_cast<index>(10 + seed),
                                       static_cast<index>(1 + seed % 3), 25, seed % 2 ? 1e-3 : 1e-5);
      ASSERT_TRUE(check<kopse::kd_tree<double>>(s, 1 + static_cast<index>(seed) % 9));
      ASSERT_TRUE(check<kopse::ball_tree<double>>(s, 5));
    }
}

// So many points a cluster that they share lists of the centroids around it, which grow old while some leap
// into their midst.
TEST(frontier, trusts_no_list_beyond_its_promise) {
  if (thread_sanitized) GTEST_SKIP(); // one thread
  for (std::uint64_t seed = 1; seed <= (sanitized ? 1 : 6); ++seed)
    for (double const creep : {1e-3, 1e-2}) {
      index const d = 1 + static_cast<index>(seed % 4);
      scenario<double> const s = leaps(seed % 2 ? family::uniform : family::clustered, seed,
                                       sanitized ? 1000 : 4000, 60 + 50 * d, d, 15, creep);
      ASSERT_TRUE(check<kopse::kd_tree<double>>(s, 1 + static_cast<index>(seed) * 4));
    }
}

// A list has no room for all that is within reach: three are near, a hundred on one side fill it, and a few
// on the other, somewhat farther, march in.
TEST(frontier, knows_how_far_a_full_list_goes) {
  if (thread_sanitized) GTEST_SKIP(); // one thread
  for (std::uint64_t seed = 1; seed <= (sanitized ? 1 : 6); ++seed) {
    families::random r(seed);
    matrix<double> x(sanitized ? 600 : 2000, 2), c(116, 2);
    auto const put = [&](double* at, double radius, double degrees) {
      at[0] = radius * std::cos(degrees / 57.29577951), at[1] = radius * std::sin(degrees / 57.29577951);
    };
    for (index i = 0; i < x.rows(); ++i) put(x.row(i), 3 * r.unit(), 360 * r.unit());
    for (index i = 1; i < 4; ++i) put(c.row(i), 1, std::array{70, 290, 180}[static_cast<std::size_t>(i - 1)]);
    for (index i = 4; i < 104; ++i) put(c.row(i), 2 + 0.05 * r.unit(), 110 + 140 * r.unit());
    for (index i = 104; i < 116; ++i) put(c.row(i), 2.5 + 0.1 * r.unit(), 50 * r.unit() - 25);
    scenario<double> s("ring " + std::to_string(seed), std::move(x), c);
    for (int pass = 0; pass < 40; ++pass) {
      s.visit(c);
      for (index i = 0; i < 232 && pass < 10; ++i) c.row(0)[i] += (r.unit() - 0.5) * 0.05;
      for (index i = 104; i < 116 && pass >= 10; ++i) c(i, 0) -= 0.05;
    }
    ASSERT_TRUE(check<kopse::kd_tree<double>>(s, 6));
  }
}

// Not leases always: centroids creep, so that they pay, all leap, creep elsewhere, and so on.
TEST(frontier, starts_anew_where_centroids_come_to_rest) {
  for (std::uint64_t seed = 1; seed <= (sanitized ? 1 : 3); ++seed) {
    scenario<double> s = of(family::uniform, seed, sanitized ? 3000 : 9000, 40, 2);
    families::random r(seed);
    matrix<double> c = s.start;
    for (int pass = 0; pass < 160; ++pass) {
      s.visit(c);
      double const by = pass % 40 == 39 ? 0.3 : 1e-4;
      for (index i = 0; i < c.rows() * 2; ++i) c.row(0)[i] += (r.unit() - 0.5) * by;
    }
    for (int const threads : {1, 2}) {
      config how{"frontier", "kd"};
      how.threads = threads;
      ASSERT_TRUE(check_steps(s, how));
    }
  }
}

// Late iterations: groups of centroids around which nothing moves rest, until something comes near, leaps, or
// all creep; leases on infinite shells run all the time.
TEST(frontier, charges_where_all_but_a_few_rest) {
  if (thread_sanitized) GTEST_SKIP(); // one thread
  for (std::uint64_t seed = 1; seed <= (sanitized ? 2 : 8); ++seed)
    for (family const data : {family::uniform, family::clustered, family::outlier, family::spread})
      for (double const creep : {1e-3, 3e-2}) {
        scenario<double> const s =
            leaps(data, seed, 400, static_cast<index>(90 + 70 * (seed % 4)), static_cast<index>(1 + seed % 3),
                  40, creep, 1 + static_cast<index>(seed % 5));
        ASSERT_TRUE(check<kopse::kd_tree<double>>(s, 1 + static_cast<index>(seed) % 9));
        if (seed % 4 == 0) {
          ASSERT_TRUE(check<kopse::ball_tree<double>>(s, 5));
        }
      }
}

// One centroid hops at a time, by about the distance to its neighbours, in a crowd that rests: among those of
// its group of the tree on the centroids and, across the border, among others.
TEST(frontier, charges_across_groups_that_rest) {
  if (thread_sanitized) GTEST_SKIP(); // one thread
  for (std::uint64_t seed = 1; seed <= (sanitized ? 1 : 6); ++seed) {
    index const side = 17, k = side * side;
    families::random r(seed);
    matrix<double> x(1500, 2), c(k, 2);
    for (index i = 0; i < x.rows() * 2; ++i) x.row(0)[i] = r.unit() * static_cast<double>(side);
    for (index i = 0; i < k; ++i)
      c(i, 0) = static_cast<double>(i % side) + r.unit(), c(i, 1) = static_cast<double>(i / side) + r.unit();
    scenario<double> s("hops " + std::to_string(seed), std::move(x), c);
    for (int pass = 0; pass < 60; ++pass) {
      s.visit(c);
      index const hopper = r.below(k);
      for (index j = 0; j < 2; ++j) c(hopper, j) += 3 * (r.unit() - 0.5);
    }
    ASSERT_TRUE(check<kopse::kd_tree<double>>(s, 1 + static_cast<index>(seed) * 3));
  }
}

// A row far from all centroids, and one of these walks up to it from beyond every reach that has a lease,
// while all others rest: only clocks of infinite shells tell.
TEST(frontier, charges_for_what_comes_from_beyond_all_reaches) {
  if (thread_sanitized) GTEST_SKIP(); // one thread
  for (std::uint64_t seed = 0; seed < (sanitized ? 6 : 60); ++seed) {
    families::random r(seed + 1);
    index const half = 12 + static_cast<index>(seed % 3) * 20;
    matrix<double> x(4 * half + 1, 2), c(2 * half, 2);
    for (index i = 0; i < x.rows(); ++i)
      x(i, 0) = (i % 2 == 0 ? 0 : 1000) + 3 * r.unit(), x(i, 1) = 3 * r.unit();
    x(4 * half, 0) = 100; // alone
    for (index i = 0; i < 2 * half; ++i) std::copy_n(x.row(i), 2, c.row(i));
    scenario<double> s("from afar " + std::to_string(seed), std::move(x), c);
    for (int pass = 0; pass < 34; ++pass) {
      s.visit(c);
      c(1, 0) -= 30; // of those at 1000
    }
    ASSERT_TRUE(check<kopse::kd_tree<double>>(s, 1 + static_cast<index>(seed) % 12));
  }
}

// Many centroids that creep, so that leases grow old and reaches grow under them.
TEST(frontier, trusts_no_lease_beyond_its_promise) {
  if (thread_sanitized) GTEST_SKIP(); // one thread
  for (std::uint64_t seed = 1; seed <= (sanitized ? 1 : 8); ++seed)
    for (double const creep : {1e-4, 1e-3, 1e-2}) {
      scenario<double> const s = leaps(seed % 2 ? family::uniform : family::clustered, seed, 300, 130,
                                       static_cast<index>(1 + seed % 3), 40, creep);
      ASSERT_TRUE(check<kopse::kd_tree<double>>(s, 8));
    }
}

// Float readings of clocks that have run for long, and of one that leaps so far that they lose all gaps.
TEST(frontier, keeps_time_for_thousands_of_iterations) {
  if (thread_sanitized) GTEST_SKIP(); // one thread
  for (double const creep : {1e-7, 1e-4}) {
    scenario<double> const s = leaps(family::clustered, 3, 40, 6, 2, sanitized ? 300 : 4000, creep);
    ASSERT_TRUE(check<kopse::kd_tree<double>>(s, 4));
  }
}

// Two centroids pass each other before a row of points: the pair swaps, and the rest have what is left.
TEST(frontier, swaps_the_nearest_two) {
  if (thread_sanitized) GTEST_SKIP(); // one thread
  for (int third = 0; third < 60; ++third) {
    matrix<double> x(61, 2), c(5, 2);
    for (index i = 0; i < 61; ++i) x(i, 0) = static_cast<double>(i) / 60;
    scenario<double> s("swap " + std::to_string(third), std::move(x), c);
    for (int pass = 0; pass < 60; ++pass) {
      double const t = pass / 60.;
      double const at[5][2] = {
          {t, .1}, {1 - t, .1}, {.5, .02 * third}, {.5, -.02 * third - t}, {-.2 + .1 * t, .3}};
      for (index j = 0; j < 5; ++j) std::copy_n(at[j], 2, c.row(j));
      s.visit(c);
    }
    ASSERT_TRUE(check<kopse::kd_tree<double>>(s, 3));
  }
}

TEST(frontier, counts_the_same_on_any_number_of_threads) {
  plan p{.data = family::clustered, .seed = 2, .n = sanitized ? 6000 : 20000, .k = 150, .d = 2};
  p.settings.max_iter = 12;
  scenario<double> const s(p);
  kopse::sum_layout const layout = kopse::summarise(s.points(), false).layout();
  auto const tree = build<kopse::kd_tree<double>>(s.rows.view(), 20);
  auto const work = [&](int threads) {
    kopse::options o;
    o.threads = threads;
    auto const step = make(tree, s.points(), layout, p.k, o);
    std::vector<index> counts;
    families::random r(1);
    matrix<double> c = s.start;
    for (int pass = 0; pass < 12; ++pass) {
      step->assign(c);
      counts.insert(counts.end(), {step->work().distances, step->work().node_scores});
      for (index i = 0; i < c.rows() * c.cols(); ++i) c.row(0)[i] += (r.unit() - 0.5) * 1e-3;
    }
    return counts;
  };
  std::vector<index> const one = work(1);
  for (int const threads : {2, 3, 8}) EXPECT_EQ(work(threads), one) << threads << " threads";
}

TEST(frontier, looks_only_at_what_can_have_changed) {
  plan const p{.data = family::uniform, .seed = 5, .n = 20000, .k = 400, .d = 2};
  scenario<double> const s(p);
  kopse::sum_layout const layout = kopse::summarise(s.points(), false).layout();
  auto const step = make(build<kopse::kd_tree<double>>(s.rows.view(), 20), s.points(), layout, p.k);
  matrix<double> c = s.start;
  step->assign(c);
  step->assign(c); // all leases are found
  EXPECT_GT(step->work().distances, p.n);
  step->assign(c);
  EXPECT_EQ(step->work().distances + step->work().node_scores, 0) << "nothing has moved";
  c(7, 0) += 1e-4;
  step->assign(c);
  EXPECT_LT(step->work().distances, 2000) << "one has moved, by little";
}

TEST(frontier, walks_when_that_pays) {
  // Whole runs: filter first, leases later, and the bits of everybody.
  plan p{.data = family::clustered, .seed = 9, .n = sanitized ? 1000 : 5000, .k = 60, .d = 2};
  p.settings.max_iter = 100;
  scenario<double> s(p);
  s.run_oracle();
  for (int const threads : {1, 3}) {
    config c{"frontier", "kd"};
    c.threads = threads;
    ASSERT_TRUE(check_steps(s, c));
    ASSERT_TRUE(check_fit(s, c));
  }
}

} // namespace
