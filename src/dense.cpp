// SPDX-License-Identifier: BSD-3-Clause
// dense: for d from about 10 to some hundreds, where trees fade. Lower bounds for groups of centroids, as in
// Yinyang k-means, over distances in float32 that are looked at again where float32 cannot tell.
//
// Y. Ding, Y. Zhao, X. Shen, M. Musuvathi, T. Mytkowicz, "Yinyang k-means: a drop-in replacement of the
// classic k-means with consistent speedup", ICML (2015); Hamerly's and Elkan's bounds before it.
// A group is one block of 16 centroids that are near one another, or several: as many as a vector holds, and
// all 16 scores of a row (centroid_blocks.hpp) cost little more than one. A row keeps an upper bound u on the
// distance to its owner a and, for each group, a lower bound l_g on the distance to any of it but a. When
// centroids move, u grows by a's movement and l_g shrinks by the largest in g (lower_table.hpp). Then, a tile
// of rows at a time,
// 1. u < l_g for every g: the owner stays, by the triangle inequality. The row is not even read.
// 2. u becomes the distance to a, from its score, rounded up; the first test is made again.
// 3. Groups with l_g <= u are opened, each for all rows of the tile that ask for it: the least score of each
//    row in the group, but for a.
// 4. Of the least scores and a's own, the least, if it leads by more than W, is the nearest. What is within W
//    of it is looked at again, one by one, in double.
// 5. The bound of an opened group becomes that of its least score, less W; for a's group, or that of the new
//    owner, of the others in it.
// A first assignment opens all groups.
//
// Cost: n·t comparisons an iteration, t groups, 16 at a time; of the n·k distances all in the first
// iterations, a few per cent in most. Memory: 4·n·t bytes, 4·n, 12·k·d, and a tile a thread; t <= max(d, 16),
// and no more than k / 16, rounded up to fours: the table is never larger than the rows in float32, or than
// 16 columns of them.
#include <array>
#include <mutex>
#include <optional>

#include "centroid_blocks.hpp"
#include "flat_step.hpp"
#include "lower_table.hpp"
#include "memory.hpp"
#include "nearest.hpp"
#include "steps.hpp"

namespace kopse {

namespace {

constexpr float infinite = std::numeric_limits<float>::infinity();
constexpr std::size_t at(index i) { return static_cast<std::size_t>(i); }

template <class Real> class dense_step final : public flat_step<Real> {
public:
  dense_step(point_set<Real> points, sum_layout layout, index k, step_options const& options)
      : flat_step<Real>(points, std::move(layout), k, options), d_(points.dims()),
        stride_(dense::whole_blocks(d_)),
        tile_(std::clamp<index>(floats_of_a_tile / stride_ / 8 * 8, 32, most_rows)) {
    index const n = points.size(), blocks = dense::whole_blocks(k) / dense::block,
                most = std::max(d_, dense::block) / 4 * 4; // as whole_groups() has it
    blocks_ = (blocks + most - 1) / most;
    groups_ = (blocks + blocks_ - 1) / blocks_;
    require_memory("dense", lower_table::bytes(n, dense::whole_groups(groups_)) + 4 * static_cast<double>(n));
    upper_.resize(at(n));
  }

private:
  static constexpr index most_rows = dense::most_rows;
  static constexpr index floats_of_a_tile = index{1} << 16; // within the second-level cache

  // What one thread needs: the rows of a tile that the first test leaves, by slot.
  struct room {
    index n = 0;
    std::array<index, most_rows> row;
    std::array<Real const*, most_rows> points;
    std::array<float, most_rows> upper, norm2, doubt, own_score, low;
    std::array<std::int32_t, most_rows> own;    // place of the owner so far, or -1
    std::array<std::int32_t, most_rows> opened; // groups; before, offsets of rows
    std::vector<float> x, least;                // rows; least scores, by slot
    std::vector<std::int32_t> asking, asked;    // slots of each group, most_rows apart; how many those are
    std::vector<label> near;
    brute_force::scratch brute;
  };

  void prepare() override {
    brute_force_.reset();
    once_ = std::make_unique<std::once_flag>();
    if (this->first_) blocks_of_.arrange(this->seen_.view(), blocks_ * dense::block);
    if (blocks_of_.take(this->seen_.view())) { // always, at first
      lower_ = lower_table();                  // frees it
      lower_ = lower_table(this->points_.size(), dense::whole_groups(groups_), this->slack_);
      std::fill(upper_.begin(), upper_.end(), infinite);
    }
    if (blocks_of_.usable() && !this->first_) advance();
    meters_down_.resize(lower_.travelled().size());
    std::transform(lower_.travelled().begin(), lower_.travelled().end(), meters_down_.begin(), float_down);
  }

  // What the movement of centroids does to bounds, in the units of scores.
  void advance() {
    lower_.set_back(this->drift_.largest() * blocks_of_.scale(), this->options_.threads);
    moved_.resize(at(this->k_));
    std::vector<double> largest(at(groups_), 0.0);
    for (label j = 0; j < this->k_; ++j) {
      double const moved = this->drift_[j] * blocks_of_.scale();
      moved_[at(j)] = float_up(moved);
      double& most = largest[at(group_of(blocks_of_.place(j)))];
      most = std::max(most, moved);
    }
    for (index g = 0; g < groups_; ++g) lower_.advance(g, largest[at(g)]);
  }

  void assign_block(index first, index last, work_counters& work) override {
    rooms_.lend([&](room& r) {
      if (!blocks_of_.usable()) return brute(first, last, r, work);
      for (index i = first; i < last; i += tile_) {
        sift(i, std::min(last, i + tile_), r, work);
        if (r.n == 0) continue;
        ask(r, work);
        open_groups(r, work);
        for (index slot = 0; slot < r.n; ++slot)
          if (r.opened[at(slot)] > 0) close(slot, r, work);
      }
    });
  }

  dense::bounds_view bounds() { return {lower_.row(0), lower_.meters(), meters_down_.data(), groups_}; }

  // Step 1, which writes the rows that it leaves to slots.
  void sift(index first, index last, room& r, work_counters& work) {
    if (!this->first_)
      for (index i = first; i < last; ++i)
        upper_[at(i)] = (upper_[at(i)] + moved_[at(this->owner(i))]) * (1 + 0x1p-22f);
    r.n = dense::sift(bounds(), first, last - first, upper_.data() + first, r.opened.data());
    for (index slot = 0; slot < r.n; ++slot) {
      r.row[at(slot)] = first + r.opened[at(slot)];
      r.points[at(slot)] = this->points_.rows.row(r.row[at(slot)]);
    }
    work[prune_rule::point_bounds] += last - first - r.n; // safe: every other is farther, beyond doubt
  }

  // Step 2: what is left of the groups of each slot asks for them.
  void ask(room& r, work_counters& work) {
    r.x.resize(at(tile_ * stride_));
    r.asking.resize(at(groups_ * most_rows));
    r.asked.assign(at(groups_), 0);
    dense::spread(r.points.data(), r.n, d_, blocks_of_.origin(), blocks_of_.scale(), r.x.data());
    dense::measure(r.x.data(), r.n, d_, r.norm2.data());
    for (index slot = 0; slot < r.n; ++slot) {
      r.doubt[at(slot)] = blocks_of_.doubt(r.norm2[at(slot)]);
      r.own[at(slot)] = -1;
      r.own_score[at(slot)] = r.upper[at(slot)] = infinite;
      if (this->first_) continue;
      index const i = r.row[at(slot)];
      r.own[at(slot)] = static_cast<std::int32_t>(blocks_of_.place(this->owner(i)));
      r.own_score[at(slot)] = score(slot, r.own[at(slot)], r);
      upper_[at(i)] = r.upper[at(slot)] = upper_of(r.own_score[at(slot)], slot, r);
    }
    if (!this->first_) work.distances += r.n;
    dense::ask(bounds(), r.n, r.row.data(), r.upper.data(),
               {r.asking.data(), r.asked.data(), r.opened.data()});
    for (index slot = 0; slot < r.n; ++slot)
      if (r.opened[at(slot)] == 0)
        ++work[prune_rule::point_bounds]; // safe, as above
      else
        work[prune_rule::group] += groups_ - r.opened[at(slot)]; // safe: all of those are farther, too
  }

  // Step 3.
  void open_groups(room& r, work_counters& work) {
    index const t = dense::whole_groups(groups_);
    r.least.assign(at(r.n * t), infinite);
    for (index g = 0; g < groups_; ++g) {
      index const asked = r.asked[at(g)];
      if (asked == 0) continue;
      for_blocks_of(g, [&](dense::block_view const& b) {
        dense::lower_least({r.x.data(), r.own.data(), r.least.data() + g, d_, t},
                           r.asking.data() + g * most_rows, asked, b);
      });
      work.distances += asked * size_of(g);
    }
    dense::least_of(r.least.data(), groups_, r.n, r.low.data());
  }

  // Steps 4 and 5.
  void close(index slot, room& r, work_counters& work) {
    index const i = r.row[at(slot)];
    if (!(r.norm2[at(slot)] < centroid_blocks::out_of_reach)) return brute(i, i + 1, r, work);
    float const doubt = r.doubt[at(slot)], own_score = r.own_score[at(slot)], low = r.low[at(slot)];
    float best = own_score;
    // Safe: no other score is within W of the owner's.
    if (!(low - own_score > doubt)) {
      best = std::min(low, own_score) + doubt;
      label const place = nearest_within(best, slot, r, work);
      if (place != r.own[at(slot)]) leave_owner(slot, r);
      this->owner(i) = blocks_of_.centroid(place);
    }
    dense::close_bounds(bounds(), i, least_of(slot, r), r.norm2[at(slot)] - doubt);
    upper_[at(i)] = upper_of(best, slot, r);
  }

  // The place of the nearest of those whose score is within the limit. Its group's least becomes that of the
  // others in it.
  label nearest_within(float limit, index slot, room& r, work_counters& work) {
    float* const least = least_of(slot, r);
    r.near.clear();
    if (r.own_score[at(slot)] <= limit) r.near.push_back(static_cast<label>(r.own[at(slot)]));
    for (index g = 0; g < groups_; ++g) {
      if (!(least[g] <= limit)) continue;
      least[g] = collect(g, limit, slot, r);
      work.distances += size_of(g);
    }
    if (r.near.size() == 1) return r.near[0];
    label const nearest = decide(slot, r, work);
    // The others may be as near as the least score there is.
    for (label const place : r.near)
      if (place != nearest && place != r.own[at(slot)])
        least[group_of(place)] = std::min(least[group_of(place)], limit - 2 * r.doubt[at(slot)]);
    return nearest;
  }

  // Which of a group are within the limit, but for the owner so far; returns the least score of the rest.
  float collect(index g, float limit, index slot, room& r) {
    float rest = infinite;
    for_blocks_of(g, [&](dense::block_view const& b) {
      std::array<float, dense::block> s;
      dense::scores(row_of(slot, r), d_, b, s.data());
      for (std::int32_t i = 0; i < dense::block; ++i) {
        if (b.first + i == r.own[at(slot)]) continue;
        if (s[at(i)] <= limit)
          r.near.push_back(b.first + i);
        else
          rest = std::min(rest, s[at(i)]);
      }
    });
    return rest;
  }

  // The nearest of several, in double, ties to the lowest index.
  label decide(index slot, room const& r, work_counters& work) const {
    double best = std::numeric_limits<double>::infinity();
    label nearest = -1;
    for (label const place : r.near) {
      label const j = blocks_of_.centroid(place);
      double const d2 = this->distance2(r.row[at(slot)], j);
      if (nearest < 0 || d2 < best || (d2 == best && j < blocks_of_.centroid(nearest)))
        best = d2, nearest = place;
    }
    work.distances += static_cast<index>(r.near.size());
    return nearest;
  }

  // The owner so far is now one of the others of its group.
  void leave_owner(index slot, room& r) {
    std::int32_t const own = r.own[at(slot)];
    if (own < 0) return;
    index const g = group_of(own), i = r.row[at(slot)];
    float& least = least_of(slot, r)[g];
    if (least < infinite) {
      least = std::min(least, r.own_score[at(slot)]);
      return;
    }
    float const square = 2 * r.own_score[at(slot)] + r.norm2[at(slot)] - r.doubt[at(slot)];
    lower_.lower(i, g, square > 0 ? std::sqrt(square) * (1 - 0x1p-21) : 0);
  }

  // By brute force: rows that float32 cannot hold. Nothing is known of them afterwards.
  void brute(index first, index last, room& r, work_counters& work) {
    std::call_once(*once_, [&] { brute_force_.emplace(this->seen_.view()); });
    brute_force_->find_nearest(this->points_.rows.slice(first, last), r.brute, &this->owner(first));
    work.distances += (last - first) * this->k_;
    for (index i = first; i < last; ++i) {
      upper_[at(i)] = infinite;
      std::fill_n(lower_.row(i), dense::whole_groups(groups_), 0.0f);
    }
  }

  float score(index slot, std::int32_t place, room const& r) const {
    return blocks_of_.half(place) - dense::product(row_of(slot, r), blocks_of_.row(place), stride_);
  }
  // A bound on the distance that a score stands for.
  float upper_of(float score, index slot, room const& r) const {
    float const square = 2 * score + r.norm2[at(slot)] + r.doubt[at(slot)];
    return square < centroid_blocks::out_of_reach ? std::sqrt(std::max(0.0f, square)) * (1 + 0x1p-21f)
                                                  : infinite;
  }
  float* least_of(index slot, room& r) const { return r.least.data() + slot * dense::whole_groups(groups_); }
  float const* row_of(index slot, room const& r) const { return r.x.data() + slot * stride_; }
  index group_of(index place) const { return place / (blocks_ * dense::block); }
  index size_of(index g) const {
    index const size = blocks_ * dense::block;
    return std::min(this->k_ - g * size, size);
  }
  template <class F> void for_blocks_of(index g, F const& f) const {
    for (index b = g * blocks_; b < std::min((g + 1) * blocks_, blocks_of_.block_count()); ++b)
      f(blocks_of_.block(b));
  }

  index d_, stride_, tile_; // rows of a tile
  index blocks_ = 1;        // of a group
  index groups_ = 1;
  centroid_blocks blocks_of_;
  std::vector<float> moved_; // by centroid, in units of scores, as all bounds
  std::vector<float> upper_;
  lower_table lower_;
  std::vector<float> meters_down_; // its meters, rounded down
  per_thread<room> rooms_{[] { return room(); }};
  std::optional<brute_force> brute_force_; // of this assignment, once it is needed
  std::unique_ptr<std::once_flag> once_;
};

} // namespace

template <class Real>
std::unique_ptr<assignment_step> make_dense(point_set<Real> points, sum_layout const& layout, index k,
                                            step_options const& options) {
  return std::make_unique<dense_step<Real>>(points, layout, k, options);
}
template std::unique_ptr<assignment_step> make_dense(point_set<float>, sum_layout const&, index,
                                                     step_options const&);
template std::unique_ptr<assignment_step> make_dense(point_set<double>, sum_layout const&, index,
                                                     step_options const&);

} // namespace kopse
