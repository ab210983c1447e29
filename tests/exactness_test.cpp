// SPDX-License-Identifier: BSD-3-Clause
// Every algorithm gives the bits of the oracle after every iteration: labels, sums, means, candidates,
// inertia. Each case is a family of data in float or double; inside, shapes, weights, policies, starts, leaf
// sizes and threads.
#include "exactness.hpp"

namespace {

using namespace exactness;
using families::start;
using kopse::index;

struct shape {
  index n, k, d;
};
// k = 1, k = n, k near n, one dimension to a hundred.
constexpr shape shapes[] = {{97, 7, 2},   {60, 1, 3}, {24, 24, 1}, {30, 5, 100},
                            {110, 12, 5}, {80, 9, 1}, {33, 30, 2}, {50, 6, 17}};

class exactness_of : public testing::TestWithParam<std::tuple<std::size_t, bool>> {
protected:
  family data() const { return static_cast<family>(std::get<0>(GetParam())); }
  /// Calls f with a float or a double: the type of the rows.
  template <class F> void with_type(F const& f) const {
    if (std::get<1>(GetParam()))
      f(0.0F);
    else
      f(0.0);
  }
};

std::string case_name(testing::TestParamInfo<exactness_of::ParamType> const& i) {
  return std::string(families::family_names[std::get<0>(i.param)])
         + (std::get<1>(i.param) ? "_float" : "_double");
}
INSTANTIATE_TEST_SUITE_P(families, exactness_of,
                         testing::Combine(testing::Range<std::size_t>(0, families::family_names.size()),
                                          testing::Bool()),
                         case_name);

/// Every weighting × policy × shape, each in one of the two types; starts, tolerances and limits take turns.
std::vector<plan> plans(family data, bool single) {
  std::vector<plan> all;
  std::size_t turn = 0;
  for (std::size_t w = 0; w < families::weighting_names.size(); ++w)
    for (empty_policy const empty : {empty_policy::relocate, empty_policy::keep})
      for (shape const& s : shapes) {
        ++turn;
        std::size_t const every = thread_sanitized ? 40 : sanitized ? 10 : 2;
        std::size_t const round = turn / std::size(shapes); // so that no type sees some shapes alone
        if ((turn + round) % every != (static_cast<std::size_t>(data) + single) % every) continue;
        plan p{data,
               100 + turn,
               s.n,
               s.k,
               s.d,
               static_cast<weighting>(w),
               static_cast<start>(turn % families::start_names.size())};
        p.settings = {turn % 4 == 0 ? 4 : 40, turn % 7 == 0 ? 1e-3 : 0, empty};
        all.push_back(p);
      }
  return all;
}

TEST_P(exactness_of, every_iteration_and_every_run) {
  with_type([&]<class Real>(Real) {
    std::size_t turn = 0;
    for (plan const& p : plans(data(), sizeof(Real) == sizeof(float))) {
      scenario<Real> s(p);
      s.run_oracle();
      for (config const& c : configs(turn++, columns::of_the_data)) {
        ASSERT_TRUE(check_steps(s, c));
        ASSERT_TRUE(check_fit(s, c));
      }
    }
  });
}

TEST_P(exactness_of, many_rows_on_several_threads) {
  // Under sanitizers each family in one of the two types.
  if (sanitized && std::get<1>(GetParam()) == (std::get<0>(GetParam()) % 2 != 0)) GTEST_SKIP();
  with_type([&]<class Real>(Real) {
    plan p{data(), 7, sanitized ? 1500 : 6000, sanitized ? 20 : 40, 2, weighting::random, start::far};
    p.settings.max_iter = sanitized ? 4 : 8;
    scenario<Real> s(p);
    s.run_oracle();
    std::size_t turn = static_cast<std::size_t>(data());
    // Two numbers of threads each, which take turns.
    for (config c : algorithms_and_trees())
      for (std::size_t i = sanitized ? 1 : 0; i < 2; ++i) {
        c.threads = thread_counts[2 * i + turn / leaf_sizes.size() % 2];
        c.leaf_size = leaf_sizes[turn++ % leaf_sizes.size()];
        ASSERT_TRUE(check_steps(s, c));
        ASSERT_TRUE(check_fit(s, c));
      }
  });
}

/// What a run says of itself, but for the time it took.
template <class Real> std::vector<index> counts_of(scenario<Real> const& s, config const& c) {
  kopse::options o = c.options();
  o.centroids = s.start, o.max_iter = s.settings.max_iter;
  std::vector<index> all;
  for (kopse::iteration_record const& r : kopse::fit(s.user_points(), s.start.rows(), o).trace) {
    all.insert(all.end(), {r.work.distances, r.work.node_scores, r.labels_changed});
    all.insert(all.end(), r.work.prunes.begin(), r.work.prunes.end());
  }
  return all;
}

TEST(exactness, threads_change_no_bit_and_no_count) {
  for (family const data : {family::clustered, family::uniform}) {
    if (sanitized && data == family::uniform) continue;
    // Enough rows that trees branch often; the farthest of them are asked for.
    plan p{data, 5, sanitized ? 4000 : 12000, 60, 2, weighting::none, start::far};
    p.settings.max_iter = sanitized ? 3 : 5;
    scenario<double> s(p);
    s.run_oracle();
    for (config c : algorithms_and_trees()) {
      c.threads = 1;
      std::vector<index> const counts = counts_of(s, c);
      for (int const threads : {2, 3, 8}) {
        if (sanitized && threads != 3) continue;
        c.threads = threads;
        ASSERT_TRUE(check_fit(s, c));
        ASSERT_EQ(counts_of(s, c), counts) << name(c);
      }
      ASSERT_TRUE(check_steps(s, c));
    }
  }
}

TEST_P(exactness_of, many_clusters) {
  if (sanitized && static_cast<std::size_t>(data()) % (thread_sanitized ? 5 : 3) != 1) GTEST_SKIP();
  with_type([&]<class Real>(Real) {
    // More numbers among the centroids than kernels take at a time; most rows have a cluster of their own.
    plan p{data(), 11, sanitized ? 450 : 700, 400, 8, weighting::none, start::rows};
    p.settings.max_iter = 3;
    scenario<Real> s(p);
    s.run_oracle();
    for (config const& c : few_configs(static_cast<std::size_t>(data()), columns::of_the_data)) {
      ASSERT_TRUE(check_steps(s, c));
      ASSERT_TRUE(check_fit(s, c));
    }
  });
}

TEST_P(exactness_of, any_movement_of_centroids) {
  if (thread_sanitized) GTEST_SKIP(); // few rows: one thread
  with_type([&]<class Real>(Real) {
    for (std::uint64_t seed = 1; seed <= (sanitized ? 1 : 3); ++seed) {
      plan const p{data(),
                   seed,
                   sanitized ? 40 : 90,
                   9,
                   static_cast<index>(seed),
                   static_cast<weighting>(seed + 1),
                   start::rows};
      scenario<Real> s(p);
      wander(s, seed);
      for (config const& c : configs(static_cast<std::size_t>(seed), columns::of_the_data))
        ASSERT_TRUE(check_steps(s, c));
    }
  });
}

// Centroids that tremble, leap, and now and then land on rows.
scenario<double> restless(plan const& p, int stretches) {
  scenario<double> s(p);
  families::random r(p.seed);
  matrix<double> c = s.start;
  double scale = 0;
  for (index i = 0; i < p.n * p.d; ++i)
    scale = std::max(scale, std::abs(s.rows.row(0)[i] - s.rows.row(0)[0]));
  for (int stretch = 0; stretch < stretches; ++stretch) {
    double const leap = stretch % 2 ? 1e-3 : 0.3;
    for (index pass = 1 + r.below(stretch % 2 ? 6 : 30); pass > 0; --pass) {
      for (index i = 0; i < p.k * p.d; ++i) c.row(0)[i] += (r.unit() - 0.5) * leap * scale;
      s.visit(c);
    }
    for (index i = r.below(p.k); i > 0; --i) c(r.below(p.k), 0) += (r.unit() - 0.5) * 10 * scale;
    for (index i = r.below(p.k); i > 0; --i) {
      index const to = r.below(p.n);
      std::copy_n(s.rows.row(to), p.d, c.row(r.below(p.k)));
    }
  }
  return s;
}

// Centroids that now leap, so that bounds settle nothing and leaves give them up for a while, now hardly
// move, so that they are taken up again; some lie so far off that whole nodes are owned in between.
TEST(exactness, of_leaves_that_give_up_their_bounds) {
  if (thread_sanitized) GTEST_SKIP(); // few rows: one thread
  for (std::uint64_t seed = 1; seed <= (sanitized ? 2 : 12); ++seed) {
    plan const p{seed % 2 ? family::uniform : family::clustered,
                 seed,
                 250,
                 static_cast<index>(5 + 4 * seed),
                 static_cast<index>(1 + seed % 4),
                 weighting::none,
                 start::rows};
    scenario<double> const s = restless(p, 10);
    for (config of_tree : algorithms_and_trees())
      if (of_tree.algorithm == "dualtree" && suits(of_tree, p.d)) {
        of_tree.leaf_size = 1 + static_cast<index>(seed * 5) % 24;
        ASSERT_TRUE(check_steps(s, of_tree));
      }
  }
}

// In several dimensions tests on boxes spare little: points of whole nodes are screened at once, and by the
// next assignment nodes may be tested, or owned, again.
TEST(exactness, of_nodes_whose_points_are_screened) {
  if (thread_sanitized) GTEST_SKIP(); // few rows: one thread
  for (std::uint64_t seed = 1; seed <= (sanitized ? 1 : 4); ++seed) {
    plan const p{seed % 2 ? family::uniform : family::clustered,
                 seed,
                 900,
                 static_cast<index>(30 * seed),
                 static_cast<index>(4 + seed),
                 weighting::none,
                 start::rows};
    scenario<double> const s = restless(p, 6);
    for (config of_tree : algorithms_and_trees())
      if (suits(of_tree, p.d)
          && (of_tree.algorithm == "dualtree" || of_tree.algorithm == "filter"
              || of_tree.algorithm == "blacklist")) {
        of_tree.leaf_size = 4 + static_cast<index>(seed * 5) % 24;
        ASSERT_TRUE(check_steps(s, of_tree));
      }
  }
}

TEST(exactness, of_rows_at_a_hairs_breadth_from_a_tie) {
  if (thread_sanitized) GTEST_SKIP(); // few rows: one thread
  for (std::uint64_t seed = 0; seed < (sanitized ? 6 : 120); ++seed) {
    scenario<double> const s = hairline<double>(seed);
    scenario<float> const f = hairline<float>(seed);
    for (config const& c : few_configs(static_cast<std::size_t>(seed), columns::of_the_data)) {
      ASSERT_TRUE(check_steps(s, c));
      ASSERT_TRUE(check_steps(f, c));
    }
  }
}

} // namespace
