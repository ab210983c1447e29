// SPDX-License-Identifier: BSD-3-Clause
// k-means++ (D. Arthur, S. Vassilvitskii, SODA 2007), with weights:
//
//   1. the first centroid is a row, drawn with probability w / Σ w;
//   2. each next one a row, drawn with probability w·D² / Σ w·D², D its distance to the nearest so far.
//
// Greedy candidates (in the authors' own code, and in scikit-learn): several rows are drawn in each round,
// and the one that lessens Σ w·D² most is taken, the first among equals.
//
// The law is exact but for 2^-64: draw i is a whole number u < 2^64, and the row taken is where u/2^64 of the
// total lies, masses added up along the rows in their order, w·D² rounded to double and their sums exact.
// d2_field.hpp says how the D² are kept, and what that costs; row_field.hpp where there is no tree.
#include <algorithm>
#include <cmath>

#include "kopse/random.hpp"
#include "row_field.hpp"
#include "seeding_methods.hpp"

namespace kopse {

namespace {

bit_range range_of(std::span<double const> values) {
  bit_range range;
  if (values.empty()) range.add(1.0);
  for (double const x : values) range.add(x);
  return range;
}

// A row of a partition.
struct place {
  std::size_t part;
  index row;
};

// Which partition u · 2^-64 of the sum of all their totals lies in; `target` becomes what of it does.
std::size_t draw_part(std::vector<mass_sum> const& totals, std::uint64_t u, mass_sum& target) {
  mass_sum total = totals.front();
  for (std::size_t p = 1; p < totals.size(); ++p) fixed_point::add(total, totals[p], false);
  target = share(total, u);
  std::size_t part = 0;
  for (; !less(target, totals[part]); ++part) fixed_point::add(target, totals[part], true);
  return part;
}

template <class Real> class plus_plus_run {
public:
  plus_plus_run(std::span<seeding_part<Real> const> parts, matrix_view<double> given, index k,
                seeding_options const& options)
      : parts_(parts), options_(options), random_(options.seed, static_cast<std::uint32_t>(options.restart)),
        given_(given), k_(k), fields_(parts.size()) {
    index const d = parts.front().points.dims();
    result_.centroids = matrix<double>(k, d);
    layout_ = layout_of_squares(parts, given, options.threads);
    for (std::size_t p = 0; p < parts.size(); ++p) {
      if (parts[p].points.size() == 0) continue;
      if (parts[p].tree != nullptr)
        fields_[p] = parts[p].tree->make_field(parts[p].points, layout_, options.threads, options.stop);
      else
        fields_[p] =
            std::make_unique<row_field<Real>>(parts[p].points, layout_, options.threads, options.stop);
    }
  }

  seeding_result run() && {
    index const candidates = options_.candidates > 0
                                 ? options_.candidates
                                 : 2 + static_cast<index>(std::log(static_cast<double>(k_)));
    for (; count_ < given_.rows(); ++count_) {
      std::copy_n(given_.row(count_), given_.cols(), result_.centroids.row(count_));
      if (count_ < k_) add_to_fields(result_.centroids.row(count_));
    }
    if (count_ == 0) take(draw_first());
    while (count_ < k_ && measure())
      take(candidates == 1 ? draw(random_.bits(static_cast<std::uint64_t>(count_))) : best_of(candidates));
    repeat();
    for (auto const& field : fields_) {
      if (!field) continue;
      result_.work.distances += field->work().distances;
      result_.work.node_scores += field->work().node_scores;
    }
    return std::move(result_);
  }

private:
  // By weight alone.
  place draw_first() const {
    bit_range weights;
    index rows = 0;
    for (auto const& part : parts_) {
      if (part.points.size() > 0) weights += range_of(part.points.weights);
      rows += part.points.size();
    }
    std::vector<mass_table> tables;
    std::vector<mass_sum> totals;
    for (auto const& [points, tree] : parts_) {
      tables.emplace_back(mass_layout(weights, rows), points.size());
      for (index i = 0; i < points.size(); ++i) tables.back().change(i, 0, points.weight(i));
      totals.push_back(tables.back().total());
    }
    mass_sum target;
    std::size_t const part = draw_part(totals, random_.bits(0), target);
    auto const weight = [&](index i) { return parts_[part].points.weight(i); };
    return {part, tables[part].find(std::move(target), weight)};
  }

  // Finds the totals; whether there is anything to draw.
  bool measure() {
    totals_.assign(fields_.size(), mass_sum(layout_.words));
    bool found = false;
    for (std::size_t p = 0; p < fields_.size(); ++p) {
      if (!fields_[p]) continue;
      totals_[p] = fields_[p]->total();
      found = found || !is_zero(totals_[p]);
    }
    return found;
  }

  place draw(std::uint64_t u) const {
    mass_sum target;
    std::size_t const part = draw_part(totals_, u, target);
    return {part, fields_[part]->find(std::move(target))};
  }

  place best_of(index candidates) {
    place best{};
    mass_sum best_gain;
    std::vector<double> x(static_cast<std::size_t>(result_.centroids.cols()));
    for (index c = 0; c < candidates; ++c) {
      place const drawn =
          draw(random_.bits(static_cast<std::uint64_t>(count_), static_cast<std::uint32_t>(c)));
      copy_row(drawn, x.data());
      mass_sum gain(layout_.words);
      for (auto const& field : fields_)
        if (field) fixed_point::add(gain, field->gain(x.data()), false);
      if (c > 0 && !less(best_gain, gain)) continue;
      best = drawn;
      best_gain = std::move(gain);
    }
    return best;
  }

  void copy_row(place const& at, double* x) const {
    point_set<Real> const& points = parts_[at.part].points;
    std::copy_n(points.rows.row(at.row), points.dims(), x);
    give_back(points.rows, at.row);
  }

  void take(place const& at) {
    double* const x = result_.centroids.row(count_++);
    copy_row(at, x);
    result_.rows.push_back(parts_[at.part].points.offset + at.row);
    if (count_ < k_) add_to_fields(x); // nothing is drawn after the last
  }

  void add_to_fields(double const* x) {
    for (auto const& field : fields_)
      if (field) field->add(x);
  }

  // Fewer distinct rows of weight than k: the centroids so far once more, in their order.
  void repeat() {
    result_.distinct = count_;
    for (index j = count_; j < k_; ++j) {
      std::copy_n(result_.centroids.row(j - count_), result_.centroids.cols(), result_.centroids.row(j));
      if (given_.rows() == 0) result_.rows.push_back(result_.rows[static_cast<std::size_t>(j - count_)]);
    }
  }

  std::span<seeding_part<Real> const> parts_;
  seeding_options const& options_;
  random_stream random_;
  matrix_view<double> given_;
  index k_, count_ = 0;
  std::vector<std::unique_ptr<d2_field>> fields_;
  mass_layout layout_;
  std::vector<mass_sum> totals_; // of the fields
  seeding_result result_;
};

} // namespace

template <class Real>
mass_layout layout_of_squares(std::span<seeding_part<Real> const> parts, matrix_view<double> centroids,
                              int threads) {
  std::vector<bit_range> columns(static_cast<std::size_t>(parts.front().points.dims()));
  bit_range weights;
  index rows = 0;
  auto const widen = [&](data_summary const& summary) {
    for (std::size_t j = 0; j < columns.size(); ++j) columns[j] += summary.columns[j];
  };
  for (auto const& part : parts) {
    widen(summarise(point_set<Real>(part.points.rows), false, threads));
    if (part.points.size() > 0) weights += range_of(part.points.weights);
    rows += part.points.size();
  }
  if (centroids.rows() > 0) widen(summarise(point_set<double>(centroids), false, threads));
  return {range_of_squares(columns, weights), rows};
}
template mass_layout layout_of_squares(std::span<seeding_part<float> const>, matrix_view<double>, int);
template mass_layout layout_of_squares(std::span<seeding_part<double> const>, matrix_view<double>, int);

template <class Real>
seeding_result plus_plus(std::span<seeding_part<Real> const> parts, matrix_view<double> given, index k,
                         seeding_options const& options) {
  return plus_plus_run<Real>(parts, given, k, options).run();
}
template seeding_result plus_plus(std::span<seeding_part<float> const>, matrix_view<double>, index,
                                  seeding_options const&);
template seeding_result plus_plus(std::span<seeding_part<double> const>, matrix_view<double>, index,
                                  seeding_options const&);

template <class Real> seeding_result plus_plus(seeding_task<Real> const& task) {
  seeding_part<Real> const whole{task.points, tree_access<Real>::get(task.tree)};
  return plus_plus<Real>({&whole, 1}, {}, task.k, task.options);
}
template seeding_result plus_plus(seeding_task<float> const&);
template seeding_result plus_plus(seeding_task<double> const&);

} // namespace kopse
