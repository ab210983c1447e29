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
// Past the paper, where clusters are many:
// - A cluster that holds many groups, evenly spread, is not better as two: halving a square takes less from
// its
//   variance than two shares cost, and the run would end before it began. So a cluster is cut further, by
//   bisection into 4, 8, … pieces, until these are better than the one, or have but few rows each.
// - Splits alone never mend a group that several centroids share, as where a split went through its middle.
// So
//   where nothing is left to split, each centroid is tested with its nearest, and they are united where one
//   Gaussian is preferred.
// The result is the run with the best criterion over all points that was met.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>

#include "bisecting.hpp"
#include "checkpoint.hpp"
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
constexpr index most_merged = 8;                 // clusters that become one

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
    // All rows on their centroids: no criterion, and nothing that could be better. Otherwise any criterion is
    // better than none (an infinite inertia has none).
    bool const first =
        rounds.empty() || (std::isnan(best_.bic) && best_.inertia > 0 && !std::isnan(made.bic));
    bool const better = first || made.inertia == 0 || made.bic < best_.bic;
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

  struct merger {
    double gain = 0;
    std::vector<std::size_t> members = {};
    std::vector<double> mean = {};
  };

  // Into how many it may be cut: of a few rows each, on average, but two always.
  index most_pieces(cluster_part const& cluster) const {
    constexpr double fewest_rows = 8;
    double const pieces = std::ldexp(cluster.facts.weight, exponent_) / fewest_rows;
    return static_cast<index>(std::clamp(pieces, 2.0, std::max(2.0, static_cast<double>(points_.size()))));
  }

  // The fewest pieces, of 2, 4, 8, …, that are better than the cluster; no means if there are none.
  proposal best_pieces(cluster_part const& cluster, std::size_t at, index most) const {
    random_stream const random(random_.bits(number_ + at), 0);
    index const limit = std::min(most, most_pieces(cluster));
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
        if (parts[at].facts.inertia > 0 && settled_.count(parts[at].facts.mean) == 0)
          proposals[at] = best_pieces(parts[at], at, most);
      });
    for (std::size_t j = 0; j < parts.size(); ++j)
      if (proposals[j].means.empty() && most_pieces(parts[j]) <= most) settled_.insert(parts[j].facts.mean);
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

  // Clusters as one, by the parallel axes: Σ (I_j + W_j·‖μ_j − μ‖²) about their common mean μ.
  static cluster_facts united(std::vector<cluster_facts const*> const& several) {
    cluster_facts all;
    for (cluster_facts const* const part : several) all.weight += part->weight;
    all.mean.resize(several.front()->mean.size());
    for (cluster_facts const* const part : several)
      for (std::size_t i = 0; i < all.mean.size(); ++i)
        all.mean[i] += part->weight / all.weight * part->mean[i];
    for (cluster_facts const* const part : several)
      all.inertia +=
          part->inertia
          + part->weight * squared_distance(part->mean.data(), all.mean.data(), std::ssize(all.mean));
    return all;
  }

  // Cluster i and some of those nearest to it, the nearest first: as many as are better as one, if any. Two
  // of three that share a round group are long together, and better as two; all three are not.
  merger best_merger(std::vector<cluster_part> const& parts, kd_tree<double> const& tree,
                     std::size_t i) const {
    merger best;
    if (parts[i].facts.weight == 0) return best;
    std::vector<neighbour> near;
    index distances = 0;
    find_nearest(tree, parts[i].facts.mean.data(), static_cast<index>(i), most_merged - 1,
                 std::numeric_limits<double>::infinity(), near, distances);
    std::vector<cluster_facts const*> several{&parts[i].facts};
    std::vector<std::size_t> members{i};
    for (neighbour const& other : near) {
      cluster_facts const& facts = parts[static_cast<std::size_t>(other.row)].facts;
      if (facts.weight == 0) continue;
      several.push_back(&facts);
      members.push_back(static_cast<std::size_t>(other.row));
      cluster_facts const one = united(several);
      double const gain = -gain_of(one, several);
      if (!(gain >= 0) || std::isinf(gain) || (!best.members.empty() && gain <= best.gain)) continue;
      best = {gain, members, one.mean};
    }
    return best;
  }

  matrix<double> merge(result const& now, std::vector<cluster_part> const& parts, x_means_round& made) const {
    index const k = now.centroids.rows(), d = points_.dims();
    kd_tree<double> const tree(now.centroids.view(), 8);
    std::vector<merger> mergers(parts.size());
    for_blocks(k, 64, options_.threads, [&](index first, index last) {
      for (index i = first; i < last; ++i)
        mergers[static_cast<std::size_t>(i)] = best_merger(parts, tree, static_cast<std::size_t>(i));
    });
    std::stable_sort(mergers.begin(), mergers.end(),
                     [](merger const& a, merger const& b) { return a.gain > b.gain; });
    std::vector<char> used(parts.size(), 0), gone(parts.size(), 0);
    matrix<double> next = now.centroids;
    for (merger const& m : mergers) {
      index const fewer = std::ssize(m.members) - 1;
      if (fewer < 1 || k - made.merged - fewer < options_.least_k
          || std::any_of(m.members.begin(), m.members.end(), [&](std::size_t j) { return used[j] != 0; }))
        continue;
      for (std::size_t const j : m.members) used[j] = gone[j] = 1;
      gone[m.members[0]] = 0;
      std::copy_n(m.mean.data(), d, next.row(static_cast<index>(m.members[0])));
      made.merged += fewer;
    }
    matrix<double> left(k - made.merged, d);
    index out = 0;
    for (index j = 0; j < k; ++j)
      if (gone[static_cast<std::size_t>(j)] == 0) std::copy_n(next.row(j), d, left.row(out++));
    return left;
  }

  point_set<Real> points_;
  x_means_options const& options_;
  built_tree<Real> const& tree_;
  int exponent_; // the splitter's weights times 2^exponent are the user's
  random_stream random_;
  std::uint64_t number_ = 0;
  std::unique_ptr<node_splitter> splitter_;
  std::set<std::vector<double>>
      settled_; // means of clusters that no pieces were better than: most stay as they are
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
  check_short(o);
  if (o.spherical) throw usage_error("spherical: BIC is for centroids that are means");
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
