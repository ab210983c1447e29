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
#include "words.hpp"

namespace kopse {

namespace {

constexpr index block_rows = 16384;

// The rows taken, in the hands of every partition.
struct candidates {
  std::vector<index> rows; // in the whole
  std::vector<double> x;
  index cols;
  matrix_view<double> view(index from = 0) const {
    return {x.data() + from * cols, std::ssize(rows) - from, cols};
  }
};

template <class Real> class parallel_run {
public:
  explicit parallel_run(seeding_task<Real> const& task)
      : task_(task), points_(task.points), options_(task.options),
        all_(task.partitions != nullptr ? *task.partitions : alone_),
        random_(options_.seed, static_cast<std::uint32_t>(options_.restart)),
        d2_(static_cast<std::size_t>(points_.size()), std::numeric_limits<double>::infinity()),
        taken_{{}, {}, points_.dims()} {
    data_summary whole = summarise(points_, false, options_.threads);
    all_.merge(whole);
    layout_ = whole.layout();
  }

  seeding_result run() {
    take(first_row());
    for (index round = 1; round <= options_.rounds; ++round) {
      double const total = sum_of_masses();
      if (total == 0) break;
      take(draw(round, total));
    }
    seeding_result result = recluster();
    if (result.distinct < task_.k) result = fill(std::move(result));
    result.work.distances += work_.distances;
    result.work.node_scores += work_.node_scores;
    return result;
  }

private:
  // By weight; each partition hands out what it has.
  word_packer first_row() {
    seeding_task<Real> one = task_;
    one.k = 1;
    index const row = plus_plus(one).rows[0] - points_.offset;
    word_packer mine;
    if (row >= 0 && row < points_.size()) put_row(mine, row);
    return mine;
  }

  void put_row(word_packer& out, index i) const {
    out.number(points_.offset + i);
    out.reals(points_.rows.row(i), points_.dims());
    give_back(points_.rows, i);
  }

  double mass(index i) const { return points_.weight(i) * d2_[static_cast<std::size_t>(i)]; }

  double sum_of_masses() const {
    per_thread<exact_sum> sums([] { return exact_sum(); });
    for_blocks(points_.size(), block_rows, options_.threads, sums,
               [&](exact_sum& sum, index first, index last) {
                 for (index i = first; i < last; ++i) sum.add(mass(i));
               });
    exact_sum total;
    sums.for_each([&](exact_sum const& sum) { total += sum; });
    all_.merge(total);
    return total.value();
  }

  // A number of its own for each row and round; a row of mass 0 is never below 0.
  word_packer draw(index round, double total) const {
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
    word_packer mine;
    for (auto const& drawn : by_block)
      for (index const i : drawn) put_row(mine, i);
    return mine;
  }

  std::unique_ptr<assignment_step> make_step(index k) const {
    step_options o;
    o.threads = options_.threads, o.stop = options_.stop;
    step_maker<Real> maker(points_, layout_, o);
    if (task_.tree) maker.adopt(task_.tree); // known to be of these rows
    return maker.make(k);
  }

  void count(assignment_step const& step) {
    work_.distances += step.work().distances;
    work_.node_scores += step.work().node_scores;
  }

  // The rows become candidates, in their order, and D² falls where one of them is nearer than all before.
  void take(word_packer const& mine) {
    index const before = std::ssize(taken_.rows);
    for (auto const& words : all_.all(mine.words()))
      for (word_unpacker in(words); !in.empty();) {
        taken_.rows.push_back(in.number());
        for (index j = 0; j < taken_.cols; ++j) taken_.x.push_back(in.real());
      }
    matrix_view<double> const x = taken_.view(before);
    if (x.rows() == 0) return;
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

  // As many of the candidates as are wanted, or as there are. Every partition does the same.
  seeding_result recluster() {
    matrix_view<double> const x = taken_.view();
    auto const step = make_step(x.rows());
    cluster_sums sums = step->assign(x);
    all_.merge(sums);
    count(*step);
    std::vector<double> weights;
    for (index j = 0; j < x.rows(); ++j) weights.push_back(sums.sums.weight(j));
    int exponent = 0;
    if (std::vector<double> even = scaled(weights, exponent); !even.empty()) weights = std::move(even);
    seeding_options o = options_;
    o.seed = ~o.seed; // other numbers than the candidates were drawn by
    seeding_result result = plus_plus(seeding_task<double>{
        {x, weights}, build_tree(x, "kd", 20, options_.threads), std::min(task_.k, x.rows()), o});
    for (index& row : result.rows) row = taken_.rows[static_cast<std::size_t>(row)];
    return result;
  }

  // Too few were drawn, or too many equal ones: the others by k-means++.
  seeding_result fill(seeding_result found) {
    std::vector<index> rows = std::move(found.rows);
    rows.resize(static_cast<std::size_t>(found.distinct));
    matrix<double> given(found.distinct, points_.dims());
    for (index j = 0; j < given.rows(); ++j) std::copy_n(found.centroids.row(j), given.cols(), given.row(j));
    seeding_part<Real> const whole{points_, tree_access<Real>::get(task_.tree)};
    seeding_result result = plus_plus<Real>({&whole, 1}, given, task_.k, options_, task_.partitions);
    rows.insert(rows.end(), result.rows.begin(), result.rows.end());
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
  reduction alone_;
  reduction& all_;
  random_stream random_;
  sum_layout layout_;
  std::vector<double> d2_; // by row
  candidates taken_;
  seeding_work work_;
};

} // namespace

template <class Real> seeding_result k_means_parallel(seeding_task<Real> const& task) {
  return parallel_run<Real>(task).run();
}
template seeding_result k_means_parallel(seeding_task<float> const&);
template seeding_result k_means_parallel(seeding_task<double> const&);

} // namespace kopse
