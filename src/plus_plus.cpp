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
// Partitions tell their totals, and who has the row that was drawn hands it out: two messages a centroid,
// three with candidates.
#include <algorithm>
#include <cmath>
#include <optional>

#include "kopse/random.hpp"
#include "row_field.hpp"
#include "seeding_methods.hpp"
#include "words.hpp"

namespace kopse {

namespace {

bit_range range_of(std::span<double const> values) {
  bit_range range;
  if (values.empty()) range.add(1.0);
  for (double const x : values) range.add(x);
  return range;
}

// A row of a part.
struct place {
  std::size_t part;
  index row;
};

// A row that was drawn, in the hands of everybody.
struct drawn_row {
  index number; // in the whole
  std::vector<double> x;
};

mass_sum sum_of(std::vector<mass_sum> const& totals) {
  mass_sum total = totals.front();
  for (std::size_t p = 1; p < totals.size(); ++p) fixed_point::add(total, totals[p], false);
  return total;
}

// Which total `target`, a part of their sum, lies in; it becomes what of that it is.
std::size_t enter(std::vector<mass_sum> const& totals, mass_sum& target) {
  std::size_t part = 0;
  for (; !less(target, totals[part]); ++part) fixed_point::add(target, totals[part], true);
  return part;
}

template <class Real> class plus_plus_run {
public:
  plus_plus_run(std::span<seeding_part<Real> const> parts, matrix_view<double> given, index k,
                seeding_options const& options, reduction* partitions)
      : parts_(parts), options_(options), all_(partitions != nullptr ? *partitions : alone_),
        random_(options.seed, static_cast<std::uint32_t>(options.restart)), given_(given), k_(k),
        fields_(parts.size()) {
    index const d = parts.front().points.dims();
    result_.centroids = matrix<double>(k, d);
    layout_ = layout_of_squares(parts, given, options.threads, partitions);
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
    while (count_ < k_ && measure()) {
      std::vector<drawn_row> const drawn = draw(candidates);
      take(candidates == 1 ? drawn.front() : best_of(drawn));
    }
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
  drawn_row draw_first() {
    data_summary whole;
    for (auto const& part : parts_) {
      if (part.points.size() > 0) whole.weights += range_of(part.points.weights);
      whole.rows += part.points.size();
    }
    all_.merge(whole);
    std::vector<mass_table> tables;
    totals_.clear();
    for (auto const& [points, tree] : parts_) {
      tables.emplace_back(mass_layout(whole.weights, whole.rows), points.size());
      for (index i = 0; i < points.size(); ++i) tables.back().change(i, 0, points.weight(i));
      totals_.push_back(tables.back().total());
    }
    share_totals();
    auto const at = locate(random_.bits(0), [&](std::size_t part, mass_sum target) {
      auto const weight = [&](index i) { return parts_[part].points.weight(i); };
      return tables[part].find(std::move(target), weight);
    });
    return hand_out({at}).front();
  }

  // Finds the totals; whether there is anything to draw.
  bool measure() {
    totals_.assign(fields_.size(), mass_sum(layout_.words));
    for (std::size_t p = 0; p < fields_.size(); ++p)
      if (fields_[p]) totals_[p] = fields_[p]->total();
    share_totals();
    return !std::all_of(totals_of_all_.begin(), totals_of_all_.end(), is_zero);
  }

  void share_totals() { totals_of_all_ = all_.all(sum_of(totals_)); }

  // Where u · 2^-64 of all totals lies, if it lies here; find(part, target) looks into the part.
  template <class Find> std::optional<place> locate(std::uint64_t u, Find const& find) const {
    mass_sum target = share(sum_of(totals_of_all_), u);
    if (static_cast<index>(enter(totals_of_all_, target)) != all_.part()) return {};
    std::size_t const part = enter(totals_, target);
    return place{part, find(part, std::move(target))};
  }

  std::vector<drawn_row> draw(index candidates) {
    std::vector<std::optional<place>> places;
    for (index c = 0; c < candidates; ++c)
      places.push_back(
          locate(random_.bits(static_cast<std::uint64_t>(count_), static_cast<std::uint32_t>(c)),
                 [&](std::size_t part, mass_sum target) { return fields_[part]->find(std::move(target)); }));
    return hand_out(places);
  }

  // Each is found by the partition that has it.
  std::vector<drawn_row> hand_out(std::vector<std::optional<place>> const& places) {
    index const d = result_.centroids.cols();
    word_packer mine;
    for (std::size_t c = 0; c < places.size(); ++c) {
      if (!places[c]) continue;
      point_set<Real> const& points = parts_[places[c]->part].points;
      index const row = places[c]->row;
      mine.word(c), mine.number(points.offset + row), mine.reals(points.rows.row(row), d);
      give_back(points.rows, row);
    }
    std::vector<drawn_row> drawn(places.size());
    for (auto const& words : all_.all(mine.words()))
      for (word_unpacker in(words); !in.empty();) {
        drawn_row& one = drawn[in.word()];
        one.number = in.number();
        one.x.resize(static_cast<std::size_t>(d));
        in.reals(one.x.data(), d);
      }
    return drawn;
  }

  drawn_row const& best_of(std::vector<drawn_row> const& drawn) {
    word_packer mine;
    for (drawn_row const& one : drawn) {
      mass_sum gain(layout_.words);
      for (auto const& field : fields_)
        if (field) fixed_point::add(gain, field->gain(one.x.data()), false);
      mine.add(gain);
    }
    std::vector<mass_sum> gains(drawn.size(), mass_sum(layout_.words));
    for (auto const& words : all_.all(mine.words())) {
      word_unpacker in(words);
      for (mass_sum& gain : gains) fixed_point::add(gain, in.take(layout_.words), false);
    }
    std::size_t best = 0;
    for (std::size_t c = 1; c < gains.size(); ++c)
      if (less(gains[best], gains[c])) best = c;
    return drawn[best];
  }

  void take(drawn_row const& drawn) {
    std::copy(drawn.x.begin(), drawn.x.end(), result_.centroids.row(count_++));
    result_.rows.push_back(drawn.number);
    if (count_ < k_) add_to_fields(drawn.x.data()); // nothing is drawn after the last
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
  reduction alone_;
  reduction& all_;
  random_stream random_;
  matrix_view<double> given_;
  index k_, count_ = 0;
  std::vector<std::unique_ptr<d2_field>> fields_;
  mass_layout layout_;
  std::vector<mass_sum> totals_, totals_of_all_; // of the parts here, and of all partitions
  seeding_result result_;
};

} // namespace

template <class Real>
mass_layout layout_of_squares(std::span<seeding_part<Real> const> parts, matrix_view<double> centroids,
                              int threads, reduction* partitions) {
  data_summary whole;
  whole.columns.resize(static_cast<std::size_t>(parts.front().points.dims()));
  auto const widen = [&](data_summary const& summary) {
    for (std::size_t j = 0; j < whole.columns.size(); ++j) whole.columns[j] += summary.columns[j];
  };
  for (auto const& part : parts) {
    widen(summarise(point_set<Real>(part.points.rows), false, threads));
    if (part.points.size() > 0) whole.weights += range_of(part.points.weights);
    whole.rows += part.points.size();
  }
  if (partitions != nullptr) partitions->merge(whole);
  if (centroids.rows() > 0) widen(summarise(point_set<double>(centroids), false, threads));
  return {range_of_squares(whole.columns, whole.weights), whole.rows};
}
template mass_layout layout_of_squares(std::span<seeding_part<float> const>, matrix_view<double>, int,
                                       reduction*);
template mass_layout layout_of_squares(std::span<seeding_part<double> const>, matrix_view<double>, int,
                                       reduction*);

template <class Real>
seeding_result plus_plus(std::span<seeding_part<Real> const> parts, matrix_view<double> given, index k,
                         seeding_options const& options, reduction* partitions) {
  return plus_plus_run<Real>(parts, given, k, options, partitions).run();
}
template seeding_result plus_plus(std::span<seeding_part<float> const>, matrix_view<double>, index,
                                  seeding_options const&, reduction*);
template seeding_result plus_plus(std::span<seeding_part<double> const>, matrix_view<double>, index,
                                  seeding_options const&, reduction*);

template <class Real> seeding_result plus_plus(seeding_task<Real> const& task) {
  seeding_part<Real> const whole{task.points, tree_access<Real>::get(task.tree)};
  return plus_plus<Real>({&whole, 1}, {}, task.k, task.options, task.partitions);
}
template seeding_result plus_plus(seeding_task<float> const&);
template seeding_result plus_plus(seeding_task<double> const&);

} // namespace kopse
