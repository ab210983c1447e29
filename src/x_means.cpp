// SPDX-License-Identifier: BSD-3-Clause
// X-means (D. Pelleg, A. Moore, "X-means: extending k-means with efficient estimation of the number of
// clusters", ICML 2000), over one tree:
//
//   improve parameters   k-means over all points from the centroids there are;
//   improve structure    2-means inside each cluster, on the nodes it owns (node_split.hpp); the two stay
//                        where the Bayesian information criterion of these points prefers two Gaussians to
//                        one;
//   until no cluster is split.
//
// Past the paper, where clusters are many. A cluster that holds many groups, evenly spread, is not better as
// two: halving a square takes less from its variance than two shares cost, and the run would end before it
// began. So a cluster is cut further, by bisection into 4, 8, … pieces, until these are better than the one,
// or have but few rows each. And splits alone never mend a group that two centroids share, as where a split
// went through its middle: so where nothing is left to split, pairs of centroids that are each other's
// nearest are tested the other way round, and united where one Gaussian is preferred. The result is the run
// with the best criterion over all points that was met.
#include <algorithm>
#include <chrono>
#include <cmath>

#include "bisecting.hpp"
#include "input_checks.hpp"
#include "kopse/choose_k.hpp"
#include "kopse/parallel.hpp"
#include "kopse/tree/binary_tree.hpp"
#include "kopse/tree/neighbours.hpp"
#include "scores.hpp"
#include "seeding_methods.hpp"

namespace kopse {

namespace {

constexpr int most_rounds = 100, most_stale = 2; // rounds in a row that improve nothing

template <class Real> class x_means_run {
public:
  x_means_run(point_set<Real> points, point_set<Real> scaled_points, int exponent, x_means_options const& o,
              built_tree<Real> const& tree)
      : points_(points), options_(o), tree_(tree), exponent_(exponent), random_(o.seed, 0),
        splitter_(tree_access<Real>::get(tree)->make_splitter(
            scaled_points, summarise(scaled_points, false, o.threads).layout(), o.threads, o.stop)) {}

  x_means_result run() && {
    result now = fit(points_, options_.least_k, options_, tree_);
    record(now, {});
    int stale = 0;
    for (int round = 0; round < most_rounds && stale < most_stale; ++round) {
      std::vector<cluster_part> const parts = measure(now);
      x_means_round made;
      matrix<double> next = split(now, parts, made);
      if (made.split == 0) next = merge(now, parts, made);
      if (made.split == 0 && made.merged == 0) break;
      options from = options_;
      from.centroids = std::move(next);
      from.restarts = 1;
      now = fit(points_, from.centroids->rows(), from, tree_);
      stale = record(now, made) ? 0 : stale + 1;
    }
    best_.nodes_taken_whole = splitter_->nodes_taken_whole();
    return std::move(best_);
  }

private:
  // Keeps the run if it is the best so far.
  bool record(result const& now, x_means_round made) {
    made.k = now.centroids.rows();
    made.inertia = now.inertia;
    made.bic = bic(used_weights(now.labels, points_.weights, made.k), now.inertia, points_.dims());
    std::vector<x_means_round> rounds = std::move(best_.rounds);
    // All rows on their centroids: no criterion, and nothing that could be better.
    bool const better = rounds.empty() || made.inertia == 0 || made.bic < best_.bic;
    if (better) {
      static_cast<result&>(best_) = now;
      best_.k = made.k;
      best_.bic = made.bic;
    }
    rounds.push_back(made);
    best_.rounds = std::move(rounds);
    return better;
  }

  std::vector<cluster_part> measure(result const& now) const {
    std::vector<cluster_items> items = splitter_->clusters(now.labels, now.centroids.rows());
    std::vector<cluster_part> parts(items.size());
    for_blocks(std::ssize(parts), 1, options_.threads, [&](index j, index) {
      cluster_part& part = parts[static_cast<std::size_t>(j)];
      part.items = std::move(items[static_cast<std::size_t>(j)]);
      part.facts = splitter_->measure(part.items);
    });
    return parts;
  }

  // By how much several clusters are better than the one that all make, in units of the log-likelihood: > 0
  // for several. Weights are the user's here.
  double gain_of(cluster_facts const& one, std::vector<cluster_facts const*> const& several) const {
    auto const raw = [this](double x) { return std::ldexp(x, exponent_); };
    double const all[1] = {raw(one.weight)};
    std::vector<double> weights;
    double inertia = 0;
    for (cluster_facts const* const part : several) {
      weights.push_back(raw(part->weight));
      inertia += raw(part->inertia);
    }
    index const d = points_.dims();
    double const penalty = (parameters(std::ssize(weights), d) - parameters(1, d)) / 2 * std::log(all[0]);
    double const gain =
        log_likelihood(weights, inertia, d) - log_likelihood(all, raw(one.inertia), d) - penalty;
    return std::isnan(gain) ? -std::numeric_limits<double>::infinity() : gain; // too few rows to tell
  }

  struct proposal {
    double gain = 0;
    std::size_t at = 0;
    std::vector<std::vector<double>> means = {};
  };
  // Those that gain most first, the lowest number among equals.
  static void sort(std::vector<proposal>& proposals) {
    std::stable_sort(proposals.begin(), proposals.end(),
                     [](proposal const& a, proposal const& b) { return a.gain > b.gain; });
  }

  // The fewest pieces, of 2, 4, 8, …, that are better than the cluster; no means if there are none.
  proposal best_pieces(cluster_part const& cluster, std::size_t at, index most) const {
    random_stream const random(random_.bits(number_ + at), 0);
    constexpr double fewest_rows = 8; // in a piece, on average; but two pieces are always tried
    double const rows = std::ldexp(cluster.facts.weight, exponent_);
    index const limit = std::min(most, static_cast<index>(std::max(2.0, rows / fewest_rows)));
    std::vector<cluster_part> pieces{cluster};
    std::uint64_t number = 0;
    for (index wanted = 2; std::ssize(pieces) < limit; wanted *= 2) {
      index const before = std::ssize(pieces);
      bisect(*splitter_, pieces, std::min(wanted, limit), random, number, options_.threads);
      if (std::ssize(pieces) == before) break;
      std::vector<cluster_facts const*> facts;
      for (cluster_part const& piece : pieces) facts.push_back(&piece.facts);
      proposal found{gain_of(cluster.facts, facts), at};
      if (!(found.gain > 0)) continue;
      for (cluster_part& piece : pieces) found.means.push_back(std::move(piece.facts.mean));
      return found;
    }
    return {};
  }

  matrix<double> split(result const& now, std::vector<cluster_part> const& parts, x_means_round& made) {
    index const k = now.centroids.rows(), d = points_.dims();
    index const most = (options_.most_k == 0 ? points_.size() : options_.most_k) - k + 1;
    std::vector<proposal> proposals(parts.size());
    if (most >= 2)
      for_blocks(k, 1, options_.threads, [&](index j, index) {
        auto const at = static_cast<std::size_t>(j);
        if (parts[at].facts.inertia > 0) proposals[at] = best_pieces(parts[at], at, most);
      });
    number_ += parts.size();
    std::erase_if(proposals, [](proposal const& p) { return p.means.empty(); });
    sort(proposals);
    std::vector<std::vector<double>> added;
    matrix<double> next = now.centroids;
    for (proposal& p : proposals) {
      if (std::ssize(added) + std::ssize(p.means) > most) continue;
      std::copy_n(p.means[0].data(), d, next.row(static_cast<index>(p.at)));
      added.insert(added.end(), p.means.begin() + 1, p.means.end());
      ++made.split;
    }
    matrix<double> all(k + std::ssize(added), d);
    std::copy_n(next.row(0), k * d, all.row(0));
    for (std::size_t i = 0; i < added.size(); ++i)
      std::copy_n(added[i].data(), d, all.row(k + static_cast<index>(i)));
    return all;
  }

  // What the rows of parts i and nearest[i] are as one cluster, if that is better.
  proposal as_one(std::vector<cluster_part> const& parts, std::vector<index> const& nearest,
                  std::size_t i) const {
    auto const j = static_cast<std::size_t>(nearest[i]);
    if (j >= parts.size() || j < i || nearest[j] != static_cast<index>(i)) return {};
    if (parts[i].facts.weight == 0 || parts[j].facts.weight == 0) return {};
    cluster_items both = parts[i].items;
    both.nodes.insert(both.nodes.end(), parts[j].items.nodes.begin(), parts[j].items.nodes.end());
    both.points.insert(both.points.end(), parts[j].items.points.begin(), parts[j].items.points.end());
    cluster_facts const one = splitter_->measure(both);
    double const gain = -gain_of(one, {&parts[i].facts, &parts[j].facts});
    if (!(gain >= 0) || std::isinf(gain)) return {};
    return {gain, i, {one.mean}};
  }

  matrix<double> merge(result const& now, std::vector<cluster_part> const& parts, x_means_round& made) const {
    index const k = now.centroids.rows(), d = points_.dims();
    std::vector<index> const nearest = nearest_others(now.centroids.view());
    std::vector<proposal> proposals(parts.size());
    for_blocks(k, 1, options_.threads, [&](index i, index) {
      proposals[static_cast<std::size_t>(i)] = as_one(parts, nearest, static_cast<std::size_t>(i));
    });
    std::erase_if(proposals, [](proposal const& p) { return p.means.empty(); });
    sort(proposals);
    proposals.resize(std::min(proposals.size(), static_cast<std::size_t>(k - options_.least_k)));
    made.merged = std::ssize(proposals);
    std::vector<char> gone(parts.size(), 0);
    matrix<double> united = now.centroids;
    for (proposal const& p : proposals) {
      gone[static_cast<std::size_t>(nearest[p.at])] = 1;
      std::copy_n(p.means[0].data(), d, united.row(static_cast<index>(p.at)));
    }
    matrix<double> next(k - made.merged, d);
    index out = 0;
    for (index j = 0; j < k; ++j)
      if (gone[static_cast<std::size_t>(j)] == 0) std::copy_n(united.row(j), d, next.row(out++));
    return next;
  }

  // Of each centroid the nearest other one, the lowest among equals; -1 if there is none.
  static std::vector<index> nearest_others(matrix_view<double> centroids) {
    kd_tree<double> const tree(centroids, 8);
    std::vector<index> nearest;
    index distances = 0;
    for (index j = 0; j < centroids.rows(); ++j) {
      nearest_two found;
      find_nearest_two(tree, centroids.row(j), j, found, distances);
      nearest.push_back(found.first);
    }
    return nearest;
  }

  point_set<Real> points_;
  x_means_options const& options_;
  built_tree<Real> const& tree_;
  int exponent_; // the splitter's weights times 2^exponent are the user's
  random_stream random_;
  std::uint64_t number_ = 0;
  std::unique_ptr<node_splitter> splitter_;
  x_means_result best_;
};

template <class Real>
x_means_result x_means_any(point_set<Real> points, x_means_options o, built_tree<Real> tree) {
  float_environment const environment;
  worker_scope const workers;
  check_shape(points.size(), points.dims());
  check_k(points.size(), o.least_k);
  if (o.most_k != 0) check_k(points.size(), o.most_k);
  if (o.most_k != 0 && o.most_k < o.least_k)
    throw usage_error("k from " + std::to_string(o.least_k) + " to " + std::to_string(o.most_k)
                      + ": the last is below the first");
  resolve(o);
  validate(points, o.threads);
  build_counter const counter(points.rows.row(0));
  double tree_seconds = 0;
  if (!tree) {
    auto const start = std::chrono::steady_clock::now();
    tree = build_tree(points.rows, uses_tree(o.algorithm) ? o.tree : "kd", o.leaf_size, o.threads);
    tree_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  int exponent = 0;
  std::vector<double> const weights = scaled(points.weights, exponent);
  point_set<Real> scaled_points = points;
  if (!weights.empty()) scaled_points.weights = weights;
  x_means_result found = x_means_run<Real>(points, scaled_points, exponent, o, tree).run();
  found.seconds.tree = tree_seconds;
  found.tree_builds = counter.builds();
  return found;
}

} // namespace

x_means_result x_means(point_set<double> points, x_means_options const& options,
                       built_tree<double> const& tree) {
  return x_means_any(points, options, tree);
}
x_means_result x_means(point_set<float> points, x_means_options const& options,
                       built_tree<float> const& tree) {
  return x_means_any(points, options, tree);
}

} // namespace kopse
