// SPDX-License-Identifier: BSD-3-Clause
// fit() and predict(): what they say besides the bits, and that the host's rounding is not theirs.
#include "exactness.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace {

using namespace exactness;
using families::start;
using kopse::index;
using labels = std::vector<label>;

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

TEST(fit, bisectors_of_squares_that_underflow_in_many_columns) {
  // Every square is rounded to a few multiples of the smallest double, always the same way: the bisector,
  // computed from them, is off by as many of those as there are columns.
  index const d = 17000;
  double const unit = 0x1p-537, a = std::sqrt(1.499) * unit, far = a - std::sqrt(.5001) * unit;
  matrix<double> x(2, d), c(2, d);
  for (index j = 0; j + 1 < d; ++j) x(0, j) = a, x(1, j) = far + std::sqrt(.4999) * unit, c(1, j) = far;
  c(1, d - 1) = std::sqrt(.5 * (16384. + static_cast<double>(d))) * unit;
  for (std::string_view const algorithm : kopse::algorithms()) {
    if (algorithm == "line") continue; // of one column
    kopse::options o;
    o.algorithm = algorithm, o.centroids = c, o.leaf_size = 2, o.max_iter = 1, o.verify = true;
    EXPECT_NO_THROW(kopse::fit(kopse::point_set<double>(x.view()), 2, o)) << algorithm;
  }
}

TEST(fit, measures_the_shift_to_the_last_bit) {
  for (std::uint64_t seed = 1; seed <= (sanitized ? 3 : 20); ++seed) {
    plan p{.data = family::uniform, .seed = seed, .n = 60, .k = 9, .d = 7, .start = start::mixed};
    scenario<double> s(p);
    s.run_oracle();
    // The tolerance at which the first move is just small enough, and its neighbours.
    double tol = oracle::shift2(s.passes[0]) / oracle::mean_variance(s.rows.view());
    for (int i = 0; i < 3; ++i) tol = std::nextafter(tol, 0.0);
    for (int i = 0; i < 7; ++i, tol = std::nextafter(tol, HUGE_VAL)) {
      s.settings.tol = tol;
      s.expected = oracle::lloyd(s.rows.view(), std::span<double const>(s.weights), s.start, s.settings);
      ASSERT_TRUE(check_fit(s, algorithms_and_trees().front()));
    }
  }
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
      p.n = 4100, p.k = 130; // enough for another way to be the faster one
      if (sanitized && d > 1) continue;
      predict_finds_the_nearest<double>(p);
      predict_finds_the_nearest<float>(p);
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
  for (config const& c : few_configs(p.seed)) {
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
    for (std::uint64_t seed = 1; seed <= (thread_sanitized ? 1 : sanitized ? 2 : 6); ++seed) {
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
