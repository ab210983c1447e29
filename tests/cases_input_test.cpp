// SPDX-License-Identifier: BSD-3-Clause
// Faults that users of k-means tools met: precision, and input that must be refused with its place named.
#include "cases.hpp"

#include <sys/mman.h>

namespace {

using namespace cases;
using kopse::index;

double const nan = std::nan("");

TEST(cases, H11_fewer_rows_than_clusters) {
  matrix<double> const x = column({1, 2});
  with_all([&](config const& c) {
    EXPECT_TRUE(
        names(message<kopse::usage_error>([&] { kopse::fit(point_set<double>(x.view()), 8, c.options()); }),
              {"8", "2"}));
    for (index const k : {index{0}, index{-3}, std::numeric_limits<index>::max()})
      EXPECT_NE(message<kopse::usage_error>([&] { kopse::fit(point_set<double>(x.view()), k, c.options()); }),
                "");
  });
  matrix<double> const nothing(0, 3), no_columns(3, 0);
  EXPECT_NE(message([&] { kopse::fit(point_set<double>(nothing.view()), 1, {}); }), "");
  EXPECT_NE(message([&] { kopse::fit(point_set<double>(no_columns.view()), 1, {}); }), "");
}

template <class Real> std::string weighted(numbers const& w) {
  matrix<Real> const x = column<Real>({0, 1, 10});
  return message([&] { kopse::fit(point_set<Real>(x.view(), w), 2, kopse::options()); });
}

TEST(cases, H18_weights_that_cannot_be) {
  EXPECT_TRUE(names(weighted<double>({-1, 2, 1}), {"row 0", "-1"}));
  EXPECT_TRUE(names(weighted<double>({1, nan, nan}), {"row 1", "NaN"}));
  EXPECT_TRUE(names(weighted<float>({1, 1, HUGE_VAL}), {"row 2", "inf"}));
  EXPECT_TRUE(names(weighted<float>({1, 1, -0x1p-1074}), {"row 2"}));
  EXPECT_NE(weighted<double>({0, 0, 0}), "");
  EXPECT_TRUE(names(weighted<double>({1, 1}), {"2", "3"}));
  EXPECT_TRUE(names(weighted<double>({1, 1, 1, 1}), {"4", "3"}));
  EXPECT_EQ(weighted<double>({0, 1, 0}), "");
  EXPECT_EQ(weighted<double>({-0.0, 1, 1}), "");
}

TEST(cases, H19_distances_do_not_cancel_under_an_offset) {
  matrix<float> const x = column<float>({1e6, 1e6 + 1, 1e6 + 2, 1e6 + 20, 1e6 + 21, 1e6 + 22});
  oracle::run const run = expect_oracle("H19", x, column({1e6, 1e6 + 20}));
  EXPECT_EQ(values(run.centroids), (numbers{1000001, 1000021}));
  EXPECT_EQ(run.inertia, 4);
  matrix<float> probes(64, 1);
  labels expected;
  for (index i = 0; i < 64; ++i) {
    probes(i, 0) = static_cast<float>(1000000 + i);
    expected.push_back(i > 10);
  }
  EXPECT_EQ(kopse::predict(probes.view(), column({1000010, 1000011}).view()), expected);
}

TEST(cases, H20_the_mean_of_equal_values_is_that_value) {
  auto const check = [](std::size_t count, float value) {
    matrix<float> const x = column<float>(numbers(count, value));
    with_all([&](config const& c) {
      result const r = kopse::fit(point_set<float>(x.view()), 1, c.options());
      EXPECT_EQ(r.centroids(0, 0), value);
      EXPECT_EQ(r.inertia, 0);
    });
  };
  check(333, 2097153.0F);
  check(777, 3000001.0F);
}

TEST(cases, H21_small_squares_count_beside_large_ones) {
  index const half = sanitized ? 20000 : 500000;
  matrix<float> x(2 + 2 * half, 1);
  x(0, 0) = 1e6F - 1e4F, x(1, 0) = 1e6F + 1e4F;
  for (index i = 0; i < 2 * half; ++i) x(2 + i, 0) = i < half ? 0.5F : -0.5F;
  for (config const& c : algorithms_and_trees()) {
    result const r = kopse::fit(point_set<float>(x.view()), 2, from(c, column({1e6, 0})));
    EXPECT_EQ(r.inertia, 2e8 + static_cast<double>(half) / 2) << name(c); // 200250000 with all rows
  }
}

TEST(cases, H25_values_whose_squares_overflow_are_refused) {
  auto const refused = [](numbers const& x, index k) {
    matrix<double> const m = column(x);
    return message([&] { kopse::fit(point_set<double>(m.view()), k, kopse::options()); });
  };
  EXPECT_TRUE(names(refused({1e160, -1e160, 0, 1}, 3), {"row 0", "column 0"}));
  EXPECT_TRUE(
      names(refused({1, 2, -1e300, -1.1e300}, 2), {"row 2", "column 0", " is -1e+300:"})); // no 301 digits
  EXPECT_NE(refused({0, std::nextafter(1e150, HUGE_VAL)}, 2), "");
  EXPECT_NE(refused({0, -std::nextafter(1e150, HUGE_VAL)}, 2), "");
  // What is not refused is right, 1e150 itself included.
  expect_oracle("H25", column({1e150, -1e150, 0, 1}), column({1e150, -1e150, 1e150}));
  expect_oracle("H25 far start", column({1e150, -1e150, 0, 1}), column({-1e150, -1e150}), empty_policy::keep);
  matrix<double> const x = column({0, 1});
  options o;
  o.centroids = column({0, 1e151});
  EXPECT_TRUE(names(message([&] { kopse::fit(point_set<double>(x.view()), 2, o); }), {"row 1", "column 0"}));
}

template <class Real> void not_finite_is_refused() {
  for (double const bad : {nan, HUGE_VAL, -HUGE_VAL}) {
    matrix<Real> x = normal_rows<Real>(1000, 3, 0);
    matrix<double> const start = first_rows(x, 4);
    options o;
    o.centroids = start;
    (*o.centroids)(3, 2) = bad;
    EXPECT_TRUE(names(message([&] { kopse::fit(point_set<Real>(x.view()), 4, o); }),
                      {"row 3", "column 2", "centroid"}));
    EXPECT_TRUE(names(message([&] { kopse::predict(x.view(), o.centroids->view()); }),
                      {"row 3", "column 2", "centroid"}));
    x(537, 1) = static_cast<Real>(bad);
    x(900, 0) = static_cast<Real>(bad); // the first is named
    EXPECT_TRUE(names(message([&] { kopse::fit(point_set<Real>(x.view()), 4, kopse::options()); }),
                      {"row 537", "column 1"}));
    EXPECT_TRUE(names(message([&] { kopse::predict(x.view(), start.view()); }), {"row 537", "column 1"}));
    EXPECT_TRUE(names(message([&] { kopse::validate(point_set<Real>(x.view())); }), {"row 537", "column 1"}));
  }
}

TEST(cases, H26_not_finite_is_refused_double) { not_finite_is_refused<double>(); }
TEST(cases, H26_not_finite_is_refused_float) { not_finite_is_refused<float>(); }

TEST(cases, H33_a_raised_stop_ends_the_run) {
  matrix<double> const x = normal_rows(5000, 2, 3);
  for (config const& c : algorithms_and_trees()) {
    std::atomic<bool> stop = true;
    options o = c.options();
    o.stop = &stop;
    EXPECT_THROW(kopse::fit(point_set<double>(x.view()), 50, o), kopse::interrupted) << name(c);
    stop = false;
    index seen = 0;
    o.on_iteration = [&](index iteration, kopse::iteration_record const&) {
      seen = iteration;
      stop = iteration == 2;
    };
    EXPECT_THROW(kopse::fit(point_set<double>(x.view()), 50, o), kopse::interrupted) << name(c);
    EXPECT_EQ(seen, 2) << name(c);
    stop = false, o.on_iteration = nullptr;
    EXPECT_TRUE(consistent(x, kopse::fit(point_set<double>(x.view()), 50, o)))
        << name(c); // the next one works
  }
}

TEST(cases, H34_rows_lie_where_the_view_says) {
  // Two of five columns, every second row; what lies between is not to be touched.
  numbers const wide = {nan, 0,   5,   nan, nan, nan, nan, nan, nan, nan, nan, 1,   5,   nan,
                        nan, nan, nan, nan, nan, nan, nan, 10,  5,   nan, nan, nan, nan, nan,
                        nan, nan, nan, 11,  5,   nan, nan, nan, nan, nan, nan, nan};
  kopse::matrix_view<double> const x(wide.data() + 1, 4, 2, 10);
  with_all([&](config const& c) {
    result const r = kopse::fit(point_set<double>(x), 2, from(c, rows({{0, 5}, {10, 5}})));
    EXPECT_EQ(r.labels, (labels{0, 0, 1, 1}));
    EXPECT_EQ(values(r.centroids), (numbers{0.5, 5, 10.5, 5}));
    EXPECT_EQ(kopse::predict(x, r.centroids.view()), r.labels);
  });
}

TEST(cases, H35_rows_and_weights_may_be_read_only) {
  // Pages that kill whoever writes to them.
  std::size_t const bytes = 1 << 16;
  auto* const page =
      static_cast<double*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(page, MAP_FAILED);
  matrix<double> const x = normal_rows(1000, 3, 7);
  std::copy_n(x.row(0), 3000, page);
  std::fill_n(page + 3000, 1000, 2.0);
  ASSERT_EQ(mprotect(page, bytes, PROT_READ), 0);
  kopse::matrix_view<double> const view(page, 1000, 3);
  with_all([&](config const& c) {
    result const r =
        kopse::fit(point_set<double>(view, std::span<double const>(page + 3000, 1000)), 9, c.options());
    EXPECT_TRUE(consistent(x, r, numbers(1000, 2.0)));
  });
  munmap(page, bytes);
}

TEST(cases, H36_columns_must_agree) {
  matrix<double> const x = rows({{0, 0, 0}, {1, 1, 1}}), centroids = rows({{0, 0}, {1, 1}});
  EXPECT_TRUE(names(message([&] { kopse::predict(x.view(), centroids.view()); }), {"3", "2"}));
  matrix<float> const f = column<float>({0, 1, 10, 11});
  result const r = kopse::fit(point_set<float>(f.view()), 2, kopse::options());
  EXPECT_EQ(kopse::predict(column({10.2}).view(), r.centroids.view())[0], r.labels[2]);
}

TEST(cases, H37_starting_centroids_are_used_and_their_shape_is_checked) {
  matrix<double> const x = column({0, 1, 9, 10, 30});
  options o;
  o.max_iter = 1;
  o.centroids = column({0, 1});
  EXPECT_EQ(values(kopse::fit(point_set<double>(x.view()), 2, o).centroids), (numbers{0, 12.5}));
  o.centroids = column({0, 30});
  EXPECT_EQ(values(kopse::fit(point_set<double>(x.view()), 2, o).centroids), (numbers{5, 30}));
  o.centroids = column({0, 1, 30});
  EXPECT_TRUE(names(message([&] { kopse::fit(point_set<double>(x.view()), 2, o); }), {"3 x 1", "2 x 1"}));
  o.centroids = rows({{0, 1}, {2, 3}});
  EXPECT_TRUE(names(message([&] { kopse::fit(point_set<double>(x.view()), 2, o); }), {"2 x 2", "2 x 1"}));
}

TEST(cases, unknown_names_are_answered_with_the_known) {
  matrix<double> const x = column({0, 1});
  auto const refused = [&](auto const& change) {
    options o;
    change(o);
    return message<kopse::usage_error>([&] { kopse::fit(point_set<double>(x.view()), 1, o); });
  };
  EXPECT_TRUE(names(refused([](options& o) { o.algorithm = "magic"; }), {"magic", "lloyd", "dualtree"}));
  EXPECT_TRUE(names(refused([](options& o) { o.tree = "oak"; }), {"oak", "kd"}));
  EXPECT_TRUE(names(refused([](options& o) { o.init = "here"; }), {"here", "random"}));
  EXPECT_NE(refused([](options& o) { o.leaf_size = 0; }), "");
  EXPECT_NE(refused([](options& o) { o.threads = -1; }), "");
  EXPECT_NE(refused([](options& o) { o.max_iter = 0; }), "");
  EXPECT_NE(refused([](options& o) { o.restarts = 0; }), "");
  EXPECT_TRUE(names(refused([](options& o) { o.restarts = 1000000000000; }), {"restarts", "2^32"}));
  EXPECT_TRUE(names(refused([](options& o) { o.candidates = 1000000000000; }), {"candidates", "2^32"}));
  EXPECT_TRUE(names(refused([](options& o) { o.tol = -1e-9; }), {"tol = -1e-09"}));
  EXPECT_EQ(refused([](options& o) { o.algorithm = "naive"; }), "");
  EXPECT_EQ(refused([](options& o) { o.algorithm = "dualtree-kd"; }), "");
  for (char const* other : {"pelleg-moore", "dualtree-ct", "dualtree-covertree"})
    EXPECT_EQ(refused([&](options& o) { o.algorithm = other; }), "") << other;
  for (char const* other : {"dualtree-kd", "dualtree-ct"})
    EXPECT_TRUE(names(refused([&](options& o) { o.algorithm = other, o.tree = "ball"; }), {other, "'ball'"}));
  EXPECT_EQ(refused([](options& o) { o.algorithm = "dualtree-ct", o.tree = "cover"; }), "");
}

} // namespace
