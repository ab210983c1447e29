// SPDX-License-Identifier: BSD-3-Clause
// Every algorithm gives the bits of the oracle after every iteration: labels, sums, means, candidates,
// inertia. Each case is a family of data in float or double; inside, shapes, weights, policies, starts, leaf
// sizes and threads.
#include "exactness.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace {

using namespace exactness;
using families::start;
using kopse::index;
using labels = std::vector<label>;

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

/// Every weighting × policy × shape; starts, tolerances and limits take turns.
std::vector<plan> plans(family data) {
  std::vector<plan> all;
  std::size_t turn = 0;
  for (std::size_t w = 0; w < families::weighting_names.size(); ++w)
    for (empty_policy const empty : {empty_policy::relocate, empty_policy::keep})
      for (shape const& s : shapes) {
        ++turn;
        if (sanitized && turn % 5 != static_cast<std::size_t>(data) % 5) continue;
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
    for (plan const& p : plans(data())) {
      scenario<Real> s(p);
      s.run_oracle();
      for (config const& c : configs(turn++)) {
        ASSERT_TRUE(check_steps(s, c));
        ASSERT_TRUE(check_fit(s, c));
      }
    }
  });
}

TEST_P(exactness_of, many_rows_on_several_threads) {
  with_type([&]<class Real>(Real) {
    plan p{data(), 7, sanitized ? 1500 : 6000, sanitized ? 20 : 40, 2, weighting::random, start::far};
    p.settings.max_iter = 8;
    scenario<Real> s(p);
    s.run_oracle();
    for (config c : algorithms_and_trees())
      for (c.threads = 1; c.threads <= 3; ++c.threads) {
        c.leaf_size = leaf_sizes[static_cast<std::size_t>(c.threads)];
        ASSERT_TRUE(check_steps(s, c));
        ASSERT_TRUE(check_fit(s, c));
      }
  });
}

/// Centroids as a caller may move them, whom no iteration of Lloyd's binds.
template <class Real> void wander(scenario<Real>& s, std::uint64_t seed) {
  index const k = s.start.rows(), d = s.start.cols();
  families::random r(seed);
  matrix<double> const a = s.start, b = families::make_start(start::mixed, s.rows, k, seed + 1);
  auto const permuted = [&](matrix<double> m) {
    for (index c = 0; c + 1 < k; ++c) std::swap_ranges(m.row(c), m.row(c) + d, m.row(c + r.below(k - c)));
    return m;
  };
  auto const nudged = [&](matrix<double> m, index rows) {
    for (index c = 0; c < rows; ++c) {
      double& x = m(r.below(k), r.below(d));
      x = std::nextafter(x, r.one_in(2) ? -HUGE_VAL : HUGE_VAL);
    }
    return m;
  };
  auto const between = [&](double part) {
    matrix<double> m = a;
    for (index i = 0; i < k * d; ++i) m.row(0)[i] = a.row(0)[i] * (1 - part) + b.row(0)[i] * part;
    return m;
  };
  for (int i = 0; i < 3; ++i) s.visit(a);                        // no movement
  for (int i = 0; i < 4; ++i) s.visit(permuted(a));              // labels change, owners do not
  for (std::size_t j = 0; j < families::start_names.size(); ++j) // jumps
    s.visit(families::make_start(static_cast<start>(j), s.rows, k, seed + 2 + j));
  for (int i = 0; i < 50; ++i) s.visit(i % 2 ? a : b);       // back and forth
  for (int i = 0; i < 6; ++i) s.visit(nudged(a, 1 + i % k)); // by one unit in the last place
  for (int i = 0; i <= 10; ++i) s.visit(between(i / 10.0));  // slowly
  for (int i = 0; i < 4; ++i) {                              // one alone
    matrix<double> m = b;
    std::copy_n(s.start.row(r.below(k)), d, m.row(r.below(k)));
    s.visit(m);
  }
}

TEST_P(exactness_of, any_movement_of_centroids) {
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
      for (config const& c : configs(static_cast<std::size_t>(seed))) ASSERT_TRUE(check_steps(s, c));
    }
  });
}

TEST(steps_of_one_maker, share_a_tree_and_nothing_else) {
  plan const p{.data = family::clustered, .seed = 3, .n = 200, .k = 10};
  scenario<double> s(p), t({.data = family::clustered, .seed = 3, .n = 200, .k = 3, .start = start::far});
  s.run_oracle(), t.run_oracle();
  for (config const& c : configs(0)) {
    kopse::sum_layout const layout = kopse::summarise(s.points(), false).layout();
    kopse::step_maker<double> maker(s.points(), layout, c.options());
    maker.build();
    auto const first = maker.make(10), second = maker.make(3), third = maker.make(10);
    ASSERT_TRUE(check_step(s, c, *first, layout));
    ASSERT_TRUE(check_step(t, c, *second, layout));
    ASSERT_TRUE(check_step(s, c, *third, layout)); // as if nobody had been here
    ASSERT_TRUE(check_step(s, c, *maker.make(10), layout));
  }
}

TEST(steps, know_where_in_the_whole_their_rows_are) {
  scenario<double> s(
      {.data = family::uniform, .seed = 4, .n = 150, .weights = weighting::with_zeros, .start = start::far});
  s.run_oracle();
  for (config const& c : configs(1)) {
    kopse::point_set<double> points = s.points();
    points.offset = 1000000007;
    kopse::step_maker<double> maker(points, kopse::summarise(points, false).layout(), c.options());
    auto const step = maker.make(s.start.rows());
    step->assign(s.start.view());
    ASSERT_TRUE(same_farthest(*step, 10, s, s.passes[0], points.offset)) << name(c);
  }
}

TEST(steps, read_rows_with_a_stride) {
  scenario<float> s({.data = family::uniform, .seed = 5, .n = 120, .d = 3});
  s.run_oracle();
  matrix<float> wide(120, 8);
  for (index i = 0; i < 120; ++i)
    for (index j = 0; j < 8; ++j)
      wide(i, j) = j >= 2 && j < 5 ? s.rows(i, j - 2) : std::numeric_limits<float>::quiet_NaN();
  kopse::point_set<float> const points(wide.view().columns(2, 5));
  for (config const& c : configs(2)) {
    kopse::sum_layout const layout = kopse::summarise(points, false).layout();
    kopse::step_maker<float> maker(points, layout, c.options());
    ASSERT_TRUE(check_step(s, c, *maker.make(s.start.rows()), layout)) << name(c);
  }
}

TEST(steps, count_their_work) {
  scenario<double> s({.data = family::clustered, .seed = 6, .n = 3000, .k = 25, .d = 2});
  s.run_oracle();
  index const n = s.rows.rows(), k = s.start.rows();
  for (config const& c : algorithms_and_trees()) {
    kopse::step_maker<double> maker(s.points(), kopse::summarise(s.points(), false).layout(), c.options());
    auto const step = maker.make(k);
    index distances = 0;
    for (record const& p : s.passes) {
      step->assign(p.centroids.view());
      distances += step->work().distances;
      if (c.algorithm == "lloyd") {
        ASSERT_EQ(step->work().distances, n * k);
      }
    }
    EXPECT_GT(distances, 0) << name(c);
    // An algorithm that never prunes passes every other test.
    if (c.algorithm != "lloyd") {
      EXPECT_LT(distances, n * k * s.expected.iterations / 3) << name(c);
    }
  }
}

TEST(trace, says_the_inertia_about_the_means) {
  scenario<double> s({.data = family::uniform, .seed = 8, .n = 400, .k = 6, .weights = weighting::random});
  s.run_oracle();
  kopse::options o;
  o.centroids = s.start;
  kopse::result const got = kopse::fit(s.user_points(), 6, o);
  ASSERT_EQ(got.trace.size(), s.passes.size());
  double const scale = got.inertia / s.passes.back().inertia;
  for (std::size_t t = 0; t < s.passes.size(); ++t)
    EXPECT_NEAR(got.trace[t].inertia, s.passes[t].inertia_moved * scale, 1e-9 * got.trace[t].inertia) << t;
  EXPECT_EQ(got.trace.back().largest_movement, 0);
  EXPECT_GT(got.trace.front().largest_movement, 0);
}

TEST(fit, verifies_itself_on_request) {
  scenario<double> s({.data = family::lattice, .seed = 9, .n = 90, .k = 12, .start = start::far});
  s.run_oracle();
  for (config const& c : configs(0)) {
    kopse::options o = c.options();
    o.centroids = s.start, o.verify = true;
    kopse::result const got = kopse::fit(s.user_points(), s.start.rows(), o);
    EXPECT_TRUE(same_labels(got.labels, s.expected.labels)) << name(c);
  }
}

template <class Real> void predict_finds_the_nearest(plan const& p) {
  scenario<Real> const s(p);
  labels nearest;
  std::vector<double> d2;
  oracle::assign(s.rows.view(), s.start.view(), nearest, d2);
  for (int threads = 1; threads <= 3; ++threads)
    ASSERT_TRUE(same_labels(kopse::predict(s.rows.view(), s.start.view(), threads), nearest)) << s.name;
}

TEST(predict, finds_the_nearest_centroid) {
  for (std::size_t f = 0; f < families::family_names.size(); ++f)
    for (index d = 1; d <= 9; d += 4) {
      plan p{.data = static_cast<family>(f), .seed = 10, .n = 300, .k = 20, .d = d, .start = start::mixed};
      predict_finds_the_nearest<double>(p);
      predict_finds_the_nearest<float>(p);
      p.n = sanitized ? 4100 : 9000, p.k = 200; // enough for another way to be the faster one
      if (d == 1 || !sanitized) predict_finds_the_nearest<float>(p);
      if (d == 1 || !sanitized) predict_finds_the_nearest<double>(p);
    }
}

#if defined(__SSE2__)
/// As a host program may have left the processor: rounding upward, subnormals flushed to zero in and out.
class careless_host {
public:
  careless_host() : saved_(_mm_getcsr()) { _mm_setcsr((saved_ & ~0x6000u) | 0xc040u); }
  ~careless_host() { _mm_setcsr(saved_); }
  careless_host(careless_host const&) = delete;
  careless_host& operator=(careless_host const&) = delete;

private:
  unsigned saved_;
};

template <class Real> void environment_does_not_matter(plan const& p) {
  scenario<Real> s(p);
  s.run_oracle();
  for (config const& c : configs(p.seed)) {
    careless_host const host;
    ASSERT_TRUE(check_fit(s, c));
  }
  labels predicted;
  {
    careless_host const host;
    predicted = kopse::predict(s.rows.view(), s.start.view(), 2);
  }
  ASSERT_TRUE(same_labels(predicted, s.passes[0].labels)) << s.name << " predict";
}

TEST(fit, rounds_to_nearest_and_keeps_subnormals_whatever_the_host_does) {
  for (family const f : {family::uniform, family::tiny, family::spread})
    for (std::uint64_t seed = 1; seed <= (sanitized ? 2 : 10); ++seed) {
      plan p{.data = f, .seed = seed, .n = 150, .k = 12, .weights = weighting::random, .start = start::far};
      p.settings = {.max_iter = 30, .tol = seed % 2 ? 1e-3 : 0};
      environment_does_not_matter<double>(p);
      environment_does_not_matter<float>(p);
    }
  plan p{.data = family::tiny, .seed = 1, .n = 5000, .k = 150, .start = start::mixed};
  p.settings.max_iter = 3;
  environment_does_not_matter<double>(p);
}
#endif

} // namespace
