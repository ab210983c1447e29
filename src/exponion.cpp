// SPDX-License-Identifier: BSD-3-Clause
// Exponion: Hamerly's two bounds a point; where they fail, only centroids around the owner are searched.
//
// J. Newling, F. Fleuret, "Fast k-means with accurate bounds", ICML (2016).
// A point p with d(p, a) = u for its owner a: a centroid at a distance r from a is at least r − u from p. So,
// taken in the order of r, centroids can stop when r − u is more than the second nearest found so far: none
// of the rest is the owner, nor less than the new lower bound. (The paper takes r <= 2·u + the gap of a,
// which holds the nearest two; the order stops sooner.)
//
// The paper sorts all k² distances between centroids. Here a tree on the centroids gives each owner that has
// open points a list of its nearest others: as far as its points need and no longer than there are points to
// share it. What a list does not settle is searched in the tree from the point itself. In a first assignment
// the owner is a guess: the nearest centroid of the leaf where one descent of the tree ends.
//
// Memory: 20 bytes a point; lists of at most (n + 32·k)·(8·d + 12) bytes, in low dimension far less; 8·k·d
// and the tree for the centroids. Use it for any k in low dimension (d to about 8), and where memory is
// short. Not in high dimension, where the ball around the owner holds all centroids: there `yinyang` and
// `elkan` have bounds for fewer centroids at a time.
#include <mutex>
#include <optional>

#include "bounds.hpp"
#include "centroid_columns.hpp"
#include "flat_step.hpp"
#include "steps.hpp"

namespace kopse {

namespace {

template <class Real> class exponion_step final : public flat_step<Real> {
public:
  exponion_step(point_set<Real> points, sum_layout layout, index k, step_options const& options)
      : flat_step<Real>(points, std::move(layout), k, options),
        bounds_(static_cast<std::size_t>(points.size())), balls_(static_cast<std::size_t>(k)) {}

private:
  static constexpr index least_list = 32; // at least as many may be in a list
  static constexpr index few = 4;         // fewer open points than this are not worth a list
  static constexpr double open = 0;       // the lower bound of a point that must be searched

  // The centroids around an owner, nearest first.
  struct ball {
    std::vector<label> who;
    std::vector<double> distances; // from the owner, rounded down
    centroid_columns columns;
    double reach = 0; // no centroid left out is nearer to the owner
    // What the open points of the owner need.
    index points = 0;
    double radius = 0;
  };

  void prepare() override {
    tree_.emplace(this->seen_.view(), centroid_leaf);
    shifts_ = owner_shifts(*tree_, this->seen_.view(), this->drift_, this->slack_, this->options_.threads,
                           this->work_);
    for (ball& b : balls_) b.points = 0, b.radius = 0;
    std::mutex guard;
    for_blocks(this->points_.size(), this->block_points, this->options_.threads,
               [&](index first, index last) {
                 check_stop(this->options_.stop);
                 work_counters work;
                 by_pages(this->points_.rows, first, last, [&](index a, index b) { test_block(a, b, work); });
                 std::lock_guard const lock(guard);
                 this->work_ += work;
                 for (index i = first; i < last; ++i) ask(i);
               });
    for_blocks(this->k_, 64, this->options_.threads, [&](index first, index last) {
      index distances = 0;
      std::vector<neighbour> found;
      for (index j = first; j < last; ++j) fill(j, found, distances);
      std::lock_guard const lock(guard);
      this->work_.distances += distances;
    });
  }

  // Leaves the points with bounds that settle their owners, or open.
  void test_block(index first, index last, work_counters& work) {
    std::vector<double> x(at(this->points_.dims()));
    for (index i = first; i < last; ++i)
      if (this->first_)
        guess(i, x, work);
      else
        test(i, work);
  }

  // A first owner: some centroid that is near.
  void guess(index i, std::vector<double>& x, work_counters& work) {
    copy_row(i, x);
    neighbour const near = find_near(*tree_, x.data(), work.distances);
    this->owner(i) = static_cast<label>(near.row);
    point_bounds& b = bounds_[at(i)];
    b = {this->slack_.upper(near.d2), open};
    if (!settle(b, shifts_[at(near.row)], this->slack_, work)) b.lower = open;
  }

  void test(index i, work_counters& work) {
    owner_shift const& shift = shifts_[at(this->owner(i))];
    point_bounds& b = bounds_[at(i)];
    b = shifted(b, shift, this->slack_);
    if (settle(b, shift, this->slack_, work)) return; // safe: nearer than every other, beyond doubt
    ++work.distances;
    b.upper = this->slack_.upper(this->distance2(i, this->owner(i)));
    if (!settle(b, shift, this->slack_, work)) b.lower = open;
  }
  bool is_open(index i) const { return bounds_[at(i)].lower <= open; }

  void ask(index i) {
    if (!is_open(i)) return;
    ball& b = balls_[at(this->owner(i))];
    ++b.points;
    b.radius = std::max(b.radius, 2 * bounds_[at(i)].upper + shifts_[at(this->owner(i))].gap);
  }

  void fill(index owner, std::vector<neighbour>& found, index& distances) {
    ball& b = balls_[at(owner)];
    if (b.points < few) {
      b.who.clear();
      b.reach = 0;
      return;
    }
    b.reach =
        this->slack_.lower(find_nearest(*tree_, this->seen_.row(owner), owner, std::max(b.points, least_list),
                                        this->slack_.squared(b.radius), found, distances));
    std::size_t const size = found.size();
    if (static_cast<index>(size) == this->k_ - 1) b.reach = std::numeric_limits<double>::infinity();
    b.who.resize(size), b.distances.resize(size);
    for (std::size_t m = 0; m < size; ++m) {
      b.who[m] = static_cast<label>(found[m].row);
      b.distances[m] = this->slack_.lower(found[m].d2);
    }
    b.columns.assign(this->seen_.view(), b.who);
  }

  void assign_block(index first, index last, work_counters& work) override {
    std::vector<double> x(at(this->points_.dims()));
    for (index i = first; i < last; ++i) {
      if (!is_open(i)) continue;
      nearest_two found;
      if (!search_ball(i, found, work)) search_tree(i, x, found, work);
      this->owner(i) = static_cast<label>(found.first);
      bounds_[at(i)] = {this->slack_.upper(found.first2), this->slack_.lower(found.second2)};
    }
  }

  // True when nothing beyond the ball can matter.
  bool search_ball(index i, nearest_two& found, work_counters& work) const {
    label const owner = this->owner(i);
    ball const& b = balls_[at(owner)];
    ++work.distances;
    found.offer(owner, this->distance2(i, owner));
    double const upper = this->slack_.upper(found.first2);
    // Safe: who is at least r from the owner is farther than the second, beyond doubt.
    auto const beyond = [&](double r) {
      return this->slack_.nearer(this->slack_.upper(found.second2), this->slack_.down(r - upper));
    };
    index const size = static_cast<index>(b.who.size());
    constexpr index width = centroid_columns::width;
    double d2[width];
    for (index first = 0; first < size; first += width) {
      if (beyond(b.distances[at(first)])) {
        work[prune_rule::centroid] += this->k_ - 1 - first;
        return true;
      }
      index const count = std::min(width, size - first);
      b.columns.squares(this->points_.rows.row(i), first, count, d2);
      work.distances += count;
      centroid_columns::offer_eight(d2, count, found, [&](index m) { return b.who[at(first + m)]; });
    }
    if (!beyond(b.reach)) return false;
    work[prune_rule::centroid] += this->k_ - 1 - size;
    return true;
  }

  // What has been found so far limits the search; all of it but the first may be found again.
  void search_tree(index i, std::vector<double>& x, nearest_two& found, work_counters& work) const {
    copy_row(i, x);
    find_nearest_two(*tree_, x.data(), found.first, found, work.distances);
  }

  void copy_row(index i, std::vector<double>& x) const {
    Real const* const row = this->points_.rows.row(i);
    std::copy(row, row + this->points_.dims(), x.begin());
  }
  static std::size_t at(index i) { return static_cast<std::size_t>(i); }

  std::vector<point_bounds> bounds_;
  std::vector<owner_shift> shifts_;
  std::optional<kd_tree<double>> tree_;
  std::vector<ball> balls_;
};

} // namespace

template <class Real>
std::unique_ptr<assignment_step> make_exponion(point_set<Real> points, sum_layout const& layout, index k,
                                               step_options const& options) {
  return std::make_unique<exponion_step<Real>>(points, layout, k, options);
}
template std::unique_ptr<assignment_step> make_exponion(point_set<float>, sum_layout const&, index,
                                                        step_options const&);
template std::unique_ptr<assignment_step> make_exponion(point_set<double>, sum_layout const&, index,
                                                        step_options const&);

} // namespace kopse
