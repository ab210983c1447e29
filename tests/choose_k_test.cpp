// SPDX-License-Identifier: BSD-3-Clause
// How many clusters: the criteria by their formulas, the sweep over one tree, X-means and the splits it is
// made of.
#include "any_tree.hpp"
#include "cases.hpp"
#include "kopse/choose_k.hpp"
#include "kopse/seeding.hpp"
#include "node_split.hpp"
#include "scores.hpp"

namespace {

using namespace cases;
using kopse::index;

/// Round clusters of one width around places at least `apart` widths from one another, rows in turn.
matrix<double> mixture(index clusters, index rows_each, index d, double apart, std::uint64_t seed) {
  families::random r(seed);
  double const side =
      apart * 2 * std::ceil(std::pow(static_cast<double>(clusters), 1 / static_cast<double>(d)));
  matrix<double> centres(clusters, d);
  for (index j = 0; j < clusters;) {
    for (index i = 0; i < d; ++i) centres(j, i) = side * r.unit();
    bool far = true;
    for (index other = 0; other < j; ++other)
      far = far && kopse::squared_distance(centres.row(j), centres.row(other), d) >= apart * apart;
    j += far;
  }
  matrix<double> x(clusters * rows_each, d);
  for (index i = 0; i < x.rows(); ++i)
    for (index j = 0; j < d; ++j) x(i, j) = centres(i % clusters, j) + r.normal();
  return x;
}

TEST(parse_ks, lists_ranges_and_geometric_ones) {
  using list = std::vector<index>;
  EXPECT_EQ(kopse::parse_ks("7"), list({7}));
  EXPECT_EQ(kopse::parse_ks("5,2,5"), list({2, 5}));
  EXPECT_EQ(kopse::parse_ks("2:32"), list({2, 4, 8, 16, 32}));
  EXPECT_EQ(kopse::parse_ks("3:20"), list({3, 6, 12}));
  EXPECT_EQ(kopse::parse_ks("2:9:3"), list({2, 5, 8}));
  EXPECT_EQ(kopse::parse_ks("1:3:1,10"), list({1, 2, 3, 10}));
  EXPECT_EQ(kopse::parse_ks("2:10:x1.5"), list({2, 3, 5, 7}));
  EXPECT_EQ(kopse::parse_ks("1:10:9223372036854775807"), list({1}));
  EXPECT_EQ(kopse::parse_ks("1:9223372036854775807").back(),
            std::numeric_limits<index>::max()); // nearly 2^63
  EXPECT_EQ(kopse::parse_ks("9223372036854775806:9223372036854775807:1").size(), 2u);
  for (char const* bad :
       {"", ",", "x", "0", "-1", "2:", ":3", "5:2", "2:9:0", "2:9:x1", "2:9:xinf", "2:9:x", "2;3", "1:2:3:4",
        "2,", "1:2000000000:1", "1:200:x1.0000000001", "1:9:x1.0000000000000000001"})
    EXPECT_TRUE(names(message<kopse::usage_error>([&] { kopse::parse_ks(bad); }), {"k '"})) << bad;
}

// The numbers of 1:5000 end at 4096; that is no reason for X-means to.
TEST(parse_k_bounds, are_the_ends_as_written) {
  auto const bounds = [](char const* text) {
    kopse::k_bounds const b = kopse::parse_k_bounds(text);
    return std::pair(b.least, b.most);
  };
  EXPECT_EQ(bounds("1:5000"), std::pair(index{1}, index{5000}));
  EXPECT_EQ(bounds("3"), std::pair(index{3}, index{3}));
  EXPECT_EQ(bounds("40,2:9:3,7"), std::pair(index{2}, index{40}));
  EXPECT_EQ(bounds("1:2000000000:1"), std::pair(index{1}, index{2000000000})); // no list is made
  for (char const* bad : {"", "0", "5:2", "2:9:0", "2:9:x1", "2,"})
    EXPECT_TRUE(names(message<kopse::usage_error>([&] { kopse::parse_k_bounds(bad); }), {"k '"})) << bad;
}

TEST(scores, are_their_formulas) {
  // Two clusters of 3 and 1 rows in the plane: L and both criteria worked out by hand.
  numbers const weights = {3, 1};
  double const inertia = 6, variance = 6. / (2 * 2);
  double const likelihood = 3 * std::log(.75) + std::log(.25) - 4 * std::log(2 * M_PI * variance) - 2;
  EXPECT_NEAR(kopse::log_likelihood(weights, inertia, 2), likelihood, 1e-12);
  EXPECT_NEAR(kopse::bic(weights, inertia, 2), -2 * likelihood + 6 * std::log(4), 1e-12);
  EXPECT_NEAR(kopse::aic(weights, inertia, 2), -2 * likelihood + 12, 1e-12);
  EXPECT_TRUE(std::isnan(kopse::bic(weights, 0, 2)));
  EXPECT_TRUE(std::isnan(kopse::bic(numbers{1, 1}, 1, 2))); // as many clusters as rows
}

TEST(scores, silhouette_by_brute_force) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    matrix<double> const x =
        families::make_rows<double>(seed % 2 == 0 ? family::lattice : family::clustered, 400, 2, seed);
    numbers const w = families::make_weights(weighting::with_zeros, 400, seed);
    result const run = kopse::fit(point_set<double>(x.view(), w), 9);
    double sum = 0, weight = 0;
    for (index i = 0; i < 400; ++i) {
      auto const own = run.labels[static_cast<std::size_t>(i)];
      double b2 = HUGE_VAL;
      for (label j = 0; j < 9; ++j)
        if (j != own && std::count(run.labels.begin(), run.labels.end(), j) > 0)
          b2 = std::min(b2, kopse::squared_distance(x.row(i), run.centroids.row(j), 2));
      double const a = std::sqrt(kopse::squared_distance(x.row(i), run.centroids.row(own), 2)),
                   b = std::sqrt(b2);
      sum += w[static_cast<std::size_t>(i)] * (b - a) / std::max(a, b),
          weight += w[static_cast<std::size_t>(i)];
    }
    EXPECT_NEAR(kopse::simplified_silhouette(point_set<double>(x.view(), w), run.centroids.view(),
                                             std::span<label const>(run.labels), 2, nullptr),
                sum / weight, 1e-12);
  }
  // A cluster whose rows all have weight 0 is none, as near as it may be.
  matrix<double> const y = column({0, 1, 4, 5, 100}), ends = column({0.5, 4.5, 0});
  labels const two{0, 0, 1, 1, 1}, three{0, 2, 1, 1, 1};
  numbers const light{1, 0, 1, 1, 0};
  double const expected = ((4.5 - 0.5) / 4.5 + (3.5 - 0.5) / 3.5 + (4.5 - 0.5) / 4.5) / 3;
  for (labels const& given : {two, three})
    EXPECT_NEAR(kopse::simplified_silhouette(point_set<double>(y.view(), light), ends.view(),
                                             std::span<label const>(given), 1, nullptr),
                expected, 1e-12);
  matrix<double> const x = column({1, 2}), c = column({1.5});
  EXPECT_TRUE(std::isnan(kopse::simplified_silhouette(point_set<double>(x.view()), c.view(),
                                                      std::span<label const>(labels{0, 0}), 1, nullptr)));
}

TEST(choose_k, finds_the_clusters_that_stand_apart_over_one_tree) {
  matrix<double> const x = mixture(12, sanitized ? 40 : 150, 2, 12, 1);
  std::vector<index> const ks = kopse::parse_ks("1:24:1");
  kopse::choose_options o;
  std::vector<index> told;
  o.on_k = [&](kopse::k_scores const& s) { told.push_back(s.k); };
  kopse::choice_result const got = kopse::choose_k(point_set<double>(x.view()), ks, o);
  EXPECT_EQ(told, ks);
  EXPECT_EQ(got.tree_builds, 1);
  EXPECT_EQ(got.chosen.bic, 12);
  EXPECT_EQ(got.chosen.calinski_harabasz, 12);
  EXPECT_EQ(got.chosen.silhouette, 12);
  EXPECT_EQ(got.chosen.knee, 12);
  ASSERT_EQ(got.curve.size(), ks.size());
  EXPECT_TRUE(std::isnan(got.curve[0].silhouette));
  EXPECT_TRUE(std::isnan(got.curve[0].calinski_harabasz));
  // (B / (k − 1)) / (W / (n − k)), B + W the scatter about the mean, which is the inertia of k = 1
  double const all = got.curve[0].inertia, within = got.curve[4].inertia, n = static_cast<double>(x.rows());
  EXPECT_NEAR(got.curve[4].calinski_harabasz, (all - within) / 4 / (within / (n - 5)), 1e-9 * all);
  auto const tree = kopse::build_tree(x.view());
  kopse::choice_result const given = kopse::choose_k(point_set<double>(x.view()), {2, 3}, {}, tree);
  EXPECT_EQ(given.tree_builds, 0);
  for (std::string_view const algorithm : {"lloyd", "filter"}) {
    o.algorithm = algorithm;
    kopse::choice_result const other = kopse::choose_k(point_set<double>(x.view()), ks, o);
    EXPECT_EQ(other.tree_builds, 1) << algorithm;
    for (std::size_t i = 0; i < ks.size(); ++i)
      EXPECT_EQ(other.curve[i].inertia, got.curve[i].inertia) << algorithm;
  }
}

TEST(choose_k, warm_starts_make_the_inertia_fall) {
  matrix<double> const x = families::make_rows<double>(family::uniform, 600, 2, 3);
  auto const rises = [&](bool warm) {
    kopse::choose_options o;
    o.warm = warm, o.silhouette = false;
    auto const curve = kopse::choose_k(point_set<double>(x.view()), kopse::parse_ks("1:60:1"), o).curve;
    int count = 0;
    for (std::size_t i = 1; i < curve.size(); ++i) count += curve[i].inertia > curve[i - 1].inertia;
    EXPECT_EQ(std::any_of(curve.begin(), curve.end(), [](auto const& s) { return s.warm; }), warm);
    return count;
  };
  EXPECT_EQ(rises(true), 0);
  EXPECT_GT(rises(false), 0); // fresh starts alone are not always lucky
}

TEST(choose_k, says_once_that_there_are_fewer_distinct_rows) {
  matrix<double> const x = column({1, 1, 1, 2, 2, 3, 3, 3, 3});
  auto const warnings = [&](char const* ks, numbers const& w = {}) {
    return kopse::choose_k(point_set<double>(x.view(), w), kopse::parse_ks(ks)).warnings;
  };
  EXPECT_TRUE(warnings("1:3:1").empty());
  ASSERT_EQ(warnings("1:7:1").size(), 1u);
  EXPECT_TRUE(names(warnings("1:7:1")[0], {"only 3 distinct rows were", "up to 7 clusters"}));
  ASSERT_EQ(warnings("2:4:1", {1, 1, 1, 1, 1, 0, 0, 0, 0}).size(), 1u);
  EXPECT_TRUE(names(warnings("2:4:1", {1, 1, 1, 1, 1, 0, 0, 0, 0})[0], {"only 2 distinct rows of weight"}));
}

// Such weights make the inertia of few clusters infinite; that is no reason to prefer the first that is not.
TEST(choose_k, of_an_infinite_inertia_nothing_is_chosen) {
  matrix<double> const x = column({1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  kopse::choice_result const got =
      kopse::choose_k(point_set<double>(x.view(), numbers(10, 1e308)), kopse::parse_ks("1:10:1"));
  EXPECT_TRUE(std::isinf(got.curve[0].inertia) && std::isfinite(got.curve[8].inertia));
  for (auto const& s : got.curve) EXPECT_TRUE(std::isnan(s.calinski_harabasz) && std::isnan(s.bic)) << s.k;
  EXPECT_EQ(got.chosen.calinski_harabasz, 0);
}

// An infinite inertia gives no criterion to compare with: any run that has one is better.
TEST(x_means, goes_on_from_an_infinite_inertia) {
  numbers values;
  for (int i = 0; i < 400; ++i) values.push_back((i % 4 - 1.5) * 6e149 + i % 7 * 1e145);
  matrix<double> const x = column(values);
  kopse::x_means_options o;
  o.most_k = 8;
  kopse::x_means_result const got = kopse::x_means(point_set<double>(x.view(), numbers(400, 1e9)), o);
  double least = HUGE_VAL;
  for (kopse::x_means_round const& round : got.rounds)
    if (round.bic < least) least = round.bic;
  EXPECT_TRUE(std::isnan(got.rounds[0].bic));
  EXPECT_EQ(got.bic, least);
}

TEST(x_means, weights_may_be_huge) {
  numbers values;
  for (int i = 0; i < 400; ++i) values.push_back(i % 4 * 10 + i % 7 / 10.0);
  matrix<double> const x = column(values);
  kopse::x_means_options o;
  o.most_k = 16;
  for (double const weight : {1e16, 1e18, 1e30})
    EXPECT_EQ(kopse::x_means(point_set<double>(x.view(), numbers(400, weight)), o).k, 16) << weight;
}

TEST(choose_k, refuses_what_cannot_be) {
  matrix<double> const x = column({0, 1, 2});
  auto const refused = [&](std::vector<index> ks, kopse::choose_options const& o = {}) {
    return message<kopse::usage_error>(
        [&] { kopse::choose_k(point_set<double>(x.view()), std::move(ks), o); });
  };
  EXPECT_NE(refused({}), "");
  EXPECT_TRUE(names(refused({0, 2}), {"k = 0"}));
  EXPECT_TRUE(names(refused({2, 9}), {"9", "3 rows"}));
  kopse::choose_options o;
  o.centroids = x;
  EXPECT_TRUE(names(refused({2}, o), {"starting centroids"}));
  kopse::x_means_options bounds;
  bounds.least_k = 3, bounds.most_k = 2;
  EXPECT_TRUE(names(message<kopse::usage_error>([&] { kopse::x_means(point_set<double>(x.view()), bounds); }),
                    {"3 to 2"}));
  bounds.most_k = 4;
  EXPECT_TRUE(names(message<kopse::usage_error>([&] { kopse::x_means(point_set<double>(x.view()), bounds); }),
                    {"4", "3 rows"}));
}

// The splits.

struct splits {
  matrix<double> x;
  numbers w;
  std::shared_ptr<kopse::any_tree<double> const> tree;
  std::unique_ptr<kopse::node_splitter> splitter;
  splits(matrix<double> rows, numbers weights, std::string const& name, index leaf)
      : x(std::move(rows)), w(std::move(weights)), tree(kopse::build_named<double>(name, x.view(), leaf, 1)),
        splitter(tree->make_splitter(points(), kopse::summarise(points(), false).layout(), 1, nullptr)) {}
  point_set<double> points() const { return {x.view(), w}; }
};

// A half is the rows nearest to its mean: what Lloyd's iterations end with, over any tree.
TEST(node_split, ends_where_two_means_ends) {
  for (std::size_t f = 0; f < static_cast<std::size_t>(family::count); ++f) {
    std::vector<numbers> expected;
    for (std::string_view const tree : kopse::trees())
      for (index const leaf : {1, 8}) {
        SCOPED_TRACE(families::name(static_cast<family>(f)) + " " + std::string(tree));
        splits const s(families::make_rows<double>(static_cast<family>(f), 300, 2, f),
                       oracle::scaled_weights(families::make_weights(weighting::random, 300, f), 300).values,
                       std::string(tree), leaf);
        auto const halves = s.splitter->split(s.splitter->whole(), kopse::random_stream(f, 0), 7);
        ASSERT_TRUE(halves.has_value());
        std::vector<numbers> means;
        index rows = 0;
        for (kopse::cluster_part const& half : *halves) {
          means.push_back(half.facts.mean);
          rows += std::ssize(half.items.points);
          for (auto const q : half.items.nodes) rows += q >= 0; // counted below, by weight
        }
        double weight = 0, all = 0;
        for (double const each : s.w) all += each;
        for (kopse::cluster_part const& half : *halves) weight += half.facts.weight;
        EXPECT_NEAR(weight, all, 1e-9 * all);
        EXPECT_GT(rows, 0);
        if (expected.empty()) expected = means;
        EXPECT_EQ(means, expected);
        // One more iteration by brute force moves neither.
        matrix<double> c(2, 2);
        for (index j = 0; j < 2; ++j) std::copy_n(means[static_cast<std::size_t>(j)].begin(), 2, c.row(j));
        options o;
        o.centroids = c, o.algorithm = "lloyd";
        result const again = kopse::fit(s.points(), 2, o);
        EXPECT_EQ(values(again.centroids), values(c));
        double const inertia = (*halves)[0].facts.inertia + (*halves)[1].facts.inertia;
        EXPECT_NEAR(again.inertia, inertia, 1e-12 * inertia);
      }
  }
}

TEST(node_split, clusters_are_the_rows_of_the_labels) {
  splits const s(families::make_rows<double>(family::clustered, 500, 3, 2), {}, "kd", 4);
  result const run = kopse::fit(s.points(), 11);
  auto const clusters = s.splitter->clusters(run.labels, 11);
  ASSERT_EQ(clusters.size(), 11u);
  index nodes = 0;
  for (index j = 0; j < 11; ++j) {
    auto const facts = s.splitter->measure(clusters[static_cast<std::size_t>(j)]);
    EXPECT_EQ(facts.weight, std::count(run.labels.begin(), run.labels.end(), j));
    EXPECT_EQ(facts.mean, numbers(run.centroids.row(j), run.centroids.row(j) + 3)); // it has converged
    nodes += std::ssize(clusters[static_cast<std::size_t>(j)].nodes);
  }
  EXPECT_GT(nodes, 0);
}

TEST(node_split, of_equal_rows_there_is_none) {
  splits const same(matrix<double>(5, 2), {}, "kd", 1);
  EXPECT_FALSE(same.splitter->split(same.splitter->whole(), kopse::random_stream(0, 0), 0).has_value());
  // One row far from many equal ones: any direction separates them, if not at first.
  matrix<double> x(100, 3);
  x(99, 1) = 1e-3;
  for (std::uint64_t number = 0; number < 20; ++number) {
    splits const one(x, {}, "kd", 1);
    auto const halves = one.splitter->split(one.splitter->whole(), kopse::random_stream(0, 0), number);
    ASSERT_TRUE(halves.has_value());
    EXPECT_EQ(std::min((*halves)[0].facts.weight, (*halves)[1].facts.weight), 1);
  }
}

TEST(bisecting, is_a_good_start) {
  matrix<double> const x = mixture(40, 50, 2, 10, 5);
  kopse::seeding_options s;
  s.init = "bisecting";
  options o;
  o.centroids = kopse::seed(point_set<double>(x.view()), 40, s).centroids;
  double const inertia = kopse::fit(point_set<double>(x.view()), 40, o).inertia;
  options random;
  random.init = "random";
  EXPECT_LT(inertia, kopse::fit(point_set<double>(x.view()), 40, random).inertia / 2);
}

TEST(bisecting, counts_its_work) {
  matrix<double> const x = mixture(40, 50, 2, 10, 5);
  kopse::seeding_options s;
  s.init = "bisecting";
  kopse::seeding_work first;
  for (int const threads : {1, 2, 5}) {
    s.threads = threads;
    kopse::seeding_work const work = kopse::seed(point_set<double>(x.view()), 40, s).work;
    if (threads == 1) first = work;
    EXPECT_GE(work.distances, 2 * x.rows()); // all rows to the first mean, and later to those of their halves
    EXPECT_LT(work.distances, x.rows() * 40);
    EXPECT_GT(work.node_scores, 40);
    EXPECT_EQ(std::pair(work.distances, work.node_scores), std::pair(first.distances, first.node_scores));
  }
}

// X-means.

void finds_about(index clusters, index rows_each, index d) {
  matrix<double> const x = mixture(clusters, rows_each, d, 10, static_cast<std::uint64_t>(clusters + d));
  kopse::x_means_result const got = kopse::x_means(point_set<double>(x.view()));
  EXPECT_NEAR(static_cast<double>(got.k), static_cast<double>(clusters), 0.05 * static_cast<double>(clusters))
      << d << " dimensions";
  EXPECT_EQ(got.tree_builds, 1);
  EXPECT_GT(got.nodes_taken_whole, 0);
  EXPECT_EQ(got.centroids.rows(), got.k);
  EXPECT_TRUE(consistent(x, got));
  double best = HUGE_VAL;
  for (auto const& round : got.rounds) best = std::min(best, round.bic);
  EXPECT_EQ(got.bic, best);
}
TEST(x_means, recovers_10_clusters) {
  for (index const d : {1, 2, 3, 5}) finds_about(10, 100, d);
}
TEST(x_means, recovers_100_clusters) {
  for (index const d : {2, 3, 5}) finds_about(100, 100, d);
}
TEST(x_means, recovers_1000_clusters) {
  if (sanitized) GTEST_SKIP() << "100 clusters are enough here";
  for (index const d : {2, 3}) finds_about(1000, 60, d);
}

TEST(x_means, keeps_one_cluster_one) {
  matrix<double> const x = normal_rows(2000, 2, 3);
  EXPECT_EQ(kopse::x_means(point_set<double>(x.view())).k, 1);
}

TEST(x_means, keeps_to_its_bounds) {
  matrix<double> const x = mixture(20, 50, 2, 10, 6);
  kopse::x_means_options o;
  o.most_k = 13;
  EXPECT_EQ(kopse::x_means(point_set<double>(x.view()), o).k, 13);
  o.least_k = o.most_k = 7;
  EXPECT_EQ(kopse::x_means(point_set<double>(x.view()), o).k, 7);
  o.least_k = 30, o.most_k = 0;
  EXPECT_GE(kopse::x_means(point_set<double>(x.view()), o).k, 30);
  matrix<double> const same(6, 2);
  EXPECT_EQ(kopse::x_means(point_set<double>(same.view())).k, 1);
}

TEST(x_means, is_the_same_over_any_tree_and_on_any_number_of_threads) {
  matrix<double> const x = mixture(25, 40, 2, 7, 8);
  numbers const w = families::make_weights(weighting::integers, x.rows(), 8);
  kopse::x_means_result first;
  for (config const& c : few_configs(3)) {
    kopse::x_means_options o;
    static_cast<options&>(o) = c.options();
    kopse::x_means_result const got = kopse::x_means(point_set<double>(x.view(), w), o);
    if (first.k == 0) first = got;
    EXPECT_EQ(values(got.centroids), values(first.centroids)) << name(c);
    EXPECT_EQ(got.tree_builds, 1) << name(c);
    EXPECT_EQ(got.rounds.size(), first.rounds.size()) << name(c);
  }
}

} // namespace
