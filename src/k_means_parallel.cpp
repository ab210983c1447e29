// SPDX-License-Identifier: BSD-3-Clause
// k-means|| (B. Bahmani, B. Moseley, A. Vattani, R. Kumar, S. Vassilvitskii, "Scalable k-means++", VLDB
// 2012): few rounds that each draw many rows, in place of k that draw one.
//
//   1. one row, drawn by weight;
//   2. `rounds` times: take each row with probability ℓ·w·D² / Σ w·D², by itself, ℓ = oversampling · k;
//   3. each row taken so far weighs what the rows weigh to which it is the nearest;
//   4. weighted k-means++ among the rows taken.
//
// Nearest rows are found as assignment steps find centroids: on the tree, all of a round at once, on all
// threads. On one machine k-means++ over the tree is faster on few threads, and better on average; this one
// is for many.
#include <algorithm>

#include "input_checks.hpp"
#include "kopse/parallel.hpp"
#include "kopse/random.hpp"
#include "seeding_methods.hpp"
#include "squares.hpp"
#include "step_common.hpp"

namespace kopse {

namespace {

constexpr index block_rows = 16384;

template <class Real> class parallel_run {
public:
  explicit parallel_run(seeding_task<Real> const& task)
      : task_(task), points_(task.points), options_(task.options),
        random_(options_.seed, static_cast<std::uint32_t>(options_.restart)),
        layout_(summarise(points_, false, options_.threads).layout()),
        d2_(static_cast<std::size_t>(points_.size()), std::numeric_limits<double>::infinity()) {}

  seeding_result run() {
    seeding_result first = plus_plus(seeding_task<Real>{points_, task_.tree, 1, options_});
    take({first.rows[0] - points_.offset});
    for (index round = 1; round <= options_.rounds; ++round) {
      double const total = sum_of_masses();
      if (total == 0) break;
      take(draw(round, total));
    }
    seeding_result result = recluster();
    if (result.distinct < task_.k) result = fill(std::move(result));
    for (index& row : result.rows) row += points_.offset;
    result.work.distances += work_.distances;
    result.work.node_scores += work_.node_scores;
    return result;
  }

private:
  double mass(index i) const { return points_.weight(i) * d2_[static_cast<std::size_t>(i)]; }

  double sum_of_masses() const {
    per_thread<exact_sum> sums([] { return exact_sum(); });
    for_blocks(points_.size(), block_rows, options_.threads, sums,
               [&](exact_sum& sum, index first, index last) {
                 for (index i = first; i < last; ++i) sum.add(mass(i));
               });
    exact_sum total;
    sums.for_each([&](exact_sum const& sum) { total += sum; });
    return total.value();
  }

  // A number of its own for each row and round; a row of mass 0 is never below 0.
  std::vector<index> draw(index round, double total) const {
    double const wanted = options_.oversampling * static_cast<double>(task_.k);
    std::vector<std::vector<index>> by_block(
        static_cast<std::size_t>((points_.size() + block_rows - 1) / block_rows));
    for_blocks(points_.size(), block_rows, options_.threads, [&](index first, index last) {
      check_stop(options_.stop);
      std::vector<index>& drawn = by_block[static_cast<std::size_t>(first / block_rows)];
      for (index i = first; i < last; ++i) {
        double const m = mass(i);
        if (m == 0) continue;
        std::uint64_t const bits =
            random_.bits(static_cast<std::uint64_t>(points_.offset + i), static_cast<std::uint32_t>(round));
        if (static_cast<double>(bits >> 11) * 0x1p-53 < wanted * (m / total)) drawn.push_back(i);
      }
    });
    std::vector<index> all;
    for (auto const& drawn : by_block) all.insert(all.end(), drawn.begin(), drawn.end());
    return all;
  }

  std::unique_ptr<assignment_step> make_step(index k) const {
    step_options o;
    o.threads = options_.threads, o.stop = options_.stop;
    step_maker<Real> maker(points_, layout_, o);
    if (task_.tree) maker.adopt(task_.tree); // known to be of these rows
    return maker.make(k);
  }

  matrix<double> coordinates(std::vector<index> const& rows) const {
    matrix<double> x(std::ssize(rows), points_.dims());
    for (std::size_t j = 0; j < rows.size(); ++j) {
      std::copy_n(points_.rows.row(rows[j]), points_.dims(), x.row(static_cast<index>(j)));
      give_back(points_.rows, rows[j]);
    }
    return x;
  }

  void count(assignment_step const& step) {
    work_.distances += step.work().distances;
    work_.node_scores += step.work().node_scores;
  }

  // The rows become candidates, and D² falls where one of them is nearer than all before.
  void take(std::vector<index> const& rows) {
    if (rows.empty()) return;
    rows_.insert(rows_.end(), rows.begin(), rows.end());
    matrix<double> const x = coordinates(rows);
    auto const step = make_step(x.rows());
    step->assign(x);
    count(*step);
    std::vector<label> nearest(d2_.size());
    step->labels(nearest);
    for_blocks(points_.size(), block_rows, options_.threads, [&](index first, index last) {
      by_pages(points_.rows, first, last, [&](index a, index b) {
        for (index i = a; i < b; ++i) {
          double& d2 = d2_[static_cast<std::size_t>(i)];
          double const* const c = x.row(nearest[static_cast<std::size_t>(i)]);
          d2 = std::min(d2, square(points_.rows.row(i), c, points_.dims()));
        }
      });
    });
  }

  // As many of the candidates as are wanted, or as there are.
  seeding_result recluster() {
    matrix<double> const x = coordinates(rows_);
    auto const step = make_step(x.rows());
    cluster_sums const sums = step->assign(x);
    count(*step);
    std::vector<double> weights;
    for (index j = 0; j < x.rows(); ++j) weights.push_back(sums.sums.weight(j));
    int exponent = 0;
    if (std::vector<double> even = scaled(weights, exponent); !even.empty()) weights = std::move(even);
    seeding_options o = options_;
    o.seed = ~o.seed; // other numbers than the candidates were drawn by
    seeding_result result = plus_plus(seeding_task<double>{{x.view(), weights},
                                                           build_tree(x.view(), "kd", 20, options_.threads),
                                                           std::min(task_.k, x.rows()),
                                                           o});
    for (index& row : result.rows) row = rows_[static_cast<std::size_t>(row)];
    return result;
  }

  // Too few were drawn, or too many equal ones: the others by k-means++.
  seeding_result fill(seeding_result found) {
    std::vector<index> rows = std::move(found.rows);
    rows.resize(static_cast<std::size_t>(found.distinct));
    seeding_part<Real> const whole{points_, tree_access<Real>::get(task_.tree)};
    seeding_result result = plus_plus<Real>({&whole, 1}, coordinates(rows), task_.k, options_);
    for (index const row : result.rows) rows.push_back(row - points_.offset);
    while (std::ssize(rows) < task_.k)
      rows.push_back(rows[rows.size() - static_cast<std::size_t>(result.distinct)]);
    result.rows = std::move(rows);
    result.work.distances += found.work.distances;
    result.work.node_scores += found.work.node_scores;
    return result;
  }

  seeding_task<Real> const& task_;
  point_set<Real> const& points_;
  seeding_options const& options_;
  random_stream random_;
  sum_layout layout_;
  std::vector<double> d2_;  // by row
  std::vector<index> rows_; // the candidates
  seeding_work work_;
};

} // namespace

template <class Real> seeding_result k_means_parallel(seeding_task<Real> const& task) {
  return parallel_run<Real>(task).run();
}
template seeding_result k_means_parallel(seeding_task<float> const&);
template seeding_result k_means_parallel(seeding_task<double> const&);

} // namespace kopse
