// SPDX-License-Identifier: BSD-3-Clause
// auto: since all algorithms return the same bits, a wrong choice costs only time. So it is made by what a
// few rows say before the first iteration, and again by the work that iterations are seen to take.
//
// Before the first:
// - one column is for line, which whoever makes the step sees to (assignment_step.cpp);
// - little n·k·d is for lloyd: nothing is worth trying;
// - up to 3 columns are for frontier;
// - else a *probe*: sixteen rows, each with those nearest to it among a sample, as if they were a leaf of a
//   tree. A centroid that is farther than another from all of their box would be pruned there (the test of
//   filter). If nearly all are, in the mean, trees pay whatever the number of columns, and it is frontier;
//   else dense, or lloyd where k·d is so small that bounds cost as much as what they save.
// While it runs:
// - frontier is left for these when two iterations running compute more than a quarter of all n·k;
// - dense is left for lloyd when, in two iterations running, its work is estimated to be far more than that
//   of computing all distances (few clusters and columns, bounds that do not hold).
// Never back: each algorithm is entered once, so there is no to and fro. The new one makes its first
// assignment in place of the next one of the old, a pass that sets up its bounds; sums change by the rows
// whose label does. Nothing is timed: the same data, start and options take the same path on the same
// machine, on any number of threads. (Counters that depend on float32 may differ between instruction sets.)
//
// Cost: the probe, n·k / 32 distances and 16 · 65,536 at most, and 8 bytes a row while it changes.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <new>
#include <vector>

#include "auto.hpp"
#include "kopse/screen.hpp"
#include "step_common.hpp"
#include "steps.hpp"

namespace kopse {

namespace {

constexpr double little_work = 1e6; // n·k·d: nothing is worth trying
constexpr index plain_dims = 3;     // trees pay, as far as was seen
constexpr index most_probed = 64;   // dimensions in which trees may pay
constexpr double most_left = 0.08;  // of the centroids, where a leaf might be, for a tree to be built
constexpr double trees_pay = 0.25;  // of all distances, for it to be used
constexpr index probes = 16, leaf = 40;
constexpr index least_sample = 2048, most_sample = index{1} << 16;

constexpr std::size_t at(index i) { return static_cast<std::size_t>(i); }

std::string percent(double share) { return std::to_string(std::lround(100 * share)) + " %"; }

// The box of some rows near one, by a sample of all.
template <class Real> class pseudo_leaf {
public:
  pseudo_leaf(matrix_view<Real> rows, index of, index sample) : low_(at(rows.cols())), high_(low_) {
    index const step = std::max<index>(1, rows.rows() / sample), count = rows.rows() / step;
    std::vector<std::pair<double, index>> near(at(count));
    std::vector<double> x(rows.row(of), rows.row(of) + rows.cols());
    Real const* before = rows.row(0);
    for (index i = 0; i < count; ++i) {
      Real const* const row = rows.row(i * step);
      near[at(i)] = {squared_distance(row, x.data(), rows.cols()), i * step};
      kopse::give_back(before, row, false);
      before = row;
    }
    give_back(rows, (count - 1) * step);
    give_back(rows, of);
    index const some = std::min(count, std::max<index>(8, leaf / step));
    std::nth_element(near.begin(), near.begin() + some - 1, near.end());
    low_ = high_ = x;
    for (index i = 0; i < some; ++i) {
      index const row = near[at(i)].second;
      for (index j = 0; j < rows.cols(); ++j) {
        auto const xj = static_cast<double>(rows(row, j));
        low_[at(j)] = std::min(low_[at(j)], xj);
        high_[at(j)] = std::max(high_[at(j)], xj);
      }
      give_back(rows, row);
    }
  }

  // How many of the other centroids are not farther from all of the box than the one nearest to its middle.
  index rivals(matrix_view<double> centroids) const {
    std::vector<double> middle(low_);
    for (std::size_t j = 0; j < middle.size(); ++j) middle[j] = low_[j] / 2 + high_[j] / 2;
    double least = std::numeric_limits<double>::infinity();
    index nearest = 0;
    for (index i = 0; i < centroids.rows(); ++i) {
      double const d2 = squared_distance(middle.data(), centroids.row(i), centroids.cols());
      if (d2 < least) least = d2, nearest = i;
    }
    index count = 0;
    for (index i = 0; i < centroids.rows(); ++i)
      count += i != nearest && !farther(centroids.row(i), centroids.row(nearest)) ? 1 : 0;
    return count;
  }

private:
  bool farther(double const* far, double const* near) const {
    double lead = 0;
    for (std::size_t j = 0; j < low_.size(); ++j) {
      auto const difference = [&](double x) {
        return (x - far[j]) * (x - far[j]) - (x - near[j]) * (x - near[j]);
      };
      lead += std::min(difference(low_[j]), difference(high_[j]));
    }
    return lead > 0;
  }

  std::vector<double> low_, high_;
};

template <class Real> class auto_step final : public assignment_step {
public:
  auto_step(point_set<Real> points, sum_layout layout, index k, step_options const& options,
            std::shared_ptr<tree_source<Real>> tree)
      : points_(points), layout_(std::move(layout)), k_(k), options_(options), tree_(std::move(tree)) {}

  cluster_sums assign(matrix_view<double> centroids) override {
    worker_scope const workers;
    ++iteration_;
    if (step_ == nullptr) choose(centroids);
    if (wanted_ != running_) return enter(centroids);
    cluster_sums changes = step_->assign(centroids);
    reconsider();
    return changes;
  }

  far_rows farthest(index count) const override { return step_->farthest(count); }
  exact_sum inertia(matrix_view<double> centroids) const override { return step_->inertia(centroids); }
  void labels(std::span<label> out) const override { step_->labels(out); }
  work_counters work() const override { return step_->work(); }
  std::vector<algorithm_choice> choices() const override { return choices_; }

private:
  void want(std::string_view algorithm, std::string why) {
    wanted_ = algorithm;
    why_ = std::move(why);
  }

  // ------------------------------------------------------------------ before the first iteration

  void choose(matrix_view<double> centroids) {
    index const d = points_.dims();
    double const all = static_cast<double>(points_.size()) * static_cast<double>(k_) * static_cast<double>(d);
    if (all < little_work && (d > plain_dims || k_ < float_screen::least_centroids))
      return want("lloyd", "little work");
    if (d <= plain_dims) return want("frontier", "few columns");
    if (d > most_probed) return want("dense", "many columns");
    double const left = probe(centroids);
    want(left < most_left ? "frontier" : flat(),
         percent(left) + " of the centroids are left where a leaf might be");
  }

  // Where trees do not pay.
  std::string_view flat() const { return brute_cost() < cheap ? "lloyd" : "dense"; }

  // The share of the centroids that a tree would leave, in the mean.
  double probe(matrix_view<double> centroids) const {
    std::array<index, probes> left{};
    // So many that it takes a part of an iteration, n·k / 32 distances.
    index const sample = std::clamp(points_.size() / (32 * probes) * k_, least_sample, most_sample);
    for_blocks(probes, 1, options_.threads, [&](index first, index) {
      check_stop(options_.stop);
      index const of = (2 * first + 1) * points_.size() / (2 * probes);
      left[at(first)] = pseudo_leaf<Real>(points_.rows, of, sample).rivals(centroids);
    });
    double sum = 0;
    for (index const one : left) sum += static_cast<double>(one);
    return sum / static_cast<double>(probes * k_);
  }

  // ------------------------------------------------------------------ after each iteration

  void reconsider() {
    ++since_;
    if (running_ == "frontier") {
      work_counters const work = step_->work();
      double const share = static_cast<double>(work.distances + work.node_scores)
                           / (static_cast<double>(points_.size()) * static_cast<double>(k_));
      if (in_vain(points_.dims() > plain_dims && share > trees_pay))
        want(flat(), "twice running, " + percent(share) + " of all distances or as many scores");
    } else if (running_ == "dense") {
      double const ratio = dense_cost(step_->work()) / brute_cost();
      if (in_vain(ratio > (since_ < settled ? 2.1 : 1.5)))
        want("lloyd", "twice running, an estimated " + percent(ratio) + " of the work for all distances");
    }
  }

  // Was it so twice running?
  bool in_vain(bool now) {
    in_vain_ = now ? in_vain_ + 1 : 0;
    return in_vain_ == 2;
  }

  // Work in units of about a nanosecond a row, fitted to 8 to 100 columns and 8 to 1000 clusters with vectors
  // of 512 bits; what matters is their ratio.
  double brute_cost() const {
    double const k = static_cast<double>(k_), d = static_cast<double>(points_.dims());
    return k_ < float_screen::least_centroids ? 5 + 0.5 * d + 0.2 * k * d
                                              : 12 + 0.3 * d + 0.017 * k * (d + 5);
  }
  double dense_cost(work_counters work) const {
    double const n = static_cast<double>(points_.size()), d = static_cast<double>(points_.dims());
    double const looked_at = n - static_cast<double>(work[prune_rule::point_bounds]);
    return 12 + looked_at / n * (60 + 0.5 * d) + static_cast<double>(work.distances) / n * 0.017 * (d + 12);
  }

  // ------------------------------------------------------------------ a change

  // The first assignment of the wanted step. What it returns are changes of the labels so far, if there are
  // any.
  cluster_sums enter(matrix_view<double> centroids) {
    std::vector<label> before, after;
    if (step_ != nullptr) {
      before.resize(at(points_.size()));
      step_->labels(before);
    }
    step_ = nullptr; // frees its memory
    cluster_sums sums = begin(centroids);
    running_ = wanted_;
    choices_.push_back({iteration_, std::string(running_), why_});
    since_ = 1;
    in_vain_ = 0;
    if (before.empty()) return sums;
    after.resize(before.size());
    step_->labels(after);
    return changes(before, after);
  }

  // Makes the step and its first assignment; where the memory is too little for it, those of lloyd, which
  // needs hardly any.
  cluster_sums begin(matrix_view<double> centroids) {
    auto const instead = [&](auto const& fault) {
      if (wanted_ == "lloyd") throw fault;
      step_ = nullptr;
      want("lloyd", "too little memory for " + std::string(wanted_));
      return begin(centroids);
    };
    try {
      step_ = make();
      return step_->assign(centroids);
    } catch (memory_error const& fault) {
      return instead(fault);
    } catch (std::bad_alloc const& fault) {
      return instead(fault);
    }
  }

  std::unique_ptr<assignment_step> make() const {
    if (wanted_ == "dense") return make_dense(points_, layout_, k_, options_);
    if (wanted_ == "lloyd") return make_lloyd(points_, layout_, k_, options_);
    step_options with = options_;
    with.algorithm = wanted_;
    return tree_access<Real>::get(tree_->get())->make(points_, layout_, k_, with);
  }

  cluster_sums changes(std::vector<label> const& before, std::vector<label> const& after) const {
    per_thread<cluster_sums> parts([&] { return cluster_sums(layout_, k_); });
    for_blocks(points_.size(), 4096, options_.threads, parts,
               [&](cluster_sums& part, index first, index last) {
                 check_stop(options_.stop);
                 by_pages(points_.rows, first, last, [&](index a, index b) {
                   for (index i = a; i < b; ++i) {
                     if (before[at(i)] == after[at(i)]) continue;
                     ++part.labels_changed;
                     part.sums.add(before[at(i)], points_.rows.row(i), points_.weight(i), -1);
                     part.sums.add(after[at(i)], points_.rows.row(i), points_.weight(i), 1);
                   }
                 });
               });
    cluster_sums all(layout_, k_);
    parts.for_each([&](cluster_sums const& part) { all += part; });
    return all;
  }

  // Bounds hold better from iteration to iteration, for so many: until then they may cost twice what they
  // save.
  static constexpr index settled = 20;
  static constexpr double cheap = 30; // what bounds cost, as soon as half of the rows are looked at

  point_set<Real> points_;
  sum_layout layout_;
  index k_;
  step_options options_;
  std::shared_ptr<tree_source<Real>> tree_;
  std::unique_ptr<assignment_step> step_;
  std::string_view running_, wanted_; // names of algorithms
  std::string why_;
  std::vector<algorithm_choice> choices_;
  index iteration_ = 0;
  index since_ = 0; // assignments of the algorithm that is running
  int in_vain_ = 0; // of these, the last ones
};

} // namespace

template <class Real>
std::unique_ptr<assignment_step> make_auto(point_set<Real> points, sum_layout const& layout, index k,
                                           step_options const& options,
                                           std::shared_ptr<tree_source<Real>> tree) {
  return std::make_unique<auto_step<Real>>(points, layout, k, options, std::move(tree));
}
template std::unique_ptr<assignment_step> make_auto(point_set<float>, sum_layout const&, index,
                                                    step_options const&, std::shared_ptr<tree_source<float>>);
template std::unique_ptr<assignment_step> make_auto(point_set<double>, sum_layout const&, index,
                                                    step_options const&,
                                                    std::shared_ptr<tree_source<double>>);

} // namespace kopse
