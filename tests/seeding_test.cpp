// SPDX-License-Identifier: BSD-3-Clause
// Starting centroids: k-means++ takes the rows of its definition, whatever the tree, and by its law.
#include "cases.hpp"
#include "kopse/seeding.hpp"
#include "mass_table.hpp"
#include "seeding_methods.hpp"
#include "seeding_oracle.hpp"

namespace {

using namespace cases;
using kopse::index;
using kopse::seeding_options;
using kopse::seeding_result;

// The sampler.

struct drawn_table {
  explicit drawn_table(numbers m) : masses(std::move(m)), table(layout(), std::ssize(masses)) {
    for (index i = 0; i < table.rows(); ++i) table.change(i, 0, masses[static_cast<std::size_t>(i)]);
  }
  kopse::mass_layout layout() const {
    kopse::bit_range range;
    for (double const m : masses) range.add(m), range.add(m / 64); // room for what tests make of them
    return {range, std::ssize(masses)};
  }
  index draw(std::uint64_t u) const {
    return table.find(kopse::share(table.total(), u),
                      [&](index i) { return masses[static_cast<std::size_t>(i)]; });
  }
  numbers masses;
  kopse::mass_table table;
};

constexpr std::uint64_t last_draw = ~std::uint64_t{0};

TEST(mass_table, ends_of_the_range_are_on_rows_of_mass) {
  drawn_table const t({0, 0, 3, 0, 1, 0, 0});
  EXPECT_EQ(t.draw(0), 2);
  EXPECT_EQ(t.draw((std::uint64_t{3} << 62) - 1), 2);
  EXPECT_EQ(t.draw(std::uint64_t{3} << 62), 4);
  EXPECT_EQ(t.draw(last_draw), 4);
}

TEST(mass_table, draws_as_its_definition_says) {
  families::random r(3);
  for (index const n : {1, 2, 127, 128, 129, 5000, 40000}) {
    numbers masses;
    for (index i = 0; i < n; ++i)
      masses.push_back(r.one_in(3) ? 0.0
                                   : std::abs(families::of_exponent(r, r.below(n > 1000 ? 4 : 1400) - 1000)));
    masses[static_cast<std::size_t>(r.below(n))] = 1;
    drawn_table t(masses);
    for (int turn = 0; turn < 3; ++turn) {
      for (std::uint64_t const u :
           {std::uint64_t{0}, std::uint64_t{1} << 63, last_draw, r.below(n) * 977ul << 40})
        ASSERT_EQ(t.draw(u), oracle::draw(t.masses, u)) << n << " rows, u " << u;
      for (index i = 0; i < n; i += 1 + r.below(3)) { // sums follow changes, and nothing of the old stays
        double& mass = t.masses[static_cast<std::size_t>(i)];
        t.table.change(i, mass, mass / 4);
        mass /= 4;
      }
    }
  }
}

TEST(mass_table, sums_leave_nothing_behind) {
  drawn_table t({1e300, 0.1, 0.2, 1e-300});
  kopse::mass_sum const before = t.table.total();
  for (double const m : {0.3, 1e290, 1e-290, 0.0}) { // all in the layout's range
    t.table.change(1, 0.1, m);
    EXPECT_NE(t.table.total(), before);
    t.table.change(1, m, 0.1);
    EXPECT_EQ(t.table.total(), before);
  }
  for (index i = 0; i < 4; ++i) t.table.change(i, t.masses[static_cast<std::size_t>(i)], 0);
  EXPECT_TRUE(kopse::is_zero(t.table.total()));
}

// The rows of k-means++.

std::vector<seeding_options> ways_to_seed(index d) {
  std::vector<seeding_options> all;
  std::size_t turn = 0;
  for (std::string_view const tree : kopse::trees())
    for (index const leaf : leaf_sizes) {
      if (tree == "octree" && d > 16) continue;
      seeding_options o;
      o.tree = tree, o.leaf_size = leaf, o.threads = thread_counts[turn++ % thread_counts.size()];
      all.push_back(o);
    }
  return all;
}

std::string name(seeding_options const& o) {
  return o.tree + " leaf " + std::to_string(o.leaf_size) + " threads " + std::to_string(o.threads)
         + " candidates " + std::to_string(o.candidates);
}

template <class Real> void takes_the_rows_of_the_definition() {
  index const n = sanitized ? 60 : 200;
  for (std::size_t f = 0; f < static_cast<std::size_t>(family::count); ++f) {
    auto const data = static_cast<family>(f);
    auto const weighting = static_cast<families::weighting>(f % static_cast<std::size_t>(weighting::count));
    index const d = 1 + static_cast<index>(f) % 5, k = 30;
    matrix<Real> const x = families::make_rows<Real>(data, n, d, 11 + f);
    numbers const w = families::make_weights(weighting, n, f);
    for (index const candidates : {1, 3, 0}) {
      auto const expected = oracle::plus_plus(x.view(), oracle::scaled_weights(w, n).values, k, f, 2,
                                              candidates > 0 ? candidates : 5);
      for (seeding_options o : ways_to_seed(d)) {
        o.seed = f, o.restart = 2, o.candidates = candidates;
        seeding_result const got = kopse::seed(point_set<Real>(x.view(), w), k, o);
        SCOPED_TRACE(families::name(data) + " " + families::name(weighting) + " " + name(o));
        ASSERT_EQ(got.distinct, std::ssize(expected));
        ASSERT_EQ(got.centroids.rows(), k);
        for (index j = 0; j < k; ++j) {
          index const row = expected[static_cast<std::size_t>(j) % expected.size()];
          ASSERT_EQ(got.rows[static_cast<std::size_t>(j)], row) << "centroid " << j;
          for (index i = 0; i < d; ++i) ASSERT_EQ(got.centroids(j, i), static_cast<double>(x(row, i)));
        }
        ASSERT_EQ(got.warnings.size(), got.distinct < k ? 1u : 0u);
      }
    }
  }
}
TEST(plus_plus, takes_the_rows_of_its_definition_double) { takes_the_rows_of_the_definition<double>(); }
TEST(plus_plus, takes_the_rows_of_its_definition_float) { takes_the_rows_of_the_definition<float>(); }

// Large enough for branches, and for the threads that take them.
TEST(plus_plus, is_the_same_on_any_number_of_threads) {
  index const n = sanitized ? 70000 : 200000, k = 300;
  matrix<double> const x = families::make_rows<double>(family::clustered, n, 3, 5);
  numbers const w = families::make_weights(weighting::random, n, 5);
  std::vector<seeding_result> all;
  for (int const threads : thread_counts) {
    seeding_options o;
    o.threads = threads;
    all.push_back(kopse::seed(point_set<double>(x.view(), w), k, o));
    EXPECT_EQ(all.back().rows, all.front().rows) << threads;
    EXPECT_EQ(all.back().work.distances, all.front().work.distances) << threads;
    EXPECT_EQ(all.back().work.node_scores, all.front().work.node_scores) << threads;
  }
  EXPECT_LT(all.front().work.distances, n * k / 20); // the tree is of use
}

TEST(plus_plus, is_the_same_for_any_cut_into_partitions) {
  for (std::size_t seed = 1; seed <= 8; ++seed) {
    index const n = 300, k = 40;
    matrix<double> const x = families::make_rows<double>(static_cast<family>(seed), n, 2, seed);
    numbers w = families::make_weights(static_cast<families::weighting>(seed % 5), n, seed);
    w = oracle::scaled_weights(w, n).values;
    seeding_options o;
    o.seed = seed, o.candidates = 1 + static_cast<index>(seed % 2), o.threads = 1;
    auto const expected = kopse::seed(point_set<double>(x.view(), w), k, o).rows;
    for (std::vector<index> const& ends :
         {std::vector<index>{n}, {1, n}, {150, 150, 299, n}, {0, 100, 200, n}}) {
      std::vector<std::shared_ptr<kopse::any_tree<double> const>> trees;
      std::vector<kopse::seeding_part<double>> parts;
      index first = 0;
      for (index const last : ends) {
        auto const at = static_cast<std::size_t>(first);
        point_set<double> const points(x.view().slice(first, last),
                                       std::span(w).subspan(at, static_cast<std::size_t>(last - first)),
                                       first);
        trees.push_back(last > first ? kopse::build_named<double>("kd", points.rows, 5, 1) : nullptr);
        parts.push_back({points, trees.back().get()});
        first = last;
      }
      EXPECT_EQ(kopse::plus_plus<double>(parts, {}, k, o).rows, expected) << "seed " << seed;
    }
  }
}

TEST(plus_plus, goes_on_from_given_centroids) {
  matrix<double> const x = column({0, 1, 10, 11, 20}), given = column({0.5, 10.5});
  std::shared_ptr<kopse::any_tree<double> const> const tree =
      kopse::build_named<double>("kd", x.view(), 1, 1);
  kopse::seeding_part<double> const part{point_set<double>(x.view()), tree.get()};
  seeding_options o;
  o.threads = 1;
  int far = 0;
  for (o.seed = 0; o.seed < 200; ++o.seed) {
    seeding_result const got = kopse::plus_plus<double>({&part, 1}, given, 3, o);
    EXPECT_EQ(got.centroids(0, 0), 0.5);
    EXPECT_EQ(got.centroids(1, 0), 10.5);
    far += got.centroids(2, 0) == 20; // 90.25 of 91.25 of the mass
  }
  EXPECT_GT(far, 190);
  EXPECT_LT(far, 200);
}

// The law. Sequences of rows, their probabilities by the definition, and how often each was drawn over many
// seeds: Pearson's sum against a bound that it exceeds once in 10,000 if the law is right. The seeds are
// fixed, so a test either passes or it does not.

double square(double x) { return x * x; }

struct law {
  numbers x, w;
  // P(second, third | first …) of one more row.
  numbers next(std::vector<std::size_t> const& chosen, bool squared) const {
    numbers p(x.size());
    double total = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      double d2 = chosen.empty() ? 1 : HUGE_VAL;
      for (std::size_t const c : chosen) d2 = std::min(d2, square(x[i] - x[c]));
      p[i] = w[i] * (squared ? d2 : std::sqrt(d2));
      total += p[i];
    }
    for (double& each : p) each /= total;
    return p;
  }
  // Of each sequence of k rows, as digits to the base of the number of rows.
  numbers sequences(index k, bool squared) const {
    numbers all(static_cast<std::size_t>(std::pow(x.size(), k)), 0.0);
    auto const go = [&](auto const& self, std::vector<std::size_t>& chosen, std::size_t code,
                        double p) -> void {
      if (std::ssize(chosen) == k) {
        all[code] = p;
        return;
      }
      numbers const step = next(chosen, squared);
      for (std::size_t i = 0; i < x.size(); ++i) {
        if (step[i] == 0) continue;
        chosen.push_back(i);
        self(self, chosen, code * x.size() + i, p * step[i]);
        chosen.pop_back();
      }
    };
    std::vector<std::size_t> none;
    go(go, none, 0, 1);
    return all;
  }
};

struct pearson {
  double sum = 0;
  index cells = 0;
  // Wilson and Hilferty's cube of a normal number; 3.72 is exceeded once in 10,000.
  double bound() const {
    double const f = static_cast<double>(cells - 1);
    return f * std::pow(1 - 2 / (9 * f) + 3.72 * std::sqrt(2 / (9 * f)), 3);
  }
};

pearson compare(std::vector<index> const& counts, numbers const& p, index draws) {
  pearson result;
  double rest_expected = 0, rest = 0; // cells too small to stand alone
  for (std::size_t i = 0; i < p.size(); ++i) {
    double const expected = p[i] * static_cast<double>(draws), count = static_cast<double>(counts[i]);
    EXPECT_TRUE(p[i] > 0 || counts[i] == 0) << "impossible: " << i;
    if (expected < 8) {
      rest_expected += expected, rest += count;
      continue;
    }
    result.sum += square(count - expected) / expected;
    ++result.cells;
  }
  if (rest_expected > 0)
    result.sum += square(rest - rest_expected) / std::max(1.0, rest_expected), ++result.cells;
  return result;
}

TEST(plus_plus, draws_by_its_law) {
  index const draws = sanitized ? 8000 : 40000, k = 3;
  std::vector<law> const laws = {{{0, 1, 3, 4, 9}, {1, 1, 1, 1, 1}},
                                 {{0, 1, 3, 4, 9}, {1, 2, 0.5, 0, 4}},
                                 {{-5, -5, 2, 2.5, 30, 31}, {3, 1, 1, 2, 1e-3, 0.25}}};
  for (law const& l : laws) {
    std::size_t const n = l.x.size();
    matrix<double> const x = column(l.x);
    kopse::built_tree<double> const tree = kopse::build_tree(x.view(), "kd", 2);
    std::vector<index> counts(static_cast<std::size_t>(std::pow(n, k)));
    seeding_options o;
    o.threads = 1;
    for (index i = 0; i < draws; ++i) {
      o.seed = static_cast<std::uint64_t>(i / 2), o.restart = i % 2;
      auto const rows = kopse::seed(point_set<double>(x.view(), l.w), k, o, tree).rows;
      std::size_t code = 0;
      for (index const row : rows) code = code * n + static_cast<std::size_t>(row);
      ++counts[code];
    }
    pearson const right = compare(counts, l.sequences(k, true), draws);
    EXPECT_LT(right.sum, right.bound());
    pearson const wrong = compare(counts, l.sequences(k, false), draws); // by D: the test can tell
    EXPECT_GT(wrong.sum, 2 * wrong.bound());
  }
}

// The other ways to start.

TEST(seed, every_start_is_the_same_on_any_tree_and_number_of_threads) {
  index const n = sanitized ? 400 : 3000, k = 25;
  for (std::string_view const init : kopse::inits())
    for (std::size_t f : {0u, 1u, 2u}) {
      matrix<double> const x = families::make_rows<double>(
          std::array{family::clustered, family::lattice, family::outlier}[f], n, 2, f);
      numbers const w = families::make_weights(
          std::array{weighting::none, weighting::with_zeros, weighting::random}[f], n, f);
      numbers expected;
      for (seeding_options o : ways_to_seed(2)) {
        o.init = init, o.seed = f, o.samples = 3, o.sample_rows = n / 4;
        seeding_result const got = kopse::seed(point_set<double>(x.view(), w), k, o);
        if (expected.empty()) expected = values(got.centroids);
        ASSERT_EQ(values(got.centroids), expected) << init << " " << name(o);
        ASSERT_EQ(got.rows.empty(), !kopse::takes_rows(init));
        for (std::size_t j = 0; j < got.rows.size(); ++j)
          ASSERT_TRUE(std::equal(x.row(got.rows[j]), x.row(got.rows[j]) + 2,
                                 got.centroids.row(static_cast<index>(j))));
      }
    }
}

// With more rows wanted than there are, all of any distance are candidates: what is left is weighted
// k-means++.
TEST(k_means_parallel, reclusters_its_candidates) {
  matrix<double> const x = families::make_rows<double>(family::uniform, 150, 2, 1);
  numbers const w = oracle::scaled_weights(families::make_weights(weighting::random, 150, 1), 150).values;
  seeding_options o;
  o.init = "k-means||", o.rounds = 1, o.oversampling = 1e300;
  for (o.seed = 0; o.seed < 20; ++o.seed) {
    index const first = oracle::plus_plus(x.view(), w, 1, o.seed)[0];
    matrix<double> candidates(150, 2);
    numbers weights(150);
    for (index i = 0; i < 150; ++i) {
      index const row = i == 0 ? first : i <= first ? i - 1 : i;
      std::copy_n(x.row(row), 2, candidates.row(i));
      weights[static_cast<std::size_t>(i)] = w[static_cast<std::size_t>(row)];
    }
    auto const expected = oracle::plus_plus(candidates.view(), weights, 12, ~o.seed);
    auto const got = kopse::seed(point_set<double>(x.view(), w), 12, o);
    for (index j = 0; j < 12; ++j)
      for (index i = 0; i < 2; ++i)
        ASSERT_EQ(got.centroids(j, i), candidates(expected[static_cast<std::size_t>(j)], i))
            << "seed " << o.seed;
  }
}

// Clusters that random rows miss, now and then.
TEST(k_means_parallel, spreads_over_clusters_as_k_means_plus_plus_does) {
  matrix<double> const x = families::make_rows<double>(family::clustered, 3000, 2, 9);
  auto const mean_inertia = [&](char const* init) {
    double sum = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      seeding_options start;
      start.init = init, start.seed = seed, start.sample_rows = 300;
      options o;
      o.centroids = kopse::seed(point_set<double>(x.view()), 5, start).centroids, o.max_iter = 1;
      sum += kopse::fit(point_set<double>(x.view()), 5, o).inertia / 20;
    }
    return sum;
  };
  double const plus_plus = mean_inertia("k-means++");
  EXPECT_LT(mean_inertia("k-means||"), 1.3 * plus_plus);
  EXPECT_LT(mean_inertia("refined"), plus_plus);
  EXPECT_LT(mean_inertia("coreset"), plus_plus);
  EXPECT_GT(mean_inertia("random"), 1.3 * plus_plus);
}

// With one sample, of all rows, it is a fit from random rows, and clustering its centroids changes nothing.
TEST(refined, is_a_fit_of_its_samples) {
  matrix<double> const x = families::make_rows<double>(family::clustered, 300, 3, 2);
  seeding_options o;
  o.init = "refined", o.samples = 1, o.sample_rows = 300;
  for (o.seed = 0; o.seed < 10; ++o.seed) {
    auto const order = kopse::draw_rows(300, 300, kopse::random_stream(o.seed, 0).bits(0), 0);
    options f;
    f.centroids = matrix<double>(7, 3);
    for (index j = 0; j < 7; ++j)
      std::copy_n(x.row(order[static_cast<std::size_t>(j)]), 3, f.centroids->row(j));
    matrix<double> const expected = kopse::fit(point_set<double>(x.view()), 7, f).centroids;
    EXPECT_EQ(values(kopse::seed(point_set<double>(x.view()), 7, o).centroids), values(expected)) << o.seed;
  }
}

// The mean of a coreset is that of the data, on average: its weights make up for how it is drawn.
TEST(coreset, weighs_what_it_draws) {
  families::random r(4);
  matrix<double> x(600, 1);
  numbers w(600);
  double sum = 0, weight = 0;
  for (index i = 0; i < 600; ++i) {
    x(i, 0) = r.one_in(20) ? 30 + r.unit() : r.unit(); // few far rows, drawn ten times as often as they weigh
    w[static_cast<std::size_t>(i)] = r.unit() + .1;
    sum += w[static_cast<std::size_t>(i)] * x(i, 0), weight += w[static_cast<std::size_t>(i)];
  }
  seeding_options o;
  o.init = "coreset", o.sample_rows = 200;
  double mean = 0, square_sum = 0;
  int const seeds = sanitized ? 200 : 1000;
  for (o.seed = 0; o.seed < static_cast<std::uint64_t>(seeds); ++o.seed) {
    double const got = kopse::seed(point_set<double>(x.view(), w), 1, o).centroids(0, 0);
    mean += got / seeds, square_sum += got * got / seeds;
  }
  double const error = std::sqrt((square_sum - mean * mean) / seeds);
  EXPECT_GT(error, 0);
  EXPECT_LT(error, 0.02);
  EXPECT_NEAR(mean, sum / weight, 4 * error);
}

// What seed() refuses, and names.

TEST(seed, counts_the_centroids_that_differ) {
  matrix<double> rows(100, 2);
  for (index i = 0; i < 100; ++i) rows(i, 0) = static_cast<double>(i % 7 == 0), rows(i, 1) = 3;
  for (char const* const init : {"random", "k-means++", "coreset"}) {
    kopse::seeding_options o;
    o.init = init;
    EXPECT_EQ(kopse::seed(kopse::point_set<double>(rows.view()), 60, o).distinct, 2) << init;
  }
}

TEST(seed, refuses_what_cannot_be) {
  matrix<double> const x = column({0, 1, 2});
  auto const refused = [&](auto const& change, index k = 2) {
    seeding_options o;
    change(o);
    return message<kopse::usage_error>([&] { kopse::seed(point_set<double>(x.view()), k, o); });
  };
  EXPECT_TRUE(names(refused([](auto& o) { o.init = "best"; }), {"'best'", "k-means++", "random"}));
  EXPECT_TRUE(names(refused([](auto& o) { o.candidates = -1; }), {"candidates", "-1"}));
  EXPECT_TRUE(names(refused([](auto& o) { o.restart = -1; }), {"restart", "-1"}));
  EXPECT_TRUE(names(refused([](auto& o) { o.rounds = 0; }), {"rounds"}));
  index const huge = 1000000000000;
  EXPECT_TRUE(names(refused([&](auto& o) { o.candidates = huge; }), {"candidates", "2^32"}));
  EXPECT_TRUE(names(refused([&](auto& o) { o.rounds = huge; }), {"rounds", "2^32"}));
  EXPECT_TRUE(names(refused([&](auto& o) { o.samples = huge; }), {"samples", "2^32"}));
  EXPECT_TRUE(names(refused([](auto& o) { o.samples = 0; }), {"samples"}));
  EXPECT_TRUE(names(refused([](auto& o) { o.sample_rows = -2; }), {"sample_rows"}));
  for (double const bad : {0.0, -1.0, std::nan(""), HUGE_VAL})
    EXPECT_TRUE(names(refused([&](auto& o) { o.oversampling = bad; }), {"oversampling"}));
  EXPECT_TRUE(names(refused([](auto& o) { o.tree = "oak"; }), {"oak"}));
  for (std::string_view const init : kopse::inits()) {
    EXPECT_TRUE(names(refused([&](auto& o) { o.init = init; }, 0), {"k = 0"}));
    EXPECT_TRUE(names(refused([&](auto& o) { o.init = init; }, 8), {"8", "3"})); // H11
  }
  matrix<double> const bad = column({0, std::nan(""), 2});
  EXPECT_TRUE(names(message([&] { kopse::seed(point_set<double>(bad.view()), 2); }), {"row 1, column 0"}));
  EXPECT_TRUE(names(message([&] {
                      kopse::seed(point_set<double>(x.view(), numbers{1, -1, 1}), 2);
                    }),
                    {"row 1"}));
  auto const other = kopse::build_tree(bad.view().slice(2, 3));
  EXPECT_TRUE(names(message([&] { kopse::seed(point_set<double>(x.view()), 2, {}, other); }), {"tree"}));
}

TEST(seed, stops_when_told_to) {
  matrix<double> const x = families::make_rows<double>(family::uniform, 2000, 2, 1);
  std::atomic<bool> const stop = true;
  for (std::string_view const init : kopse::inits()) {
    if (init == "random") continue; // it is done before anyone could ask
    seeding_options o;
    o.init = init, o.stop = &stop;
    EXPECT_THROW(kopse::seed(point_set<double>(x.view()), 50, o), kopse::interrupted) << init;
  }
}

TEST(seed, restarts_differ_and_fit_takes_the_best) {
  matrix<double> const x = families::make_rows<double>(family::uniform, 500, 2, 1);
  seeding_options o;
  auto const first = kopse::seed(point_set<double>(x.view()), 10, o).rows;
  o.restart = 1;
  EXPECT_NE(kopse::seed(point_set<double>(x.view()), 10, o).rows, first);
  options f;
  f.restarts = 6;
  result const best = kopse::fit(point_set<double>(x.view()), 10, f);
  for (index r = 0; r < 6; ++r) {
    o.restart = r;
    options one;
    one.centroids = kopse::seed(point_set<double>(x.view()), 10, o).centroids;
    double const inertia = kopse::fit(point_set<double>(x.view()), 10, one).inertia;
    EXPECT_EQ(inertia == best.inertia, r == best.best_restart || inertia <= best.inertia) << r;
    EXPECT_GE(inertia, best.inertia) << r;
  }
}

// 0 was taken for none at all once: every centroid was the first row.
TEST(plus_plus, no_candidates_named_are_two_and_the_logarithm_of_k) {
  matrix<double> const x = normal_rows<double>(500, 2, 1);
  for (index const k : {1, 2, 3, 8, 21}) { // ln: 0, 0.7, 1.1, 2.1, 3.04
    seeding_options unnamed, named;
    unnamed.candidates = 0;
    named.candidates = 2 + static_cast<index>(std::log(static_cast<double>(k)));
    EXPECT_EQ(kopse::seed(point_set<double>(x.view()), k, unnamed).rows,
              kopse::seed(point_set<double>(x.view()), k, named).rows);
  }
}

} // namespace
