// SPDX-License-Identifier: BSD-3-Clause
// Spherical k-means: every algorithm gives the bits of the oracle after every iteration, over directions that
// repeat, cancel out or tie; and what is no direction is refused.
#include "exactness.hpp"
#include "kopse/choose_k.hpp"

namespace {

using namespace exactness;
using families::start;
using kopse::index;

enum class kind { random, duplicates, antipodal, axes, caps, multiples, count };
constexpr char const* kind_names[] = {"random", "duplicates", "antipodal", "axes", "caps", "multiples"};

matrix<double> raw_directions(kind what, index n, index d, std::uint64_t seed) {
  families::random r(seed * 7919 + static_cast<std::uint64_t>(what));
  matrix<double> rows(n, d);
  for (index i = 0; i < n; ++i) {
    index const source = what == kind::antipodal ? i - i % 2 : i < 9 ? i : r.below(9);
    bool const copies = what == kind::duplicates || what == kind::antipodal || what == kind::multiples;
    double const times = what == kind::antipodal && i % 2   ? -1
                         : what == kind::multiples && i > 8 ? 0.1 + r.unit()
                                                            : 1;
    index const axis = r.below(d);
    double const sign = r.one_in(2) ? 1 : -1;
    for (index j = 0; j < d; ++j)
      rows(i, j) = copies && source < i ? times * rows(source, j)
                   : what == kind::axes ? (j == axis ? sign : 0)
                   : what == kind::caps ? static_cast<double>((i * 7 + j * 3) % 5 - 2) + 0.1 * r.normal()
                                        : r.normal();
  }
  return rows;
}

bool all_zero(double const* x, index d) {
  return std::all_of(x, x + d, [](double v) { return v == 0; });
}

void fill_zero_rows(matrix<double>& m) {
  for (index i = 0; i < m.rows(); ++i)
    if (all_zero(m.row(i), m.cols())) m(i, 0) = 1;
}

template <class Real> matrix<Real> directions(kind what, index n, index d, std::uint64_t seed) {
  matrix<double> exact = raw_directions(what, n, d, seed);
  fill_zero_rows(exact);
  exact = oracle::unit_lengths(exact);
  matrix<Real> rows(n, d);
  for (index i = 0; i < n * d; ++i) rows.row(0)[i] = static_cast<Real>(exact.row(0)[i]);
  return rows;
}

struct shape {
  index n, k, d;
};
constexpr shape shapes[] = {{97, 7, 2},   {60, 1, 3}, {24, 24, 2}, {40, 5, 40},
                            {110, 12, 5}, {50, 3, 1}, {33, 30, 2}, {64, 6, 17}};

/// Every shape with both policies; weights, starts, tolerances and limits take turns.
template <class Real> std::vector<scenario<Real>> scenarios(kind what, std::uint64_t round = 0) {
  std::vector<scenario<Real>> all;
  std::uint64_t turn = static_cast<std::uint64_t>(what) + round * 17;
  for (shape const& s : shapes)
    for (empty_policy const empty : {empty_policy::relocate, empty_policy::keep}) {
      ++turn;
      if (sanitized && turn % 4 != 0) continue;
      auto const from = static_cast<start>(turn % families::start_names.size());
      auto const weights = static_cast<weighting>(turn % families::weighting_names.size());
      matrix<Real> rows = directions<Real>(what, s.n, s.d, turn);
      matrix<double> centroids = families::make_start(from, rows, s.k, turn);
      fill_zero_rows(centroids);
      oracle::settings const settings{turn % 4 == 0 ? 4 : 40, turn % 7 == 0 ? 1e-3 : 0, empty, true};
      std::string const name = std::string(kind_names[static_cast<std::size_t>(what)]) + " "
                               + std::to_string(turn) + " k " + std::to_string(s.k) + " d "
                               + std::to_string(s.d) + (sizeof(Real) == 4 ? " float" : " double");
      all.emplace_back(name, std::move(rows), std::move(centroids), settings,
                       families::make_weights(weights, s.n, turn));
      all.back().run_oracle();
    }
  return all;
}

template <class Real> void every_algorithm_agrees() {
  std::size_t turn = 0;
  for (std::uint64_t round = 0; round < (sanitized ? 1 : 5); ++round)
    for (std::size_t what = 0; what < static_cast<std::size_t>(kind::count); ++what)
      for (scenario<Real> const& s : scenarios<Real>(static_cast<kind>(what), round))
        for (config const& c : few_configs(turn++, columns::of_the_data)) {
          ASSERT_TRUE(check_steps(s, c));
          ASSERT_TRUE(check_fit(s, c));
        }
}
TEST(spherical, every_algorithm_gives_the_bits_of_the_oracle_double) { every_algorithm_agrees<double>(); }
TEST(spherical, every_algorithm_gives_the_bits_of_the_oracle_float) { every_algorithm_agrees<float>(); }

TEST(spherical, the_scenarios_have_what_they_are_for) {
  index relocations = 0, kept_empty = 0, converged = 0;
  for (std::size_t what = 0; what < static_cast<std::size_t>(kind::count); ++what)
    for (scenario<double> const& s : scenarios<double>(static_cast<kind>(what))) {
      kept_empty += s.expected.empty_clusters > 0;
      converged += s.expected.reason == kopse::stop_reason::labels;
      for (record const& p : s.passes) relocations += p.relocations;
    }
  EXPECT_GT(relocations, 10);
  EXPECT_GT(kept_empty, 3);
  EXPECT_GT(converged, 10);
}

// Two rows cancel out, and so does what a relocation leaves of a cluster: its centroid stays at the pole.
template <class Real> void cancelling_rows(empty_policy empty, std::vector<double> const& weights) {
  matrix<Real> rows(6, 3);
  rows(0, 1) = rows(1, 0) = 1;
  rows(2, 0) = rows(3, 2) = rows(4, 2) = rows(5, 2) = -1;
  matrix<double> poles(3, 3);
  poles(0, 2) = poles(2, 2) = 3, poles(1, 2) = -3;
  scenario<Real> s("cancelling", rows, poles, {.empty = empty, .spherical = true}, weights);
  s.run_oracle();
  index zero_means = 0;
  for (record const& p : s.passes) zero_means += p.weights[0] > 0 && all_zero(p.means.row(0), 3);
  // Without weights row 0 makes the first mean another one, or leaves; with them, row 1 leaves.
  bool const stays = (empty == empty_policy::relocate) == weights.empty();
  EXPECT_EQ(zero_means > 0, stays || !weights.empty());
  EXPECT_EQ(s.expected.centroids(0, 2), stays ? 1 : 0);
  for (config const& c : configs(1)) {
    ASSERT_TRUE(check_steps(s, c));
    ASSERT_TRUE(check_fit(s, c));
  }
}

TEST(spherical, a_cluster_whose_rows_cancel_out_keeps_its_centroid) {
  for (empty_policy const empty : {empty_policy::relocate, empty_policy::keep})
    for (std::vector<double> const& weights : {std::vector<double>{}, {0, 2, 2, 1, 1, 1}}) {
      cancelling_rows<double>(empty, weights);
      cancelling_rows<float>(empty, weights);
    }
}

TEST(spherical, the_trace_says_the_inertia_about_the_centroids) {
  for (std::size_t what = 0; what < static_cast<std::size_t>(kind::count); ++what)
    for (scenario<double> const& s : scenarios<double>(static_cast<kind>(what)))
      for (int const threads : {1, 3}) {
        kopse::options o;
        o.centroids = s.start, o.empty = s.settings.empty, o.max_iter = s.settings.max_iter;
        o.spherical = true, o.verify = true, o.threads = threads;
        kopse::result const got = kopse::fit(s.user_points(), s.start.rows(), o);
        int const exponent = oracle::scaled_weights(s.weights, s.rows.rows()).exponent;
        double whole = 0;
        for (double const w : s.scaled) whole += w;
        for (std::size_t t = 0; t < std::min(got.trace.size(), s.passes.size()); ++t) {
          if (s.passes[t].relocations > 0 || s.passes[t].labels_changed == 0) continue;
          EXPECT_NEAR(std::ldexp(got.trace[t].inertia, -exponent), s.passes[t].inertia_moved, 1e-12 * whole)
              << s.name << " iteration " << t + 1;
        }
      }
}

TEST(spherical, all_centroids_have_unit_length) {
  for (std::size_t what = 0; what < static_cast<std::size_t>(kind::count); ++what)
    for (scenario<float> const& s : scenarios<float>(static_cast<kind>(what)))
      EXPECT_TRUE(same_matrix(s.expected.centroids.view(), oracle::unit_lengths(s.expected.centroids).view()))
          << s.name;
}

TEST(spherical, float_rows_of_one_direction_do_not_chase_their_own_rounding) {
  // Divided by its length the row is another one; an empty cluster must not take it for that.
  float const x[] = {0.26726124F, 0.5345225F, 0.8017837F, 0.26726124F, 0.5345225F, 0.8017837F};
  kopse::options o;
  o.spherical = true, o.init = "random";
  kopse::result const got = kopse::fit(kopse::point_set<float>({x, 2, 3}), 2, o);
  EXPECT_TRUE(got.converged());
  EXPECT_EQ(got.iterations, 2);
  EXPECT_EQ(got.empty_clusters, 1);
}

TEST(spherical, a_fit_from_its_own_centroids_is_at_its_end) {
  matrix<double> const rows = directions<double>(kind::random, 200, 6, 3);
  kopse::options o;
  o.spherical = true;
  kopse::result const first = kopse::fit(kopse::point_set<double>(rows), 9, o);
  o.centroids = first.centroids;
  kopse::result const again = kopse::fit(kopse::point_set<double>(rows), 9, o);
  EXPECT_EQ(again.iterations, 2);
  EXPECT_TRUE(same_matrix(again.centroids.view(), first.centroids.view()));
  EXPECT_TRUE(same_number("inertia", again.inertia, first.inertia));
}

TEST(normalise_rows, divides_by_the_length_at_any_scale_and_once) {
  families::random r(1);
  for (index d : {1, 2, 3, 17, 300})
    for (double const scale : {1.0, 1e-3, 1e149, 1e-160, 1e-300, 5e-323}) {
      matrix<double> rows(50, d);
      for (index i = 0; i < rows.rows() * d; ++i) rows.row(0)[i] = r.normal() * scale;
      fill_zero_rows(rows);
      matrix<double> const expected = oracle::unit_lengths(rows);
      for (int const threads : {1, 3}) {
        matrix<double> got = rows;
        kopse::normalise_rows(got, threads);
        ASSERT_TRUE(same_matrix(got.view(), expected.view())) << d << " columns, scale " << scale;
        for (index i = 0; i < got.rows(); ++i) {
          double sum = 0;
          for (index j = 0; j < d; ++j) sum += got(i, j) * got(i, j);
          ASSERT_NEAR(sum, 1, 1e-13);
        }
        kopse::normalise_rows(got, threads);
        ASSERT_TRUE(same_matrix(got.view(), expected.view())) << "divided twice";
        EXPECT_NO_THROW(kopse::check_unit_length(kopse::point_set<double>(got)));
      }
    }
}

/// What f() throws.
template <class F> std::string message_of(F const& f) {
  try {
    f();
  } catch (kopse::error const& e) {
    return e.what();
  }
  return "nothing was thrown";
}

TEST(spherical, refuses_rows_and_centroids_without_unit_length) {
  matrix<double> x(3, 2);
  x(0, 0) = 1, x(1, 1) = -1, x(2, 0) = 3, x(2, 1) = 4;
  kopse::options o;
  o.spherical = true;
  auto const fit = [&] { kopse::fit(kopse::point_set<double>(x), 2, o); };
  EXPECT_EQ(message_of(fit), "row 2 (counted from 0) has length 5: expected 1, as spherical k-means is of "
                             "directions");
  EXPECT_EQ(message_of([&] { kopse::check_unit_length(kopse::point_set<double>(x, {}, 40)); }),
            "row 42 (counted from 0) has length 5: expected 1, as spherical k-means is of directions");
  x(2, 0) = 0, x(2, 1) = std::sqrt(1 + 1.1e-6);
  EXPECT_NE(message_of(fit).find("row 2 (counted from 0) has length 1.00000054"), std::string::npos);
  x(2, 1) = std::sqrt(1 - 9e-7);
  EXPECT_NO_THROW(fit());
  o.centroids = matrix<double>(2, 2);
  (*o.centroids)(0, 0) = 7;
  EXPECT_EQ(message_of(fit),
            "starting centroid 1 (counted from 0) is all zeros: it has no direction; expected "
            "a value that is not 0");
  x(1, 1) = 0;
  EXPECT_EQ(message_of([&] { kopse::normalise_rows(x); }),
            "row 1 (counted from 0) is all zeros: it has no direction; expected a value that is not 0");
  x(1, 1) = NAN;
  EXPECT_NE(message_of([&] { kopse::normalise_rows(x); }).find("row 1, column 1 (counted from 0) is NaN"),
            std::string::npos);
}

TEST(spherical, is_not_for_criteria_of_means) {
  matrix<double> const rows = directions<double>(kind::random, 20, 2, 1);
  kopse::choose_options o;
  o.spherical = true;
  EXPECT_THROW(kopse::choose_k(kopse::point_set<double>(rows), {2}, o), kopse::usage_error);
  kopse::x_means_options x;
  x.spherical = true;
  EXPECT_THROW(kopse::x_means(kopse::point_set<double>(rows), x), kopse::usage_error);
}

} // namespace
